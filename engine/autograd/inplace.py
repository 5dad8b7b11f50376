"""Writing into tensors: versions, views and their bases, and the kernels that write in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..aval import aval
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..devices.device import cpu
from ..dispatch import GRAD, INTERPRETED, RECORDING_CALL, graph_under_way, state
from ..op import Op, Plan, tables_of_plans
from ..ops.base import Elementwise
from ..ops.base import check_result as check_result
from ..ops.copies import cast, clone, kernel_of_copy, share_memory
from ..ops.copies import copy_data as copy_data
from ..ops.elementwise import add
from ..ops.movement import expand, overwrite, view_update
from ..state import grad_mode
from ..switches import switches
from ..symbolic_sizes import open_sizes
from ..tensor import (
    DetachedStorage,
    Storage,
    Tensor,
    alias,
    captures,
    capturing,
    check_made_here,
    constant,
    fields_of,
    make,
    note_shared,
    version_of,
)
from . import tape
from .saved_tensors import saved_tensor_hooks


def copy_flat(target: Any, source: Any, described: Any) -> None:
    """Copy all of ``source`` to the beginning of ``target``: flat memory of one device and type."""
    size = source.size
    if size:
        row = aval((size,), described.dtype, None, described.device)
        copy_data(make(target[:size], row), make(source, row))


# copies into a part of a tensor, by its aval, what part of it that is, and what is copied
_parts = Bounded(2048)
tables_of_plans.append(_parts)


def keep_part(target: Tensor, kind: Any, view: Tensor, source: Tensor) -> None:
    """Keep how ``source`` was copied over ``view``, a view of ``target`` of that ``kind``.

    Views of one kind differ in where they begin alone.
    """
    if any(each.aval.sharded or each.aval.answered for each in (target, source)):
        return
    if target.aval.device is cpu is source.aval.device and view.aval.size and switches.call_cache:
        run = kernel_of_copy(view.aval, source.aval)
        _parts.keep((target.aval, kind, source.aval), (view.aval.extent, run))


def copy_into_part(target: Tensor, kind: Any, offset: int, source: Tensor) -> bool:
    """Copy over a view of ``target`` that begins at ``offset`` without making the view, where that
    is all there is to do; whether it was done."""
    mode = state.mode
    if mode > GRAD or captures:
        return False
    if mode and (target._node is not None and tape.records_writes(target._node)):
        return False
    if mode and source._node is not None and tape.derives(source._node):
        return False
    part = _parts.get((target.aval, kind, source.aval))
    if part is None or share_memory(target, source) or source is target:
        return False
    (target._storage or target._shared).version += 1
    extent, run = part
    run(target.flat[offset : offset + extent], source.flat)
    return True


_NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. "
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the no_grad block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be "
    "tracked)."
)
_VIEW_OF_A_LEAF = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)


def leaf_error(target: Tensor) -> RuntimeError:
    """torch's error for a write to a leaf, which may be a view of what needs no gradients."""
    node = target._node
    if type(node) is tape.ViewHistory or (type(node) is tape.AccumulateGrad and node.view):
        return RuntimeError(_VIEW_OF_A_LEAF)
    return RuntimeError(_VIEW_OF_A_LEAF.removeprefix("a view of "))


def check_captured(target: Tensor, operator: str) -> None:
    """torch's error for a function that is differentiated and writes to what it closes over.

    ``operator``: torch's name of what writes.
    """
    if state.level and state.captured(target):
        raise RuntimeError(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
            f"call in-place operation (aten::{operator}) that would mutate a captured Tensor. This "
            "is not supported; please rewrite the function being transformed to explicitly accept "
            "the mutated Tensor(s) as inputs."
        )


def check_writable(target: Tensor) -> None:
    """torch's errors for writing to a leaf, or to a tensor that was expanded."""
    history = target._node
    check_made_here(target)
    if not state.grad_enabled or history is None:
        return
    if type(history) is tape.ViewHistory and not history.in_grad_mode:
        if history.one_of is None and tape.requires_grad(history.parent):
            raise RuntimeError(_NO_GRAD_VIEW)
    if tape.requires_grad(target):
        if type(history) is tape.ViewHistory and history.one_of is not None:
            raise tape.multiple_views(history, "is being")
        refused = tape.view_of_function(target)
        if refused is not None:
            raise refused
        if tape.is_leaf(target):
            raise leaf_error(target)
        if type(history) is tape.ViewHistory and tape.is_leaf(history.base):
            raise RuntimeError(_VIEW_OF_A_LEAF)
        if type(history) is tape.ViewHistory and history.node is not None and history.node.hooks:
            history.stamp = -1  # the write derives from the base: hooks of the view are not on it
    elif (
        type(history) is tape.ViewHistory
        and type(history.base._node) is tape.AccumulateGrad  # since the view was made
        and history.in_grad_mode
        and target.aval.dtype.category >= dtypes.FLOAT
    ):
        raise RuntimeError(_VIEW_OF_A_LEAF)


_SHARED_MEMORY = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


def check_overlap(target: Tensor) -> None:
    if target.aval.contiguous:
        return
    for n, s in zip(target.aval.shape, target.aval.strides, strict=True):
        if s == 0 and n > 1 and target.aval.size:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to "
                "a single memory location. Please clone() the tensor before performing the "
                "operation."
            )


def _shared(target: Tensor, source: Tensor) -> str:
    """How much of their memory two tensors share: "none", "part" or "all", as far as is plain."""
    if source is target:
        return "all"
    if not share_memory(target, source):
        return "none"
    a, b = target.aval, source.aval
    if not (a.dense and b.dense and a.size and b.size) or a.dtype is not b.dtype:
        return "none"
    first, second = target._offset, source._offset
    if first == second and a.size == b.size:
        return "all" if a.strides == b.strides else "part"
    return "none" if first >= second + b.size or second >= first + a.size else "part"


def check_partial_overlap(target: Tensor, source: Tensor) -> None:
    """torch's error for reading, in another layout, the memory that is written to."""
    if _shared(target, source) == "part":
        raise RuntimeError(_SHARED_MEMORY)


def check_apart(target: Tensor, source: Tensor) -> None:
    """torch's error for reading memory that is written to, in whatever layout."""
    if _shared(target, source) != "none":
        raise RuntimeError(_SHARED_MEMORY)


def outside(target: Tensor, number: Tensor) -> Tensor:
    """A number that is read before ``target``, of which it may be an element, is written to."""
    return clone(number) if share_memory(target, number) else number


def check_target(target: Tensor, inputs: Any) -> None:
    """The checks of an op in place that torch makes before those of shapes and types."""
    check_writable(target)
    check_overlap(target)
    for x in inputs:
        if x is not None:
            check_partial_overlap(target, x)


def apply_in_place(op: Op, target: Tensor, *inputs: Any, **params: Any) -> Tensor:
    """``target[...] = op(*inputs)``, as torch's ``op_`` methods do; ``target`` may be an input."""
    mode = state.mode
    if mode > GRAD:
        if mode & INTERPRETED:
            return state.interpreters[-1].apply_in_place(op, target, inputs, params)
        if mode & RECORDING_CALL:
            return state.recorder.apply_in_place(op, target, inputs, params)
        mode &= GRAD
    try:
        plan = op.plan_for(inputs, params)
    except Exception as error:
        if target.aval.answered and callbacks.write_answered is not None:
            found: Tensor = callbacks.write_answered(op, target, inputs, params)
            return found
        check_target(target, inputs)
        if isinstance(error, NotImplementedError) and isinstance(op, Elementwise):
            check_result(target, *op.described(tuple([x.aval for x in inputs])))
        raise
    tracked = mode == GRAD and target._node is not None
    if mode == GRAD and not tracked:
        for x in inputs:
            if x is not None and x._node is not None:
                tracked = True
                break
    if not tracked and op.in_place_safe and plan.aval is target.aval and (
        target._storage is None or _aligned(target, inputs)
    ):
        (target._storage or target._shared).version += 1
        plan.run(target.flat, *[x.flat for x in inputs])
        return target
    if tracked and op.writes_unrecorded:
        with grad_mode(False):
            return apply_in_place(op, target, *inputs, **params)
    result_aval = plan.aval
    check_target(target, () if op.updates else inputs)
    check_result(target, result_aval.shape, result_aval.dtype)
    if tracked:
        inputs = _keep_old_value(op, target, inputs)
    run = _run_on(op, plan, target, inputs, params)
    if run is not None and not (tracked and saved_tensor_hooks):  # which see a finished result
        return _direct(op, run, target, inputs, params, tracked)
    result = op.evaluate(mode, inputs, params)
    copy_data(target, result)
    target._shared.version += 1
    if tracked and result._node is None and type(target._node) is not tape.ViewHistory:
        replace(target, result)  # a comparison: what was there before has a gradient of 0
    elif tracked:
        rebase(target, result)
    return target


def written(
    op: Op, target: Tensor, inputs: Any, params: Any, write: Callable[[], object]
) -> Tensor:
    """:func:`apply_in_place` where ``write`` overwrites the elements and counts the write."""
    plan = op.plan_without_kernel(inputs, params)
    check_target(target, () if op.updates else inputs)
    check_result(target, plan.aval.shape, plan.aval.dtype)
    tracked = state.mode & GRAD and any(
        x is not None and x._node is not None for x in (target, *inputs)
    )
    if not tracked:
        write()
        return target
    inputs = _keep_old_value(op, target, inputs)
    stand_in = tape.detached(target)
    node = _record(op, plan, inputs, params, stand_in)
    write()
    if node is not None:
        _expect_new_version(node, target._shared)
        rebase(target, stand_in)
    elif type(target._node) is not tape.ViewHistory:
        replace(target, stand_in)
    return target


def _keep_old_value(op: Op, target: Tensor, inputs: Any) -> Any:
    """Inputs in which the target is a copy where a rule will need its value before the write."""
    places = [i for i, x in enumerate(inputs) if x is target]
    if not places or op.rules is None:
        return inputs
    mask = tuple([x is not None and tape.requires_grad(x) for x in inputs])
    if not any(mask):
        return inputs
    kept = tape.what_to_keep(op, mask, 1)
    if not any(("in", i) in kept for i in places):
        return inputs
    old = clone.evaluate(0, (target,), {})
    old._node = tape.node_of(target)
    old._output_index = target._output_index
    return tuple([old if x is target else x for x in inputs])


def _aligned(target: Tensor, inputs: Any) -> bool:
    """No input shares memory with the target in another layout."""
    if target._storage is None:
        return True
    for x in inputs:
        if x is None or x is target:
            continue
        if share_memory(target, x) and not (
            x.aval is target.aval and x._offset == target._offset
        ):
            return False
    return True


def _run_on(op: Op, plan: Plan, target: Tensor, inputs: Any, params: Any) -> Any:
    """The kernel that may have the target's own memory as its result; None: there is none."""
    if op.in_place_safe:
        return plan.run if plan.aval is target.aval and _aligned(target, inputs) else None
    memory = target._shared.memory
    others = [x for x in inputs[1:] if x is not None]
    if not op.updates or target.aval.device.type != "cpu" or not target.aval.size or any(
        x is target or (x._storage is not None and x._storage.memory is memory) for x in others
    ):
        return None
    if plan.aval is target.aval:
        return plan.run
    if not others or _SOME_OF_ALL * max(x.aval.size for x in others) > target.aval.size:
        return None  # a copy in C order is quicker than many steps through another one
    key = (op, target.aval, *plan.in_avals, *params.items())
    return _strided_updates.get(key) or _strided_updates.keep(
        key, op.bound((target.aval,), plan.in_avals, params)
    )


def kernel_in_place(op: Op, target: Tensor, inputs: Any, params: Any) -> Any:
    """What :func:`apply_in_place` runs on the target's array and those of the inputs where nothing
    is tracked; None: more than one kernel."""
    if op.updates and inputs[0] is not target:
        return None
    return _run_on(op, op.plan_for(inputs, params), target, inputs, params)


_SOME_OF_ALL = 8
_strided_updates = Bounded(512)
tables_of_plans.append(_strided_updates)


def _direct(
    op: Op, run: Any, target: Tensor, inputs: Any, params: Any, tracked: bool
) -> Tensor:
    """Run the kernel with the target's own memory as its result."""
    node = None
    if tracked:
        stand_in = tape.detached(target)
        node = _record(op, op.plan_for(inputs, params), inputs, params, stand_in)
    run(target.flat, *[None if x is None else x.flat for x in inputs])
    storage = target._storage
    if storage is None:
        storage = target._storage = Storage(target.flat, target.aval.device)
    storage.version += 1
    if tracked and node is not None:
        _expect_new_version(node, storage)
        rebase(target, stand_in)
    return target


def _record(op: Op, plan: Plan, inputs: Any, params: Any, written: Tensor) -> Any:
    """Give ``written``, memory that has the op's result already or will have it, the op's node."""
    return tape.record(op, plan, inputs, params, (written,))


def _expect_new_version(node: Any, storage: Storage) -> None:
    """A result saved by its own in-place op is saved as it stands after the write."""
    if node.saved:
        node.versions = tuple(
            storage.version if kind == "out" else version
            for (kind, _), version in zip(node.kept, node.versions, strict=True)
        )


def rebase(target: Tensor, value: Tensor) -> None:
    """Make ``target`` (just overwritten with ``value``'s elements) derive from ``value``.

    A view's base derives from its old self with the view's part replaced; the view and all other
    views of the base derive from the base anew.
    """
    history = target._node
    node = tape.node_of(value)
    if type(history) is not tape.ViewHistory:
        if value.aval.dtype is not target.aval.dtype or value.aval.shape != target.aval.shape:
            if value.aval.shape != target.aval.shape:
                value = expand(value, shape=target.aval.shape)
            if value.aval.dtype is not target.aval.dtype:
                value = cast(value, dtype=target.aval.dtype)
            node = tape.node_of(value)
        target._node = node
        if node is not None or target._output_index:
            target._output_index = value._output_index
        if target._storage is not None:
            target._storage.history += 1
        fields = fields_of(target)
        if node is not None and fields.get("_retains_grad"):
            handle, keep = fields["_retains_grad"]
            handle.remove()  # the gradient is of what the tensor is now
            fields["_retains_grad"] = tape.add_hook(node, target._output_index, keep), keep
        return
    base = history.base
    if node is None and not tape.requires_grad(base):
        return
    if history.one_of is not None:
        raise tape.multiple_views(history, "is being")
    if not history.in_grad_mode:
        raise RuntimeError(_NO_GRAD_VIEW)
    chain = view_chain(target)
    if any(op.rules is None for op, _ in chain):
        return  # seen as another type, which is not differentiable
    params = {"chain": chain}
    if open_sizes:  # a plan with a kernel is for one size
        made = view_update.aval(base.aval, value.aval, **params)
        plan = Plan((made,), (base.aval, value.aval))
    else:
        plan = view_update.plan_for((base, value), params)
    stand_in = tape.detached(base)
    _record(view_update, plan, (base, value), params, stand_in)
    base._node = stand_in._node
    base._output_index = 0
    base._shared.history += 1


def view_chain(view: Tensor) -> Any:
    """The view ops, with params as sorted pairs, that lead from the base to ``view``."""
    links = []
    history = view._node
    while type(history) is tape.ViewHistory:
        links.append((history.op, tuple(sorted(history.params.items()))))
        history = history.parent._node
    return tuple(reversed(links))


def copy_(target: Tensor, source: Tensor, filling: bool = False) -> Tensor:
    """``target[...] = source`` with broadcasting and cast; differentiable in both.

    Args:
        filling: every element is given one value, so that places may overlap; or it is known
            that they do not.
    """
    if state.interpreters and not graph_under_way():
        return state.interpreters[-1].copy_into(target, source)
    if state.mode & RECORDING_CALL:
        return state.recorder.copy_into(target, source, filling)
    if source.aval.shape and source.aval.shape != target.aval.shape:
        expand.aval(source.aval, shape=target.aval.shape)
    if not filling:
        check_overlap(target)
        check_partial_overlap(target, source)
    if state.interpreters:
        return state.interpreters[-1].copy_into(target, source)
    check_writable(target)
    copy_data(target, source)
    target._shared.version += 1
    note_copied(target, source)
    return target


def note_copied(target: Tensor, source: Tensor) -> None:
    """Make ``target`` derive from ``source``, whose elements were put there."""
    if state.mode & GRAD and (target._node is not None or source._node is not None):
        if tape.requires_grad(source) or tape.requires_grad(target) or (
            type(target._node) is tape.ViewHistory and tape.requires_grad(target._node.base)
        ):
            if type(target._node) is tape.ViewHistory:
                rebase(target, source)
            else:
                replace(target, source)


def forget_history(target: Tensor) -> None:
    """After other elements were put there: what ``target`` was before has a gradient of 0."""
    put = tape.detached(target)
    if type(target._node) is tape.ViewHistory:
        rebase(target, put)
    elif tape.requires_grad(target):
        replace(target, put)


def replace(target: Tensor, value: Tensor) -> None:
    """Make ``target`` derive from ``value``, and from what it was before with a gradient of 0."""
    if value.aval.shape != target.aval.shape:
        value = expand(value, shape=target.aval.shape)
    if value.aval.dtype is not target.aval.dtype:
        value = cast(value, dtype=target.aval.dtype)
    stand_in = tape.detached(target)
    plan = overwrite.plan_for((target, value), {})
    _record(overwrite, plan, (target, value), {}, stand_in)
    rebase(target, stand_in)


def same_memory(leaf: Tensor) -> Tensor:
    """A result with a leaf's memory: what is written to it leaves the leaf's history alone."""
    same = alias(leaf)
    _record(clone, clone.plan_for((leaf,), {}), (leaf,), {}, same)
    return same


def fill_(target: Tensor, value: Any) -> Tensor:
    """``target[...] = value`` for a number or a 0-d tensor."""
    return copy_(target, value if isinstance(value, Tensor) else constant(value), True)


def add_into(target: Tensor, value: Tensor) -> None:
    """``target += value`` outside of autodiff, as gradients are accumulated."""
    if state.interpreters:
        copy_(target, add(target, value))
        return
    if target.aval is value.aval:
        plan = add.plan_for((target, value), {})
        if plan.aval is target.aval:
            plan.run(target.flat, target.flat, value.flat)
            if target._storage is not None:
                target._storage.version += 1
            return
    copy_data(target, add.evaluate(0, (target, value), {}))
    if target._storage is not None:
        target._storage.version += 1


def set_data(target: Tensor, source: Tensor) -> None:
    """``target.data = source``: other memory and layout, the same place in the graph."""
    capture = capturing()
    if capture is not None:
        capture.raw_write(target)
    target.flat = source.flat
    target.aval = source.aval if not source.aval.weak else aval(
        source.aval.shape, source.aval.dtype, source.aval.strides, source.aval.device
    )
    detached = DetachedStorage(source._shared)
    detached.version, detached.history = version_of(target), target._shared.history
    target._storage = detached
    target._offset = source._offset
    note_shared(target)


callbacks.apply_in_place = apply_in_place
callbacks.copy_into = copy_
callbacks.kernel_in_place = kernel_in_place
callbacks.kernel_of_copy = kernel_of_copy
