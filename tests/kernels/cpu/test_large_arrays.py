"""Loops that only arrays of thousands of elements get: numpy's results and PyTorch's, bit by bit
where nothing is summed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch as real

import mindtorch.torch as torch
from mindtorch.kernels.cpu import strided_copy, via_float32

LAYOUTS = {
    "transposed": lambda x: x.transpose(2, 1, 0),
    "channels last": lambda x: x.transpose(0, 2, 1),
    "backwards": lambda x: x[:, :, ::-1],
    "all backwards": lambda x: x[::-1, ::-1, ::-1],
    "turned": lambda x: np.rot90(x, 1, (1, 2)),
    "every third": lambda x: x[:, ::2, ::3],
    "repeated": lambda x: np.broadcast_to(x[:, :, :1], x.shape),
    "three columns": lambda x: x[:3].transpose(1, 2, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["int64", "int16"])
def test_copies_are_numpys(layout: str, kind: str) -> None:
    whole = np.arange(17 * 75 * 70).astype(kind).reshape(17, 75, 70)
    x = LAYOUTS[layout](whole)
    out = np.empty(x.shape, kind)
    strided_copy.assign(out, x)
    np.testing.assert_array_equal(out, x)
    gaps = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), kind)
    strided_copy.assign(gaps[..., ::2], x)
    np.testing.assert_array_equal(gaps[..., ::2], x)
    assert not gaps[..., 1::2].any()


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16])
def test_short_numbers_are_widened_and_rounded_as_numpy_does(kind: Any) -> None:
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = (rng.normal(size=5000) * np.exp(12 * rng.normal(size=5000))).astype(np.float32)
        x[:4] = np.nan, np.inf, -np.inf, -0.0
        short = x.astype(kind)
        np.testing.assert_array_equal(via_float32.widened(short), short.astype(np.float32))
    out = np.empty_like(short)
    via_float32.narrow(out, x)
    numbers = ~np.isnan(x)
    assert (out.view(np.uint16)[numbers] == short.view(np.uint16)[numbers]).all()
    assert np.isnan(out.astype(np.float32)[~numbers]).all()


ELEMENTWISE = {
    "sigmoid": lambda x, y: x.sigmoid(),
    "two strided": lambda x, y: torch.atan2(x, y),
    "a row for all": lambda x, y: x / y[0],
    "a column for all": lambda x, y: torch.hypot(x, y[:, :1]),
    "columns and rows": lambda x, y: x[:, :64] + y.contiguous()[:, :64].t(),
    "another type": lambda x, y: x.exp().to(torch.bfloat16),
    "in place": lambda x, y: x.clone(memory_format=torch.preserve_format).mul_(y.erf()),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_strided_operands_give_the_bits_of_dense_ones(name: str) -> None:
    torch.manual_seed(0)
    x, y = (torch.randn(64, 320)[:, ::3] for _ in range(2))
    found = ELEMENTWISE[name](x, y)
    dense = ELEMENTWISE[name](x.contiguous(), y.contiguous())
    assert found.is_contiguous()
    assert torch.equal(found, dense)


@pytest.mark.parametrize("threads", [1, 2])
def test_large_strided_operands_are_read_in_pieces(threads: int) -> None:
    """The last piece has fewer rows than the others; a row for all is broadcast in each."""
    torch.manual_seed(0)
    x, y = torch.randn(500, 601), torch.randn(601, 1000)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = torch.lerp(x.t(), y[:, ::2], 0.3), x.t() * y[0, ::2], y - x[0][:, None]
    finally:
        torch.set_num_threads(before)
    x, y = x.t().contiguous(), y.contiguous()
    half = y[:, ::2].contiguous()
    dense = torch.lerp(x, half, 0.3), x * half[0], y - x[:, :1].expand(601, 1000).contiguous()
    for ours, expected in zip(found, dense, strict=True):
        assert torch.equal(ours, expected)


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_short_sums_at_places_are_rounded_where_pytorchs_are(kind: str) -> None:
    """Once where it scatters, index_add along a first or last axis included; else each time."""
    rng = np.random.default_rng(3)
    x, rows = rng.normal(size=(6, 7, 5)), rng.integers(0, 5, 40)
    numbers, grid = rng.normal(size=(40, 40, 40)), rng.integers(0, 5, (40, 40, 40))

    def sums(space: Any) -> list[Any]:
        table, source = (space.tensor(a).to(getattr(space, kind)) for a in (x, numbers))
        places, wide = space.tensor(rows), space.tensor(grid)
        made = [table.index_add(0, places, source[:, :7, :5])]
        made.append(table.index_add(1, places, source[:6, :, :5]))
        made.append(table.index_add(2, places, source[:6, :7]))
        made.append(table[0, 0].index_add(0, places, source[0, 0]))
        made += [table.scatter_add(axis, wide[:6, :7, :5], source) for axis in range(3)]
        for reduce in ("sum", "prod", "mean", "amax"):
            made.append(table.scatter_reduce(2, wide[:6, :7], source, reduce))
        put = table.clone()
        put.index_put_((places,), source[:, :7, :5], accumulate=True)
        return [each.double().numpy() for each in [*made, put]]

    for ours, theirs in zip(sums(torch), sums(real), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folds_and_orders_of_any_layout_are_pytorchs(layout: str) -> None:
    """Rows with room between them, and results that memory has in another order."""
    whole = np.random.default_rng(5).permutation(17 * 75 * 70).reshape(17, 75, 70)
    array = LAYOUTS[layout](whole.astype(np.float32))
    results = []
    for space in (torch, real):
        x = space.from_numpy(whole.astype(np.float32)).as_strided(
            array.shape, [abs(s) // 4 for s in array.strides]
        )
        found = [x.amax(axes) for axes in (0, 1, 2, (0, 2), (0, 1, 2))]
        found += [(x.double() / 9e4 + 0.5).prod(1), space.any(x > 89000, 2)]
        found += [*x.topk(3, 1), *x.topk(2, 0), x.double().std(1)]
        found += [(x > 80000).nonzero(), *space.where(x > 80000)]
        results.append([each.numpy() for each in found])
    for ours, theirs in zip(*results, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def both(function: Any, *arrays: Any) -> list[tuple[Any, Any]]:
    """The result and the gradients for ``arrays``, of ours and PyTorch's."""
    sides = []
    for space in (torch, real):
        inputs = [space.tensor(x, requires_grad=True) for x in arrays]
        out = function(space, *inputs)
        slope = np.random.default_rng(9).normal(size=tuple(out.shape))
        out.backward(space.tensor(slope, dtype=out.dtype))
        sides.append([out.detach().numpy(), *[x.grad.numpy() for x in inputs]])
    return list(zip(*sides, strict=True))


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(
    "function",
    [
        lambda t, x: t.nn.functional.pad(x, (1, 2, -1, 1), value=3.0),
        lambda t, x: t.nn.functional.unfold(x[None], 3, padding=1),
        lambda t, x: x.unfold(2, 5, 2),
        lambda t, x: x.unfold(1, 6, 1).unfold(2, 4, 3),
        lambda t, x: x.as_strided((20, 30), (3, 2), 5),
        lambda t, x: x.triu(-2),
        lambda t, x: x.tril(1),
        lambda t, x: x[:, t.tensor([3, -1, 3])],
        lambda t, x: x.scatter_add(0, t.tensor([1, 0, 1])[:, None, None].expand(3, 24, 18), x * 2),
        lambda t, x: x.gather(0, t.tensor([1, 1])[:, None, None].expand(2, 24, 18)),
    ],
)
def test_what_moves_elements_is_exact(function: Any) -> None:
    for ours, theirs in both(function, normal(3, 24, 18)):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("repeated", [False, True])
def test_scatter_reduce(reduce: str, repeated: bool) -> None:
    places = np.random.default_rng(1).integers(0, 5, (9, 1) if repeated else (9, 4))
    values = normal(9, 4, seed=2)
    values[3, 1] = np.nan

    def scattered(space: Any, x: Any) -> Any:
        index = space.tensor(places).expand(9, 4)
        return x.scatter_reduce(0, index, space.tensor(values), reduce)

    (ours, theirs), _ = both(scattered, normal(5, 4))
    np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize("shapes", [((200, 130), (130,)), ((130,), (130, 200)), ((30000,),) * 2])
@pytest.mark.parametrize("turned", [False, True])
def test_vectors_and_matrices(shapes: Any, turned: bool) -> None:
    arrays = [normal(*shape, seed=i) for i, shape in enumerate(shapes)]
    if turned:
        arrays = [x.T for x in arrays]

    def product(space: Any, a: Any, b: Any) -> Any:
        return (a.t() if turned else a) @ (b.t() if turned else b)

    terms = max(max(shape) for shape in shapes)
    for ours, theirs in both(product, *arrays):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=terms * 2.0**-52 * 8)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, (0, 2), None])
def test_norms(order: int, axis: Any) -> None:
    for ours, theirs in both(
        lambda t, x: t.linalg.vector_norm(x, order, axis), normal(6, 50, 70)
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
