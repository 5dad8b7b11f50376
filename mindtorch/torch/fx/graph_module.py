"""Modules whose `forward` is the code of a graph."""

from __future__ import annotations

import copy
import linecache
from typing import Any

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.nn.modules.module import Module
from mindtorch.torch.nn.parameter import Parameter

from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_made = [0]


class _CodeOnlyModule(Module):
    """A module with the given attributes and no `forward`."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__.update(body)


def _compiled(code: PythonCode) -> Any:
    """The function `forward`; tracebacks show its lines."""
    _made[0] += 1
    filename = f"<eval_with_key>.{_made[0]}"
    linecache.cache[filename] = (len(code.src), None, code.src.splitlines(True), filename)
    namespace = dict(code.globals)
    exec(compile(code.src, filename, "exec"), namespace)
    return namespace["forward"]


def _walk(holder: Any, path: str, make: bool) -> tuple[Any, str]:
    """The object that has the last part of a dotted path, and that part."""
    *parents, last = path.split(".")
    for part in parents:
        found = getattr(holder, part, None)
        if found is None and make:
            found = Module()
            setattr(holder, part, found)
        holder = found
    return holder, last


def copy_attribute(from_module: Module, to_module: Module, target: str) -> None:
    """Let ``to_module`` have what stands at a dotted path in ``from_module``; the same object."""
    source, last = _walk(from_module, target, make=False)
    value = getattr(source, last)
    holder, _ = _walk(to_module, target, make=True)
    if last in getattr(source, "_buffers", {}):
        holder.register_buffer(last, value, last not in source._non_persistent_buffers_set)
    elif isinstance(value, Module) or not isinstance(value, Parameter):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            holder.register_buffer(last, value)
        else:
            setattr(holder, last, value)
    else:
        setattr(holder, last, value)


_copy_attr = copy_attribute  # torch's name for it


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """Set what stands at a dotted path; a tensor becomes a buffer."""
    holder, last = _walk(to_module, target, make=True)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        holder.register_buffer(last, value)
    else:
        setattr(holder, last, value)


class GraphModule(Module):
    """A module that runs a graph. It has the parts of ``root`` that the graph names, no more.

    Args:
        root: a module, or a dict of what the graph's paths stand for.
        graph: `forward` is made from it; after changing it call `recompile()`.
        class_name: the name of its class, each instance having one of its own.

    Raises:
        RuntimeError: the graph names what a dict does not have.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        base = next(each for each in cls.__mro__ if "_of_one_instance" not in vars(each))
        body = {"__module__": base.__module__, "_of_one_instance": True}
        own = type("GraphModuleImpl", (base,), body)
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        ordered = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = root.training
            for path in dict.fromkeys(str(each) for each in ordered):
                _copy_attr(root, self, path)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and str(node.target) not in root:
                    raise RuntimeError(
                        f"Node {node} referenced target {node.target} but that target was not "
                        "provided in ``root``!"
                    )
            for path in sorted(dict.fromkeys(map(str, ordered)), key=lambda each: each.count(".")):
                _assign_attr(root[path], self, path)
        else:
            raise RuntimeError("Unsupported type " + str(root) + " passed for root!")
        self.meta: dict[str, Any] = {}
        self._tracer_cls = graph._tracer_cls
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph that `forward` was made from; assigning one makes it anew."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of `forward`."""
        return self._code

    def recompile(self) -> PythonCode:
        """Make `forward` from the graph as it is now."""
        code = self._graph.python_code("self")
        self._code = code.src
        type(self).forward = _compiled(code)  # type: ignore[method-assign]
        return code

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a dotted path; False where something else is in the way."""
        *parents, last = target.split(".")
        holder: Any = self
        for part in parents:
            if not hasattr(holder, part):
                setattr(holder, part, Module())
            holder = getattr(holder, part)
            if not isinstance(holder, Module):
                return False
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take the module at a dotted path away; False where there is none."""
        holder, last = _walk(self, target, make=False)
        if not isinstance(getattr(holder, last, None), Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take the modules away that no node calls or reads from."""
        used: set[str] = set()
        for node in self._graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used |= {".".join(parts[: n + 1]) for n in range(len(parts))}
        called = [str(n.target) for n in self._graph.nodes if n.op == "call_module"]
        for name, _ in list(self.named_modules()):
            inside = any(name.startswith(f"{path}.") for path in called)
            if name and name not in used and not inside:
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The source under a class head; printed too. torch's printing options raise TypeError."""
        if options:
            raise TypeError(f"print_readable: {', '.join(options)} are not available in mindtorch")
        lines = self._code.strip("\n").rstrip().splitlines()
        body = "\n".join(f"    {line}" for line in lines)
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: Any) -> GraphModule:
        parts = Module()
        memo[id(self)] = parts
        skipped = ("_graph", "_code")
        state = {k: v for k, v in vars(self).items() if k not in skipped}
        parts.__dict__.update(copy.deepcopy(state, memo))
        result = _rebuilt(
            type(self), parts.__dict__, copy.deepcopy(self._graph), type(self).__name__
        )
        memo[id(self)] = result
        return result

    def __copy__(self) -> GraphModule:
        state = {k: v for k, v in vars(self).items() if k not in ("_graph", "_code")}
        return _rebuilt(type(self), dict(state), copy.deepcopy(self._graph), type(self).__name__)

    def __reduce__(self) -> Any:
        """The state, and the graph as a list of its nodes: functions are kept by their names."""
        state = {k: v for k, v in vars(self).items() if k not in ("_graph", "_code")}
        base = next(each for each in type(self).__mro__ if "_of_one_instance" not in vars(each))
        return _unpickled, (base, state, self._graph.listed(), type(self).__name__)

    def __str__(self) -> str:
        return "\n".join([super().__repr__(), self._code, _FOOTER])


_FOOTER = "# To see more debug info, please use `graph_module.print_readable()`"


def _unpickled(cls: Any, state: dict[str, Any], listed: Any, name: str) -> GraphModule:
    """A GraphModule of what its pickle holds."""
    return _rebuilt(cls, state, Graph.of_list(*listed), name)


def _rebuilt(cls: Any, state: dict[str, Any], graph: Graph, name: str) -> GraphModule:
    result: GraphModule = cls.__new__(cls)
    result.__dict__.update(state)
    type(result).__name__ = name
    result.graph = graph
    return result


_give_reasons(globals())
