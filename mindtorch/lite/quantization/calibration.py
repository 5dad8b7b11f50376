"""Ranges of activations, from examples."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import Config
from ..errors import ConvertError
from ..execution import Program
from ..graph import LiteGraph

__all__ = ["Range", "examples_of", "observed", "ranges"]

_BINS = 2048
_LEVELS = 128  # on either side of 0
_TAIL = 1e-4  # the share that REMOVAL_OUTLIER leaves out on either side


class Range:
    """What is known of a tensor over all examples.

    Attributes:
        low, high: the least and the greatest element.
        counts: a histogram between them.
        mean: of all examples, with a first axis of 1.
    """

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf
        self.counts = np.zeros(_BINS, np.int64)
        self.total: Any = 0.0
        self.number = 0

    def extend(self, array: np.ndarray) -> None:
        """Take the extremes and the mean of one more example."""
        if not np.isfinite(array).all():
            raise ConvertError("an activation is infinite or NaN for an example of calibration")
        self.low = min(self.low, float(array.min()))
        self.high = max(self.high, float(array.max()))
        self.total = self.total + array.sum(axis=0, keepdims=True, dtype=np.float64)
        self.number += array.shape[0]

    @property
    def mean(self) -> np.ndarray:
        return np.asarray(self.total / max(self.number, 1), np.float32)

    def count(self, array: np.ndarray) -> None:
        """Enter one more example into the histogram."""
        high = self.high if self.high > self.low else self.low + 1.0
        self.counts += np.histogram(array, _BINS, (self.low, high))[0]

    def limits(self, method: str) -> tuple[float, float]:
        """The least and the greatest number that 8 bits stand for."""
        low, high = self.low, self.high
        if method == "KL":
            limit = self._divergence()
            low, high = max(low, -limit), min(high, limit)
        elif method == "REMOVAL_OUTLIER":
            share = np.cumsum(self.counts) / max(self.counts.sum(), 1)
            edges = np.linspace(low, high, _BINS + 1)
            first = int(np.searchsorted(share, _TAIL))
            last = int(np.searchsorted(share, 1 - _TAIL))
            low, high = float(edges[first]), float(edges[min(last + 1, _BINS)])
        return min(low, 0.0), max(high, 0.0)

    def _divergence(self) -> float:
        """The magnitude beyond which numbers are cut off, so that the distribution of the numbers
        that 8 bits stand for is nearest to what they stand for (Kullback-Leibler)."""
        most = max(abs(self.low), abs(self.high))
        edges = np.linspace(self.low, self.high, _BINS + 1)
        middles = np.abs((edges[1:] + edges[:-1]) / 2)
        counts = np.histogram(middles, _BINS, (0, most or 1.0), weights=self.counts)[0]
        best, limit = np.inf, most
        for kept in range(_LEVELS, _BINS + 1, 16):
            exact = counts[:kept].copy()
            exact[-1] += counts[kept:].sum()
            shown = counts[:kept]
            owner = np.minimum(np.arange(kept) * _LEVELS // kept, _LEVELS - 1)
            filled = np.bincount(owner, shown > 0, _LEVELS)
            sums = np.bincount(owner, shown, _LEVELS)
            spread = np.where(shown > 0, (sums / np.maximum(filled, 1))[owner], 0)
            if not spread.sum():
                continue
            divergence = _divergence(exact / exact.sum(), spread / spread.sum() + 1e-12)
            if divergence < best:
                best, limit = divergence, most * kept / _BINS
        return float(limit)


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Kullback and Leibler's, of positive ``q``."""
    some = p > 0
    return float((p[some] * np.log(p[some] / q[some])).sum())


def examples_of(graph: LiteGraph, config: Config) -> list[list[np.ndarray]]:
    """For each example the arrays of all inputs, from the folders that the settings name.

    Raises:
        ConvertError: a folder is missing or has too few files, or a file another size or no image.
    """
    columns = []
    numbers = Program(graph, graph.lengths, {})
    for place, described in zip(graph.inputs, numbers.input_avals, strict=True):
        name = graph.tensors[place].name
        folder = config.calibrate_path.get(name)
        if folder is None or not os.path.isdir(folder):
            raise ConvertError(f"calibrate_path: no folder for the input {name!r}: {folder!r}")
        files = sorted(os.listdir(folder))[: config.calibrate_size]
        if len(files) < config.calibrate_size:
            raise ConvertError(
                f"calibrate_path: {folder} has {len(files)} files, calibrate_size is "
                f"{config.calibrate_size}"
            )
        read = _of_image if config.input_type == "IMAGE" else _of_bytes
        columns.append(
            [read(graph, config, os.path.join(folder, each), name, described) for each in files]
        )
    unknown = sorted(set(config.calibrate_path) - {graph.tensors[i].name for i in graph.inputs})
    if unknown:
        raise ConvertError(f"calibrate_path: the model has no input {unknown[0]!r}")
    return [list(row) for row in zip(*columns, strict=True)]


def _of_bytes(graph: LiteGraph, config: Config, path: str, name: str, described: Any) -> np.ndarray:
    with open(path, "rb") as file:
        content = file.read()
    if len(content) != described.size * described.dtype.itemsize:
        raise ConvertError(
            f"{path} has {len(content)} bytes, the input {name!r} has "
            f"{described.size * described.dtype.itemsize}"
        )
    return np.frombuffer(content, described.dtype.np).reshape(described.shape)


def _of_image(graph: LiteGraph, config: Config, path: str, name: str, described: Any) -> np.ndarray:
    # with what resizes them, which other settings do not need
    images = importlib.import_module(f"{__package__}.images")
    pixels: np.ndarray = images.image_of(path, config)[None]
    if graph.information.get("fmk") == "TFLITE":
        pixels = np.ascontiguousarray(np.moveaxis(pixels, 1, -1))
    if described.shape != pixels.shape or described.dtype.np != pixels.dtype:
        raise ConvertError(
            f"{path} is an image of {list(pixels.shape)} in float32, the input {name!r} takes "
            f"{described.dtype.name} {list(described.shape)}"
        )
    return pixels


def observed(
    graph: LiteGraph, places: Sequence[int], examples: Sequence[Sequence[np.ndarray]]
) -> Any:
    """For each example the elements of these tensors.

    Yields:
        list[ndarray]: in the order of ``places``.
    """
    watched = LiteGraph(
        graph.tensors, graph.nodes, graph.inputs, list(places), graph.sizes, graph.lengths
    )
    program = Program(watched, graph.lengths, {}, fuses=False)
    for example in examples:
        flats = [np.ascontiguousarray(x).reshape(-1) for x in example]
        made = program.run(flats)
        yield [
            flat.reshape(described.shape)
            for flat, described in zip(made, program.output_avals, strict=True)
        ]


def ranges(
    graph: LiteGraph, places: Sequence[int], examples: Sequence[Sequence[np.ndarray]]
) -> dict[int, Range]:
    """What is known of tensors over the examples."""
    found = {place: Range() for place in places}
    if not found:
        return found
    for act in ("extend", "count"):
        for arrays in observed(graph, places, examples):
            for place, array in zip(places, arrays, strict=True):
                getattr(found[place], act)(array)
    return found
