"""Copies of elements: in another layout, as another type, on another device."""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.codegen.typed_scalar import cast_type

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..devices.device import backend
from ..op import Op
from ..result_strides import preserved_strides
from ..stored_types import only_moves
from ..tensor import Tensor, capturing
from .base import expand_aval


def _clone_aval(x: Aval, *, strides: Shape | None = None) -> Aval:
    if strides is None:
        strides = preserved_strides(x)
    return aval(x.shape, x.dtype, strides, x.device)


# strides None keeps a dense layout; a tuple asks for that layout
clone = Op("clone", _clone_aval, "elementwise.copy", vjp=lambda g: g)




def _cast_aval(x: Aval, *, dtype: dtypes.DType) -> Aval:
    return aval(x.shape, dtype, preserved_strides(x), x.device)


class _Move(Op):
    """Copies to another device, in the same layout where it has no gaps."""

    composed = True

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Any:
        return backend("cuda").copy(avals[0], in_avals[0])


to_device = _Move(
    "_to_device",
    lambda x, *, device: aval(x.shape, x.dtype, preserved_strides(x), device),
    vjp=(lambda g, avals: to_device(g, device=avals[0].device),),
    grad_name="ToCopyBackward0",
)

cast = Op(
    "_to_copy",
    _cast_aval,
    "elementwise.copy_cast",
    vjp=lambda g: g,
    grad_name="ToCopyBackward0",
    scalar_step=lambda aval, in_avals: (
        "positive", (0,), cast_type(aval.dtype.np, in_avals[0].dtype.np)
    ),
)


def copy_data(target: Tensor, source: Tensor) -> None:
    """Write ``source``'s elements (broadcast, cast) over ``target``'s, with no other effect."""
    where, what = target.aval, source.aval
    if where.size == 0:
        return
    capture = capturing()
    if capture is not None:
        capture.raw_write(target)
    key = (where, what)
    run = _copies.get(key)
    if run is None:
        if callbacks.copy_sharded is not None and (where.sharded or what.sharded):
            callbacks.copy_sharded(target, source)
            return
        if where.device.type == "meta":
            return  # there are no elements
        if what.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        run = kernel_of_copy(where, what)
    if share_memory(target, source):
        if target.aval is source.aval and target._offset == source._offset:
            return
        source = clone.evaluate(0, (source,), {})
        copy_data(target, source)
        return
    run(target.flat, source.flat)


def kernel_of_copy(where: Any, what: Any) -> Any:
    """``run(target, source)``, which writes elements described by ``what``, broadcast and cast,
    over those described by ``where``."""
    run = _copies.get((where, what))
    if run is None:
        source = what if what.shape == where.shape else expand_aval(what, shape=where.shape)
        run = cast.bound((where,), (source,), {"dtype": where.dtype})
        _copies.keep((where, what), run)
    return run


_copies = Bounded(2048)


def share_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors look at one memory."""
    one, other = a._storage, b._storage
    if one is None or other is None:
        return False
    return one is other or one.memory is other.memory


# what element types that are stored alone have of these ops
only_moves(clone)
