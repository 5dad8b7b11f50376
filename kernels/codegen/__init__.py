"""How kernels are made: numba's pipeline, the cache on disk, generated loops."""
