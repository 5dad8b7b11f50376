"""Networks traced for inputs some of whose lengths may be others later."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from mindtorch.exporting.arguments import Arguments, tensors_in
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph, trace
from mindtorch.torch.utils._pytree import tree_map_only

from ..common.tensor import OpenTensor, Tensor

__all__ = ["traced"]

# the least lengths that are tried and what further ones are apart: of batches, and of other axes,
# which layers may divide
_BATCHES, _OTHERS = (2, 1), (224, 32)


def traced(
    net: Any, call: Any, inputs: tuple[Any, ...], open_batch: bool
) -> tuple[InferenceGraph, list[str]]:
    """The graph of a network, and its inputs' names.

    Args:
        net: a cell, a module or a function.
        call: what it computes with.
        inputs: its arguments, with tensors of open lengths among them.
        open_batch: whether the first axis of all inputs is open.

    Raises:
        ExportError: the network needs data, or an open length, in Python.
    """
    opened = [getattr(x, "open_axes", ()) for _, x in tensors_in(inputs)]
    if not any(opened):
        given = Arguments(call, inputs, {})
        axes = [{0: "batch"} if open_batch and x.aval.ndim else {} for x in given.tensors]
        return trace(net, given, axes), given.names
    failure: ExportError | None = None
    for apart in (True, False):  # lengths may have to be the same, as those of a batch
        key = _names(apart)
        axes = [{axis: key(number, axis) for axis in each} for number, each in enumerate(opened)]
        if not apart and len(set().union(*(each.values() for each in axes))) == sum(map(len, axes)):
            break
        try:
            given = Arguments(call, _examples(inputs, axes), {})
            return trace(net, given, axes), given.names
        except ExportError as error:
            failure = failure or error
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            failure = failure or ExportError(f"with open lengths: {error}")
    assert failure is not None
    raise failure


def _names(apart: bool) -> Callable[[int, int], str]:
    def name(number: int, axis: int) -> str:
        first = "batch" if axis == 0 else f"axis_{axis}"
        return f"{first}_{number}" if apart and number else first

    return name


def _examples(inputs: tuple[Any, ...], axes: list[dict[int, str]]) -> Any:
    """The arguments with tensors whose open lengths are numbers, one for each name."""
    lengths: dict[str, int] = {}
    numbers = itertools.count()

    def example(tensor: Any) -> Any:
        number = next(numbers)
        if not isinstance(tensor, OpenTensor):
            return tensor
        shape = list(tensor.aval.shape)
        for axis, name in axes[number].items():
            least, step = _BATCHES if axis == 0 else _OTHERS
            shape[axis] = lengths.setdefault(name, least + step * len(lengths))
        return Tensor(shape=shape, dtype=tensor.dtype, init="zeros")

    return tree_map_only(Tensor, example, inputs)
