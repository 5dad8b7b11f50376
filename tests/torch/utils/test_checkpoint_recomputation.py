"""Checkpoints beside torch's: autograd.grad, second derivatives, dropout, what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours
import mindtorch.torch.utils.checkpoint as own_checkpoint

torch = pytest.importorskip("torch")
their_checkpoint = pytest.importorskip("torch.utils.checkpoint")
LIBRARIES = ((torch, their_checkpoint), (ours, own_checkpoint))


def network(library: Any, drop: float = 0.0) -> tuple[Any, Any]:
    """A net of double precision and its input, the same in both libraries."""
    library.manual_seed(0)
    nn, double = library.nn, {"dtype": library.float64}
    net = nn.Sequential(
        nn.Linear(4, 8, **double), nn.Tanh(), nn.Dropout(drop), nn.Linear(8, 3, **double))
    x = library.tensor(np.random.RandomState(1).standard_normal((5, 4)), requires_grad=True)
    return net, x


def agree(one: Any, other: Any) -> None:
    for a, b in zip(one, other, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("drop", [0.0, 0.4])
@pytest.mark.parametrize("early", [True, False])
def test_gradients_by_autograd_grad_are_torchs(drop: float, early: bool) -> None:
    """Of inputs and of parameters inside, with the same dropout the second time."""
    found = []
    for library, module in LIBRARIES:
        net, x = network(library, drop)
        library.manual_seed(3)
        y = module.checkpoint(net, x, use_reentrant=False, early_stop=early)
        after = library.rand(2)
        inputs = [x, *net.parameters()]
        grads = library.autograd.grad((y * y).sum(), inputs)
        assert all(p.grad is None for p in inputs)
        found.append([y, after, library.rand(2), *grads])
    agree(*found)


def test_second_derivatives_pass_through_a_checkpoint() -> None:
    """The second pass asks for what the first one handed out already."""
    found = []
    for library, module in LIBRARIES:
        net, x = network(library)
        y = module.checkpoint(net, x, use_reentrant=False)
        (first,) = library.autograd.grad((y * y).sum(), x, create_graph=True)
        found.append([first, *library.autograd.grad((first * first).sum(), [x, net[0].weight])])
    agree(*found)


def test_a_graph_that_is_kept_is_computed_again_for_each_pass() -> None:
    """Backward twice adds the same gradient twice."""
    for library, module in LIBRARIES:
        net, x = network(library)
        calls: list[int] = []

        def run(
            x: Any, scale: float = 1.0, net: Any = net, calls: list[int] = calls
        ) -> Any:
            calls.append(1)
            return net(x) * scale

        y = module.checkpoint(run, x, use_reentrant=False, scale=2.0).sum()
        y.backward(retain_graph=True)
        once = x.grad.numpy().copy()
        y.backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * once, rtol=1e-12)
        assert len(calls) == 3


def test_nested_checkpoints_give_the_plain_gradient() -> None:
    """One inside of another."""
    found = []
    for library, module in LIBRARIES:
        net, x = network(library)

        def inner(x: Any, net: Any = net) -> Any:
            return net[1](net[0](x))

        def outer(x: Any, net: Any = net, module: Any = module, inner: Any = inner) -> Any:
            return net[3](module.checkpoint(inner, x, use_reentrant=False))

        module.checkpoint(outer, x, use_reentrant=False).pow(2).sum().backward()
        found.append([x.grad, *(p.grad for p in net.parameters())])
    agree(*found)


def test_nothing_but_the_inputs_is_kept() -> None:
    """Backward sees tensors that were computed after the first call had ended."""
    kept = []

    def run(x: Any) -> Any:
        y = x.exp()
        kept.append(y)
        return y.sin()

    x = ours.ones(3, requires_grad=True)
    z = own_checkpoint.checkpoint(run, x, use_reentrant=False)
    kept.clear()
    z.sum().backward()
    assert len(kept) == 1
    np.testing.assert_allclose(x.grad.numpy(), np.cos(np.e) * np.e * np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("way", ["grad", "inputs"])
def test_the_older_way_refuses_autograd_grad(way: str) -> None:
    """Its backward pass inside of backward would add to what nobody asked for."""
    texts = []
    for library, module in LIBRARIES:
        net, x = network(library)
        y = module.checkpoint(net, x, use_reentrant=True).sum()
        with pytest.raises(RuntimeError) as caught:
            if way == "grad":
                library.autograd.grad(y, x)
            else:
                y.backward(inputs=[x])
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kind", ["number", "shape"])
def test_a_function_that_computes_something_else_is_found_out(kind: str) -> None:
    """More or fewer tensors than before, or tensors of other shapes."""
    texts = []
    for library, module in LIBRARIES:
        x = library.ones(4, requires_grad=True)
        times: list[int] = []

        def run(x: Any, library: Any = library, times: list[int] = times) -> Any:
            times.append(1)
            if kind == "number":
                return x.exp().sin() if len(times) == 1 else x.exp()
            return (x.exp() if len(times) == 1 else library.cat([x, x]).exp()).sum()

        y = module.checkpoint(run, x, use_reentrant=False).sum()
        with pytest.raises(module.CheckpointError) as caught:
            y.backward()
        texts.append(str(caught.value).partition(".\n")[0].partition(" per")[0])
    assert texts[0] == texts[1]


def test_both_ways_train_alike() -> None:
    """With contexts around both runs of the newer one."""
    found = []
    for library, module in LIBRARIES:
        for way in (True, False):
            net, x = network(library)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                module.checkpoint(net, x, use_reentrant=way).pow(2).sum().backward()
            found.append([x.grad, *(p.grad for p in net.parameters())])
    for other in found[1:]:
        agree(found[0], other)
