"""torch.masked: reductions and normalizations over the elements that a mask lets through.

``mask`` is broadcast to the input; True keeps an element. What is masked out takes the value that
changes nothing (0 in a sum, -inf in a maximum), and a result of no elements is that value.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from ._ops import *  # noqa: F403
from ._tensor import MaskedTensor, warn_of_prototype
from ._tensor import check_masks as _check_masks


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A copy of ``data`` that carries a copy of ``mask``: a leaf of the graph.

    Args:
        requires_grad: whether autograd follows it.
    """
    _check_masks(data, mask)
    warn_of_prototype()
    return MaskedTensor.of(data.detach().clone().requires_grad_(requires_grad), mask.clone())


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """``data``, with its history, and ``mask`` together."""
    _check_masks(data, mask)
    warn_of_prototype()
    return MaskedTensor.of(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether ``obj`` is a tensor that carries its mask."""
    return isinstance(obj, MaskedTensor)


_TEXTS.add_to(globals().values())

_own_names(globals())
