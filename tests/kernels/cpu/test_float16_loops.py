"""Elementwise loops over float16: LLVM narrows arithmetic there, sometimes beyond what it has."""

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt

UNARY = (
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh"
    " atanh sigmoid erf erfc lgamma sinc floor ceil trunc frac round sign abs"
).split()
BINARY = (
    "fmod remainder atan2 hypot copysign floor_divide xlogy maximum fmax logaddexp pow"
).split()


def _check(name: str, *inputs: Any) -> None:
    found = getattr(mt, name)(*inputs)
    assert found.dtype is mt.float16
    expected = getattr(mt, name)(*[x.float() for x in inputs]).half()
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def _table() -> Any:
    return (mt.arange(40) / 41 + 0.01).half().reshape(5, 8)


def _rows() -> tuple[Any, Any]:
    return (mt.arange(5) / 5 + 0.1).half(), (mt.arange(5) / 4 + 0.3).half()


def _one_of_four(names: list[str]) -> list[Any]:
    """The others are exhaustive: each layout is a kernel to be compiled."""
    every = pytest.mark.exhaustive
    return [n if i % 4 == 0 else pytest.param(n, marks=every) for i, n in enumerate(names)]


@pytest.mark.parametrize("name", UNARY)
def test_float16_is_float32_rounded_once(name: str) -> None:
    """In a contiguous loop, for half numbers between 0 and 1."""
    _check(name, _table())


@pytest.mark.parametrize("name", _one_of_four(UNARY))
def test_float16_is_float32_rounded_once_in_strided_loops(name: str) -> None:
    """They are not vectorised."""
    _check(name, _table()[:, ::2])


@pytest.mark.parametrize("name", BINARY)
def test_float16_of_two_inputs_is_float32_rounded_once(name: str) -> None:
    """Broadcast ones included: that loop called a library function that is not there."""
    x, y = _rows()
    _check(name, x, y)
    _check(name, x.unsqueeze(1), y)


@pytest.mark.parametrize("name", _one_of_four(BINARY))
def test_float16_of_two_inputs_is_float32_rounded_once_in_strided_loops(name: str) -> None:
    """A transposed input beside one that is repeated along both axes."""
    x, y = _rows()
    _check(name, x.expand(5, 5).t(), y[:1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["erf", "erfinv", "exp2", "sinc", "atan2", "logaddexp"])
def test_gradients_are_rounded_where_pytorch_rounds(name: str, dtype: str) -> None:
    """Bit for bit: its formulas, each of whose steps is rounded to 16 bits."""
    draw = np.random.default_rng(0)
    arrays = [draw.uniform(-0.9, 0.9, 300).astype(np.float32) for _ in range(3)]
    found = []
    for library in (torch, mt):
        x, y, g = (library.from_numpy(a).to(getattr(library, dtype)) for a in arrays)
        inputs = [x.requires_grad_(), y][: 1 + (name in ("atan2", "logaddexp"))]
        getattr(library, name)(*inputs).backward(g)
        found.append(x.grad.float().numpy())
    np.testing.assert_array_equal(found[1], found[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["layer_norm", "group_norm", "batch_norm"])
def test_normalisation_with_parameters_of_float32(name: str, dtype: str) -> None:
    """As under autocast: statistics and the parameters' gradients keep float32's precision."""
    draw = np.random.default_rng(0)
    x, g = (draw.standard_normal((6, 4, 8)).astype(np.float32) for _ in range(2))
    w, b = (draw.standard_normal(8 if name == "layer_norm" else 4, np.float32) for _ in range(2))
    found = []
    for library in (torch, mt):
        call = getattr(library.nn.functional, name)
        half = library.from_numpy(x).to(getattr(library, dtype)).requires_grad_()
        parameters = [library.from_numpy(v.copy()).requires_grad_() for v in (w, b)]
        middle: Any = {"layer_norm": [(8,)], "group_norm": [2]}.get(name)
        made = call(half, *middle, *parameters) if middle else call(
            half, library.zeros(4), library.ones(4), *parameters, training=True
        )
        made.backward(library.from_numpy(g).to(made.dtype))
        found.append([half.grad.float().numpy(), *(p.grad.numpy() for p in parameters)])
    np.testing.assert_array_equal(found[1][0], found[0][0])
    assert found[1][1].dtype == np.float32
    if name == "layer_norm":  # whose sums PyTorch rounds to 16 bits
        rounded = torch.from_numpy(x).to(getattr(torch, dtype)).double()
        wide = torch.nn.functional.layer_norm(rounded, (8,))
        slope = torch.from_numpy(g).to(getattr(torch, dtype)).double()
        wanted = [(slope * wide).sum((0, 1)).numpy(), slope.sum((0, 1)).numpy()]
    else:
        wanted = found[0][1:]
    for mine, theirs in zip(found[1][1:], wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_next_number_of_a_short_type(dtype: str) -> None:
    """Of all 65536; the next float32 rounds to where it came from."""
    bits = np.arange(-32768, 32768).astype(np.int16)
    theirs, mine = (t.from_numpy(bits).view(getattr(t, dtype)) for t in (torch, mt))
    for towards in (float("inf"), 0.0):
        expected = torch.nextafter(theirs, torch.full_like(theirs, towards))
        found = mt.nextafter(mine, mt.full_like(mine, towards))
        numbers = ~expected.isnan().numpy()
        assert not found.isnan().numpy()[numbers].any()
        same = expected.view(torch.int16).numpy() == found.view(mt.int16).numpy()
        assert same[numbers].all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(2, 30, 8, 8), (2, 5, 4, 8, 8)])
def test_pooling_with_channels_last(shape: tuple[int, ...], dtype: str) -> None:
    """The greatest elements' places, which are no short numbers, and gradients there."""
    x = np.random.default_rng(0).permutation(np.prod(shape)).reshape(shape).astype(np.float32) % 251
    found = []
    for t in (torch, mt):
        order = getattr(t, "channels_last" if len(shape) == 4 else "channels_last_3d")
        given = t.from_numpy(x).to(getattr(t, dtype)).contiguous(memory_format=order)
        pool = getattr(t.nn, f"MaxPool{len(shape) - 2}d")(3, 1, return_indices=True)
        values, places = pool(given.requires_grad_())
        values.sum().backward()
        found.append([a.detach().float().numpy() for a in (values, places, given.grad)])
    for theirs, mine in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
