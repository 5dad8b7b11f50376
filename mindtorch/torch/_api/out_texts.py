"""What torch says of tensors given as ``out=``, where it is not what it says of most functions."""

from __future__ import annotations

from .meta_kernels import without_kernel
from .texts_by_function import said_of

__all__ = [
    "accepts_tracked_inputs", "looks_at_memory", "other_device", "required_type",
    "resized_quietly", "shown_name",
]  # fmt: skip

_COPYING = (
    "Attempting to copy from device {result} to device {out}, but cross-device copies are not "
    "allowed!"
)


def other_device(name: str, result: str, out: str) -> Exception:
    """torch's error for an ``out`` that is not where the result is, by types of devices."""
    operator = said_of("out without elements", name)
    if operator is not None and out == "meta":
        return without_kernel(operator)
    text = said_of("out on another device", name) or _COPYING
    return RuntimeError(text.format(result=result, out=out))


def required_type(name: str) -> str | None:
    """What torch says of an ``out`` of another type than the result; None where it casts."""
    return said_of("out of the same type", name)


def resized_quietly(name: str) -> bool:
    """Whether torch gives no warning where it resizes ``out``."""
    return said_of("out resized without a warning", name) is not None


def looks_at_memory(name: str) -> bool:
    """Whether torch refuses to write over a part of what the function reads."""
    return said_of("out over what is read", name) is None


def shown_name(name: str) -> str:
    """What errors of autodiff call a function."""
    return said_of("out, name in errors", name) or name


def accepts_tracked_inputs(name: str) -> bool:
    """Whether its inputs may require gradients where it writes to ``out``: torch derives nothing
    there."""
    return said_of("out alone is tracked", name) is not None
