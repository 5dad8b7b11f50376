"""Primitives that functions of `mindspore.mint` are made of. Views end with what orders them."""

from __future__ import annotations

from typing import Any

from ..common.tensor import F, t
from .errors import UnsupportedPrimitiveError
from .primitives import reads, whole, whole_numbers
from .primitives_shapes import element_type
from .values import MONAD

# --- views ----------------------------------------------------------------------------------------


def _view(*names: str) -> Any:
    """Register a view under these names; its last input may be what orders it."""

    def register(function: Any) -> Any:
        def run(*inputs: Any) -> Any:
            return function(*(inputs[:-1] if inputs[-1] is MONAD else inputs))

        reads(*names)(run)
        return function

    return register


@_view("SplitTensorView", "SplitTensor")
def _split(x: Any, size: Any, axis: Any) -> Any:
    return tuple(t.split(x, whole(size), whole(axis)))


@_view("SplitWithSizeView", "SplitWithSize")
def _split_with_size(x: Any, sizes: Any, axis: Any) -> Any:
    return tuple(t.split(x, list(whole_numbers(sizes)), whole(axis)))


@_view("ChunkView", "Chunk")
def _chunk(x: Any, count: Any, axis: Any = 0) -> Any:
    return tuple(t.chunk(x, whole(count), whole(axis)))


@_view("TransposeExtView")
def _transpose(x: Any, first: Any, second: Any) -> Any:
    return t.transpose(x, whole(first), whole(second))


@_view("TransposeView")
def _permute(x: Any, axes: Any) -> Any:
    return t.permute(x, whole_numbers(axes))


@_view("NarrowView", "Narrow")
def _narrow(x: Any, axis: Any, start: Any, length: Any) -> Any:
    return t.narrow(x, whole(axis), whole(start), whole(length))


@_view("SliceExtView", "SliceExt")
def _slice(x: Any, axis: Any, start: Any, end: Any, step: Any = 1) -> Any:
    axis = whole(axis) % x.aval.ndim
    places = (slice(None),) * axis
    return x[(*places, slice(*(None if n is None else whole(n) for n in (start, end, step))))]


@_view("SelectExtView", "SelectView")
def _select(x: Any, axis: Any, place: Any) -> Any:
    return t.select(x, whole(axis), whole(place))


@_view("UnstackExtView")
def _unbind(x: Any, axis: Any) -> Any:
    return tuple(t.unbind(x, whole(axis)))


@_view("ExpandDimsView")
def _unsqueeze(x: Any, axis: Any) -> Any:
    return t.unsqueeze(x, whole(axis))


@_view("BroadcastToView")
def _broadcast(x: Any, shape: Any) -> Any:
    return x.expand(whole_numbers(shape))


@_view("DiagonalView")
def _diagonal(x: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    return t.diagonal(x, whole(offset), whole(axis1), whole(axis2))


@_view("Contiguous")
def _contiguous(x: Any) -> Any:
    return x.contiguous()


@reads("FlattenExt")
def _flatten(x: Any, first: Any = 0, last: Any = -1) -> Any:
    return t.flatten(x, whole(first), whole(last))


# --- elements -------------------------------------------------------------------------------------


@reads("MaxDim")
def _max(x: Any, axis: Any, keepdim: Any = False) -> Any:
    return tuple(t.max(x, whole(axis), keepdim=bool(keepdim)))


@reads("MinDim")
def _min(x: Any, axis: Any, keepdim: Any = False) -> Any:
    return tuple(t.min(x, whole(axis), keepdim=bool(keepdim)))


@reads("ArgMaxExt")
def _argmax(x: Any, axis: Any = None, keepdim: Any = False) -> Any:
    return t.argmax(x, None if axis is None else whole(axis), bool(keepdim))


@reads("ArgMinExt")
def _argmin(x: Any, axis: Any = None, keepdim: Any = False) -> Any:
    return t.argmin(x, None if axis is None else whole(axis), bool(keepdim))


@reads("Baddbmm")
def _baddbmm(x: Any, y: Any, z: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return t.baddbmm(x, y, z, beta=beta, alpha=alpha)


@reads("PowTensorScalar", "PowScalarTensor")
def _power(x: Any, y: Any) -> Any:
    return t.pow(x, y)


def _bitwise(name: str) -> None:
    compute = getattr(t, f"bitwise_{name.lower()}")
    reads(f"Bitwise{name}Tensor", f"Bitwise{name}Scalar")(lambda x, y: compute(x, y))


for _name in ("And", "Or", "Xor"):
    _bitwise(_name)


@reads("SoftplusExt")
def _softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    return F.softplus(x, beta, threshold)


@reads("LogSoftmaxExt")
def _log_softmax(x: Any, axis: Any = None, dtype: Any = None) -> Any:
    return F.log_softmax(x, -1 if axis is None else whole(axis), dtype=element_type(dtype))


@reads("OneHotExt")
def _one_hot(places: Any, depth: Any, on: Any, off: Any, axis: Any = -1) -> Any:
    kept = t.eq(t.unsqueeze(places, -1), t.arange(whole(depth)))
    made = t.where(kept, on, off)
    return made if whole(axis) == -1 else t.movedim(made, -1, whole(axis))


@reads("Embedding")
def _embedding(places: Any, table: Any, padding: Any = None, norm: Any = None, *_: Any) -> Any:
    if norm is not None:
        raise UnsupportedPrimitiveError("Embedding with max_norm, which writes to the table")
    return F.embedding(places, table)  # what is padding matters to gradients alone


@reads("ConstantPadND")
def _constant_pad(x: Any, padding: Any, value: Any = 0) -> Any:
    return F.pad(x, list(whole_numbers(padding)), "constant", value)
