"""Operations over several processes in MindSpore's words: strategies and layouts.

A tensor has one value for all processes. Where a function is sharded, its inputs are cut, each
process computes its part, and what comes out is gathered; so results are those of one process.
Parameters stay whole in every process, and their gradients are of the whole; they have to be the
same everywhere, as they are after `mindspore.set_seed`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._compat.mindspore_bridge import cast_to_ms_tensor
from mindtorch.torch.distributed.device_mesh import DeviceMesh
from mindtorch.torch.distributed.tensor import DTensor, Replicate, Shard
from mindtorch.torch.distributed.tensor.experimental import implicit_replication
from mindtorch.torch.utils._pytree import tree_map

from .. import communication

__all__ = [
    "Layout", "gathered", "gathered_from", "layouts_of", "part_of", "process_mesh", "reshard",
    "shard", "sharded",
]  # fmt: skip

_meshes: dict[Any, DeviceMesh] = {}
Labels = Sequence[Sequence[Any]]


def process_mesh(shape: tuple[int, ...], ranks: tuple[int, ...]) -> DeviceMesh:
    """The processes in rows and columns; all of them ask for the same ones in the same order."""
    if not communication.is_initialized():
        raise RuntimeError("call mindspore.communication.init() before a sharded function")
    key = torch.distributed.group.WORLD, shape, ranks
    if key not in _meshes:
        _meshes[key] = DeviceMesh("cpu", np.reshape(ranks, shape).tolist())
    return _meshes[key]


class Layout:
    """How a tensor lies over processes: ``Layout((2, 2), ("dp", "mp"))("dp", "None")``.

    Args:
        device_matrix: the processes in rows and columns.
        alias_name: a name for each of the axes.
        rank_list: the processes' numbers; all of the job when None.

    Raises:
        ValueError: not as many names as axes, or not as many processes.
        NotImplementedError: the axis "interleaved_parallel".
    """

    def __init__(
        self, device_matrix: tuple[int, ...], alias_name: tuple[str, ...],
        rank_list: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        if len(device_matrix) != len(alias_name) or len(set(alias_name)) != len(alias_name):
            raise ValueError(
                f"device_matrix {device_matrix} and alias_name {alias_name} must be of one length, "
                "and the names must differ"
            )
        if "interleaved_parallel" in alias_name:
            raise NotImplementedError("Layout: interleaved_parallel is not available in mindtorch")
        self.device_matrix = tuple(device_matrix)
        self.alias_name = tuple(alias_name)
        count = math.prod(self.device_matrix)
        self.rank_list = tuple(range(count) if rank_list is None else rank_list)
        if len(self.rank_list) != count:
            raise ValueError(
                f"{len(self.rank_list)} processes are no device_matrix {device_matrix}"
            )
        self.tensor_map: tuple[tuple[int, ...], ...] | None = None

    def __call__(self, *tensor_map: str | tuple[str, ...]) -> Layout:
        """The layout of a tensor.

        Args:
            tensor_map: for each axis of the tensor the axis of the processes that cuts it, several
                in the order of ``alias_name``, or "None".

        Raises:
            ValueError: no such axis, or one that cuts twice.
        """
        axes = []
        for names in tensor_map:
            each = (names,) if isinstance(names, str) else tuple(names)
            unknown = [name for name in each if name not in (*self.alias_name, "None")]
            if unknown:
                raise ValueError(f"{unknown} are not among {self.alias_name}")
            found = tuple(self.alias_name.index(name) for name in each if name != "None")
            if list(found) != sorted(found):
                raise NotImplementedError(f"Layout: axes that cut in another order, {each}")
            axes.append(found)
        flat = [axis for each in axes for axis in each]
        if len(set(flat)) != len(flat):
            raise ValueError(f"an axis of the processes cuts twice in {tensor_map}")
        made = copy.copy(self)
        made.tensor_map = tuple(axes)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What it is, as MindSpore writes it: axes of the processes are counted from the end."""
        last = len(self.device_matrix) - 1
        shown = [
            tuple(last - axis for axis in axes) if len(axes) > 1 else last - axes[0] if axes else -1
            for axes in self.tensor_map or ()
        ]
        return {
            "device_matrix": self.device_matrix, "tensor_map": tuple(shown),
            "interleaved_parallel": False, "alias_name": self.alias_name,
            "rank_list": list(self.rank_list),
        }  # fmt: skip

    @property
    def mesh(self) -> DeviceMesh:
        """The processes as torch has them."""
        return process_mesh(self.device_matrix, self.rank_list)

    @property
    def placements(self) -> list[Any]:
        """What each axis of the processes does with the tensor.

        Raises:
            ValueError: the layout was not called with a tensor's axes.
        """
        if self.tensor_map is None:
            raise ValueError('give the layout the axes of a tensor: layout("dp", "None")')
        made: list[Any] = [Replicate()] * len(self.device_matrix)
        for dim, axes in enumerate(self.tensor_map):
            for axis in axes:
                made[axis] = Shard(dim)
        return made


def _factors(number: int) -> list[int]:
    found = []
    divisor = 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found or [1]


def layouts_of(strategy: Sequence[Sequence[int]], labels: Labels | None = None) -> list[Layout]:
    """The layouts of a strategy: for each input into how many pieces each axis is cut.

    Axes of several inputs that belong together are cut by the same processes.

    Args:
        strategy: the numbers.
        labels: a name for each axis, the same for those that belong together; by default axes do
            that are as far from the last one.

    Raises:
        ValueError: the processes cannot be divided so.
    """
    size = communication.get_group_size()
    shape = tuple(_factors(size))
    names = tuple(f"axis{n}" for n in range(len(shape)))
    base, free = Layout(shape, names), list(range(len(shape)))
    taken: dict[Any, list[int]] = {}
    made = []
    for number, cuts in enumerate(strategy):
        own = labels[number] if labels is not None else range(-len(cuts), 0)
        axes = []
        for cut, label in zip(cuts, own, strict=True):
            if cut > 1 and label not in taken:
                taken[label] = []
                while free and math.prod(shape[a] for a in taken[label]) < cut:
                    taken[label].append(free.pop(0))
            if cut > 1 and math.prod(shape[a] for a in taken[label]) != cut:
                raise ValueError(
                    f"the strategy {strategy} does not divide {size} processes: they are {shape}"
                )
            axes.append(tuple(names[a] for a in taken[label]) if cut > 1 else "None")
        made.append(base(*axes))
    return made


def _placed(value: Any, layout: Layout | None) -> Any:
    """A tensor as a layout has it; one that is whole is cut without asking others."""
    if layout is None or not isinstance(value, EngineTensor):
        return value
    mesh, placements = layout.mesh, layout.placements
    if isinstance(value, DTensor) and value.device_mesh != mesh:
        value = value.full_tensor()
    if not isinstance(value, DTensor):
        everywhere = [Replicate()] * mesh.ndim
        value = DTensor.from_local(value, mesh, everywhere, run_check=False)
    return value.redistribute(mesh, placements)


def gathered(value: Any) -> Any:
    """The whole of a tensor that lies over processes, as MindSpore's; other values as they are."""
    return cast_to_ms_tensor(value.full_tensor()) if isinstance(value, DTensor) else value


def gathered_from(part: Any, mesh: DeviceMesh, placements: Sequence[Any]) -> Any:
    """The whole of which each process has a part.

    Args:
        part: this process's.
        mesh, placements: how the whole lies.
    """
    return gathered(DTensor.from_local(part.detach(), mesh, placements, run_check=False))


def part_of(whole: Any, mesh: DeviceMesh, placements: Sequence[Any]) -> Any:
    """This process's part of a tensor that all processes have.

    Args:
        whole: a plain tensor.
        mesh, placements: how it is to lie.
    """
    everywhere = [Replicate()] * mesh.ndim
    value = DTensor.from_local(whole.detach(), mesh, everywhere, run_check=False)
    return value.redistribute(mesh, placements).to_local()


def _as_layouts(strategy: Any, labels: Labels | None = None) -> list[Any] | None:
    if strategy is None:
        return None
    if all(each is None or isinstance(each, Layout) for each in strategy):
        return list(strategy)
    return list(layouts_of(strategy, labels))


def sharded(
    function: Callable[..., Any], in_strategy: Any, out_strategy: Any = None,
    labels: Labels | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """``function`` with its inputs cut; see :func:`shard`.

    Args:
        function, in_strategy, out_strategy: as there.
        labels: see :func:`layouts_of`.
    """

    def call(*inputs: Any) -> Any:
        if in_strategy is not None and len(in_strategy) != len(inputs):
            raise ValueError(f"{len(inputs)} inputs have {len(in_strategy)} strategies")
        layouts = _as_layouts(in_strategy, labels)
        given = inputs
        if layouts is not None:
            given = tuple(_placed(x, each) for x, each in zip(inputs, layouts, strict=True))
        with implicit_replication():
            result = function(*given)
        wanted = _as_layouts(out_strategy)
        if wanted is not None:
            several = isinstance(result, (tuple, list))
            parts = list(result) if several else [result]
            parts = [_placed(x, each) for x, each in zip(parts, wanted, strict=True)]
            result = tuple(parts) if several else parts[0]
        # inside of a sharded function what comes next takes the parts as they are
        return (
            result if any(isinstance(x, DTensor) for x in inputs) else tree_map(gathered, result)
        )

    return call


def shard(
    fn: Callable[..., Any], in_strategy: Any, out_strategy: Any = None, parameter_plan: Any = None,
    device: str = "Ascend", level: int = 0,
) -> Callable[..., Any]:  # fmt: skip
    """``fn`` computed by all processes together: each has a part of its inputs.

    The result is the same as without, in every process.

    Args:
        fn: a function or cell of tensors.
        in_strategy: for each input a :class:`Layout`, or into how many pieces each axis is cut.
        out_strategy: the same for what it returns; it is gathered in the end.
        parameter_plan: not available: parameters stay whole.
        device, level: of no effect.

    Raises:
        NotImplementedError: ``parameter_plan``.
        ValueError: when called: processes that cannot be divided so.
    """
    del device, level
    if parameter_plan is not None:
        raise NotImplementedError(
            "shard(parameter_plan=...) is not available in mindtorch: parameters stay whole in "
            "every process; torch.distributed.tensor.parallel cuts them"
        )
    return sharded(fn, in_strategy, out_strategy)


def reshard(tensor: Any, layout: Layout) -> Any:
    """The same tensor in another layout: of effect inside of a sharded function.

    Args:
        tensor: of any layout.
        layout: the new one.

    Raises:
        TypeError: no layout.
    """
    if not isinstance(layout, Layout):
        raise TypeError(f"reshard's layout must be a Layout, but got {type(layout)}")
    return _placed(tensor, layout) if isinstance(tensor, DTensor) else tensor
