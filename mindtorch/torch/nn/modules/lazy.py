"""Modules that take their shapes from the first input."""

from __future__ import annotations

import itertools
from typing import Any

from ..parameter import is_lazy
from ._changes import change_class


class LazyModuleMixin:
    """Mixed in before a module class: parameters get their shapes at the first call.

    Subclasses define ``initialize_parameters(*inputs)``; the class becomes ``cls_to_become``.
    """

    cls_to_become: Any = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for registry in (self._parameters, self._buffers):
            for name, value in registry.items():
                if value is None or name in self._non_persistent_buffers_set:
                    continue
                plain = is_lazy(value) or keep_vars
                destination[prefix + name] = value if plain else value.detach()

    def _lazy_load_hook(
        self: Any, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: Any, unexpected_keys: Any, error_msgs: Any,
    ) -> None:  # fmt: skip
        """Give uninitialised tensors the shapes of those that are loaded."""
        for name, value in itertools.chain(self._parameters.items(), self._buffers.items()):
            key = prefix + name
            if key in state_dict and value is not None and is_lazy(value):
                loaded = state_dict[key]
                if not is_lazy(loaded):
                    value.materialize(loaded.shape)

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        """Take shapes from the inputs; for subclasses."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether some parameter or buffer has no shape yet."""
        return any(
            is_lazy(value)
            for value in itertools.chain(self._parameters.values(), self._buffers.values())
        )

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {module._get_name()} has not been fully initialized"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        delattr(module, "_initialize_hook")
        delattr(module, "_load_hook")
        if module.cls_to_become is not None:
            change_class(module, module.cls_to_become)
