"""Programs as code to be read, with the types and shapes of what nodes give."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._subclasses.fake_tensor import FakeTensor
from mindtorch.torch.fx.graph_module import GraphModule

from ._symbols import SymInt

__all__ = ["readable"]

_SHORT = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8",
    "complex64": "c64", "complex128": "c128", "complex32": "c32", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}  # fmt: skip


def _type(value: Any) -> str:
    if isinstance(value, FakeTensor):
        return f': "{_SHORT[value.dtype.name]}[{", ".join(map(str, value.shape))}]"'
    return f': "Sym({value})"' if isinstance(value, SymInt) else ""


def readable(module: GraphModule) -> str:
    """The code of a graph's forward, and of the graphs that it calls.

    """
    return "\n".join(_lines(module, "GraphModule"))


def _lines(module: GraphModule, name: str) -> list[str]:
    nodes = {node.name: node for node in module.graph.nodes}
    made = [f"class {name}(torch.nn.Module):"]
    for line in module.code.strip().splitlines():
        text = line.rstrip()
        if text.startswith("def forward("):
            placeholders = module.graph.find_nodes(op="placeholder")
            given = [f"{n.name}{_type(n.meta.get('val'))}" for n in placeholders]
            text = f"def forward({', '.join(['self', *given])}):"
        elif not text:
            continue
        else:
            text = _typed(text, nodes)
        made.append(f"    {text}")
    for each in module.graph.find_nodes(op="get_attr"):
        inner = getattr(module, str(each.target), None)
        if isinstance(inner, GraphModule):
            made += ["", *[f"    {line}" for line in _lines(inner, str(each.target))]]
    return made


def _typed(line: str, nodes: dict[str, Any]) -> str:
    """A statement with the type of what it computes."""
    name, sign, rest = line.partition(" = ")
    node = nodes.get(name.strip())
    return line if node is None or not sign else f"{name}{_type(node.meta.get('val'))} = {rest}"
