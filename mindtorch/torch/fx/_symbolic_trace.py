"""Symbolic tracing: a function runs once on proxies, and what it does becomes a graph."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._namespaces import is_ours, replaced
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

# functions to be left as one call: (globals of the module that asked for it, name)
_wrapped: list[tuple[dict[str, Any], str]] = []
_tracing = 0


def is_fx_tracing() -> bool:
    """Whether a tracer runs now."""
    return _tracing > 0


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Leave a function of the calling module as one call in graphs; at the top of that module.

    Raises:
        RuntimeError: neither a function nor the name of one.
        NotImplementedError: not at the top of a module.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped.append((caller.f_globals, name))
    return fn_or_name


def _has_proxy(args: Any, kwargs: Any) -> bool:
    found = False

    def look(a: Any) -> Any:
        nonlocal found
        found = found or isinstance(a, Proxy)
        return a

    map_aggregate((args, kwargs), look)
    return found


class Tracer(TracerBase):
    """Traces a module or function; subclasses decide what is left as one call.

    Args:
        autowrap_modules, autowrap_functions: modules whose functions, and functions, that are left
            as one call where they are given proxies.
    """

    def __init__(
        self, autowrap_modules: Any = (), autowrap_functions: Any = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self._further = {f.__name__: f for f in autowrap_functions}
        for module in autowrap_modules:
            self._further.update({
                k: v for k, v in vars(module).items() if isinstance(v, types.FunctionType)
            })  # fmt: skip
        self.root: Any = None
        self.tensor_attrs: dict[int, str] = {}
        self._parameter_proxies: dict[str, Proxy] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Modules of torch.nn, save Sequential, are one call each."""
        inside = m.__module__.removeprefix("mindtorch.").startswith(("torch.nn", "torch.ao.nn"))
        return inside and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Where in the root a module is; NameError when it is not there."""
        for name, module in self.root.named_modules():
            if module is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """A node for a leaf, the module's own operations for any other."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        self._visit_globals(m)
        return forward(*args, **kwargs)

    def _one_argument(self, a: Any) -> Any:
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, EngineTensor):
            return self._tensor_argument(a)
        return a

    def _tensor_argument(self, a: Any) -> Node:
        if isinstance(a, Parameter):
            for name, p in self.root.named_parameters():
                if p is a:
                    return self.create_node("get_attr", name, (), {}, name.replace(".", "_"))
            raise NameError("parameter is not a member of this module")
        name = self.tensor_attrs.get(id(a))
        if name is None:
            i = 0
            while hasattr(self.root, f"_tensor_constant{i}"):
                i += 1
            name = f"_tensor_constant{i}"
            self.tensor_attrs[id(a)] = name
            setattr(self.root, name, a)
        return self.create_node("get_attr", name, (), {}, name.replace(".", "_"))

    # --- running -----------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's ``forward`` or of a function.

        Args:
            concrete_args: arguments that are these values instead of proxies.
        """
        global _tracing
        if isinstance(root, Module):
            self.root = root
            function: Any = type(root).forward
        else:
            self.root, function = Module(), root
        self.tensor_attrs = dict(self._tensors_of(self.root))
        self._parameter_proxies = {}
        self.graph = Graph(tracer_cls=type(self))
        wrapped = {name: place.get(name) for place, name in _wrapped}
        places = [place for place, _ in _wrapped]
        further = {**self._further, **{k: v for k, v in wrapped.items() if v is not None}}
        _tracing += 1
        try:
            with replaced(self._seeing_proxies, places, further) as self._visit:
                self._visit_globals(root)
                args = self._arguments(function, isinstance(root, Module), concrete_args or {})
                result = self._run(function, args)
                annotation = getattr(function, "__annotations__", {}).get("return")
                annotation = None if is_ours(function) else annotation
                self.create_node(
                    "output", "output", (self.create_arg(result),), {}, type_expr=annotation
                )
        finally:
            _tracing -= 1
        return self.graph

    @staticmethod
    def _tensors_of(root: Module) -> Any:
        for prefix, module in root.named_modules():
            held = {**vars(module), **module._buffers}
            for name, value in held.items():
                if isinstance(value, EngineTensor) and not isinstance(value, Parameter):
                    yield id(value), f"{prefix}.{name}" if prefix else name

    def _visit_globals(self, owner: Any) -> None:
        """Replace functions in the globals of the code that is about to run."""
        function = type(owner).forward if isinstance(owner, Module) else owner
        function = inspect.unwrap(function)
        if hasattr(function, "__globals__") and not is_ours(function):
            self._visit(function.__globals__)

    def _run(self, function: Any, args: list[Any]) -> Any:
        owner: Any = Module
        own_call, own_getattr = owner.__call__, owner.__getattr__
        tracer = self

        @functools.wraps(own_call)
        def call(module: Any, *a: Any, **k: Any) -> Any:
            if not _has_proxy(a, k):
                return own_call(module, *a, **k)
            return tracer.call_module(
                module, lambda *x, **y: own_call(module, *x, **y), a, k
            )

        def attribute(module: Any, name: str) -> Any:
            return tracer._attribute(own_getattr(module, name))

        owner.__call__, owner.__getattr__ = call, attribute
        try:
            return function(*args)
        finally:
            owner.__call__, owner.__getattr__ = own_call, own_getattr

    def _attribute(self, value: Any) -> Any:
        """A proxy in the place of a parameter or buffer of the root."""
        if isinstance(value, Parameter):
            for name, p in self.root.named_parameters():
                if p is value:
                    if name not in self._parameter_proxies:
                        self._parameter_proxies[name] = self.create_proxy(
                            "get_attr", name, (), {}, name.replace(".", "_")
                        )
                    return self._parameter_proxies[name]
        if isinstance(value, EngineTensor) and id(value) in self.tensor_attrs:
            return self.proxy(self._tensor_argument(value))
        return value

    def _arguments(self, function: Any, bound: bool, concrete: dict[str, Any]) -> list[Any]:
        """A proxy for each parameter of the function; those that are given are constants."""
        plain = inspect.unwrap(function)
        code, defaults = plain.__code__, plain.__defaults__ or ()
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        args: list[Any] = [self.root] if bound else []
        keyword_only = plain.__kwdefaults__ or {}
        first_default = code.co_argcount - len(defaults)
        for i, name in enumerate(names):
            if bound and i == 0:
                continue
            default = defaults[i - first_default] if first_default <= i < code.co_argcount else (
                keyword_only.get(name, ...)
            )
            kind = None if is_ours(plain) else getattr(plain, "__annotations__", {}).get(name)
            given = () if default is ... else (default,)
            proxy = self.create_proxy("placeholder", name, given, {}, type_expr=kind)
            args.append(concrete.get(name, proxy))
        if code.co_kwonlyargcount or code.co_flags & inspect.CO_VARARGS | (
            code.co_flags & inspect.CO_VARKEYWORDS
        ):
            raise NotImplementedError(
                "functions with *args, **kwargs or arguments by keyword only are not traced in "
                "mindtorch: name the arguments"
            )
        return args

    def _seeing_proxies(self, function: Any) -> Any:
        tracer = self

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not _has_proxy(args, kwargs):
                return function(*args, **kwargs)
            return tracer.create_proxy("call_function", function, args, kwargs)

        return call


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module or function as a :class:`GraphModule`: its operations as a graph that can be edited.

    Args:
        concrete_args: arguments that are these values; they stay in the signature, unused.

    Raises:
        TraceError: control flow depends on a proxy's value.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


