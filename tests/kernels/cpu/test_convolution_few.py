"""Gradients for weights and biases of few channels, which compiled functions run: against float64,
and who gets them; and the rows of zeros that eager convolutions leave out."""

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.op import Layout
from mindtorch.kernels.cpu import convolution as direct
from mindtorch.kernels.cpu import convolution_few as few
from mindtorch.kernels.cpu.convolutions import convolution_tables as tables
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.kernels.cpu.vectors.simd import lanes
from tests.support.compiled_kinds import calls_of, check_beside_eager

nn = torch.nn
# images, channels given and made, height and width, window, padding
CASES: dict[str, tuple[int, int, int, tuple[int, int], tuple[int, int], tuple[int, int]]] = {
    "as in LeNet": (64, 1, 6, (28, 28), (5, 5), (2, 2)),
    "several channels": (40, 3, 7, (20, 19), (3, 3), (1, 1)),
    "a window that is not square": (60, 2, 5, (17, 24), (2, 6), (0, 1)),
    "one channel": (90, 2, 1, (33, 30), (3, 7), (0, 3)),
}


def made(shape: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def layout(x: Any) -> Layout:
    return Layout(x.shape, tuple(n // x.itemsize for n in x.strides), x.dtype)


def operands(name: str, monkeypatch: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The slope, the image, room for the gradient; how they are convolved."""
    images, inner, channels, size, window, padding = CASES[name]
    monkeypatch.setattr(few, "_LEAST", 1)
    channels = min(channels, lanes(np.float32) // 2)
    places = [n + 2 * p - k + 1 for n, p, k in zip(size, padding, window, strict=True)]
    g, x = made((images, channels, *places), 0), made((images, inner, *size), 1)
    how = {"stride": (1, 1), "padding": padding, "dilation": (1, 1), "groups": 1}
    return g, x, np.empty((channels, inner, *window), np.float32), how


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_the_weight_gradient_is_as_exact_as_the_definition(
    name: str, count: int, monkeypatch: Any
) -> None:
    g, x, out, how = operands(name, monkeypatch)
    plan = few.convolution_weight_gradient(
        [layout(out)], [layout(g), layout(x)], shape=out.shape, **how
    )
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        assert plan is not None
        for _ in range(2):  # buffers are used again
            assert plan(out.reshape(-1), g.reshape(-1), x.reshape(-1))
    finally:
        thread_pool.set_num_threads(before)
    exact, plain = np.empty(out.shape), np.empty_like(out)
    direct.convolution_weight_gradient(exact, g.astype(float), x.astype(float), **how)
    direct.convolution_weight_gradient(plain, g, x, **how)
    unit = np.finfo(np.float32).eps * np.abs(exact).max()
    assert np.abs(out - exact).max() <= np.abs(plain - exact).max() + 2 * unit
    assert not np.array_equal(out, plain)


def test_what_is_not_finite_is_left_to_the_definition(monkeypatch: Any) -> None:
    g, x, out, how = operands("as in LeNet", monkeypatch)
    x[3, 0, 5, 6] = np.inf
    plan = few.convolution_weight_gradient(
        [layout(out)], [layout(g), layout(x)], shape=out.shape, **how
    )
    assert plan is not None
    assert not plan(out.reshape(-1), g.reshape(-1), x.reshape(-1))


@pytest.mark.parametrize("shape", [(64, 6, 28, 28), (50, 3, 25, 19), (9, 40, 16, 16)])
def test_the_bias_gradient(shape: Any) -> None:
    g = made(shape, 0)
    out = np.empty(shape[1], np.float32)
    plan = few.channel_sum([layout(out)], [layout(g)], inner=1, groups=1)
    assert plan is not None
    assert plan(out, g.reshape(-1))
    exact = g.astype(np.float64).sum((0, 2, 3))
    limit = 1e-6 * np.abs(g).astype(np.float64).sum((0, 2, 3)).max()
    np.testing.assert_allclose(out, exact, rtol=0, atol=limit)


@pytest.mark.parametrize("kind", ["captured", "script"])
def test_compiled_functions_run_them_and_replayed_scripts_do_not(
    kind: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(few, "_LEAST", 1)
    seen = calls_of(monkeypatch, few, "_WeightSum")
    torch.manual_seed(0)
    x = torch.randn(8, 2, 20, 20, requires_grad=True)
    model = nn.Sequential(nn.Conv2d(2, 4, 5, padding=2), nn.Conv2d(4, 3, 3))
    check_beside_eager(kind, model, x, seen, 4e-6)
    assert seen == ({"_WeightSum"} if kind == "captured" else set())


@pytest.mark.parametrize(
    ("width", "seen"),
    [(8, [1, 2, 3, 4, 5, 5, 5, 5, 5, 5, 4, 3, 2, 1]), (16, [2, 4, 5, 5, 5, 4, 2])],
)
def test_rows_of_zeros_are_left_out(width: int, seen: list[int]) -> None:
    """The input's gradient of LeNet's second convolution: 4 rows of padding above and below. Two
    vectors go together, those of a row or of two rows, which see what either does."""
    case = ((64, 6, 14, 14), (16, 6, 5, 5), (64, 16, 10, 10), (1, 1), (0, 0), (1, 1), 1)
    plan = tables.backward(*case)
    (phase,) = plan.phases
    terms = np.diff(phase.terms(width, plan).reshape(-1, 2)).reshape(-1) // (16 * 5)
    if lanes(np.float32) == 16:
        assert terms.tolist() == seen
    else:  # two blocks of channels hold the rows in turns
        assert all(least <= found <= 5 for least, found in zip(seen, terms, strict=True))
