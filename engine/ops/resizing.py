"""Resizing the last axes of images ``[batch, channels, *spatial]``."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, Shape, aval
from ..result_strides import follow_images
from .convolution import Ints, NetworkOp


def _resize_aval(
    x: Aval, *, size: Ints, steps: tuple[float, ...], mode: str, align: bool
) -> Aval:
    return aval((*x.shape[:2], *size), x.dtype, None, x.device)


def _gradient_aval(
    y: Aval, *, shape: Shape, steps: tuple[float, ...], mode: str, align: bool
) -> Aval:
    return aval(shape, y.dtype, None, y.device)


def _node_name(avals: Any, params: Any) -> str:
    kind = "".join(part.capitalize() for part in params["mode"].split("-"))
    return f"Upsample{kind}{len(avals[0].shape) - 2}DBackward0"


# spatial lengths ``size``; ``steps`` is the distance of the new elements in old ones, by axis
resize = NetworkOp(
    "resize",
    _resize_aval,
    "interpolate.resize",
    layout=follow_images,
    vjp=lambda g, avals, steps, mode, align: resize_gradient(
        g, shape=avals[0].shape, steps=steps, mode=mode, align=align
    ),
    grad_name=_node_name,
)
resize_gradient = NetworkOp(
    "resize_gradient",
    _gradient_aval,
    "interpolate.resize_gradient",
    layout=follow_images,
    vjp=lambda g, avals, steps, mode, align: resize(
        g, size=avals[0].shape[2:], steps=steps, mode=mode, align=align
    ),
)
