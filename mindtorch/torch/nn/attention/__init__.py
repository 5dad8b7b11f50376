"""Which kernels of attention may be used: one is here, and it stands for math and flash."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch.backends import cuda as switches

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend:
    """Kernels of scaled_dot_product_attention; one object for each number.

    As torch's, which is made in C++, it is no ``enum.Enum``: it is turned into its number by
    ``int()``, and equals its own kind alone.
    """

    ERROR: SDPBackend
    MATH: SDPBackend
    FLASH_ATTENTION: SDPBackend
    EFFICIENT_ATTENTION: SDPBackend
    CUDNN_ATTENTION: SDPBackend
    OVERRIDEABLE: SDPBackend
    __members__: dict[str, SDPBackend] = {}  # noqa: RUF012
    name: str
    value: int

    def __new__(cls, value: int) -> SDPBackend:
        found = next((each for each in cls.__members__.values() if each.value == value), None)
        if found is None:
            raise ValueError(f"{value} is not one of SDPBackend's numbers")
        return found

    def __int__(self) -> int:
        return self.value

    __index__ = __int__

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"

    def __reduce__(self) -> Any:
        return (SDPBackend, (self.value,))


for _value, _name in enumerate(
    ("ERROR", "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"),
    -1,
):
    _member = object.__new__(SDPBackend)
    _member.name, _member.value = _name, _value
    SDPBackend.__members__[_name] = _member
    setattr(SDPBackend, _name, _member)


_SWITCHES = {
    SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math", SDPBackend.CUDNN_ATTENTION: "cudnn",
}  # fmt: skip


_IN_ORDER = (
    SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH, SDPBackend.OVERRIDEABLE,
)  # fmt: skip


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that may be used now; ``with_priority``: the preferred ones first."""
    allowed = [
        each for each in _IN_ORDER if switches.attention_choices.get(_SWITCHES.get(each, ""), True)
    ]
    return sorted(allowed, key=_PREFERRED.index) if with_priority else allowed


_PREFERRED = (
    SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION, SDPBackend.OVERRIDEABLE,
)  # fmt: skip


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


_give_reasons(globals())
