"""The base class of all modules."""

from __future__ import annotations

import functools
import inspect
import itertools
import warnings
from collections import OrderedDict
from typing import Any, TypeVar

import mindtorch.torch as torch
from mindtorch.engine.autograd import tape
from mindtorch.engine.compile.guards import module_changes
from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import scripts

from ...utils.hooks import RemovableHandle
from ..parameter import Buffer, Parameter
from ._backward_hooks import hook_last_node, passage
from ._changes import ChangesMixin
from ._compiled_parts import call_compiled, forward_of
from ._own_names import name_as_methods_of
from ._state import EXTRA_STATE_KEY, StateMixin, _IncompatibleKeys, _WrappedHook

__all__ = [
    "EXTRA_STATE_KEY", "Module", "_IncompatibleKeys", "_WrappedHook",
    "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook",
    "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook", "register_module_parameter_registration_hook",
]  # fmt: skip
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE_KEY  # torch's name, which transformers looks at

T = TypeVar("T", bound="Module")

_global_forward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict[int, bool] = OrderedDict()
_global_forward_hooks_always_called: OrderedDict[int, bool] = OrderedDict()
_global_backward_hooks: OrderedDict[int, Any] = OrderedDict()
_global_kind: dict[str, bool] = {}  # whether those are full ones, once there were any
_global_backward_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_global_parameter_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_buffer_registration_hooks: OrderedDict[int, Any] = OrderedDict()
_global_module_registration_hooks: OrderedDict[int, Any] = OrderedDict()


def register_module_forward_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, args)`` before every module's forward."""
    return RemovableHandle.add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Any, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every module's forward."""
    return RemovableHandle.add(
        _global_forward_hooks,
        hook,
        flags=(_global_forward_hooks_with_kwargs, _global_forward_hooks_always_called),
        flagged=(with_kwargs, always_call),
    )


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` when a module's gradients are known."""
    return _add_global_backward_hook(hook, True)


def register_module_backward_hook(hook: Any) -> RemovableHandle:
    """The deprecated form: the gradients are those of the last operation of a module's forward."""
    return _add_global_backward_hook(hook, False)


def _add_global_backward_hook(hook: Any, full: bool) -> RemovableHandle:
    if _global_kind.setdefault("full", full) is not full:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    return RemovableHandle.add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` when backward reaches a module."""
    return RemovableHandle.add(_global_backward_pre_hooks, hook)


def register_module_parameter_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a parameter is registered."""
    return RemovableHandle.add(_global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered."""
    return RemovableHandle.add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Any) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a submodule is registered."""
    return RemovableHandle.add(_global_module_registration_hooks, hook)


def _typename(value: Any) -> str:
    """torch's name for the kind of an object in its messages."""
    if isinstance(value, EngineTensor) and type(value).__name__ == "Tensor":
        return tape.tensor_type_name(value)
    kind = value if isinstance(value, type) else type(value)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__name__
    module = kind.__module__
    return f"{module.removeprefix('mindtorch.')}.{kind.__qualname__}"


def _tensor_name(value: Any) -> str:
    """The same, with tensors by their elements' types."""
    return tape.tensor_type_name(value) if isinstance(value, EngineTensor) else _typename(value)


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803
    """The text with blanks before each line but the first; by torch's name, for modules' reprs."""
    return s_.replace("\n", "\n" + " " * numSpaces)


@functools.lru_cache(64)
def _arguments_of(function: Any) -> frozenset[str]:
    """The names of a function's arguments."""
    return frozenset(inspect.signature(function).parameters)


_REGISTRIES = ("_parameters", "_buffers", "_modules")


# what torch.jit gives modules, and what to say instead
_OF_SCRIPTS = frozenset({"code", "code_with_constants", "graph", "inlined_graph"})
NO_SCRIPT = (
    "there is no TorchScript in mindtorch, calls are compiled from Python; "
    "torch._dynamo.explain(module)(*args) shows the graphs"
)


class Module(StateMixin, ChangesMixin):
    """A part of a network: parameters, buffers, submodules, and what it computes from inputs.

    Subclasses call ``super().__init__()``, assign parameters and submodules to attributes and
    define ``forward`` (or, as in MindSpore, ``construct``). ``module(x)`` runs it and the hooks.

    Attributes:
        training: whether the module is in training mode (dropout, batch statistics).
    """

    dump_patches = False
    training: bool
    call_super_init = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            got = f"got an unexpected keyword argument '{next(iter(kwargs))}'" if kwargs else (
                f"takes 1 positional argument but {len(args) + 1} were given"
            )
            raise TypeError(f"{type(self).__name__}.__init__() {got}")
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_is_full_backward_hook"] = None
        for name in _HOOK_FIELDS:
            fields[name] = OrderedDict()
        fields["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- calling -----------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module computes; defined by subclasses."""
        if type(self).construct is not Module.construct:
            return self.construct(*inputs, **kwargs)
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """MindSpore's name for ``forward``."""
        return self.forward(*inputs, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if scripts and not scripts[0].within_call and scripts[0].is_mine():
            return scripts[0].call_outermost(self, args, kwargs)
        fields = self.__dict__
        if not (
            fields["_forward_hooks"]
            or fields["_forward_pre_hooks"]
            or fields["_backward_hooks"]
            or fields["_backward_pre_hooks"]
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
            or "_compiled_call_impl" in fields
        ):
            return self.forward(*args, **kwargs)
        if "_compiled_call_impl" in fields:
            call = fields["_compiled_call_impl"]
            return call_compiled(call, self, self._call_uncompiled, args, kwargs)
        return self._call_with_hooks(args, kwargs)

    def _call_uncompiled(self, *args: Any, **kwargs: Any) -> Any:
        """The call that :meth:`compile` compiles."""
        fields = self.__dict__
        if any(map(fields.get, module_changes.HOOKS_OF_CALLS)) or any(module_changes.registries):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's calls in place; the arguments are those of ``torch.compile``."""
        made = torch.compile(self._call_uncompiled, *args, **kwargs)
        module_changed()
        self.__dict__["_compiled_call_impl"] = made

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self.__call__(*args, **kwargs)

    def _call_with_hooks(self, args: Any, kwargs: Any) -> Any:
        called: set[int] = set()
        try:
            return self._hooked(args, kwargs, called)
        except Exception:
            self._run_remaining_hooks(args, kwargs, called)
            raise

    def _hooked(self, args: Any, kwargs: Any, called: set[int]) -> Any:
        args, kwargs = self._run_pre_hooks(args, kwargs)
        crossing = None
        hooks, node_hooks = self._get_backward_hooks()
        pre_hooks = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        if hooks or pre_hooks:
            crossing = passage(self, hooks, pre_hooks)
            args = crossing.enter(args)
        result = forward_of(self)(*args, **kwargs)
        for key, hook, with_kwargs, _ in self._all_forward_hooks():
            called.add(key)
            given = (self, args, kwargs, result) if with_kwargs else (self, args, result)
            changed = hook(*given)
            if changed is not None:
                result = changed
        if crossing is not None:
            result = crossing.leave(result)
        if node_hooks:
            hook_last_node(self, node_hooks, args, result)
        return result

    def _get_backward_hooks(self) -> tuple[list[Any], list[Any]]:
        """The full backward hooks of a call, and the deprecated ones."""
        kinds: tuple[list[Any], list[Any]] = ([], [])
        kinds[not _global_kind.get("full", True)].extend(_global_backward_hooks.values())
        kinds[self._is_full_backward_hook is False].extend(self._backward_hooks.values())
        return kinds

    def _all_forward_hooks(self) -> list[tuple[int, Any, bool, bool]]:
        listed = [
            (key, hook, key in _global_forward_hooks_with_kwargs,
             key in _global_forward_hooks_always_called)
            for key, hook in _global_forward_hooks.items()
        ]  # fmt: skip
        listed += [
            (key, hook, key in self._forward_hooks_with_kwargs,
             key in self._forward_hooks_always_called)
            for key, hook in self._forward_hooks.items()
        ]  # fmt: skip
        return listed

    def _run_pre_hooks(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for key, hook in [*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()]:
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_remaining_hooks(self, args: Any, kwargs: Any, called: set[int]) -> None:
        """After an error: the hooks that are to be called always and have not been."""
        for key, hook, with_kwargs, always in self._all_forward_hooks():
            if always and key not in called:
                try:
                    hook(*((self, args, kwargs, None) if with_kwargs else (self, args, None)))
                except Exception as error:
                    warnings.warn(
                        "forward hook with ``always_call=True`` raised an exception that was "
                        f"silenced as another error was raised in forward: {error!s}",
                        stacklevel=2,
                    )

    # --- hooks -------------------------------------------------------------------------------

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before forward; what it returns replaces the arguments.

        With ``with_kwargs``: ``hook(module, args, kwargs)``, which may return both.
        """
        return RemovableHandle.add(
            self._forward_pre_hooks, hook, prepend=prepend,
            flags=(self._forward_pre_hooks_with_kwargs,), flagged=(with_kwargs,),
        )  # fmt: skip

    def register_forward_hook(
        self,
        hook: Any,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after forward; what it returns replaces the output.

        With ``always_call`` it is called even when forward raises.
        """
        return RemovableHandle.add(
            self._forward_hooks, hook, prepend=prepend,
            flags=(self._forward_hooks_with_kwargs, self._forward_hooks_always_called),
            flagged=(with_kwargs, always_call),
        )  # fmt: skip

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the inputs are
        known; a tuple that it returns takes the place of ``grad_input``."""
        return self._add_backward_hook(hook, True, prepend)

    def register_backward_hook(self, hook: Any) -> RemovableHandle:
        """The deprecated form: ``hook(module, grad_input, grad_output)`` with the gradients of the
        last operation of forward, which are not always the module's."""
        return self._add_backward_hook(hook, False)

    def _add_backward_hook(self, hook: Any, full: bool, prepend: bool = False) -> RemovableHandle:
        if self._is_full_backward_hook is (not full):  # type: ignore[has-type]
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single "
                "Module. Please use only one of them."
            )
        self._is_full_backward_hook = full
        return RemovableHandle.add(self._backward_hooks, hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when backward reaches the module."""
        return RemovableHandle.add(self._backward_pre_hooks, hook, prepend=prepend)

    # --- registering -------------------------------------------------------------------------

    def _check_name(self, kind: str, name: Any, registry: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"{kind} name should be a string. Got {_typename(name)}"
            )
        if kind != "module":
            if "." in name:
                raise KeyError(f'{kind} name can\'t contain "."')
            if name == "":
                raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in registry:
            raise KeyError(f"attribute '{name}' already exists")
        if kind == "module":
            if "." in name:
                raise KeyError(f'module name can\'t contain ".", got: {name}')
            if name == "":
                raise KeyError('module name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor to the module's state that is not learned.

        Args:
            tensor: a tensor, or None for an absent one.
            persistent: whether ``state_dict`` holds it.
        """
        module_changed()
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, EngineTensor):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or "
                "None required)"
            )
        for hook in _global_buffer_registration_hooks.values():
            changed = hook(self, name, tensor)
            tensor = tensor if changed is None else changed
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter (or None for an absent one)."""
        module_changed()
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if not tape.is_leaf(param):
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must "
                    f"be created explicitly. To express '{name}' as a function of another Tensor, "
                    "compute the value in the forward() method."
                )
            for hook in _global_parameter_registration_hooks.values():
                changed = hook(self, name, param)
                param = param if changed is None else changed
        self._parameters[name] = param

    def add_module(self, name: str, module: Any) -> None:
        """Add a submodule (or None for an absent one)."""
        module_changed()
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = self._module_hooks(name, module)

    def register_module(self, name: str, module: Any) -> None:
        """The same as :meth:`add_module`."""
        self.add_module(name, module)

    def _module_hooks(self, name: str, module: Any) -> Any:
        for hook in _global_module_registration_hooks.values():
            changed = hook(self, name, module)
            module = module if changed is None else changed
        return module

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        if name in (own := fields.get("_parameters", ())):
            return own[name]
        for registry in _REGISTRIES:
            if registry in fields and name in fields[registry]:
                return fields[registry][name]
        if name in _OF_SCRIPTS and "_compiled_call_impl" in fields:
            raise AttributeError(f"{type(self).__name__}.{name}: {NO_SCRIPT}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        module_changed()
        fields = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in fields:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif "_parameters" in fields and name in fields["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_tensor_name(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in fields:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            fields["_modules"][name] = self._module_hooks(name, value)
        elif "_modules" in fields and name in fields["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            fields["_modules"][name] = self._module_hooks(name, value)
        elif isinstance(value, EngineTensor) or (
            "_buffers" in fields and name in fields["_buffers"]
        ):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        buffers = self.__dict__.get("_buffers")
        is_buffer = isinstance(value, Buffer)
        if buffers is None or (name not in buffers and not is_buffer):
            object.__setattr__(self, name, value)
            return
        if value is not None and not isinstance(value, EngineTensor):
            raise TypeError(
                f"cannot assign '{_typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if is_buffer:
            persistent = value.persistent  # type: ignore[union-attr]
            if "persistent" in _arguments_of(type(self).register_buffer):
                self.register_buffer(name, value, persistent)
            elif persistent:
                self.register_buffer(name, value)
            else:
                raise RuntimeError(
                    "Registering a non-persistent buffer on a Module subclass that implements "
                    "register_buffer() without the persistent argument is not allowed."
                )
            return
        for hook in _global_buffer_registration_hooks.values():
            changed = hook(self, name, value)
            value = value if changed is None else changed
        buffers[name] = value

    def _forget(self, name: str, *registries: str) -> None:
        fields = self.__dict__
        fields.pop(name, None)
        for registry in registries:
            fields[registry].pop(name, None)
        fields["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        module_changed()
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOK_FIELDS:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    # --- showing -----------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the parentheses of the module's text."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [f"({name}): {_addindent(repr(m), 2)}" for name, m in self._modules.items()]
        lines = extra_lines + child_lines
        if not lines:
            return f"{self._get_name()}()"
        if len(extra_lines) == 1 and not child_lines:
            return f"{self._get_name()}({extra_lines[0]})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __dir__(self) -> list[str]:
        keys = itertools.chain(
            dir(type(self)), self.__dict__, self._parameters, self._modules, self._buffers
        )
        return sorted({key for key in keys if not key[0].isdigit()})

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        for registry in ("_buffers", "_modules"):
            replica.__dict__[registry] = dict(self.__dict__[registry])
        # tensors that stand for parameters are set as attributes; they are no parameters
        replica.__dict__["_parameters"] = {}
        replica.__dict__["_is_replica"] = True
        return replica


_HOOK_FIELDS = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


name_as_methods_of(Module, StateMixin, ChangesMixin)
module_changes.module_type = Module
module_changes.registries = (_global_forward_pre_hooks, _global_forward_hooks,
                             _global_backward_hooks, _global_backward_pre_hooks)  # fmt: skip
