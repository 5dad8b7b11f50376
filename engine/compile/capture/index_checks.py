"""Indices out of range: found where eager code finds them, before their op waits.

Kernels of waiting ops run when somebody looks, which is too late for ``except IndexError`` around
the op. Indices whose elements are there are compared with the sizes that they index; what may fail
runs at once and raises what it raises eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...devices.device import cpu
from ...ops import ctc, elementwise, embedding, indexing, loss
from ...symbolic_sizes import KINDS
from ...tensor import Tensor
from ..ir.ir import DRAW, Value

# (index tensor, the smallest index that is allowed, the first one that is not, one that is ignored)
_Bound = tuple[Any, int, int, Any]


def _along(inputs: Any, params: Any) -> Iterator[_Bound]:
    shape = inputs[0].aval.shape
    yield inputs[1], 0, _now(shape[params["axis"]]) if shape else 1, None


def _each(first: int) -> Callable[..., Iterator[_Bound]]:
    def bounds(inputs: Any, params: Any) -> Iterator[_Bound]:
        for size, each in zip(inputs[0].aval.shape, inputs[first:], strict=False):
            if each is not None:
                yield each, -_now(size), _now(size), None

    return bounds


def _rows(inputs: Any, params: Any) -> Iterator[_Bound]:
    for rows in inputs[0].aval.shape[:1]:
        yield inputs[1], 0, _now(rows), None


def _classes(inputs: Any, params: Any) -> Iterator[_Bound]:
    for classes in inputs[0].aval.shape[1:2]:
        yield inputs[1], 0, _now(classes), params["ignore_index"]


def _flat(inputs: Any, params: Any) -> Iterator[_Bound]:
    size = _now(inputs[0].aval.size)
    yield inputs[1], -size, size, None


_BOUNDS: dict[Any, Callable[[Any, Any], Iterator[_Bound]]] = {
    **dict.fromkeys(
        (
            indexing.gather, indexing.scatter, indexing.scatter_add, indexing.scatter_reduce,
            indexing.index_select, indexing.index_add, indexing.index_copy, indexing.index_fill,
        ),
        _along,
    ),
    **dict.fromkeys((indexing.take, indexing.put), _flat),
    **dict.fromkeys((embedding.embedding, embedding.embedding_sparse), _rows),
    **dict.fromkeys((loss.nll, loss.cross_entropy), _classes),
    indexing.index: _each(1),
    indexing.index_put: _each(2),
}  # fmt: skip


# ops whose kernels look at numbers that they may refuse
_FAILING = frozenset((
    *_BOUNDS, ctc.ctc_loss, indexing.masked_scatter, embedding.bag_sum, embedding.bag_sum_sparse,
    embedding.bag_largest,
))  # fmt: skip


_DIVIDING = frozenset((
    elementwise.floor_divide, elementwise.trunc_divide, elementwise.remainder, elementwise.fmod,
))  # fmt: skip


def _now(size: Any) -> int:
    return size.value if type(size) in KINDS else size


def draws_in_vain(nodes: Any) -> bool:
    """Whether one of these may fail at run time and one, perhaps the same, draws."""
    drawing = [node for node in nodes if node.op is DRAW]
    return bool(drawing) and (
        any(node.inputs for node in drawing) or any(node.op in _FAILING for node in nodes)
    )


def elements(tensor: Tensor, is_written: Callable[[Any], bool]) -> Any:
    """The flat elements of a tensor; None where they are still to be computed or written, or on
    another device, whose work a look at them would have to wait for.

    ``is_written``: whether a write to a storage waits."""
    if tensor.aval.device is not cpu:
        return None
    storage = tensor._storage
    if storage is None:
        return None if type(tensor.flat) is Value else tensor.flat
    memory = storage.memory
    buffer = memory.buffer
    if type(buffer) is Value or is_written(memory) or (
        buffer.dtype != tensor.aval.dtype.np
    ):
        return None
    return buffer[tensor._offset : tensor._offset + _now(tensor.aval.extent)]


def _by_zero(inputs: Any, is_written: Callable[[Any], bool]) -> bool:
    """Whether whole numbers are divided by a zero that is there already."""
    if any(x.aval.dtype.is_floating_point or x.aval.dtype.is_complex for x in inputs):
        return False
    flat = elements(inputs[1], is_written)
    return flat is not None and not flat.all()


def may_fail(op: Any, inputs: Any, params: Any, is_written: Callable[[Any], bool]) -> bool:
    """Whether an index is out of range, of those whose :func:`elements` are there."""
    bounds = _BOUNDS.get(op)
    if bounds is None:
        return op in _DIVIDING and _by_zero(inputs, is_written)
    for index, low, stop, ignored in bounds(inputs, params):
        flat = elements(index, is_written)
        if flat is None or flat.dtype.kind not in "iu" or not flat.size:
            continue
        least, most = flat.min(), flat.max()
        if least < low or most >= stop:
            known = flat[flat != ignored] if ignored is not None else flat
            if known.size and (known.min() < low or known.max() >= stop):
                return True
    return False
