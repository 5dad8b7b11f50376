"""What a traced call did besides ops on its own tensors, so that kernels alone are not the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import tape
from ...dispatch import state
from ...tensor import Tensor, own_attributes
from ..guards import global_state
from ..guards.recorder import GuardRecorder
from ..guards.trace_rules import of_library
from ..runtime.partition import ARGUMENT, Partition
from .capture import Capture
from .dtype_views import is_retyped
from .pytree import Flattened


def effects(
    capture: Capture, recorder: GuardRecorder, before: Any, changed: Callable[[], str]
) -> str:
    """What a call that raised has done besides to tensors, so that it cannot be made again."""
    recorder.finish()
    if global_state.current() != before:
        return "it changes a mode"
    with capture.concrete_shapes():
        if capture.crossed_boundary or capture.hooked:
            return "it runs a backward pass through a graph that was begun outside, or hooks"
        return recorder.impure or recorder.guards.broken() or changed()


def impure(capture: Capture, recorder: GuardRecorder, before: Any) -> str:
    """Why running what was captured would not be the same as another call; "" when it would."""
    recorder.finish()
    if recorder.impure:
        return recorder.impure
    for step in capture.steps:
        if isinstance(step, Partition) and step.executable.refused:
            return step.executable.refused
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
    found = recorder.guards.reaches(capture.arguments)
    if capture.found_argument:
        return "it finds the memory of an argument by itself"
    if found:
        return f"it finds an argument by itself, through {found}"
    changed = recorder.guards.broken()
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


def changed_arguments(key: Any, before: Flattened, args: Any, kwargs: Any) -> str:
    """Whether the call has put something else into its arguments."""
    now = Flattened()
    try:
        same = now.describe((args, kwargs)) == key[0]
    except TypeError:
        same = False
    if same and all(a is b for a, b in zip(now.leaves, before.leaves, strict=True)):
        return ""
    return "it changes what is in an argument"


def unknown_result(
    outputs: Flattened, arguments: Flattened, recorder: GuardRecorder, capture: Capture
) -> str:
    """Why what is returned cannot be made anew at each call; "" if it can."""
    given = {id(x) for x in arguments.containers}
    ids = [id(x) for x in outputs.containers]
    if len(set(ids)) < len(ids) or any(
        id(x) in given or recorder.finds(x) for x in outputs.containers
    ):
        return "it returns a container that others hold"
    known = {id(x) for x in arguments.objects}
    for x in outputs.objects:
        if id(x) not in known and not recorder.finds(x) and not _is_constant(x):
            return f"it returns a {type(x).__name__}"
    made = [x for x in outputs.leaves if id(x) not in capture.existing]
    if any(own_attributes(x) for x in made):
        return "it returns a tensor with attributes"
    if any(own_attributes(x) for x in arguments.leaves):
        return "an argument is a tensor with attributes"
    if any(x._storage is not None and x._storage.inference != state.inference for x in made):
        return "it returns a tensor of another mode than it is called in"
    if any(is_retyped(x) for x in made):
        return "it returns a tensor over memory of another type"
    if any(capture.is_view(x) and capture.base_tracked(x) for x in made) or _share_memory(made):
        return "it returns a view of a tensor that others hold"
    return ""


def _share_memory(tensors: list[Tensor]) -> bool:
    """Whether two tensors that require gradients share memory."""
    held = [x._storage for x in tensors if tape.requires_grad(x)]
    memory = [id(storage.memory) for storage in held if storage is not None]
    return len(set(memory)) < len(memory)


def _is_constant(value: Any) -> bool:
    """Whether an object is a class, or one of ours that stands for a choice."""
    return isinstance(value, type) or (
        of_library(type(value).__module__) and type(value).__name__ in ("layout", "memory_format")
    )
