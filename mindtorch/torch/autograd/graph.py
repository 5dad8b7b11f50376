"""The graph's nodes, and hooks on the tensors that nodes save."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine import tape
from mindtorch.engine.tape import Node as Node


class saved_tensors_hooks:  # noqa: N801
    """Pack what nodes save with ``pack_hook``, and unpack it when backward needs it."""

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        tape.saved_tensor_hooks.append(self.hooks)

    def __exit__(self, *exception: object) -> None:
        tape.saved_tensor_hooks.pop()


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keep saved tensors on the CPU; on the CPU they are kept as they are."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        if pin_memory:
            from ..cuda import require_cuda

            require_cuda()
        super().__init__(lambda x: (x.device, x.cpu()), lambda packed: packed[1].to(packed[0]))
