"""Padding the last axes with a constant, or with elements of the input."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.indexing import index_select
from mindtorch.engine.ops.movement import in_format_of
from mindtorch.engine.symbolic_sizes import as_index
from mindtorch.engine.tensor import constant, places_of
from mindtorch.engine.transforms import autocast as casts

from .._api.arguments import check_value, require_tensor
from .._api.kernel_signatures import Kernel
from .._api.publish import functional

__all__ = ["pad"]

_KERNELS = {"reflect": "reflection_pad", "replicate": "replication_pad"}


@functional(cacheable=True, kernel=Kernel("pad", "input pad mode value"))
def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
    """``input`` with elements added at both ends of its last axes.

    Args:
        pad: (before, after) of the last axis, then of the one before it, ...; negative cuts.
        mode: "constant" (with ``value``), "reflect", "replicate" or "circular".

    Raises:
        RuntimeError: an odd number of lengths, more than there are axes, a reflection of more than
            the axis has, nothing left of an axis.
        NotImplementedError: an unknown mode, or a number of axes that the mode cannot pad.
    """
    if casts.state.cpu.enabled and (mode == "replicate" or (mode == "reflect" and len(pad) < 6)):
        (input,) = casts.cast_inputs(casts.FULL, (input,), casts.state.cpu)  # noqa: A001
    pad = tuple(as_index(p) for p in pad)
    ndim = input.dim()
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {ndim}"
        )
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        return _filled(input, pairs, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if ndim not in (len(pairs) + 1, len(pairs) + 2) or not 1 <= len(pairs) <= 3:
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode == "circular":
        _check_wrapping(input.aval.shape, pairs)
    else:
        _check_mirroring(input.aval, pairs, mode)
    padded = input
    for i, (before, after) in enumerate(pairs):
        if before or after:
            padded = _pad_axis(padded, ndim - 1 - i, before, after, mode)
    if padded is input:
        return movement.clone(input)
    if mode == "circular":
        return padded
    kind = {"reflect": "Reflection", "replicate": "Replication"}[mode]
    return tape.named(in_format_of(input, padded), f"{kind}Pad{len(pairs)}DBackward0")


def constant_pad_nd(input: Any, pad: Any, value: Any = 0) -> Any:  # noqa: A002
    """Grow the last axes by ``pad`` (pairs, the last axis first), filled with ``value``.

    Raises:
        RuntimeError: an odd number of lengths, or more than there are axes; the type of ``input``
            cannot hold ``value``.
        TypeError: ``value`` is None.
    """
    require_tensor(input, "constant_pad_nd", "input", 1)
    pad = tuple(as_index(p) for p in pad)
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * input.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)}while the input has {input.dim()}dimensions."
        )
    if value is None:
        raise TypeError(
            "constant_pad_nd(): argument 'value' (position 3) must be Number, not NoneType"
        )
    return _filled(input, list(zip(pad[::2], pad[1::2], strict=True)), value)


def _filled(input: Any, pairs: list[tuple[int, int]], value: Any) -> Any:  # noqa: A002
    """The last axes grown by ``pairs``, the last axis first, with one number around."""
    if type(value) in (int, float, complex):
        dtype = input.aval.dtype
        check_value(value if type(value) is complex else float(value), dtype, filling=False)
        if type(value) is complex and not dtype.is_complex:
            value = value.real
    full = [(0, 0)] * (input.dim() - len(pairs)) + pairs[::-1]
    return movement.pad(input, constant(value), padding=tuple(full))


def _check_wrapping(shape: tuple[int, ...], pairs: list[tuple[int, int]]) -> None:
    """PyTorch's conditions of circular padding."""
    for n, (before, after) in zip(shape[::-1], pairs, strict=False):
        if before > n or after > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")


def _check_mirroring(aval: Any, pairs: list[tuple[int, int]], mode: str) -> None:
    """PyTorch's conditions of the two modes that repeat what lies at the ends."""
    shape, axes = aval.shape, len(pairs)
    batched = len(shape) == axes + 2
    if 0 in shape[batched:]:
        raise RuntimeError(
            f"Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}"
        )
    new = list(shape)
    for i, (before, after) in enumerate(pairs):
        axis = len(shape) - 1 - i
        if mode == "reflect" and max(before, after) >= shape[axis]:
            raise RuntimeError(
                f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                f"dimension, but got: padding ({before}, {after}) at dimension {axis} of input "
                f"{list(shape)}"
            )
        new[axis] += before + after
    if axes == 1 and new[-1] < 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {new[-1]}")
    if min(new) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(new)}: {new}")
    if aval.dtype is dtypes.bool_:
        raise NotImplementedError(f"\"{_KERNELS[mode]}{axes}d\" not implemented for 'Bool'")


@functools.lru_cache(maxsize=256)
def _places(n: int, before: int, after: int, mode: str) -> Any:
    """Where each place along a padded axis is read."""
    places = np.arange(-before, n + after)
    if mode == "replicate":
        places = np.clip(places, 0, n - 1)
    elif mode == "circular":
        # What a negative end cuts off does not come back at the other end.
        left = np.arange(max(-before, 0), n - max(-after, 0))
        if places.size:
            places = left[np.arange(-max(before, 0), left.size + max(after, 0)) % left.size]
    else:
        places = np.abs(places)
        places = np.where(places >= n, 2 * (n - 1) - places, places)
    return np.ascontiguousarray(places, np.int64)


def _pad_axis(x: Any, axis: int, before: int, after: int, mode: str) -> Any:
    places = places_of(_places(x.aval.shape[axis], before, after, mode), x.aval.device)
    return index_select(x, places, axis=axis)
