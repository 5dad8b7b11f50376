"""What libraries ask about the tensors of a mapped function; `torch.func` maps."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.transforms.vmap import is_mapped as is_batchedtensor
from mindtorch.torch._compat.unsupported_names import absent_function

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor",
    "is_legacy_batchedtensor",
]  # fmt: skip

_MODULE = "torch._C._functorch"
_WHY = "torch.func.vmap keeps its batches itself"

_add_batch_dim = absent_function(_MODULE, "_add_batch_dim", _WHY)
_remove_batch_dim = absent_function(_MODULE, "_remove_batch_dim", _WHY)
get_unwrapped = absent_function(_MODULE, "get_unwrapped", _WHY)


def is_legacy_batchedtensor(tensor: Any) -> bool:
    """False: the first vmap of torch, before torch.func, is not here."""
    return False
