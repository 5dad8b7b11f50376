"""Kernels: loops on arrays, compiled by numba. They know nothing of tensors or autodiff."""

if __name__ != "mindtorch.kernels":
    raise ImportError("import mindtorch.kernels, not the folder 'kernels'")
