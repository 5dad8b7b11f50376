"""Abstract values: what is known of a tensor without its data. One object for each distinct
value."""

from __future__ import annotations

import collections
import threading
import weakref
from collections.abc import Callable, Iterable
from functools import reduce
from math import prod
from operator import index
from typing import Any, TypeVar

from .devices import device as devices
from .dtypes import NAMES_ONLY, DType
from .symbolic_sizes import PLAIN, Count, as_index, name_of, open_sizes, plain

Shape = tuple[int, ...]


class Aval:
    """Shape, strides (in elements), dtype, device and weakness of a tensor; interned.

    Attributes:
        weak: made of a Python number, so that it only promotes between categories.
        size: the number of elements.
        contiguous: laid out in C order.
        dense: elements fill ``size`` places without gaps, in some order of the axes.
        sharded: of the class: whether it lies over several processes.
        answered: of the class: whether the tensor's class answers for ops.
    """

    sharded = False
    answered = False

    __slots__ = (
        "__weakref__", "contiguous", "dense", "device", "dtype", "ndim", "shape", "size",
        "strides", "weak",
    )  # fmt: skip
    shape: Shape
    strides: Shape
    dtype: DType
    device: devices.Device
    weak: bool
    ndim: int
    size: int
    contiguous: bool
    dense: bool

    def __repr__(self) -> str:
        layout = "" if self.contiguous else f", strides={self.strides}"
        place = "" if self.device is devices.cpu else f", {self.device}"
        weak = ", weak" if self.weak else ""
        return f"{self.dtype.name}{list(self.shape)}{layout}{place}{weak}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (aval, (self.shape, self.dtype, self.strides, self.device, self.weak))

    @property
    def extent(self) -> int:
        """How many places of the flat buffer lie between the first and the last element."""
        if self.dense:
            return self.size
        if self.size == 0:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    @property
    def byte_strides(self) -> Shape:
        itemsize = self.dtype.itemsize
        return tuple(s * itemsize for s in self.strides)


class UnstridedAval(Aval):
    """That of a tensor without one memory of its own (sparse, nested, masked): equal to that of no
    other tensor, so that nothing kept for plain tensors is taken for it."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (unstrided, (self.shape, self.dtype, self.device))


class AnsweredAval(Aval):
    """That of a tensor whose class answers for ops (torch's ``__torch_dispatch__``): equal to that
    of no other tensor, so that no plan is kept for it."""

    __slots__ = ()
    answered = True

    def __reduce__(self) -> tuple[Any, ...]:
        return (answered, (unanswered(self),))


Described = TypeVar("Described", bound=Aval)
_LARGEST = 2**63 - 1

# those in use, and the last ones made: more is not kept of shapes that are met once
_interned: weakref.WeakValueDictionary[tuple[object, ...], Aval] = weakref.WeakValueDictionary()
_references: dict[tuple[object, ...], weakref.ref[Aval]] = vars(_interned)["data"]
_latest: collections.deque[Aval] = collections.deque(maxlen=256)
_making = threading.Lock()


def contiguous_strides(shape: Shape) -> Shape:
    """The strides of C order, as torch gives them (a length of 0 counts as 1)."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * (shape[i + 1] if shape[i + 1] > 1 else 1)
    return tuple(strides)


def _symbolic(
    shape: Shape, dtype: DType, strides: Shape | None, device: devices.Device, weak: bool
) -> Aval | None:
    """The description with sizes of the capture under way, one object for each; None where all are
    plain numbers."""
    sizes = open_sizes[-1]
    numbers: tuple[Any, ...] = (*shape, *(strides or ()))
    own = [n for n in numbers if type(n) is Count]
    if not own:
        return None
    if sizes.mode == PLAIN or any(n.sizes is not sizes for n in own):
        shape = tuple([plain(n) for n in shape])
        strides = None if strides is None else tuple([plain(n) for n in strides])
        return aval(shape, dtype, strides, device, weak)
    shape = tuple([as_index(n) for n in shape])
    if strides is None:
        strides = contiguous_strides(shape)
    key = (tuple(map(name_of, shape)), dtype, tuple(map(name_of, strides)), device, weak)
    found = sizes.avals.get(key)
    if found is None:
        found = sizes.avals[key] = _new(shape, dtype, tuple(strides), device, weak)
        sizes.described.add(id(found))
    return found


def aval(
    shape: Shape,
    dtype: DType,
    strides: Shape | None = None,
    device: devices.Device = devices.cpu,
    weak: bool = False,
) -> Aval:
    """The abstract value with these properties; strides default to C order."""
    if open_sizes:
        described = _symbolic(shape, dtype, strides, device, weak)
        if described is not None:
            return described
    key = (shape, dtype, strides, device, weak)
    reference = _references.get(key)
    if reference is not None and (found := reference()) is not None:
        return found
    shape = tuple([index(n) for n in shape])  # 2.0 is refused: it would stand for 2 from now on
    natural = contiguous_strides(shape)
    full_key = (shape, dtype, natural if strides is None else strides, device, weak)
    with _making:
        found = _interned.get(full_key)
        if found is None:
            found = _new(*full_key)
            _interned[full_key] = found
            _latest.append(found)
        _interned[key] = found
    return found


def unstrided(
    shape: Shape, dtype: DType, device: devices.Device = devices.cpu
) -> Aval:
    """The description of a tensor without one memory of its own."""
    sizes = tuple([index(plain(n)) for n in shape])
    key = (UnstridedAval, sizes, dtype, device)
    found = _interned.get(key)
    if found is None:
        with _making:
            found = _interned.get(key)
            if found is None:
                found = _filled(UnstridedAval, sizes, dtype, (0,) * len(sizes), device, False)
                _interned[key] = found
    return found


def described_as(
    kind: type[Described], whole: Aval, key: tuple[object, ...], finish: Callable[[Any], None]
) -> Described:
    """The description of class ``kind`` like ``whole``, one object for each ``key``.

    Args:
        finish: gives a new one what the class has besides.
    """
    found: Any = _interned.get(key)
    if found is None:
        with _making:
            found = _interned.get(key)
            if found is None:
                found = _filled(
                    kind, whole.shape, whole.dtype, whole.strides, whole.device, whole.weak
                )
                finish(found)
                _interned[key] = found
    return found


def answered(whole: Aval) -> AnsweredAval:
    """The description like ``whole`` of a tensor whose class answers for ops."""
    key = (AnsweredAval, whole.shape, whole.dtype, whole.strides, whole.device)
    return described_as(AnsweredAval, whole, key, lambda made: None)


def unanswered(x: Aval) -> Aval:
    """The description of a plain tensor with the same sizes, strides, type and device."""
    return aval(x.shape, x.dtype, x.strides, x.device, x.weak) if x.answered else x


def dense_like(x: Aval) -> Aval:
    """That of a tensor of the same shape, type and device, in C order."""
    return aval(x.shape, x.dtype, None, x.device)


def retyped(x: Aval, dtype: DType) -> Aval:
    """As `x`, with elements of another type."""
    return aval(x.shape, dtype, x.strides, x.device)


def _why_name_only(dtype: DType) -> str:
    """Why a type that is known by name has no tensors."""
    if dtype.name.startswith(("q", "bits")):
        return "quantised numbers are made by torch.quantize_per_tensor and its like"
    return "there are no kernels for integers of fewer than 8 bits"


def _new(
    shape: Shape, dtype: DType, strides: Shape, device: devices.Device, weak: bool
) -> Aval:
    if dtype in NAMES_ONLY:
        raise NotImplementedError(
            f"tensors of {dtype!r} are not available in mindtorch: {_why_name_only(dtype)}"
        )
    natural = strides == contiguous_strides(shape)
    if max(prod(shape) * (dtype.itemsize if natural else 1), *strides, 0) > _LARGEST:
        raise _overflow(shape, natural)
    return _filled(Aval, shape, dtype, strides, device, weak)


def _filled(
    kind: type[Described], shape: Shape, dtype: DType, strides: Shape, device: devices.Device,
    weak: bool,
) -> Described:  # fmt: skip
    result = object.__new__(kind)
    result.shape = shape
    result.strides = strides
    result.dtype = dtype
    result.device = device
    result.weak = weak
    result.ndim = len(shape)
    result.size = prod(shape)
    result.contiguous = result.size == 0 or _follows(shape, strides, range(len(shape) - 1, -1, -1))
    order = sorted(range(len(shape)), key=lambda i: strides[i])
    result.dense = result.contiguous or _follows(shape, strides, order)
    return result


def _overflow(shape: Shape, natural: bool) -> RuntimeError:
    """torch's error for what 64 bits cannot count."""
    if not natural:
        return RuntimeError("numel: integer multiplication overflow")
    if 0 in shape:
        return RuntimeError("Stride calculation overflowed")
    return RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


def _follows(shape: Shape, strides: Shape, order: object) -> bool:
    """Whether the axes in ``order``, innermost first, lie without gaps."""
    expected = 1
    for i in order:  # type: ignore[attr-defined]
        if shape[i] == 1:
            continue
        if strides[i] != expected:
            return False
        expected *= shape[i]
    return True


def is_channels_last(shape: Shape, strides: Shape) -> bool:
    """Whether a 4-d (5-d) layout is N, H, W, C (N, D, H, W, C) in memory."""
    if len(shape) not in (4, 5):
        return False
    return _follows(shape, strides, [1, *range(len(shape) - 1, 1, -1), 0])


def dense_strides(shape: Shape, order: Iterable[int]) -> Shape:
    """Strides without room between the elements; ``order`` names the axes, innermost first."""
    strides = [1] * len(shape)
    expected = 1
    for axis in order:
        strides[axis] = expected
        expected *= max(shape[axis], 1)
    return tuple(strides)


def channels_last_strides(shape: Shape) -> Shape:
    return dense_strides(shape, [1, *range(len(shape) - 1, 1, -1), 0])


def broadcast_two(a: Shape, b: Shape) -> Shape:
    """The common shape of two shapes; RuntimeError with torch's text where there is none."""
    if a == b:
        return a
    ndim = max(len(a), len(b))
    result = []
    for i in range(ndim - 1, -1, -1):
        m = a[i - ndim + len(a)] if i >= ndim - len(a) else 1
        n = b[i - ndim + len(b)] if i >= ndim - len(b) else 1
        if m != n and m != 1 and n != 1:
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                f"non-singleton dimension {i}"
            )
        result.append(n if m == 1 else m)
    return tuple(result[::-1])


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of all ``shapes``."""
    return reduce(broadcast_two, shapes, ())
