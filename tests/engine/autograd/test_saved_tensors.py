"""What nodes save: hooks on it, writes and detach_ after it, gradients of gradients through it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

from mindtorch import torch
from mindtorch.torch.autograd import Function
from mindtorch.torch.autograd.function import once_differentiable
from mindtorch.torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from mindtorch.torch.utils.checkpoint import checkpoint


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def _leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _second(hooks, first=True, later=True):
    """The second derivative of the sum of x ** 3, with hooks on what is saved for each."""
    a = _leaf()
    pair = saved_tensors_hooks(*hooks)
    if first:
        with pair:
            s = (a**3).sum()
    else:
        s = (a**3).sum()
    if later:
        with pair:
            (g,) = torch.autograd.grad(s, a, create_graph=True)
    else:
        (g,) = torch.autograd.grad(s, a, create_graph=True)
    return torch.autograd.grad(g.sum(), a)[0].tolist()


def test_a_packed_tensor_keeps_its_place_in_the_graph():
    away = (lambda x: x.detach().numpy().copy(), torch.from_numpy)
    assert _second(away) == [6.0, 12.0]
    double = (lambda x: 2 * x, lambda x: x)
    assert _second(double, later=False) == [12.0, 24.0]
    assert _second(double, first=False) == [24.0, 48.0]


def test_numbers_are_not_packed_and_the_hook_sees_results_with_their_node():
    seen = []

    def look(x):
        seen.append((x.grad_fn, torch.is_grad_enabled()))
        return x

    a = _leaf()
    with saved_tensors_hooks(look, lambda x: x):
        y = (a * 3).exp()
    assert seen == [(y.grad_fn, False)]


def test_a_function_written_by_the_user_packs_what_it_saves():
    x = torch.tensor(3.0, requires_grad=True)
    with saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        y = Square.apply(x)
    y.backward()
    assert x.grad.item() == 12.0


def test_a_hook_sees_what_an_op_in_place_has_written():
    a = torch.tensor([-1.0, 2.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
        y = (a * 1).relu_()
        z = (a * 1).exp_()
    (y.sum() + z.sum()).backward()
    np.testing.assert_allclose(a.grad, [np.exp(-1.0), 1 + np.exp(2.0)], rtol=1e-6)


def test_hooks_must_not_write_and_must_give_tensors():
    def increase(x):
        x += 1
        return x

    with (
        saved_tensors_hooks(increase, lambda x: x),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        torch.exp(_leaf())
    with saved_tensors_hooks(lambda x: 1, lambda x: x):
        y = _leaf().exp().sum()
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.backward()


def test_hooks_are_those_of_a_thread_and_end_with_a_pass():
    counts: dict[int, int] = {}

    def count(x):
        here = threading.get_ident()
        counts[here] = counts.get(here, 0) + 1
        return x

    with saved_tensors_hooks(count, lambda x: x):
        other = threading.Thread(target=lambda: _leaf().exp())
        other.start()
        other.join()
    assert not counts

    def enter(x):
        outer.__enter__()
        return x

    outer = saved_tensors_hooks(count, enter)
    with outer:
        y = _leaf().exp().sum()
    y.backward()
    counts.clear()
    _leaf().exp()
    assert not counts


def test_what_was_saved_and_then_detached_is_refused():
    a = _leaf().clone()
    y = a.sin().sum()
    z = a.exp().sum()
    a.detach_()
    z.backward()  # saved its result
    with pytest.raises(RuntimeError, match=r"detached in-place, i.e. with .detach_\(\)"):
        y.backward()


def test_what_was_detached_is_refused_by_rules_that_are_remembered():
    def step(detach):
        a = _leaf()
        y = a * 2
        z = (y * y.exp()).sum()
        if detach:
            y.detach_()
        z.backward()
        return a.grad.tolist()

    assert step(False) == step(False) == step(False)
    with pytest.raises(RuntimeError, match=r"detached in-place, i.e. with .detach_\(\)"):
        step(True)


def test_once_differentiable_refuses_the_second_time():
    x = torch.tensor(3.0, requires_grad=True)
    (g,) = torch.autograd.grad(Square.apply(x) * x, x, create_graph=True)
    assert g.item() == 27.0
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function"):
        g.backward()


def test_save_on_cpu_gives_the_second_derivative():
    a = _leaf()
    with save_on_cpu():
        y = (a.exp() * a).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
    (found,) = torch.autograd.grad(g.sum(), a)
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(found, (x + 2) * np.exp(x), rtol=1e-6)


def test_a_checkpoint_hands_each_tensor_out_once_in_a_pass_and_casts_as_before():
    class Twice(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            with pytest.raises(RuntimeError, match="already unpacked once"):
                _ = ctx.saved_tensors
            return 2 * x * g

    a = torch.tensor(3.0, requires_grad=True)
    out = checkpoint(Twice.apply, a, use_reentrant=False)
    assert [torch.autograd.grad(out, a, retain_graph=True)[0].item() for _ in "12"] == [6.0, 6.0]
    w = torch.ones(2, 2, requires_grad=True)
    kinds = []

    def product(w):
        kinds.append((w @ w).dtype)
        return w @ w

    for reentrant in (True, False):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = checkpoint(product, w, use_reentrant=reentrant)
        found.sum().backward()
    assert kinds == [torch.bfloat16] * 4


def test_hooks_run_where_torch_runs_them():
    """Hooks of what a pass only captures are those of tensors, not those of nodes."""

    def run(derive):
        log = []

        def hook(name, factor):
            def call(g):
                log.append(name)
                return tuple(x * factor for x in g) if isinstance(g, tuple) else g * factor

            return call

        a = torch.tensor(1.0, requires_grad=True)
        b = a.clone()
        b.grad_fn.register_prehook(hook("b node", 2))
        b.register_hook(hook("b", 3))
        a.register_hook(hook("a", 5))
        b.grad_fn.next_functions[0][0].register_prehook(hook("a node", 7))
        b.retain_grad()
        found = derive(a, b, b.sum())
        return log, [g.item() for g in found or (a.grad, b.grad) if g is not None]

    grad = torch.autograd.grad
    assert run(lambda a, b, c: grad(c, (a,))) == (["b", "b node", "a"], [30.0])
    assert run(lambda a, b, c: grad(c, (b,))) == (["b"], [3.0])
    assert run(lambda a, b, c: grad(c, (a, b))) == (["b", "b node", "a"], [30.0, 1.0])
    everything = ["b", "b node", "a", "a node"]
    assert run(lambda a, b, c: c.backward()) == (everything, [210.0, 3.0])
    assert run(lambda a, b, c: c.backward(inputs=(a, b))) == (everything, [210.0, 3.0])


def test_retain_grad_follows_views_whose_base_is_written_to():
    base = torch.tensor([1.0], requires_grad=True).clone()
    one, other = base[:], base[:]
    one.retain_grad()
    other.retain_grad()
    one.mul_(2)
    (one + other).sum().backward()
    assert (one.grad.item(), other.grad.item()) == (1.0, 1.0)


def test_writes_that_torch_refuses_or_takes():
    a = torch.ones(3)
    view = a[:2]
    a.requires_grad = True
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        view.add_(5)
    with pytest.raises(RuntimeError, match="must be floating point or complex"):
        a.data = torch.tensor(3)
    b = a * 2
    first, second, _ = b.unsafe_split(1)
    first.mul_(second)
    assert torch.autograd.grad(first.sum(), a)[0].tolist() == [4.0, 4.0, 0.0]
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2'"):
        torch.unique(a).sum().backward()


def test_a_generator_in_no_grad_gets_what_is_thrown():
    seen = []

    @torch.no_grad()
    def steps():
        try:
            yield 1
        except ValueError:
            seen.append(torch.is_grad_enabled())
        try:
            yield 2
        finally:
            seen.append(torch.is_grad_enabled())

    source = steps()
    assert (next(source), source.throw(ValueError())) == (1, 2)
    source.close()
    assert seen == [False, False]
    assert torch.is_grad_enabled()


def test_a_function_may_have_a_vjp_in_place_of_backward():
    class Own(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def vjp(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    class Both(Own):
        @staticmethod
        def backward(ctx, g):
            return g

    a = torch.tensor(3.0, requires_grad=True)
    assert torch.autograd.grad(Own.apply(a), a)[0].item() == 6.0
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(a).backward()


def test_a_full_backward_hook_sees_no_second_derivative():
    loss, calls = torch.nn.MSELoss(), []
    loss.register_full_backward_hook(lambda *_: calls.append(1))
    x = torch.tensor([2.0], requires_grad=True)
    (g,) = torch.autograd.grad(loss(x, torch.tensor([1.0])), x, create_graph=True)
    assert torch.autograd.grad(g, x)[0].item() == 2.0
    assert calls == [1]


def told_by_nodes(library: Any) -> list[Any]:
    """What scripts read of nodes and their hooks."""
    x = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
    product, functional = x * x.detach(), library.nn.functional
    held = [[n for n in dir(y.grad_fn) if n.startswith("_saved")] for y in (x.relu(), x.tanh())]
    found = [
        product.grad_fn._saved_self, product.grad_fn._saved_other.tolist(), held,
        tuple(x.sum().grad_fn._saved_self_sym_sizes), x.mean().grad_fn._saved_self_sym_numel,
        x.softmax(0).grad_fn._saved_dim, x[0].grad_fn._saved_index, x.exp().grad_fn.requires_grad,
        functional.conv1d(x[None, None], x[None, None]).grad_fn._saved_stride,
        [tuple(each.shape) for each in x.unbind()[0].grad_fn._input_metadata],
    ]  # fmt: skip
    for action in (x.exp().grad_fn, lambda: x.exp().grad_fn._saved_other):
        with pytest.raises((TypeError, AttributeError)) as caught:
            action()
        found.append(str(caught.value))
    y = x * 2
    y.register_hook(lambda g: g.double())
    with pytest.raises(RuntimeError) as refused:
        y.sum().backward()
    return [*found, str(refused.value)]


def test_nodes_tell_what_pytorchs_tell() -> None:
    assert told_by_nodes(torch) == told_by_nodes(real)


@pytest.mark.parametrize("call", [
    lambda t, a, b: a * b, lambda t, a, b: a / b, lambda t, a, b: a @ b.T, lambda t, a, b: a**b,
    lambda t, a, b: t.maximum(a, b), lambda t, a, b: t.outer(a[0], b[:, 0]),
    lambda t, a, b: t.nn.functional.conv1d(a[None], b[:, :1, None]),
    lambda t, a, b: t.lerp(a, b, a),
])  # fmt: skip
def test_hooks_see_what_is_saved_in_torchs_order(call: Callable[..., Any]) -> None:
    """The second factor of a product first, in both passes."""
    seen: dict[str, list[Any]] = {}
    for name, library in (("ours", torch), ("torch", real)):
        log = seen[name] = []
        a = library.ones(1, 2, requires_grad=True)
        b = library.full((3, 2), 2.0, requires_grad=True)
        with library.autograd.graph.saved_tensors_hooks(
            lambda x, log=log: (log.append(("pack", tuple(x.shape))), x)[1],
            lambda x, log=log: (log.append(("unpack", tuple(x.shape))), x)[1],
        ):
            result = call(library, a, b)
        result.sum().backward()
    assert seen["ours"] == seen["torch"]
