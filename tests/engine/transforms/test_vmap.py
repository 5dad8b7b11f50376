"""vmap against a loop: every row of the table of ops, its derivatives, and which ops have rules."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.engine.transforms.vmap import Vmap
from tests.support.ops_running import outputs_of, tensor_of, weights_of
from tests.tables.ops_table import Row, all_rows

importlib.import_module("mindtorch.torch.nn.functional")
ROWS = all_rows()
# rows whose result has a shape that depends on an example's values
DYNAMIC = {"index_mask": "boolean mask", "masked_select": "differently shaped"}
# absolute offsets into a storage mean another place in x[i]; the last test is for these
ABSOLUTE = {"as_strided"}
# every row of the op table three ways; CI leaves it to `make test`
pytestmark = pytest.mark.exhaustive
# ops that run on one example after another
LOOPED = {
    "ctc_loss", "ctc_loss_backward", "embedding_bag", "embedding_bag_dense_backward",
    "embedding_bag_max_indices", "embedding_bag_per_sample_weights_backward", "gru",
    "gru_backward", "histogram", "lstm", "lstm_backward", "masked_scatter",
    "masked_scatter_backward", "rnn", "rnn_backward", "searchsorted",
}  # fmt: skip
SIZE = 2


def _rows(gradient: bool = False) -> list[Any]:
    return [
        pytest.param(row, id=row.name) for row in ROWS
        if row.name not in ABSOLUTE and (row.gradient or not gradient)
    ]  # fmt: skip


def _batches(row: Row) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
    """(arguments, in_dims): all inputs batched, then each alone; examples differ in every place."""
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    for case in row.cases:
        shared = [tensor_of(mt, array, dtype) for array in case]
        many = [mt.stack([x, x.flip(tuple(range(x.dim())))]) for x in shared]
        masks = [(True,) * len(shared)]
        if len(shared) > 1:
            masks += [tuple(j == i for j in range(len(shared))) for i in range(len(shared))]
        for mask in masks:
            yield (
                [y if b else x for x, y, b in zip(shared, many, mask, strict=True)],
                tuple(0 if b else None for b in mask),
            )


def _vmap(function: Callable[..., Any], in_dims: Any) -> Callable[..., Any]:
    """Rows of layers make their module in the call, and it draws weights that are replaced."""
    return mt.vmap(function, in_dims, randomness="same")


def _assert_rules() -> None:
    looped = set(Vmap.fallbacks) - LOOPED
    assert not looped, f"write rules in engine/batch_rules, or list these as LOOPED: {looped}"


def _loop(function: Callable[..., Any], args: list[Any], in_dims: tuple[Any, ...]) -> list[Any]:
    found = [
        function(*[x if d is None else x[i] for x, d in zip(args, in_dims, strict=True)])
        for i in range(SIZE)
    ]
    return [mt.stack(list(column)) for column in zip(*found, strict=True)]


def _assert_same(mapped: Any, looped: Any, epsilons: float) -> None:
    assert len(mapped) == len(looped)
    for a, b in zip(mapped, looped, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        a, b = (x.detach().resolve_conj().numpy() for x in (a, b))
        size = float(np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=1))
        tolerance = epsilons * 2.0**-52
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


def _pulled(row: Row) -> Callable[..., Any]:
    """The gradients of a weighted sum of the row's results for its floating-point inputs."""

    def gradients(*args: Any) -> Any:
        places = [i for i, x in enumerate(args) if x.is_floating_point()]

        def of_floats(*values: Any) -> Any:
            given = list(args)
            for place, value in zip(places, values, strict=True):
                given[place] = value
            return tuple(o for o in outputs_of(row.call(mt, *given)) if o.is_floating_point())

        value, pull = mt.func.vjp(of_floats, *[args[i] for i in places])
        return pull(tuple(weights_of(mt, value)))

    return gradients


@pytest.mark.parametrize("row", _rows())
def test_a_mapped_call_is_the_loop(row: Row) -> None:
    """Values, types and shapes, with each input batched and not; only listed ops may loop."""

    def call(*args: Any) -> Any:
        return tuple(outputs_of(row.call(mt, *args)))

    Vmap.fallbacks.clear()
    for args, in_dims in _batches(row):
        if row.name in DYNAMIC and 0 in in_dims[1:]:
            with pytest.raises(RuntimeError, match=DYNAMIC[row.name]):
                _vmap(call, in_dims)(*args)
            continue
        if row.name in DYNAMIC:
            continue
        mapped = _vmap(call, in_dims)(*args)
        _assert_same(mapped, _loop(call, args, in_dims), row.tolerance)
    _assert_rules()


@pytest.mark.parametrize("row", _rows(gradient=True))
def test_a_mapped_gradient_is_the_loop(row: Row) -> None:
    """The tape inside of the mapped function: gradients for each example."""
    if row.name in DYNAMIC:
        return
    gradients = _pulled(row)
    Vmap.fallbacks.clear()
    for args, in_dims in _batches(row):
        mapped = _vmap(gradients, in_dims)(*args)
        _assert_same(mapped, _loop(gradients, args, in_dims), 8 * row.tolerance)
    _assert_rules()


@pytest.mark.parametrize("row", _rows(gradient=True))
def test_the_gradient_of_a_mapped_call_is_the_loops(row: Row) -> None:
    """The tape around the mapped function, through rules and fallbacks alike."""

    def call(*args: Any) -> Any:
        return tuple(o for o in outputs_of(row.call(mt, *args)) if o.is_floating_point())

    for args, in_dims in list(_batches(row))[:4]:
        if row.name in DYNAMIC:
            continue
        found = []
        for run in (lambda xs: _vmap(call, in_dims)(*xs), lambda xs: _loop(call, xs, in_dims)):  # noqa: B023
            leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in args]
            outputs = [o for o in run(leaves) if o.requires_grad]
            tracked = [x for x in leaves if x.requires_grad]
            found.append(mt.autograd.grad(
                outputs, tracked, weights_of(mt, outputs), allow_unused=True, materialize_grads=True
            ))  # fmt: skip
        _assert_same(found[0], found[1], 8 * row.tolerance)


@pytest.mark.parametrize("row", _rows(gradient=True))
def test_gradients_for_many_cotangents_are_those_for_each(row: Row) -> None:
    """``autograd.grad(is_grads_batched=True)``: only the gradient is batched, nothing saved is."""
    for args, in_dims in list(_batches(row))[:2]:
        if row.name in DYNAMIC:
            continue
        args = [x if d is None else x[0] for x, d in zip(args, in_dims, strict=True)]
        leaves = [x.detach().requires_grad_() if x.is_floating_point() else x for x in args]
        tracked = [x for x in leaves if x.requires_grad]
        outputs = [o for o in outputs_of(row.call(mt, *leaves)) if o.requires_grad]
        if not outputs:
            continue
        cotangents = [mt.stack([w, w.flip(tuple(range(w.dim()))) - 2])
                      for w in weights_of(mt, outputs)]  # fmt: skip
        mapped = mt.autograd.grad(outputs, tracked, cotangents, retain_graph=True,
                                  is_grads_batched=True, allow_unused=True)  # fmt: skip
        each = [
            mt.autograd.grad(outputs, tracked, [c[i] for c in cotangents], retain_graph=True,
                             allow_unused=True)
            for i in range(SIZE)
        ]  # fmt: skip
        columns = list(zip(*each, strict=True))
        assert [m is None for m in mapped] == [c[0] is None for c in columns]
        looped = [mt.stack(list(c)) for c in columns if c[0] is not None]
        _assert_same([m for m in mapped if m is not None], looped, 8 * row.tolerance)


def test_as_strided_counts_from_each_example() -> None:
    """Offsets and strides are those of an example alone, and reach no other, as in torch."""
    torch = pytest.importorskip("torch")
    values = np.arange(24.0).reshape(2, 3, 4)

    def windows(namespace: Any, offset: int, axis: int) -> Any:
        x = namespace.from_numpy(values)
        return namespace.vmap(lambda v: v.as_strided((2, 2), (1, 2), offset), axis)(x).numpy()

    for offset, axis in ((0, 0), (1, 0), (5, 0), (0, 1), (1, 2)):
        np.testing.assert_array_equal(windows(mt, offset, axis), windows(torch, offset, axis))
    for namespace in (mt, torch):
        with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
            windows(namespace, 9, 0)
