"""The parameters of a module that are gathered together, and whose gradients are reduced so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from mindtorch.engine.allocator import address_of, empty
from mindtorch.engine.compile.capture.host_calls import host_call, traced_hook

from .._group import ProcessGroup, about, subject
from .._observed import tell
from ._memory import LINE, ReleasableMemory
from ._placing import Placing
from ._policies import MixedPrecisionPolicy
from ._sharded_parameter import ShardedParameter

__all__ = ["ParameterGroup", "start"]

# Wholes of so many bytes are gathered into their place; smaller ones travel together, in one call.
_ALONE = 1 << 16
_NAMED = 4  # parameters that an error names


def start(group: ProcessGroup, function: Callable[[], Any], later: bool) -> Future[Any]:
    """A future of ``function()``, in the group's thread where ``later`` or something else is."""
    if later or group.pending():
        return group.run(function)
    done: Future[Any] = Future()
    done.set_result(function())
    return done


class _Slots:
    """Where the parts of parameters lie in one row of bytes; those that travel together first."""

    def __init__(self, parameters: list[ShardedParameter], widths: list[int]) -> None:
        sizes = {id(p): p.padded * w for p, w in zip(parameters, widths, strict=True)}
        self.alone = [
            p for p in parameters if not p.dim and sizes[id(p)] * p.placing.shards >= _ALONE
        ]
        kept = {id(p) for p in self.alone}
        self.together = [p for p in parameters if id(p) not in kept]
        self.places: dict[int, slice] = {}
        end = 0
        for p in [*self.together, *self.alone]:
            self.places[id(p)] = slice(end, end + sizes[id(p)])
            end = -(-(end + sizes[id(p)]) // LINE) * LINE
            if not self.together or p is self.together[-1]:
                self.shared = end if self.together else 0
        self.size = end
        if not parameters:
            self.shared = 0

    def __getitem__(self, parameter: ShardedParameter) -> slice:
        return self.places[id(parameter)]


class ParameterGroup:
    """Gathers parameters before they are used, frees them after, and reduces their gradients.

    Args:
        parameters: whole ones, with the (module, name) of their owners and the axis to cut.
        placing: the processes.
        policy: the types.
        reshards: see below.

    Attributes:
        smaller: the processes over which the wholes are spread between forward and backward; None
            for those of ``placing``.
        reshards: whether the wholes are freed after forward.
        reshards_after_backward: whether they are freed after backward.
        reduces: whether backward reduces gradients; else they add up in this process.
        all_reduces: whether, on a mesh of two axes, it also sums over the repeating one.
        sends_unused: whether parameters without a gradient are reduced as zeros.
        gathers_in_backward: whether backward needs the wholes.
    """

    kind: type[ShardedParameter] = ShardedParameter

    def __init__(
        self, parameters: list[tuple[Any, list[tuple[Any, str]], int, str]], placing: Placing,
        policy: MixedPrecisionPolicy, reshards: bool, smaller: ProcessGroup | None,
    ) -> None:  # fmt: skip
        self.placing = placing
        self.number = placing.group.next_number("sharded module")
        self.policy = policy
        self.reshards = reshards
        self.smaller = smaller
        self.reshards_after_backward = self.reduces = self.all_reduces = True
        self.sends_unused = False
        self.gathers_in_backward = True
        self.factor: float | None = None
        self.all_reduce_hook: Callable[[Any], None] | None = None
        self.context: Any = None
        self.unsharded = False
        self.order: list[int] = []
        self.inputs = 0
        self._waiting: set[int] | None = None
        self._gathering: Future[Any] | None = None
        self._reducing: Future[Any] | None = None
        self._partial: Any = None
        self._part: Any = None
        self._memory: ReleasableMemory | None = None
        self.parameters = [
            self.kind(parameter, owners, placing, dim, name)
            for parameter, owners, dim, name in parameters
        ]
        self._stored = _Slots(self.parameters, [p.dtype.itemsize for p in self.parameters])
        here = all(p.device.type == "cpu" for p in self.parameters)
        self._flat = np.zeros(self._stored.size, np.uint8) if here else None
        for sharded, (parameter, *_) in zip(self.parameters, parameters, strict=True):
            slot = self._flat if self._flat is None else self._flat[self._stored[sharded]]
            sharded.cut(parameter, None if slot is None else slot.view(sharded.dtype.np))

    def watch_state_dicts(self) -> None:
        """Show the parts before states of the modules are read or written."""
        for module in {id(m): m for p in self.parameters for m, _ in p.owners}.values():
            module.register_state_dict_pre_hook(self.show_parts)
            module.register_load_state_dict_pre_hook(self.show_parts)
            module.register_load_state_dict_post_hook(self.refresh)

    def host_guard(self) -> tuple[Any, ...]:
        """What a capture takes for granted of the group."""
        trained = [p.sharded.requires_grad for p in self.parameters]
        return self._memory is not None, self.gathers_in_backward, *trained

    # --- types -------------------------------------------------------------------------------

    def _whole_dtype(self, parameter: ShardedParameter) -> Any:
        """The type of the whole of a parameter."""
        chosen = self.policy.param_dtype
        if chosen is None or not parameter.dtype.is_floating_point:
            return parameter.local().aval.dtype
        return chosen

    def _reduced_dtype(self, parameter: ShardedParameter) -> Any:
        return self.policy.reduce_dtype or self._whole_dtype(parameter)

    # --- the wholes --------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Before the first use: memory and leaves for the wholes."""
        if self._memory is None:
            dtypes = [self._whole_dtype(p) for p in self.parameters]
            self._sent = _Slots(self.parameters, [d.itemsize for d in dtypes])
            pairs = list(zip(self.parameters, dtypes, strict=True))
            total = sum(p.bytes_of_whole(d.itemsize) for p, d in pairs)
            parts = 1 if self.smaller is None else self.smaller.size()
            self._memory = ReleasableMemory(-(-total // (parts * LINE)) * parts * LINE)
            place = 0
            for p, dtype in pairs:
                size = p.bytes_of_whole(dtype.itemsize)
                p.make_whole(self._memory.bytes[place : place + size], dtype)
                place += size
        for p in self.parameters:
            if p.unsharded.requires_grad != p.sharded.requires_grad:
                p.unsharded.requires_grad_(p.sharded.requires_grad)
                if p.sharded.requires_grad:
                    p.unsharded.register_post_accumulate_grad_hook(self._arrived)

    def unshard(self, later: bool = False) -> None:
        """Begin to gather the wholes, in the background where ``later``."""
        if self._gathering is None and not self.unsharded:
            self._prepare()
            assert self._memory is not None
            self._memory.take()
            group = self.placing.group
            gather = self._gather
            if self._part is not None:
                assert self.smaller is not None
                group, gather = self.smaller, self._gather_part
            if group.size() > 1 and self.placing.shards > 1:
                tell("c10d._allgather_base_")
            self._gathering = start(group, gather, later)

    def wait_for_unshard(self) -> None:
        """Register the wholes once they are there."""
        pending, self._gathering = self._gathering, None
        if pending is None:
            return
        pending.result()
        self.unsharded = True
        self._part = None
        for p in self.parameters:
            p.storage.released = False
            p.register(p.unsharded)

    def show_wholes(self) -> None:
        """Before each forward: what the modules have is what forward records."""

    def reshard(self) -> None:
        """Register the parts again, and free the wholes."""
        if self._gathering is not None:
            self.wait_for_unshard()
        if not self.unsharded:
            return
        assert self._memory is not None
        self.unsharded = False
        for p in self.parameters:
            p.register(p.sharded)
            p.storage.released = True
        self._memory.release()

    def reshard_after_forward(self) -> None:
        """:meth:`reshard`, where this group does so; keep a larger part where it was asked to."""
        if not self.reshards:
            return
        if self.smaller is not None and self.unsharded:
            assert self._memory is not None
            parts = self._memory.bytes.reshape(self.smaller.size(), -1)
            self._part = parts[self.smaller.rank()].copy()
        self.reshard()

    def show_parts(self, *hook_arguments: Any) -> None:
        """:meth:`reshard` before somebody reads the parts, or writes to them."""
        self.reshard()
        self._part = None

    def refresh(self, *hook_arguments: Any) -> None:
        """Take the parameters that are registered now, where others were put in their place."""
        for p in self.parameters:
            p.refresh()

    def _parts(self) -> Any:
        """The bytes that this process sends: its parts where they lie, if they do so as sent."""
        flat, slots = self._flat, self._sent
        if flat is not None:
            first = address_of(flat) if flat.size else 0
            if all(
                p.unsharded.aval.dtype is p.local().aval.dtype
                and p.local().aval.shape == p.local_shape
                and (not p.length or address_of(p.local().flat) == first + slots[p].start)
                for p in self.parameters
            ):
                return flat
        sent = empty(slots.size, np.dtype(np.uint8))
        for p in self.parameters:
            p.fill(sent[slots[p]].view(p.whole.dtype))
        return sent

    def _about(self, parameters: list[ShardedParameter]) -> AbstractContextManager[None]:
        """A block that exchanges these. Names begin at the root, the first module that is called:
        layers that are called directly differ by their numbers alone."""
        names = [p.name for p in parameters[:_NAMED]]
        if len(parameters) > _NAMED:
            names.append(f"and {len(parameters) - _NAMED} more")
        return about(f"{', '.join(names)} of sharded module {self.number}")

    def _gather(self) -> None:
        sent, slots, group = self._parts(), self._sent, self.placing.group
        if self.placing.shards == 1:
            for p in self.parameters:
                p.spread(sent[slots[p]].view(p.whole.dtype)[None])
            return
        pairs = [(p.whole.view(np.uint8), sent[slots[p]]) for p in slots.alone]
        if slots.shared:
            rows = empty(slots.shared * group.size(), np.dtype(np.uint8)).reshape(group.size(), -1)
            pairs.append((rows, sent[: slots.shared]))
        if pairs:
            with self._about(self.parameters):
                group.all_gather_each(pairs)
        for p in slots.together:
            p.spread(rows[:, slots[p]].view(p.whole.dtype))

    def _gather_part(self) -> None:
        assert self.smaller is not None and self._memory is not None
        with self._about(self.parameters):
            self.smaller.all_gather_into(self._memory.bytes, self._part)

    # --- gradients ---------------------------------------------------------------------------

    def expect_gradients(self) -> None:
        """Backward comes to the module: its gradients follow."""
        if self._waiting is None:
            self._waiting = {id(p.unsharded) for p in self.parameters if p.unsharded.requires_grad}

    @traced_hook
    def _arrived(self, parameter: Any) -> None:
        if self._waiting is None:
            self.expect_gradients()
            self.context.end_after_pass()
        assert self._waiting is not None
        self._waiting.discard(id(parameter))
        self.end_if_complete()

    @traced_hook
    def input_arrived(self, gradient: Any) -> None:
        """The gradient of an input of the module is complete."""
        self.inputs -= 1
        self.end_if_complete()

    @property
    def is_expecting(self) -> bool:
        """Whether backward has come here, and has not ended."""
        return self._waiting is not None

    @property
    def is_frozen(self) -> bool:
        """Whether some parameter has no gradient: backward uses it as long as inputs have none."""
        return any(not p.sharded.requires_grad for p in self.parameters)

    def end_if_complete(self) -> None:
        """Reduce and free, once all gradients, and those of the inputs, are there."""
        if self._waiting is not None and not self._waiting and self.inputs <= 0:
            self.end_backward()

    def end_backward(self) -> None:
        """Begin to reduce what gradients there are, and free the wholes."""
        self._waiting, self.inputs = None, 0
        self._send_gradients()

    @host_call
    def _send_gradients(self) -> None:
        found = [(p, p.gradient()) for p in self.parameters if p.sharded.requires_grad]
        if not self.reduces:
            for p, _ in found:
                p.keep_gradient(self._reduced_dtype(p).np)
            if self.reshards_after_backward:
                self.reshard()
            return
        pairs = [(p, g) for p, g in found if g is not None or self.sends_unused]
        for p, _ in found:
            if p.unsharded is not None:
                p.forget_gradient()
        if self.reshards_after_backward:
            self.reshard()
        if pairs:
            self.context.wait_for_reduction(self)
            self._tell_of_reduction()
            self._reducing = start(self.placing.group, lambda: self._reduce(pairs), True)

    def _tell_of_reduction(self) -> None:
        if self.placing.shards > 1:
            tell("c10d._reduce_scatter_base_")
        repeated = self.placing.repeated
        if repeated is not None and repeated.size() > 1 and self.all_reduces:
            tell("c10d.allreduce_")

    def _reduce(self, pairs: list[tuple[ShardedParameter, Any]]) -> Any:
        """(parameters, their reduced parts one after another), in the group's thread."""
        shards = self.placing.shards
        group = self.placing.group if shards > 1 else None
        dtype = self._common([self._reduced_dtype(p) for p, _ in pairs])
        before, after = self._factors(dtype)
        direct = [
            (p, g) for p, g in pairs
            if before == 1 and g is not None and not p.dim and p.length and p.shape[0] % shards == 0
            and g.dtype == dtype and g.nbytes >= _ALONE
        ]  # fmt: skip
        kept = {id(p) for p, _ in direct}
        others = [(p, g) for p, g in pairs if id(p) not in kept]
        out = empty(sum(p.padded for p, _ in pairs), dtype)
        end = 0
        summed = []
        for p, g in direct:
            summed.append((out[end : end + p.padded], g.reshape(-1)))
            end += p.padded
        if others:
            rows = empty((out.size - end) * shards, dtype).reshape(shards, -1)
            place = 0
            for p, g in others:
                columns = rows[:, place : place + p.padded]
                if g is None:
                    columns[...] = 0
                else:
                    p.put(g, columns)
                place += p.padded
            if before != 1:
                rows *= dtype.type(before)
            summed.append((out[end:], rows))
        with self._about([p for p, _ in pairs]):
            _reduce_scatter(group, summed)
            out = self._all_reduce(out)
        if out is not None:
            out *= dtype.type(after)
        return [p for p, _ in [*direct, *others]], out

    def _common(self, dtypes: list[Any]) -> Any:
        kinds = set(dtypes)
        if len(kinds) != 1:
            raise AssertionError(f"FSDP expects uniform reduce dtype but got {kinds}")
        return kinds.pop().np

    def _factors(self, dtype: Any) -> tuple[float, float]:
        """What gradients are multiplied by before and after their sum: halves of type float16, in
        which sums overflow, are divided in two steps."""
        divisor = self.placing.processes if self.factor is None else self.factor
        before = 1
        if dtype == np.float16:
            while divisor % (before * 2) == 0 and divisor / before > before:
                before *= 2
        return 1 / before, before / divisor

    def _all_reduce(self, out: Any) -> Any:
        """Sum over the processes that repeat; None while that is put off."""
        repeated = self.placing.repeated
        if repeated is None:
            return out
        if self._partial is not None:
            out += self._partial
            self._partial = None
        if not self.all_reduces:
            self._partial = out
            return None
        if repeated is self.placing.group:  # whose thread this is
            repeated.all_reduce(out, "SUM")
        elif repeated.size() > 1:
            text = subject()

            def add() -> None:
                with about(text):
                    repeated.all_reduce(out, "SUM")

            repeated.run(add).result()
        return out

    def finish_reduction(self) -> None:
        """Wait for the reduced gradients, and give them to the sharded parameters."""
        pending, self._reducing = self._reducing, None
        if pending is None:
            return
        parameters, out = pending.result()
        if out is None:
            return
        if self.all_reduce_hook is not None:
            self.all_reduce_hook(self.placing.tensor_of(out))
        place = 0
        for p in parameters:
            part = out[place : place + p.padded]
            p.take(part.astype(p.local().aval.dtype.np, copy=False))
            place += p.padded

    def finish_backward(self) -> None:
        """At the end of the last pass: gradients are there, and nothing is gathered any more."""
        self.finish_reduction()
        if self._gathering is not None:
            self.reshard()
        self.order = []

    def reset(self) -> None:
        """After an error in forward or backward: sharded, without gradients on the way."""
        for pending in (self._reducing, self._gathering):
            if pending is not None and pending.exception() is not None:
                raise pending.exception()  # type: ignore[misc]
        self._reducing = self._waiting = self._partial = self._part = None
        self.inputs, self.order = 0, []
        self.reshard()
        for p in self.parameters:
            if p.unsharded is not None:
                p.forget_gradient()


def _reduce_scatter(group: ProcessGroup | None, pairs: list[tuple[Any, Any]]) -> None:
    """Fill the first of each pair with its part of the sum of the second over the processes."""
    if group is not None:
        group.reduce_scatter_each(pairs, "SUM")
        return
    for out, whole in pairs:
        out[...] = whole.reshape(-1)
