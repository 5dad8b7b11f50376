"""vmap: ops run once on all examples, while the mapped function sees one example.

A tensor of the mapped function carries a :class:`Batch` where its data would be and describes a
single example; the tensor of all examples has the batch as axis 0. The tape knows two levels:
nodes on tensors of the mapped function (gradients inside of it) and nodes on the tensors of all
examples (gradients around it). Rules of single ops are in :mod:`.batching_rules`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from .. import dtypes
from ..allocator import empty
from ..autograd import inplace, tape
from ..aval import Aval, aval
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..devices.cuda import drawing
from ..devices.device import empty_on
from ..dispatch import GRAD, RECORDING_CALL, recorded, state
from ..interpreter import Interpreter
from ..mixed_devices import on_one_device
from ..op import Op, Plan
from ..ops.base import normalize_axis
from ..ops.indexing import move_axis
from ..ops.movement import cast, cat, clone, expand, select, unsqueeze
from ..state import levels_entered
from ..tensor import Tensor, alias, as_array, captures, make
from . import batching_rules
from . import batching_rules_nn as batching_rules_nn  # which registers its rules
from .batch import BRANCH as BRANCH
from .batch import Batch
from .batch import detach as detach
from .batch import is_mapped as is_mapped
from .batch import refuse_branch as refuse_branch
from .batching_rules import with_rank

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
SMALLER = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)

RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
    "'different' randomness flags on vmap or perform the randomness operation out of vmap"
)
SAME_OF_MANY = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an "
    "issue with functorch"
)
SHAPE = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap "
    "over aten::{}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
    "this feature."
)
MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to "
    "batch over indexing with a boolean mask."
)
MASKED_SELECT = (
    "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this "
    "because for each batch this would return a differently shaped Tensor. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues "
)
REQUIRES_GRAD = (
    "You are attempting to call Tensor.requires_grad_() (or perhaps using "
    "torch.autograd.functional.* APIs) inside of a function being transformed by a functorch "
    "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, "
    "vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
    "transformed instead."
)
DIFFERENT_OF_ONE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear "
    "like same randomness. If this is necessary for your usage, please file an issue with "
    "functorch."
)


def shown(tensor: Tensor) -> str:
    """What a tensor of a mapped function prints as: the one of all examples, and its level."""
    held = tensor.flat
    value = repr(held.tensor)
    if not held.batched:
        return value
    depth = 1 + sum(isinstance(level, Vmap) for level in held.level.outer)
    indented = textwrap.indent(value, "    ")
    return f"BatchedTensor(lvl={depth}, bdim=0, value=\n{indented}\n)"


def for_each_example(made: Tensor, like: Tensor) -> Tensor:
    """``made`` with copies of its own for the examples that ``like`` has, to be written to."""
    level = innermost()
    if level is None or not level.batched(like):
        return made
    def of_all() -> Tensor:
        copies = clone(expand(made, shape=(level.size, *made.aval.shape)))
        return for_each_example(copies, level.whole(like))

    return level.wrap(level.outside(of_all))


def known_values(tensor: Tensor, message: str = "") -> Any:
    """The elements as an array, of a tensor that is no example's own; RuntimeError otherwise.

    For functions whose result's shape depends on the elements.
    """
    while type(tensor.flat) is Batch:
        if tensor.flat.batched:
            raise RuntimeError(message or "Cannot access data pointer of Tensor that doesn't have "
                               "storage")  # fmt: skip
        tensor = tensor.flat.tensor
    return tensor.array()


def values_of_all(tensor: Tensor) -> Any:
    """The elements of all examples as an array, for what must hold of each of them."""
    while type(tensor.flat) is Batch:
        tensor = tensor.flat.tensor
    return tensor.array()


def is_known(tensor: Tensor) -> bool:
    """Whether the elements can be looked at: while a call is traced they cannot."""
    while type(tensor.flat) is Batch:
        tensor = tensor.flat.tensor
    return not any(x.traces for x in state.interpreters)


def by_example(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """A function on arrays without derivative, which vmap calls once for each example."""
    level = innermost()
    if level is None or not any(isinstance(x, Tensor) and level.batched(x) for x in args):
        return function(*args, **kwargs)
    return level.each(function, args, kwargs)


def tracked_below(tensor: Any) -> bool:
    """Whether the tensor of all examples, at any level, is differentiated."""
    while is_mapped(tensor):
        tensor = tensor.flat.tensor
        if tape.requires_grad(tensor):
            return True
    return False


def innermost() -> Vmap | None:
    """The vmap whose function runs, None outside of all."""
    level = state.interpreters[-1] if state.interpreters else None
    return level if isinstance(level, Vmap) else None


def lift(tensor: Tensor) -> Tensor:
    """``tensor`` as one of the innermost mapped function, so that its tape is of that level."""
    level = innermost()
    return tensor if level is None else level.lift(tensor)


def draw(described: Aval, fill: Callable[..., Any], *inputs: Tensor) -> Tensor:
    """A new tensor whose elements ``fill(array, *arrays of the inputs)`` draws.

    ``fill`` takes arrays with further axes in front: a vmap with randomness "different" draws
    for all examples at once.
    """
    device = described.device.type
    if _recorded(device):
        return state.recorder.draw(described, fill, inputs)
    if device == "cpu" and not (state.interpreters or captures or inputs):
        flat = empty(described.extent, described.dtype.np)
        fill(as_array(flat, described))
        return make(flat, described)
    if device != "meta" and state.interpreters and state.interpreters[-1].draws:
        return state.interpreters[-1].draw(described, fill, inputs)
    made = make(empty_on(described.device)(described.extent, described.dtype.np), described)
    if device == "cuda":
        _fill_device(made, fill, inputs)
    elif device != "meta":
        fill(made.array(), *[x.array() for x in inputs])
    return made


def _recorded(device: str) -> bool:
    """Whether the call cache takes down a draw, to repeat it."""
    return bool(state.mode & RECORDING_CALL) and device == "cpu" and not state.interpreters


def _fill_device(target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
    """Draw on the host, with the CPU's numbers, and copy."""
    drawing(target.aval, fill, [x.aval for x in inputs])(target.flat, *[x.flat for x in inputs])


def redraw(target: Tensor, fill: Callable[..., Any], *inputs: Tensor) -> Tensor:
    """Overwrite ``target`` with what ``fill(array, *arrays of the inputs)`` draws."""
    inplace.check_writable(target)
    inplace.check_overlap(target)
    device = target.aval.device.type
    if target.aval.sharded:
        callbacks.redraw_sharded(target, fill, inputs)
    elif _recorded(device):
        state.recorder.redraw(target, fill, inputs)
    elif device == "cpu" and not (state.interpreters or captures or inputs):
        fill(as_array(target.flat, target.aval))
    elif device != "meta" and state.interpreters and state.interpreters[-1].draws:
        state.interpreters[-1].redraw(target, fill, inputs)
    elif device == "cuda":
        _fill_device(target, fill, inputs)
    elif device != "meta":
        fill(target.array(), *[x.array() for x in inputs])
    target._shared.version += 1
    if not state.interpreters and state.grad_enabled and target._node is not None:
        inplace.forget_history(target)
    return target


_plans = Bounded(4096)
dtypes.when_default_changes.append(_plans.clear)


def _plan_of(op: Op, inputs: Any, params: dict[str, Any]) -> Plan:
    """The plan for one example, without a kernel; the shape rule raises torch's errors."""
    avals = tuple(None if x is None else x.aval for x in inputs)
    key = (op, avals, *params.items())
    plan = _plans.get(key)
    if plan is None:
        avals = on_one_device(op, avals)
        derived = op.aval(*avals, **params)
        plan = Plan(derived if isinstance(derived, tuple) else (derived,), avals)
        plan.run = isinstance(derived, tuple)
        _plans.keep(key, plan)
    return plan


def _example_of(whole: Aval) -> Aval:
    return aval(whole.shape[1:], whole.dtype, whole.strides[1:], whole.device)


class Vmap(Interpreter):
    """The interpreter of one call of vmap.

    Attributes:
        size: the number of examples.
        randomness: "error", "same" (one draw for all examples) or "different".
        number: later than what was made outside of it, for writes to what was made inside.
        adopted: whether something was.
        outer: the interpreters around it, which its rules run under.
    """

    draws = True
    fallbacks: ClassVar[dict[str, int]] = {}

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size = size
        self.randomness = randomness
        self.number = next(levels_entered)
        self.adopted = False
        self.outer = state.interpreters

    @contextmanager
    def active(self) -> Iterator[None]:
        """Ops of the block are those of the mapped function."""
        state.update(interpreters=(*self.outer, self))
        try:
            yield
        finally:
            state.update(interpreters=self.outer)

    # --- tensors ------------------------------------------------------------------------------

    def owns(self, x: Any) -> bool:
        return x is not None and type(x.flat) is Batch and x.flat.level is self

    def batched(self, x: Any) -> bool:
        return self.owns(x) and x.flat.batched

    def whole(self, x: Any) -> Any:
        """The tensor of all examples."""
        return x.flat.tensor if self.owns(x) else x

    def wrap(self, tensor: Tensor, batched: bool = True) -> Tensor:
        """A tensor of the mapped function."""
        described = _example_of(tensor.aval) if batched else tensor.aval
        return make(Batch(self, tensor, batched), described)

    def lift(self, x: Any) -> Any:
        """``x`` as a tensor of this level, one for all examples, without history here."""
        return x if x is None or self.owns(x) else self.wrap(x, False)

    def _inputs_of_node(self, inputs: Any) -> tuple[Any, ...]:
        """The inputs as this level's tape sees them: a history around it is none of its own."""
        return tuple(x if x is None or x._node is None else self.lift(x) for x in inputs)

    # --- as an interpreter --------------------------------------------------------------------

    def apply(self, op: Op, inputs: Any, params: dict[str, Any]) -> Any:
        """``op`` for each example."""
        self._adopt_views(inputs)
        if not any(self.owns(x) for x in inputs):
            return self.outside(op, *inputs, **params)
        plan = _plan_of(op, inputs, params)
        flags = tuple(self.batched(x) for x in inputs)
        wholes = tuple(self.whole(x) for x in inputs)
        found = self.outside(self._run, op, flags, wholes, params, plan)
        any_batched = any(flags)
        if op.view is not None:
            return self._view(op, plan, inputs, params, found[0], any_batched)
        made = tuple(self.wrap(r, any_batched) for r in found)
        mode = GRAD if state.grad_enabled else 0
        results = recorded(op, plan, mode, self._inputs_of_node(inputs), params, made)
        return results if plan.run else results[0]

    def _run(
        self, op: Op, flags: Any, wholes: Any, params: dict[str, Any], plan: Plan
    ) -> tuple[Tensor, ...]:
        """The results for all examples, by the op's rule or one example after another."""
        if not any(flags):
            found = op(*wholes, **params)
        else:
            found = batching_rules.apply(op, flags, wholes, params, self.size)
            if found is NotImplemented:
                self.fallbacks[op.name] = self.fallbacks.get(op.name, 0) + 1
                found = batching_rules.loop(op, flags, wholes, params, plan, self.size)
        results = []
        for result, expected in zip(
            found if isinstance(found, tuple) else (found,), plan.avals, strict=True
        ):
            if result.aval.dtype is not expected.dtype:
                result = cast(result, dtype=expected.dtype)
            results.append(result)
        return tuple(results)

    def each(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Tensor:
        """``function`` of one example after another, stacked."""
        def rows() -> Iterator[Tensor]:
            for i in range(self.size):
                yield function(*[
                    select(self.whole(x), axis=0, index=i)
                    if isinstance(x, Tensor) and self.batched(x) else x for x in args
                ], **kwargs)  # fmt: skip

        def stacked() -> Tensor:
            found: Tensor = cat(*[unsqueeze(row, axis=0) for row in rows()], axis=0)
            return found

        return self.wrap(self.outside(stacked))

    def _view(
        self, op: Op, plan: Plan, inputs: Any, params: Any, found: Tensor, batched: bool
    ) -> Tensor:
        source = inputs[0]
        described = _example_of(found.aval) if batched else found.aval
        start = source._offset * source.aval.dtype.itemsize // described.dtype.itemsize
        offset = start + op.view(source.aval, **params)  # type: ignore[misc]
        result = make(Batch(self, found, batched), described, source._shared, offset)
        mode = GRAD if state.grad_enabled else 0
        tape.record_view(op, plan, mode, inputs, params, result)
        return result

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        """``target[...] = op(*inputs)`` for each example."""
        self._adopt_views((target, *inputs))
        if not any(self.owns(x) for x in (target, *inputs)):
            return self.outside(
                inplace.apply_in_place, op, target, *inputs, **params
            )
        self._check_target(target, inputs)
        if state.grad_enabled and any(self.owns(x) and x._node is not None for x in inputs):
            old = self._copy_with_history(target)
            inputs = tuple(old if x is target else x for x in inputs)
        result = self.apply(op, inputs, params)
        inplace.check_result(target, result.aval.shape, result.aval.dtype)
        return self._write(target, result)

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        """``target[...] = source`` for each example."""
        self._adopt_views((target, source))
        if not (self.owns(target) or self.owns(source)):
            return self.outside(inplace.copy_, target, source)
        self._check_target(target, (source,))
        if source.aval.shape != target.aval.shape:
            expand.aval(source.aval, shape=target.aval.shape)
        return self._write(target, source)

    # --- random numbers -----------------------------------------------------------------------

    def draw(self, described: Aval, fill: Callable[..., Any], inputs: Any) -> Tensor:
        """:func:`draw` for each example."""
        if self.randomness == "error":
            raise RuntimeError(RANDOM)
        wholes = [self.whole(x) for x in inputs]
        many = [self.batched(x) for x in inputs]
        if self.randomness == "same":
            if any(many):
                raise RuntimeError(SAME_OF_MANY)
            return self.outside(draw, described, fill, *wholes)
        aligned = self._aligned(wholes, many, described.ndim)
        shape = (self.size, *described.shape)
        of_all = aval(shape, described.dtype, None, described.device)
        return self.wrap(self.outside(draw, of_all, fill, *aligned))

    def redraw(self, target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
        """:func:`redraw` for each example."""
        if self.randomness == "error":
            raise RuntimeError(RANDOM)
        wholes = [self.whole(x) for x in inputs]
        many = [self.batched(x) for x in inputs]
        if not self.batched(target):
            if self.randomness == "different":
                raise RuntimeError(DIFFERENT_OF_ONE)
            if any(many):
                raise RuntimeError(SMALLER)
            self.outside(redraw, self.whole(target), fill, *wholes)
        elif self.randomness == "same":
            if any(many):
                raise RuntimeError(SAME_OF_MANY)
            described = aval(target.aval.shape, target.aval.dtype, None, target.aval.device)
            drawn = self.outside(draw, described, fill, *wholes)
            self.outside(inplace.copy_, self.whole(target), drawn)
        else:
            aligned = self._aligned(wholes, many, target.aval.ndim)
            self.outside(redraw, self.whole(target), fill, *aligned)

    def _aligned(self, wholes: Any, many: Any, rank: int) -> list[Any]:
        return [
            self.outside(with_rank, x, rank) if b else x
            for x, b in zip(wholes, many, strict=True)
        ]

    def item(self, tensor: Tensor) -> Any:
        """A number; only of a tensor that is no example's own."""
        if type(tensor.flat) is Batch:
            raise RuntimeError(ITEM)
        return self.outside(tensor.item)

    def _check_target(self, target: Tensor, inputs: Any) -> None:
        """A tensor that is one for all examples cannot take what each has its own of."""
        if not self.batched(target) and any(self.batched(x) for x in inputs):
            raise RuntimeError(SMALLER)
        shared = target._shared
        inner = shared.level > self.number or id(shared.memory) in state.given
        if not self.owns(target) and inner:
            self._adopt(target)
        elif not self.owns(target):
            raise RuntimeError(
                "vmap: a tensor made outside of the differentiated function cannot be written to "
                "with one that is differentiated inside of vmap; make it from an argument, with "
                "zeros_like for instance"
            )
        inplace.check_writable(target)

    def _adopt(self, tensor: Tensor) -> None:
        """Make a tensor of this level, one for all examples, of what was made in its function,
        and of what it is a view of."""
        if self.owns(tensor):
            return
        self.adopted = True
        history = tensor._node
        if type(history) is tape.ViewHistory:
            self._adopt(history.parent)
            whole = self.outside(history.op, self.whole(history.parent), **history.params)
        else:
            whole = alias(tensor)
        tensor.flat = Batch(self, whole, False)

    def _adopt_views(self, inputs: Any) -> None:
        """Those of what was adopted since they were made."""
        for x in inputs if self.adopted else ():
            if x is not None and type(x._node) is tape.ViewHistory and self.owns(x._node.base):
                self._adopt(x)

    def _copy_with_history(self, target: Tensor) -> Tensor:
        """The value before the write, at the target's place on the tape."""
        old = self.wrap(self.outside(clone, self.whole(target)), self.batched(target))
        old._node = tape.node_of(target)
        old._output_index = target._output_index
        return old

    def _write(self, target: Tensor, source: Tensor) -> Tensor:
        value = self.whole(source)
        if self.batched(source):
            value = self.outside(with_rank, value, target.aval.ndim)
        self.outside(inplace.copy_, self.whole(target), value)
        target._shared.version += 1
        if state.grad_enabled and (target._node is not None or source._node is not None):
            inplace.rebase(target, self.lift(source))
        return target

    # --- arguments and results ----------------------------------------------------------------

    def enter_argument(self, tensor: Tensor, axis: int) -> Tensor:
        """An argument whose batch axis is ``axis``."""
        return self.wrap(tensor if axis == 0 else move_axis(tensor, axis, 0))

    def leave_result(self, tensor: Tensor, axis: int) -> Tensor:
        """A result with the batch at ``axis``; repeated where it is one for all examples."""
        result = self.whole(tensor)
        if not self.batched(tensor):
            result = expand(result, shape=(self.size, *result.aval.shape))
        axis = normalize_axis(axis, result.aval.ndim)
        return result if axis == 0 else move_axis(result, 0, axis)
