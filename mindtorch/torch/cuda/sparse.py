"""Sparse tensors of CUDA's types; none has a class of its own, as in torch."""

__all__: list[str] = []
