"""Tensors without elements: what torch says where an operator needs them."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .texts_by_function import said_of

__all__ = [
    "lacks_elements", "require_kernel", "without_elements", "without_kernel",
    "without_places",
]

_WITHOUT_KERNEL = (
    "aten::{}: attempted to run this operator with Meta tensors, but there was no fake impl or "
    "Meta kernel registered. You may have run into this message while using an operator with PT2 "
    "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs "
    "you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
    "data-independent implementation does not exist. This implementation returns a fake value, "
    "assuming all elements of the tensor are non-zero. To enable this registration, please set "
    "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
)
_WITHOUT_DATA = "Cannot copy out of meta tensor; no data!"


def without_kernel(operator: str) -> NotImplementedError:
    """torch's error for an operator that it cannot run on the device "meta"."""
    return NotImplementedError(_WITHOUT_KERNEL.format(operator))


def without_places() -> NotImplementedError:
    """torch's error for a look for the elements that are not 0."""
    return NotImplementedError(_NONZERO)


def require_kernel(operator: str, *tensors: Any) -> None:
    """Raise that error where one of the tensors has no elements."""
    for each in tensors:
        if lacks_elements(each):
            raise without_kernel(operator)


def lacks_elements(value: Any) -> bool:
    """Whether a value is a tensor on the device "meta"."""
    return isinstance(value, EngineTensor) and value.aval.device.type == "meta"


def without_elements(
    name: str, error: BaseException | None, kwargs: dict[str, Any]
) -> NotImplementedError | None:
    """torch's error for a function that needs elements where there are none; None where that is
    not what ``error`` says, or is torch's text already."""
    if not isinstance(error, NotImplementedError) or str(error) != _WITHOUT_DATA:
        return None
    if name in ("argwhere", "nonzero"):
        return without_places()
    given = (f"{name}({key})" for key, value in kwargs.items() if value is not None)
    for each in (*given, name):
        if (operator := said_of("operator without elements", each)) is not None:
            return without_kernel(operator)
    return None
