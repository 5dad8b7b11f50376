"""Modules wrapped for recomputation, against PyTorch's."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as ours

WRAPPERS = "distributed.algorithms._checkpoint.checkpoint_wrapper"


def wrappers(torch: Any) -> Any:
    module = torch
    __import__(f"{torch.__name__}.{WRAPPERS}")
    for name in WRAPPERS.split("."):
        module = getattr(module, name)
    return module


def network(torch: Any) -> tuple[Any, list[int]]:
    """A network of three layers that counts the calls of one of them."""
    torch.manual_seed(0)
    calls: list[int] = []

    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x: Any, scale: Any = None) -> Any:
            calls.append(1)
            return torch.relu(self.linear(x if scale is None else x * scale))

    return torch.nn.Sequential(torch.nn.Linear(4, 4), Counted(), torch.nn.Linear(4, 2)), calls


def seen(torch: Any, way: str) -> dict[str, Any]:
    """What a wrapped network shows: names, the state's names, calls, loss and gradients."""
    names = wrappers(torch)
    model, calls = network(torch)
    kind = type(model[1])
    if way == "offload":
        names.apply_activation_checkpointing(
            model, names.offload_wrapper, check_fn=lambda m: isinstance(m, kind)
        )
    else:
        wrapper = functools.partial(
            names.checkpoint_wrapper, checkpoint_impl=names.CheckpointImpl[way]
        )
        names.apply_activation_checkpointing(
            model, checkpoint_wrapper_fn=wrapper, check_fn=lambda m: isinstance(m, kind)
        )
    x = torch.tensor(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4), requires_grad=True)
    loss = model(x).square().sum()
    loss.backward()
    state = model.state_dict()
    bare, _ = network(torch)
    bare.load_state_dict(state)
    model.load_state_dict({name: value * 2 for name, value in state.items()})
    return {
        "type": type(model[1]).__name__,
        "parameters": [name for name, _ in model.named_parameters()],
        "state": list(state),
        "calls": len(calls),
        "loss": loss.item(),
        "gradients": [p.grad.numpy() for p in model.parameters()],
        "loaded": [p.detach().numpy() for p in model.parameters()],
        "attribute": tuple(model[1].linear.weight.shape),
    }


@pytest.mark.parametrize("way", ["REENTRANT", "NO_REENTRANT", "offload"])
def test_wrapped_modules_are_torchs(way: str) -> None:
    found, expected = seen(ours, way), seen(real, way)
    for name in ("type", "parameters", "state", "calls", "attribute"):
        assert found[name] == expected[name], name
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-6)
    for name in ("gradients", "loaded"):
        for a, b in zip(found[name], expected[name], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("impl", ["REENTRANT", "NO_REENTRANT"])
def test_keywords_reach_the_module(impl: str) -> None:
    names = wrappers(ours)
    model, calls = network(ours)
    wrapped = names.checkpoint_wrapper(model[1], names.CheckpointImpl[impl])
    x = ours.randn(3, 4, requires_grad=True)
    expected = model[1](x, scale=2.0)
    found = wrapped(x, scale=2.0)
    assert ours.equal(found, expected)
    before = len(calls)
    found.sum().backward()
    assert len(calls) == before + 1
    assert x.grad is not None and x.grad.abs().sum() > 0


def test_a_function_of_ones_own_is_called() -> None:
    names = wrappers(ours)
    model, _ = network(ours)
    met: list[str] = []

    def run(module: Any, *args: Any, label: str, **kwargs: Any) -> Any:
        met.append(label)
        return module(*args, **kwargs)

    wrapped = names.checkpoint_wrapper(model, checkpoint_fn=run, label="mine")
    wrapped(ours.randn(2, 4))
    assert met == ["mine"]
    assert wrapped[0] is model[0]


def test_policies_choose_and_others_are_refused() -> None:
    from mindtorch.torch.distributed.fsdp.wrap import ModuleWrapPolicy

    names = wrappers(ours)
    model, _ = network(ours)
    policy = ModuleWrapPolicy({ours.nn.Linear})
    names.apply_activation_checkpointing(model, auto_wrap_policy=policy)
    assert [type(m).__name__ for m in (model[0], model[1].linear, model[2])] == (
        ["CheckpointWrapper"] * 3
    )
    texts = []
    for torch in (ours, real):
        with pytest.raises(ValueError, match="to be callable") as error:
            wrappers(torch).apply_activation_checkpointing(
                torch.nn.Linear(2, 2), auto_wrap_policy=3
            )
        texts.append(str(error.value))
    assert texts[0] == texts[1]


def test_a_wrapped_module_is_copied() -> None:
    names = wrappers(ours)
    wrapped = names.checkpoint_wrapper(network(ours)[0])
    made = copy.deepcopy(wrapped)
    x = ours.randn(2, 4)
    assert ours.equal(made(x), wrapped(x)) and made[0] is not wrapped[0]
    with pytest.raises(AttributeError, match="nothing"):
        _ = wrapped.nothing
