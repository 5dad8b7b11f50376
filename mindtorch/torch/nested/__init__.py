"""torch.nested: tensors of different lengths as one tensor.

In the strided layout a list of tensors, computed part by part; in the jagged layout one tensor of
values and the places where parts begin (:mod:`._internal`).
"""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_device, as_dtype
from .._compat.unsupported_names import refuse
from .._tensor.size_and_formats import jagged, strided
from .._tensor.tensor_classes import torch
from ._internal import ops as _jagged_ops
from ._internal.nested_tensor import NestedTensor as JaggedTensor
from ._internal.nested_tensor import nested_from_parts, torch_int64
from ._tensor import NestedTensor, made_of

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
    "to_padded_tensor",
]  # fmt: skip

_SUBJECTS = (_jagged_ops,)  # which registers its functions


def _is_jagged(name: str, layout: Any, options: dict[str, Any]) -> bool:
    if options:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(options))}'")
    if layout is not None and layout not in (strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout!r}")
    return layout is jagged


def _jagged_of(given: Any, name: str, dtype: Any, device: Any) -> JaggedTensor:
    """A jagged tensor of a list of tensors, or of numbers."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(
            f"Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in {name}"
        )
    parts = [x if isinstance(x, EngineTensor) else torch.tensor(x) for x in given]
    if dtype is not None or device is not None:
        kind = None if dtype is None else as_dtype(dtype)
        place = None if device is None else as_device(device)
        parts = [
            p.to(device=place or p.aval.device, dtype=kind or p.aval.dtype) for p in parts
        ]
    return nested_from_parts(parts)


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, **options: Any,
) -> NestedTensor | JaggedTensor:  # fmt: skip
    """A nested tensor of copies: a leaf of the graph.

    Args:
        tensor_list: tensors, or lists of numbers.
        dtype, device: of the result; None for those of the tensors.
        layout: torch.strided, which None stands for, or torch.jagged.
        requires_grad: whether autograd follows it.
        pin_memory: False; True is refused.
        options: none further.

    Raises:
        TypeError: not a list.
        RuntimeError: tensors of different numbers of axes.
    """
    wanted = _is_jagged("nested_tensor", layout, options)
    if pin_memory:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    if wanted:
        packed = _jagged_of(tensor_list, "nested_tensor", dtype, device)
        return packed.like(packed.held.detach()).requires_grad_(requires_grad)
    made = made_of(tensor_list, "nested_tensor", dtype, device, copied=True)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: Any = None, device: Any = None, layout: Any = None
) -> NestedTensor | JaggedTensor:
    """A nested tensor of these tensors, with their history.

    Args:
        ts: a list of tensors, or a tensor.
        dtype, device: of the result; None for those of the tensors.
        layout: torch.strided, which None stands for, or torch.jagged.
    """
    if _is_jagged("as_nested_tensor", layout, {}):
        if isinstance(ts, JaggedTensor):
            return ts if dtype is None else ts.to(dtype)
        parts = list(ts.unbind()) if isinstance(ts, EngineTensor) else ts
        return _jagged_of(parts, "as_nested_tensor", dtype, device)
    if isinstance(ts, NestedTensor):
        return ts if dtype is None else ts.to(dtype)
    given = list(ts.unbind()) if hasattr(ts, "unbind") else ts
    return made_of(given, "as_nested_tensor", dtype, device, copied=False)


def to_padded_tensor(
    input: NestedTensor | JaggedTensor, padding: float, output_size: Any = None, out: Any = None  # noqa: A002
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


def nested_tensor_from_jagged(
    values: Any, offsets: Any = None, lengths: Any = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> JaggedTensor:  # fmt: skip
    """A jagged tensor that looks at ``values``, with their history.

    Args:
        values: the parts, packed along the ragged axis.
        offsets: where each part begins there, and the end; None: they follow from the lengths.
        lengths: of the parts; with ``offsets`` they may leave gaps.
        jagged_dim: the ragged axis of the nested tensor; 1 when None.
        min_seqlen, max_seqlen: the least and the largest length, where they are known.

    Raises:
        RuntimeError: neither offsets nor lengths are given.
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError(
                "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
            )
        ends = torch.cumsum(lengths, 0)
        offsets = torch.cat([ends.new_zeros(1), ends])
        lengths = None
    return JaggedTensor(
        values, offsets, lengths=lengths, _ragged_idx=1 if jagged_dim is None else jagged_dim,
        min_seqlen=min_seqlen, max_seqlen=max_seqlen,
    )  # fmt: skip


def narrow(
    tensor: Any, dim: int, start: Any, length: Any, layout: Any = strided
) -> JaggedTensor:
    """Of each row of ``tensor`` ``length`` elements from ``start`` on, which are not copied.

    Args:
        tensor: (rows, longest, ...).
        dim: 1.
        start, length: a number, or a tensor with one for each row.
        layout: torch.jagged.

    Raises:
        RuntimeError: another axis, or the strided layout.
    """
    if layout is not jagged:
        raise RuntimeError(f"Operation only supported for the jagged layout, not {layout!r}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    count, longest = tensor.aval.shape[:2]

    def per_row(value: Any) -> Any:
        if isinstance(value, EngineTensor):
            return value.to(torch_int64())
        return torch.full((count,), value, dtype=torch_int64())

    first = torch.arange(count) * longest + per_row(start)
    offsets = torch.cat([first, torch.tensor([count * longest])])
    return JaggedTensor(tensor.flatten(0, 1), offsets, lengths=per_row(length))


def masked_select(tensor: Any, mask: Any) -> JaggedTensor:
    """The elements of each row of ``tensor`` where ``mask`` is True.

    Args:
        tensor: (rows, columns).
        mask: of the same shape, or broadcast to it.

    Raises:
        RuntimeError: not a dense tensor of two axes.
    """
    if tensor.is_nested or tensor.aval.ndim != 2:
        raise RuntimeError("masked_select() takes a dense tensor of two axes")
    mask = mask.expand(tensor.aval.shape)
    return nested_tensor_from_jagged(tensor.masked_select(mask), lengths=mask.sum(1))
