"""Passes over graphs: cleanup, fusion, substitution of kernels."""
