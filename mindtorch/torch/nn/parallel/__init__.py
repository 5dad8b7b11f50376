"""Training on several devices or in several processes."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_function

from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
from .scatter_gather import ONE_DEVICE
from .scatter_gather import gather as gather
from .scatter_gather import scatter as scatter

parallel_apply, replicate = (
    absent_function("torch.nn.parallel", name, ONE_DEVICE)
    for name in ("parallel_apply", "replicate")
)

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather",
           "parallel_apply", "replicate", "scatter"]  # fmt: skip
