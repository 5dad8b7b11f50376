"""Gradients of compiled steps: written again where nobody can tell, new where somebody holds them;
and what is asked of them later: second derivatives, a second backward pass."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.guards import guards
from mindtorch.engine.compile.jit import jit

nn = torch.nn


def compiled_step() -> tuple[Any, Callable[[Any], Any]]:
    """A layer, and one step that drops its gradients, computes them and moves its weights."""
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    return net, jit(step)


def test_gradients_that_nobody_holds_stay_in_their_memory() -> None:
    """From the third call on (the first traces, the second makes them) nothing is allocated."""
    net, step = compiled_step()
    x = torch.ones(4, 3)
    addresses = []
    for _ in range(5):
        step(x)
        addresses.append([p.grad.data_ptr() for p in net.parameters()])
    assert addresses[1] == addresses[2] == addresses[3] == addresses[4]


HOLD: dict[str, Callable[[Any], Any]] = {
    "the tensor": lambda g: g,
    "a view": lambda g: g.view(-1)[1:],
    "its data": lambda g: g.data,
    "detached": lambda g: g.detach(),
    "an array": lambda g: torch.from_numpy(g.numpy()),
    "a slice of an array": lambda g: torch.from_numpy(g.numpy()[:1]),
    "another tensor": lambda g: torch.tensor([]).set_(g),
    "a graph": lambda g: (g * torch.ones_like(g).requires_grad_()).sum(),
}


@pytest.mark.parametrize("name", sorted(HOLD))
def test_a_held_gradient_keeps_its_values(name: str) -> None:
    """What was taken of ``grad`` after one step is what it was after two more."""
    net, step = compiled_step()
    x = torch.ones(4, 3)
    for _ in range(3):
        step(x)
    held = HOLD[name](net.weight.grad)
    before = held.detach().clone()
    step(x)
    after = net.weight.grad.clone()
    step(x)
    assert torch.equal(held, before)
    assert not torch.equal(net.weight.grad, after)  # it goes on from there


def test_changes_to_a_gradient_do_not_stay() -> None:
    """Clipping, writes in place, other shapes and requires_grad of the last gradient are over when
    the next one is there: values and version as of the same steps op by op."""
    found = []
    for wrap in (lambda call: call.function, lambda call: call):
        net, compiled = compiled_step()
        step = wrap(compiled)
        x = torch.ones(4, 3)
        seen = []
        for i in range(6):
            step(x)
            g = net.weight.grad
            seen.append((g.tolist(), g.shape, g.requires_grad, net.bias.grad.tolist()))
            if i == 2:
                g.mul_(2)
            if i == 3:
                nn.utils.clip_grad_norm_(net.parameters(), 0.01)
                g.t_()
            if i == 4:
                g.requires_grad_()
                net.bias.grad = None
            del g
        found.append(seen)
    assert found[0] == found[1]


def test_a_dropped_call_lets_go_of_its_gradients() -> None:
    """A compiled call that is dropped lets go of its gradients."""
    net, step = compiled_step()
    for _ in range(4):
        step(torch.ones(4, 3))
    reference = weakref.ref(net.weight.grad)
    net.zero_grad()
    step.forget()  # type: ignore[attr-defined]
    assert reference() is None


@pytest.mark.parametrize("replayed", [False, True])
def test_results_that_are_held_keep_their_values(replayed: bool) -> None:
    """Tensors, views, arrays and detached results of one call are not written to by later ones."""

    @jit
    def call(x: Any) -> Any:
        y = x * 2
        return y, y.t()[1:], (x + 1).sum()

    if replayed:
        call.eager = "asked for"
    kept = []
    for i in range(5):
        whole, part, total = call(torch.full((2, 3), float(i)))
        kept.append([[whole, part, total], [part], [whole.numpy()], [total.detach()], []][i])
    found = [[x.tolist() for x in each] for each in kept]
    assert found == [
        [[[0.0] * 3] * 2, [[0.0] * 2] * 2, 6.0], [[[2.0] * 2] * 2], [[[4.0] * 3] * 2], [24.0], []
    ]  # fmt: skip


def test_results_that_nobody_holds_stay_in_their_memory() -> None:
    """A loss that was looked at and dropped is computed in the same place again."""
    call = jit(lambda x: x * 2)
    x = torch.ones(100)
    addresses = [call(x).data_ptr() for _ in range(4)]
    assert addresses[1:] == addresses[2:] + addresses[1:2]


def test_a_gradient_may_be_a_tensor_from_outside() -> None:
    """One leaf's is set to a tensor of the caller's, another's is computed."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    given, x = torch.arange(3.0), torch.tensor([1.0, 2.0, 3.0])

    @jit
    def step() -> None:
        b.grad = None
        a.grad = given.view(3)
        (b * x).sum().backward()

    for _ in range(4):
        step()
        assert a.grad.tolist() == [0, 1, 2] and b.grad.tolist() == [1, 2, 3]
        assert a.grad.data_ptr() == given.data_ptr()


def gradients_of(function: Callable[..., Any], results: list[int]) -> list[Any]:
    """The gradients of two leaves, from a backward pass through some of a call's results."""
    a = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    b = torch.ones(3, requires_grad=True)
    made = function(a, b)
    torch.autograd.backward([made[i].sum() * (i + 1) for i in results])
    return [None if x.grad is None else x.grad.tolist() for x in (a, b)]


@pytest.mark.parametrize("results", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_results_without_a_gradient_take_no_part(results: list[int]) -> None:
    """A gradient that does not arrive is no zero: it makes no NaN of a root at 0, and leaves that
    nothing leads to keep none."""
    function = lambda a, b: (a.sqrt().sum(), b * 3, (a * b).sum())  # noqa: E731
    call = jit(function)
    for _ in range(3):
        assert gradients_of(call, results) == gradients_of(function, results)
    assert not call.eager and call.traces == 1


def test_backward_passes_that_may_fail_are_left_to_the_tape() -> None:
    """The gradient of a determinant asks whether a matrix has an inverse."""
    call = jit(lambda x: torch.linalg.slogdet(x)[1])
    for factor in (1.0, 2.0, 4.0):
        x = torch.eye(2).mul_(factor).requires_grad_()
        call(x).backward()
        assert x.grad.tolist() == [[1 / factor, 0], [0, 1 / factor]]


def test_second_backward_and_double_backward_of_draws_raise() -> None:
    """As eager graphs and torch's compiled ones do."""
    x = torch.ones(2, requires_grad=True)
    y = jit(lambda v: (v * v).sum())
    made = [y(x) for _ in range(2)][-1]
    made.backward()
    with pytest.raises(RuntimeError, match="second time"):
        made.backward()
    noisy = jit(lambda v: (v * v * torch.rand(2)).sum())
    with pytest.raises(RuntimeError, match="double backward"):
        [torch.autograd.grad(noisy(x), x, create_graph=True) for _ in range(2)]


def test_gradients_of_gradients_and_jacobians() -> None:
    """A call that only computes is called again where its gradients need a history, or are
    taken for many cotangents at once; what it read must be as it was."""
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    scale = [1.0]
    call = jit(lambda v: (v**3 * w).sum() * scale[0])
    for value in (1.0, 2.0):
        x = torch.full((2,), value, requires_grad=True)
        first = torch.autograd.grad(call(x), x, create_graph=True)[0]
        assert first.tolist() == [3 * value**2 * 2, 3 * value**2 * 3]
        second, mixed = torch.autograd.grad(first.sum(), (x, w))
        assert second.tolist() == [6 * value * 2, 6 * value * 3]
        assert mixed.tolist() == [3 * value**2] * 2
    squares = jit(lambda v: v**2)
    assert torch.func.jacrev(squares)(torch.ones(2)).tolist() == [[2, 0], [0, 2]]
    made = call(x)
    scale[0] = 2.0
    with pytest.raises(RuntimeError, match="has changed since"):
        torch.autograd.grad(made, x, create_graph=True)


def test_a_saved_argument_that_was_written_to_is_found() -> None:
    """The version counters of eager mode hold for compiled calls."""
    w = torch.ones(2, requires_grad=True)
    call = jit(lambda v: (v * w).sum())
    for _ in range(2):
        x = torch.ones(2)
        made = call(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.backward()


@pytest.mark.parametrize("given", [True, False], ids=["argument", "captured"])
@pytest.mark.parametrize("leaf", [True, False], ids=["leaf", "result"])
def test_a_hook_of_a_tensor_from_outside_sees_its_gradient_once(given: bool, leaf: bool) -> None:
    """It belongs to the pass that goes on outside, not to the part of it that was traced."""
    weight = torch.ones(2, requires_grad=True)
    x = weight if leaf else weight * 1
    x.register_hook(lambda gradient: gradient * 10)
    call = torch.compile((lambda y: (y * 2).sum()) if given else (lambda: (x * 2).sum()))
    for _ in range(3):
        weight.grad = None
        call(*[x] * given).backward(retain_graph=True)
        assert weight.grad.tolist() == [20.0, 20.0]


def test_the_history_of_what_a_call_reads_is_followed_once() -> None:
    """``v`` was made of ``w`` outside, and the call reads both."""
    w = torch.ones(2, requires_grad=True)
    v = w * 2
    call = torch.compile(lambda: (v * w).sum())
    for _ in range(3):
        w.grad = None
        call().backward(retain_graph=True)
        assert w.grad.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("kind", ["eager", "captured", "replayed"])
@pytest.mark.parametrize("write", ["zero_", "fill_", "normal_", "copy_"])
def test_what_is_written_over_has_a_gradient_of_zero(write: str, kind: str) -> None:
    """The result still requires a gradient, and the elements before have none of it."""

    def body(x: Any) -> Any:
        given = {"fill_": (3,), "copy_": (torch.ones(3),)}.get(write, ())
        return getattr(x * 2, write)(*given)

    call = {"eager": body, "captured": torch.compile(body), "replayed": jit(body)}[kind]
    if kind == "replayed":
        call.eager = "asked for"
    for _ in range(3):
        x = torch.ones(3, requires_grad=True)
        call(x).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_capture_that_is_refused_at_its_end_keeps_the_gradients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its results have left the call's own tape by then; a finalizer may refuse it at any time."""
    texts = iter(["", "a variable"])
    monkeypatch.setattr(guards.GuardSet, "broken", lambda self: next(texts, ""))
    x = torch.ones(3, requires_grad=True)
    call = torch.compile(lambda x: x * x * 2)
    call(x).sum().backward()
    assert x.grad.tolist() == [4.0] * 3
    assert not call.compiled and not call.eager


def test_results_are_differentiated_one_after_another_as_eagerly() -> None:
    """Those that share nothing that is kept are; for others the tape was freed."""

    def outcomes(wrap: Any) -> list[Any]:
        a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        apart = wrap(lambda: (a.exp().sum(), (b * b).sum(), (a * 2).sum()))
        shared = wrap(lambda: (a.exp().sin().sum(), a.exp().cos().sum(), (a.exp() * 3).sum()))

        def both() -> Any:
            h = (a * b).exp()
            return h.sum(), (h * h).sum()

        found: list[Any] = []
        for call in (apart, shared, wrap(both)):
            for order in ((0, 1), (1, 0), (0, 0), (-1, 0, -1), (-1, -1)):
                results = call()
                for i in order:
                    try:
                        results[i].backward()
                    except RuntimeError as error:
                        found.append(str(error)[:40])
                    found += [x.grad is not None and x.grad.tolist() for x in (a, b)]
        return found

    assert outcomes(torch.compile) == outcomes(lambda function: function)
