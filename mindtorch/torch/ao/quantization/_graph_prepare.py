"""Observers in a graph."""

from __future__ import annotations

import re
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import fx, nn
from mindtorch.torch.ao.nn import quantized as nnq

from ._graph_fusion import fuse_graph
from ._graph_operations import (
    KNOWN,
    PAIRS,
    RELU,
    Kind,
    dynamic_class,
    first_class,
    is_observer,
    key_of,
    kind_of,
    module_of,
    target_of,
)
from .fake_quantize import FixedQParamsFakeQuantize
from .qconfig_mapping import QConfigMapping
from .quantization_mappings import DEFAULT_QAT_MODULE_MAPPINGS

__all__ = ["prepare_graph", "traced"]


class QuantizationTracer(fx.Tracer):
    """Notes in which module a call stands; modules that are named are not traced into.

    Args:
        skipped_module_names, skipped_module_classes: they.
    """

    def __init__(self, skipped_module_names: Any = (), skipped_module_classes: Any = ()) -> None:
        super().__init__()
        self.skipped_module_names = list(skipped_module_names)
        self.skipped_module_classes = tuple(skipped_module_classes)
        self._places = [""]
        self.places: dict[str, str] = {}

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        return (
            super().is_leaf_module(m, module_qualified_name)
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
        ) and not isinstance(m, nnq.FXFloatFunctional)

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        self._places.append(self.path_of_module(m))
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self._places.pop()

    def create_node(self, *args: Any, **kwargs: Any) -> Any:
        node = super().create_node(*args, **kwargs)
        self.places[node.name] = self._places[-1]
        return node


def _without_observers(model: Any) -> None:
    """FloatFunctional, which a graph has no place for, as its functions alone."""
    for name, child in model.named_children():
        if isinstance(child, nnq.FloatFunctional):
            setattr(model, name, nnq.FXFloatFunctional())
        else:
            _without_observers(child)


def traced(model: Any, names: Any = (), classes: Any = ()) -> Any:
    """A model's graph; each node's ``meta["place"]`` is the module in which it stands."""
    _without_observers(model)
    tracer = QuantizationTracer(names, classes)
    graph = tracer.trace(model)
    made = fx.GraphModule(model, graph)
    for node in made.graph.nodes:
        node.meta["place"] = tracer.places.get(node.name, "")
    return made


def _qconfig_of(node: Any, model: Any, mapping: QConfigMapping) -> Any:
    """The configuration of a node, the more special ones winning."""
    module = module_of(node, model)
    kind = first_class(module) if module is not None else target_of(node, model)
    place = node.target if module is not None else node.meta.get("place", "")
    found = mapping.global_qconfig
    for known, qconfig in mapping.object_type_qconfigs.items():
        if key_of(known) == kind:
            found = qconfig
    for pattern, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(pattern, place):
            found = qconfig
            break
    path = place
    while path:
        if path in mapping.module_name_qconfigs:
            found = mapping.module_name_qconfigs[path]
            break
        path = path.rpartition(".")[0]
    where = node.meta.get("place", "").rpartition(".")[0] if module is not None else place
    for (path, known, count), qconfig in mapping.module_name_object_type_order_qconfigs.items():
        if (path, key_of(known), count) == (where, kind, node.meta.get("count", 0)):
            found = qconfig
    return found


def _count_calls(model: Any) -> None:
    """Note of each node the how-manieth call of its kind in its module it is."""
    seen: dict[Any, int] = {}
    for node in model.graph.nodes:
        if node.op.startswith("call"):
            module = module_of(node, model)
            place = node.target.rpartition(".")[0] if module is not None else node.meta["place"]
            key = (place, first_class(module) if module is not None else node.target)
            node.meta["count"] = seen.get(key, 0)
            seen[key] = node.meta["count"] + 1


class _Inserter:
    """Puts observers into a graph.

    Attributes:
        observers: of observed nodes, the nodes that observe them.
    """

    def __init__(self, model: Any, mapping: QConfigMapping, is_qat: bool) -> None:
        self.model, self.mapping, self.is_qat = model, mapping, is_qat
        self.observers: dict[Any, Any] = {}
        self._count = 0

    def observe(self, node: Any, observer: Any) -> Any:
        """The node that observes a node by this module."""
        name = f"activation_post_process_{self._count}"
        self._count += 1
        self.model.add_submodule(name, observer)
        with self.model.graph.inserting_after(node):
            made = self.model.graph.call_module(name, (node,))
        self.observers[node] = made
        return made

    def inputs_of(self, node: Any, qconfig: Any) -> list[Any]:
        """The observed forms of the tensors that a node takes; those that are missing are made."""
        found = []
        for given in node.all_input_nodes:
            if given.op == "get_attr":
                continue
            observed = given if self._is_observer(given) else self.observers.get(given)
            if observed is None:
                observed = self.observe(given, qconfig.activation())
            if observed is not given:
                node.replace_input_with(given, observed)
            found.append(observed)
        return found

    def output_of(self, node: Any, observer: Any) -> None:
        """Let everything that uses a node use what is observed of it."""
        users = list(node.users)
        made = self.observe(node, observer)
        for user in users:
            user.replace_input_with(node, made)

    def _is_observer(self, node: Any) -> bool:
        return node.op == "call_module" and is_observer(module_of(node, self.model))

    def _observed_before(self, node: Any) -> bool:
        """Whether all that a node takes is on levels already."""
        return bool(node.all_input_nodes) and all(map(self._is_observer, node.all_input_nodes))

    def visit(self, node: Any) -> None:
        """Observe what a node takes and gives, as its kind and configuration ask for."""
        kind, qconfig = kind_of(node, self.model), _qconfig_of(node, self.model, self.mapping)
        if kind is Kind.NONE or qconfig is None:
            return
        if kind in (Kind.SAME, Kind.JOINED):
            if not self._observed_before(node):
                return
            first, *others = node.all_input_nodes
            observer = module_of(first, self.model)
            for other in others:
                self.model.add_submodule(other.target, observer)
            self.output_of(node, observer)
            return
        if not _is_static(qconfig):
            return
        module = module_of(node, self.model)
        if module is not None:
            module.qconfig = qconfig
        self.inputs_of(node, qconfig)
        if kind is Kind.KNOWN:
            self.output_of(node, self._known(target_of(node, self.model)))
            return
        following = list(node.users)
        relu = kind is Kind.PAIR and len(following) == 1 and (
            target_of(following[0], self.model) in RELU
        )
        if relu and PAIRS[target_of(node, self.model)] != "matmul":
            self.output_of(following[0], qconfig.activation())
        else:
            self.output_of(node, qconfig.activation())

    def _known(self, target: Any) -> Any:
        observer = KNOWN[target]
        return FixedQParamsFakeQuantize(observer) if self.is_qat else observer()


def _is_static(qconfig: Any) -> bool:
    """Whether activations get levels that are known beforehand.

    Raises:
        NotImplementedError: a type of activations that is not quantised.
    """
    if qconfig.activation is None:
        return False
    made = qconfig.activation()
    if getattr(made, "is_dynamic", False):
        return False
    dtype = getattr(made, "dtype", None)
    if dtype in (torch.quint8, torch.qint8):
        return True
    if dtype in (torch.float32, None):
        return False
    raise NotImplementedError(f"prepare_fx for activations of {dtype} is not in mindtorch")


def _replace_module(model: Any, path: str, made: Any) -> None:
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, made)


def _dynamic_modules(model: Any, mapping: QConfigMapping) -> None:
    """Give modules that are quantised at each call their configuration."""
    for node in model.graph.nodes:
        module = module_of(node, model)
        if module is None:
            continue
        qconfig = _qconfig_of(node, model, mapping)
        if qconfig is None or dynamic_class(module) is None or qconfig.activation is None:
            continue
        weight_only = isinstance(module, (nn.Embedding, nn.EmbeddingBag))
        if weight_only or getattr(qconfig.activation(), "is_dynamic", False):
            module.qconfig = qconfig


def _trained_modules(model: Any, mapping: QConfigMapping) -> None:
    """Put modules whose weights are put on levels in the place of others."""
    for node in model.graph.nodes:
        module = module_of(node, model)
        kind = DEFAULT_QAT_MODULE_MAPPINGS.get(type(module))
        if kind is None:
            continue
        qconfig = _qconfig_of(node, model, mapping)
        if qconfig is not None and _is_static(qconfig):
            module.qconfig = qconfig
            made = kind.from_float(module)
            made.train(module.training)
            _replace_module(model, node.target, made)


def prepare_graph(model: Any, mapping: Any, is_qat: bool) -> Any:
    """Fuse, and insert observers, in place.

    Args:
        model: a GraphModule that :func:`traced` made.
        mapping: a QConfigMapping, or a dictionary of one.
    """
    if isinstance(mapping, dict):
        mapping = QConfigMapping.from_dict(mapping)
    fuse_graph(model, is_qat)
    _count_calls(model)
    if is_qat:
        _trained_modules(model, mapping)
    _dynamic_modules(model, mapping)
    inserter = _Inserter(model, mapping, is_qat)
    for node in list(model.graph.nodes):
        inserter.visit(node)
    return fx.GraphModule(model, model.graph)
