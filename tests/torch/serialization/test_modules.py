"""Saving what users save: parameters, modules, optimizers, subclasses, tensors with attributes."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.torch import serialization
from mindtorch.torch.nn.modules.container import Sequential
from mindtorch.torch.nn.modules.linear import Linear
from mindtorch.torch.nn.parameter import Parameter
from tests.support.archives import LEGACY, ZIP, our_file, torch_file

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("options", [ZIP, LEGACY], ids=["zip", "legacy"])


class Tagged(mt.Tensor):
    """A subclass of our tensor."""


@BOTH
@pytest.mark.parametrize("requires_grad", [True, False])
def test_parameters_stay_parameters(requires_grad: bool, options: dict[str, Any]) -> None:
    """nn.Parameter in both directions, with its requires_grad."""
    theirs = torch.nn.Parameter(torch.arange(3.0), requires_grad=requires_grad)
    ours = mt.load(torch_file([theirs, theirs], **options))
    assert type(ours[0]) is Parameter
    assert ours[0].requires_grad is requires_grad
    assert ours[0] is ours[1]
    again = torch.load(our_file(ours, **options), weights_only=True)
    assert type(again[0]) is torch.nn.Parameter
    assert again[0].requires_grad is requires_grad
    assert torch.equal(again[0], theirs)


@BOTH
def test_requires_grad_survives(options: dict[str, Any]) -> None:
    """Leaves and results of computations; the graph itself is not saved."""
    leaf = mt.ones(2, requires_grad=True)
    loaded = mt.load(our_file([leaf, leaf * 2, leaf.detach()], **options))
    assert [t.requires_grad for t in loaded] == [True, True, False]
    assert all(t.is_leaf for t in loaded)
    theirs = torch.load(our_file([leaf, leaf * 2, leaf.detach()], **options))
    assert [t.requires_grad for t in theirs] == [True, True, False]


def test_a_hook_is_left_out_with_a_warning() -> None:
    """As in PyTorch, unless the hook is marked."""

    def hook(gradient: Any) -> None:
        del gradient

    ours = mt.ones(2, requires_grad=True)
    for leaf, save in ((ours, our_file), (torch.ones(2, requires_grad=True), torch_file)):
        leaf.register_hook(hook)
        with pytest.warns(UserWarning, match=r"backward hook .* on tensor will not be serialized"):
            save(leaf)
    hook.__torch_unserializable__ = True  # type: ignore[attr-defined]
    assert mt.load(our_file(ours)).requires_grad


def test_attributes_of_a_tensor_survive() -> None:
    """What a user has set on a tensor or parameter, but nothing that the engine keeps there."""
    tensor: Any = mt.ones(2)
    parameter = Parameter(mt.ones(2))
    tensor.note = parameter.note = "mine"
    parameter.grad = mt.ones(2)
    loaded = mt.load(our_file([tensor, parameter]))
    assert [t.note for t in loaded] == ["mine", "mine"]
    assert loaded[1].grad is None
    theirs = torch.load(our_file([tensor, parameter]), weights_only=True)
    assert [t.note for t in theirs] == ["mine", "mine"]
    plain = mt.ones(2, requires_grad=True)
    (plain * 2).sum().backward()
    assert b"_rebuild_from_type_v2" not in our_file(plain).getvalue()


def test_a_subclass_needs_permission_and_comes_back() -> None:
    """A tensor subclass is a global like any other."""
    tensor = mt.arange(3.0).as_subclass(Tagged)
    file = our_file({"x": tensor})
    with pytest.raises(pickle.UnpicklingError, match="Tagged was not an allowed global"):
        mt.load(file)
    file.seek(0)
    with serialization.safe_globals([Tagged]):
        loaded = mt.load(file)["x"]
    assert type(loaded) is Tagged
    assert loaded.tolist() == [0.0, 1.0, 2.0]


def test_state_dicts_are_exchanged() -> None:
    """Our module loads PyTorch's file and the other way round; the outputs agree."""
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    ours = Sequential(Linear(3, 4), Linear(4, 2))
    loaded = mt.load(torch_file(theirs.state_dict()))
    ours.load_state_dict(loaded)
    state = ours.state_dict()
    assert state._metadata == theirs.state_dict()._metadata
    again = torch.load(our_file(state), weights_only=True)
    assert again._metadata == theirs.state_dict()._metadata
    for key, tensor in theirs.state_dict().items():
        assert torch.equal(again[key], tensor)
    theirs.load_state_dict(again)


def test_whole_modules_are_exchanged_with_a_full_load() -> None:
    """``save(model)``: the classes are found under the same names on the other side."""
    ours = Sequential(Linear(3, 2), Linear(2, 2))
    file = our_file(ours)
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global"):
        mt.load(file)
    file.seek(0)
    inputs = np.ones((2, 3), np.float32)
    expected = ours(mt.from_numpy(inputs)).detach().numpy()
    same = mt.load(file, weights_only=False)
    assert np.array_equal(same(mt.from_numpy(inputs)).detach().numpy(), expected)
    file.seek(0)
    theirs = torch.load(file, weights_only=False)
    assert isinstance(theirs, torch.nn.Sequential)
    assert np.allclose(theirs(torch.from_numpy(inputs)).detach().numpy(), expected, rtol=1e-6)
    back = mt.load(torch_file(theirs), weights_only=False)
    assert isinstance(back, Sequential)
    assert np.array_equal(back(mt.from_numpy(inputs)).detach().numpy(), expected)


def _note(module: Any, state: Any, *rest: Any) -> None:
    module.noted = sorted(state)


def test_hooks_of_loading_are_exchanged_with_whole_modules() -> None:
    """torch keeps such a hook in an object whose class files name; lazy modules have one."""
    theirs = torch.nn.Linear(3, 2)
    theirs.register_load_state_dict_pre_hook(_note)
    mine = mt.load(torch_file(theirs), weights_only=False)
    mine.load_state_dict(mine.state_dict())
    assert mine.noted == ["bias", "weight"]
    back = torch.load(our_file(mine), weights_only=False)
    del back.noted
    back.load_state_dict(back.state_dict())
    assert back.noted == ["bias", "weight"]
    lazy = mt.load(torch_file(torch.nn.LazyLinear(2)), weights_only=False)
    assert lazy(mt.ones(1, 3)).shape == (1, 2)


def test_meta_tensors_have_no_elements_in_files() -> None:
    """A tensor on device meta is saved as its description."""
    for file in (torch_file(torch.empty(2, 3, device="meta")),):
        loaded = mt.load(file)
        assert str(loaded.device) == "meta"
        assert tuple(loaded.shape) == (2, 3)
        theirs = torch.load(our_file(loaded), weights_only=True)
        assert theirs.is_meta
        assert theirs.stride() == (3, 1)


def test_generator_states_are_exchanged() -> None:
    """``get_rng_state()`` saved by one continues in the other."""
    mt.manual_seed(7)
    state = torch.load(our_file(mt.get_rng_state()))
    expected = mt.rand(3).tolist()
    torch.set_rng_state(state)
    assert torch.rand(3).tolist() == expected
    mt.set_rng_state(mt.load(torch_file(state)))
    assert mt.rand(3).tolist() == expected


def test_numpy_numbers_are_loaded_once_allowed() -> None:
    """The globals that numpy's pickles need can be allowed, as in PyTorch."""
    from numpy._core import multiarray

    raw = torch_file({"loss": np.float64(1.5)}).getvalue()
    with pytest.raises(pickle.UnpicklingError, match=r"multiarray\.scalar"):
        mt.load(io.BytesIO(raw))
    allowed = [multiarray.scalar, np.dtype, np.dtypes.Float64DType]
    with serialization.safe_globals(allowed):
        assert mt.load(io.BytesIO(raw)) == {"loss": 1.5}


def test_safetensors_files_are_read(tmp_path: Any) -> None:
    """A path that ends in ``.safetensors``."""
    from safetensors.numpy import save_file

    path = tmp_path / "x.safetensors"
    save_file({"a": np.arange(3.0)}, path)
    assert mt.load(path)["a"].tolist() == [0.0, 1.0, 2.0]
    assert mt.load(str(path), map_location="cpu")["a"].dtype is mt.float64
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        mt.load(path, map_location={})
