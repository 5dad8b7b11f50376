"""What the converter does to a graph. Each pass returns how many nodes it changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.exporting.batch_norm import scaled

from .graph import LiteGraph, LiteNode, Then

__all__ = ["PASSES", "run_passes"]

_PRODUCTS = ("convolution", "linear")
# elementwise ops that are computed in the place of a product's result
_ACTIVATIONS = frozenset((
    "relu", "clamp", "clamp_min", "clamp_max", "hardtanh", "sigmoid", "tanh", "silu", "hardswish",
    "hardsigmoid", "gelu", "gelu_tanh", "leaky_relu", "elu", "mish", "softplus",
))  # fmt: skip


def _data(graph: LiteGraph, place: int | None) -> Any:
    return None if place is None else graph.tensors[place].data


def products_of_constants(graph: LiteGraph) -> int:
    """``matmul(x, w)`` with a constant matrix becomes ``linear(x, w^T)``, which takes a bias."""
    count = 0
    for node in graph.nodes:
        if node.op != "matmul":
            continue
        x, weight = node.inputs
        held = _data(graph, weight)
        if x is None or weight is None or held is None or held.ndim != 2:
            continue
        if len(graph.tensors[x].shape) < 1 or graph.tensors[x].dtype != "float32":
            continue
        name = f"{graph.tensors[weight].name} (transposed)"  # `Model.update_weights` asks by names
        turned = graph.constant(name, np.ascontiguousarray(held.T))
        node.op, node.inputs = "linear", (x, turned, None)
        count += 1
    return count


def fuse_bias(graph: LiteGraph) -> int:
    """The constant that is added to a product or convolution without bias becomes its bias."""
    uses = graph.uses()
    makers = {i: node for node in graph.nodes for i in node.outputs}
    gone: set[int] = set()
    for node in graph.nodes:
        if node.op != "add" or node.params or len(node.inputs) != 2:
            continue
        for x, other in (node.inputs, node.inputs[::-1]):
            before = None if x is None else makers.get(x)
            bias = _data(graph, other)
            if before is None or bias is None or uses[before.outputs[0]] != 1:
                continue
            if before.op not in _PRODUCTS or before.inputs[2] is not None or before.then:
                continue
            flat = _as_bias(graph, before, bias)
            if flat is None:
                continue
            place = graph.constant(graph.tensors[other or 0].name, flat)
            before.inputs = (*before.inputs[:2], place)
            before.outputs, gone = node.outputs, gone | {id(node)}
            makers[node.outputs[0]] = before
            break
    graph.nodes = [node for node in graph.nodes if id(node) not in gone]
    return len(gone)


def _as_bias(graph: LiteGraph, node: LiteNode, bias: np.ndarray) -> np.ndarray | None:
    """A constant as one number for each channel of a node; None where it is none."""
    weight = _data(graph, node.inputs[1])
    if weight is None or weight.dtype != bias.dtype:
        return None
    channels, rank = weight.shape[0], len(graph.tensors[node.outputs[0]].shape)
    behind = rank - 2 if node.op == "convolution" else 0
    shape = (1,) * (rank - bias.ndim) + bias.shape
    wanted = (*(1,) * (rank - behind - 1), channels, *(1,) * behind)
    return bias.reshape(channels) if shape == wanted else None


def fold_batch_norms(graph: LiteGraph) -> int:
    """The batch norm after a convolution (or a product of a matrix) becomes part of its weight and
    bias, which are computed in float64 and rounded once."""
    uses = graph.uses()
    makers = {i: node for node in graph.nodes for i in node.outputs}
    gone: set[int] = set()
    for node in graph.nodes:
        before = makers.get(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        if node.op != "batch_norm_inference" or before is None or before.op not in _PRODUCTS:
            continue
        if uses[before.outputs[0]] != 1 or before.then:
            continue
        if before.op == "linear" and len(graph.tensors[node.outputs[0]].shape) != 2:
            continue  # its channels are not those that the product makes
        _, gamma, beta, mean, variance = node.inputs
        given = (before.inputs[1], before.inputs[2], mean, variance, gamma, beta)
        if any(i is not None and _data(graph, i) is None for i in given):
            continue
        wide = [None if i is None else _data(graph, i).astype(np.float64) for i in given]
        kernel, moved = scaled(wide[0], wide[1], wide[2:], node.params["eps"])
        old = graph.tensors[before.inputs[1] or 0]
        dtype = _data(graph, before.inputs[1]).dtype
        stem, by = old.name.removesuffix(".weight"), "(with its batch norm)"
        before.inputs = (
            before.inputs[0], graph.constant(f"{old.name} {by}", kernel.astype(dtype)),
            graph.constant(f"{stem}.bias {by}", moved.astype(dtype)),
        )  # fmt: skip
        before.outputs = node.outputs
        makers[node.outputs[0]] = before
        gone.add(id(node))
    graph.nodes = [node for node in graph.nodes if id(node) not in gone]
    return len(gone)


def fold_padding(graph: LiteGraph) -> int:
    """Zeros around a convolution's images become its own padding, where both sides are equal."""
    uses = graph.uses()
    makers = {i: node for node in graph.nodes for i in node.outputs}
    count = 0
    for node in graph.nodes:
        x = node.inputs[0] if node.inputs else None
        before = None if x is None else makers.get(x)
        if node.op != "convolution" or before is None or before.op != "constant_pad_nd":
            continue
        if not np.array_equal(_data(graph, before.inputs[1]), 0):
            continue
        pads = _even_padding(before.params["padding"], len(node.params["padding"]))
        if pads is None or uses[before.outputs[0]] != 1:
            continue
        node.inputs = (before.inputs[0], *node.inputs[1:])
        own = node.params["padding"]
        summed = tuple(p + q for p, q in zip(own, pads, strict=True))
        node.params = {**node.params, "padding": summed}
        count += 1
    return count


def _even_padding(pads: Any, spatial: int) -> tuple[int, ...] | None:
    """For each spatial axis how many zeros are on either side; None where it is not so."""
    if any(n != m for n, m in pads) or any(n for n, _ in pads[:-spatial]):
        return None
    found = tuple(n for n, _ in pads[-spatial:])
    return found if min(found) >= 0 else None


def recognise_activations(graph: LiteGraph) -> int:
    """What other systems' files write in several nodes becomes one: ``clamp(x / 6 + 1/2, 0, 1)``,
    and a value times its sigmoid or hardsigmoid."""
    uses = graph.uses()
    makers = {i: node for node in graph.nodes for i in node.outputs}
    count = 0
    for node in graph.nodes:
        if node.op == "clamp" and not node.params:
            x = _sixth(graph, node, makers, uses)
            if x is not None:
                node.op, node.inputs = "hardsigmoid", (x,)
                count += 1
        elif node.op == "multiply" and not node.params and len(node.inputs) == 2:
            for x, other in (node.inputs, node.inputs[::-1]):
                part = None if other is None else makers.get(other)
                if part is None or part.op not in _GATES or part.inputs != (x,) or part.params:
                    continue
                if graph.tensors[x or 0].dtype != "float32":
                    continue
                node.op, node.inputs = _GATES[part.op], (x,)
                count += 1
                break
    if count:
        _drop_unread(graph)
    return count


_GATES = {"sigmoid": "silu", "hardsigmoid": "hardswish"}


def _sixth(graph: LiteGraph, node: LiteNode, makers: Any, uses: Any) -> int | None:
    """The x of ``clamp(x / 6 + 1/2, 0, 1)``; None for other nodes."""
    x, *limits = node.inputs
    if [_number(graph, i) for i in limits] != [0, 1] or graph.tensors[x or 0].dtype != "float32":
        return None
    for op, wanted in (("add", 0.5), ("multiply", float(np.float32(1 / 6)))):
        before = None if x is None else makers.get(x)
        if before is None or before.op != op or before.params or uses[x] != 1:
            return None
        numbers = [_number(graph, i) for i in before.inputs]
        if [number for number in numbers if number is not None] != [wanted]:
            return None
        x = before.inputs[numbers.index(None)]
    return x


def _number(graph: LiteGraph, place: int | None) -> float | None:
    """The one element of a constant of no axes, as float32 has it; None for what is none."""
    held = _data(graph, place)
    return float(np.float32(held)) if held is not None and held.ndim == 0 else None


def _drop_unread(graph: LiteGraph) -> None:
    """Nodes whose results nobody reads any more."""
    needed, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            needed.update(node.reads())
            kept.append(node)
    graph.nodes = kept[::-1]


def fuse_activations(graph: LiteGraph) -> int:
    """An elementwise op after a product or convolution is computed in the same place."""
    uses = graph.uses()
    makers = {i: node for node in graph.nodes for i in node.outputs}
    gone: set[int] = set()
    for node in graph.nodes:
        if node.op not in _ACTIVATIONS or node.inputs[0] is None or len(node.outputs) != 1:
            continue
        x = node.inputs[0]
        before = makers.get(x)
        if before is None or before.op not in _PRODUCTS or uses[x] != 1 or before.then:
            continue
        rest = node.inputs[1:]
        if any(i is None or _data(graph, i) is None or graph.tensors[i].shape for i in rest):
            continue
        if graph.tensors[node.outputs[0]].dtype != graph.tensors[x].dtype:
            continue
        step = Then(node.op, (-1, *[i for i in rest if i is not None]), node.params)
        before.then, before.outputs = (step,), node.outputs
        makers[node.outputs[0]] = before
        gone.add(id(node))
    graph.nodes = [node for node in graph.nodes if id(node) not in gone]
    return len(gone)


def drop_unused(graph: LiteGraph) -> int:
    """Nodes whose results nobody reads, and tensors that nothing names."""
    before = len(graph.nodes)
    _drop_unread(graph)
    dropped = before - len(graph.nodes)
    needed = {i for node in graph.nodes for i in node.reads()} | set(graph.outputs)
    needed.update(graph.inputs, *[node.outputs for node in graph.nodes])
    order = [i for i in range(len(graph.tensors)) if i in needed]
    at = {old: new for new, old in enumerate(order)}
    graph.tensors = [graph.tensors[i] for i in order]
    graph.inputs = [at[i] for i in graph.inputs]
    graph.outputs = [at[i] for i in graph.outputs]
    for node in graph.nodes:
        node.inputs = tuple(None if i is None else at[i] for i in node.inputs)
        node.outputs = tuple(at[i] for i in node.outputs)
        node.then = tuple(
            Then(t.op, tuple(-1 if i < 0 else at[i] for i in t.inputs), t.params)
            for t in node.then
        )
    return dropped


PASSES = (
    products_of_constants, fuse_bias, fold_batch_norms, fold_padding, recognise_activations,
    fuse_activations, drop_unused,
)  # fmt: skip


def run_passes(graph: LiteGraph) -> dict[str, int]:
    """Run them all; how many nodes each changed."""
    return {each.__name__: each(graph) for each in PASSES}
