"""Handles that remove a hook."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

from mindtorch.engine.compile.guards.module_changes import module_changed

_identifiers = itertools.count()


class RemovableHandle:
    """Takes a hook out of its registries. Usable as a context.

    Args:
        hooks_dict: the registry, keyed by handle ids.
        extra_dict: further registries with an entry under the same id.
    """

    __module__ = "mindtorch.torch.utils.hooks"
    id: int

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        module_changed()
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = next(_identifiers)
        if extra_dict is None:
            extra_dict = ()
        elif isinstance(extra_dict, dict):
            extra_dict = (extra_dict,)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra_dict)

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
