"""What the tests of views share: how steps are drawn, done in both libraries, and compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch.torch as mt

torch = pytest.importorskip("torch")

Step = Callable[[Any, Any], Any]


def drawn(examples: int) -> Callable[[Any], Any]:
    """``data`` drawn the same way in every run."""

    def decorate(function: Any) -> Any:
        return given(st.data())(settings(
            max_examples=examples, derandomize=True, deadline=None, database=None
        )(function))  # fmt: skip

    return decorate


def outcome(function: Callable[[], Any]) -> Any:
    """What a call returns, or its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()
    except Exception as error:
        return error


def same_outcome(mine: Any, theirs: Any, what: Any) -> bool:
    """Whether both calls returned; where one failed, so must the other, with the same error."""
    if isinstance(mine, Exception) or isinstance(theirs, Exception):
        assert type(mine) is type(theirs), (what, mine, theirs)
        first = [str(error).split("\n")[0].replace("mindtorch.", "") for error in (mine, theirs)]
        assert first[0] == first[1], what
        return False
    return True


def assert_same(mine: Any, theirs: Any, what: Any) -> None:
    """Layout and elements of two tensors are equal."""
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    assert mine.stride() == theirs.stride(), what
    assert mine.storage_offset() == theirs.storage_offset(), what
    assert mine.is_contiguous() == theirs.is_contiguous(), what
    assert_equal(mine, theirs, what)


def assert_equal(mine: Any, theirs: Any, what: Any) -> None:
    a, b = mine.detach(), theirs.detach()
    np.testing.assert_array_equal(a.numpy(), b.resolve_conj().resolve_neg().numpy(), str(what))


# --- how a step is drawn -------------------------------------------------------------------------


def axis_of(data: Any, x: Any, extra: int = 0) -> int:
    """An axis from either end; sometimes one that does not exist."""
    n = x.dim() + extra
    return int(data.draw(st.integers(-n - (n == 0), max(n - 1, 0))))


def factored(data: Any, size: int) -> list[int]:
    """A shape of ``size`` elements."""
    shape = []
    for _ in range(data.draw(st.integers(0, 2))):
        divisors = [d for d in range(1, size + 1) if size % d == 0] or [0]
        shape.append(data.draw(st.sampled_from(divisors)))
        size = size // shape[-1] if shape[-1] else size
    shape.insert(data.draw(st.integers(0, len(shape))), size)
    if data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    return shape


def _view(data: Any, x: Any) -> Step:
    shape = factored(data, x.numel())
    return lambda t, x: x.view(shape)


def _reshape(data: Any, x: Any) -> Step:
    shape = factored(data, x.numel())
    return lambda t, x: x.reshape(shape)


def _transpose(data: Any, x: Any) -> Step:
    a, b = axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.transpose(a, b)


def _permute(data: Any, x: Any) -> Step:
    order = data.draw(st.permutations(range(x.dim())))
    return lambda t, x: x.permute(order)


def _expand(data: Any, x: Any) -> Step:
    sizes = [data.draw(st.sampled_from([-1, n, 3] if n == 1 else [-1, n])) for n in x.shape]
    sizes = [*data.draw(st.lists(st.integers(1, 3), max_size=1)), *sizes]
    return lambda t, x: x.expand(sizes)


def _narrow(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    n = x.shape[axis] if x.dim() else 0
    start, length = data.draw(st.integers(-n, n)), data.draw(st.integers(0, max(n, 0)))
    return lambda t, x: x.narrow(axis, start, length)


def _select(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    n = x.shape[axis] if x.dim() else 1
    index = data.draw(st.integers(-n, n))
    return lambda t, x: x.select(axis, index)


def _unfold(data: Any, x: Any) -> Step:
    axis, size, step = axis_of(data, x), data.draw(st.integers(0, 3)), data.draw(st.integers(1, 2))
    return lambda t, x: x.unfold(axis, size, step)


def _diagonal(data: Any, x: Any) -> Step:
    offset, a, b = data.draw(st.integers(-2, 2)), axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.diagonal(offset, a, b)


def _squeeze(data: Any, x: Any) -> Step:
    if data.draw(st.booleans()):
        return lambda t, x: x.squeeze()
    axis = axis_of(data, x)
    return lambda t, x: x.squeeze(axis)


def _unsqueeze(data: Any, x: Any) -> Step:
    axis = axis_of(data, x, 1)
    return lambda t, x: x.unsqueeze(axis)


def _movedim(data: Any, x: Any) -> Step:
    a, b = axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.movedim(a, b)


def _split(data: Any, x: Any) -> Step:
    axis, size, which = axis_of(data, x), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    return lambda t, x: x.split(size, axis)[-1 if which else 0]


def _split_sizes(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    first = data.draw(st.integers(0, 2))
    rest = (x.shape[axis] if x.dim() else 1) - first
    return lambda t, x: x.split([first, rest], axis)[1]


def _chunk(data: Any, x: Any) -> Step:
    axis, count = axis_of(data, x), data.draw(st.integers(1, 4))
    return lambda t, x: x.chunk(count, axis)[-1]


def _tensor_split(data: Any, x: Any) -> Step:
    axis, count = axis_of(data, x), data.draw(st.integers(1, 3))
    return lambda t, x: x.tensor_split(count, axis)[-1]


def _unbind(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    return lambda t, x: x.unbind(axis)[-1]


def as_strided(data: Any, x: Any) -> Step:
    ndim = data.draw(st.integers(0, 3))
    shape = [data.draw(st.integers(0, 3)) for _ in range(ndim)]
    strides = [data.draw(st.integers(0, 4)) for _ in range(ndim)]
    offset = data.draw(st.sampled_from([None, 0, 1, 2]))
    return lambda t, x: x.as_strided(shape, strides, offset)


def _view_dtype(data: Any, x: Any) -> Step:
    name = data.draw(st.sampled_from(["int64", "float32", "int32", "int16", "uint8", "complex64"]))
    return lambda t, x: x.view(getattr(t, name))


def _view_as_real(data: Any, x: Any) -> Step:
    return lambda t, x: t.view_as_real(x)


def _view_as_complex(data: Any, x: Any) -> Step:
    return lambda t, x: t.view_as_complex(x)


def _flatten(data: Any, x: Any) -> Step:
    start, end = sorted(abs(axis_of(data, x)) % max(x.dim(), 1) for _ in range(2))
    return lambda t, x: x.flatten(start, end)


def _unflatten(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    sizes = factored(data, x.shape[axis] if x.dim() else 1)
    return lambda t, x: x.unflatten(axis, sizes)


def _view_as(data: Any, x: Any) -> Step:
    shape = [n for n in x.shape if n != 1]
    return lambda t, x: x.view_as(t.empty(shape))


PLAIN_VIEWS = (
    _view, _reshape, _transpose, _permute, _expand, _narrow, _select, _unfold, _diagonal, _squeeze,
    _unsqueeze, _movedim, _split, _split_sizes, _chunk, _tensor_split, _unbind, as_strided,
    _flatten, _unflatten, _view_as,
)  # fmt: skip
ALL_VIEWS = (*PLAIN_VIEWS, _view_dtype, _view_dtype, _view_as_real, _view_as_complex)


def base_pair(data: Any, dtype: str = "float64") -> tuple[Any, Any]:
    """The same tensor in both libraries, of 1 to 4 axes."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    if data.draw(st.integers(0, 9)) == 0:
        shape[0] = 0
    values = np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)
    return mt.from_numpy(values.copy()), torch.from_numpy(values.copy())
