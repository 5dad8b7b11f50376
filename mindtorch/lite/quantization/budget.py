"""The largest budget of errors of weights that leaves a model's outputs nearly what they are."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..config import Config
from ..errors import ConvertError
from ..execution import Program
from ..graph import LiteGraph
from .calibration import observed
from .weights import quantize_weights

__all__ = ["tuned"]

_WANTED = 0.995  # cosine similarity of outputs
_LEAST, _MOST, _SEARCHED = 1e-4, 0.5, 10
_DRAWN = 4  # examples, where none are given


def tuned(graph: LiteGraph, config: Config, examples: Sequence[Sequence[np.ndarray]]) -> Config:
    """The settings with the largest ``init_scale`` for which all outputs, over the examples, have
    a cosine similarity of 0.995 with those of the weights as they are.

    Args:
        examples: none: normal random numbers.

    Raises:
        ConvertError: there are no examples, and an input takes whole numbers.
    """
    given = examples or _drawn(graph)
    exact = _outputs(graph, given)
    low, high = _LEAST, _MOST
    for _ in range(_SEARCHED):
        middle = float(np.sqrt(low * high))
        tried = copy.copy(graph)
        tried.tensors, tried.nodes = list(graph.tensors), list(graph.nodes)
        quantize_weights(tried, replace(config, init_scale=middle))
        if _similarity(exact, _outputs(tried, given)) >= _WANTED:
            low = middle
        else:
            high = middle
    return replace(config, init_scale=low)


def _outputs(graph: LiteGraph, examples: Sequence[Sequence[np.ndarray]]) -> list[Any]:
    """For each output the elements of all examples."""
    made = zip(*observed(graph, graph.outputs, examples), strict=True)
    return [np.concatenate([x.reshape(-1) for x in column]).astype(np.float64) for column in made]


def _similarity(exact: list[Any], found: list[Any]) -> float:
    """The least cosine of the angle between outputs."""
    return min(
        float(a @ b / np.sqrt((a @ a) * (b @ b) or 1.0)) if a.any() else 1.0
        for a, b in zip(exact, found, strict=True)
    )


def _drawn(graph: LiteGraph) -> list[list[np.ndarray]]:
    generator = np.random.default_rng(0)
    avals = Program(graph, graph.lengths, {}).input_avals
    for each in avals:
        if each.dtype.np.kind != "f":
            raise ConvertError(
                "configFile: auto_tune needs calibrate_path where an input takes whole numbers"
            )
    return [
        [generator.standard_normal(a.shape).astype(a.dtype.np) for a in avals]
        for _ in range(_DRAWN)
    ]
