"""Training on several devices or in several processes."""

from __future__ import annotations

from mindtorch.torch._absent import absent_function

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel

_ONE = "the parts of DataParallel move tensors between the GPUs of one process; there is one"
gather, parallel_apply, replicate, scatter = (
    absent_function("torch.nn.parallel", name, _ONE)
    for name in ("gather", "parallel_apply", "replicate", "scatter")
)

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather",
           "parallel_apply", "replicate", "scatter"]  # fmt: skip
