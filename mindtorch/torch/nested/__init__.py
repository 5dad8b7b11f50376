"""torch.nested: lists of tensors of different lengths as one tensor, in the strided layout.

Elementwise functions, sums and products with other nested tensors, `linear`, `softmax` and padding
are there; the jagged layout is not.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .._compat.unsupported_names import refuse
from ._tensor import NestedTensor, made_of

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
    "to_padded_tensor",
]  # fmt: skip

_WHY = "the jagged layout is not written; nested tensors are lists of tensors"


def _only_strided(name: str, layout: Any, options: dict[str, Any]) -> None:
    if layout is not None and repr(layout) != "torch.strided":
        refuse(f"torch.nested.{name}(layout={layout!r})", _WHY)
    if options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, **options: Any,
) -> NestedTensor:  # fmt: skip
    """A nested tensor of copies: a leaf of the graph.

    Args:
        tensor_list: tensors, or lists of numbers.
        dtype, device, layout: of the result; None for those of the tensors.
        requires_grad: whether autograd follows it.
        pin_memory: False; True is refused.
        options: none further.

    Raises:
        TypeError: not a list.
        RuntimeError: tensors of different numbers of axes.
    """
    _only_strided("nested_tensor", layout, options)
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    made = made_of(tensor_list, "nested_tensor", dtype, device, copied=True)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: Any = None
) -> NestedTensor:
    """A nested tensor of these tensors, with their history.

    Args:
        ts: a list of tensors, or a tensor.
        dtype, device, layout: of the result; None for those of the tensors.
    """
    _only_strided("as_nested_tensor", layout, {})
    if isinstance(ts, NestedTensor):
        return ts if dtype is None else ts.to(dtype)
    given = list(ts.unbind()) if hasattr(ts, "unbind") else ts
    return made_of(given, "as_nested_tensor", dtype, device, copied=False)


def to_padded_tensor(
    input: NestedTensor, padding: float, output_size: Any = None, out: Any = None  # noqa: A002
) -> Any:
    """All parts in one dense tensor, what is missing filled with ``padding``.

    Args:
        input: a nested tensor.
        output_size: the result's shape; None for the least.
        out: None.
    """
    if out is not None:
        refuse("to_padded_tensor(out=...)", "its size is known only afterwards")
    return input.to_padded_tensor(padding, output_size)


def nested_tensor_from_jagged(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no jagged layout."""
    refuse("torch.nested.nested_tensor_from_jagged", _WHY)


def narrow(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no jagged layout."""
    refuse("torch.nested.narrow", _WHY)


def masked_select(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise NotImplementedError: there is no jagged layout."""
    refuse("torch.nested.masked_select", _WHY)

