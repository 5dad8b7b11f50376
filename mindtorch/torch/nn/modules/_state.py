"""state_dict and load_state_dict of a module."""

from __future__ import annotations

import functools
import itertools
import warnings
import weakref
from collections import OrderedDict, namedtuple
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ... import __future__
from ...autograd.grad_mode import no_grad
from ...utils._swap import swap_tensors
from ...utils.hooks import RemovableHandle
from ..parameter import Parameter, is_lazy

EXTRA_STATE_KEY = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What a state and a module do not have in common."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WrappedHook:
    """A hook of loading, which may be given the module first and does not keep it alive.

    Its name, place and state are those that PyTorch writes into files of whole modules.
    """

    __module__, __qualname__ = "mindtorch.torch.nn.modules.module", "_WrappedHook"

    def __init__(self, hook: Any, module: Any = None) -> None:
        functools.update_wrapper(self, hook)  # first: it copies the attributes of objects
        self.hook = hook
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Any:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: Any) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _as_kind(value: Any, loaded: Any) -> Any:
    """``loaded`` as a parameter with requires_grad of ``value``, where that is a parameter."""
    if not isinstance(value, Parameter):
        return loaded
    if isinstance(loaded, Parameter):
        return loaded.requires_grad_(value.requires_grad)
    return Parameter(loaded, requires_grad=value.requires_grad)


def _load_swapped(value: Any, loaded: Any, assign: bool) -> None:
    """Make ``value`` what its ``module_load`` makes of ``loaded``."""
    made = value.module_load(loaded, assign=assign)
    if made is loaded or made is value:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning "
            "one of the inputs in module_load"
        )
    swap_tensors(value, _as_kind(value, made))


def _load_tree(
    module: Any, state: Any, prefix: str, assign: bool, metadata: Any, found: tuple[Any, ...]
) -> None:
    """Load ``module`` and what is below it; ``found``: missing keys, unexpected ones, errors."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    module._load_from_state_dict(state, prefix, local_metadata, True, *found)
    for name, child in module._modules.items():
        if child is not None:
            start = prefix + name + "."
            part = {k: v for k, v in state.items() if k.startswith(start)}
            _load_tree(child, part, start, assign, metadata, found)
    incompatible = _IncompatibleKeys(*found[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not "
                "expected to return new values, if incompatible_keys need to be modified, "
                "it should be done inplace."
            )


class StateMixin:
    """Reading and writing a module's parameters and buffers by name."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any

    def get_extra_state(self) -> Any:
        """State besides tensors that ``state_dict`` shall hold; for subclasses."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please "
            "file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
            "to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what ``get_extra_state`` gave; for subclasses."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please "
            "file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
            "to report this bug."
        )

    # --- saving ------------------------------------------------------------------------------

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after it was filled."""
        hook._from_public_api = True
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Any) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` is filled."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._parameters.items():
            if value is not None:
                destination[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not StateMixin.get_extra_state:
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """All parameters and persistent buffers by name, sharing memory with the module.

        Args:
            destination: a dict to fill.
            prefix: put before each name.
            keep_vars: give the parameters themselves, not detached tensors.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            if len(args) > 1 and prefix == "":
                prefix = args[1]
            if len(args) > 2 and keep_vars is False:
                keep_vars = args[2]
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if not getattr(hook, "_from_public_api", False):
                if result is not None:
                    destination = result
            elif result is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    # --- loading -----------------------------------------------------------------------------

    def _register_load_state_dict_pre_hook(
        self, hook: Any, with_module: bool = False
    ) -> RemovableHandle:
        entry = _WrappedHook(hook, self if with_module else None)
        return RemovableHandle.add(self._load_state_dict_pre_hooks, entry)

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before this module's part is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after loading."""
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
                error_msgs,
            )  # fmt: skip
        persistent = {
            name: value
            for name, value in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, value in itertools.chain(self._parameters.items(), persistent.items()):
            if value is None:
                continue
            key = prefix + name
            if key in state_dict:
                self._load_entry(name, key, value, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            self._find_unexpected(state_dict, prefix, unexpected_keys)

    def _load_entry(
        self, name: str, key: str, value: Any, loaded: Any, assign: bool, error_msgs: list[str]
    ) -> None:
        if not isinstance(loaded, EngineTensor) and not hasattr(loaded, "__torch_function__"):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(loaded)}"
            )
            return
        if not is_lazy(value) and value.aval.ndim == 0 and tuple(loaded.shape) == (1,):
            loaded = loaded[0]
        if not is_lazy(value) and tuple(loaded.shape) != value.aval.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from "
                f"checkpoint, the shape in current model is {value.shape}."
            )
            return
        if value.is_meta and not loaded.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)",
                stacklevel=2,
            )
        swaps = __future__.get_swap_module_params_on_conversion()
        try:
            with no_grad():
                if swaps:
                    _load_swapped(value, loaded, assign)
                elif assign:
                    setattr(self, name, _as_kind(value, loaded))
                else:
                    value.copy_(loaded)
        except Exception as error:
            error_msgs.append(
                f'While {"swapping" if swaps else "copying"} the parameter named "{key}", whose '
                f"dimensions in the model are {value.size()} and whose dimensions in the "
                f"checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )

    def _load_extra_state(
        self,
        state_dict: Any,
        prefix: str,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
    ) -> None:
        key = prefix + EXTRA_STATE_KEY
        if type(self).set_extra_state is not StateMixin.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def _find_unexpected(
        self, state_dict: Any, prefix: str, unexpected_keys: list[str]
    ) -> None:
        for key in state_dict:
            if not key.startswith(prefix) or key == prefix + EXTRA_STATE_KEY:
                continue
            parts = key[len(prefix) :].split(".", 1)
            if len(parts) > 1:
                if parts[0] not in self._modules:
                    unexpected_keys.append(key)
            elif self._parameters.get(parts[0]) is None and (
                self._buffers.get(parts[0]) is None or parts[0] in self._non_persistent_buffers_set
            ):
                unexpected_keys.append(key)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy the tensors of ``state_dict`` into the parameters and buffers of these names.

        Args:
            strict: the names must be exactly the module's.
            assign: put the tensors in the place of the module's own instead of copying.

        Returns:
            ``(missing_keys, unexpected_keys)``.

        Raises:
            RuntimeError: names (when strict) or shapes do not match; all of them are listed.
        """
        if not isinstance(state_dict, dict) and not hasattr(state_dict, "keys"):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}."
            )
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        found = (missing_keys, unexpected_keys, error_msgs)
        _load_tree(self, state_dict, "", assign, metadata, found)
        if strict:
            for kind, keys in (("Unexpected", unexpected_keys), ("Missing", missing_keys)):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if error_msgs:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(error_msgs)
                )
            )
        return _IncompatibleKeys(missing_keys, unexpected_keys)
