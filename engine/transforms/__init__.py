"""What changes how ops are called: vmap and its batching rules, autocast, the profiler."""
