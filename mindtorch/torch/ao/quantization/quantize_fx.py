"""Quantisation of a model's graph: nothing has to be marked in the model."""

from __future__ import annotations

import copy
from typing import Any

from mindtorch.torch import fx

from ._graph_convert import convert_graph
from ._graph_fusion import fuse_graph
from ._graph_prepare import prepare_graph, traced
from .utils import deprecated

__all__ = ["convert_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]


def _refuse(name: str, **options: Any) -> None:
    for option, value in options.items():
        if value is not None:
            raise NotImplementedError(f"{name}({option}=...) is not in mindtorch")


def _skipped(name: str, custom: Any) -> tuple[Any, Any]:
    """Names and classes of modules that are not traced into."""
    if custom is None:
        return (), ()
    known = ("non_traceable_module_name", "non_traceable_module_class")
    if not isinstance(custom, dict) or set(custom) - set(known):
        raise NotImplementedError(
            f"{name}: of prepare_custom_config there are a dictionary's {known[0]} and {known[1]}"
        )
    return custom.get(known[0], ()), custom.get(known[1], ())


def fuse_fx(model: Any, fuse_custom_config: Any = None, backend_config: Any = None) -> Any:
    """The graph of a model in which convolutions and linear maps hold what follows them.

    Args:
        model: in evaluation mode.
        fuse_custom_config, backend_config: None.

    Raises:
        NotImplementedError: of either.
    """
    _refuse("fuse_fx", fuse_custom_config=fuse_custom_config, backend_config=backend_config)
    made = traced(copy.deepcopy(model))
    fuse_graph(made, model.training)
    return fx.GraphModule(made, made.graph)


def prepare_fx(
    model: Any, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any = None,
    _equalization_config: Any = None, backend_config: Any = None,
) -> Any:  # fmt: skip
    """The graph of a model with observers, which calls on examples then calibrate.

    Args:
        model: in evaluation mode.
        qconfig_mapping: which parts get which configuration.
        example_inputs: a call's arguments; the graph does not depend on them.
        prepare_custom_config: None, or a dictionary of modules that are not traced into, as
            ``non_traceable_module_name`` and ``non_traceable_module_class``.
        backend_config: None.

    Raises:
        NotImplementedError: other settings.
    """
    deprecated()
    _refuse("prepare_fx", backend_config=backend_config, _equalization_config=_equalization_config)
    names = _skipped("prepare_fx", prepare_custom_config)
    return prepare_graph(traced(copy.deepcopy(model), *names), qconfig_mapping, False)


def prepare_qat_fx(
    model: Any, qconfig_mapping: Any, example_inputs: Any, prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> Any:  # fmt: skip
    """The graph of a model with fake quantisation, to be trained.

    Args:
        model: in training mode.
        qconfig_mapping, example_inputs, prepare_custom_config, backend_config: as
            :func:`prepare_fx` has them.

    Raises:
        NotImplementedError: other settings.
    """
    deprecated()
    _refuse("prepare_qat_fx", backend_config=backend_config)
    names = _skipped("prepare_qat_fx", prepare_custom_config)
    return prepare_graph(traced(copy.deepcopy(model), *names), qconfig_mapping, True)


def convert_fx(
    graph_module: Any, convert_custom_config: Any = None, _remove_qconfig: bool = True,
    qconfig_mapping: Any = None, backend_config: Any = None, keep_original_weights: bool = False,
) -> Any:  # fmt: skip
    """The quantised graph of a model that was prepared and calibrated, or trained.

    Args:
        graph_module: what :func:`prepare_fx` or :func:`prepare_qat_fx` gave.
        convert_custom_config, qconfig_mapping, backend_config: None.
        keep_original_weights: False.

    Raises:
        NotImplementedError: other settings.
    """
    deprecated()
    _refuse(
        "convert_fx", convert_custom_config=convert_custom_config, qconfig_mapping=qconfig_mapping,
        backend_config=backend_config, keep_original_weights=keep_original_weights or None,
        _remove_qconfig=None if _remove_qconfig else False,
    )  # fmt: skip
    return convert_graph(copy.deepcopy(graph_module))
