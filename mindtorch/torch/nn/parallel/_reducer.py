"""Averages of gradients over processes, bucket after bucket while backward is still running."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from mindtorch.engine.tensor import from_array

from ...distributed import GradBucket, ProcessGroup
from ...distributed._device import Sum
from ...distributed._group import about
from ...distributed._observed import tell

__all__ = ["FIRST_BUCKET", "Reducer"]

FIRST_BUCKET = 1 << 20  # bytes: what comes first is sent soon
Hook = tuple[Any, Callable[[Any, GradBucket], Any]]


class _Bucket:
    """Parameters of one type whose gradients travel together, and the memory for them."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        self.flat = np.zeros(sum(p.aval.size for p in parameters), parameters[0].aval.dtype.np)
        self.slots: dict[int, Any] = {}
        self.tensor = from_array(self.flat)
        self.views: dict[int, Any] = {}
        place = 0
        for p in parameters:
            self.slots[id(p)] = self.flat[place : place + p.aval.size].reshape(p.aval.shape)
            self.views[id(p)] = self.tensor[place : place + p.aval.size].view(p.shape)
            place += p.aval.size
        self.missing = 0
        self.result: Any = None

    def clear(self, parameter: Any) -> None:
        """A parameter has no gradient."""
        self.slots[id(parameter)][...] = 0

    def put(self, parameter: Any, gradient: Any, factor: float) -> None:
        """A parameter's gradient, times ``factor``."""
        slot = self.slots[id(parameter)]
        np.multiply(gradient.array(), slot.dtype.type(factor), out=slot, casting="unsafe")

    def zero(self) -> None:
        self.flat[...] = 0

    def sum(self, group: ProcessGroup, subject: str) -> Any:
        """Begin to add the vectors of all processes.

        Args:
            subject: what they are, for errors.
        """

        def add() -> None:
            with about(subject):
                group.all_reduce(self.flat, "SUM")

        return group.run(add)

    def replace(self, found: Any) -> None:
        """Take the vector that a hook has made."""
        self.flat[...] = found.array().reshape(-1)

    def give(self, parameter: Any) -> None:
        """Put a parameter's average into its gradient, a tensor of its own."""
        slot = self.slots[id(parameter)]
        if parameter.grad is None:
            parameter.grad = from_array(slot.copy())
        else:
            parameter.grad.detach().array()[...] = slot
            parameter.grad._shared.version += 1


class _DeviceBucket(_Bucket):
    """A bucket in the memory of a CUDA device."""

    def __init__(self, parameters: list[Any]) -> None:
        self.parameters = parameters
        sizes = [p.aval.size for p in parameters]
        self.tensor = parameters[0].detach().new_zeros(sum(sizes))
        parts = self.tensor.split(sizes)
        self.views = {id(p): v.view(p.shape) for p, v in zip(parameters, parts, strict=True)}
        self.missing = 0
        self.result: Any = None

    def clear(self, parameter: Any) -> None:
        self.views[id(parameter)].zero_()

    def put(self, parameter: Any, gradient: Any, factor: float) -> None:
        self.views[id(parameter)].copy_(gradient * factor)

    def zero(self) -> None:
        self.tensor.zero_()

    def sum(self, group: ProcessGroup, subject: str) -> Any:
        return Sum(self.tensor, group)

    def replace(self, found: Any) -> None:
        self.tensor.copy_(found.reshape(-1))

    def give(self, parameter: Any) -> None:
        view = self.views[id(parameter)]
        if parameter.grad is None:
            parameter.grad = view.clone()
        else:
            parameter.grad.detach().copy_(view)


def make_buckets(parameters: list[Any], capacities: list[int]) -> list[_Bucket]:
    """Last parameters first, since their gradients come first; each bucket is closed when it has
    its number of bytes, those behind the last number as many as that one."""
    groups: list[list[Any]] = []
    open_groups: dict[Any, tuple[list[Any], int]] = {}
    for p in reversed(parameters):
        kind = p.aval.dtype, p.aval.device
        if kind not in open_groups:
            open_groups[kind] = [], capacities[min(len(groups), len(capacities) - 1)]
            groups.append(open_groups[kind][0])
        members, limit = open_groups[kind]
        members.append(p)
        if sum(m.aval.size for m in members) * kind[0].itemsize >= limit:
            del open_groups[kind]
    return [
        (_DeviceBucket if members[0].aval.device.type == "cuda" else _Bucket)(members)
        for members in groups
    ]


class Reducer:
    """Averages the gradients of ``parameters`` over a group.

    Args:
        parameters: those that are trained.
        group: the processes.
        capacities: bytes of buckets, the last for all behind it.
        keep_views: whether gradients become views of the buckets.
        unused: whether some parameters may have no gradient, in some processes.
        name: of the module, the same in all processes, for errors.
    """

    def __init__(
        self, parameters: list[Any], group: ProcessGroup, capacities: list[int], keep_views: bool,
        unused: bool, name: str = "",
    ) -> None:  # fmt: skip
        self.group = group
        self.name = name
        self.unused = unused
        self.keep_views = keep_views
        self.parameters = parameters
        self.buckets = make_buckets(parameters, capacities)
        self.bucket_of = {id(p): b for b in self.buckets for p in b.parameters}
        self.hook: Hook | None = None
        self.divisor = group.size()
        self.waiting: set[int] = set()
        self.used: Any = None
        self.expecting = False
        self.sends_next = True
        self._traced: set[int] = set()
        self._next = 0

    def prepare(self, unused: set[int]) -> None:
        """Before a backward pass, in which the parameters ``unused`` get no gradient."""
        self.waiting = {id(p) for p in self.parameters}
        self._traced = set()
        self._next = 0
        self.used = np.ones(len(self.parameters), np.int32)
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters)
        for i, p in enumerate(self.parameters):
            if id(p) in unused:
                self.used[i] = 0
                self._take(p)

    def filled_by(self, parameter: Any) -> set[int]:
        """While a call is captured: by their ids, the parameters of a bucket that all have their
        gradients with this one; none where some are missing."""
        self._traced.add(id(parameter))
        own = {id(p) for p in self.bucket_of[id(parameter)].parameters} & self.waiting
        return own if own <= self._traced else set()

    def take(self, parameter: Any) -> None:
        """A parameter has its gradient; with the last one, all are averaged."""
        if id(parameter) not in self.waiting:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by a backward "
                "pass that reaches a parameter again; use no_sync() for all passes but the last."
            )
        self._take(parameter)
        self._send_full()
        if not self.waiting:
            self.expecting = False
            self._finish()

    def _take(self, parameter: Any) -> None:
        self.waiting.discard(id(parameter))
        bucket = self.bucket_of[id(parameter)]
        bucket.missing -= 1
        gradient = parameter.grad
        if gradient is None:
            bucket.clear(parameter)
            return
        if gradient.is_sparse:
            raise NotImplementedError("DistributedDataParallel does not average sparse gradients")
        bucket.put(parameter, gradient.detach(), 1 if self.hook is not None else 1 / self.divisor)

    def _send_full(self) -> None:
        """Send full buckets, in the order that all processes keep."""
        while self._next < len(self.buckets) and not self.buckets[self._next].missing:
            self.send(self._next)
            self._next += 1

    def send(self, index: int) -> None:
        """Start averaging a bucket."""
        bucket = self.buckets[index]
        if self.hook is not None:
            last = index == len(self.buckets) - 1
            given = GradBucket(bucket.tensor, bucket.parameters, index, last)
            bucket.result = self.hook[1](self.hook[0], given)
        elif self.group.size() > 1:
            tell("c10d.allreduce_")
            bucket.result = bucket.sum(self.group, f"bucket {index} of {self.name}")

    def send_zeros(self) -> None:
        """Go along with the others' backward pass."""
        self.used = np.zeros(len(self.parameters), np.int32)
        for index, bucket in enumerate(self.buckets):
            bucket.zero()
            self.send(index)
        self._wait(self._share_used())

    def _share_used(self) -> Future[Any] | None:
        if not self.unused or self.group.size() == 1:
            return None
        return self.group.run(lambda: self.group.all_reduce(self.used, "MAX"))

    def _wait(self, shared: Future[Any] | None) -> None:
        for bucket in self.buckets:
            if isinstance(bucket.result, Future):
                bucket.result.result()
                bucket.result = None
            elif bucket.result is not None:
                found = bucket.result.wait()
                found = found[0] if isinstance(found, (list, tuple)) else found
                if found is not bucket.tensor:
                    bucket.replace(found.detach())
                bucket.result = None
        if shared is not None:
            shared.result()

    def _finish(self) -> None:
        self._wait(self._share_used())
        for parameter, used in zip(self.parameters, self.used, strict=True):
            if used:
                self._give(parameter)

    def _give(self, parameter: Any) -> None:
        """Put a parameter's average into its gradient."""
        bucket = self.bucket_of[id(parameter)]
        if self.keep_views:
            bucket.tensor._shared.version += 1
            if parameter.grad is not bucket.views[id(parameter)]:
                parameter.grad = bucket.views[id(parameter)]
        else:
            bucket.give(parameter)
