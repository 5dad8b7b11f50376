"""Modules that run the code of a graph."""

from __future__ import annotations

import copy
import linecache
from typing import Any

from ..nn.modules.module import Module
from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_compiled = 0


def _forward_of(code: PythonCode) -> Any:
    """The function of generated code; tracebacks show its lines."""
    global _compiled
    name = f"<eval_with_key>.{_compiled}"
    _compiled += 1
    linecache.cache[name] = (len(code.src), None, code.src.splitlines(keepends=True), name)
    space = dict(code.globals)
    exec(compile(code.src, name, "exec"), space)
    return space["forward"]


def _copy_attr(from_module: Any, to_module: Any, target: str) -> None:
    """Give ``to_module`` the submodule, parameter or buffer at a path of ``from_module``."""
    *parts, last = target.split(".")
    for part in parts:
        from_module = getattr(from_module, part)
        if from_module is to_module:
            return
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    value = getattr(from_module, last)
    if last in getattr(from_module, "_buffers", {}):
        persistent = last not in from_module._non_persistent_buffers_set
        to_module.register_buffer(last, value, persistent)
    else:
        setattr(to_module, last, value)


class GraphModule(Module):
    """A module whose ``forward`` is what its graph means.

    Args:
        root: the module that the graph was traced from, or a dictionary of paths.
        graph: it may be edited; call :meth:`recompile` afterwards.
        class_name: what ``repr`` says.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of a class of its own: ``forward`` is the class's."""
        own = type(cls.__name__, (cls,), {}) if "_of_one_graph" not in cls.__dict__ else cls
        own._of_one_graph = True  # type: ignore[attr-defined]
        return super().__new__(own)

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if not isinstance(node.target, str):
                        raise AssertionError(f"target of {node} is no path")
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            self._take(root, graph)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.meta: dict[str, Any] = {}
        self.graph = graph

    def _take(self, given: dict[str, Any], graph: Graph) -> None:
        wanted = {n.target for n in graph.nodes if n.op in ("get_attr", "call_module")}
        for node in graph.nodes:
            if node.target in wanted and node.target not in given:
                raise RuntimeError(
                    f"Node {node} referenced target {node.target} but that target was not "
                    "provided in ``root``!"
                )
        for target in sorted(wanted, key=lambda t: t.count(".")):
            *parts, last = target.split(".")
            holder: Any = self
            for part in parts:
                if not hasattr(holder, part):
                    setattr(holder, part, Module())
                holder = getattr(holder, part)
            setattr(holder, last, given[target])

    @property
    def graph(self) -> Graph:
        found: Graph = self.__dict__["_graph"]
        return found

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    def recompile(self) -> PythonCode:
        """Make ``forward`` anew from the graph."""
        made = self.graph.python_code("self")
        self.__dict__["_code"] = made.src
        type(self).forward = _forward_of(made)  # type: ignore[method-assign]
        return made

    @property
    def code(self) -> str:
        """The Python code of ``forward``."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return str(self.__dict__["_code"])

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code as a method of the class; printed, too."""
        body = "\n".join(f"    {line}" if line else "" for line in self.code.strip().splitlines())
        text = f"class {type(self).__name__}(torch.nn.Module):\n{body}\n"
        if print_output:
            print(text)
        return text

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with plain modules on the way; whether that was possible."""
        *parts, last = target.split(".")
        holder: Any = self
        for part in parts:
            if not hasattr(holder, part):
                setattr(holder, part, Module())
            holder = getattr(holder, part)
            if not isinstance(holder, Module):
                return False
        holder.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take away the module at a path; whether there was one."""
        *parts, last = target.split(".")
        holder: Any = self
        for part in parts:
            holder = getattr(holder, part, None)
            if not isinstance(holder, Module):
                return False
        if not isinstance(getattr(holder, last, None), Module):
            return False
        delattr(holder, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take away the modules that no node calls or reads from."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
                inside = f"{node.target}."
                used |= {name for name, _ in self.named_modules() if name.startswith(inside)}
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        plain = Module()
        memo[id(self)] = plain
        plain.__dict__.update(copy.deepcopy(
            {k: v for k, v in self.__dict__.items() if k not in ("_graph", "_code", "meta")}, memo
        ))  # fmt: skip
        made = GraphModule(plain, copy.deepcopy(self.graph), type(self).__name__)
        made.__dict__.update({k: v for k, v in plain.__dict__.items() if k.startswith("_")})
        made.meta = dict(self.meta)
        memo[id(self)] = made
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> Any:
        raise NotImplementedError(
            "a GraphModule is not pickled in mindtorch: save its state_dict, and trace again"
        )

    def __str__(self) -> str:
        note = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__repr__(), self.code, note])

    __repr__ = Module.__repr__


