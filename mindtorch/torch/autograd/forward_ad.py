"""Forward-mode differentiation through dual tensors: not supported yet; ``torch.func.jvp`` is."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn


def _unsupported(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "torch.autograd.forward_ad is not supported yet; torch.func.jvp computes the same product"
    )


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(``tensor``, None): without a level, where torch answers so too, none has a tangent."""
    return UnpackedDualTensor(tensor, None)


dual_level = make_dual = enter_dual_level = exit_dual_level = _unsupported
