"""Products by tiles of our own against float64: forms, orders, steps, edges, threads, switch."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from mindtorch.kernels.cpu import matmul, processor
from mindtorch.kernels.cpu.matrix_products import (
    denormal_operands,
    product_loops,
    product_swapped,
    products,
)
from mindtorch.kernels.cpu.matrix_products.product_shapes import Batch, Matrix
from mindtorch.kernels.cpu.matrix_products.product_table import FORMS, LIMITS
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.kernels.support.denormals import flush_denormals

KINDS = (np.float32, np.float64)
ORDERS = ("nn", "nt", "tn", "tt")
# rows, columns and terms around the sizes of tiles, panels and blocks
SIZES = [(1, 1, 5), (7, 17, 5), (8, 48, 192), (9, 49, 193), (33, 100, 300), (17, 12, 400),
         (3, 700, 20), (100, 5, 33)]  # fmt: skip


def operands(m: int, n: int, k: int, order: str, kind: Any, batch: Any = ()) -> list[Any]:
    rng = np.random.default_rng(m * n + k)
    made = []
    for rows, columns, letter in ((m, k, order[0]), (k, n, order[1])):
        x = rng.standard_normal((*batch, rows, columns)).astype(kind)
        turned = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
        made.append(turned if letter == "t" else x)
    return made


def steps(x: Any) -> Matrix:
    return Matrix(*(s // x.itemsize for s in x.strides[-2:]))


def product(a: Any, b: Any, letter: str, bias: Any = None) -> Any:
    """The product of two matrices in one form, between numbers that stay as they are."""
    (m, k), n = a.shape, b.shape[1]
    room = np.full(m * n + 128, 7, a.dtype)
    out = room[64:-64]
    out[:] = np.nan
    run: Any = products.plan(a.dtype, (m, n, k), steps(a), steps(b), letter=letter,
                             start=None if bias is None else Matrix(0, 1))  # fmt: skip
    run(out, matmul._memory(a), matmul._memory(b), *([] if bias is None else [bias]))
    assert (room[:64] == 7).all() and (room[-64:] == 7).all()
    return out.reshape(m, n)


def assert_exact(found: Any, a: Any, b: Any, bias: Any = 0) -> None:
    """Each sum is within its terms' roundings of float64's, or of longdouble's for float64."""
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    exact = a.astype(wide) @ b.astype(wide) + bias
    size = np.abs(a).astype(wide) @ np.abs(b).astype(wide) + np.abs(bias)
    terms = a.shape[-1] + 1
    assert (np.abs(found - exact) <= terms * np.finfo(a.dtype).eps * size).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("letter", "dprPRs")
def test_every_form_takes_every_order_and_size(letter: str, order: str, kind: Any) -> None:
    for size in SIZES:
        a, b = operands(*size, order, kind)
        bias = np.random.default_rng(0).standard_normal(size[1]).astype(kind)
        assert_exact(product(a, b, letter), a, b)
        assert_exact(product(a, b, letter, bias), a, b, bias)


@pytest.mark.parametrize("letter", "dprPRs")
def test_operands_may_have_any_steps(letter: str) -> None:
    """Every second row and column, rows that are one and the same; nothing is copied before."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((40, 100)).astype("f")[::2, ::2]
    b = rng.standard_normal((100, 120)).astype("f")[::2, ::3]
    assert_exact(product(a, b, letter), a, b)
    same = np.broadcast_to(a[:1], a.shape)
    assert_exact(product(same, b, letter), same, b)
    assert_exact(product(a, np.broadcast_to(b[:1], b.shape), letter), a,
                 np.broadcast_to(b[:1], b.shape))  # fmt: skip


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("letter", "dprPRs")
def test_batches_have_steps_of_their_own(letter: str, order: str) -> None:
    """Two axes, one of which each operand repeats."""
    a, b = operands(9, 20, 30, order, np.float32, batch=(2, 3))
    a, b = np.broadcast_to(a[:, :1], a.shape), np.broadcast_to(b[:1], b.shape)
    axes = Batch((2, 3), *(tuple(s // 4 for s in x.strides[:2]) for x in (a, b)))
    out = np.full((2, 3, 9, 20), np.nan, np.float32)
    run: Any = products.plan(a.dtype, (9, 20, 30), steps(a), steps(b), batch=axes, letter=letter)
    run(out.reshape(-1), matmul._memory(a), matmul._memory(b))
    for i, j in itertools.product(range(2), range(3)):
        assert_exact(out[i, j], a[i, j], b[i, j])


@pytest.mark.parametrize("size", [(30, 700, 200), (700, 30, 200), (64, 200, 200)])
@pytest.mark.parametrize("letter", "dps")
def test_bits_do_not_hang_on_threads(letter: str, size: tuple[int, int, int]) -> None:
    """Threads have columns, or rows; no sum is divided."""
    a, b = operands(*size, "nt", np.float32)
    before = thread_pool.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            thread_pool.set_num_threads(count)
            found.append(product(a, b, letter))
    finally:
        thread_pool.set_num_threads(before)
    assert_exact(found[0], a, b)
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_swapped_product_has_the_bits_of_a_packed_one(kind: Any) -> None:
    """Blocks of rows that are packed at a time, rests of rows and columns, and a batch's."""
    for size in [(64, 160, 400), (37, 101, 800), (3, 5, 9)]:
        for order in ("nt", "tt"):
            a, b = operands(*size, order, kind)
            assert (product(a, b, "s") == product(a, b, "p")).all()


def test_a_few_rows_times_a_transposed_weight_are_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a handful, whose terms lie along the vectors, nor many, nor where rows are in order."""
    monkeypatch.setattr(products, "instruction_set", lambda: "intel-avx512")
    given = np.dtype(np.float32), 512, 784, Matrix(784, 1), Matrix(1, 784)
    assert [products.chosen(given[0], m, *given[1:]) for m in (2, 64, 4000)] == ["d", "s", "p"]
    assert products.chosen(given[0], 64, 512, 784, Matrix(784, 1), Matrix(512, 1)) != "s"


@pytest.mark.parametrize(("order", "letter"), [("nn", "P"), ("tn", "P"), ("nt", "s")])
def test_numbers_below_the_smallest_normal_one_keep_their_part(
    order: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks' sums of them are rounded once, larger sums as without scaling, and what is too large
    for scaling is computed without it. Where they are flushed, they count as 0."""
    a, b = operands(333, 500, 450, order, np.float32)
    tiny, mixed, large = a * np.float32(1e-43), a.copy(), a * np.float32(1e-40)
    mixed[::3, ::7] *= np.float32(1e-39)
    large[5] = 2e31
    exact = tiny.astype(np.float64) @ b
    found = product(tiny, b, letter)
    size, blocks = np.abs(tiny).astype(np.float64) @ np.abs(b), -(-450 // products.block_of(450))
    bound = blocks * 2.0**-150 + 450 * np.finfo(np.float32).eps * size
    assert (np.abs(found - exact) <= bound).all()
    assert found[0].any()
    scaled = [product(mixed, b, letter), product(large, b, letter)]
    assert np.abs(scaled[1][5]).max() > 1e31
    if flush_denormals(True):
        try:
            assert not product(tiny, b, letter).any()
        finally:
            flush_denormals(False)
    monkeypatch.setattr(denormal_operands, "has_denormals", lambda *_: False)
    assert (scaled[0] == product(mixed, b, letter)).all()
    assert (scaled[1] == product(large, b, letter)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("letter", "dprPRs")
def test_what_is_not_finite_reaches_its_sums_alone(letter: str, value: float) -> None:
    """Zeros that fill up tiles are not multiplied with it; 0 times it is NaN."""
    a, b = np.zeros((9, 30), np.float32), np.zeros((30, 21), np.float32)
    b[4, 20] = value
    if letter in "ds":
        b = np.asfortranarray(b)
    out = product(a, b, letter)
    assert np.isnan(out[:, 20]).all() and (out[:, :20] == 0).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_sums_have_the_order_of_mkls_on_amd(kind: Any, order: str) -> None:
    """PyTorch's bits there, for more than 3 rows and 11 columns; elsewhere MKL has other blocks,
    and both are within rounding."""
    amd = processor.vendor() == "AuthenticAMD" and "fma" in processor.flags()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for m, n, k in [(4, 12, 50), (64, 40, 193), (20, 97, 300), (33, 64, 784)]:
            a, b = operands(m, n, k, order, kind)
            found = product(a, b, "p")
            like = (torch.from_numpy(a) @ torch.from_numpy(b)).numpy()
            assert_exact(found, a, b)
            assert_exact(like, a, b)
            if amd and kind == np.float32:
                assert (found == like).all(), (m, n, k)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(("kernels", "expected"), [
    ("sse", {100: 100, 192: 192, 193: 96, 384: 192, 1000: 192}),
    ("avx512", {192: 192, 384: 384, 385: 193, 767: 384, 1000: 384}),
])  # fmt: skip
def test_blocks_of_sums_are_those_of_mkls_kernels(
    kernels: str, expected: dict[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every processor the sums of other blocks are within rounding."""
    monkeypatch.setattr(products, "mkl_kernels", lambda: kernels)
    assert {k: products.block_of(k) for k in expected} == expected
    for k in expected:
        a, b = operands(20, 50, k, "tn", np.float32)
        assert_exact(product(a, b, "P"), a, b)


@pytest.mark.parametrize("letter", "drps")
def test_a_product_is_added_to_a_start(letter: str) -> None:
    """A matrix, which may be the result's own memory; a row; a column as wide as a panel."""
    a, b = operands(19, 100, 500, "nt" if letter in "ds" else "nn", np.float32)
    size, width = (19, 100, 500), products.panel_width(np.dtype(np.float32))
    rng = np.random.default_rng(0)
    for shape, start in [
        ((19, 100), Matrix(100, 1)), ((1, 100), Matrix(0, 1)),
        ((19, 1), Matrix(width, 0)),
    ]:  # fmt: skip
        added = rng.standard_normal(shape).astype(np.float32)
        wide = added if shape[1] > 1 or letter == "d" else np.repeat(added, width, 1)
        step = Matrix(1, 0) if letter == "d" and shape[1] == 1 else start
        run: Any = products.plan(a.dtype, size, steps(a), steps(b), letter=letter, start=step)
        out = np.full(19 * 100, np.nan, np.float32)
        if shape == (19, 100):
            out[:] = added.reshape(-1)
            wide = out
        run(out, matmul._memory(a), matmul._memory(b), wide.reshape(-1))
        assert_exact(out.reshape(19, 100), a, b, added)


@pytest.mark.parametrize("vector", [16, 32])
def test_tiles_of_narrower_vectors(vector: int) -> None:
    """As processors without AVX-512, and without AVX2, have them."""
    a, b = operands(33, 100, 300, "nt", np.float32)
    out, nothing = np.full((33, 100), np.nan, np.float32), np.zeros(64, np.float32)
    for form in (product_loops.DOTS, product_loops.PACKED, product_loops.SWAPPED):
        given = [33, 100, 300, *steps(a), *steps(b), 0, 0]
        given += [form, 0, 150, 4, product_loops.ROWS, 33, 0]
        run: Any = product_swapped.product(a.dtype, vector)
        if form != product_loops.SWAPPED:
            run = product_loops.product(a.dtype, vector, form == product_loops.DOTS)
        run(out.reshape(-1), matmul._memory(a), matmul._memory(b), nothing, np.array(given), 0, 1)
        assert_exact(out, a, b)


def test_the_switch_leaves_products_to_openblas(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.dtype(np.float32), (64, 64, 64), Matrix(64, 1), Matrix(64, 1)
    assert products.plan(*given, letter="p") is not None
    assert products.plan(*given, letter="b") is None
    monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
    assert products.plan(*given, letter="p") is None


def test_the_table_has_a_form_for_every_size() -> None:
    """Letters of forms that can be: the right operand's rows lie in order, or it is packed."""
    for name, rows in FORMS.items():
        order = name.split()[2]
        assert len(rows) == len(LIMITS[0]) + 1
        for row in rows:
            cells = row.split()
            assert [len(cell) for cell in cells] == [len(LIMITS[2]) + 1] * (len(LIMITS[1]) + 1)
            allowed = {"nn": "bpr", "nt": "bpd", "tn": "bprPR", "tt": "bpP"}[order]
            assert set(row) <= {*allowed, " "}


def test_matmul_and_linear_take_forms_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table says is what runs, and other strides than BLAS's are not copied first."""
    called = []

    def packed(*given: Any) -> str:
        called.append(given)
        return "p"

    monkeypatch.setattr(products, "chosen", packed)
    matmul._bound.cache_clear()
    try:
        a, b = operands(33, 40, 50, "nt", np.float32)
        out = np.full((33, 40), np.nan, np.float32)
        matmul.matmul(out, a[:, ::2], b[::2])
        assert_exact(out, a[:, ::2], b[::2])
        bias = np.ones(40, np.float32)
        matmul.linear(out, a, b.T, bias)
        assert_exact(out, a, b, bias)
        assert len(called) == 2
    finally:
        matmul._bound.cache_clear()
