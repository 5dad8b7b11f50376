"""Convolutions on matrix registers, which compiled functions run where the processor has them:
against float64, and who gets them. Elsewhere these tests run the loops that every processor has."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.op import Layout
from mindtorch.kernels.cpu import amx_convolution
from mindtorch.kernels.cpu import convolution as direct
from mindtorch.kernels.cpu.matrix_products import amx
from mindtorch.kernels.cpu.threads import thread_pool
from tests.support.compiled_kinds import calls_of, check_beside_eager

nn = torch.nn


class Case(NamedTuple):
    images: int
    inner: int
    channels: int
    size: tuple[int, int]
    window: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)

    def spatial(self) -> tuple[int, ...]:
        sizes = zip(self.size, self.window, self.stride, self.padding, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)

    def params(self) -> dict[str, Any]:
        how = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation}
        return {**how, "groups": 1}


CASES = {
    "as in a residual network": Case(4, 64, 64, (16, 16)),
    "images abreast": Case(32, 33, 40, (8, 7)),
    "images abreast, their rows in pieces": Case(32, 64, 40, (24, 16)),
    "images abreast, with a stride": Case(32, 32, 48, (9, 8), stride=(2, 2)),
    "channels and sizes that fill no tile": Case(3, 37, 45, (11, 9)),
    "rows in pieces": Case(2, 32, 33, (60, 70)),
    "rows in pieces, with a stride": Case(2, 32, 33, (61, 70), stride=(2, 2)),
    "no padding": Case(5, 40, 35, (9, 10), padding=(0, 0)),
    "padding of one side": Case(3, 33, 32, (12, 13), padding=(2, 0)),
    "padding beyond the window": Case(2, 32, 40, (7, 14), padding=(4, 3)),
    "windows of one place": Case(2, 64, 96, (14, 14), (1, 1), padding=(0, 0)),
    "one place, with a stride": Case(2, 64, 96, (14, 13), (1, 1), (2, 2), (0, 0)),
    "a window and stride of two": Case(2, 32, 64, (15, 16), (2, 2), (2, 2), (0, 0)),
    "stride of one side": Case(2, 32, 64, (15, 16), (5, 3), (1, 2), (2, 1)),
    "dilation": Case(2, 32, 40, (15, 17), padding=(2, 0), dilation=(2, 3)),
    "one image": Case(1, 64, 80, (20, 20)),
}  # fmt: skip


def made(shape: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layout(x: Any) -> Layout:
    return Layout(x.shape, tuple(n // x.itemsize for n in x.strides), x.dtype)


def run(kernels: Any, name: str, out: Any, *ins: Any, case: Case) -> Any:
    """``out`` by a kernel of ``direct``, or by a plan on matrix registers, if there is one."""
    if kernels is amx_convolution:
        shape = {} if name == "convolution" else {"shape": out.shape}
        make = getattr(amx_convolution, name)
        plan = make([layout(out)], [layout(x) for x in ins], **case.params(), **shape)
        assert (plan is not None) is amx.available()
        if plan is not None and plan(out.reshape(-1), *[x.reshape(-1) for x in ins]):
            return out
    getattr(direct, name)(out, *ins, **case.params())
    return out


def results(kernels: Any, case: Case, dtype: Any = np.float32) -> list[Any]:
    """The result and both gradients by the kernels of a module."""
    x, weight = (
        made((case.images, case.inner, *case.size), 0),
        made((case.channels, case.inner, *case.window), 1),
    )
    bias, g = made(case.channels, 2), made((case.images, case.channels, *case.spatial()), 3)
    x, weight, bias, g = (v.astype(dtype) for v in (x, weight, bias, g))
    name = "convolution"
    return [
        run(kernels, name, np.empty_like(g), x, weight, bias, case=case),
        run(kernels, f"{name}_input_gradient", np.empty_like(x), g, weight, case=case),
        run(kernels, f"{name}_weight_gradient", np.empty_like(weight), g, x, case=case),
    ]


@pytest.fixture(autouse=True)
def _whatever_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amx_convolution, "_gains", lambda *given: True)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_error_is_that_of_the_definition(name: str, count: int) -> None:
    """Largest errors against float64 are at most those of the definition in float32, but for a
    few roundings of the largest result."""
    case, before = CASES[name], thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        quick = results(amx_convolution, case)
    finally:
        thread_pool.set_num_threads(before)
    exact, plain = results(direct, case, np.float64), results(direct, case)
    for a, b, expected in zip(quick, plain, exact, strict=True):
        unit = np.finfo(np.float32).eps * np.abs(expected).max()
        assert np.abs(a - expected).max() <= np.abs(b - expected).max() + 4 * unit
        if amx.available():
            assert not np.array_equal(a, b)


@pytest.mark.parametrize("scale", [1e-15, 1e-9, 1e9, 1e17])
def test_large_and_small_numbers_are_as_exact(scale: float) -> None:
    case = CASES["channels and sizes that fill no tile"]
    x = made((case.images, case.inner, *case.size), 0) * np.float32(scale)
    weight = made((case.channels, case.inner, 3, 3), 1) * np.float32(scale)
    out = np.empty((case.images, case.channels, *case.spatial()), np.float32)
    quick = run(amx_convolution, "convolution", out, x, weight, case=case)
    exact = np.empty(out.shape)
    run(direct, "convolution", exact, x.astype(np.float64), weight.astype(np.float64), case=case)
    np.testing.assert_allclose(quick, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38])
@pytest.mark.parametrize("images", [2, 32])
def test_what_is_not_finite_stays_in_its_place(value: float, images: int) -> None:
    case = Case(images, 32, 32, (8, 8))
    x, weight = made((images, 32, 8, 8), 0), made((32, 32, 3, 3), 1)
    x[1, 3, 4, 5] = value
    for name, ins in (
        ("convolution", (x, weight)),
        ("convolution_input_gradient", (x, weight)),
        ("convolution_weight_gradient", (made(x.shape, 4), x)),
    ):
        shape = weight.shape if name.endswith("weight_gradient") else x.shape
        quick, plain = (
            run(kernels, name, np.empty(shape, np.float32), *ins, case=case)
            for kernels in (amx_convolution, direct)
        )
        assert not np.isfinite(plain).all()
        assert np.array_equal(quick, plain, equal_nan=True)


def test_results_do_not_depend_on_what_was_in_memory() -> None:
    """Buffers are used again by convolutions of other sizes, whose images were not finite."""
    for first, second in itertools.permutations(("no padding", "images abreast", "dilation"), 2):
        expected = results(amx_convolution, CASES[second])
        case = CASES[first]
        x = np.full((case.images, case.inner, *case.size), np.nan, np.float32)
        weight = np.full((case.channels, case.inner, *case.window), np.nan, np.float32)
        out = np.empty((case.images, case.channels, *case.spatial()), np.float32)
        run(amx_convolution, "convolution", out, x, weight, case=case)
        run(amx_convolution, "convolution_weight_gradient", weight, out, x, case=case)
        for a, b in zip(results(amx_convolution, CASES[second]), expected, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("kind", ["captured", "script"])
def test_compiled_functions_run_it_and_replayed_scripts_do_not(kind: str, monkeypatch: Any) -> None:
    seen = calls_of(monkeypatch, amx_convolution, "_Correlation", "_WeightSum")
    torch.manual_seed(0)
    x = torch.randn(4, 32, 8, 8, requires_grad=True)
    model = nn.Sequential(nn.Conv2d(32, 40, 3, padding=1, stride=2), nn.Conv2d(40, 32, 1))
    check_beside_eager(kind, model, x, seen, 2e-6)
    is_run = kind == "captured" and amx.available()
    assert seen == ({"_Correlation", "_WeightSum"} if is_run else set())
