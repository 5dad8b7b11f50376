"""Functions whose Python code runs at each call: their ops wait, and run compiled."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import Jitted, jit
from mindtorch.engine.compile.lazy.trace_tree import PATIENCE
from mindtorch.engine.settings import policy
from tests.support.models import build

F = torch.nn.functional
nn = torch.nn


def replayed(function: Callable[..., Any]) -> Jitted:
    call = jit(function)
    call.eager = "asked for"
    return call


@pytest.mark.parametrize("name", ["mlp", "lenet", "gpt", "lstm"])
def test_models_replayed_train_as_eagerly(name: str) -> None:
    """Losses and the random stream afterwards, bit for bit, and segments that are met again."""
    small = {"mlp": {"batch": 4}, "lenet": {"batch": 4}}.get(name, {})
    found = []
    for wrap in (lambda f: f, replayed):
        torch.manual_seed(3)
        _, step = build(torch, name, **small)
        call = wrap(step.update)  # type: ignore[attr-defined]
        found.append([*(call().item() for _ in range(5)), torch.rand(1).item()])
    assert found[0] == found[1]
    assert call.trace_tree.runs >= 2 and call.trace_tree.fresh == 0


def training(kind: str) -> tuple[Callable[..., Any], list[Any], list[float]]:
    """A step that looks at its loss in some way, its parameters, and what it noted."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
    noted: list[float] = []

    def step(x: Any) -> Any:
        optimizer.zero_grad(set_to_none=kind != "accumulated")
        loss = F.mse_loss(net(x), x[:, :3])
        if kind == "checked" and not torch.isfinite(loss):
            return loss
        if kind == "skipped" and loss.item() > 1.2:
            noted.append(-1.0)
            return loss * 2
        loss.backward(retain_graph=kind == "twice")
        if kind == "twice":
            noted.append(loss.item())
            loss.backward()
        if kind == "norms":
            noted.extend(p.grad.norm().item() for p in net.parameters())
        if kind == "printed":
            noted.append(float(f"{loss:.3f}"))
        optimizer.step()
        noted.append(loss.item())
        return loss

    return step, list(net.parameters()), noted


@pytest.mark.parametrize(
    "kind", ["noted", "checked", "skipped", "twice", "norms", "printed", "accumulated"]
)
def test_steps_that_look_at_their_loss(kind: str) -> None:
    """item() at the end, before backward(), as a condition, between two backward passes."""
    found = []
    for wrap in (lambda f: f, jit):
        step, parameters, noted = training(kind)
        call = wrap(step)
        torch.manual_seed(1)
        losses = [call(torch.randn(4, 5)) for _ in range(8)]
        values = [x.detach().numpy().copy() for x in [*losses, *parameters]]
        found.append((values, noted))
    for mine, eager in zip(found[1][0], found[0][0], strict=True):
        np.testing.assert_array_equal(mine, eager)
    assert found[0][1] == found[1][1] and (noted or kind == "checked")
    assert call.eager and call.trace_tree.runs >= 4


def test_both_outcomes_of_a_branch_are_compiled() -> None:
    """Each has its own continuation; Python code runs at each call."""
    calls = []

    def step(x: Any) -> Any:
        y = x * 2
        calls.append(1)
        return y.exp() + 1 if y.sum() > 0 else y.abs() - 1

    call = jit(step)
    for i in range(12):
        x = torch.full((3,), 1.0 if i % 3 else -1.0)
        np.testing.assert_array_equal(call(x).numpy(), step(x).numpy())
    assert len(calls) == 24
    assert call.trace_tree.compiled == 3 and call.trace_tree.fresh == 0


def test_a_number_that_changes_does_not_compile_anew() -> None:
    """A factor counted in Python is an input of the segment after the second value."""
    count = [0]

    def step(x: Any) -> Any:
        count[0] += 1
        return x * (count[0] / 8) + 1

    call = jit(step)
    for i in range(10):
        assert call(torch.ones(2)).tolist() == [(i + 1) / 8 + 1] * 2
    assert call.trace_tree.runs >= 4


def test_shapes_that_never_repeat_are_left_alone() -> None:
    """After some segments that were never met again, ops run eagerly."""
    call = replayed(lambda x: x * 2 + 1)
    for n in range(1, PATIENCE + 10):
        assert call(torch.ones(n)).tolist() == [3.0] * n
    assert call.trace_tree.never_repeats and call.trace_tree.compiled == 0


def test_hooks_run_in_replayed_backward_passes() -> None:
    """A hook that is added later is seen, also one that needs data."""
    w = torch.ones(3, requires_grad=True)
    seen: list[float] = []

    def step(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad.clone()

    call = replayed(step)
    for _ in range(3):
        assert call(torch.ones(3)).tolist() == [1, 1, 1]

    def double(g: Any) -> Any:
        seen.append(g.sum().item())
        return g * 2

    handle = w.register_hook(double)
    for _ in range(3):
        assert call(torch.ones(3)).tolist() == [2, 2, 2]
    handle.remove()
    assert call(torch.ones(3)).tolist() == [1, 1, 1]
    assert seen == [3.0] * 3


def test_the_tape_is_told_apart_where_the_ops_are_the_same() -> None:
    """no_grad, detach and requires_grad change gradients, not the ops of the forward pass."""
    w, v = (torch.ones(2, requires_grad=True) for _ in range(2))

    def step(kind: int) -> Any:
        w.grad = v.grad = None
        with torch.set_grad_enabled(kind != 1):
            a = w * 2
        b = a.detach() if kind == 2 else a
        (b * v).sum().backward()
        return w.grad, v.grad

    call = replayed(step)
    for kind in (0, 1, 2, 0, 2, 1, 0, 0, 1, 1, 2, 2):
        of_w, of_v = call(kind)
        assert of_v.tolist() == [2, 2]
        assert (of_w is None) == (kind != 0)
        assert of_w is None or of_w.tolist() == [2, 2]


def test_a_second_backward_is_refused_as_in_eager_mode() -> None:
    """The nodes of a pass that was not run again are released all the same."""
    w = torch.ones(2, requires_grad=True)

    def step() -> None:
        w.grad = None
        loss = (w * w).sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()

    call = replayed(step)
    for _ in range(4):
        call()
        assert w.grad.tolist() == [2, 2]


def test_saved_tensors_that_are_written_to_are_found() -> None:
    """Version counters hold across segments."""
    w = torch.ones(2, requires_grad=True)

    def step(x: Any, write: bool) -> None:
        w.grad = None
        loss = (w * x).sum()
        loss.item()
        if write:
            x.add_(1)
        loss.backward()

    call = replayed(step)
    for i in range(6):
        if i % 3 == 2:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                call(torch.ones(2), True)
        else:
            call(torch.ones(2), False)
            assert w.grad.tolist() == [1, 1]


def test_memory_that_numpy_shares_is_written_at_once() -> None:
    """An array over a tensor's memory shows a write without being asked for."""
    array = np.zeros(3, np.float32)
    shared = torch.from_numpy(array)
    sums: list[float] = []

    def step() -> None:
        shared.add_(1)
        sums.append(float(array.sum()))

    call = replayed(step)
    for _ in range(4):
        call()
    assert sums == [3.0, 6.0, 9.0, 12.0]


def test_slices_of_one_tensor_are_one_segment() -> None:
    """Batches cut out of a data set, and two overlapping views of one memory."""
    data = torch.arange(24.0).view(12, 2)
    call = replayed(lambda x: (x * 2).sum())
    assert [call(data[i : i + 3]).item() for i in range(0, 12, 3)] == [30, 102, 174, 246]
    assert call.trace_tree.compiled == 1
    both = replayed(lambda i: data[i : i + 2] * data[i + 1 : i + 3])
    for i in range(5):
        expected = (data[i : i + 2] * data[i + 1 : i + 3]).tolist()
        assert both(i).tolist() == expected


def test_numbers_as_arguments_are_captured_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A factor that differs in each call: what is kept is bounded, results are right."""
    monkeypatch.setattr(policy, "limit", 2)
    call = jit(lambda x, factor: x * factor + 1)
    for i in range(30):
        assert call(torch.ones(2), i / 4).tolist() == [i / 4 + 1] * 2
    assert call.traces < 10 and sum(map(len, call.compiled.values())) < 10
    assert not call.eager and call.trace_tree.runs > 10
    assert call(torch.ones(2), 0.0).tolist() == [1, 1]


def test_batch_sizes_are_captured_once_each() -> None:
    """A smaller last batch in each epoch is traced once."""
    net = nn.Linear(3, 2)
    call = jit(lambda x: net(x).sum())
    for _ in range(4):
        for rows in (4, 4, 4, 2):
            call(torch.randn(rows, 3)).backward()
    assert call.traces == 2


def test_threads_capture_and_replay_at_the_same_time() -> None:
    """Each capture belongs to its thread; a function that another thread replays runs eagerly."""
    wrong: list[float] = []
    shared = replayed(lambda x: (x * 2).cumsum(0))

    def work(value: float) -> None:
        own = jit(lambda x: (x * value).exp().sum())
        for i in range(12):
            x = torch.full((50,), value + i)
            if own(x).item() != (x * value).exp().sum().item():
                wrong.append(value)
            if not np.array_equal(shared(x).numpy(), (x * 2).cumsum(0).numpy()):
                wrong.append(-value)

    threads = [threading.Thread(target=work, args=(v,)) for v in (0.01, 0.02, 0.03)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_forked_child_runs_what_the_parent_compiled() -> None:
    """Captured and replayed calls, in the child and afterwards in the parent."""
    captured, again = jit(lambda x: x.exp() * 2), replayed(lambda x: x.exp() * 2)
    x = torch.arange(5.0)
    expected = x.exp() * 2
    for _ in range(3):
        captured(x), again(x)
    child = os.fork()
    if child == 0:
        right = all(torch.equal(call(x), expected) for call in (captured, again))
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert all(torch.equal(call(x), expected) for call in (captured, again))


@pytest.mark.parametrize("computed", [False, True], ids=["given", "computed"])
def test_errors_in_kernels_leave_a_state_that_the_call_passes_through(computed: bool) -> None:
    """An index out of range is found when a partition runs. A compiled call is made again eagerly
    and leaves what that leaves; a lazy one, too, whether the index was there before the op or not.
    """
    table = torch.zeros(3, 2)

    def step(i: Any) -> Any:
        table.add_(1)
        return table[i * 1 if computed else i].clone()

    for call in (jit(step), replayed(step)):
        table.zero_()
        for i, done in ((0, 1), (1, 2), (2, 3), (7, 4), (0, 5)):
            try:
                made = call(torch.tensor([i]))
                assert made.tolist() == [[done, done]]
            except IndexError:
                assert i == 7
            assert table.tolist() == [[done, done]] * 3


def test_a_pass_that_was_seen_without_hooks_runs_where_there_are_some() -> None:
    """Those of DistributedDataParallel, which averages gradients, among them."""
    calls = []
    last: Any = None

    def step(model: Any, x: Any) -> Any:
        model.zero_grad()
        model(x).square().sum().backward()
        return model.weight.grad.clone()

    def hook(parameter: Any) -> None:
        calls.append(parameter)

    hook.in_captures = True  # type: ignore[attr-defined]
    call = replayed(step)
    for hooked in (False, True):
        torch.manual_seed(0)
        model = nn.Linear(3, 2)
        if hooked:
            for parameter in model.parameters():
                parameter.register_post_accumulate_grad_hook(hook)
        for _ in range(4):
            last = call(model, torch.ones(2, 3))
    assert len(calls) == 8 and torch.equal(last, step(model, torch.ones(2, 3)))


def test_a_number_that_changes_is_no_constant_of_the_backward_pass() -> None:
    """Six is how many elements there are, and once also the number that the loss is scaled with."""

    def run(wrap: Callable[..., Any]) -> list[Any]:
        weight, losses = nn.Parameter(torch.ones(4, 2)), []

        def step(i: int) -> Any:
            x = torch.arange(12.0).reshape(3, 4).sin() + i
            loss = (x @ weight).pow(2).mean() / 3
            losses.append(loss.item() if i % 2 else 0.0)
            loss.backward()
            return weight.grad

        call, found = wrap(step), []
        for i in (0, 1, 2, 3, 6, 6, 9, 12, 7, 5):
            weight.grad = None
            found.append(call(i).tolist())
        return found

    assert run(replayed) == run(lambda step: step)


def test_sparse_gradients_of_replayed_calls() -> None:
    """Three bags of one sparse table, whose gradients have their data while others wait."""
    found = []
    for wrap in (lambda f: f, replayed):
        torch.manual_seed(0)
        bag, layer = nn.EmbeddingBag(9, 4, sparse=True), nn.Linear(4, 1)

        def step(rows: Any, bag: Any = bag, layer: Any = layer) -> Any:
            bag.zero_grad()
            layer.zero_grad()
            loss = sum(layer(bag(rows)).pow(2).sum() for _ in range(3))
            loss.backward()
            return loss, bag.weight.grad._nnz(), layer.weight.grad.sum().item()

        call = wrap(step)
        rows = torch.arange(8).view(4, 2)
        found.append([(x.item(), *more) for x, *more in (call(rows) for _ in range(4))])
    assert found[0] == found[1]


def test_numbers_that_nobody_keeps_are_drawn() -> None:
    """A draw is all that the call does: the generator goes on as in eager mode."""

    def draw() -> None:
        torch.rand(3)

    torch.manual_seed(0)
    call = replayed(draw)
    for _ in range(3):
        call()
    found = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(found, torch.rand(12)[9:10])
