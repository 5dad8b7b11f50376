"""Modules that become one in a graph."""

from __future__ import annotations

from typing import Any

from mindtorch.torch import nn

from ._graph_operations import RELU, module_of, target_of
from .fuse_modules import fuse_known_modules
from .fuser_method_mappings import DEFAULT_OP_LIST_TO_FUSER_METHOD as FUSED
from .utils import without_parametrizations

__all__ = ["fuse_graph"]


def _next(node: Any) -> Any:
    """The only node that uses a node; None where there are others."""
    users = list(node.users)
    return users[0] if len(users) == 1 else None


def _chain(node: Any, model: Any, table: Any) -> list[Any]:
    """The longest row of nodes from here on that becomes one module."""
    nodes, kinds, best = [node], [without_parametrizations(module_of(node, model))], 1
    while len(nodes) < 3:
        following = _next(nodes[-1])
        if following is None or following.all_input_nodes[:1] != [nodes[-1]]:
            break
        target = target_of(following, model)
        nodes.append(following)
        kinds.append(nn.ReLU if target in RELU else target)
        if tuple(kinds) in table:
            best = len(nodes)
    return nodes[:best]


def fuse_graph(model: Any, is_qat: bool, more: Any = None) -> None:
    """Fuse in place what follows one another: convolution or linear map, batch norm, ReLU."""
    table = {**FUSED, **(more or {})}
    for node in list(model.graph.nodes):
        if node.op != "call_module" or node not in set(model.graph.nodes):
            continue
        chain = _chain(node, model, table)
        if len(chain) < 2:
            continue
        modules = [module_of(each, model) or nn.ReLU() for each in chain]
        for each in modules:
            each.train(modules[0].training)
        made = fuse_known_modules(modules, is_qat, more)[0]
        parent, _, name = node.target.rpartition(".")
        setattr(model.get_submodule(parent), name, made)
        chain[-1].replace_all_uses_with(node)
        for each in reversed(chain[1:]):
            model.graph.erase_node(each)
    model.recompile()
