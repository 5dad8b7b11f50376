"""Two tensors exchange all that they are, but for their identity."""

from __future__ import annotations

import copyreg
import weakref
from typing import Any

from mindtorch.engine.autograd.tape import AccumulateGrad, LeafReference
from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.tensor import capturing, change_class, fields_of

_POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when "
    "you try to run backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the "
    "device or dtype of the module (e.g. `m.cpu()` or `m.half()`) between running forward and "
    "backward. To resolve this, please only change the device/dtype before running forward (or "
    "after both forward and backward)."
)


def _poisoned(gradients: Any) -> None:
    raise RuntimeError(_POISONED)


def _slots(tensor: Any) -> set[str]:
    return set(copyreg._slotnames(type(tensor)))  # type: ignore[attr-defined]


def _check_weak(tensor: Any, name: str) -> None:
    """Raise where somebody but the tape watches over the tensor's life."""
    if any(type(r) is not LeafReference for r in weakref.getweakrefs(tensor)):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")


def _let_go(tensor: Any) -> None:
    """End the tape's paths to ``tensor``, which must not reach what takes its place."""
    node = tensor._node
    if type(node) is AccumulateGrad:
        node.register_prehook(_poisoned)
        tensor._node = AccumulateGrad(tensor)


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange memory, description, class, attributes and history of two tensors.

    A backward pass that reaches either as it was before raises.

    Raises:
        RuntimeError: there are weak references to one, or their classes have different slots.
    """
    _check_weak(t1, "t1")
    _check_weak(t2, "t2")
    slots = _slots(t1)
    if slots != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    capture = capturing()
    for tensor in (t1, t2):
        if capture is not None:
            capture.raw_write(tensor)
        _let_go(tensor)
    first, second = dict(fields_of(t1)), dict(fields_of(t2))
    own = type(t1)
    change_class(t1, type(t2))
    change_class(t2, own)
    for tensor, fields in ((t1, second), (t2, first)):
        fields_of(tensor).clear()
        fields_of(tensor).update(fields)
    for name in slots:
        held = getattr(t1, name)
        setattr(t1, name, getattr(t2, name))
        setattr(t2, name, held)
    for tensor in (t1, t2):
        if type(tensor._node) is AccumulateGrad:
            tensor._node = AccumulateGrad(tensor)
    module_changed()
