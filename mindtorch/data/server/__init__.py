"""The cache server: a process of its own. `mindtorch cache --start` starts it."""
