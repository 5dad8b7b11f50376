"""Python code for a graph."""

from __future__ import annotations

import keyword
import math
import operator
import typing
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch.torch as torch
from mindtorch._module_names import is_ours
from mindtorch.engine.devices.device import Device

from ._names import NameSpace, is_builtin, qualified_name, torch_name
from .node import Node, map_arg

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["PythonCode", "generate"]

_UNARY = {operator.neg: "-{}", operator.pos: "+{}", operator.invert: "~{}"}
_BINARY = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}",
    operator.truediv: "{} / {}", operator.floordiv: "{} // {}", operator.mod: "{} % {}",
    operator.pow: "{} ** {}", operator.matmul: "{} @ {}", operator.lshift: "{} << {}",
    operator.rshift: "{} >> {}", operator.and_: "{} & {}", operator.or_: "{} | {}",
    operator.xor: "{} ^ {}", operator.eq: "{} == {}", operator.ne: "{} != {}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}",
    operator.ge: "{} >= {}", operator.getitem: "{}[{}]",
}  # fmt: skip
_IN_PLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
    operator.ifloordiv: "//=", operator.imod: "%=", operator.ipow: "**=", operator.imatmul: "@=",
    operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=", operator.ilshift: "<<=",
    operator.irshift: ">>=",
}  # fmt: skip


class PythonCode(NamedTuple):
    """The source of `forward`, and what its global names stand for."""

    src: str
    globals: dict[str, Any]


class _Writer:
    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals: dict[str, Any] = {
            "torch": torch,
            "inf": math.inf,
            "nan": math.nan,
            "NoneType": type(None),
            "device": Device,
        }
        self.names = NameSpace()
        self.wrapped: list[str] = []
        for node in graph.nodes:
            self.names.create(node.name, node)

    def global_name(self, value: Any) -> str:
        """A name for a function or type; what it stands for goes to the globals."""
        found = torch_name(value)
        if found is not None and value is not self.globals["device"]:
            return found
        if is_builtin(value):
            return str(value.__name__)
        name = self.names.create(qualified_name(value), value)
        self.globals[name] = value
        return name

    def text(self, value: Any) -> str:
        """An argument as Python writes it."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple):
            inner = ", ".join(self.text(each) for each in value)
            inner = f"({inner},)" if len(value) == 1 else f"({inner})"
            if hasattr(value, "_fields"):
                return f"{self.global_name(type(value))}{inner if value else '()'}"
            return inner
        if isinstance(value, list):
            return f"[{', '.join(self.text(each) for each in value)}]"
        if isinstance(value, dict):
            pairs = (f"{key!r}: {self.text(each)}" for key, each in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, slice):
            parts = (self.text(each) for each in (value.start, value.stop, value.step))
            return f"slice({', '.join(parts)})"
        if isinstance(value, type) or (callable(value) and hasattr(value, "__name__")):
            return self.global_name(value)
        if is_ours(type(value).__module__) and hasattr(value, "name"):
            shown = torch_name(value)
            return repr(value) if shown is None else shown
        return repr(value)

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        shown = [self.text(each) for each in args]
        return ", ".join(shown + [f"{key} = {self.text(v)}" for key, v in kwargs.items()])

    def annotation(self, node: Node) -> str:
        shown = self.annotated(node.type)
        return f" : {shown}" if shown else ""

    def annotated(self, kind: Any) -> str:
        """A plain type as the code names it; nothing for generic types and for texts."""
        if kind is None or isinstance(kind, str) or typing.get_origin(kind) is not None:
            return ""
        return self.global_name(kind)

    def call(self, node: Node) -> str:
        """The right side of a `call_function`."""
        target: Any = node.target
        given = [self.text(each) for each in node.args]
        if not node.kwargs and len(given) == 1 and target in _UNARY:
            return _UNARY[target].format(*given)
        if not node.kwargs and len(given) == 2 and target in _BINARY:
            return _BINARY[target].format(*given)
        if target is getattr and len(node.args) == 2 and _is_identifier(node.args[1]):
            return f"{given[0]}.{node.args[1]}"
        name = self.global_name(target)
        if name in self.globals and getattr(target, "__module__", "") != "_operator":
            self.wrapped.append(name)
        return f"{name}({self.arguments(node.args, node.kwargs)})"

    def statement(self, node: Node) -> str:
        """The line for a node that is no placeholder."""
        if node.op == "output":
            return f"return {self.text(node.args[0])}"
        head = f"{node.name}{self.annotation(node)} = "
        if node.op == "call_function":
            if node.target in _IN_PLACE and len(node.args) == 2 and not node.kwargs:
                left, right = (self.text(each) for each in node.args)
                return f"{left} {_IN_PLACE[node.target]} {right};  {head}{left}"
            return head + self.call(node)
        if node.op == "call_method":
            owner = self.text(node.args[0])
            shown = f"({owner})" if not isinstance(node.args[0], Node) else owner
            return f"{head}{shown}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        path = _path(self.root, str(node.target))
        if node.op == "get_attr":
            return head + path
        return f"{head}{path}({self.arguments(node.args, node.kwargs)})"


def _is_identifier(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


def _path(root: str, target: str) -> str:
    for part in target.split("."):
        root = f"{root}.{part}" if _is_identifier(part) else f'getattr({root}, "{part}")'
    return root


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """For each node the ones that nobody needs after it, itself included when nobody uses it."""
    last: dict[Node, Node] = {}
    result: dict[Node, list[Node]] = {}
    for node in reversed(graph.nodes):

        def note(used: Node, node: Node = node) -> Node:
            if used not in last:
                last[used] = node
                result.setdefault(node, []).append(used)
            return used

        map_arg(node.args, note)
        map_arg(node.kwargs, note)
        if node not in last and node.op not in ("placeholder", "output"):
            last[node] = node
            result.setdefault(node, []).append(node)
    return result


def generate(graph: Graph, root_module: str = "self") -> PythonCode:
    """A function `forward` that does what the graph says; results are freed after their last use.

    Args:
        root_module: what the code calls the module.
    """
    writer = _Writer(graph, root_module)
    unused = _last_uses(graph)
    parameters: list[str] = []
    before: list[str] = []
    lines: list[str] = []
    returns = ""
    for node in graph.nodes:
        if node.op == "placeholder":
            default = f" = {writer.text(node.args[0])}" if node.args else ""
            target = str(node.target)
            parameters.append(f"{target}{writer.annotation(node)}{default}")
            if target.lstrip("*") != node.name:
                before.append(f"    {node.name} = {target.lstrip('*')}\n")
            continue
        line = writer.statement(node)
        if node.op == "output":
            shown = writer.annotated(node.type)
            returns = f" -> {shown}" if shown else ""
        else:
            freed = [each.name for each in unused.get(node, [])]
            line += f";  {' = '.join([*freed, 'None'])}" if freed else ""
        lines.append(f"    {line}\n")
    wraps = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in dict.fromkeys(writer.wrapped)]
    head = "\n" + "\n".join(wraps) + "\n" if wraps else "\n\n"
    signature = ", ".join([root_module, *parameters])
    body = "".join(before + lines) or "    pass\n"
    source = f"{head}\ndef forward({signature}){returns}:\n{body}    "
    return PythonCode(source, writer.globals)
