"""What the debugger keeps of a step: which tensors modules and ops were given and gave.

Tensors are held, not copied; one that is written to later says so by its version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor, version_of

from ..compare.tensor_probe import tensors_in
from ..watchpoints.conditions import Place
from ..watchpoints.observer import is_watched

__all__ = [
    "MOST_BYTES", "CellOptimizer", "Kept", "Node", "Record", "flat_array", "is_looked_at",
    "whole_array",
]  # fmt: skip

MOST_BYTES = 2**30  # of outputs that are held in a step


class Kept:
    """A tensor at one moment.

    Attributes:
        tensor: None where there was no room to hold it.
    """

    __slots__ = ("_aval", "_version", "tensor")

    def __init__(self, tensor: Any, hold: bool) -> None:
        self.tensor = tensor if hold else None
        self._aval = tensor.aval
        self._version = version_of(tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._aval.shape)

    @property
    def dtype(self) -> str:
        return str(self._aval.dtype)

    @property
    def written_after(self) -> bool:
        """Whether its memory was written to since."""
        return self.tensor is not None and version_of(self.tensor) != self._version


class Node:
    """One call of a module or of an op.

    Attributes:
        name: its path, for an op the path of its module and its name; #2, #3 for later calls in
            the step.
        kind: "module", "op" or "loss".
        made_by: the class of the module, or the op's name.
        place: where the call was made.
        gradients: of the outputs, by their positions.
    """

    __slots__ = ("gradients", "inputs", "kind", "made_by", "name", "outputs", "place")

    def __init__(
        self, name: str, kind: str, made_by: str, place: Place, inputs: list[Kept],
        outputs: list[Kept],
    ) -> None:  # fmt: skip
        self.name = name
        self.kind = kind
        self.made_by = made_by
        self.place = place
        self.inputs = inputs
        self.outputs = outputs
        self.gradients: dict[int, Kept] = {}


class CellOptimizer:
    """MindSpore's optimizer, which is a cell, with what is asked of torch's.

    Args:
        cell: the optimizer.
    """

    def __init__(self, cell: Any) -> None:
        self.cell = cell
        self.param_groups = [{"params": list(cell.parameters)}]
        self.state: dict[Any, Any] = {}


class Record:
    """The nodes of a step, in the order in which their calls ended."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._calls: dict[str, int] = {}
        self._room = MOST_BYTES

    def add(
        self, path: str, kind: str, made_by: str, place: Place, inputs: Any, outputs: Any
    ) -> Node:
        """A call of a module or an op, with what it was given and gave."""
        count = self._calls[path] = self._calls.get(path, 0) + 1
        name = path if count == 1 else f"{path}#{count}"
        given = [Kept(x, True) for x in _tensors(inputs)]
        node = Node(name, kind, made_by, place, given, [self.keep(x) for x in _tensors(outputs)])
        self.nodes[name] = node
        return node

    def keep(self, tensor: Any) -> Kept:
        aval = tensor.aval
        self._room -= aval.size * aval.dtype.itemsize
        return Kept(tensor, self._room > 0)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())


def _tensors(value: Any) -> list[Any]:
    """The tensors of a nested value; the usual ones without a search."""
    if isinstance(value, Tensor):
        return [value]
    if type(value) is tuple:
        for each in value:
            if not isinstance(each, Tensor):
                break
        else:
            return list(value)
    return list(tensors_in(value, Tensor))


def is_looked_at(tensor: Any) -> bool:
    """Whether conditions look at a tensor: of floats, on this machine or on a device."""
    if is_watched(tensor):
        return True
    on_device = isinstance(tensor, Tensor) and tensor.aval.device.type == "cuda"
    return on_device and tensor.flat is not None and tensor.aval.dtype.category >= dtypes.FLOAT


def flat_array(tensor: Any) -> np.ndarray:
    """A tensor's elements, flat; perhaps its own memory."""
    aval = tensor.aval
    flat = tensor.flat
    if aval.dense and isinstance(flat, np.ndarray):
        return flat if flat.size == aval.size else flat[: aval.size]
    return np.ravel(whole_array(tensor))


def whole_array(tensor: Any) -> np.ndarray:
    """A tensor's elements in its shape; of a sparse one those that it holds."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    array: np.ndarray = tensor.array()
    return array
