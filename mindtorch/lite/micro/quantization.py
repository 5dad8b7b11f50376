"""Affine int8: number = scale * (integer - zero). Ranges from samples, scales, multipliers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindtorch.engine.op_nodes import evaluate, run_nodes
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph
from mindtorch.torch import no_grad

__all__ = ["Quantized", "calibrate", "multiplier_of", "weights_of"]


@dataclass(frozen=True)
class Quantized:
    """How a tensor's numbers are held: ``scale * (integer - zero)``, integers from -128 to 127."""

    scale: float
    zero: int

    @staticmethod
    def of_range(low: float, high: float) -> Quantized:
        """That of the smallest range that has these numbers and 0."""
        low, high = min(low, 0.0), max(high, 0.0)
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ExportError("the samples of calibration give numbers that are not finite")
        scale = (high - low) / 255 or 1.0
        return Quantized(scale, int(np.clip(round(-128 - low / scale), -128, 127)))

    def integer(self, number: float) -> int:
        """The integer nearest to a number."""
        return int(np.clip(round(number / self.scale) + self.zero, -128, 127))


def calibrate(graph: InferenceGraph, samples: Iterable[Any]) -> dict[int, Quantized]:
    """For each float value of the graph how it is held, from its largest and smallest element over
    all samples (MAX_MIN).

    Raises:
        ExportError: there is no sample, or it is none for this model.
    """
    ranges: dict[int, tuple[float, float]] = {}

    def see(number: int, tensor: Any) -> None:
        array = tensor.array()
        if array.dtype.kind == "f" and array.size:
            low, high = ranges.get(number, (0.0, 0.0))
            ranges[number] = min(low, float(array.min())), max(high, float(array.max()))

    def apply(node: Any, operands: list[Any]) -> Any:
        made = evaluate(node, operands)
        for value, tensor in zip(
            node.outputs, made if isinstance(made, tuple) else (made,), strict=True
        ):
            see(value.number, tensor)
        return made

    for sample in samples:
        given = tuple(sample) if isinstance(sample, (tuple, list)) else (sample,)
        wanted = [v.aval.shape for v in graph.inputs]
        if [getattr(x, "shape", None) for x in given] != wanted:
            raise ExportError(f"a sample of calibration has not the shapes {wanted}")
        held: dict[int, Any] = dict(graph.constants)
        for value, tensor in zip(graph.inputs, given, strict=True):
            held[value.number] = tensor.detach() if isinstance(tensor, Tensor) else tensor
            see(value.number, tensor)
        with no_grad():
            run_nodes(graph.nodes, held, apply)
    if not ranges:
        raise ExportError("calibration needs samples of the model's inputs")
    return {number: Quantized.of_range(*each) for number, each in ranges.items()}


def weights_of(weight: Any) -> tuple[Any, Any]:
    """Weights as integers from -127 to 127 without a zero point, and the scale of each row of the
    first axis."""
    rows = np.asarray(weight, np.float64).reshape(len(weight), -1)
    scales = np.abs(rows).max(1, initial=0.0) / 127
    scales[scales == 0] = 1.0
    integers = np.clip(np.rint(rows / scales[:, None]), -127, 127)
    return integers.reshape(np.shape(weight)).astype(np.int8), scales


def multiplier_of(factor: float) -> tuple[int, int]:
    """(multiplier, shift) with ``factor = multiplier * 2 ** (shift - 31)``, as gemmlowp has it: the
    multiplier has 31 bits."""
    if factor == 0:
        return 0, 0
    mantissa, shift = math.frexp(factor)
    multiplier = round(mantissa * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift > 30:
        raise ExportError(f"a scale of {factor} is out of range")
    return (multiplier, shift) if shift >= -31 else (0, 0)
