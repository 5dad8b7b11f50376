"""DataParallel: a batch over several devices of one process; without devices, the module itself."""

from __future__ import annotations

from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """``module`` under the name ``module``; there are no devices to copy it to.

    Args:
        device_ids, output_device: CUDA devices; as in torch they are passed over when there are
            none.
        dim: the axis along which a batch would be split.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0,
    module_kwargs: Any = None,
) -> Any:  # fmt: skip
    """``module(*inputs)`` over several devices, of which there are none."""
    raise RuntimeError("device type could not be determined")
