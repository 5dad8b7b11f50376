"""Reductions over axes, which formats write alike but for how they say the axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.ops import reduction

from .writers import Writing

__all__ = ["reduction_writer", "register_reductions"]

_Register = Callable[..., Callable[[Writing], Writing]]


def reduction_writer(reduced: Callable[..., str], name: str) -> Writing:
    """The writer of one of the format's reductions, in the type of the result.

    Args:
        reduced: ``reduced(writer, name, x, axes, keepdims)`` appends the node.
        name: of the reduction in the format.
    """

    def write(w: Any, node: Any) -> str:
        axes, made = node.params["axis"], node.outputs[0].aval.dtype
        axes = (axes,) if isinstance(axes, int) else axes
        return reduced(w, name, w.typed(node.inputs[0], made), axes, node.params["keepdims"])

    return write


def register_reductions(writes: _Register, reduced: Callable[..., str]) -> None:
    """Register what ONNX and MindSpore call by the same names."""
    writes(reduction.sum_)(reduction_writer(reduced, "ReduceSum"))
    writes(reduction.mean)(reduction_writer(reduced, "ReduceMean"))
    writes(reduction.amax)(reduction_writer(reduced, "ReduceMax"))
    writes(reduction.amin)(reduction_writer(reduced, "ReduceMin"))
    writes(reduction.prod)(reduction_writer(reduced, "ReduceProd"))
