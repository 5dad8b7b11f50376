"""Hooks of nodes: how they are registered, and what they do in a backward pass."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..tensor import Tensor


class RemovableHandle:
    """Removes a hook. Usable as a context."""

    __module__ = "torch.utils.hooks"

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(RemovableHandle._ids)
        self.hooks = weakref.ref(hooks) if hasattr(hooks, "__weakref__") else (lambda: hooks)

    def remove(self) -> None:
        hooks = self.hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(node: Any, place: Any, hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook`` on a node: "pre" and "post", or the index of a result.

    One that has an attribute ``runs_last`` stays behind those that are registered later.
    """
    if node.hooks is None:
        node.hooks = {}
    type(node).had_hooks = True
    hooks = node.hooks.setdefault(place, {})
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    for key in [key for key, each in hooks.items() if hasattr(each, "runs_last")]:
        hooks[key] = hooks.pop(key)
    return handle


def has_hooks(node: Any) -> bool:
    """Whether functions wait for the gradients that arrive at a node.

    A hook with the attribute ``in_captures`` does not count: it knows how to be traced.
    """
    hooks = getattr(node, "hooks", None) or {}
    return any(
        not getattr(hook, "in_captures", False)
        for placed in hooks.values()
        for hook in placed.values()
    )


def kept_hooks(node: Any) -> dict[Any, Any]:
    """Those hooks of a view's node that go on to its next one: what ``retain_grad`` has put."""
    found: dict[Any, Any] = {}
    for place, hooks in (node.hooks or {}).items():
        kept = [key for key, hook in hooks.items() if hasattr(hook, "runs_last")]
        found[place] = {key: hooks.pop(key) for key in kept}
    return found


def run_result_hooks(node: Any, gradients: list[Any]) -> None:
    """Let the hooks of a node's results see, and replace, the gradients that have arrived."""
    for place, hooks in list(node.hooks.items()):
        if isinstance(place, int) and gradients[place] is not None:
            for hook in list(hooks.values()):
                changed = hook(gradients[place])
                if changed is not None:
                    _check_changed(hook, gradients[place], changed)
                    gradients[place] = changed


def run_pre_hooks(node: Any, gradients: list[Any]) -> None:
    """Let the hooks before a node's rule see, and replace, what the rule is given."""
    for hook in list(node.hooks.get("pre", {}).values()):
        changed = hook(tuple(gradients))
        if changed is not None:
            gradients[:] = list(changed)


def tensor_type_name(tensor: Tensor) -> str:
    """The name that messages have for a tensor's type."""
    place = "" if tensor.aval.device.type == "cpu" else f"{tensor.aval.device.type}."
    return f"torch.{place}{dtypes.scalar_type_name(tensor.aval.dtype)}Tensor"


def _check_changed(hook: Any, before: Tensor, after: Any) -> None:
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    name = getattr(hook, "__name__", type(hook).__name__)
    ours = hasattr(hook, "runs_last")  # casts to a leaf's grad_dtype
    if after.aval.dtype is not before.aval.dtype and not ours:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was {tensor_type_name(before)} got "
            f"{tensor_type_name(after)})"
        )
    if after.aval.shape != before.aval.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def run_post_hooks(node: Any, results: Any, gradients: tuple[Any, ...]) -> Any:
    """The gradients of a node's inputs after its hooks have seen, and perhaps replaced, them."""
    for hook in list(node.hooks["post"].values()):
        changed = hook(tuple(results), gradients)
        if changed is None:
            continue
        if not isinstance(changed, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
        if len(changed) != len(results):
            hook = getattr(hook, "func", hook)
            raise RuntimeError(
                f"hook '{getattr(hook, '__name__', '<unknown>')}' has returned an incorrect number "
                f"of values (got {len(changed)}, but expected {len(results)})"
            )
        results = changed
    return results


def run_leaf_hooks(node: Any, variable: Tensor, gradient: Tensor) -> None:
    """Call the hooks that come after a leaf has its gradient."""
    for hook in list(node.hooks.get("accumulated", {}).values()):
        changed = hook(variable)
        if changed is not None and changed is not variable:
            _check_changed(hook, variable, changed)
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    for hook in list(node.hooks.get("post", {}).values()):
        hook((), (gradient,))
