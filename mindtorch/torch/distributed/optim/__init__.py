"""torch.distributed.optim: an optimizer whose state is divided among the processes."""

from __future__ import annotations

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._compat.unsupported_names import absent_class

from .zero_redundancy_optimizer import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

DistributedOptimizer = absent_class(
    "torch.distributed.optim", "DistributedOptimizer", "there is no rpc"
)
PostLocalSGDOptimizer = absent_class(
    "torch.distributed.optim", "PostLocalSGDOptimizer", "gradients are averaged in every step"
)


_give_reasons(globals())
