"""Quantised operations in a graph.

Observers become levels and numbers again (``quantize_per_tensor``, ``dequantize``); where an
operation stands between numbers and levels, the quantised one takes the place of all three.
"""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import fx

from ._graph_operations import (
    FUNCTIONS,
    PAIRS,
    RELU,
    Kind,
    dynamic_class,
    is_observer,
    kind_of,
    module_of,
    target_of,
)
from .quantization_mappings import DEFAULT_STATIC_QUANT_MODULE_MAPPINGS

__all__ = ["convert_graph"]

_QUANTIZE, _DEQUANTIZE = torch.quantize_per_tensor, "dequantize"


class _Converter:
    """Rewrites the graph of a prepared model in place."""

    def __init__(self, model: Any) -> None:
        self.model, self.graph = model, model.graph
        self._observer: dict[Any, Any] = {}  # of nodes that put numbers on levels
        self._names: dict[Any, str] = {}  # of the same, the prefix of what is kept for them
        self._counts: dict[str, int] = {}

    def run(self) -> Any:
        for node in list(self.graph.nodes):
            if node.op == "call_module" and is_observer(module_of(node, self.model)):
                self._levels_of(node)
        for node in list(self.graph.nodes):
            self._lower(node)
        self.graph.eliminate_dead_code()
        self._parameters()
        for module in self.model.modules():
            for name in ("qconfig", "activation_post_process"):
                if hasattr(module, name):
                    delattr(module, name)
        return fx.GraphModule(self.model, self.graph)

    def _levels_of(self, node: Any) -> None:
        """Put levels, and numbers again, in the place of an observer."""
        observer = module_of(node, self.model)
        with self.graph.inserting_before(node):
            levels = self.graph.call_function(
                _QUANTIZE, (node.args[0], None, None, observer.dtype)
            )
            numbers = self.graph.call_method(_DEQUANTIZE, (levels,))
        self._observer[levels] = observer
        self._names[levels] = self._name_of(node)
        node.replace_all_uses_with(numbers)
        self.graph.erase_node(node)

    def _name_of(self, node: Any) -> str:
        """After what an observer's levels are called: what gives them, or what takes them."""
        given = node.args[0]
        module = module_of(given, self.model)
        kind = kind_of(given, self.model)
        own = kind is not Kind.NONE and not (
            kind is Kind.OWN and module is not None and getattr(module, "qconfig", None) is None
        )
        named = given if own else next(iter(node.users))
        path = named.target if named.op == "call_module" else named.meta.get("place", "")
        prefix = path.replace(".", "_") + "_input" * (not own)
        count = self._counts.get(prefix, 0)
        self._counts[prefix] = count + 1
        return f"{prefix}_{{}}_{count}"

    # --- quantised operations ----------------------------------------------------------------

    def _is_numbers(self, node: Any) -> bool:
        return node.op == "call_method" and node.target == _DEQUANTIZE

    def _levels_after(self, node: Any) -> Any:
        """What puts a node's result on levels, where nothing else uses the result; else None."""
        users = list(node.users)
        return users[0] if len(users) == 1 and users[0] in self._observer else None

    def _inputs(self, node: Any) -> Any:
        """What a node takes from levels; None where it takes anything else."""
        given = [each for each in node.all_input_nodes if each.op != "get_attr"]
        return given if given and all(map(self._is_numbers, given)) else None

    def _lower(self, node: Any) -> None:
        module = module_of(node, self.model)
        known = getattr(module, "qconfig", None) is not None
        if known:
            if not any(map(self._is_numbers, node.all_input_nodes)):
                dynamic = dynamic_class(module)
                if dynamic is not None:
                    self._put(node.target, dynamic.from_float(module))
                return
        kind, inputs = kind_of(node, self.model), self._inputs(node)
        if kind is Kind.NONE or inputs is None:
            return
        if kind is Kind.OWN and module is not None and not known:
            return
        last = node
        if kind is Kind.PAIR and self._levels_after(node) is None:
            following = list(node.users)
            if len(following) != 1 or target_of(following[0], self.model) not in RELU:
                return
            last = following[0]
        levels = self._levels_after(last)
        if levels is None:
            return
        if kind is Kind.OWN and module is not None:
            self._quantized_module(node, module, self._observer[levels])
        elif kind in (Kind.PAIR, Kind.OWN):
            self._quantized_function(node, last, levels, inputs)
            return
        for each in inputs:
            node.replace_input_with(each, each.args[0])
        levels.replace_all_uses_with(node)
        self.graph.erase_node(levels)
        del self._observer[levels]

    def _put(self, path: str, made: Any) -> None:
        parent, _, name = path.rpartition(".")
        setattr(self.model.get_submodule(parent), name, made)

    def _quantized_module(self, node: Any, module: Any, observer: Any) -> None:
        module.activation_post_process = observer
        self._put(
            node.target, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS[type(module)].from_float(module)
        )

    def _quantized_function(self, node: Any, last: Any, levels: Any, inputs: Any) -> None:
        """An operator of ``torch.ops.quantized``, which takes the place of one or two nodes."""
        observer, target = self._observer[levels], target_of(node, self.model)
        with self.graph.inserting_before(levels):
            parameters = self._parameters_of(levels, observer)
            if target in PAIRS:
                name = PAIRS[target] + "_relu" * (last is not node)
                arguments = (*node.args, *parameters)
            else:
                name, first = FUNCTIONS[target]
                rest = _arguments(node, name)
                arguments = (
                    (inputs[0], *parameters, *rest) if first else (inputs[0], *rest, *parameters)
                )
            function = getattr(torch.ops.quantized, name)
            made = self.graph.call_function(function, arguments)
        for each in inputs:
            made.replace_input_with(each, each.args[0])
        levels.replace_all_uses_with(made)
        for each in dict.fromkeys((levels, last, node)):
            if each is levels:
                del self._observer[levels]
            self.graph.erase_node(each)

    # --- scales ------------------------------------------------------------------------------

    def _parameters_of(self, levels: Any, observer: Any) -> list[Any]:
        """Nodes that read the scale and the zero point, which become buffers."""
        found = []
        values = zip(("scale", "zero_point"), observer.calculate_qparams(), strict=True)
        for name, value in values:
            path = self._names[levels].format(name)
            self.model.register_buffer(path, value.reshape(()))
            found.append(self.graph.get_attr(path))
        return found

    def _parameters(self) -> None:
        """Give what puts numbers on levels its scale and zero point."""
        for levels, observer in list(self._observer.items()):
            if not levels.users:  # erased as dead
                continue
            with self.graph.inserting_before(levels):
                kept = self._parameters_of(levels, observer)
            levels.args = (levels.args[0], *kept, levels.args[3])


def _arguments(node: Any, name: str) -> tuple[Any, ...]:
    """The further arguments of a function in the order of its operator."""
    names = {"elu": (("alpha", 1.0),), "hardswish": (),
             "leaky_relu": (("negative_slope", 0.01), ("inplace", False))}[name]  # fmt: skip
    given = dict(zip([each for each, _ in names], node.args[1:], strict=False)) | node.kwargs
    return tuple([given.get(each, usual) for each, usual in names])


def convert_graph(model: Any) -> Any:
    """Put quantised operations in the place of what was observed, in place."""
    return _Converter(model).run()


