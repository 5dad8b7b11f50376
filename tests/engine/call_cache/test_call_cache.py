"""Cached calls do what the functions do: values, layouts, nodes, gradients, errors."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.engine.call_cache import call_cache
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.call_cache.keys import key_of, lookup_for
from mindtorch.engine.op import forget_plans, tables_of_plans
from tests.support.ops_running import array_of, differentiable, gradient_of, outputs_of, tensor_of
from tests.tables.ops_table import Row, all_rows


def _all_of(row: Row, case: Any, tracked: bool) -> list[Any]:
    """Results, layouts, nodes and gradients of a row's call."""
    inputs = [tensor_of(mt, array, "float32") for array in case]
    if row.gradient and tracked:
        inputs = [x.detach().requires_grad_() if x.is_floating_point() else x for x in inputs]
    outputs = outputs_of(row.call(mt, *inputs))
    leaves = [x for x in inputs if x.requires_grad]
    slopes = gradient_of(mt, differentiable(outputs), leaves, False) if leaves else []
    found: list[Any] = []
    for x in (*outputs, *slopes):
        if isinstance(x, mt.Tensor) and x.layout is mt.strided:
            node = x.grad_fn and x.grad_fn.name()
            found += [array_of(x).tobytes(), x.dtype, x.stride(), x.storage_offset(), node]
    return found


def _differs(row: Row, tracked: bool) -> bool:
    """Whether the third call, where the first was recorded, does something else."""
    forget_plans()
    case, found = row.cases[0], []
    for _ in range(3):
        mt.manual_seed(0)
        found.append(_all_of(row, case, tracked))
        if not tracked and len(found) == 2 and not any(tables_of_plans):
            break
    return any(each != found[0] for each in found)


@pytest.mark.parametrize("tracked", [True, False])
def test_the_third_call_is_the_first_again(tracked: bool) -> None:
    """``tracked``: with gradients; without, steps run on arrays alone."""
    rows = [row for row in all_rows() if "float32" in row.dtypes and (tracked or row.gradient)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [row.name for row in rows if _differs(row, tracked)] == []


def test_of_many_signatures_those_with_a_second_call_are_recorded() -> None:
    """To record each of those that are met only once would take most of their time."""
    times = cached(lambda x, n: x * n)
    table = tables_of_plans.pop()
    x = mt.ones(3)
    for n in range(100):
        assert times(x, n).tolist() == [n] * 3
    assert len(table) == 64
    for _ in range(3):
        assert times(x, 90).tolist() == [90] * 3
    assert len(table) == 65


def _calls(x: Any) -> dict[str, Any]:
    """Pairs of calls that differ in what equal keys would hide, with numpy's answers."""
    a = x.numpy()
    return {
        "a number's type": lambda: (x.sum(1).tolist(), x.sum(1, True).tolist()),
        "a zero's sign": lambda: [
            np.signbit(x.clamp(z, z).numpy()).all() for z in (0.0, -0.0, 0.0)
        ],
        "the same tensor twice": lambda: (
            mt.cat([x, x]).numpy() == np.concatenate([a, a])
        ).all() and (mt.cat([x, -x]).numpy() == np.concatenate([a, -a])).all(),
        "elements as arguments": lambda: [
            x.narrow(0, mt.tensor(i), 1).tolist() == a[i : i + 1].tolist() for i in (0, 1, 0)
        ],
    }


def test_what_differs_is_told_apart() -> None:
    x: Any = mt.tensor([[1.0, -2.0], [3.0, 4.0]])
    calls = _calls(x)
    for _ in range(4):
        assert calls["a number's type"]() == ([-1.0, 7.0], [[-1.0], [7.0]])
        assert calls["a zero's sign"]() == [False, True, False]
        assert calls["the same tensor twice"]()
        assert calls["elements as arguments"]() == [True, True, True]
        assert x.view((4,)).shape == (4,)
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            x.view((4.0,))
        with pytest.raises(TypeError):
            x.sum(1.0)


def test_a_tensor_given_twice_is_cached_with_both_gradients() -> None:
    w = mt.tensor([1.0, 2.0], requires_grad=True)
    for x in (w * 1, w.detach()):
        forget_plans()
        for _ in range(4):
            y = mt.outer(x, x)
            assert y.tolist() == [[1, 2], [2, 4]]
            if x.requires_grad:
                assert mt.autograd.grad(y.sum(), w, retain_graph=True)[0].tolist() == [6, 6]
        assert any(call is not None for table in tables_of_plans for call in table.values())
        assert mt.outer(x, x + 1).tolist() == [[2, 3], [4, 6]]


def test_modes_defaults_and_writes_are_seen() -> None:
    x = mt.ones(2, 3, requires_grad=True)
    y = mt.tensor([3.0, 4.0])
    for _ in range(4):
        assert x.sum(0).requires_grad
        with mt.no_grad():
            assert not x.sum(0).requires_grad
        with mt.inference_mode():
            assert x.sum(0).is_inference()
        with mt.autocast("cpu"):
            assert (x @ x.t()).dtype is mt.bfloat16
            assert mt.mm(x, x.t()).dtype is mt.bfloat16
        assert mt.mm(x, x.t()).dtype is mt.float32
        assert mt.func.vmap(lambda row: row.sum())(x).shape == (2,)
        z = y.clone()
        assert mt.nn.functional.relu(-z, True).tolist() == [0, 0]
        z.add_(mt.nn.functional.relu(z, inplace=True))
        assert z.tolist() == [6, 8]
        assert mt.arange(3).mean(dtype=mt.float64).dtype is mt.float64
        with pytest.warns(UserWarning, match="degrees of freedom"):
            mt.ones(1).std()


def test_the_default_type_is_asked_for_again() -> None:
    x = mt.arange(3)
    for dtype in (mt.float32, mt.float64, mt.float32):
        mt.set_default_dtype(dtype)
        assert x.softmax(0, dtype=None if dtype is None else dtype).dtype is dtype
        assert mt.logsumexp(x, 0).dtype is dtype
    mt.set_default_dtype(mt.float32)


def test_cached_functions_are_pickled_by_name() -> None:
    """Also where what knows sparse tensors is put over them later: modules hold functions."""
    methods: Any = mt.Tensor
    layer = mt.nn.TransformerEncoderLayer(4, 2, 8)
    for function in (mt.argmax, mt.swapaxes, mt.nn.functional.gelu, methods.sum):
        assert pickle.loads(pickle.dumps(function)) is function
    mt.ones(2).to_sparse()
    for function in (layer.activation, mt.nn.functional.relu):
        assert pickle.loads(pickle.dumps(function)) is function


def _slopes(t: Any, x: Any, w: Any) -> dict[str, Any]:
    """Gradients that equal descriptions would take for one another, all without rounding."""
    calls: dict[str, Any] = {
        "a number": [lambda n=n: (w**n).sum() for n in (2.5, 3.5, 2.5, 3.5)],
        "a place": [lambda i=i: w[i].sum() for i in (0, 1, 2, 1)],
        "one tensor twice": [lambda: (w * w).sum()] * 4,
        "a factor's sign": [lambda f=f: (w * f).sum() for f in (0.0, -0.0, 0.0, -0.0)],
        "a saved copy": [lambda: (w * x.clone().mul_(2)).square().sum()] * 4,
    }
    return {
        name: [t.autograd.grad(each(), w)[0].tolist() for each in several]
        for name, several in calls.items()
    }


def test_cached_rules_tell_gradients_apart() -> None:
    import torch as real

    found = [_slopes(t, t.arange(1.0, 7).view(3, 2) / 8, t.ones(3, 2, requires_grad=True))
             for t in (mt, real)]  # fmt: skip
    assert str(found[0]) == str(found[1])


def test_a_rule_is_asked_twice_and_checks_what_it_saved(monkeypatch: Any) -> None:
    from mindtorch.engine.autograd import tape

    asked = []
    ruled = tape.Node.ruled

    def asking(self: Any, *given: Any) -> Any:
        asked.append(self.op.name)
        return ruled(self, *given)

    monkeypatch.setattr(tape.Node, "ruled", asking)
    forget_plans()
    w = mt.ones(3, requires_grad=True)
    for _ in range(4):
        mt.autograd.grad(w.tanh().sum(), w)
    assert sorted(asked) == ["sum", "sum", "tanh", "tanh"]
    y = w.tanh()
    z = y.sum()
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    z = w.tanh().sum()
    z.backward(retain_graph=True)
    z.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.backward()


def test_what_is_made_from_tensors_as_numbers_follows_their_elements() -> None:
    """`linspace(tensor, ...)` gave the first call's result for all tensors of that type."""
    makers: tuple[Any, ...] = (
        lambda v: mt.linspace(v, 10.0, 3), lambda v: mt.linspace(0.0, end=v, steps=3),
        lambda v: mt.logspace(v, v, 1), mt.arange, lambda v: mt.full((2,), v),
        lambda v: mt.full_like(mt.zeros(2), v), lambda v: mt.zeros(2).new_full((2,), v),
    )  # fmt: skip
    for make in makers:
        for value in (1.0, 2.0, 3.0):
            assert make(mt.tensor(value)).tolist() == make(value).tolist()


def test_calls_of_usual_forms_are_told_apart_as_well(monkeypatch: Any) -> None:
    monkeypatch.setattr(call_cache, "_USES", 1)
    forget_plans()
    test_what_differs_is_told_apart()
    test_modes_defaults_and_writes_are_seen()


def _tensors(mode: int, *tensors: Any) -> Any:
    return tensors


def test_a_lookup_makes_the_key_of_its_form_alone() -> None:
    x, y, weight = mt.ones(2, 3), mt.ones(3), mt.nn.Parameter(mt.ones(3))
    calls: list[Any] = [
        (x, (), {}), (x, (y,), {}), (x, (1,), {}), (x, (1.0,), {}), (x, (0.0,), {}),
        (x, (float("nan"),), {}), (x, (True,), {}), (x, ((1, 0),), {}), (x, ([1, 0],), {}),
        (x, ((1,),), {}), (x, ((), None), {}), (x, (mt.Size([3]), weight, y), {"eps": 1e-5}),
        (x, (0,), {"keepdim": True}), (x, (), {"dim": 0}), (x, (), {"axis": 0}),
        ([x, y], (), {}), ([x], (0,), {}), ((x, y), (0,), {}), (weight, (), {}), (3, (), {}),
        (3, (), {"dtype": mt.int64}), ((2, 3), (), {}), (y, (0, y.long(), y), {}),
    ]  # fmt: skip
    for at, call in enumerate(calls):
        key, given = key_of(*call)
        lookup = lookup_for("f", False, *call)
        assert lookup is not None
        assert lookup(0, {}.get, *call) is NotImplemented
        found = lookup(0, {key: _tensors}.get, *call)
        assert list(map(id, found)) == list(map(id, given))
        for other in (*calls[:at], *calls[at + 1 :]):  # a key, if any, is not the one of the call
            assert lookup(0, {key: _tensors}.get, *other) is NotImplemented
    assert lookup_for("f", False, x, (object(),), {}) is None
    assert lookup_for("f", False, x, (list(range(20)),), {}) is None


def _draws() -> list[Any]:
    kinds = mt.float32, mt.float64, mt.bfloat16, mt.complex64
    made = [mt.empty(20, dtype=kind) for kind in kinds]
    few, apart = mt.empty(5), mt.empty(6, 4).t()
    return [
        mt.rand(7), mt.randn(20), mt.randn(3, dtype=mt.float64), mt.randint(3, 90, (4,)),
        mt.randperm(9), mt.randperm(5, dtype=mt.int32), mt.rand_like(apart),
        *[x.uniform_() for x in made], *[x.normal_(0.0, 2.0) for x in made], few.normal_(),
        few.clone().bernoulli_(0.3), few.clone().exponential_(), few.clone().random_(100),
        few.clone().log_normal_(), few.bool().bernoulli_(), apart.clone().uniform_(1, 2),
        few.clone().geometric_(0.5), mt.empty(4, dtype=mt.int64).random_(),
        mt.nn.functional.dropout(mt.ones(9), 0.5), mt.normal(1.0, 2.0, (17,)),
    ]  # fmt: skip


def test_cached_draws_go_on_with_the_stream() -> None:
    found: list[list[bytes]] = [[], []]
    for forgets, drawn in enumerate(found):
        forget_plans()
        mt.manual_seed(3)
        for _ in range(4):
            if forgets:
                forget_plans()
            drawn += [array_of(x).tobytes() for x in _draws()]
    assert found[0] == found[1]


def _averages(forgets: bool) -> list[Any]:
    """The results and averages of four steps, tracked and not."""
    found: list[Any] = []
    for momentum in (0.1, None):
        layer = mt.nn.BatchNorm1d(3, momentum=momentum)
        for step in range(4):
            if forgets:
                forget_plans()
            x = (mt.arange(12.0).reshape(4, 3) * (step + 1)).requires_grad_(step % 2 == 0)
            y = layer(x)
            found += [y.tolist(), layer.running_mean.tolist(), layer.running_var.tolist()]
            found += [y.grad_fn.name(), layer.running_mean._version, layer.running_mean.grad_fn]
    return found


def test_batch_norm_moves_its_averages_at_each_call() -> None:
    assert _averages(False) == _averages(True)


def test_what_elements_decide_is_asked_at_each_call() -> None:
    x = mt.tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]])
    for _ in range(3):
        for target, mean in (([0, 1], 3.0), ([0, 2], 1.0), ([2, 2], float("nan"))):
            loss = mt.nn.functional.nll_loss(x, mt.tensor(target), ignore_index=2).item()
            assert loss == mean or (loss != loss and mean != mean)
        places = mt.tensor([2, 0])
        assert x[:, places].tolist() == [[-3.0, -1.0], [-6.0, -4.0]]
        assert x[places - 1, places].tolist() == [-6.0, -4.0]
        assert x[places - 1, :].tolist() == [[-4.0, -5.0, -6.0], [-4.0, -5.0, -6.0]]
        with pytest.raises(IndexError, match="out of bounds"):
            x[:, places + 1]
        assert mt.allclose(x, x * 1.000001) and not mt.allclose(x, x * 1.000001, 0.0, 0.0)
        assert mt.equal(x, x.clone()) and not mt.equal(x, x + 1)
        assert not mt.equal(mt.tensor([float("nan")]), mt.tensor([float("nan")]))
        assert mt.equal(mt.tensor([0.0]), mt.tensor([-0.0]))


def test_many_tensors_are_stacked_on_arrays() -> None:
    rows = [mt.arange(3.0) + n for n in range(40)]
    for _ in range(3):
        assert mt.stack(rows).tolist() == [[n, n + 1.0, n + 2.0] for n in range(40)]
        assert mt.stack(rows[:3], 1).tolist() == [[n, n + 1.0, n + 2.0] for n in range(3)]
        parts = [row.reshape(1, 3) for row in rows[:4]]
        assert mt.cat(parts, 1).tolist() == [[0.0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5]]
    rows[5].requires_grad_()
    mt.stack(rows)[5].sum().backward()
    assert rows[5].grad.tolist() == [1, 1, 1]


def test_a_value_that_is_read_last_lends_its_memory_to_the_result() -> None:
    """Where it lies as the result does, and nobody asks for it."""
    functions: Any = {
        "chain": lambda x, y: ((x - y).abs() * y).exp(),
        "given": lambda x, y: x.neg() * x,
        "twice": lambda x, y: (a := x - y, a.neg())[1] + a,
        "wanted": lambda x, y: ((a := x - y), a * y),
        "view": lambda x, y: ((a := x - y).t(), a * y),
        "transposed": lambda x, y: (a := x - y) + a.t(),
        "part": lambda x, y: (a := x - y)[0] * a,
        "broadcast": lambda x, y: (x[0] - y[0]).exp() * y,
        "cast": lambda x, y: (x > y).float() * y,
    }
    x, y = mt.randn(700, 700), mt.randn(700, 700)
    peaks = {}
    for name, function in functions.items():
        expected = function(x, y)
        call = cached(function)
        for _ in range(2):
            call(x, y)
        tracemalloc.start()
        found = call(x, y)
        peaks[name] = tracemalloc.get_traced_memory()[1] / x.nbytes
        tracemalloc.stop()
        for a, b in zip(outputs_of(found), outputs_of(expected), strict=True):
            assert a.stride() == b.stride() and a.numpy().tobytes() == b.numpy().tobytes(), name
    assert peaks["chain"] < 1.1 and peaks["given"] < 1.1 and peaks["twice"] < 2.1
