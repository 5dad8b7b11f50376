"""Random numbers: generators, their rollback, and Philox for CUDA."""
