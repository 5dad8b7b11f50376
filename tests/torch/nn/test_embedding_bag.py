"""embedding_bag against torch: modes, offsets, padding, factors, frequencies, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")

INDICES = np.random.RandomState(0).randint(0, 7, 30)
OFFSETS = [0, 4, 4, 11, 29, 30]  # an empty bag, one with a single row, an empty last one


def train(namespace: Any, dtype: str, options: Any, factors: bool = False) -> list[Any]:
    """The bags of a table and the gradients of a loss for the table and the factors."""
    random = np.random.RandomState(1)
    kind = getattr(namespace, dtype)
    table = namespace.tensor(random.randn(7, 5), dtype=kind, requires_grad=True)
    weights = namespace.tensor(random.randn(30), dtype=kind, requires_grad=True)
    out = namespace.nn.functional.embedding_bag(
        namespace.tensor(INDICES), table, namespace.tensor(OFFSETS),
        per_sample_weights=weights if factors else None, **options,
    )  # fmt: skip
    out.sin().sum().backward()
    found = [out, table.grad] + ([weights.grad] if factors else [])
    return [v.detach().numpy() for v in found]


OPTIONS: list[tuple[dict[str, Any], bool]] = [
    *[({"mode": mode, "include_last_offset": last, "padding_idx": padding}, False)
      for mode in ("sum", "mean", "max") for last in (False, True) for padding in (None, 3, -1)],
    *[({"mode": "sum", "padding_idx": padding}, True) for padding in (None, 3)],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("options", "factors"), OPTIONS, ids=range(len(OPTIONS)))
def test_bags_and_gradients_are_torchs(options: Any, factors: bool, dtype: str) -> None:
    """Every mode with empty bags, padding, factors and frequencies."""
    actual, expected = (train(n, dtype, options, factors) for n in (ours, torch))
    unit = float(np.finfo(np.dtype(dtype)).eps)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=16 * unit, atol=16 * unit * np.abs(e).max())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_of_any_width_are_added_in_turn(dtype: str) -> None:
    """Whole vectors and a rest: the bits of rows added one after another."""
    random = np.random.RandomState(2)
    for width in (1, 15, 16, 64, 70, 133):
        table = random.randn(7, width).astype(dtype)
        found = ours.nn.functional.embedding_bag(
            ours.tensor(INDICES), ours.tensor(table), ours.tensor(OFFSETS), mode="sum"
        )
        for bag, first, last in zip(found, OFFSETS, [*OFFSETS[1:], 30], strict=True):
            expected = np.zeros(width, dtype)
            for row in INDICES[first:last]:
                expected += table[row]
            np.testing.assert_array_equal(bag.numpy(), expected)


def test_rows_are_renormalised() -> None:
    """max_norm scales the rows that are looked up, in place, as torch does."""

    def run(namespace: Any) -> Any:
        table = namespace.tensor(np.arange(35.0).reshape(7, 5))
        bags = namespace.nn.functional.embedding_bag(
            namespace.tensor([[1, 2], [2, 5]]), table, max_norm=2.0, norm_type=1.0, mode="mean"
        )
        return [bags.numpy(), table.numpy()]

    for a, e in zip(run(ours), run(torch), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-14)


def test_frequencies_divide_the_gradient() -> None:
    """The documented rule; torch's CPU kernel divides by another row's frequency."""
    (_, plain), (_, scaled) = (
        train(ours, "float64", {"mode": "mean", "scale_grad_by_freq": by}) for by in (False, True)
    )
    counts = np.bincount(INDICES, minlength=7)[:, None]
    np.testing.assert_allclose(scaled * counts, plain, rtol=1e-14, atol=1e-15)


def test_second_derivatives_are_those_of_lookups() -> None:
    """torch has none for factors, so the reference is ours, of rows times factors."""
    functions = ours.nn.functional
    index = ours.tensor(INDICES[:6].reshape(2, 3))

    def bags(w: Any, f: Any) -> Any:
        return functions.embedding_bag(index, w, mode="sum", per_sample_weights=f)

    def lookups(w: Any, f: Any) -> Any:
        return (functions.embedding(index, w) * f.unsqueeze(-1)).sum(1)

    def run(function: Any) -> list[Any]:
        ours.manual_seed(0)
        leaves = [ours.randn(7, 2, dtype=ours.float64, requires_grad=True),
                  ours.randn(2, 3, dtype=ours.float64, requires_grad=True)]  # fmt: skip
        first = ours.autograd.grad(function(*leaves).sin().sum(), leaves, create_graph=True)
        sum((g * g).sum() for g in first).backward()
        return [leaf.grad.numpy() for leaf in leaves]

    for a, e in zip(run(bags), run(lookups), strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-13, atol=1e-14)


ERRORS: list[Any] = [
    lambda n, f, w, i: f(i, w, n.tensor([1, 2])),
    lambda n, f, w, i: f(i, w, n.tensor([0, 5])),
    lambda n, f, w, i: f(n.tensor([0, 9]), w, n.tensor([0])),
    lambda n, f, w, i: f(n.tensor([0, 9]), w, n.tensor([0]), mode="sum"),
    lambda n, f, w, i: f(i.float(), w, n.tensor([0])),
    lambda n, f, w, i: f(i, w, n.tensor([]).long(), include_last_offset=True),
    lambda n, f, w, i: f(i, w, n.tensor([0]), mode="sum", per_sample_weights=n.ones(4).double()),
    lambda n, f, w, i: f(i, w, n.tensor([0]), mode="mean", per_sample_weights=n.ones(4)),
    lambda n, f, w, i: f(i, w),
    lambda n, f, w, i: f(i, w, n.tensor([[0]])),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_errors_are_torchs(call: Any) -> None:
    """Wrong offsets, indices and types are refused in torch's words."""

    def run(namespace: Any) -> Any:
        call(namespace, namespace.nn.functional.embedding_bag, namespace.zeros(4, 3),
             namespace.tensor([0, 1, 2, 1]))  # fmt: skip

    with pytest.raises(Exception) as expected:
        run(torch)
    with pytest.raises(type(expected.value)) as found:
        run(ours)
    assert str(found.value) == str(expected.value).partition("\n")[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 1])
def test_a_last_offset_before_the_end(mode: str, padding: int | None, dtype: str) -> None:
    """The last bag has the rest of the indices, but in torch's quick way for sums."""

    def run(namespace: Any) -> Any:
        table = namespace.tensor(np.arange(1.0, 11).reshape(5, 2), dtype=getattr(namespace, dtype))
        return namespace.nn.functional.embedding_bag(
            namespace.tensor([0, 1, 2, 3]), table, namespace.tensor([0, 1, 3]), mode=mode,
            include_last_offset=True, padding_idx=padding,
        ).numpy()  # fmt: skip

    np.testing.assert_array_equal(run(ours), run(torch))


@pytest.mark.parametrize(
    ("index", "padding", "mode"),
    [(-1, 0, "sum"), (9, None, "max"), (1, 7, "sum"), (9, None, "sum")],
)
def test_rows_that_are_not_there(index: int, padding: int | None, mode: str) -> None:
    """The texts of both of torch's ways, and of a padding row outside of the table."""

    def error(namespace: Any) -> str:
        with pytest.raises(RuntimeError) as caught:
            namespace.nn.functional.embedding_bag(
                namespace.tensor([[index, 1]]), namespace.ones(5, 2), mode=mode, padding_idx=padding
            )
        return str(caught.value)

    assert error(ours) == error(torch)
