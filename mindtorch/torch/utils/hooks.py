"""Handles of hooks, and marks on hooks that are not written to files."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

_identifiers = itertools.count()


class RemovableHandle:
    """Takes a hook out of its registries. Usable as a context.

    Args:
        hooks_dict: the registry, keyed by handle ids.
        extra_dict: further registries with an entry under the same id.
    """

    id: int
    hooks_dict_ref: Callable[[], Any]
    extra_dict_ref: tuple[Callable[[], Any], ...]

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        module_changed()
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(_identifiers)
        if extra_dict is None:
            extra_dict = ()
        elif isinstance(extra_dict, dict):
            extra_dict = (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)

    @classmethod
    def of(cls, handle: Any) -> RemovableHandle:
        """The handle of a hook that stands on a node of the tape."""
        made = cls.__new__(cls)
        made.id, made.hooks_dict_ref, made.extra_dict_ref = handle.id, handle.hooks, ()
        return made

    @staticmethod
    def add(
        hooks: Any, hook: Any, *, prepend: bool = False, flags: Any = (), flagged: Any = ()
    ) -> RemovableHandle:
        """Register ``hook``; note it in those registries of ``flags`` that ``flagged`` marks."""
        handle = RemovableHandle(hooks, extra_dict=list(flags))
        hooks[handle.id] = hook
        for registry, wanted in zip(flags, flagged, strict=True):
            if wanted:
                registry[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def remove(self) -> None:
        """Take the hook out."""
        module_changed()
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            registry = reference()
            if registry is not None:
                registry.pop(self.id, None)

    def __getstate__(self) -> Any:
        extra = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extra)

    def __setstate__(self, state: Any) -> None:
        registry = OrderedDict() if state[0] is None else state[0]
        self.hooks_dict_ref = weakref.ref(registry)
        self.id = state[1]
        self.extra_dict_ref = tuple(
            weakref.ref(OrderedDict() if d is None else d) for d in state[2]
        )

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that may be lost silently when its tensor is saved."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn of hooks on a tensor that saving it will lose."""
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


_give_reasons(globals())
