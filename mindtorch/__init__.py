"""PyTorch scripts on a small functional autodiff engine of our own."""

__version__ = "0.1.0"
