"""Tensors between stages: shapes and types go in front of the elements, so nobody has to know
them beforehand."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._device import array_of
from .._group import ProcessGroup, as_bytes
from .._tensors import fill_from


class Kind(IntEnum):
    """What a message holds."""

    ACTIVATIONS = 0
    GRADIENTS = 1


def tag_of(kind: Kind, source: int, target: int, microbatch: int, stages: int) -> int:
    """The tag of a message between two stages: negative, as those of users are not."""
    return -16 - (((microbatch * stages + source) * stages + target) * 2 + kind)


def send(group: ProcessGroup, place: int, tag: int, tensors: list[Any]) -> None:
    """Send tensors, or None in the place of some, to a process of the group.

    Raises:
        TypeError: something else among them.
    """
    for tensor in tensors:
        if tensor is not None and not isinstance(tensor, EngineTensor):
            raise TypeError(
                "what a stage gives to the next one must be tensors, and there is one of type "
                f"{type(tensor)} among them"
            )
    head = [
        None if t is None else [list(t.shape), t.dtype.name, bool(t.requires_grad)] for t in tensors
    ]
    group.send(place, json.dumps(head).encode(), tag)
    for tensor in tensors:
        if tensor is not None:
            group.send(place, as_bytes(array_of(tensor.detach())), tag)


def receive(
    group: ProcessGroup, place: int, tag: int, device: Any, about: str
) -> list[Any]:
    """The tensors of a message; a tensor that is tracked there is a tracked leaf here.

    Args:
        about: what they are, for errors.
    """
    made: list[Any] = []
    for entry in json.loads(group.receive(place, tag, about)):
        if entry is None:
            made.append(None)
            continue
        shape, dtype, tracked = entry
        tensor = torch.empty(shape, dtype=getattr(torch, dtype), device=device)
        fill_from(tensor, group.receive(place, tag, about))
        made.append(tensor.requires_grad_(tracked))
    return made


def handed_over(tensors: list[Any]) -> list[Any]:
    """What :func:`receive` gives of tensors that stay in the process."""
    return [None if t is None else t.detach().requires_grad_(t.requires_grad) for t in tensors]
