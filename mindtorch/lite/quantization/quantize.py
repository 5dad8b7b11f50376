"""Quantisation as a file of settings asks for it."""

from __future__ import annotations

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
from .calibration import examples_of
from .full import quantize_fully
from .weights import quantize_weights

__all__ = ["quantize"]

REPORT = "quantization_report.csv"


def quantize(
    graph: LiteGraph, config: Config, examples: Sequence[Sequence[np.ndarray]] | None = None
) -> list[dict[str, Any]]:
    """Quantise a graph in place; a line for each layer of what it cost.

    Args:
        examples: of full quantisation; None: from the folders that the settings name.

    Raises:
        ConvertError: the examples cannot be read.
    """
    if config.quant_type == "WEIGHT_QUANT":
        lines = quantize_weights(graph, config)
    else:
        given = examples_of(graph, config) if examples is None else examples
        lines = quantize_fully(graph, config, given)
    drop_unused(graph)
    graph.information["quantization"] = {
        "quant_type": config.quant_type, "bit_num": config.bit_num, "layers": len(lines)
    }
    if config.debug_info_save_path:
        os.makedirs(config.debug_info_save_path, exist_ok=True)
        write_whole(os.path.join(config.debug_info_save_path, REPORT), report_text(lines))
    return lines


def report_text(lines: Sequence[dict[str, Any]]) -> str:
    """The lines as a table whose columns commas part."""
    file = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line)) or ["node"]
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return file.getvalue()
