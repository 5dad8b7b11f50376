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


def dim(self: Any = _NOT_GIVEN, /, *rest: Any, **named: Any) -> int:
    """The number of axes."""
    try:
        if rest or named:
            raise _wrong("dim", self, rest, named)
        return self.aval.ndim
    except AttributeError:
        raise _wrong("dim", self, rest, named) from None


def ndimension(self: Any = _NOT_GIVEN, /, *rest: Any, **named: Any) -> int:
    """The number of axes."""
    try:
        if rest or named:
            raise _wrong("ndimension", self, rest, named)
        return self.aval.ndim
    except AttributeError:
        raise _wrong("ndimension", self, rest, named) from None


def numel(self: Any = _NOT_GIVEN, /, *rest: Any, **named: Any) -> int:
    """The number of elements."""
    try:
        if rest or named:
            raise _wrong("numel", self, rest, named)
        return self.aval.size
    except AttributeError:
        raise _wrong("numel", self, rest, named) from None


def nelement(self: Any = _NOT_GIVEN, /, *rest: Any, **named: Any) -> int:
    """The number of elements."""
    try:
        if rest or named:
            raise _wrong("nelement", self, rest, named)
        return self.aval.size
    except AttributeError:
        raise _wrong("nelement", self, rest, named) from None


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
    (size, _of_an_axis), (stride, _of_an_axis), (dim, _alone), (ndimension, _alone),
    (numel, _alone), (nelement, _alone), (is_contiguous, _of_a_format),
):  # fmt: skip
    _register(_method, _shown)
