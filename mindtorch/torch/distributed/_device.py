"""Collectives of tensors on CUDA: NCCL's where the group has it, over copies on the host else."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from mindtorch.engine.autograd import inplace
from mindtorch.engine.devices import cuda
from mindtorch.engine.tensor import as_array, from_array

from ._group import ProcessGroup

__all__ = ["NcclCollectives", "Sum", "array_of", "broadcast_together", "nccl_available", "write"]


def nccl_available() -> bool:
    """Whether there is a device and cupy has NCCL built in."""
    return bool(cuda.device_count()) and cuda.kernels("nccl").library() is not None


def array_of(tensor: Any, group: ProcessGroup | None = None) -> Any:
    """The elements as a numpy array: the tensor's own memory, or a copy of the device's.

    Raises:
        RuntimeError: the group has NCCL alone, which takes no tensors of the CPU.
    """
    if tensor.aval.device.type == "cuda":
        return as_array(tensor.flat.to_host(), cuda.on_cpu(tensor.aval))
    if group is not None and group.backend == "nccl":
        raise RuntimeError("No backend type associated with device type cpu")
    return tensor.array()


def write(tensor: Any, array: Any) -> None:
    """Overwrite a tensor with an array that :func:`array_of` may have given."""
    if tensor.aval.device.type == "cuda":
        inplace.copy_data(tensor, from_array(array))


def broadcast_together(group: ProcessGroup, tensors: list[Any], root: int) -> None:
    """Overwrite tensors of one type with those of process ``root``: in one message, or one after
    another on the device.

    Args:
        group: the processes.
        tensors: in the same order in all of them.
        root: a process's number within the group.
    """
    plain = [t.detach() for t in tensors]
    if group.device is not None and all(
        t.aval.device.type == "cuda" and t.aval.contiguous for t in plain
    ):
        for tensor in plain:
            group.device.broadcast(tensor, root).wait()
        return
    arrays = [array_of(t) for t in plain]
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    group.run(lambda: group.broadcast(flat, root)).result()
    if group.rank() == root:
        return
    place = 0
    for tensor, array in zip(plain, arrays, strict=True):
        array[...] = flat[place : place + array.size].reshape(array.shape)
        write(tensor, array)
        tensor._shared.version += 1
        place += array.size


class NcclCollectives:
    """The collectives of a group on the flat device memory of tensors.

    Args:
        group: whose connections carry the identity that NCCL's processes share.
    """

    def __init__(self, group: ProcessGroup) -> None:
        self._group = group
        self._made: Any = None

    @property
    def communicator(self) -> Any:
        """Made when it is first needed, by all processes of the group."""
        if self._made is None:
            nccl = cuda.kernels("nccl")
            library, group = nccl.library(), self._group
            given = pickle.dumps(nccl.unique_id(library)) if group.rank() == 0 else None
            identity = pickle.loads(group.broadcast_bytes(given, 0))
            self._made = nccl.Communicator(library, group.size(), identity, group.rank())
        return self._made

    def _flat(self, tensor: Any) -> Any:
        """The memory of a dense tensor."""
        if not tensor.aval.contiguous:
            raise ValueError("Tensors must be contiguous")
        return tensor.flat[: tensor.aval.size]

    def _written(self, *tensors: Any) -> None:
        for tensor in tensors:
            inplace.check_writable(tensor)
            tensor._shared.version += 1

    def all_reduce(self, tensor: Any, operation: str) -> Any:
        self._written(tensor)
        return self.communicator.all_reduce(self._flat(tensor), operation)

    def reduce(self, tensor: Any, operation: str, root: int) -> Any:
        self._written(tensor)
        return self.communicator.reduce(self._flat(tensor), operation, root)

    def broadcast(self, tensor: Any, root: int) -> Any:
        self._written(tensor)
        return self.communicator.broadcast(self._flat(tensor), root)

    def all_gather(self, out: Any, tensor: Any) -> Any:
        self._written(out)
        return self.communicator.all_gather(self._flat(out), self._flat(tensor))

    def reduce_scatter(self, out: Any, tensor: Any, operation: str) -> Any:
        self._written(out)
        return self.communicator.reduce_scatter(self._flat(out), self._flat(tensor), operation)

    def all_to_all(self, outs: list[Any], tensors: list[Any]) -> Any:
        self._written(*outs)
        return self.communicator.exchange(
            [self._flat(t) for t in outs], [self._flat(t) for t in tensors]
        )

    def close(self) -> None:
        if self._made is not None:
            self._made.close()
            self._made = None


class Sum:
    """The sum over the processes of a vector on CUDA, under way; ``wait()`` gives the vector.

    Args:
        vector: a dense tensor, which is overwritten.
        group: the processes; without NCCL they add copies on the host.
    """

    def __init__(self, vector: Any, group: ProcessGroup) -> None:
        self._vector = vector
        self._pending = self._future = None
        if group.device is not None:
            self._pending = group.device.all_reduce(vector, "SUM")
        else:
            self._values = array_of(vector)
            self._future = group.run(lambda: group.all_reduce(self._values, "SUM"))

    def wait(self) -> Any:
        if self._pending is not None:
            self._pending.wait()
        elif self._future is not None:
            self._future.result()
            write(self._vector, self._values)
        return self._vector
