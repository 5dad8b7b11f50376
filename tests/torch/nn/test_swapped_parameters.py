"""torch.__future__'s switches, torch.utils.swap_tensors, deprecated backward hooks: as PyTorch."""

import gc
import weakref
from typing import Any

import pytest
import torch as real_torch

from mindtorch import torch

BOTH = pytest.mark.parametrize("t", [torch, real_torch], ids=["ours", "torch"])


@pytest.fixture
def future(t):
    yield t.__future__
    t.__future__.set_swap_module_params_on_conversion(False)
    t.__future__.set_overwrite_module_params_on_conversion(False)


@BOTH
def test_overwriting_makes_new_parameters(t, future):
    layer = t.nn.Linear(2, 2)
    weight = layer.weight
    layer.double()
    assert layer.weight is weight and weight.dtype is t.float64
    future.set_overwrite_module_params_on_conversion(True)
    layer.float()
    assert layer.weight is not weight and weight.dtype is t.float64
    assert isinstance(layer.weight, t.nn.Parameter) and layer.weight.dtype is t.float32


@BOTH
def test_a_swapped_parameter_refuses_the_old_backward_pass(t, future):
    future.set_swap_module_params_on_conversion(True)
    layer = t.nn.Linear(2, 1)
    weight = layer.weight
    out = layer(t.ones(1, 2))
    layer.double()
    assert layer.weight is weight and weight.dtype is t.float64
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        out.sum().backward()
    layer(t.ones(1, 2, dtype=t.float64)).sum().backward()
    layer.float()
    assert weight.grad.dtype is t.float32 and weight.grad.tolist() == [[1.0, 1.0]]


@BOTH
def test_loading_by_swapping_asks_module_load(t, future):
    future.set_swap_module_params_on_conversion(True)
    layer = t.nn.Linear(2, 1, bias=False)
    weight, given = layer.weight, t.ones(1, 2)
    layer.load_state_dict({"weight": given}, assign=True)
    assert layer.weight is weight and weight.data_ptr() == given.data_ptr()


@BOTH
def test_swap_exchanges_class_and_attributes(t):
    Marked: Any = type("Marked", (t.Tensor,), {})  # noqa: N806

    first, second = t.ones(2), t.zeros(3).as_subclass(Marked)
    first.note = "first"
    t.utils.swap_tensors(first, second)
    assert type(first) is Marked and first.tolist() == [0, 0, 0] and not hasattr(first, "note")
    assert type(second) is t.Tensor and second.note == "first"
    watched = weakref.ref(first)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        t.utils.swap_tensors(second, first)
    assert watched() is first


@BOTH
def test_a_deprecated_hook_sees_the_last_operation(t):
    seen = []

    module = t.nn.Module()
    module.forward = lambda x: {"out": (x * 2).sigmoid()}
    module.register_backward_hook(lambda m, gi, go: seen.append((gi[0], go[0])))
    x = t.zeros(3, requires_grad=True)
    with pytest.warns(FutureWarning, match="single Tensor or a tuple of Tensors"):
        module(x)["out"].sum().backward()
    assert x.grad.tolist() == [0.5] * 3
    assert [g.tolist() for g in seen[0]] == [[0.25] * 3, [1.0] * 3]
    with pytest.raises(RuntimeError, match="both regular backward hooks and full"):
        module.register_full_backward_hook(print)


@BOTH
def test_hooks_of_loading_do_not_keep_the_module(t):
    gc.disable()
    try:
        layer = t.nn.Linear(1, 1)
        layer.register_load_state_dict_pre_hook(lambda *a: None)
        layer.load_state_dict(layer.state_dict())
        seen = weakref.ref(layer)
        del layer
        assert seen() is None
    finally:
        gc.enable()


@BOTH
def test_loading_into_meta_warns(t):
    layer = t.nn.Linear(1, 1, bias=False, device="meta")
    with pytest.warns(UserWarning, match="which is a no-op"):
        layer.load_state_dict({"weight": t.ones(1, 1)})
