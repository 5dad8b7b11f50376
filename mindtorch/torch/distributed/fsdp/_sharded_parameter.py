"""One parameter of a sharded module: a part of it in each process, and the whole while needed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from mindtorch.engine.aval import aval
from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.tensor import Tensor, fields_of, from_array, make

from ...nn.parameter import Parameter
from ._memory import LINE, ReleasableStorage
from ._placing import Placing

__all__ = ["ShardedParameter", "number_of"]

_NUMBER = "_fsdp_number"
_numbers = itertools.count()


def number_of(parameter: Any) -> int:
    """A number of its own for every whole parameter, by which two groups know that it is one."""
    if not hasattr(parameter, _NUMBER):
        setattr(parameter, _NUMBER, next(_numbers))
    number: int = getattr(parameter, _NUMBER)
    return number


class ShardedParameter:
    """A parameter cut along one axis over the processes of a group.

    Axis ``dim`` is cut into parts of ``ceil(length / processes)`` rows; the last ones may be
    shorter or empty, and travel padded.

    Args:
        parameter: whole, the same in all processes.
        owners: (module, name) wherever it is registered.
        placing: the processes.
        dim: the axis that is cut.
        name: for errors.

    Attributes:
        sharded: the parameter that is registered and trained, this process's part.
        unsharded: the whole, a leaf of autodiff's graph; made at the first use.
        kept: gradients of passes without reduction, in the type in which they are reduced.
    """

    def __init__(
        self, parameter: Any, owners: list[tuple[Any, str]], placing: Placing, dim: int, name: str
    ) -> None:
        local = placing.local_of(parameter)
        self.owners = owners
        self.placing = placing
        self.name = name
        self.shape = tuple(local.shape)
        self.dim = dim
        self.spec = placing.spec_of(parameter)
        self.dtype = local.aval.dtype
        self.device = local.aval.device
        self.sharded: Any = None
        self.unsharded: Any = None
        self.kept: Any = None
        self.number = number_of(parameter)
        self._check(local)
        length, count = self.shape[dim], placing.shards
        self.rows = -(-length // count)
        start = min(self.rows * placing.place, length)
        self.length = min(self.rows, length - start)
        self.start = start
        self.rest = local.aval.size // length if length else 0
        self.padded = self.rows * (self.rest or 1) if local.aval.size else 0

    def _check(self, local: Any) -> None:
        if not local.aval.contiguous:
            raise NotImplementedError(
                "FSDP does not support non-contiguous parameters yet: "
                f"param.shape={local.shape} param.stride()={local.stride()}"
            )
        if self.dim >= len(self.shape):
            raise AssertionError(
                f"Shard dim {self.dim} is invalid for {len(self.shape)}D tensor: {local.shape}"
            )
        if self.dim and self.shape[self.dim] % self.placing.shards:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {self.dim}: {local.shape} "
                f"(world size: {self.placing.shards})"
            )

    # --- the part of this process ------------------------------------------------------------

    @property
    def local_shape(self) -> tuple[int, ...]:
        return (*self.shape[: self.dim], self.length, *self.shape[self.dim + 1 :])

    def cut(self, parameter: Any, slot: Any) -> None:
        """Make the sharded parameter of the whole one, in memory that is given.

        Args:
            slot: ``padded`` elements; None for parameters on the meta device.
        """
        local = self.placing.local_of(parameter)
        if slot is None:
            part = local.detach().new_empty(self.local_shape)
        else:
            part = make(slot[: self.length * self.rest], aval(self.local_shape, self.dtype))
            index = (*[slice(None)] * self.dim, slice(self.start, self.start + self.length))
            part.array()[...] = local.detach().array()[index]
        made = Parameter(self.placing.shown(part, self), parameter.requires_grad)
        self.register(made)
        self.sharded = made

    def local(self) -> Any:
        """The tensor of this process's part, as it is now."""
        return self.placing.local_of(self.sharded)

    def register(self, parameter: Any) -> None:
        """Give the modules the part, or the whole, which are one parameter to guards."""
        fields_of(parameter)["_registered_for"] = self
        for module, name in self.owners:
            module._parameters[name] = parameter
        module_changed()

    def refresh(self) -> None:
        """Take the parameter that is registered, where another was put in the part's place."""
        module, name = self.owners[0]
        found = module._parameters[name]
        if found is not self.sharded and found is not self.unsharded:
            self.sharded = found
            self.register(found)

    def fill(self, slot: Any) -> None:
        """Copy this process's part to where it is sent from, cast to the type of ``slot``.

        Raises:
            RuntimeError: the parameter was replaced by one of another shape, or is on the meta
                device.
        """
        local = self.local()
        if local.aval.device.type != "cpu":
            raise RuntimeError(
                f"FSDP parameters should be materialized on the CPU before training, but got "
                f"{self.name} on {local.aval.device}: call module.to_empty(device='cpu') and set "
                "its parameters"
            )
        if local.aval.shape != self.local_shape:
            raise RuntimeError(
                f"the sharded parameter {self.name} has the shape {list(local.aval.shape)}; "
                f"{list(self.local_shape)} is this process's part of {list(self.shape)}"
            )
        slot[: local.aval.size] = local.detach().array().reshape(-1)

    # --- the whole ---------------------------------------------------------------------------

    def bytes_of_whole(self, width: int) -> int:
        """Bytes for the padded whole of elements of ``width`` bytes, up to the next cache line."""
        size = self.padded * self.placing.shards * width
        return -(-size // LINE) * LINE

    def make_whole(self, memory: Any, dtype: Any) -> None:
        """The leaf over the first elements of ``memory``, the padded whole."""
        self.whole = memory[: self.padded * self.placing.shards * dtype.itemsize].view(dtype.np)
        size = int(np.prod(self.shape))
        buffer = self.whole[:size]
        self.storage = ReleasableStorage(buffer, self.name)
        leaf = make(buffer, aval(self.shape, dtype), self.storage)
        self.leaf: Any = leaf
        self.unsharded = Parameter(self.placing.whole_shown(leaf, self), False)

    def spread(self, rows: Any) -> None:
        """Fill the whole from the parts of all processes, a row for each."""
        if self.dim == 0:
            self.whole.reshape(len(rows), -1)[...] = rows
            return
        shape = self.local_shape
        whole = self.whole.reshape(*shape[: self.dim], len(rows), *shape[self.dim :])
        for place, row in enumerate(rows):
            whole[(*[slice(None)] * self.dim, place)] = row.reshape(shape)

    # --- gradients ---------------------------------------------------------------------------

    def gradient(self) -> Any:
        """The gradient of the whole, as an array; None where there is none."""
        if self.unsharded is None:
            return None
        found = self.kept
        if self.unsharded._grad is not None:
            given = self.placing.whole_gradient(self.unsharded._grad, self)
            if given.is_sparse:
                raise NotImplementedError(
                    f"fully_shard does not reduce sparse gradients, as that of {self.name}"
                )
            array = given.detach().array()
            found = array if found is None else found + array
        return found

    def keep_gradient(self, dtype: Any) -> None:
        """Put the gradient by, in the type in which it will be reduced."""
        found = self.gradient()
        if found is not None and found.dtype != dtype:
            self.kept = found.astype(dtype)
            self.unsharded._grad = None

    def forget_gradient(self) -> None:
        self.kept = self.unsharded._grad = None

    def put(self, gradient: Any, rows: Any) -> None:
        """Copy the whole's gradient to the rows in which it is sent, one for each process.

        Args:
            rows: (processes, padded), which are overwritten.
        """
        if self.dim == 0:
            flat = gradient.reshape(-1)
            whole, rest = divmod(flat.size, rows.shape[1])
            rows[:whole] = flat[: flat.size - rest].reshape(whole, -1)
            if whole < len(rows):
                rows[whole, :rest] = flat[flat.size - rest :]
                rows[whole, rest:] = 0
                rows[whole + 1 :] = 0
            return
        for row, part in zip(rows, np.split(gradient, len(rows), self.dim), strict=True):
            row[...] = part.reshape(-1)

    def take(self, reduced: Any) -> None:
        """Add this process's part of the reduced gradient to that of the sharded parameter."""
        part = reduced[: self.length * self.rest].reshape(self.local_shape)
        made: Tensor = from_array(part)
        local = self.sharded._grad
        if local is not None:
            self.placing.local_of(local).detach().add_(made)
        else:
            self.sharded._grad = self.placing.shown(made, self)
