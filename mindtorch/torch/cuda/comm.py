"""Copies and sums between devices of one process; each is on the device that is named."""

from __future__ import annotations

from typing import Any

from .._api.cuda_devices import require_cuda
from ..functions.parts import cat
from . import _utils

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced",
           "scatter"]  # fmt: skip


def _device(device: Any) -> str:
    require_cuda()
    return f"cuda:{_utils._get_device_index(device, optional=True)}"


def broadcast(tensor: Any, devices: Any = None, *, out: Any = None) -> tuple[Any, ...]:
    """A copy of ``tensor`` on each device, or in each tensor of ``out``."""
    if not (devices is None) ^ (out is None):
        raise RuntimeError(
            "Exactly one of 'devices' and 'out' must be specified, but got devices="
            f"{devices} and out={out}"
        )
    require_cuda()
    if out is not None:
        return tuple(each.copy_(tensor) for each in out)
    return tuple(tensor.to(_device(d)) for d in devices)


def broadcast_coalesced(
    tensors: Any, devices: Any, buffer_size: int = 10485760
) -> list[tuple[Any, ...]]:
    """:func:`broadcast` of each tensor: for each device its copies."""
    return [tuple(t.to(_device(d)) for t in tensors) for d in devices]


def reduce_add(inputs: Any, destination: Any = None) -> Any:
    """The sum of tensors of one shape, on one device."""
    place = _device(destination)
    result = inputs[0].to(place, copy=True)
    for number, each in enumerate(inputs[1:], 1):
        if each.size() != result.size():
            got, expected = ("x".join(map(str, t.size())) for t in (each, result))
            raise ValueError(
                f"input {number} has invalid size: got {got}, but expected {expected}"
            )
        result += each.to(place)
    return result


def reduce_add_coalesced(
    inputs: Any, destination: Any = None, buffer_size: int = 10485760
) -> tuple[Any, ...]:
    """:func:`reduce_add` of the first tensors of all lists, of the second ones, ..."""
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def scatter(
    tensor: Any, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None,
    *, out: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Parts of ``tensor`` along ``dim``, one on each device."""
    require_cuda()
    if out is not None:
        sizes = [each.size(dim) for each in out]
        parts = zip(out, tensor.split(sizes, dim), strict=True)
        return tuple(each.copy_(part) for each, part in parts)
    parts = tensor.chunk(len(devices), dim) if chunk_sizes is None else (
        tensor.split(list(chunk_sizes), dim)
    )
    return tuple(p.to(_device(d)) for p, d in zip(parts, devices, strict=False))


def gather(tensors: Any, dim: int = 0, destination: Any = None, *, out: Any = None) -> Any:
    """The tensors one after another along ``dim``, on one device (-1 or "cpu": the CPU)."""
    require_cuda()
    if out is not None:
        return out.copy_(cat([t.to(out.device) for t in tensors], dim))
    on_cpu = destination == -1 or str(destination) == "cpu"
    place = "cpu" if on_cpu else _device(destination)
    return cat([t.to(place) for t in tensors], dim)
