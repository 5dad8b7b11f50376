"""Names that are not here say why; devices are refused in torch's words."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from tests.support.paths import ROOT


@pytest.mark.parametrize("path", ["ao.nn.quantizable", "ao.nn.sparse", "ao.ns", "ao.pruning"])
def test_missing_names_say_why(path: str) -> None:
    *places, name = path.split(".")
    module = importlib.import_module(".".join(["mindtorch.torch", *places]))
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=r"see docs/quantization.md.*mindtorch scan"):
        getattr(module, name)


def test_imports_of_missing_modules_say_why() -> None:
    for line in ("import torch.ao.pruning", "from torch.ao import pruning",
                 "import torch.fx.passes.graph_drawer", "from torch.onnx import verification"):
        with pytest.raises(ImportError, match=r"is not available in mindtorch \(.*mindtorch scan"):
            exec(line.replace("torch", "mindtorch.torch", 1))
    with pytest.raises(ModuleNotFoundError, match=r"No module named .mindtorch\.torch\.nowhere"):
        importlib.import_module("mindtorch.torch.nowhere")
    assert importlib.util.find_spec("mindtorch.torch.ao.pruning") is None  # asked, not imported
    program = "from mindtorch.tools import mstorch_enable; from torch.ao import pruning"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "torch.ao.pruning is not available in mindtorch (" in done.stderr
    assert "Fail to import  mindtorch.torch.ao.pruning" in done.stdout


@pytest.mark.parametrize(("module", "names"), [
    ("nn.parallel.comm", "broadcast reduce_add"), ("nn.quantized.modules.linear", "Linear"),
    ("ao.nn.quantized.modules.conv", "Conv2d"), ("signal.windows.windows", "hann"),
    ("profiler.profiler", "profile schedule"), ("utils.benchmark.utils.timer", "Timer"),
    ("masked.maskedtensor.core", "MaskedTensor"), ("xpu.memory", "memory_allocated"),
    ("xpu.random", "manual_seed_all"), ("accelerator.memory", "empty_cache"),
    ("multiprocessing.spawn", "ProcessRaisedException spawn"), ("optim.adam", "Adam adam"),
    ("distributed.distributed_c10d", "PrefixStore all_gather_object"),
    ("onnx.symbolic_opset17", "layer_norm"),
])  # fmt: skip
def test_modules_of_torchs_files(module: str, names: str) -> None:
    for prefix in ("torch", "mindtorch.torch"):
        found = importlib.import_module(f"{prefix}.{module}")
        for name in names.split():
            assert callable(getattr(found, name)), (prefix, module, name)
    with pytest.raises(AttributeError):
        importlib.import_module(f"mindtorch.torch.{module}").__nothing__
    assert callable(ours.multiprocessing.spawn)  # not the module that it hides


def test_names_of_torch_that_are_compiled() -> None:
    missing = [name for name in torch.__all__ if not hasattr(ours, name)]
    assert missing == ["cpp"]
    mine: Any = ours
    with pytest.raises(NotImplementedError, match="there is no interpreter of scripts"):
        mine.CompilationUnit()
    assert mine.wait(mine.fork(lambda: 3)) == 3
    crow = mine.crow_indices_copy(ours.eye(2).to_sparse_csr())
    assert crow.tolist() == [0, 1, 2]
    for name in ("get_autocast_xla_dtype", "is_autocast_ipu_enabled"):
        with pytest.warns(DeprecationWarning, match=name):
            assert str(getattr(ours, name)()) == str(quietly(getattr(torch, name)))


def quietly(function: Any) -> Any:
    with pytest.warns(DeprecationWarning):
        return function()


def outcome(make: Any, library: Any) -> tuple[str, str]:
    try:
        return "value", str(make(library))
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0].partition(". ")[0]


@pytest.mark.parametrize("make", [
    lambda t: t.xpu.memory_snapshot(), lambda t: t.xpu.get_arch_list(),
    lambda t: t.xpu.Stream(), lambda t: t.xpu.MemPool(), lambda t: t.xpu.Event(),
    lambda t: t.xpu.get_per_process_memory_fraction(), lambda t: t.xpu.set_rng_state_all([]),
    lambda t: t.xpu.default_generators, lambda t: t.mtia.record_memory_history(),
    lambda t: t.mtia.set_rng_state_all([]), lambda t: t.backends.mkl.VERBOSE_ON,
    lambda t: t.backends.nnpack.set_flags(True), lambda t: t.backends.nnpack.set_flags(1),
    lambda t: t.backends.cuda.preferred_linalg_library("default"),
    lambda t: t.backends.cuda.preferred_blas_library("mkl"),
    lambda t: t.backends.cuda.fp16_bf16_reduction_math_sdp_allowed(),
    lambda t: t.backends.cuda.is_ck_sdpa_available(),
])  # fmt: skip
def test_devices_and_libraries_that_are_not_here(make: Any) -> None:
    assert outcome(make, ours) == outcome(make, torch)


def test_switches_of_libraries_come_back() -> None:
    for module in (ours.backends.nnpack, ours.backends.miopen):
        before = module.set_flags(True)
        with module.flags(False):
            assert module.set_flags(False) == (False,)
        assert module.set_flags(*before) == (True,)
    with ours.backends.mkl.verbose(ours.backends.mkl.VERBOSE_OFF):
        pass
    xpu: Any = ours.xpu
    with xpu.device(0), xpu.stream(None):
        pass


def test_misspelled_names_get_a_suggestion() -> None:
    name = "zeross"
    with pytest.raises(AttributeError) as caught:
        getattr(ours, name)
    assert str(caught.value) == "module 'torch' has no attribute 'zeross'"
    assert (caught.value.name, caught.value.obj) == (name, ours)
    program = "import mindtorch.torch as torch; torch.zeross"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Did you mean: 'zeros'" in done.stderr


def refusal(library: Any, make: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        make(library)
    return type(caught.value).__name__, str(caught.value).partition(". ")[0].rstrip(".")


@pytest.mark.parametrize("device", ["mps", "xpu", "hpu", "xla", "mtia", "privateuseone", "vulkan"])
@pytest.mark.parametrize("make", [
    lambda t, d: t.zeros(2, device=d), lambda t, d: t.ones(2).to(d),
    lambda t, d: t.tensor([1.0], device=d), lambda t, d: t.nn.Linear(2, 2, device=d),
    lambda t, d: t.arange(3, device=d),
])  # fmt: skip
def test_devices_are_refused_as_in_torch(make: Any, device: str) -> None:
    theirs = refusal(torch, lambda t: make(t, device))
    assert refusal(ours, lambda t: make(t, device)) == theirs


@pytest.mark.parametrize("make", [
    lambda t: t.zeros(2), lambda t: t.full((2,), 1.0), lambda t: t.rand(2), lambda t: t.arange(3),
    lambda t: t.linspace(0, 1, 3), lambda t: t.eye(2), lambda t: t.tensor([1.0]),
    lambda t: t.hann_window(4), lambda t: t.tril_indices(2, 2), lambda t: t.fft.fftfreq(3),
    lambda t: t.nn.Linear(2, 2), lambda t: t.randperm(3),
])  # fmt: skip
def test_a_default_device_that_is_missing(make: Any) -> None:
    found = []
    for library in (torch, ours):
        library.set_default_device("cuda")
        try:
            found.append(refusal(library, make))
        finally:
            library.set_default_device(None)
    assert found[0] == found[1] == ("AssertionError", "Torch not compiled with CUDA enabled")


def test_nothing_is_written_to_what_hooked_layers_give() -> None:
    texts = []
    for t in (torch, ours):
        layer = t.nn.Linear(2, 2)
        layer.register_full_backward_hook(lambda *_: None)
        with pytest.raises(RuntimeError) as caught:
            layer(t.ones(1, 2)).add_(1)
        with pytest.raises(RuntimeError) as of_view:
            layer(t.ones(1, 2))[0].mul_(2)
        layer(t.ones(1, 2, requires_grad=True)).clone().add_(1).sum().backward()
        texts.append((str(caught.value), str(of_view.value)))
    assert texts[0] == texts[1]
