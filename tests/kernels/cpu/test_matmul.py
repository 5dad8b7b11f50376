"""Matrix products against numpy in float64, over layouts, batches and types."""

import itertools
import os
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import mindtorch.torch as mt
from mindtorch.kernels.cpu import matmul as kernels
from mindtorch.kernels.cpu.matrix_products import openblas
from mindtorch.kernels.cpu.threads import thread_pool
from tests.support.paths import ROOT


def made(shape: Any, dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def laid_out(array: Any, layout: str) -> Any:
    """The same values with other strides."""
    if layout == "transposed":
        return np.ascontiguousarray(np.swapaxes(array, -1, -2)).swapaxes(-1, -2)
    if layout == "rows apart":
        room = np.full((*array.shape[:-1], array.shape[-1] + 3), np.nan, array.dtype)
        room[..., : array.shape[-1]] = array
        return room[..., : array.shape[-1]]
    if layout == "strided":
        room = np.full((*array.shape[:-1], array.shape[-1] * 2), np.nan, array.dtype)
        room[..., ::2] = array
        return room[..., ::2]
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    return array


LAYOUTS = ["plain", "transposed", "rows apart", "strided", "reversed"]


def assert_near(actual: Any, expected: Any, terms: int) -> None:
    unit = np.finfo(actual.dtype).eps * np.sqrt(terms + 1)
    limit = unit * max(np.abs(expected).max(initial=0), 1)
    assert np.abs(actual - expected).max(initial=0) <= limit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("left", "right"), [*itertools.product(LAYOUTS, LAYOUTS)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 7, 5), (6, 1, 5), (6, 7, 1), (33, 70, 18)])
def test_operands_of_any_layout(shape: Any, left: str, right: str, dtype: Any) -> None:
    """BLAS takes a leading dimension and a flag; lengths of one have strides that mean nothing."""
    m, k, n = shape
    a, b = made((m, k), dtype, 0), made((k, n), dtype, 1)
    out = np.full((m, n), np.nan, dtype)
    kernels.matmul(out, laid_out(a, left), laid_out(b, right))
    assert_near(out, a.astype(np.float64) @ b, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("left", "right"), [*itertools.product(LAYOUTS, LAYOUTS)])
@pytest.mark.parametrize("shape", [(1, 90, 100), (100, 90, 1), (2, 720, 701), (701, 720, 3)])
def test_thin_results_are_computed_row_by_row(
    shape: Any, left: str, right: str, dtype: Any
) -> None:
    """One place of text generated at a time, one image: the other operand is read, not packed."""
    m, k, n = shape
    assert kernels.is_thin(m, n, k)
    a, b, bias = made((m, k), dtype, 0), made((k, n), dtype, 1), made((n,), dtype, 2)
    out, affine = np.full((m, n), np.nan, dtype), np.full((m, n), np.nan, dtype)
    kernels.matmul(out, laid_out(a, left), laid_out(b, right))
    expected = a.astype(np.float64) @ b
    assert_near(out, expected, k)
    kernels.linear(affine, laid_out(a, left), laid_out(b, right).T, bias)
    assert_near(affine, expected + bias, k)


def test_a_large_batch_is_the_same_on_any_number_of_threads() -> None:
    a, b = made((7, 2, 70, 64), np.float32, 0), made((2, 64, 80), np.float32, 1)
    outs = [np.full((7, 2, 70, 80), np.nan, np.float32) for _ in range(3)]
    for count, out in zip((1, 2, 3), outs, strict=True):
        before = thread_pool.get_num_threads()
        thread_pool.set_num_threads(count)
        try:
            kernels.matmul(out, a, b)
        finally:
            thread_pool.set_num_threads(before)
    assert_near(outs[0], a.astype(np.float64) @ b, 64)
    assert (outs[0] == outs[1]).all() and (outs[0] == outs[2]).all()


@pytest.mark.parametrize(
    ("a_shape", "b_shape"),
    [((5, 3, 4), (5, 4, 6)), ((5, 3, 4), (4, 6)), ((3, 4), (5, 4, 6)), ((2, 1, 3, 4), (1, 5, 4, 2)),
     ((2, 3, 1, 4), (4, 6)), ((0, 3, 4), (4, 6)), ((2, 3, 0), (2, 0, 5)), ((2, 0, 4), (4, 3))],
)  # fmt: skip
@pytest.mark.parametrize("layout", ["plain", "transposed", "strided"])
def test_batches_broadcast(a_shape: Any, b_shape: Any, layout: str) -> None:
    """A broadcast batch axis has stride 0 and is not copied."""
    a, b = made(a_shape, np.float32, 0), made(b_shape, np.float32, 1)
    expected = a.astype(np.float64) @ b
    out = np.full(expected.shape, np.nan, np.float32)
    kernels.matmul(out, laid_out(a, layout), laid_out(b, layout))
    assert_near(out, expected, a_shape[-1])


def test_a_batch_may_be_a_view_in_another_order() -> None:
    """Attention multiplies heads that lie between the positions."""
    x = made((2, 9, 4, 8), np.float32, 0)
    queries, keys = x.transpose(0, 2, 1, 3), x.transpose(0, 2, 3, 1)
    out = np.empty((2, 4, 9, 9), np.float32)
    kernels.matmul(out, queries, keys)
    assert_near(out, queries.astype(np.float64) @ keys, 8)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_round_a_float32_product_once(dtype: Any) -> None:
    """A sum kept in half precision would be useless."""
    a, b = made((17, 300), dtype, 0), made((300, 5), dtype, 1)
    out = np.empty((17, 5), dtype)
    kernels.matmul(out, a, b)
    expected = torch.from_numpy(a.astype(np.float32)) @ torch.from_numpy(b.astype(np.float32))
    error = np.abs(out.astype(np.float64) - expected.numpy())
    assert (error <= float(ml_dtypes.finfo(dtype).eps) * np.abs(expected.numpy()) + 1e-4).all()


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integers_wrap_as_in_torch(dtype: Any) -> None:
    """Integer products are exact modulo the type's range."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 200, (5, 6)).astype(dtype), rng.integers(0, 200, (6, 4)).astype(dtype)
    out = np.empty((5, 4), dtype)
    kernels.matmul(out, a, b)
    np.testing.assert_array_equal(out, (torch.from_numpy(a) @ torch.from_numpy(b)).numpy())


def test_complex_numbers_multiply_as_such() -> None:
    """Not the product of their real parts."""
    a = made((3, 4), np.float64, 0) + 1j * made((3, 4), np.float64, 1)
    out = np.empty((3, 3), np.complex128)
    kernels.matmul(out, a, a.T)
    np.testing.assert_allclose(out, a @ a.T, rtol=1e-13)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_special_values_are_not_lost_in_zeros(value: float) -> None:
    """0 * NaN is NaN, in torch as in BLAS when it does not skip zeros."""
    a, b = np.zeros((9, 9), np.float32), np.zeros((9, 9), np.float32)
    b[4, 4] = value
    out = np.empty((9, 9), np.float32)
    kernels.matmul(out, a, b)
    assert np.isnan(out[:, 4]).all() and not np.isnan(np.delete(out, 4, 1)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 3, 7), (0, 7), (2, 0)])
def test_linear_is_a_product_with_the_transpose_and_a_bias(
    shape: Any, with_bias: bool, dtype: Any
) -> None:
    """Any number of leading axes, none included; without features only the bias is left."""
    x, weight, bias = made(shape, dtype, 0), made((5, shape[-1]), dtype, 1), made(5, dtype, 2)
    out = np.full((*shape[:-1], 5), np.nan, dtype)
    kernels.linear(out, x, weight, bias if with_bias else None)
    expected = x.astype(np.float64) @ weight.astype(np.float64).T + (
        bias.astype(np.float64) if with_bias else 0
    )
    wide = out.astype(np.float64)
    eps = float(ml_dtypes.finfo(dtype).eps)
    assert (np.abs(wide - expected) <= 4 * eps * np.maximum(np.abs(expected), 1)).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_linear_takes_operands_of_any_layout(layout: str) -> None:
    """Inputs are often views: one position of a sequence, a transposed weight."""
    x, weight, bias = (made(s, np.float32, i) for i, s in enumerate([(4, 6, 8), (5, 8), (5,)]))
    out = np.empty((4, 6, 5), np.float32)
    kernels.linear(out, laid_out(x, layout), laid_out(weight, layout), bias)
    assert_near(out, x.astype(np.float64) @ weight.T + bias, 8)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 2.0), (1.0, 0.0)])
def test_addmm_scales_both_terms(alpha: float, beta: float) -> None:
    """With beta 0 the added matrix is ignored, NaN and all."""
    bias, a, b = (made(s, np.float64, i) for i, s in enumerate([(3, 5), (3, 4), (4, 5)]))
    if beta == 0:
        bias[:] = np.nan
    out = np.empty((3, 5))
    kernels.addmm(out, bias, a, b, alpha=alpha, beta=beta)
    expected = torch.addmm(*map(torch.from_numpy, (bias, a, b)), alpha=alpha, beta=beta)
    np.testing.assert_allclose(out, expected.numpy(), rtol=1e-13)


class Layout:
    """What a plan is told of an array."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self.strides = tuple(s // array.itemsize for s in array.strides)


def test_a_plan_runs_on_flat_arrays_without_copies() -> None:
    """The engine's hot path: memory from the first element on, and the layouts known beforehand."""
    a, b = made((7, 6), np.float32, 0), made((5, 6), np.float32, 1)
    out = np.empty((7, 5), np.float32)
    product: Any = kernels.matmul
    run = product.plan((Layout(out),), (Layout(a), Layout(b.T)))
    run(out.reshape(-1), a.reshape(-1), b.reshape(-1))
    assert_near(out, a.astype(np.float64) @ b.T, 6)


def test_a_plan_declines_what_blas_cannot_read() -> None:
    """No unit stride: the array form copies."""
    a = made((6, 6), np.float32, 0)[::2, ::2]
    out = Layout(np.empty((3, 3), np.float32))
    product: Any = kernels.matmul
    assert product.plan((out,), (Layout(a), Layout(a))) is None


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_thread_count_rules_blas(count: int) -> None:
    """One setting: products are shared out to our threads, each with a BLAS of one thread; the
    steps of a recurrent network have BLAS's threads."""
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        used = openblas.library().scipy_openblas_get_num_threads
        assert used() == 1
        with openblas.together():
            assert used() == count
        assert used() == 1
    finally:
        thread_pool.set_num_threads(before)


LARGE = [(64, 512, 100), (3, 2000, 700), (2000, 3, 700), (1, 5000, 400), (5000, 1, 400),
         (129, 257, 101), (17, 1000, 97), (1, 1, 2000000)]  # fmt: skip


@pytest.mark.parametrize("m, n, k", LARGE)
@pytest.mark.parametrize("transposed", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_large_products_are_shared_out(m: int, n: int, k: int, transposed: Any) -> None:
    """By columns or by rows, with a bias or without: within rounding of float64's."""
    rng = np.random.default_rng(m * n)
    ta, tb = transposed
    a = rng.standard_normal((k, m) if ta else (m, k)).astype(np.float32)
    b = rng.standard_normal((n, k) if tb else (k, n)).astype(np.float32)
    a, b = a.T if ta else a, b.T if tb else b
    bias = rng.standard_normal(n).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = 8 * 1.2e-7 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + 4)
    before = thread_pool.get_num_threads()
    try:
        for count in (1, 2, 3):
            thread_pool.set_num_threads(count)
            out = np.full((m, n), np.nan, np.float32)
            kernels.matmul(out, a, b)
            assert (np.abs(out - exact) < bound).all()
            kernels.linear(out, a, b.T, bias)
            assert (np.abs(out - exact - bias) < bound).all()
    finally:
        thread_pool.set_num_threads(before)


def test_the_kernel_set_of_blas_can_be_chosen_and_the_environment_is_restored() -> None:
    """The library reads its variable once, while it is loaded."""
    code = (
        "import os\n"
        "from mindtorch.kernels.cpu.matrix_products import openblas\n"
        "print(openblas.core_name(), os.environ.get('OPENBLAS_CORETYPE'))"
    )
    environment = {**os.environ, "MINDTORCH_BLAS_CORE": "Sandybridge"}
    environment.pop("OPENBLAS_CORETYPE", None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True,
        cwd=ROOT,
    )  # fmt: skip
    assert done.stdout.split() == ["Sandybridge", "None"]


def _rounded_apart(a: Any, b: Any) -> Any:
    """Each product and each sum of ``a @ b`` rounded by itself, in the terms' order."""
    total = a[:, :1] * b[:1]
    for term in range(1, a.shape[1]):
        total = total + a[:, term : term + 1] * b[term : term + 1]
    return total


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False)])
def test_products_of_two_or_three_terms_are_rounded_apart(
    kind: str, transposed: tuple[bool, bool]
) -> None:
    """As MKL rounds them on AMD's processors, on all of ours; on Intel's it fuses some products
    with their sum, which ones the shape and the kernel decide. Grids of turned images, rotations
    of points and first layers of two features are such products."""
    generator = np.random.default_rng(0)
    unit = float(np.finfo(kind).eps) / 2
    for m, k, n in [(1961, 3, 2), (1, 2, 4), (50, 3, 3), (3, 2, 9), (7, 3, 11), (50, 2, 1)]:
        a, b = generator.normal(size=(m, k)).astype(kind), generator.normal(size=(k, n))
        b, c = b.astype(kind), generator.normal(size=n).astype(kind)
        product = _rounded_apart(a, b)
        expected = [product, product[None], np.stack([product, product]), product + c]
        size = np.abs(a) @ np.abs(b)
        for t in (mt, torch):
            x, y = (
                t.from_numpy(z.T.copy()).t() if turned else t.from_numpy(z)
                for z, turned in zip((a, b), transposed, strict=True)
            )
            results = [x @ y, x[None].bmm(y[None]), t.stack([x, x]) @ y]
            if m > 1:
                weight, bias = t.from_numpy(b.T.copy()), t.from_numpy(c)
                results.append(t.nn.functional.linear(t.from_numpy(a), weight, bias))
            for found, apart in zip(results, expected, strict=False):
                if t is mt:
                    np.testing.assert_array_equal(found.numpy(), apart)
                else:  # each of two ways errs by at most k roundings, and one for the bias
                    limit = 2 * (k + 1) * unit * (size + np.abs(c))
                    assert (np.abs(found.numpy() - apart) <= limit).all()
