"""Products on matrix registers against float64: orders, sizes, batches, threads, what has no exact
parts, and who gets them. Where a processor has no such registers, no plan is made."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine.op import Layout
from mindtorch.kernels.cpu import amx_products, matmul
from mindtorch.kernels.cpu.matrix_products import amx
from mindtorch.kernels.cpu.matrix_products.product_shapes import (
    Matrix,
    Product,
    of_linear,
    of_matrices,
)
from mindtorch.kernels.cpu.threads import thread_pool
from tests.kernels.cpu.product_operands import ORDERS, SIZES, errors, layout, matrix
from tests.support.compiled_kinds import check_beside_eager

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def product(a: Any, b: Any, bias: Any = None, plan: Any = None) -> Any:
    """The product between numbers that stay as they are; None where it could not be done."""
    shape = (*a.shape[:-1], b.shape[-1])
    room = np.full(int(np.prod(shape)) + 128, 7, a.dtype)
    out = room[64:-64]
    out[:] = np.nan
    if plan is None:
        given = of_matrices(Layout(shape, (), a.dtype), layout(a), layout(b))
        start = None if bias is None else Matrix(0, 1)
        plan = amx_products.plan(a.dtype, given, start=start, always=True)
        assert (plan is not None) == amx.available()
    if plan is None:
        return None
    done = plan(out, matmul._memory(a), matmul._memory(b), *([] if bias is None else [bias]))
    assert (room[:64] == 7).all() and (room[-64:] == 7).all()
    return out.reshape(shape) if done else None


@pytest.mark.parametrize("kind", [np.float32, BFLOAT16])
@pytest.mark.parametrize("order", ORDERS)
def test_every_order_and_size(order: str, kind: Any) -> None:
    for m, n, k in SIZES:
        a, b = matrix(m, k, order[0], kind), matrix(k, n, order[1], kind)
        bias = matrix(1, n, "n", kind)[0]
        found = product(a, b, bias)
        if found is not None:
            limit = 2.0**-24 * (2 + k**0.5) if kind is np.float32 else 2.0**-8
            assert errors(found, a, b, bias).max() <= limit


def test_sums_are_more_exact_than_chains_of_float32() -> None:
    a, b = matrix(64, 1024, "n", np.float32), matrix(1024, 96, "n", np.float32)
    found = product(a, b)
    if found is not None:
        chain = np.zeros((64, 96), np.float32)
        for q in range(1024):
            chain += a[:, q : q + 1] * b[q]
        assert (errors(found, a, b) ** 2).mean() < (errors(chain, a, b) ** 2).mean() / 4


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", [np.float32, BFLOAT16])
def test_batches_and_threads(kind: Any, count: int) -> None:
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        for sizes, batch in (((300, 400, 100), ()), ((400, 90, 130), ()), ((128, 128, 96), (3, 2))):
            m, n, k = sizes
            a, b = matrix(m, k, "n", kind, batch), matrix(k, n, "t", kind, batch)
            found = product(a, b)
            if found is not None:
                limit = 2.0**-24 * (2 + k**0.5) if kind is np.float32 else 2.0**-8
                assert errors(found, a, b).max() <= limit
    finally:
        thread_pool.set_num_threads(before)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_not_finite_is_left_to_others(which: int, value: float) -> None:
    given = [matrix(40, 50, "n", np.float32), matrix(50, 60, "n", np.float32)]
    given[which][3, 4] = value
    assert product(*given) is None


@pytest.mark.parametrize("scales", [(1e-30, 1e-30), (2e-38, 1.0), (1e25, 1e25)])
def test_what_has_no_exact_parts_or_sums_is_left_to_others(scales: Any) -> None:
    a, b = matrix(40, 50, "n", np.float32), matrix(50, 60, "n", np.float32)
    assert product(a * np.float32(scales[0]), b * np.float32(scales[1])) is None


@pytest.mark.parametrize("scales", [(1e-20, 1e20), (1e-13, 1e-12), (1e18, 1e18), (0.0, 1.0)])
def test_other_scales_are_as_exact(scales: Any) -> None:
    a = matrix(40, 50, "n", np.float32) * np.float32(scales[0])
    b = matrix(50, 60, "n", np.float32) * np.float32(scales[1])
    found = product(a, b)
    if found is not None:
        assert (found == 0).all() if not scales[0] else errors(found, a, b).max() <= 2.0**-21


def test_bfloat16_keeps_what_is_not_finite() -> None:
    a, b = matrix(40, 50, "n", BFLOAT16), matrix(50, 60, "n", BFLOAT16)
    a[3, 4], a[5, 6] = np.inf, np.nan
    found = product(a, b)
    if found is not None:
        assert np.isinf(found[3].astype(np.float32)).all()
        assert np.isnan(found[5].astype(np.float32)).all()
        assert np.isfinite(np.delete(found.astype(np.float32), (3, 5), 0)).all()


def test_the_switch(monkeypatch: Any) -> None:
    given = Product((256, 256, 256), Matrix(256, 1), Matrix(256, 1))
    assert (amx_products.plan(np.dtype(np.float32), given) is not None) == amx.available()
    monkeypatch.setenv("MINDTORCH_AMX", "0")
    assert not amx.available()
    assert amx_products.plan(np.dtype(np.float32), given, always=True) is None
    assert amx_products.plan(BFLOAT16, given, always=True) is None


def test_axes_of_one_place_do_not_hide_rows_in_order() -> None:
    """A sequence of one example has its rows in order, whatever the step of examples."""
    x = Layout((128, 1, 768), (768, 128 * 768, 1), np.dtype(np.float32))
    weight = Layout((96, 768), (768, 1), np.dtype(np.float32))
    assert of_linear(x, weight) == Product((128, 96, 768), Matrix(768, 1), Matrix(1, 768))


def noted(monkeypatch: Any) -> list[Any]:
    """What is asked from now on whether it has exact parts."""
    own, seen = amx_products._fits, []

    def fits(*given: Any) -> bool:
        seen.append(given)
        return own(*given)

    monkeypatch.setattr(amx_products, "_fits", fits)
    return seen


@pytest.mark.parametrize("kind", ["captured", "script"])
def test_compiled_functions_run_it_and_replayed_scripts_do_not(kind: str, monkeypatch: Any) -> None:
    seen = noted(monkeypatch)
    torch.manual_seed(0)
    x = torch.randn(4, 64, 256, requires_grad=True)
    model = torch.nn.Sequential(torch.nn.Linear(256, 320), torch.nn.Linear(320, 256, bias=False))
    check_beside_eager(kind, model, x, seen, 4e-6)
    assert bool(seen) == (kind == "captured" and amx.available())


def test_eager_products_where_a_program_allows_others(monkeypatch: Any) -> None:
    seen = noted(monkeypatch)
    a, b = (torch.tensor(matrix(256, 256, "n", np.float32)) for _ in range(2))
    weight, bias = torch.randn(320, 256), torch.randn(320)
    calls = (lambda: a @ b, lambda: torch.nn.functional.linear(a, weight, bias))
    before = [call().numpy() for call in calls]
    assert not seen
    torch.set_float32_matmul_precision("high")
    try:
        between = [call().numpy() for call in calls]
    finally:
        torch.set_float32_matmul_precision("highest")
    assert len(seen) == 2 * amx.available()
    for x, y, call in zip(before, between, calls, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=4e-6 * np.abs(x).max())
        assert np.array_equal(call().numpy(), x)


def test_what_is_not_finite_in_compiled_functions() -> None:
    x, weight = matrix(128, 256, "n", np.float32), matrix(192, 256, "n", np.float32)
    x[3, 4], x[5, 6] = np.inf, np.nan
    expected = reference.nn.functional.linear(reference.tensor(x), reference.tensor(weight))
    call = torch.compile(torch.nn.functional.linear)
    for _ in range(2):
        found = call(torch.tensor(x), torch.tensor(weight)).numpy()
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(40, 64), (2, 20, 64), (64,)])
def test_linear_layers_of_bfloat16(shape: Any) -> None:
    """Results and gradients are rounded once, as PyTorch's."""
    made = []
    for library in (torch, reference):
        values = [matrix(1, int(np.prod(shape)), "n", np.float32).reshape(shape),
                  matrix(48, 64, "n", np.float32), matrix(1, 48, "n", np.float32)[0]]  # fmt: skip
        given = [library.tensor(v).to(library.bfloat16).requires_grad_() for v in values]
        y = library.nn.functional.linear(*given)
        y.float().sin().sum().backward()
        made.append([v.detach().float().numpy() for v in (y, *[x.grad for x in given])])
    for a, b in zip(*made, strict=True):
        np.testing.assert_allclose(a, b, rtol=2.0**-6, atol=2.0**-7 * np.abs(b).max())
