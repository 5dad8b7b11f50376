"""What is known of a model's inputs, and what a module that reads models gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mindtorch.serving.server.register.model import Declaration

__all__ = ["InputInfo", "Read", "without_batch"]


@dataclass(frozen=True)
class InputInfo:
    """What is known of one input.

    Attributes:
        name: its name.
        dtype: numpy's name of its type; None: any.
        shape: of one instance, -1 for open lengths; None: any.
    """

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


# what is called, its inputs, the names of its outputs, its batch size (0: open)
Read: TypeAlias = "tuple[Any, list[InputInfo], list[str], int]"


def without_batch(
    declaration: Declaration, given: Sequence[tuple[str, str | None, Sequence[int]]]
) -> tuple[list[InputInfo], int]:
    """The inputs' shapes of one instance, and the size of a batch that the file asks for."""
    inputs, batches = [], set()
    for number, (name, dtype, shape) in enumerate(given):
        if not declaration.with_batch_dim or number in declaration.without_batch_dim_inputs:
            inputs.append(InputInfo(name, dtype, tuple(shape)))
            continue
        if not shape:
            raise RuntimeError(f"input {name} has no axis of instances: declare it in "
                               "without_batch_dim_inputs, or with_batch_dim=False")  # fmt: skip
        inputs.append(InputInfo(name, dtype, tuple(shape[1:])))
        batches.add(shape[0] if shape[0] > 0 else 0)
    if len(batches - {0}) > 1:
        raise RuntimeError(f"inputs have the batch sizes {sorted(batches)}: declare those without "
                           "such an axis, or with_batch_dim=False")  # fmt: skip
    return inputs, max(batches, default=0)
