"""Tracing: a function or module is called with proxies, and what it does becomes a graph."""

from __future__ import annotations

import inspect
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch._module_names import is_ours
from mindtorch.torch._api import torch_function
from mindtorch.torch._compat.runtime_checks import _assert
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.nn.modules.container import Sequential
from mindtorch.torch.nn.modules.module import Module
from mindtorch.torch.nn.parameter import Parameter

from ._patching import Patcher, patch_torch, recorded
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Attribute, Proxy, TracerBase

__all__ = ["Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

# Functions that a trace leaves as one call: the globals they are found in, and their names.
_wrapped: dict[tuple[int, str], dict[str, Any]] = {}
_depth = 0


def is_fx_tracing() -> bool:
    """Whether a function is being traced."""
    return _depth > 0


is_fx_symbolic_tracing = is_fx_tracing


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Mark a function of the calling module that a trace leaves as one call; gives it back.

    Args:
        fn_or_name: the function, or its name.

    Raises:
        RuntimeError: neither a function nor the name of one.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    _wrapped[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _assert_is_none(value: Any, msg: str) -> None:
    """AssertionError where a value that was None in the trace is something else."""
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Makes a graph of a function or module.

    Args:
        autowrap_modules: their functions are left as calls where a proxy is an argument.
        autowrap_functions: so are these.
        param_shapes_constant: not available.
    """

    def __init__(
        self,
        autowrap_modules: tuple[Any, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        if param_shapes_constant:
            raise NotImplementedError("Tracer(param_shapes_constant=True) is not in mindtorch")
        self._autowrap_modules = list(autowrap_modules)
        self._autowrap_ids = {id(each) for each in autowrap_functions}
        for module in autowrap_modules:
            self._autowrap_ids |= {
                id(value) for name, value in vars(module).items()
                if not name.startswith("_") and callable(value)
            }  # fmt: skip
        self.root: Module = Module()
        self.submodule_paths: dict[Module, str] | None = None
        self._tensor_paths: dict[int, str] = {}
        self._parameter_proxies: dict[str, Proxy] = {}
        self._kept: list[Tensor] = []

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is left as one call: all of torch.nn but Sequential."""
        home = type(m).__module__.removeprefix("mindtorch.")
        return home.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted path from the root to a module.

        Raises:
            NameError: it is not a part of the root.
        """
        for name, each in self.root.named_modules():
            if each is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a submodule: a node where it is a leaf, else traced through."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading an attribute of a module gives: a proxy where it is a parameter."""
        if not isinstance(attr_val, Parameter) and not (
            self.proxy_buffer_attributes and isinstance(attr_val, Tensor)
        ):
            return attr_val
        path = self._tensor_paths.get(id(attr_val))
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {})
        return parameter_proxy_cache[path]

    def create_arg(self, a: Any) -> Any:
        """As in the base; tensors and modules of the root are read from it, others are kept there
        as ``_tensor_constant0`` and so on."""
        if isinstance(a, Tensor):
            path = self._tensor_paths.get(id(a))
            if path is None:
                if isinstance(a, Parameter):
                    raise NameError("parameter is not a member of this module")
                path = self._keep_constant(a)
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Module) and self.submodule_paths is not None:
            return self.create_node("get_attr", self.path_of_module(a), (), {})
        return super().create_arg(a)

    def _keep_constant(self, value: Tensor) -> str:
        number = 0
        while hasattr(self.root, f"_tensor_constant{number}"):
            number += 1
        path = f"_tensor_constant{number}"
        setattr(self.root, path, value)
        self._tensor_paths[id(value)] = path
        self._kept.append(value)
        return path

    def _placeholders(self, fn: Any, concrete: dict[str, Any]) -> list[Any]:
        """A proxy for each parameter of ``fn``, in the order of its code's variables; those with
        concrete values get these instead."""
        analyzed = inspect.unwrap(fn)
        parameters = inspect.signature(analyzed).parameters
        values: list[Any] = []
        # around a decorated method is what has no `self` any more
        bound = inspect.ismethod(fn) and not inspect.ismethod(analyzed)
        for name in _variables(analyzed)[bound:]:
            parameter = parameters[name]
            kind = parameter.kind
            prefix = (
                "*" if kind is kind.VAR_POSITIONAL else "**" if kind is kind.VAR_KEYWORD else ""
            )
            default = () if prefix or parameter.default is parameter.empty else (parameter.default,)
            if name in concrete:
                proxy = self.create_proxy("placeholder", f"{name}_1", default, {})
                values.append(self._specialized(name, proxy, concrete[name]))
                continue
            annotation = None if prefix else analyzed.__annotations__.get(name)
            if annotation == "Any" and is_ours(analyzed.__globals__["__name__"]):
                annotation = None  # of our layers, which are not annotated in torch
            values.append(
                self.create_proxy("placeholder", prefix + name, default, {}, type_expr=annotation)
            )
        return values

    def _specialized(self, name: str, proxy: Any, value: Any) -> Any:
        """Record the check that an argument is what it was in the trace; gives that value."""
        if value is None:
            text = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (proxy, text), {})
        elif isinstance(value, (bool, int, float, str)):
            text = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", _assert, (proxy == value, text), {})
        else:
            raise NotImplementedError(
                f"concrete_args of {type(value)} are not available in mindtorch: only None, "
                "numbers, bools and strings are"
            )
        return value

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a function, or of a module's `forward`.

        Args:
            concrete_args: values for parameters that are no proxies while tracing.

        Raises:
            TraceError: the function branches on a value, loops over one or asks for its length.
            NotImplementedError: a value no node can hold, or concrete tensors and containers.
        """
        # targets are then the functions that a Transformer's proxies are given to
        torch_function.answer_for(Proxy, Attribute)
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        fn = root.forward if is_module else root
        if not callable(fn):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        self.submodule_paths = {m: n for n, m in self.root.named_modules()} if is_module else None
        self.root_module_name = type(root).__name__ if is_module else ""
        self.graph = Graph(tracer_cls=type(self))
        self._tensor_paths = dict(_tensors_of(self.root)) if is_module else {}
        self._parameter_proxies, self._kept = {}, []
        values = self._placeholders(fn, concrete_args or {})
        called = _positional(fn)
        global _depth
        with Patcher() as patcher:
            self._patch(patcher, fn)
            _depth += 1
            try:
                result = called(*values)
            finally:
                _depth -= 1
            value = self.create_arg(result)
        returns = inspect.unwrap(called).__annotations__.get("return")
        self.create_node("output", "output", (value,), {}, type_expr=returns)
        self.submodule_paths = None
        return self.graph

    def _patch(self, patcher: Patcher, fn: Callable[..., Any]) -> None:
        tables = {id(t): t for t in self._tables(fn)}
        patch_torch(patcher, tables.values())
        original_call, original_getattr = Module.__call__, Module.__getattr__

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return original_call(module, *args, **kwargs)

            return self.call_module(module, forward, args, kwargs)

        def read(module: Module, name: str) -> Any:
            return self.getattr(name, original_getattr(module, name), self._parameter_proxies)

        patcher.attribute(Module, "__call__", call)
        patcher.attribute(Module, "__getattr__", read)
        seen: set[tuple[int, str]] = set()
        for (where, name), table in _wrapped.items():
            known = name in table or hasattr(sys.modules["builtins"], name)
            if known and (where, name) not in seen:
                seen.add((where, name))
                self._wrap_entry(patcher, table, name)
        # The modules themselves stay as they are: kernels compiled meanwhile take functions from
        # math. The traced code's globals get stand-ins.
        recording = {id(module): self._stand_in(module) for module in self._autowrap_modules}
        for table in tables.values():
            for name, value in list(table.items()):
                if id(value) in self._autowrap_ids:
                    patcher.entry(table, name, recorded(value, "call_function", value))
                elif id(value) in recording:
                    patcher.entry(table, name, recording[id(value)])

    def _stand_in(self, module: Any) -> types.SimpleNamespace:
        """A module's names, its functions recording proxies."""
        held = dict(vars(module))
        for name, value in held.items():
            if id(value) in self._autowrap_ids:
                held[name] = recorded(value, "call_function", value)
        return types.SimpleNamespace(**held)

    @staticmethod
    def _wrap_entry(patcher: Patcher, table: dict[str, Any], name: str) -> None:
        if name in table:
            value = table[name]
            if not getattr(value, "__fx_recorded__", False):
                patcher.entry(table, name, recorded(value, "call_function", value))
            return
        value = getattr(sys.modules["builtins"], name)
        patcher._undo.append(lambda: table.pop(name, None))
        table[name] = recorded(value, "call_function", value)

    def _tables(self, fn: Callable[..., Any]) -> Iterator[dict[str, Any]]:
        """The globals of the user's code that may be traced."""
        functions = [fn, *(type(each).forward for each in self.root.modules())]
        for each in functions:
            found = getattr(inspect.unwrap(each), "__globals__", None)
            home = "" if found is None else str(found.get("__name__", ""))
            if found is not None and not is_ours(home):
                yield found


def _tensors_of(root: Module) -> Iterator[tuple[int, str]]:
    """Identity and dotted path of the tensors that are attributes of a module and its parts."""
    for path, module in root.named_modules():
        prefix = f"{path}." if path else ""
        own = [*module._parameters.items(), *module._buffers.items(), *vars(module).items()]
        for name, value in own:
            if isinstance(value, Tensor):
                yield id(value), prefix + name


def _variables(fn: Any) -> list[str]:
    """The names of the parameters as the code keeps them, `*args` and `**kwargs` last."""
    code = fn.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return list(code.co_varnames[int(inspect.ismethod(fn)) : count])


def _positional(fn: Any) -> Callable[..., Any]:
    """``fn`` as a function of all its parameters by place: a proxy can be `args` itself."""
    bare = getattr(fn, "__func__", fn)
    code = getattr(bare, "__code__", None)
    if code is None or hasattr(bare, "__wrapped__"):
        return typing.cast(Callable[..., Any], fn)
    starred = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    if not (code.co_flags & starred or code.co_kwonlyargcount):
        return typing.cast(Callable[..., Any], fn)
    count = len(_variables(bare))
    plain = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
        co_flags=code.co_flags & ~starred,
    )  # fmt: skip
    made = types.FunctionType(
        plain, bare.__globals__, bare.__name__, bare.__defaults__, bare.__closure__
    )
    return types.MethodType(made, fn.__self__) if inspect.ismethod(fn) else made


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """The GraphModule of a function or module: `GraphModule(root, Tracer().trace(root))`.

    Args:
        concrete_args: values for arguments that are no proxies.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
