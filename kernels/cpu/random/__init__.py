"""Random numbers as PyTorch's generator draws them."""
