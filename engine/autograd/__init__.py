"""Reverse-mode differentiation: the tape, views, saved tensors, the backward pass."""
