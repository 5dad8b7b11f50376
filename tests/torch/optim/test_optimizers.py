"""Optimizers beside torch's."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt
from mindtorch.engine.optim import functional as rules
from mindtorch.engine.optim import multi_tensor as engine
from mindtorch.torch import optim

SHAPES = ((5, 7), (3,), (2, 3, 4), ())

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.01, "betas": (0.3, 0.5), "eps": 1e-3}),
    ("AdamW", {"lr": 0.01, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True}),
    ("Rprop", {}),
    ("ASGD", {"t0": 3, "weight_decay": 0.01, "lr": 0.1}),
]


def pair(name: str, settings: dict[str, Any], dtype: Any = np.float32) -> tuple[Any, ...]:
    """The same parameters and optimizer in torch and here."""
    values = np.random.default_rng(0)
    arrays = [np.asarray(values.standard_normal(s), dtype) for s in SHAPES]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    ours = [mt.tensor(a.copy(), requires_grad=True) for a in arrays]
    one = getattr(torch.optim, name)(theirs, foreach=False, **settings)
    return one, getattr(optim, name)(ours, **settings), theirs, ours


def walk(one: Any, other: Any, theirs: Any, ours: Any, steps: int = 10, seed: int = 1) -> None:
    """Steps of both with the same gradients."""
    values = np.random.default_rng(seed)
    for _ in range(steps):
        for a, b in zip(theirs, ours, strict=True):
            grad = np.asarray(values.standard_normal(a.shape), a.detach().numpy().dtype)
            a.grad, b.grad = torch.tensor(grad), mt.tensor(grad.copy())
        one.step()
        other.step()


def assert_close(theirs: Any, ours: Any, units: float = 8) -> None:
    """Equal up to a few roundings of numbers of size one: ten steps add about ten of them."""
    for a, b in zip(theirs, ours, strict=True):
        expected = a.detach().numpy()
        error = np.abs(expected - b.detach().numpy())
        assert np.all(error <= units * np.spacing(np.maximum(np.abs(expected), 1).astype(
            expected.dtype
        )))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_ten_steps_are_torchs(name: str, settings: dict[str, Any], dtype: Any) -> None:
    """The arithmetic is torch's in torch's order, so training follows the same path."""
    one, other, theirs, ours = pair(name, settings, dtype)
    walk(one, other, theirs, ours)
    assert_close(theirs, ours)
    assert repr(other) == repr(one).replace("foreach: False", "foreach: None")
    assert other.defaults.keys() == one.defaults.keys()


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_checkpoints_go_both_ways(name: str, settings: dict[str, Any]) -> None:
    """A state_dict holds torch's keys, and training goes on from one of torch's, and back."""
    one, other, theirs, ours = pair(name, settings)
    walk(one, other, theirs, ours, 3)
    saved, expected = other.state_dict(), one.state_dict()
    assert saved["state"].keys() == expected["state"].keys()
    for key, state in expected["state"].items():
        assert saved["state"][key].keys() == state.keys()
        for entry, value in state.items():
            assert saved["state"][key][entry].shape == value.shape
            assert str(saved["state"][key][entry].dtype) == str(value.dtype)
    assert saved["param_groups"][0].keys() == expected["param_groups"][0].keys()
    second = getattr(optim, name)([p.detach().clone().requires_grad_() for p in ours], **settings)
    converted = copy.deepcopy(expected)
    for state in converted["state"].values():
        for entry, value in state.items():
            state[entry] = mt.tensor(value.numpy())
    second.load_state_dict(converted)
    walk(one, second, theirs, second.parameters, 3, seed=2)
    assert_close(theirs, second.parameters)
    third = getattr(torch.optim, name)([p.detach().clone().requires_grad_() for p in theirs],
                                       foreach=False, **settings)  # fmt: skip
    back = copy.deepcopy(second.state_dict())
    for state in back["state"].values():
        for entry, value in list(state.items()):
            state[entry] = torch.from_numpy(np.array(value.numpy()))
    third.load_state_dict(back)
    fourth = copy.deepcopy(second)
    walk(third, fourth, third.param_groups[0]["params"], fourth.parameters, 2, seed=3)
    assert_close(third.param_groups[0]["params"], fourth.parameters)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_layouts_and_types_without_a_kernel(name: str, settings: dict[str, Any]) -> None:
    """Parameters with gaps or gradients of other strides take the step that is written in ops."""
    values = np.random.default_rng(0)
    base = values.standard_normal((6, 8))
    grads = values.standard_normal((3, 4, 3))
    results = []
    for library, kind in ((torch, torch.optim), (mt, optim)):
        p = library.tensor(base)[::2, ::2].detach().requires_grad_()
        optimizer = getattr(kind, name)([p], **settings)
        for g in grads:
            p.grad = library.tensor(np.ascontiguousarray(g.T)).t().reshape(4, 3).t()
            optimizer.step()
        results.append(p.detach().numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_complex_parameters_are_their_parts(name: str, settings: dict[str, Any]) -> None:
    """The step of real and imaginary parts, and states that are complex, as torch's."""
    values = np.random.default_rng(0)
    start, *grads = values.standard_normal((4, 5)) + 1j * values.standard_normal((4, 5))
    results: list[Any] = []
    for library, kind in ((torch, torch.optim), (mt, optim)):
        p = library.tensor(start).requires_grad_()
        optimizer = getattr(kind, name)([p], **settings)
        for g in grads:
            p.grad = library.tensor(g)
            optimizer.step()
        states = optimizer.state[p]
        results.append([p, *[states[key] for key in sorted(states) if states[key] is not None]])
    for theirs, mine in zip(*results, strict=True):
        expected = theirs.detach().numpy()
        assert mine.detach().numpy().dtype == expected.dtype
        np.testing.assert_allclose(mine.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["Adam", "Adamax", "NAdam", "RMSprop", "ASGD"])
def test_counters_of_old_checkpoints_are_numbers(name: str) -> None:
    """They become tensors when they are loaded, and the step goes on."""
    one, other, theirs, ours = pair(name, {})
    walk(one, other, theirs, ours, 2)
    for optimizer in (one, other):
        state = optimizer.state_dict()
        for each in state["state"].values():
            each.update({key: float(each[key]) for key in ("step", "mu_product") if key in each})
        optimizer.load_state_dict(state)
    walk(one, other, theirs, ours, 2, seed=2)
    assert_close(theirs, ours)
    assert isinstance(other.state[ours[0]]["step"], mt.Tensor)


@pytest.mark.parametrize("start", [[-1.2, 1.0, 0.5], [-1.2 + 1j, 0.5 - 0.2j]])
@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_follows_torch(line_search: str | None, start: list[complex]) -> None:
    """The whole inner iteration (history, line search, stopping) takes the same decisions."""
    found = []
    for library, kind in ((torch, torch.optim), (mt, optim)):
        x = library.tensor(np.array(start), requires_grad=True)
        optimizer = kind.LBFGS([x], lr=0.1 if line_search is None else 1,
                               line_search_fn=line_search, history_size=4)  # fmt: skip
        calls = []  # type: ignore[var-annotated]

        def closure(
            whole: Any = x, library: Any = library, optimizer: Any = optimizer, calls: Any = calls
        ) -> Any:
            optimizer.zero_grad()
            x = library.view_as_real(whole).reshape(-1) if whole.is_complex() else whole
            loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
            loss.backward()
            calls.append(loss.item())
            return loss

        for _ in range(2):
            optimizer.step(closure)
        state = optimizer.state_dict()["state"][0]
        found.append((np.array(calls), x.detach().numpy(), state["n_iter"], state["func_evals"]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-7)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-7)
    assert found[1][2:] == found[0][2:]


def test_gradients_as_arguments() -> None:
    """``optimizer(grads)`` and ``step(grads)`` use those gradients, ``.grad`` stays."""
    for call in ("step", "__call__"):
        a, b = mt.zeros(2, requires_grad=True), mt.zeros(3, requires_grad=True)
        optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 2.0}], lr=1.0)
        assert [id(p) for p in optimizer.parameters] == [id(a), id(b)]
        getattr(optimizer, call)((mt.ones(2), mt.ones(3)))
        assert a.tolist() == [-1.0] * 2
        assert b.tolist() == [-2.0] * 3
        assert a.grad is None
        with pytest.raises(RuntimeError, match="1 gradients for 2 parameters"):
            optimizer.step((mt.ones(2),))


def test_closure_is_recorded_and_returned() -> None:
    """The closure runs with autodiff on, the update without."""
    p = mt.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.5)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0
    assert p.tolist() == [0.0, 0.0]
    assert p.requires_grad
    assert p.is_leaf


def test_a_step_counts_as_a_write() -> None:
    """backward() through a value saved before a step is refused, as torch refuses it."""
    for kind in (optim.SGD, optim.Adam, optim.RMSprop):
        p = mt.ones(2, requires_grad=True)
        loss = (p * p).sum()
        p.grad = mt.ones(2)
        kind([p], lr=0.5).step()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@pytest.mark.parametrize("settings", [{}, {"weight_decay": 0.1, "amsgrad": True}])
def test_rules_as_functions_are_the_kernels(settings: dict[str, Any]) -> None:
    """What a trace of a step records computes what the fused kernels compute."""
    values = np.random.default_rng(3)
    start = values.standard_normal(9)
    amsgrad = settings.get("amsgrad", False)
    others = {k: v for k, v in settings.items() if k != "amsgrad"}
    p, r = (mt.tensor(start, requires_grad=True) for _ in range(2))
    adam = optim.AdamW([p], lr=0.1, **{"weight_decay": 0.0, **settings})
    sgd = optim.SGD([r], lr=0.1, momentum=0.9, nesterov=True, **others)
    one: Any = mt.tensor(start)
    two: Any = mt.tensor(start)
    update = rules.updates.ADAM_AMSGRAD if amsgrad else rules.updates.ADAM
    decay = others.get("weight_decay", 0.0)
    state: Any = [mt.zeros_like(one) for _ in update.state_names]
    other: Any = [mt.zeros_like(two)]
    for i in range(5):
        g: Any = mt.tensor(values.standard_normal(9))
        adam_settings = 0.1, 0.9, 0.999, 1e-8, decay, True
        one, *state = rules.updated(update, one, g, state, i + 1, adam_settings)
        sgd_settings = 0.1, decay, 0.9, 0.0, True
        two, *other = rules.updated(rules.updates.SGD_MOMENTUM, two, g, other, i + 1, sgd_settings)
        adam.step((g,))
        sgd.step((g,))
    np.testing.assert_allclose(one.numpy(), p.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(two.numpy(), r.detach().numpy(), rtol=1e-13)


def _through_steps(t: Any, name: str, settings: dict[str, Any]) -> list[Any]:
    """Parameters after three recorded steps, or one where torch refuses to go on, and their
    gradients by the first ones, a weight and, where torch takes one, the rate."""
    values = np.random.default_rng(4)
    start, weight = (t.tensor(values.standard_normal(5), requires_grad=True) for _ in range(2))
    by = [start, weight]
    if name in ("SGD", "Adam", "AdamW"):
        settings = {**settings, "lr": t.tensor(settings["lr"], requires_grad=True).double()}
        by.append(settings["lr"])
    p = start.clone()
    stepping = getattr(t.optim, name)([p], differentiable=True, **settings)
    kept = {"momentum", "centered", "amsgrad"}
    once = name in ("Adamax", "Rprop") or not kept.isdisjoint(settings)
    for _ in range(1 if once else 3):
        q = p.clone()  # the step writes to p
        (p.grad,) = t.autograd.grad((q.pow(2) * weight + q.sin()).sum(), p, create_graph=True)
        stepping.step()
    return [p, *t.autograd.grad((p**3).sum(), by, materialize_grads=True)]


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_recorded_steps_are_torchs(name: str, settings: dict[str, Any]) -> None:
    """``differentiable=True``: values and gradients of programs that learn to learn."""
    theirs, ours = (_through_steps(t, name, settings) for t in (torch, mt))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(
            b.detach().numpy(), a.detach().numpy(), rtol=1e-10, atol=1e-12
        )


def test_global_norm_and_scale() -> None:
    """Norms over tensors of any layout and type, and scaling, count as torch computes them."""
    values: Any = [mt.randn(3, 4), mt.randn(2, 2).t(), mt.randn(4).to(mt.float16)]
    expected = np.sqrt(sum((v.double().numpy() ** 2).sum() for v in values))
    assert engine.global_norm(values) == pytest.approx(expected, rel=1e-6)
    assert engine.all_finite(values[:1])
    old = values[0].tolist()
    engine.scale_all(values[:1], 0.5)
    assert values[0].tolist() == [[x * 0.5 for x in row] for row in old]
    values[0][1, 2] = float("nan")
    assert not engine.all_finite(values[:1])


def test_a_parameter_may_change_its_memory() -> None:
    """Addresses are kept between steps; ``p.data = other`` must not leave a stale one."""
    p = mt.ones(4, requires_grad=True)
    optimizer = optim.SGD([p], lr=1.0)
    for size in (4, 7, 2):
        p.data = mt.ones(size)
        p.grad = mt.ones(size)
        optimizer.step()
        assert p.tolist() == [0.0] * size


def test_groups_of_mixed_types() -> None:
    """float16 and float64 parameters in one group are each updated in their own type."""
    p, q = mt.ones(2, dtype=mt.float64), mt.ones(2, dtype=mt.float16)
    optimizer = optim.SGD([p.requires_grad_(), q.requires_grad_()], lr=0.5, momentum=0.5)
    p.grad, q.grad = mt.ones(2, dtype=mt.float64), mt.ones(2, dtype=mt.float16)
    optimizer.step()
    optimizer.step()
    assert p.tolist() == q.tolist() == [-0.25, -0.25]


def test_zero_grad() -> None:
    """Gradients vanish, or become zeros in place."""
    p = mt.ones(2, requires_grad=True)
    p.grad = held = mt.ones(2)
    optimizer = optim.SGD([p], lr=0.5)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is held
    assert held.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_parameters_without_gradient_stay() -> None:
    """No state is made for them either."""
    a, b = mt.ones(2, requires_grad=True), mt.ones(2, requires_grad=True)
    optimizer = optim.Adam([a, b])
    a.grad = mt.ones(2)
    optimizer.step()
    assert b.tolist() == [1.0, 1.0]
    assert list(optimizer.state_dict()["state"]) == [0]


def test_hooks_run_in_torchs_order() -> None:
    """Around steps, state_dict and load_state_dict; those prepended come first."""
    logs = []
    for library, kind in ((torch, torch.optim), (mt, optim)):
        log: list[str] = []
        base = importlib.import_module(f"{kind.__name__}.optimizer")
        p = library.ones(2, requires_grad=True)
        optimizer = kind.SGD([p], lr=0.5)

        def note(text: str, log: list[str] = log) -> Any:
            return lambda *args, **kwargs: log.append(text)

        optimizer.register_step_pre_hook(note("pre"))
        optimizer.register_step_post_hook(note("post"))
        handles = [
            base.register_optimizer_step_pre_hook(note("global pre")),
            base.register_optimizer_step_post_hook(note("global post")),
        ]
        for when in ("state_dict_pre", "state_dict_post", "load_state_dict_pre",
                     "load_state_dict_post"):  # fmt: skip
            register = getattr(optimizer, f"register_{when}_hook")
            register(note(when))
            register(note(when + " first"), prepend=True)
            register(note("removed")).remove()
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        for handle in handles:
            handle.remove()
        optimizer.step()
        logs.append(log)
    assert logs[1] == logs[0]


def test_copies_and_pickles() -> None:
    """A pickled optimizer goes on with parameters of its own."""
    p = mt.ones(3, requires_grad=True)
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = mt.ones(3)
    optimizer.step()
    for again in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = again.parameters
        assert q is not p
        q.grad = mt.ones(3)
        again.step()
        assert again.state[q]["step"].item() == 2
    assert optimizer.state[p]["step"].item() == 1


def test_named_parameters() -> None:
    """Names given with parameters travel in the groups."""
    a, b = mt.ones(2, requires_grad=True), mt.ones(2, requires_grad=True)
    optimizer = optim.SGD([("a", a), ("b", b)], lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]


def wrong(library: Any, kind: Any) -> list[Any]:
    """Calls that torch refuses."""
    def p() -> Any:
        return library.ones(2, requires_grad=True)

    q = p()
    return [
        lambda: kind.SGD(q, lr=0.1),
        lambda: kind.SGD([], lr=0.1),
        lambda: kind.SGD([3], lr=0.1),
        lambda: kind.SGD([{"params": {q}}], lr=0.1),
        lambda: kind.SGD([q * 2], lr=0.1),
        lambda: kind.SGD([{"params": [q]}, {"params": [q]}], lr=0.1),
        lambda: kind.SGD([{"params": [("a", q)]}, {"params": [p()]}], lr=0.1),
        lambda: kind.SGD([("a", q), p()], lr=0.1),
        lambda: kind.SGD([q], lr=-1.0),
        lambda: kind.SGD([q], lr=1.0, momentum=-1),
        lambda: kind.SGD([q], lr=1.0, weight_decay=-1),
        lambda: kind.SGD([q], lr=1.0, nesterov=True),
        lambda: kind.SGD([q], lr=library.ones(2)),
        lambda: kind.SGD([q], lr=1.0).add_param_group([q]),
        lambda: kind.SGD([q], lr=1.0).load_state_dict({"state": {}, "param_groups": []}),
        lambda: kind.SGD([q], lr=1.0).load_state_dict(
            {"state": {}, "param_groups": [{"params": [0, 1]}]}
        ),
        lambda: kind.Adam([q], lr=-1.0),
        lambda: kind.Adam([q], eps=-1.0),
        lambda: kind.Adam([q], betas=(1.0, 0.9)),
        lambda: kind.Adam([q], betas=(0.9, -1.0)),
        lambda: kind.Adam([q], weight_decay=-1),
        lambda: kind.NAdam([q], momentum_decay=-1),
        lambda: kind.Adagrad([q], lr_decay=-1),
        lambda: kind.Adagrad([q], initial_accumulator_value=-1),
        lambda: kind.Adadelta([q], rho=2),
        lambda: kind.RMSprop([q], alpha=-1),
        lambda: kind.RMSprop([q], momentum=-1),
        lambda: kind.Rprop([q], etas=(1.5, 2)),
        lambda: kind.LBFGS([{"params": [q]}, {"params": [p()]}]),
        lambda: kind.Optimizer([q], {}).step(),
        lambda: stepped(kind.Adam, [library.ones(2, dtype=library.complex64)]),
        lambda: stepped(kind.SGD, [library.ones(2, dtype=library.complex64)]),
        lambda: stepped(kind.Adagrad, [library.ones(2, dtype=library.complex64)]),
        lambda: stepped(kind.SGD, [library.ones(2), library.ones(2).to_sparse()]),
        lambda: stepped(kind.Adagrad, [library.ones(2), library.ones(2).to_sparse()]),
        lambda: stepped(kind.Adam, [library.ones(2)], foreach=True, differentiable=True),
        lambda: stepped(kind.Adam, [library.ones(2)], foreach=True, capturable=True),
    ]


def stepped(kind: Any, tensors: list[Any], **options: Any) -> None:
    """A step, fused unless told, of the first tensor with the last one as its gradient."""
    parameter, gradient = tensors[0].requires_grad_(), tensors[-1].detach()
    parameter.grad = gradient
    kind([parameter], lr=0.1, **(options or {"fused": True})).step()


@pytest.mark.parametrize("i", range(len(wrong(mt, optim))))
def test_errors_are_torchs(i: int) -> None:
    """Type and text of errors are part of the interface."""
    with pytest.raises(Exception) as expected:
        wrong(torch, torch.optim)[i]()
    with pytest.raises(expected.type) as found:
        wrong(mt, optim)[i]()
    assert str(found.value) == str(expected.value)
