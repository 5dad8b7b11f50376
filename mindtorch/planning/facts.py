"""What one process can tell of a training step: bytes, operations and times of its layers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mindtorch import torch
from mindtorch.torch.autograd.graph import saved_tensors_hooks
from mindtorch.torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from mindtorch.torch.utils._pytree import tree_leaves, tree_map
from mindtorch.torch.utils.flop_counter import FlopCounterMode

__all__ = ["Call", "Facts", "Slice", "measure"]

_REPEATS = 5
_LARGEST = 1 << 24  # bytes of a copy that is timed
Clock = Callable[[], float]


@dataclass
class Slice:
    """A piece of forward in which one module was the innermost.

    Attributes:
        path: the module's, "" for the model itself.
        seconds: its time; only shares of the total are used.
        saved: bytes that it keeps for backward and nobody before it kept.
        inputs: those of them that are the module's inputs.
    """

    path: str
    seconds: float = 0.0
    saved: int = 0
    inputs: int = 0


@dataclass
class Call:
    """A call of a module: which slices it has, and what goes in and comes out.

    Attributes:
        first, last: its slices, the last one included.
        source: which tensor it was given first.
        taken, made: bytes of its tensors.
    """

    path: str
    module: Any
    first: int
    last: int = -1
    source: int = 0
    taken: int = 0
    made: int = 0


@dataclass
class Facts:
    """A step of one process.

    Attributes:
        samples: of its batch.
        slices, calls: of forward, in their order.
        parameters: bytes of trained parameters by the path of their module.
        tensors: how many trained parameters there are.
        frozen: bytes of other parameters and of buffers.
        states: bytes of the optimizer's states for one byte of trained parameters.
        fixed: seconds of forward and backward that do not depend on the batch.
        each: seconds of forward and backward for one sample more.
        update: seconds of the optimizer's step.
        copied: seconds of copying a byte from one place in memory to another.
        added: seconds of adding a byte's part of a number to another in memory.
        operations: floating-point operations by path; "" is all, of the whole batch.
    """

    samples: int
    slices: list[Slice]
    calls: list[Call]
    parameters: dict[str, int]
    tensors: int
    frozen: int
    states: float
    fixed: float
    each: float
    update: float
    copied: float
    added: float
    operations: dict[str, int] = field(default_factory=dict)

    @property
    def trained(self) -> int:
        """Bytes of all trained parameters."""
        return sum(self.parameters.values())

    @property
    def weighed(self) -> float:
        """Of ``fixed``, the seconds of a byte of parameters: it is read in forward and in
        backward, and its gradient is written; a copy is one of each."""
        return min(1.5 * self.copied, self.fixed / max(self.trained, 1))

    @property
    def saved(self) -> int:
        """Bytes that forward keeps for backward."""
        return sum(each.saved for each in self.slices)

    def share(self, first: int, last: int) -> float:
        """Of the time of forward, that of some slices."""
        total = sum(each.seconds for each in self.slices)
        return sum(each.seconds for each in self.slices[first : last + 1]) / total


def _tensors(value: Any) -> list[Any]:
    return [x for x in tree_leaves(value) if isinstance(x, torch.Tensor)]


def _bytes(value: Any) -> int:
    return sum(x.numel() * x.element_size() for x in _tensors(value))


def _address(tensor: Any) -> int:
    found: int = tensor.untyped_storage().data_ptr()
    return found


class _Trace:
    """Records slices and calls of one forward."""

    def __init__(self, model: Any) -> None:
        # other programs' turns are not in the processor's time, and threads would count twice
        alone = torch.get_num_threads() == 1
        self.clock: Clock = time.process_time if alone else time.perf_counter
        self.paths = {id(module): path for path, module in model.named_modules()}
        self.kept = {_address(p) for p in (*model.parameters(), *model.buffers())}
        self.slices: list[Slice] = []
        self.calls: list[Call] = []
        self._inside: list[tuple[Call, set[int]]] = []
        self._since = 0.0

    def __enter__(self) -> _Trace:
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave),
        ]
        self._saving = saved_tensors_hooks(self._pack, lambda packed: packed)
        self._saving.__enter__()
        self._next("")
        return self

    def __exit__(self, *exception: object) -> None:
        self._next("")
        self._saving.__exit__(*exception)
        for handle in self._handles:
            handle.remove()

    def _next(self, path: str) -> None:
        now = self.clock()
        if self.slices:
            self.slices[-1].seconds = now - self._since
        self.slices.append(Slice(path))
        self._since = self.clock()

    def _enter(self, module: Any, inputs: Any) -> None:
        path = self.paths.get(id(module))
        if path is None:
            return
        self._next(path)
        given = _tensors(inputs)
        call = Call(path, module, len(self.slices) - 1, taken=_bytes(given))
        call.source = _address(given[0]) if given else 0
        self.calls.append(call)
        self._inside.append((call, {_address(x) for x in given}))

    def _leave(self, module: Any, inputs: Any, results: Any) -> None:
        if id(module) not in self.paths:
            return
        call, _ = self._inside.pop()
        call.last, call.made = len(self.slices) - 1, _bytes(results)
        self._next(self._inside[-1][0].path if self._inside else "")

    def _pack(self, tensor: Any) -> Any:
        place = _address(tensor)
        if place not in self.kept:
            self.kept.add(place)
            size = tensor.untyped_storage().nbytes()
            self.slices[-1].saved += size
            if self._inside and place in self._inside[-1][1]:
                self.slices[-1].inputs += size
        return tensor


def _batch(args: Any, kwargs: Any) -> int:
    """The length of the first axis of the first tensor."""
    for x in _tensors((args, kwargs)):
        if x.ndim:
            return int(x.shape[0])
    raise ValueError("the model is given no tensor with an axis for samples")


def _fewer(value: Any, now: int, wanted: int) -> Any:
    """Inputs of which the first samples are left."""

    def cut(x: Any) -> Any:
        has = isinstance(x, torch.Tensor) and x.ndim and x.shape[0] == now
        return x[:wanted].detach().clone() if has else x

    return tree_map(cut, value)


def _summed(results: Any) -> Any:
    """A number to go back from: the model's own loss, or the sum of what it gives."""
    given = [x for x in _tensors(results) if x.requires_grad]
    own = [x for x in given if x.ndim == 0]
    if own:
        return own[0]
    if not given:
        raise ValueError("nothing that the model gives has a gradient")
    return sum(x.sum() for x in given)


def _state_bytes(optimizer: Any) -> int:
    return _bytes([list(state.values()) for state in optimizer.state.values()])


def measure(
    model: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None, optimizer: Any = None,
    loss_of: Callable[[Any], Any] | None = None, clock: Clock = time.perf_counter,
) -> Facts:  # fmt: skip
    """Run some training steps of ``model`` in this process, and say what they take.

    Gradients are forgotten, and parameters are moved by the optimizer: give a copy of what is
    still needed.

    Args:
        model: a module.
        args, kwargs: what it is called with; the first axis of tensors is the samples'.
        optimizer: of its parameters, which has made a step; None: no states.
        loss_of: the loss of the model's results; None: a number that they have, or their sum.
        clock: what steps are timed by; ``time.process_time`` for seconds of a processor.

    Raises:
        ValueError: there is no tensor among the inputs, or no gradient.
    """
    words = kwargs or {}
    count, loss = _batch(args, words), loss_of or _summed

    def step(given: Any, named: Any) -> None:
        loss(model(*given, **named)).backward()
        model.zero_grad()

    counter = FlopCounterMode(display=False)
    with counter:
        step(args, words)
    trace = _traced(model, lambda: loss(model(*args, **words)), optimizer)
    whole = _least(lambda: step(args, words), clock)
    fixed, each = 0.0, whole / count
    if count > 1:
        half = (count + 1) // 2
        fewer = _fewer((args, words), count, half)
        saving = max(whole - _least(lambda: step(*fewer), clock), 0.0)
        each = min(saving / (count - half), whole / count)
        fixed = whole - each * count
    own = _parameters(model)
    total = sum(own.values())
    tensors = sum(p.requires_grad for p in model.parameters())
    states = _state_bytes(optimizer) / max(total, 1) if optimizer is not None else 0.0
    frozen = _bytes([*model.parameters(), *model.buffers()]) - total
    update = _update(
        model, optimizer, lambda: loss(model(*args, **words)).backward(), clock
    )
    return Facts(
        count, trace.slices, trace.calls, own, tensors, frozen, states, fixed, each, update,
        *_moved(total, clock), _operations(counter, model),
    )  # fmt: skip


def _traced(model: Any, forward: Callable[[], Any], optimizer: Any) -> _Trace:
    """A trace of forward, whose times are the least of some; the optimizer makes a step."""
    with _Trace(model) as trace:
        loss = forward()
    loss.backward()
    if optimizer is not None:
        optimizer.step()
    model.zero_grad()
    del loss
    traces = []
    for _ in range(_REPEATS):
        with _Trace(model) as again:
            forward()
        traces.append(again.slices)
    for own, *others in zip(trace.slices, *traces, strict=False):
        own.seconds = min(each.seconds for each in others)
    return trace


def _parameters(model: Any) -> dict[str, int]:
    """Bytes of trained parameters by module; a shared one belongs to the first."""
    own: dict[str, int] = {}
    seen: set[int] = set()
    for path, module in model.named_modules():
        new = [p for p in module.parameters(recurse=False) if p.requires_grad and id(p) not in seen]
        seen.update(map(id, new))
        own[path] = _bytes(new)
    return own


def _least(
    function: Callable[[], Any], clock: Clock, before: Callable[[], None] | None = None
) -> float:
    """The smallest time of some calls, after two that may compile.

    Args:
        before: what is called before each, and not timed.
    """
    times = []
    for _ in range(_REPEATS + 2):
        if before is not None:
            before()
        begun = clock()
        function()
        times.append(clock() - begun)
    return min(times[2:])


def _update(
    model: Any, optimizer: Any, backward: Callable[[], Any], clock: Clock
) -> float:
    if optimizer is None:
        return 0.0

    def before() -> None:
        model.zero_grad()
        backward()  # each time: it leaves in caches what it leaves there in a step

    found = _least(optimizer.step, clock, before)
    model.zero_grad()
    return found


def _moved(size: int, clock: Clock) -> tuple[float, float]:
    """Seconds for a byte, of copying and of adding as many as a model's parameters have, or
    _LARGEST."""
    given = torch.ones(max(min(size, _LARGEST) // 4, 1))
    taken = torch.zeros_like(given)
    bytes_ = given.numel() * given.element_size()
    copied = _least(lambda: taken.copy_(given), clock)
    added = _least(lambda: taken.add_(given), clock)
    return copied / bytes_, added / bytes_


def _operations(counter: Any, model: Any) -> dict[str, int]:
    """The counter's numbers by the paths within the model."""
    root = type(model).__name__
    counts = {path: sum(kinds.values()) for path, kinds in counter.get_flop_counts().items()}
    found = {"": counts.get("Global", 0)}
    for path, number in counts.items():
        if path.startswith(f"{root}."):
            found[path.removeprefix(f"{root}.")] = number
    return found
