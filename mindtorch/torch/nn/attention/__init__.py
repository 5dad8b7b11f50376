"""Which kernels of attention may be used: one is here, and it stands for math and flash."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator
from typing import Any

from mindtorch.torch.backends import cuda as switches

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """Kernels of scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"


_SWITCHES = {
    SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math", SDPBackend.CUDNN_ATTENTION: "cudnn",
}  # fmt: skip


@contextlib.contextmanager
def sdpa_kernel(
    backends: Iterable[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[Any, Any]]:
    """A block in which attention may use only these kernels.

    On the CPU torch has MATH and FLASH_ATTENTION; with neither of them allowed
    ``scaled_dot_product_attention`` raises, there as here.

    Args:
        set_priority: prefer them in the given order; one kernel has no order.
    """
    assert isinstance(backends, (list, SDPBackend)), (
        "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
        f"{type(backends).__name__}"
    )
    chosen = {backends} if isinstance(backends, SDPBackend) else set(backends)
    wanted = {name: backend in chosen for backend, name in _SWITCHES.items()}
    before = dict(switches.attention_choices)
    switches.attention_choices.update(wanted)
    try:
        yield {}
    finally:
        switches.attention_choices.update(before)
