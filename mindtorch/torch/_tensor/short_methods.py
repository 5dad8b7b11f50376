"""Methods of the tensor that take longer to call than to answer.

A wrapper around them, which says torch's errors of wrong calls, would be felt; they look by
themselves for arguments that they do not have.
"""

from __future__ import annotations

from typing import Any

from mindtorch.engine.aval import is_channels_last

from .._api.arguments import as_int, normalize_axis
from .._api.publish import METHODS
from .._api.shown_signature import ShownSignature
from .._api.signatures import unbound, wrong_call
from .size_and_formats import channels_last, channels_last_3d, contiguous_format, sizes_of
from .size_and_formats import memory_format as MemoryFormat  # noqa: N812

_NOT_GIVEN: Any = object()


def _wrong(name: str, given: Any, rest: Any, named: dict[str, Any]) -> TypeError:
    """torch's error for a method that was called with other arguments than it has.

    Args:
        given: the tensor, if there is one.
    """
    first = () if given is _NOT_GIVEN else (given,)
    wrong = unbound(name, first) or wrong_call(name, rest, named, method=True)
    return wrong if isinstance(wrong, TypeError) else TypeError(f"{name}(): wrong arguments")


def _the_axis(name: str, given: Any, dim: Any, rest: Any, named: dict[str, Any]) -> Any:
    """The axis that was given by its name."""
    if rest or dim is not None or named.keys() != {"dim"}:
        raise _wrong(name, given, rest if dim is None else (dim, *rest), named)
    return named["dim"]


def _place(dim: Any, ndim: int) -> int:
    """The place of an axis among ``ndim``."""
    if not ndim:
        raise IndexError(f"Dimension specified as {as_int(dim)} but tensor has no dimensions")
    return normalize_axis(dim, ndim)


def size(self: Any = _NOT_GIVEN, dim: Any = None, /, *rest: Any, **named: Any) -> Any:
    """The shape, or the length of axis ``dim``."""
    try:
        if rest or named:
            dim = _the_axis("size", self, dim, rest, named)
        if dim is None:
            return sizes_of[self.aval]
    except AttributeError:
        raise _wrong("size", self, rest, named) from None
    shape = self.aval.shape
    if dim.__class__ is int and -len(shape) <= dim < len(shape):
        return shape[dim]
    try:
        return shape[_place(dim, len(shape))]
    except TypeError:
        raise _wrong("size", self, (dim, *rest), named) from None


def stride(self: Any = _NOT_GIVEN, dim: Any = None, /, *rest: Any, **named: Any) -> Any:
    """Strides in elements, or that of axis ``dim``."""
    try:
        if rest or named:
            dim = _the_axis("stride", self, dim, rest, named)
        if dim is None:
            return self.aval.strides
        return self.aval.strides[_place(dim, self.aval.ndim)]
    except (AttributeError, TypeError):
        found = rest if dim is None else (dim, *rest)
        raise _wrong("stride", self, found, named) from None


def is_contiguous(
    self: Any = _NOT_GIVEN, /, *rest: Any, memory_format: Any = contiguous_format, **named: Any
) -> bool:
    """Whether the elements lie in that order without gaps."""
    try:
        if rest or named:
            raise _wrong("is_contiguous", self, rest, named)
        if memory_format is contiguous_format:
            return self.aval.contiguous
        if not isinstance(memory_format, MemoryFormat):
            raise AttributeError
    except AttributeError:
        named["memory_format"] = memory_format
        raise _wrong("is_contiguous", self, rest, named) from None
    if memory_format in (channels_last, channels_last_3d):
        ndim = 4 if memory_format is channels_last else 5
        return self.aval.ndim == ndim and is_channels_last(self.aval.shape, self.aval.strides)
    return self.aval.contiguous


_LOOK = """\
def {name}(self=not_given, /, *rest, **named):
    try:
        if rest or named:
            raise wrong("{name}", self, rest, named)
        return self.aval.{what}
    except AttributeError:
        raise wrong("{name}", self, rest, named) from None
"""


def _look(name: str, what: str, about: str) -> Any:
    """A method without arguments that says what the description of the tensor has."""
    known: dict[str, Any] = {"not_given": _NOT_GIVEN, "wrong": _wrong, "__name__": __name__}
    exec(_LOOK.format(name=name, what=what), known)
    known[name].__doc__ = about
    return known[name]


def _of_an_axis(self: Any, dim: int | None = None) -> Any:
    """What is shown of methods that take an axis."""


def _alone(self: Any) -> int:
    """What is shown of methods that take nothing."""
    raise NotImplementedError


def _of_a_format(self: Any, *, memory_format: Any = contiguous_format) -> bool:
    """What is shown of methods that take a format."""
    raise NotImplementedError


def _register(method: Any, shown: Any) -> None:
    method.__signature__ = ShownSignature(shown)
    method.__qualname__ = f"Tensor.{method.__name__}"
    METHODS[method.__name__] = method


for _method, _shown in (
    (size, _of_an_axis), (stride, _of_an_axis), (is_contiguous, _of_a_format),
    *[(_look(name, "ndim", "The number of axes."), _alone) for name in ("dim", "ndimension")],
    *[(_look(name, "size", "The number of elements."), _alone) for name in ("numel", "nelement")],
):  # fmt: skip
    _register(_method, _shown)
