"""Devices, switches, versions, streams, futures and exchange with other libraries."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch.utils import dlpack
from tests.support.surface import check

DEVICES = [
    "torch.cuda.is_available()", "torch.cuda.memory_allocated()", "torch.cuda.mem_get_info()",
    "torch.cuda.Event()", "torch.cuda.Stream()", "torch.cuda.FloatTensor(2)",
    "torch.cuda.current_stream()", "torch.cuda.stream(None).__enter__()", "torch.cuda.cudart()",
    "torch.cuda.set_device(-1)", "torch.cuda.get_arch_list()", "torch.cuda.memory_cached()",
    "torch.cuda.CUDAGraph()", "torch.cuda.get_rng_state()", "torch.cuda.memory_stats()",
    "torch.cuda.seed_all()", "torch.cuda.default_generators", "torch.cuda.initial_seed()",
    "torch.cuda.set_stream(None)", "torch.cuda.is_tf32_supported()", "torch.cuda.ipc_collect()",
    "torch.accelerator.is_available()", "torch.accelerator.current_accelerator()",
    "torch.accelerator.device_count()", "torch.accelerator.synchronize()",
    "torch.accelerator.set_device_index(0)", "torch.accelerator.device_index(0).__enter__()",
    "torch.accelerator.device_index(None).__enter__()", "torch.accelerator.memory_allocated()",
    "torch.mps.is_available()", "torch.mps.synchronize()", "torch.mps.empty_cache()",
    "torch.mps.manual_seed(0)", "torch.mps.current_allocated_memory()", "torch.mps.device_count()",
    "torch.xpu.is_available()", "torch.xpu.device_count()", "torch.xpu.synchronize()",
    "torch.xpu.empty_cache()", "torch.xpu.current_device()", "torch.xpu.memory_stats()",
    "torch.mtia.is_available()", "torch.mtia.device_count()",
    "torch.cpu.is_available()", "torch.cpu.device_count()", "torch.cpu.current_device()",
    "torch.cpu.synchronize()", "torch.cpu.Event().query()", "torch.cpu.stream(None).__enter__()",
    "torch.get_device_module().__name__.endswith('torch.cpu')",
    "torch.get_device_module('cuda').is_available()", "torch.get_device_module('zz')",
    "torch.Stream(), torch.Event()", "torch.Event('cpu', enable_timing=True)",
    "torch.Event().record()", "torch.Event().elapsed_time(torch.Event())", "torch.Stream().query()",
]  # fmt: skip

SWITCHES = [
    *(f"torch.backends.cudnn.{name}" for name in (
        "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision",
        "is_available()", "version()",
    )),
    *(f"setattr(torch.backends.cudnn, '{name}', 'x')" for name in (
        "enabled", "benchmark", "deterministic", "allow_tf32", "fp32_precision",
    )),
    "torch.backends.mkldnn.enabled", "setattr(torch.backends.mkldnn, 'enabled', 3)",
    "torch.backends.cuda.is_built()", "torch.backends.cuda.matmul.allow_tf32",
    "setattr(torch.backends.cuda.matmul, 'allow_tf32', 3)",
    "setattr(torch.backends.cuda.matmul, 'foo', 3)",
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()",
    "torch.backends.mps.is_available(), torch.backends.mps.is_built()",
    "torch.backends.mps.is_macos_or_newer(13, 0)", "torch.backends.opt_einsum.is_available()",
    "torch.backends.opt_einsum.enabled", "torch.backends.mha.get_fastpath_enabled()",
    "torch.backends.cusparselt.version()", "torch.backends.kleidiai.is_available()",
    "torch.backends.cuda.cufft_plan_cache.size",
]  # fmt: skip

EXCHANGE = [
    "torch.from_dlpack(np.ones(2))", "np.from_dlpack(v).tolist()", "v.__dlpack_device__()[1]",
    "v.requires_grad_().__dlpack__()", "v.__dlpack__(stream=1)",
    "torch.from_dlpack(3)", "torch.from_dlpack(v).data_ptr() == v.data_ptr()",
    "torch.from_dlpack(v, copy=True).data_ptr() == v.data_ptr()",
    "torch.from_dlpack(x.T)", "torch.from_dlpack(np.arange(6).reshape(2, 3)[:, ::2])",
    "torch.from_dlpack(v.bfloat16())", "torch.from_dlpack(v, device='cpu')",
    "torch.utils.dlpack.from_dlpack(torch.to_dlpack(v))",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _flags_may_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's testing modules, which other tests import, forbid setting torch.backends' flags."""
    flags = torch.backends.flags_frozen.__globals__
    monkeypatch.setitem(flags, "__allow_nonbracketed_mutation_flag", True)


@pytest.mark.parametrize("code", DEVICES + SWITCHES + EXCHANGE)
def test_answers_are_those_of_a_cpu_build(code: str) -> None:
    """Values, and the types and texts of errors and warnings."""
    check(code)


def test_switches_are_remembered_and_restored() -> None:
    """What is set is read back; flags() restores what was before."""
    for namespace in (ours, torch):
        cudnn = namespace.backends.cudnn
        cudnn.benchmark = True
        with cudnn.flags(enabled=False, deterministic=True):
            assert not cudnn.enabled and cudnn.deterministic and not cudnn.benchmark
        assert cudnn.benchmark and cudnn.enabled
        cudnn.benchmark = False
        namespace.backends.cuda.enable_flash_sdp(False)
        assert not namespace.backends.cuda.flash_sdp_enabled()
        namespace.backends.cuda.enable_flash_sdp(True)


def test_tf32_of_products_is_the_matmul_precision() -> None:
    """allow_tf32 and the precision of float32 products are two names of one setting."""
    ours.backends.cuda.matmul.allow_tf32 = True
    assert ours.get_float32_matmul_precision() == "high"
    ours.set_float32_matmul_precision("highest")
    assert ours.backends.cuda.matmul.allow_tf32 is False


def test_versions_compare_by_number() -> None:
    """TorchVersion and PyTorch's agree for strings, tuples and what is no version."""
    from torch.torch_version import TorchVersion as Theirs

    from mindtorch.torch.torch_version import TorchVersion as Mine

    for text in ("2.13.0+cpu", "1.9", "2.13.0", "2.9.1a0"):
        for other in ("2.9", (2, 13), "2.13.0", "1.10.1", "2.13.0+cpu", "2.9.1", "parrot"):
            for name in ("__gt__", "__ge__", "__lt__", "__le__", "__eq__"):
                mine, theirs = (getattr(kind(text), name)(other) for kind in (Mine, Theirs))
                assert mine == theirs, (text, name, other)
    assert isinstance(ours.__version__, str) and ours.__version__ >= (2, 13)
    assert pickle.loads(pickle.dumps(ours.__version__)) == ours.__version__
    assert {ours.__version__: 1}[copy.copy(ours.__version__)] == 1


def test_dlpack_shares_memory_with_numpy() -> None:
    """Writing on one side shows on the other, both ways; a capsule is taken once."""
    x = ours.arange(4.0)
    np.from_dlpack(x)
    array = np.zeros(3, np.float32)
    taken = ours.from_dlpack(array)
    array[1] = 5
    assert taken.tolist() == [0, 5, 0]
    taken[0] = 2
    assert array[0] == 2
    capsule = dlpack.to_dlpack(x)
    dlpack.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="consumed only once"):
        dlpack.from_dlpack(capsule)
    assert x.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)


def test_dlpack_goes_between_both_torches() -> None:
    """PyTorch takes our tensors and we take PyTorch's, without copies."""
    mine = ours.arange(4.0)
    theirs: Any = torch.utils.dlpack.from_dlpack(mine)
    assert theirs.data_ptr() == mine.data_ptr()
    back = ours.from_dlpack(torch.ones(2, 3).t())
    assert back.shape == (3, 2) and back.stride() == (1, 3)


FUTURES = [
    "(f.done(), f.set_result(3), f.done(), f.wait(), f.value())",
    "(f.set_result(1), f.set_result(2))", "(f.set_exception(ValueError('no')), f.wait())",
    "f.set_exception(3)", "(f.then(lambda g: g.value() + 1), f.set_result(1))[0].wait()",
    "(f.set_result(1), torch.futures.wait_all([f, f]))[1]",
    "(f.set_result(1), [g.wait() for g in torch.futures.collect_all([f]).wait()])[1]",
    "torch.futures.wait_all([])",
    "(lambda seen: (f.add_done_callback(lambda g: seen.append(g.wait())), f.set_result(4), seen))"
    "([])[2]",
]  # fmt: skip


@pytest.mark.parametrize("code", FUTURES)
def test_futures_are_torchs(code: str) -> None:
    """Results, errors, callbacks and lists of futures."""
    check(code, "f = torch.futures.Future()")


def test_futures_wait_for_other_threads() -> None:
    """wait() returns what another thread sets later."""
    import threading

    future: Any = ours.futures.Future()
    threading.Timer(0.05, future.set_result, args=("later",)).start()
    assert future.wait() == "later"


def test_hooks_can_be_marked_and_removed() -> None:
    """utils.hooks has the handle that modules return."""
    from mindtorch.torch.utils.hooks import RemovableHandle, unserializable_hook

    module = ours.nn.Linear(1, 1)
    handle = module.register_forward_hook(unserializable_hook(lambda *a: None))
    assert isinstance(handle, RemovableHandle) and len(module._forward_hooks) == 1
    handle.remove()
    assert not module._forward_hooks
