"""Names of MindSpore's that are not here: the error says why and what to use instead."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["absent", "refusing"]

_SPARSE = "sparse functions are not written; convert with to_dense() and use the dense ones"
_PROCESSES = "mindspore.parallel has layouts, AutoParallel and pipelines; checkpoints are whole"
_ASCEND = "kernels of Ascend's NPU; attention and experts are written with matmul and softmax"
_DEVICES = "tensors are on the CPU: there are no streams, events or memory of a device to set"
_GRAPH = "a graph compiler's own operation; Python's operators do it, inside of mindspore.jit too"
_FILES = "graphs are not changed or hidden; mindspore.export and load keep them in MindIR files"

# what the whole name matches, and the reason; the first that matches counts
_REASONS: tuple[tuple[str, str], ...] = (
    (r"(Sparse|FusedSparse)?Apply.*|Fused(Ada|Cast|Sparse|Weight).*|SparseApply.*|AdamNoUpdate.*|"
     r"AdamWeightDecay|LARSUpdate",
     "updates of optimizers are not primitives here; use the optimizers of mindspore.nn"),
    (r"(coo|csr|row_tensor|make_(coo|csr|row|sparse|map))_?.*|dense_to_sparse.*|Sparse.*|"
     r"sparse_.*|coo2csr|csr2coo", _SPARSE),
    (r".*(flash_attention|infer_attention|PagedAttention).*|(moe|nsa)_.*|lightning_indexer|"
     r"rotary_position_embedding|ApplyRotary.*|speed_fusion.*|ring_attention.*|NPU.*", _ASCEND),
    (r"(scalar|tuple|list|dict|environ|env|hyper|augassign|bool|tensor|string|array|shape)_.*|"
     r"make_(list|tuple|dict|slice|range)|(is|is_not|in_dict|switch.*|geswitch|embed)_?", _GRAPH),
    (r"(AlltoAll|AllGatherV|ReduceScatterV|NeighborExchange|Collective|Barrier|Send|Receive|"
     r"BatchISendIRecv).*",
     "use mindspore.communication and ops.AllReduce, AllGather, ReduceScatter or Broadcast"),
    (r"(AutoParallel|Pipeline.*|MicroBatch.*|.*pipeline.*|.*distributed_checkpoint|"
     r".*_strategy.*|AdaSum.*|merge_sliced.*|unified_safetensors|.*_by_rank|"
     r"restore_group.*|set_algo.*|get_algo.*|reset_algo.*|set_ps.*|get_ps.*)", _PROCESSES),
    (r"(export.*|load|.*mindir|.*obf.*|convert_model|Symbol.*|Node.*|Scoped.*|rewrite)", _FILES),
    (r"(Event|.*Stream.*|.*stream.*|MemPool|.*memory.*|synchronize|empty_cache|PluggableAlloc.*|"
     r".*_device_limit|launch_blocking|set_cpu_affinity|hal|runtime|device_context)", _DEVICES),
    (r"(Profiler|profiler)", "torch.profiler times ops, nodes and named blocks"),
    (r"(.*Thor.*|thor)", "second-order optimizers are not written; use nn.Adam or nn.Lamb"),
    (r"(BiDense|.*Ext|.*_ext|EmbeddingExt)", "a private form; mindspore.mint has the public one"),
    (r"(DecodeVideo|VideoDecoder|read_video.*)", "no decoder of videos"),
    (r"(CharNGram|FilterWikipediaXML|Vad)", "not written; map takes Python functions"),
    (r"(OBSMind|.*Dataset$).*", "no reader is written; GeneratorDataset takes any Python source"),
)  # fmt: skip


def absent(module: str, name: str) -> AttributeError:
    """The error for a name that ``module`` ("mindspore.ops") does not have."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    why = next((reason for like, reason in _REASONS if re.fullmatch(like, name)), None)
    offers: Any = sys.modules.get(f"{__package__}.{module.partition('.')[2]}")
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if why is None and words != name and words in vars(offers or sys):
        why = f"use the function {module}.{words}"
    if why is None:
        return AttributeError(f"{text}; docs/gaps.md lists what is missing")
    return AttributeError(f"{text}: {why} (docs/gaps.md)")


def refusing(module: str, *later: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``, which raises but for the names of :mod:`.mindir` in ``later``:
    they need packages that few programs do."""

    def get(name: str) -> Any:
        if name in later:
            return getattr(importlib.import_module(f"{__package__}.mindir.interfaces"), name)
        raise absent(module, name)

    return get
