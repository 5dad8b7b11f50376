"""Compiled calls give what eager calls give, bit for bit, and say when they cannot be compiled."""

from __future__ import annotations

import copy
import fractions
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import Jitted, jit
from mindtorch.kernels.cpu import winograd
from mindtorch.kernels.cpu.matrix_products import amx
from tests.support.models import build

F = torch.nn.functional
nn = torch.nn


def arrays(values: Any) -> list[Any]:
    return [None if v is None else v.detach().numpy().copy() for v in values]


def same(make: Callable[[], Any], calls: Callable[[], list[Any]]) -> Jitted:
    """Run ``make() -> (function, state)`` eagerly and compiled; everything must be equal."""
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        function, state = make()
        call = jit(function) if compiled else function
        torch.manual_seed(5)
        outputs = []
        for arguments in calls():
            made = call(*arguments)
            outputs += arrays([made] if isinstance(made, torch.Tensor) else made)
        leaves = [x.grad for x in state if x.is_leaf]
        results.append((outputs, arrays(state), arrays(leaves)))
    for eager, ours in zip(*results, strict=True):
        for a, b in zip(eager, ours, strict=True):
            np.testing.assert_array_equal(a, b)
    return call


def batches(*shape: int, count: int = 4) -> Callable[[], list[Any]]:
    return lambda: [(torch.randn(*shape),) for _ in range(count)]


def trained(optimizer: Any, clip: bool = False, set_to_none: bool = True) -> Any:
    """(step, parameters and statistics) of a small network with dropout and batch norm."""

    def make() -> Any:
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Dropout(0.4), nn.Flatten(), nn.Linear(64, 5),
        )  # fmt: skip
        chosen = optimizer(net.parameters())

        def step(x: Any) -> Any:
            chosen.zero_grad(set_to_none=set_to_none)
            loss = F.cross_entropy(net(x), torch.tensor([1, 2, 3, 4]))
            loss.backward()
            if clip:
                norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                loss = loss.detach() + norm
            chosen.step()
            return loss

        return step, [*net.parameters(), *net.buffers()]

    return make


@pytest.mark.parametrize(
    ("optimizer", "clip", "set_to_none"),
    [
        (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), False, True),
        (lambda p: torch.optim.Adam(p, lr=0.01), True, True),
        (lambda p: torch.optim.RMSprop(p, lr=0.01), False, False),
    ],
)
def test_a_training_step_is_captured_once(optimizer: Any, clip: bool, set_to_none: bool) -> None:
    """Forward, dropout, running statistics, backward, clipping and the update."""
    call = same(trained(optimizer, clip, set_to_none), batches(4, 3, 8, 8))
    assert not call.eager
    assert call.traces <= 2


@pytest.mark.parametrize("name", ["mlp", "lenet", "gpt", "lstm", "resnet18"])
def test_models_compiled_train_as_eagerly(name: str, monkeypatch: Any) -> None:
    """Losses of compiled steps, bit for bit where convolutions add in the eager order."""
    monkeypatch.setitem(winograd._FEWEST, 4, math.inf)
    monkeypatch.setattr(amx, "enabled", lambda: False)
    small = {"mlp": {"batch": 4}, "lenet": {"batch": 4}, "resnet18": {"batch": 2}}.get(name, {})
    losses = []
    for compiled in (False, True):
        torch.manual_seed(3)
        _, step = build(torch, name, **small)
        update = step.update  # type: ignore[attr-defined]
        call = jit(update) if compiled else update
        losses.append([call().item() for _ in range(3)])
    assert losses[0] == losses[1]
    assert not call.eager


def test_gradients_outside_of_a_compiled_forward() -> None:
    """torch.compile(model), then backward() and step() as usual; train and eval in turns."""
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 2))
        call = torch.compile(net) if compiled else net
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
        found = []
        for i in range(6):
            net.train(i % 3 != 2)
            x = torch.randn(4, 6, requires_grad=True)
            optimizer.zero_grad()
            y = call(x)
            loss = y.square().sum()
            loss.backward()
            optimizer.step()
            found += [loss.item(), *arrays([x.grad, net[1].running_var])]
        results.append(found)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_host_values_are_read_at_each_call() -> None:
    """A learning rate that a scheduler changes is not frozen."""

    def make() -> Any:
        w = torch.randn(3, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=1.0)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        taken = [0]

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            return w.detach().clone()

        def call(x: Any) -> Any:
            result = inner(x)
            scheduler.step()
            taken[0] += 1
            return result

        inner = jit(step)
        call.inner = inner  # type: ignore[attr-defined]
        return call, [w]

    function, (w,) = make()
    before = w.detach().clone()
    rates = []
    for _ in range(3):
        now = function(torch.ones(3))
        rates.append((before - now)[0].item())
        before = now
    np.testing.assert_allclose(rates, [1, 0.5, 0.25], rtol=1e-6)
    assert function.inner.traces == 1


def test_python_values_are_guards() -> None:
    """A number that a closure, a global, an object or a module holds."""

    class Holder:
        factor = 1.0

        def __init__(self) -> None:
            self.shift = 1.0

        def forward(self, x: Any) -> Any:
            return x * scale + self.shift

    scale = 2.0
    holder = Holder()
    call = jit(lambda x: holder.forward(x))
    x = torch.ones(2)
    assert call(x).tolist() == [3, 3]
    holder.shift = 5.0
    assert call(x).tolist() == [7, 7]
    scale = 3.0
    assert call(x).tolist() == [8, 8]
    net = nn.Dropout(0.5)
    dropped = jit(lambda v: net(v))
    assert 0 in dropped(torch.ones(100)).tolist()
    net.eval()
    assert dropped(torch.ones(100)).tolist() == [1] * 100
    net.train()
    net.p = 0.0
    assert dropped(torch.ones(100)).tolist() == [1] * 100


def test_replaced_tensors_are_seen() -> None:
    """An attribute that holds another tensor now, another parameter, another type."""

    class Cell:
        def __init__(self) -> None:
            self.hidden = torch.zeros(2)

        def __call__(self, x: Any) -> Any:
            return x + self.hidden

    cell = Cell()
    call = jit(lambda x: cell(x))
    assert call(torch.ones(2)).tolist() == [1, 1]
    cell.hidden = torch.ones(2)
    assert call(torch.ones(2)).tolist() == [2, 2]
    linear = nn.Linear(2, 1, bias=False)
    compiled = torch.compile(linear)
    with torch.no_grad():
        linear.weight.fill_(1)
        assert compiled(torch.ones(1, 2)).item() == 2
        linear.weight = nn.Parameter(torch.full((1, 2), 3.0))
        assert compiled(torch.ones(1, 2)).item() == 6
        linear.double()
        assert compiled(torch.ones(1, 2, dtype=torch.float64)).dtype is torch.float64


def test_a_function_that_changes_python_objects_runs_op_by_op() -> None:
    """Its list grows once for each call, compiled or not."""
    seen: list[int] = []

    def call(x: Any) -> Any:
        seen.append(len(seen))
        return x * len(seen)

    compiled = jit(call)
    assert [compiled(torch.ones(1)).item() for _ in range(3)] == [1, 2, 3]
    assert seen == [0, 1, 2]
    assert "seen" in compiled.eager


def test_a_call_that_needs_data_runs_op_by_op_and_only_once() -> None:
    """What came before item() is not done twice; both branches are right."""
    count = torch.zeros(1)

    def call(x: Any) -> Any:
        count.add_(1)
        y = x * 2
        return y + 1 if y.sum().item() > 0 else y - 1

    compiled = jit(call)
    assert compiled(torch.ones(2)).tolist() == [3, 3]
    assert compiled(-torch.ones(2)).tolist() == [-3, -3]
    assert count.item() == 2
    assert "item()" in compiled.eager and "test_compiled_functions.py" in compiled.eager
    with pytest.raises(torch._dynamo.exc.Unsupported, match="fullgraph"):
        torch.compile(call, fullgraph=True)(torch.ones(2))


def test_printing_a_traced_tensor_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    """print() ends the capture."""

    def call(x: Any) -> Any:
        print(x + 1)
        return x

    compiled = jit(call)
    for _ in range(2):
        compiled(torch.zeros(2))
    assert capsys.readouterr().out == "tensor([1., 1.])\n" * 2


def test_writes_views_and_aliases() -> None:
    """Arguments and captured tensors written in place, buffers made inside, views returned."""

    def make() -> Any:
        total = torch.zeros(3)
        w = torch.randn(4, 3, requires_grad=True)

        def step(x: Any) -> Any:
            made = torch.zeros(4, 3)
            made[0] = x[1]
            made[:, 1] += 2
            x.mul_(0.5)
            total.add_(x.sum(0))
            row = made[0]
            made.mul_(3)
            (w * x).sum().backward()
            with torch.no_grad():
                w.sub_(0.1 * w.grad)
            return [row, made.t(), x, total[:2], w.detach()[1]]

        return step, [total, w]

    call = same(make, batches(4, 3))
    assert not call.eager
    shared = torch.zeros(2)
    view = jit(lambda x: x[0])
    x = torch.ones(2, 2)
    for _ in range(2):
        view(x).add_(1)
    assert x.tolist() == [[3, 3], [1, 1]]
    held = jit(lambda: shared)
    assert held() is shared and held() is shared


def test_results_are_new_memory_at_each_call() -> None:
    """A result that the caller keeps is not overwritten by the next call."""
    call = jit(lambda x: (x * 2, x + 1))
    first = call(torch.ones(3))
    second = call(torch.zeros(3))
    assert [v.tolist() for v in first] == [[2] * 3, [2] * 3]
    assert [v.tolist() for v in second] == [[0] * 3, [1] * 3]


def test_random_numbers_continue_the_stream() -> None:
    """Samplers inside of a compiled call draw what they would draw eagerly."""

    def make() -> Any:
        generator = torch.Generator().manual_seed(3)

        def call(x: Any) -> Any:
            noise = torch.randn(3) + torch.rand(3, generator=generator)
            return [noise + torch.randint(0, 9, (3,)), torch.bernoulli(x.sigmoid()),
                    torch.randperm(5), torch.empty(3).normal_(), F.dropout(x, 0.5)]  # fmt: skip

        return call, []

    assert not same(make, batches(3)).eager


@dataclass
class Pair:
    first: Any
    second: Any


def test_structures_of_arguments_and_results() -> None:
    """Nested containers, data classes, keywords, the same tensor twice, None."""

    def call(pair: Pair, *, extra: dict[str, Any], flag: Any = None) -> Any:
        made = pair.first + extra["a"][0]
        return {"sum": made, "pair": Pair(made, pair.second), "none": flag}

    compiled = jit(call)
    x = torch.ones(2)
    for _ in range(2):
        made = compiled(Pair(x, 3), extra={"a": (x,)})
        assert made["sum"].tolist() == [2, 2] and made["none"] is None
        assert made["pair"].second == 3 and made["pair"].first.tolist() == [2, 2]
    assert compiled.traces == 1 and not compiled.eager


def test_an_exception_leaves_tracing() -> None:
    """The user's error arrives, and the next call works."""
    flag = {"raise": True}

    def call(x: Any) -> Any:
        y = x + 1
        if flag["raise"]:
            raise KeyError("mine")
        return y

    compiled = jit(call)
    with pytest.raises(KeyError, match="mine"):
        compiled(torch.ones(1))
    assert torch.ones(1).add(1).item() == 2
    flag["raise"] = False
    assert compiled(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        jit(lambda a, b: a @ b)(torch.ones(2, 3), torch.ones(2, 3))


def test_accumulated_gradients() -> None:
    """Without zero_grad the gradients add up."""

    def make() -> Any:
        w = torch.ones(2, requires_grad=True)

        def call(x: Any) -> Any:
            (w * x).sum().backward()
            return w.grad.clone()

        return call, [w]

    assert not same(make, batches(2)).eager


def test_a_compiled_function_called_by_threads() -> None:
    """The kernels' memory belongs to one call at a time."""
    call = jit(lambda x: (x.exp() * 2).cumsum(0))
    call(torch.zeros(1000))
    wrong = []

    def work(value: float) -> None:
        x = torch.full((1000,), value)
        expected = (x.exp() * 2).cumsum(0).numpy()
        for _ in range(50):
            if not np.array_equal(call(x).numpy(), expected):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(v,)) for v in (0.5, -0.5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_recursion_and_copies() -> None:
    """A compiled function that calls itself; a deep copy of a compiled module."""

    @torch.compile
    def count(x: Any, n: int) -> Any:
        return x if n == 0 else count(x + n, n - 1)

    assert count(torch.zeros(1), 3).item() == 6
    assert count(torch.zeros(1), 3).item() == 6
    net = torch.compile(nn.Linear(2, 1))
    twin = copy.deepcopy(net)
    x = torch.ones(1, 2)
    assert net(x).item() == twin(x).item()
    with torch.no_grad():
        twin.weight.zero_()
        twin.bias.zero_()
    assert twin(x).item() == 0


def test_shapes_and_a_smaller_last_batch() -> None:
    """Each shape is captured once."""
    net = nn.Linear(3, 2)
    call = jit(lambda x: net(x))
    for rows in (4, 4, 2, 4, 2):
        x = torch.randn(rows, 3)
        np.testing.assert_array_equal(call(x).detach().numpy(), net(x).detach().numpy())
    assert call.traces == 2


def test_graph_breaks_and_no_grad() -> None:
    """A requested end of a graph, and blocks without gradients."""
    w = torch.ones(2, requires_grad=True)

    @torch.compile
    def call(x: Any) -> Any:
        y = x * w
        torch._dynamo.graph_break()
        with torch.no_grad():
            z = y * 2
        return y.sum(), z

    for _ in range(2):
        w.grad = None
        loss, z = call(torch.tensor([1.0, 2.0]))
        loss.backward()
        assert w.grad.tolist() == [1, 2] and not z.requires_grad
    assert not call.eager and call.traces == 1


def test_explain_shows_graphs_guards_and_reasons() -> None:
    """Segments with their kernels, what is checked, and the line that needs data."""
    scale = 2.0
    net = nn.Linear(3, 2)
    shown = torch._dynamo.explain(lambda x: F.relu(net(x)) * scale)(torch.ones(1, 3))
    assert shown.graph_count == 2 and shown.graph_break_count == 0  # forward and backward
    assert shown.ops[0] == ["linear", "relu", "multiply"]
    assert "variable scale" in shown.guards and "Linear" in shown.guards
    assert "linear(" in str(shown)
    assert shown.moved[0] == [4 * (3 + 6 + 2 + 2), 4 * (2 + 2), 4 * (2 + 2) + 8]
    forward, backward = shown.seconds
    assert len(forward) == 3 and min(forward) > 0 and not backward
    lines = [x.strip() for x in str(shown).splitlines() if "->" not in x]
    (line,) = [x for x in lines if x.startswith("linear ")]
    name, size, microseconds, rate = line.split()
    assert name == "linear" and size == "52" and float(microseconds) >= 0 <= float(rate)
    broken = torch._dynamo.explain(lambda x: x if x.sum() > 0 else -x)(torch.ones(1))
    assert "test_compiled_functions.py" in broken.break_reasons[0]


def test_gradients_given_to_an_optimizer() -> None:
    """MindTorch's step: value_and_grad, then optimizer(gradients), captured as one call."""
    import mindtorch

    def make() -> Any:
        net = nn.Linear(3, 2)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
        gradients_of = mindtorch.value_and_grad(
            lambda x: net(x).square().sum(), None, optimizer.parameters
        )

        def step(x: Any) -> Any:
            loss, gradients = gradients_of(x)
            optimizer(gradients)
            return loss

        return step, list(net.parameters())

    call = same(make, batches(4, 3))
    assert not call.eager and call.traces == 1


def test_schedules_seeds_and_iterators() -> None:
    """What changes at each call without a tensor: learning rates, generators, iterators."""

    def make() -> Any:
        w = torch.ones(2, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=1.0)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            scheduler.step()
            return w.detach().clone()

        return step, [w]

    assert not same(make, batches(2)).eager
    numbers = iter(range(100))
    counted = jit(lambda x: x + next(numbers))
    assert [counted(torch.zeros(1)).item() for _ in range(3)] == [0, 1, 2]

    def seeded(x: Any) -> Any:
        torch.manual_seed(7)
        return x + torch.rand(1)

    call = jit(seeded)
    assert call(torch.zeros(1)).item() == call(torch.zeros(1)).item()
    consumed = jit(lambda values: torch.stack(list(values)).sum())
    for _ in range(2):
        values = (torch.ones(2) for _ in range(3))
        assert consumed(values).item() == 6


def test_hooks_run_at_each_call() -> None:
    """Hooks of tensors and modules, also those that are added to a compiled call."""
    w = torch.ones(2, requires_grad=True)
    linear = nn.Linear(2, 2)
    seen: list[str] = []

    def step(x: Any) -> Any:
        w.grad = None
        (linear(x) * w).sum().backward()
        return w.grad.clone()

    call = jit(step)
    call(torch.ones(2))
    call(torch.ones(2))
    assert not call.eager
    handle = w.register_hook(lambda g: g * 2)
    plain = call(torch.ones(2)) / 2
    handle.remove()
    np.testing.assert_allclose(call(torch.ones(2)).numpy(), plain.numpy())
    linear.register_forward_hook(lambda *_: seen.append("forward"))
    again = jit(step)
    for _ in range(3):
        again(torch.ones(2))
    assert seen == ["forward"] * 3 and "hooks" in again.eager


def test_modes_and_leaves_made_inside() -> None:
    """A call that leaves another grad mode behind, or returns a leaf, runs op by op."""

    def switch(x: Any) -> Any:
        torch.set_grad_enabled(False)
        return x + 1

    call = jit(switch)
    try:
        for _ in range(2):
            torch.set_grad_enabled(True)
            call(torch.ones(1))
            assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    made = jit(lambda x: (x * 2).detach().requires_grad_())
    for _ in range(2):
        leaf = made(torch.ones(2))
        leaf.sum().backward()
        assert leaf.is_leaf and leaf.grad.tolist() == [1, 1]


def test_memory_read_as_another_type() -> None:
    """A view of another type that was made before the call: right numbers, op by op."""
    z = torch.ones(2, dtype=torch.complex64)
    parts = torch.view_as_real(z)
    call = jit(lambda x: parts * x)
    for _ in range(2):
        assert call(torch.ones(2, 2)).tolist() == [[1, 0], [1, 0]]
    assert "view_as_real" in call.eager


def test_equal_numbers_and_texts_are_the_same_arguments() -> None:
    """Whichever objects they are."""
    call = jit(lambda x, *values: x * values[0])
    for _ in range(3):
        number, text = float("2.5"), "".join(["a", "b"])
        values = (number, text, int("1234567"), fractions.Fraction(1, 3), torch.float64)
        assert call(torch.ones(2), *values).tolist() == [2.5, 2.5]
    assert call.traces == 1 and not call.eager
