"""Which lengths of a program's arguments may change: `Dim`, and what `dynamic_shapes` says."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from mindtorch.engine.tensor import Tensor
from mindtorch.torch._compat.unsupported_names import refuse
from mindtorch.torch._dynamo.exc import UserError

__all__ = ["Dim", "OpenLengths", "ValueRange", "dims", "open_lengths"]

_EXPECTED = "expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC, "


class _HintKind(enum.Enum):
    AUTO = enum.auto()
    DYNAMIC = enum.auto()
    STATIC = enum.auto()


@dataclass(frozen=True)
class _DimHint:
    """What `Dim.AUTO` and its like are; a call gives one with bounds."""

    kind: _HintKind
    min: int | None = None
    max: int | None = None

    def __repr__(self) -> str:
        bounds = [f"{k}={v}" for k, v in (("min", self.min), ("max", self.max)) if v is not None]
        return f"DimHint({', '.join([self.kind.name, *bounds])})"

    def __call__(self, min: int | None = None, max: int | None = None) -> _DimHint:  # noqa: A002
        """The same with bounds.

        Raises:
            TypeError: of STATIC, or one that has bounds.
        """
        if self.kind is _HintKind.STATIC or self.min is not None or self.max is not None:
            raise TypeError(f"'{type(self).__name__}' object is not callable")
        _check_bounds(min, max)
        return _DimHint(self.kind, min, max)


def _check_bounds(least: int | None, most: int | None) -> None:
    if least is not None and least < 0:
        raise AssertionError(f"min must be non-negative, got {least}")
    if most is not None and most < (0 if least is None else least):
        raise AssertionError(f"Cannot create Dim with inconsistent min={least}, max={most}")


class Dim:
    """A name for a length that an exported program leaves open; those of one name are equal.

    ``AUTO`` leaves a length open if the model allows it, ``DYNAMIC`` raises if it does not,
    ``STATIC`` keeps it.

    Args:
        name: an identifier.
        min, max: the shortest and the longest that is allowed.

    Raises:
        AssertionError: the name is no identifier, or the bounds contradict each other.
    """

    AUTO: ClassVar = _DimHint(_HintKind.AUTO)
    DYNAMIC: ClassVar = _DimHint(_HintKind.DYNAMIC)
    STATIC: ClassVar = _DimHint(_HintKind.STATIC)

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        _check_bounds(min, max)
        self.__name__, self.min, self.max = name, 0 if min is None else min, max

    def __repr__(self) -> str:
        bounds = [f"min={self.min}"] if self.min != 2 else []  # 2 is what torch takes anyway
        bounds += [f"max={self.max}"] if self.max is not None else []
        return f"Dim({', '.join([repr(self.__name__), *bounds])})"

    def _derived(self, other: Any) -> NoReturn:
        refuse("torch.export.Dim arithmetic", "what follows from a length is found by tracing")

    __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = _derived


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:  # noqa: A002
    """One :class:`Dim` for each name, with the same bounds.

    Args:
        names: identifiers.
        min, max: as of :class:`Dim`.
    """
    return tuple(Dim(name, min=min, max=max) for name in names)


@dataclass(frozen=True)
class ValueRange:
    """The lengths from ``lower`` to ``upper``, to any if that is None."""

    lower: int
    upper: int | None

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper is None else self.upper}]"


@dataclass
class OpenLengths:
    """What ``dynamic_shapes`` says of the arguments' tensors.

    Attributes:
        axes: for each tensor its open axes and what their lengths are called.
        ranges: by these names, what is allowed.
        optional: the names of lengths that are open only if the model allows it.
        shown: by these names, what errors call them.
    """

    axes: list[dict[int, str]]
    ranges: dict[str, ValueRange] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)
    shown: dict[str, str] = field(default_factory=dict)

    def close(self, names: set[str]) -> None:
        """Let these lengths be those of the example."""
        self.axes = [{i: n for i, n in each.items() if n not in names} for each in self.axes]
        self.optional -= names
        for name in names:
            self.ranges.pop(name, None)

    def mark(self, place: int, source: str, shape: Sequence[int], axis: int, mark: Any) -> None:
        """Note what is said of one axis of the tensor at ``place``."""
        if mark is None or mark == Dim.STATIC:
            return
        length, where = shape[axis], f"L['{source}'].size()[{axis}]"
        if type(mark) is int:
            if mark != length:
                raise UserError(
                    f"Static shape constraint of {mark} does not match input size of {length}, "
                    f"for {where}"
                )
            return
        hint = isinstance(mark, _DimHint)
        name = f"{source}_{axis}" if hint else mark.__name__
        automatic = hint and mark.kind is _HintKind.AUTO
        span = ValueRange(mark.min or 0, mark.max)
        if length < span.lower or (span.upper is not None and length > span.upper):
            raise UserError(f"{length} not in range {repr(span)[2:]}")
        if length < 2:
            if automatic:
                return
            raise specialized(where if hint else name, length)
        self.axes[place][axis] = name
        self.ranges[name] = span
        self.shown[name] = where if hint else name
        if automatic:
            self.optional.add(name)


def specialized(shown: str, value: Any) -> UserError:
    """The error for a length that is to be open and is fixed by the model."""
    return UserError(
        f"Constraints violated ({shown})!\n  - You marked {shown} as dynamic but your code "
        f"specialized it to be a constant ({value}). If you're using Dim.DYNAMIC, replace it with "
        "either Dim.STATIC or Dim.AUTO."
    )


def _pairs(value: Any, marks: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """(tensor or other leaf, what is said of it, where) of one argument."""
    if isinstance(value, (dict, list, tuple)) and marks is not None:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if isinstance(marks, dict) != isinstance(value, dict) or len(marks) != len(keys):
            raise UserError(
                f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                f"`inputs{path}` has {len(keys)} elements, but `dynamic_shapes{path}` has "
                f"{len(marks)} elements"
            )
        for key in keys:
            if isinstance(marks, dict) and key not in marks:
                raise UserError(
                    "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                    f"`inputs{path}` has the key {key!r}, `dynamic_shapes{path}` has not"
                )
            yield from _pairs(value[key], marks[key], f"{path}[{key!r}]")
    elif isinstance(value, dict):
        for key in value:
            yield from _pairs(value[key], None, f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, each in enumerate(value):
            yield from _pairs(each, None, f"{path}[{i}]")
    else:
        yield value, marks, path


def open_lengths(
    arguments: dict[str, Any], names: Sequence[str], dynamic_shapes: Any
) -> OpenLengths:
    """What ``dynamic_shapes`` says, checked.

    Args:
        arguments: by name, as the model is called with.
        names: of the tensors in them, in order.
        dynamic_shapes: a dict by argument, or a list or tuple; for each tensor a dict from axes to
            marks, a list or tuple of marks, or None.

    Raises:
        UserError: it does not fit the arguments.
    """
    found = OpenLengths([{} for _ in names])
    if dynamic_shapes is None:
        return found
    if isinstance(dynamic_shapes, dict):
        if set(dynamic_shapes) != set(arguments):
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {list(arguments)} of `inputs`, but here they are {list(dynamic_shapes)}. "
                "Alternatively, you could also ignore arg names entirely and specify "
                "`dynamic_shapes` as a list/tuple matching `inputs`."
            )
        marks = dynamic_shapes
    elif isinstance(dynamic_shapes, (list, tuple)):
        if len(dynamic_shapes) != len(arguments):
            raise UserError(
                "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: "
                f"`inputs` has {len(arguments)} elements, but `dynamic_shapes` has "
                f"{len(dynamic_shapes)} elements"
            )
        marks = dict(zip(arguments, dynamic_shapes, strict=True))
    else:
        raise UserError(
            f"dynamic_shapes is a dict, list or tuple, not {type(dynamic_shapes).__name__}"
        )
    place = 0
    for name, value in arguments.items():
        for leaf, said, path in _pairs(value, marks[name], f"[{name!r}]"):
            if isinstance(leaf, Tensor):
                _mark_tensor(found, place, names[place], leaf.aval.shape, said, path)
                place += 1
            elif said is not None:
                raise UserError(f"dynamic_shapes{path} is {said!r}, but the input is no tensor")
    return found


def _mark_tensor(
    found: OpenLengths, place: int, name: str, shape: Sequence[int], said: Any, path: str
) -> None:
    if said is None:
        return
    if not isinstance(said, (dict, list, tuple)):
        raise UserError(
            f"Unexpected input tensor shape {said!r} specified at `dynamic_shapes{path}` (expected "
            "either a list/tuple of dimensions, or a dict mapping indices to dimensions, where "
            "each dimension is an int, a Dim, Dim.AUTO, Dim.STATIC, or Dim.DYNAMIC)"
        )
    if not isinstance(said, dict) and len(said) != len(shape):
        raise UserError(
            f"Expected dynamic shape spec {said!r} specified at `dynamic_shapes{path}` to have the "
            f"same length as the actual tensor shape {tuple(shape)} (expected {len(shape)}, but "
            f"got {len(said)} instead)"
        )
    for axis, mark in said.items() if isinstance(said, dict) else enumerate(said):
        if not (mark is None or type(mark) is int or isinstance(mark, (_DimHint, Dim))):
            raise UserError(
                f"Unexpected dimension mapped to index {axis} in input tensor shape {said!r} "
                f"specified at `dynamic_shapes{path}` ({_EXPECTED} but got {mark!r} instead)"
            )
        if not -len(shape) <= axis < len(shape):
            raise IndexError(f"dynamic_shapes{path}: the tensor has no axis {axis}")
        found.mark(place, name, shape, axis % len(shape), mark)
