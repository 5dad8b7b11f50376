"""torch.cuda where there is no device: values and errors are those of torch's build for the CPU."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as mindtorch_torch
from mindtorch.torch.cuda import _present

mt: Any = mindtorch_torch
Call = Callable[[Any], Any]

pytestmark = pytest.mark.skipif(
    mt.cuda.is_available(), reason="there is a CUDA device: tests/programs/cuda_program.py asks it"
)


def _by_default(t: Any) -> Any:
    """What making a tensor gives where the default device, which may be chosen, is missing."""
    t.set_default_device("cuda")
    try:
        t.zeros(1)
    finally:
        t.set_default_device(None)


def _in_block(t: Any) -> Any:
    with t.device("cuda"):
        t.ones(1)


SAME: dict[str, Call] = {
    "graph": lambda t: t.cuda.graph(None),
    "CUDAGraph": lambda t: t.cuda.CUDAGraph(),
    "graph_pool_handle": lambda t: t.cuda.graph_pool_handle(),
    "make_graphed_callables": lambda t: t.cuda.make_graphed_callables(abs, (t.ones(1),)),
    "is_current_stream_capturing": lambda t: t.cuda.is_current_stream_capturing(),
    "MemPool": lambda t: t.cuda.MemPool(),
    "Stream": lambda t: t.cuda.Stream(),
    "Event": lambda t: t.cuda.Event(),
    "utilization": lambda t: t.cuda.utilization(),
    "temperature": lambda t: t.cuda.temperature(),
    "device_memory_used": lambda t: t.cuda.device_memory_used(),
    "can_device_access_peer": lambda t: t.cuda.can_device_access_peer(0, 1),
    "host_memory_stats": lambda t: t.cuda.host_memory_stats(),
    "caching_allocator_enable": lambda t: t.cuda.caching_allocator_enable(),
    "get_stream_from_external": lambda t: t.cuda.get_stream_from_external(0, None),
    "current_blas_handle": lambda t: t.cuda.current_blas_handle(),
    "current_solver_handle": lambda t: t.cuda.current_solver_handle(),
    "block on a device": lambda t: t.cuda.device(0).__enter__(),
    "block on no device": lambda t: t.cuda.device(-1).__enter__(),
    "device of a CPU tensor": lambda t: t.cuda.device_of(t.ones(1)).__enter__(),
    "ones pinned": lambda t: t.ones(1, pin_memory=True),
    "tensor pinned": lambda t: t.tensor([1], pin_memory=True),
    "pin_memory": lambda t: t.ones(1).pin_memory(),
    "is_pinned": lambda t: t.ones(1).is_pinned(),
    "device index": lambda t: t.cuda._utils._get_device_index(0),
    "device index without a number": lambda t: t.cuda._utils._get_device_index("cuda"),
    "sparse.FloatTensor": lambda t: t.cuda.sparse.FloatTensor(1),
    "gds": lambda t: t.cuda.gds.gds_register_buffer(None),
    "_exchange_device": lambda t: t.cuda._exchange_device(0),
    "_get_rng_state_offset": lambda t: t.cuda._get_rng_state_offset(),
    "_set_rng_state_offset": lambda t: t.cuda._set_rng_state_offset(4),
    "FloatStorage": lambda t: t.cuda.FloatStorage(1),
    "cudaStatus": lambda t: t.cuda.cudaStatus.SUCCESS,
    "_lazy_init": lambda t: t.cuda._lazy_init(),
    "_is_compiled": lambda t: t.cuda._is_compiled(),
    "_initialized": lambda t: t.cuda._initialized,
    "_is_in_bad_fork": lambda t: t.cuda._is_in_bad_fork(),
    "is_tf32_supported": lambda t: t.cuda.is_tf32_supported(),
    "get_arch_list": lambda t: t.cuda.get_arch_list(),
    "get_rng_state_all": lambda t: t.cuda.get_rng_state_all(),
    "memory_stats_as_nested_dict": lambda t: t.cuda.memory_stats_as_nested_dict(),
    "memory_cached": lambda t: t.cuda.memory_cached(),
    "nccl.is_available": lambda t: t.cuda.nccl.is_available([t.ones(1)]),
    "seed": lambda t: t.cuda.seed(),
    "cuda(0)": lambda t: t.ones(1).cuda(0),
    "module to a number": lambda t: t.nn.Linear(1, 1).cuda(0),
    "cuda of the CPU": lambda t: t.ones(1).cuda("cpu"),
    "Generator": lambda t: t.Generator("cuda"),
    "type by name": lambda t: t.ones(1).type("torch.cuda.FloatTensor"),
    "default type": lambda t: t.set_default_tensor_type("torch.cuda.FloatTensor"),
    "torch.Stream": lambda t: t.Stream("cuda"),
    "torch.Event": lambda t: t.Event(device="cuda:0"),
    "fork_rng": lambda t: t.random.fork_rng(devices=[0]).__enter__(),
    "set_rng_state": lambda t: t.cuda.set_rng_state(t.get_rng_state()),
    "set_rng_state_all": lambda t: t.cuda.set_rng_state_all([t.get_rng_state()]),
    "manual_seed of no number": lambda t: t.cuda.manual_seed_all("x"),
    "set_device without a number": lambda t: t.cuda.set_device("cuda"),
    "set_device of the CPU": lambda t: t.cuda.set_device("cpu"),
    "default device": _by_default,
    "block on a torch.device": _in_block,
    "pinned loader": lambda t: list(t.utils.data.DataLoader([1, 2], pin_memory=True)),
}  # fmt: skip


def _outcome(call: Call, namespace: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(call(namespace)).replace("mindtorch.torch", "torch")
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("name", SAME)
def test_answers_are_those_of_torch_without_cuda(name: str) -> None:
    """Scripts ask before they use a device, and catch what is raised where there is none."""
    assert _outcome(SAME[name], mt) == _outcome(SAME[name], torch)


@pytest.mark.parametrize("module", ["", "memory", "streams", "nvtx", "random", "comm", "graphs"])
def test_public_names_have_torchs_signatures(module: str) -> None:
    """Every public function of torch.cuda is there, and takes the arguments it takes in torch."""
    place = f"cuda.{module}" if module else "cuda"
    __import__(f"torch.{place}")
    __import__(f"mindtorch.torch.{place}")
    theirs, mine = (
        getattr(t.cuda, module) if module else t.cuda for t in (torch, mt)
    )
    names = getattr(theirs, "__all__", None) or ["Event", "Stream", "ExternalStream"]
    missing = {name for name in names if not hasattr(mine, name)}
    assert missing <= {"green_contexts", "GreenContext", "tunable"}
    for name in set(names) - missing:
        function = getattr(mine, name)
        if inspect.isfunction(function) and function.__name__ != "entry":
            if list(inspect.signature(function).parameters) == ["args", "kwargs"]:
                function = getattr(_present, name)  # which it calls where there is a device
            wanted = inspect.signature(getattr(theirs, name)).parameters
            assert list(inspect.signature(function).parameters) == list(wanted), name
