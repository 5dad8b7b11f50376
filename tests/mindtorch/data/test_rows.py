"""Rows as bytes, and back."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

import mindtorch.torch as mt
from mindtorch.data.rows import Reader, encode

Point = namedtuple("Point", "x y")


def round_trip(value: Any) -> Any:
    """What is read of a row that lies behind others; twice, by the same reader."""
    buffer = memoryview(bytes(64) + bytes(encode(value)))
    reader = Reader()
    reader.read(buffer, 64)
    return reader.read(buffer, 64)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float):
        return repr(a) == repr(b)
    return bool(a == b)


_DTYPES = st.one_of(
    arrays.integer_dtypes(), arrays.unsigned_integer_dtypes(), arrays.floating_dtypes(),
    arrays.complex_number_dtypes(), arrays.unicode_string_dtypes(), arrays.boolean_dtypes(),
)  # fmt: skip
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(),
    arrays.arrays(_DTYPES, arrays.array_shapes(min_dims=0, min_side=0, max_side=4)),
)  # fmt: skip
_ROWS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(), st.integers(0, 9)), inner, max_size=3),
    ),
    max_leaves=6,
)  # fmt: skip


@given(_ROWS)
def test_a_row_comes_back_as_it_was(row: Any) -> None:
    assert same(round_trip(row), row)


@pytest.mark.parametrize("module", [torch, mt], ids=["torch", "mindtorch"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "complex64"])
def test_tensors(module: Any, dtype: str) -> None:
    for value in (module.ones(2, 3), module.ones(()), module.ones(0, 2), module.ones(3, 2).t()):
        tensor = value.to(getattr(module, dtype))
        read = round_trip((tensor, 1))[0]
        assert type(read) is type(tensor)
        assert read.dtype == tensor.dtype and tuple(read.shape) == tuple(tensor.shape)
        assert bool((read == tensor).all())
        read.zero_()  # it is the reader's own


def test_arrays_are_views_that_cannot_be_written() -> None:
    read = round_trip({"a": np.arange(6).reshape(2, 3).T, "b": np.float32(2)})
    assert not read["a"].flags.owndata
    with pytest.raises(ValueError, match="read-only"):
        read["a"][0] = 1
    assert read["a"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_an_image() -> None:
    image = Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    read = round_trip((image, 3))[0]
    assert read.mode == "RGB" and read.tobytes() == image.tobytes()
    with pytest.raises(TypeError, match="palette"):
        encode(image.convert("P"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (object(), "builtins.object is not cached"),
        (Point(1, 2), "Point is not cached"),
        ({(1, 2): 3}, "keys of dicts"),
        (np.array([object()]), "dtype object"),
        (np.zeros(2, "i4,f4"), "are not cached"),
        ({1, 2}, "set is not cached"),
        (torch.ones(2, 2).to_sparse(), "sparse"),
    ],
    ids=["object", "namedtuple", "key", "objects", "record", "set", "sparse"],
)
def test_what_is_no_row(value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        encode((1, value))
