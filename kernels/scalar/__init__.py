"""Scalar functions from which elementwise kernels of every device are generated."""
