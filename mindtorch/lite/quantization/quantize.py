"""Quantisation as a file of settings asks for it."""

from __future__ import annotations

import copy
import csv
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.kernels.support.atomic_file import write_whole

from ..config import Config
from ..graph import LiteGraph
from ..passes import drop_unused
from .budget import tuned
from .calibration import examples_of, observed
from .dynamic import quantize_dynamically
from .full import quantize_fully
from .weights import difference, quantize_weights

__all__ = ["quantize"]

REPORT = "quantization_report.csv"


def quantize(
    graph: LiteGraph, config: Config, examples: Sequence[Sequence[np.ndarray]] | None = None
) -> list[dict[str, Any]]:
    """Quantise a graph in place; a line for each layer of what it cost.

    Args:
        examples: of full quantisation and of the layers' results; None: from the folders that the
            settings name, if any.

    Raises:
        ConvertError: the examples cannot be read.
    """
    given = examples_of(graph, config) if examples is None and config.calibrate_path else examples
    before = copy.deepcopy(graph) if given else None
    if config.auto_tune:
        config = tuned(graph, config, given or ())
    if config.quant_type == "WEIGHT_QUANT":
        made = quantize_weights(graph, config)
    elif config.quant_type == "DYNAMIC_QUANT":
        made = quantize_dynamically(graph, config)
    else:
        made = quantize_fully(graph, config, given or ())
    lines = [line for _, line in made]
    if before is not None and given and made:
        _compare(lines, [node.outputs[0] for node, _ in made], before, graph, given)
    drop_unused(graph)
    graph.information["quantization"] = {
        "quant_type": config.quant_type,
        "bit_num": config.bit_num,
        "layers": len(lines),
    }
    if config.bit_num == 0:
        graph.information["quantization"]["init_scale"] = config.init_scale
    if config.debug_info_save_path:
        os.makedirs(config.debug_info_save_path, exist_ok=True)
        write_whole(os.path.join(config.debug_info_save_path, REPORT), report_text(lines))
    return lines


def _compare(
    lines: list[dict[str, Any]], places: Sequence[int], before: LiteGraph, after: LiteGraph,
    examples: Sequence[Sequence[np.ndarray]],
) -> None:  # fmt: skip
    """Enter how the layers' results differ, over all examples."""
    exact: list[list[np.ndarray]] = [[] for _ in places]
    found: list[list[np.ndarray]] = [[] for _ in places]
    for graph, kept in ((before, exact), (after, found)):
        for arrays in observed(graph, places, examples):
            for each, array in zip(kept, arrays, strict=True):
                each.append(array)
    for line, a, b in zip(lines, exact, found, strict=True):
        line |= difference(np.concatenate(a), np.concatenate(b), "result")


def report_text(lines: Sequence[dict[str, Any]]) -> str:
    """The lines as a table whose columns commas part."""
    file = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line)) or ["node"]
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()
