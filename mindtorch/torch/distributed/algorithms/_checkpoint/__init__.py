"""Modules whose activations are computed again in the backward pass, or kept on the CPU."""
