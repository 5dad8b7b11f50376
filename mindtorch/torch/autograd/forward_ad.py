"""Forward-mode differentiation through dual tensors: not supported yet; ``torch.func.jvp`` is."""

from __future__ import annotations

from typing import Any, NoReturn


def _unsupported(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError(
        "torch.autograd.forward_ad is not supported yet; torch.func.jvp computes the same product"
    )


dual_level = make_dual = unpack_dual = enter_dual_level = exit_dual_level = _unsupported
