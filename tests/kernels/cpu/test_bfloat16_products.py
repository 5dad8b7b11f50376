"""Products of bfloat16 by pairs of terms against float64: orders, sizes, batches, threads, long
sums, what is not finite. Where a processor has no such instruction, no plan is made."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.op import Layout
from mindtorch.kernels.cpu import matmul
from mindtorch.kernels.cpu.matrix_products import bfloat16_products, bfloat16_tile
from mindtorch.kernels.cpu.matrix_products.product_shapes import Matrix, Product, of_matrices
from mindtorch.kernels.cpu.threads import thread_pool
from tests.kernels.cpu.product_operands import ORDERS, SIZES, errors, layout, matrix

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def product(a: Any, b: Any, bias: Any = None) -> Any:
    """The product between numbers that stay as they are; None where there is no instruction."""
    shape = (*a.shape[:-1], b.shape[-1])
    room = np.full(int(np.prod(shape)) + 128, 7, BFLOAT16)
    out = room[64:-64]
    out[:] = np.nan
    given = of_matrices(Layout(shape, (), BFLOAT16), layout(a), layout(b))
    plan = bfloat16_products.plan(given, biased=bias is not None)
    assert (plan is not None) == bfloat16_tile.available()
    if plan is None:
        return None
    plan(out, matmul._memory(a), matmul._memory(b), *([] if bias is None else [bias]))
    assert (room[:64] == 7).all() and (room[-64:] == 7).all()
    return out.reshape(shape)


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_and_size(order: str) -> None:
    for m, n, k in [*SIZES, (1, 64, 64), (20, 50, 1700), (2100, 30, 1601)]:
        a, b = matrix(m, k, order[0], BFLOAT16), matrix(k, n, order[1], BFLOAT16)
        for bias in (None, matrix(1, n, "n", BFLOAT16)[0]):
            found = product(a, b, bias)
            if found is not None:
                assert errors(found, a, b, 0 if bias is None else bias).max() <= 2.0**-8


def test_long_sums_are_rounded_once() -> None:
    a, b = (np.full((3, 5000), 1, BFLOAT16) for _ in range(2))
    found = product(a, b.T)
    if found is not None:  # were sums of blocks rounded, 5000 would be another number
        assert (found == np.float32(5000).astype(BFLOAT16)).all()


@pytest.mark.parametrize("count", [1, 2])
def test_batches_and_threads(count: int) -> None:
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        for sizes, batch in (((300, 400, 100), ()), ((400, 90, 130), ()), ((128, 128, 96), (3, 2))):
            m, n, k = sizes
            a, b = matrix(m, k, "t", BFLOAT16, batch), matrix(k, n, "t", BFLOAT16, batch)
            found = product(a, b)
            if found is not None:
                assert errors(found, a, b).max() <= 2.0**-8
    finally:
        thread_pool.set_num_threads(before)


@pytest.mark.parametrize("terms", [50, 51])
def test_what_is_not_finite_stays_in_its_row(terms: int) -> None:
    a, b = matrix(40, terms, "n", BFLOAT16), matrix(terms, 60, "n", BFLOAT16)
    a[3, 4], a[5, -1] = np.inf, np.nan
    found = product(a, b)
    if found is not None:
        wide = found.astype(np.float32)
        assert np.isinf(wide[3]).all() and np.isnan(wide[5]).all()
        assert np.isfinite(np.delete(wide, (3, 5), 0)).all()


def test_the_switch(monkeypatch: Any) -> None:
    given = Product((256, 256, 256), Matrix(256, 1), Matrix(256, 1))
    assert (bfloat16_products.plan(given) is not None) == bfloat16_tile.available()
    a, b = (torch.randn(40, 64).to(torch.bfloat16) for _ in range(2))
    found = (a @ b.t()).float().numpy()
    monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
    assert not bfloat16_tile.available()
    assert bfloat16_products.plan(given) is None
    own = a.float().numpy() @ b.float().numpy().T
    np.testing.assert_allclose(found, own, rtol=2.0**-8, atol=2.0**-16)
