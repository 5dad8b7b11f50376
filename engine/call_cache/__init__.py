"""Caches by signature: the ops of a function, the vjp rules of its backward, and whole passes."""
