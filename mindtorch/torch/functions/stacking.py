"""Joining and splitting along the first, second or third axis, whatever the number of axes."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.ops import movement as ops
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.out_rules import CAT, Out
from .._api.publish import function
from .._api.signatures import wrong_call
from .parts import at_least, cat, tensor_split


def _sections(name: str, x: Any, sections: Any, axis: int, needed: int) -> Any:
    """``x`` split into equal ``sections`` or at places; torch's errors."""
    if isinstance(sections, str):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, "
            f"{type(sections).__name__}), but expected one of:\n * (Tensor input, int sections)\n"
            "      didn't match because some of the arguments have invalid types: (Tensor, "
            f"!{type(sections).__name__}!)\n * (Tensor input, tuple of ints indices)\n      didn't "
            "match because some of the arguments have invalid types: (Tensor, "
            f"!{type(sections).__name__}!)\n"
        )
    if x.aval.ndim < needed:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {needed} dimension, but got a tensor "
            f"with {x.aval.ndim} dimensions!"
        )
    size = x.aval.shape[axis]
    if isinstance(sections, int) and (sections == 0 or size % sections):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {axis}, but the size of the "
            f"dimension {size} is not divisible by the split_size {sections}!"
        )
    return tensor_split(x, sections, axis)


@function(synonyms={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def hsplit(input: Any, indices_or_sections: Any) -> Any:  # noqa: A002
    """``input`` split along its second axis (its only one): into equal parts, or at places."""
    axis = 0 if input.aval.ndim <= 1 else 1
    return _sections("hsplit", input, indices_or_sections, axis, 1)


@function(synonyms={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def vsplit(input: Any, indices_or_sections: Any) -> Any:  # noqa: A002
    """``input`` split along its first axis."""
    return _sections("vsplit", input, indices_or_sections, 0, 2)


@function(synonyms={"indices": "indices_or_sections", "sections": "indices_or_sections"})
def dsplit(input: Any, indices_or_sections: Any) -> Any:  # noqa: A002
    """``input`` split along its third axis."""
    return _sections("dsplit", input, indices_or_sections, 2, 3)


def _not_empty(name: str, tensors: Any) -> list[Any]:
    if isinstance(tensors, EngineTensor):
        raise wrong_call(name, (tensors,), {}) or TypeError(name)
    found = list(tensors)
    if not found:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return found


@function(out=Out(cast=CAT, shown="cat"), method=False, cacheable=True)
def hstack(tensors: Any) -> Any:
    """Tensors joined along their second axis (the only one of vectors)."""
    many = [at_least(x, 1) for x in _not_empty("hstack", tensors)]
    return cat(many, 0 if many[0].aval.ndim == 1 else 1)


@function(out=Out(cast=CAT, shown="cat"), method=False, aliases=("row_stack",), cacheable=True)
def vstack(tensors: Any) -> Any:
    """Tensors joined along their first axis, vectors being rows."""
    return cat([at_least(x, 2) for x in _not_empty("vstack", tensors)], 0)


@function(out=Out(cast=CAT, shown="cat"), method=False)
def dstack(tensors: Any) -> Any:
    """Tensors joined along their third axis."""
    return cat([at_least(x, 3) for x in _not_empty("dstack", tensors)], 2)


@function(out=Out(cast=CAT, shown="cat"), method=False)
def column_stack(tensors: Any) -> Any:
    """Tensors joined along their second axis, vectors being columns."""
    many = _not_empty("column_stack", tensors)
    return cat([ops.reshape(x, (x.aval.size, 1)) if x.aval.ndim <= 1 else x for x in many], 1)
