"""Meshes: the processes of a job in a grid, with a group along each of its axes."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._compat.unsupported_names import refuse
from . import _axis_collectives as along
from . import distributed_c10d as c10d
from ._group import ProcessGroup

__all__ = ["DeviceMesh", "init_device_mesh"]


class _MeshStack(threading.local):
    """The meshes whose ``with`` blocks this thread is in."""

    def __init__(self) -> None:
        self.mesh_stack: list[DeviceMesh] = []

    def get_current_mesh(self) -> DeviceMesh:
        """The innermost one."""
        if not self.mesh_stack:
            raise RuntimeError("No device mesh is currently active!")
        return self.mesh_stack[-1]


_mesh_resources = _MeshStack()


def _strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


class DeviceMesh:
    """Processes in a grid of one or more axes.

    All processes of the job must make it, in the same order, since groups are made. It is a block,
    too, in which it is the mesh of what names none.

    Args:
        device_type: "cpu" or "cuda": where the tensors lie.
        mesh: ranks among all processes, as a tensor or nested lists.
        mesh_dim_names: names of the axes, for slices.
        backend_override: None; groups have the backend of the job.

    Raises:
        RuntimeError: more processes than there are.
        NotImplementedError: ``backend_override`` given.
    """

    def __init__(
        self, device_type: str, mesh: Any = None, *, mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None, _init_backend: bool = True,
    ) -> None:  # fmt: skip
        if mesh is None:
            raise TypeError("The mesh argument is required except for PRIVATE USAGE ONLY!")
        if backend_override is not None:
            refuse("DeviceMesh(backend_override=...)", "all groups of a job have one backend")
        ranks = mesh.tolist() if isinstance(mesh, EngineTensor) else mesh
        self._ranks = np.asarray(ranks, np.int64)
        if len(set(self._ranks.reshape(-1).tolist())) != self._ranks.size:
            raise AssertionError("Please use a non-overlapping layout when creating a DeviceMesh.")
        self._device_type = device_type
        self._names = tuple(mesh_dim_names) if mesh_dim_names else None
        self._strides = _strides_of(self._ranks.shape)
        self._root: DeviceMesh | None = None
        self._axes: tuple[Any, ...] = tuple((i,) for i in range(self._ranks.ndim))
        self._flattened: dict[str, DeviceMesh] = {}
        self._groups: list[Any] = []
        if _init_backend:
            if not c10d.is_initialized():
                c10d.init_process_group()
            size = c10d.get_world_size()
            if self._ranks.size > size:
                raise RuntimeError(
                    f"Mesh should not be bigger than default world size {size}, but found "
                    f"{self._ranks.size} ranks!"
                )
            self._groups = [self._make_groups(axis) for axis in range(self._ranks.ndim)]
        self._find_place()

    def _find_place(self) -> None:
        own = c10d.get_rank() if c10d.is_initialized() else -1
        places = np.argwhere(self._ranks == own)
        self._place = tuple(int(i) for i in places[0]) if len(places) else None
        self._key = (
            tuple(self._ranks.reshape(-1).tolist()), self._ranks.shape, self._device_type,
            self._names,
        )  # fmt: skip
        self._hash = hash(self._key)
        self.shape = tuple(self._ranks.shape)

    def _make_groups(self, axis: int) -> Any:
        """A group for each row along an axis; this process's own."""
        rows = np.moveaxis(self._ranks, axis, -1).reshape(-1, self._ranks.shape[axis]).tolist()
        return _own_group(rows, f"mesh_{self._names[axis]}" if self._names else f"mesh_dim_{axis}")

    # --- description -------------------------------------------------------------------------

    @property
    def device_type(self) -> str:
        """Where the tensors lie: "cpu" or "cuda"."""
        return self._device_type

    @property
    def mesh(self) -> Any:
        """The ranks among all processes, as a tensor."""
        return from_array(self._ranks.astype(np.int32))

    @property
    def mesh_dim_names(self) -> tuple[str, ...] | None:
        """The names of the axes; None where they have none."""
        return self._names

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return self._ranks.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, along an axis where that is given."""
        return int(self._ranks.size) if mesh_dim is None else int(self._ranks.shape[mesh_dim])

    def __repr__(self) -> str:
        if self._names:
            pairs = zip(self._names, self.shape, strict=True)
            shown = f"({', '.join(f'{name}={n}' for name, n in pairs)})"
        else:
            shown = f"{self.shape}"
        strides: Any = zip(self.shape, self._strides, strict=True)
        strides = tuple(() if n == 1 else stride for n, stride in strides)
        text = f"DeviceMesh({shown}, '{self._device_type}', stride={strides}"
        if os.environ.get("TORCH_DISTRIBUTED_DEBUG", "") == "DETAIL":
            text += f", Mesh: {self._ranks.tolist()}"
        return f"{text})"

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DeviceMesh) and self._key == other._key
            and self._is_closed() == other._is_closed()  # kept plans exchange over their own mesh
        )

    def _is_closed(self) -> bool:
        return any(getattr(group, "closed", False) for group in self._groups)

    def __reduce__(self) -> Any:
        facts = (self._device_type, self._ranks.tolist(), self._names)
        return rebuilt_mesh, facts

    def __enter__(self) -> DeviceMesh:
        _mesh_resources.mesh_stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _mesh_resources.mesh_stack.pop()

    # --- this process ------------------------------------------------------------------------

    def get_rank(self) -> int:
        """This process's number among all."""
        return c10d.get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's place in the grid; None outside of it."""
        return self._place

    def _is_current_rank_part_of_mesh(self) -> bool:
        return self._place is not None

    def _axis(self, mesh_dim: int | str | None, hint: str = "") -> int:
        if mesh_dim is None:
            if self.ndim > 1:
                told = (
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                )
                raise RuntimeError(*told, *([hint] if hint else []))
            return 0
        if isinstance(mesh_dim, str):
            return self._get_mesh_dim_by_name(mesh_dim)
        return mesh_dim

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        if not self._names:
            raise KeyError("No `mesh_dim_names` found.")
        if mesh_dim_name not in self._names:
            raise KeyError(
                f"Mesh dimension '{mesh_dim_name}' does not exist.",
                f"Available mesh dimensions are: mesh_dim_names={self._names}",
            )
        return self._names.index(mesh_dim_name)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's place along an axis, by number or name; the only one when None."""
        return c10d.get_rank(self.get_group(self._axis(mesh_dim)))

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of this process along an axis, by number or name; the only one when None."""
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        flattened = self._get_root_mesh()._flattened
        if isinstance(mesh_dim, str) and mesh_dim in flattened:
            return flattened[mesh_dim].get_group()
        hint = (
            "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
            "please use `get_all_groups()` instead."
        )
        return self._groups[self._axis(mesh_dim, hint)]

    def get_all_groups(self) -> list[Any]:
        """The groups of this process along all axes."""
        return [self.get_group(axis) for axis in range(self.ndim)]

    # --- slices ------------------------------------------------------------------------------

    def _get_root_mesh(self) -> DeviceMesh:
        return self._root or self

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The part of the mesh along some axes in which this process is."""
        if not self._names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        chosen = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if chosen == self._names:
            return self
        flattened = {} if self._root else self._flattened
        valid = [*self._names, *flattened]
        if not all(name in valid for name in chosen):
            raise KeyError(
                f"Invalid mesh_dim_names {chosen} specified. Valid mesh_dim_names are {valid}."
            )
        if len(chosen) == 1 and chosen[0] in flattened:
            return flattened[chosen[0]]
        axes: list[Any] = []
        for name in chosen:
            known = self._names.index(name) if name in self._names else None
            axes.append(flattened[name]._axes[0] if known is None else self._axes[known])
        used = [i for axis in axes for i in axis]
        root = self._get_root_mesh()
        steps = [i for i in used if root.shape[i] > 1]  # one process has no place among others
        if steps != sorted(steps):
            raise KeyError(
                f"Invalid mesh_dim_names {chosen} specified. "
                "Mesh dim indices should be in ascending order."
            )
        if len(set(used)) != len(used):
            raise RuntimeError(f"Slicing overlapping dim_names {chosen} is not allowed.")
        groups = [
            self._groups[self._names.index(name)] if name in self._names
            else flattened[name]._groups[0]
            for name in chosen
        ] if self._groups else []  # fmt: skip
        return self._part(tuple(axes), chosen, groups)

    def _part(
        self, axes: tuple[Any, ...], names: tuple[str, ...], groups: list[Any]
    ) -> DeviceMesh:
        """The mesh along some axes of the root's, each a tuple of those that it is made of."""
        root = self._get_root_mesh()
        used = [i for axis in axes for i in axis]
        others = [i for i in range(root.ndim) if i not in used]
        grid = root._ranks.transpose((*others, *used))
        lengths = [math.prod(root.shape[i] for i in axis) for axis in axes]
        rows = grid.reshape(-1, *lengths)
        own = [row for row in rows if c10d.get_rank() in row]
        made = DeviceMesh.__new__(DeviceMesh)
        made._ranks = own[0] if own else rows[0]
        made._device_type, made._names, made._root = self._device_type, names, root
        made._strides = tuple(root._strides[axis[-1]] for axis in axes)
        made._axes, made._flattened, made._groups = axes, {}, groups
        made._find_place()
        return made

    def _flatten(
        self, mesh_dim_name: str | None = None, backend_override: Any = None
    ) -> DeviceMesh:
        """All axes as one, called ``mesh_dim_name`` (their names joined by "_" when None)."""
        if not self._names:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        if backend_override is not None:
            refuse("DeviceMesh._flatten(backend_override=...)", "groups have one backend")
        name = mesh_dim_name or "_".join(self._names)
        if self.ndim == 1 and name in self._names:
            return self
        root = self._get_root_mesh()
        assert root._names is not None
        if name in root._names:
            raise ValueError(
                f"{name} already exists for submesh of the {root}. ",
                f"The mesh_dim_names of submesh and flattened mesh are {root._names}. "
                f"Please specify another valid mesh_dim_name.",
            )
        axis = tuple(i for each in self._axes for i in each)
        if name in root._flattened:
            if root._flattened[name]._axes != (axis,):
                raise ValueError(
                    f"Flatten mesh with mesh_dim_name {name} has been created before, "
                    f"Please specify another valid mesh_dim_name."
                )
            return root._flattened[name]
        made = self._part((axis,), (name,), [])
        others = [i for i in range(root.ndim) if i not in axis]
        rows = root._ranks.transpose((*others, *axis)).reshape(-1, made.size()).tolist()
        made._groups = [_own_group(rows, f"mesh_{name}")]
        root._flattened[name] = made
        return made

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: Any = None, *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:  # fmt: skip
        """The mesh whose groups are there already.

        Args:
            group: a group, or a list with one for each axis.
            device_type: "cpu" or "cuda".
            mesh: ranks among all processes; needed for more than one group.
            mesh_dim_names: names of the axes; needed for more than one group.
        """
        given = mesh.tolist() if isinstance(mesh, EngineTensor) else mesh
        if isinstance(group, ProcessGroup):
            ranks = c10d.get_process_group_ranks(group)
            if given is not None and given != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            made = DeviceMesh(
                device_type, ranks, mesh_dim_names=mesh_dim_names, _init_backend=False
            )
            made._groups = [group]
            return made
        groups = list(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if given is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        if np.ndim(given) != len(groups):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got "
                f"mesh {given} and {len(groups)} ProcessGroups"
            )
        made = DeviceMesh(device_type, given, mesh_dim_names=mesh_dim_names, _init_backend=False)
        made._groups = groups
        return made

    # --- what the engine asks of it ----------------------------------------------------------

    def reduce_along(self, axis: int, local: Any, operation: str) -> Any:
        """The combination of the locals along an axis, in each process."""
        return along.reduced(local, operation, self._groups[axis])

    def gather_along(self, axis: int, local: Any, dim: int, sizes: Sequence[int]) -> Any:
        """The locals along an axis one after another, as they have these lengths along ``dim``."""
        return along.gathered(local, dim, sizes, self._groups[axis])

    def reduce_scatter_along(self, axis: int, parts: Sequence[Any], operation: str) -> Any:
        """The combination of the parts for this process along an axis."""
        return along.reduced_parts(parts, operation, self._groups[axis])

    def exchange_along(
        self, axis: int, parts: Sequence[Any], shapes: Sequence[tuple[int, ...]]
    ) -> list[Any]:
        """Part ``i`` goes to process ``i`` along an axis; what they sent here."""
        return along.exchanged(parts, shapes, self._groups[axis])

    def broadcast_along(self, axis: int, local: Any, source: int) -> Any:
        """The local of the process ``source`` along an axis, in each of them."""
        return along.same_everywhere(local, source, self._groups[axis])


def _own_group(rows: list[list[int]], name: str) -> Any:
    """A group for each list of ranks; this process's own."""
    if rows == [list(range(c10d.get_world_size()))]:
        return c10d.group.WORLD
    made = [c10d.new_group(row, group_desc=name, sort_ranks=False) for row in rows]
    own = [g for g in made if g != c10d.GroupMember.NON_GROUP_MEMBER]
    return own[0] if own else None


def rebuilt_mesh(
    device_type: str, ranks: Any, names: tuple[str, ...] | None
) -> DeviceMesh:
    """A mesh from a file: a description without groups."""
    return DeviceMesh(device_type, ranks, mesh_dim_names=names, _init_backend=False)


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *,
    mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None,
) -> DeviceMesh:  # fmt: skip
    """The mesh of the first processes, in C order; begins the default group where there is none.

    Args:
        device_type: "cpu" or "cuda", without a number.
        mesh_shape: how many processes there are along each axis.
        mesh_dim_names: names of the axes, each another one.
        backend_override: None; groups have the backend of the job.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. "
                f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and "
                f"len(mesh_shape):{len(mesh_shape)}."
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = np.arange(math.prod(mesh_shape)).reshape(tuple(mesh_shape))
    return DeviceMesh(
        device_type, ranks, mesh_dim_names=mesh_dim_names, backend_override=backend_override
    )
