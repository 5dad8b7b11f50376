"""Winograd's convolution, in tiles of 2 and of 4: against float64, and who gets it."""

import functools
from typing import Any

import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine.op import Layout
from mindtorch.kernels.cpu import convolution as direct
from mindtorch.kernels.cpu import winograd
from mindtorch.kernels.cpu.convolutions import winograd_transforms as transforms
from mindtorch.kernels.cpu.matrix_products import amx
from mindtorch.kernels.cpu.threads import thread_pool
from tests.support.compiled_kinds import check_beside_eager

nn = torch.nn
# images, channels given and made, height and width, padding
CASES: dict[str, tuple[int, int, int, tuple[int, int], tuple[int, int]]] = {
    "as in a residual network": (4, 64, 64, (8, 8), (1, 1)),
    "odd sizes and channels": (3, 37, 45, (11, 9), (1, 1)),
    "rows of tiles in pieces": (2, 32, 33, (40, 70), (1, 1)),
    "no padding": (5, 40, 35, (9, 10), (0, 0)),
    "padding of one side": (3, 33, 32, (12, 13), (2, 0)),
    "padding beyond the window": (2, 32, 40, (7, 14), (3, 2)),
    "few tiles of many channels": (16, 96, 130, (4, 4), (1, 1)),
}


def made(shape: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layout(x: Any) -> Layout:
    return Layout(x.shape, tuple(n // x.itemsize for n in x.strides), x.dtype)


def run(edge: int, name: str, out: Any, *ins: Any, padding: tuple[int, int]) -> Any:
    """``out`` by a plan for tiles of ``edge``, or by the definition: where there is none, or 0."""
    params = {"stride": (1, 1), "padding": padding, "dilation": (1, 1), "groups": 1}
    if edge:
        make = getattr(winograd, name)
        plan = make([layout(out)], [layout(x) for x in ins], edge=edge, **params)
        if plan is not None and plan(out.reshape(-1), *[x.reshape(-1) for x in ins]):
            return out
    getattr(direct, name)(out, *ins, **params)
    return out


def results(edge: int, case: Any, dtype: Any = np.float32) -> list[Any]:
    """The result and both gradients."""
    images, inner, channels, size, padding = case
    x, weight = made((images, inner, *size), 0), made((channels, inner, 3, 3), 1)
    bias = made(channels, 2)
    spatial = tuple(n + 2 * p - 2 for n, p in zip(size, padding, strict=True))
    g = made((images, channels, *spatial), 3)
    x, weight, bias, g = (v.astype(dtype) for v in (x, weight, bias, g))
    return [
        run(edge, "convolution", np.empty_like(g), x, weight, bias, padding=padding),
        run(edge, "convolution_input_gradient", np.empty_like(x), g, weight, padding=padding),
        run(edge, "convolution_weight_gradient", np.empty_like(weight), g, x, padding=padding),
    ]


@pytest.mark.parametrize(("edge", "times"), [(2, 2), (4, 5)])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("held", ["pieces", "panels"])
@pytest.mark.parametrize("name", CASES)
def test_the_error_is_near_that_of_the_definition(
    name: str, held: str, count: int, edge: int, times: int, monkeypatch: Any
) -> None:
    """Largest errors against float64 are at most twice those of the definition in float32 in tiles
    of 2, and 5 times those in tiles of 4, where terms of a tile's sums are up to 3.4 squared times
    its pixels, and are taken from one another."""
    monkeypatch.setitem(winograd._FEWEST, edge, 16)
    monkeypatch.setitem(winograd._GAIN, edge, 0.75)
    monkeypatch.setattr(winograd, "_HELD", 0 if held == "pieces" else 1 << 30)
    case, before = CASES[name], thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        quick = results(edge, case)
    finally:
        thread_pool.set_num_threads(before)
    exact = results(0, case, np.float64)
    plain = results(0, case)
    for a, b, expected in zip(quick, plain, exact, strict=True):
        largest = np.abs(expected).max()
        unit = np.finfo(np.float32).eps * largest
        error = np.abs(a - expected).max()
        assert error <= times * np.abs(b - expected).max() + 4 * unit
        assert error <= 1e-5 * largest
    # the first padding leaves the input's gradient to the definition where it exceeds 2
    assert not np.array_equal(quick[0], plain[0])
    assert not np.array_equal(quick[2], plain[2])


@pytest.mark.parametrize("made", [2, 4])
def test_transforms_are_the_definition(made: int) -> None:
    given, weight, out = (
        np.array(each[made])
        for each in (transforms.GIVEN, transforms.WEIGHT, transforms.OUT)
    )  # fmt: skip
    rng = np.random.default_rng(0)
    d, w = rng.standard_normal((made + 2, made + 2)), rng.standard_normal((3, 3))
    found = out @ ((given @ d @ given.T) * (weight @ w @ weight.T)) @ out.T
    expected = np.lib.stride_tricks.sliding_window_view(d, (3, 3))
    np.testing.assert_allclose(found, (expected * w).sum((2, 3)), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_in_its_place(value: float) -> None:
    x, weight = made((2, 32, 16, 16), 0), made((32, 32, 3, 3), 1)
    x[1, 3, 4, 5] = value
    *quick, plain = (
        run(edge, "convolution", np.empty_like(x), x, weight, padding=(1, 1)) for edge in (2, 4, 0)
    )
    assert not np.isfinite(plain).all()
    assert all(np.array_equal(each, plain, equal_nan=True) for each in quick)
    eager = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(weight), padding=1)
    assert np.array_equal(eager.numpy(), plain, equal_nan=True)


@pytest.mark.parametrize("kind", ["captured", "script"])
def test_compiled_functions_have_tiles_of_4_and_others_tiles_of_2(
    kind: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(amx, "enabled", lambda: False)  # which is asked first
    small: set[int] = set()
    large: set[int] = set()
    plan = winograd._Case.__init__

    def noted(case: Any, edge: int, *rest: Any) -> None:
        (small if edge == 2 else large).add(edge)
        plan(case, edge, *rest)

    monkeypatch.setattr(winograd._Case, "__init__", noted)
    torch.manual_seed(0)
    images = {"captured": 4, "script": 5}[kind]  # else plans of the other case would serve
    x = torch.randn(images, 32, 16, 16, requires_grad=True)
    model = nn.Sequential(nn.Conv2d(32, 40, 3, padding=1), nn.Conv2d(40, 32, 3))
    check_beside_eager(kind, model, x, large, 4e-6)
    assert small == {2}
    assert large == ({4} if kind == "captured" else set())


def test_a_variable_turns_it_off(monkeypatch: Any) -> None:
    """Results are those of the definition then, eagerly and compiled."""
    monkeypatch.setattr(amx, "enabled", lambda: False)
    monkeypatch.setenv("MINDTORCH_WINOGRAD", "0")
    x, weight = made((5, 33, 12, 12), 0), made((34, 33, 3, 3), 1)  # which no other test has met
    plain = run(0, "convolution", np.empty((5, 34, 12, 12), np.float32), x, weight, padding=(1, 1))
    call = functools.partial(torch.nn.functional.conv2d, padding=1)
    for each in (call, torch.compile(call)):
        assert np.array_equal(each(torch.tensor(x), torch.tensor(weight)).numpy(), plain)


@pytest.mark.parametrize("has_tiles", [True, False])
def test_gradients_of_gradients(has_tiles: bool, monkeypatch: Any) -> None:
    """Of a compiled convolution, against torch in float64; on matrix registers, where they are."""
    if not has_tiles:
        monkeypatch.setattr(amx, "enabled", lambda: False)
    x, weight = made((2, 32, 12, 12), 0), made((32, 32, 3, 3), 1) / 17

    def function(library: Any, a: Any, b: Any) -> Any:
        y = library.nn.functional.conv2d(a, b, padding=1)
        (slope,) = library.autograd.grad((y * y).sum(), a, create_graph=True)
        return library.autograd.grad((slope * slope).sum(), (a, b))

    wide = [reference.tensor(v, dtype=reference.float64, requires_grad=True) for v in (x, weight)]
    expected = function(reference, *wide)
    given = [torch.tensor(v, requires_grad=True) for v in (x, weight)]
    actual = torch.compile(lambda a, b: function(torch, a, b))(*given)
    for a, b in zip(actual, expected, strict=True):
        limit = 1e-5 * float(b.abs().max())
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=limit)
