"""Names are also found where torch keeps them: scripts import from there, pickles mention it."""

from __future__ import annotations

import importlib
import inspect
import types

import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch._api.public_names import is_public

PACKAGES = ("nn", "optim", "optim.lr_scheduler", "distributions", "utils.data")
# DataPipes and what torch 2.13 keeps for itself; see mindtorch/known_gaps.py
KNOWN = tuple(
    f"torch.{each}"
    for each in ("utils.data.datapipes", "optim.lr_scheduler._", "utils.data.dataloader._")
)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_classes_live_where_torchs_do(package: str) -> None:
    """`torch.load` of a whole module looks up torch.nn.modules.upsampling.Upsample."""
    theirs = importlib.import_module(f"torch.{package}")
    missing = []
    for each in vars(theirs).values():
        if not inspect.isclass(each) or not each.__module__.startswith("torch."):
            continue
        full = f"{each.__module__}.{each.__name__}"
        if full.startswith(KNOWN):
            continue
        module = importlib.import_module(f"mindtorch.{each.__module__}")
        if not hasattr(module, each.__name__):
            missing.append(full)
    assert missing == []


def test_index_conversions_are_torchs() -> None:
    """Graph libraries call them by their private names."""
    results = []
    for t in (ours, torch):
        begins = t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2, 4]), 6, out_int32=True)
        columns = t.tensor([1, 3, 0, 2])
        places = t._convert_indices_from_csr_to_coo(begins.long(), columns, transpose=True)
        empty = t._convert_indices_from_coo_to_csr(t.tensor([], dtype=t.long), 3)
        results.append(str([begins, places, empty]))
    assert results[0] == results[1]


def test_extensions_and_remote_calls_can_be_named_but_not_used() -> None:
    """Programs import them at the top, often for a path that is not taken."""
    extension = importlib.import_module("mindtorch.torch.utils.cpp_extension")
    remote = importlib.import_module("mindtorch.torch.distributed.rpc")
    assert not remote.is_available()
    for call in (extension.load, remote.init_rpc, remote.RRef):
        with pytest.raises(NotImplementedError, match="not available in mindtorch"):
            call()
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        importlib.import_module("mindtorch.torch.cuda.nvtx").range_push("block")
    assert "numba" in importlib.import_module("mindtorch.torch.__config__").show()


def test_types_without_tensors_have_names() -> None:
    """Libraries keep tables of all types; a tensor of such a type raises."""
    for name in ("qint8", "quint8", "qint32", "uint4", "int3", "bits8"):
        mine, theirs = getattr(ours, name), getattr(torch, name)
        assert (str(mine), mine.itemsize) == (str(theirs), theirs.itemsize)
        assert (mine.is_complex, mine.is_floating_point) == (
            theirs.is_complex, theirs.is_floating_point,
        )  # fmt: skip
        with pytest.raises(NotImplementedError, match=f"{mine} are not available"):
            ours.zeros(2).to(mine)


def test_optimizers_of_libraries_split_their_parameters_as_torchs() -> None:
    """By device and type of the first list; pytorch_optimizer calls it."""
    shown = []
    for t in (ours, torch):
        module = importlib.import_module(f"{t.__name__}.utils._foreach_utils")
        a, b = t.ones(2), t.ones(2, dtype=t.float64)
        groups = module._group_tensors_by_device_and_dtype([[a, b, a], [b, None, None], []], True)
        shown.append(sorted((str(key), str(made)) for key, made in groups.items()))
        with pytest.raises(RuntimeError, match=r"Expected !nested_tensorlist\[0\]\.empty"):
            module._group_tensors_by_device_and_dtype([[], [a]])
    assert shown[0] == shown[1]


def test_helpers_of_lists_and_devices_are_torchs() -> None:
    """fastai flattens gradients by them, lightning asks for a device's number."""
    calls = [
        "u._flatten_dense_tensors((a, b))", "u._element_size(t.bfloat16)",
        "u._unflatten_dense_tensors(u._flatten_dense_tensors((a, b)), [a, b])",
        "u._get_device_index('cpu')", "u._get_device_index('cpu', allow_cpu=True)",
        "u._get_device_index('cuda:1')", "u._get_device_index(3)", "u._get_device_index('cuda')",
        "u._get_device_index(None)", "u._get_device_module('nothing')",
    ]  # fmt: skip
    shown: list[list[str]] = []
    for t in (ours, torch):
        u = importlib.import_module(f"{t.__name__}._utils")
        names = {"t": t, "u": u, "a": t.arange(6.0).view(2, 3).t(), "b": t.ones(2)}
        shown.append([])
        for call in calls:
            try:
                shown[-1].append(str(eval(call, names)))
            except (RuntimeError, ValueError) as error:
                shown[-1].append(f"{type(error).__name__}: {error}")
    assert shown[0] == shown[1]


# where scripts compare modules, or print classes: equal to torch's; elsewhere public
SAME = ("nn", "optim", "optim.lr_scheduler", "distributions", "distributions.transforms", "func")
PUBLIC = (
    *SAME, "", "nn.functional", "nn.init", "nn.utils", "linalg", "fft", "special", "autograd",
    "cuda",
    "utils.data", "random", "serialization", "masked", "testing", "signal.windows", "sparse",
    "jit", "fx", "onnx", "compiler", "storage", "overrides", "multiprocessing", "distributed",
)  # fmt: skip


def public_pairs(package: str) -> list[tuple[str, object, object]]:
    """(name, torch's, ours) of the public classes and functions of a package."""
    end = f".{package}" if package else ""
    theirs = importlib.import_module(f"torch{end}")
    mine = importlib.import_module(f"mindtorch.torch{end}")
    names = [n for n in dir(theirs) if n[0] != "_" and callable(getattr(theirs, n))]
    return [(n, getattr(theirs, n), getattr(mine, n)) for n in names if hasattr(mine, n)]


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_of_public_modules(package: str) -> None:
    """Pickles and prints show where a name is from; real torch's builtins have modules of C."""
    wrong = []
    for name, theirs, mine in public_pairs(package):
        home = getattr(mine, "__module__", None)
        if not isinstance(home, str) or not home.startswith("mindtorch."):
            continue
        bare, expected = home.removeprefix("mindtorch."), getattr(theirs, "__module__", None)
        if package in SAME and expected and "._" not in expected and bare != expected:
            wrong.append(f"{name}: {home} and not {expected}")
        elif not is_public(home):
            wrong.append(f"{name}: {home}")
    assert wrong == []


@pytest.mark.parametrize("package", SAME)
def test_public_names_are_pickled_by_their_modules(package: str) -> None:
    for name, _, mine in public_pairs(package):
        home = getattr(mine, "__module__", None)
        if not isinstance(home, str) or getattr(mine, "__qualname__", "") != name:
            continue
        if home.startswith("mindtorch.torch") and isinstance(mine, (type, types.FunctionType)):
            found = getattr(importlib.import_module(home), name)
            assert found is mine, f"{home}.{name} is another object"


def test_methods_of_tensors_are_the_tensors() -> None:
    for name, value in inspect.getmembers(ours.Tensor, inspect.isfunction):
        if name[0] != "_" and hasattr(torch.Tensor, name):
            assert value.__module__ == "mindtorch.torch", (name, value.__module__)
