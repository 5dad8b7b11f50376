"""The states of optimizers whose parameters were sharded by older versions of torch."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_function

__all__ = ["load_sharded_optimizer_state_dict"]

load_sharded_optimizer_state_dict = absent_function(
    "torch.distributed.checkpoint.optimizer", "load_sharded_optimizer_state_dict",
    "load takes the state_dict of an optimizer as it is",
)  # fmt: skip
