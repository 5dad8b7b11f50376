"""Caches of calls by signature: the ops of a function, and the vjp rules of its backward."""
