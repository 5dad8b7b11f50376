"""What an op does with inputs on several devices.

A tensor of the device "meta" has no elements. PyTorch's ops describe the result where the input
that leads is such a tensor; some look at no other input's device.
"""

from __future__ import annotations

from typing import Any

from .aval import Aval, aval
from .devices.device import cpu, meta

__all__ = ["on_one_device"]

_Avals = tuple[Aval | None, ...]


def on_one_device(op: Any, avals: _Avals) -> _Avals:
    """The inputs' avals, all of one device but for a 0-d tensor of the CPU, or all of "meta".

    Raises:
        RuntimeError: they are on several.
    """
    asked = [a for a in avals[: op.on_device] if a is not None and (a.device is not cpu or a.shape)]
    devices = {a.device for a in asked}
    if len(devices) < 2:
        return avals
    if meta not in devices:
        first, second = sorted((str(d) for d in devices), reverse=True)[:2]
        raise _several(first, second)
    if op.leading is not None:
        leading = avals[op.leading]
        if leading is None or leading.device is not meta:
            raise _several("meta", "cpu")
        return tuple(
            a if a is None else aval(a.shape, a.dtype, a.strides, meta, a.weak) for a in avals
        )
    ordered = [avals[i] for i in op.asked if i < len(avals)] if op.asked else list(avals)
    expected, *others = [a.device for a in ordered if a is not None and a in asked]
    found = next(d for d in others if d is not expected)
    raise RuntimeError(
        f"Tensor on device {found} is not on the expected device {expected}!"
    )


def _several(first: str, second: str) -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {second}!"
    )
