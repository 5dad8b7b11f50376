"""What a traced call did besides ops on its own tensors, so that kernels alone are not the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor
from ..guards import global_state
from ..guards.guards import GuardRecorder
from ..runtime.fallback_executor import FallbackExecutor
from ..runtime.partition import ARGUMENT, Partition
from .capture import Capture


def effects(capture: Capture, watch: GuardRecorder, before: Any, changed: Callable[[], str]) -> str:
    """What a call that raised has done besides to tensors, so that it cannot be made again."""
    watch.finish()
    if global_state.current() != before:
        return "it changes a mode"
    with capture.concrete_shapes():
        if capture.crossed_boundary or capture.hooked:
            return "it runs a backward pass through a graph that was begun outside, or hooks"
        return watch.impure or watch.broken() or changed()


def impure(capture: Capture, watch: GuardRecorder, before: Any) -> str:
    """Why running what was captured would not be the same as another call; "" when it would."""
    watch.finish()
    if watch.impure:
        return watch.impure
    for step in capture.steps:
        if isinstance(step, Partition) and isinstance(step.executable, FallbackExecutor):
            return step.executable.reason
    if capture.hooked:
        return "a tensor has hooks"
    if capture.failed:
        return "a kernel has failed"
    if global_state.current() != before:
        return "it changes a mode, such as whether gradients are recorded"
    if capture.crossed_boundary or capture.rewritten():
        return "it goes on with a graph of autodiff that was begun outside"
    if any(before is not None and s.kind == ARGUMENT for s, before in capture.grads()):
        return "an argument has a gradient already"
    found = watch.reaches(capture.arguments)
    if capture.found_argument:
        return "it finds the memory of an argument by itself"
    if found:
        return f"it finds an argument by itself, through {found}"
    changed = watch.broken()
    return f"it changes {changed}" if changed else ""


def entangled(leaves: list[Tensor]) -> bool:
    """Whether two arguments share memory."""
    seen = set()
    for x in leaves:
        if x._storage is not None:
            key = id(x._storage.memory)
            if key in seen:
                return True
            seen.add(key)
    return False
