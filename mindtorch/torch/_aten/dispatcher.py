"""The interpreter of a mode: overloads go to its code, ops of the engine become overloads."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.callbacks import callbacks
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.dispatch import GRAD, recorded, state
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor, again, alias

from .._tensor.size_and_formats import preserve_format
from .lowerings import described, handed, overload
from .overloads import OpOverload, Receiver, below, is_below, route, wrapped_in
from .view_rules import view_gradients

__all__ = ["Dispatcher", "attached", "outside_modes"]


def attached(op: Any, inputs: Any, params: Any, result: Any) -> Any:
    """``result``, computed below autograd, with its place on the tape: that of ``op``."""
    several = isinstance(result, (tuple, list))
    results = list(result) if several else [result]
    for at, each in enumerate(results):
        if any(each is x for x in inputs):  # a mode may give back what it was given
            results[at] = again(each) if each.aval.answered else alias(each)
    if op.view is not None and not several:
        _enter_as_view(op, inputs, params, results[0])
    else:
        for at, each in enumerate(results):
            if type(each._node) is tape.ViewHistory:  # of something below autograd
                results[at] = _without_history(each)
        plan = op.plan_without_kernel(inputs, params)
        recorded(op, plan, GRAD, inputs, params, tuple(results))
        node = next((x._node for x in results if type(x._node) is tape.Node), None)
        if node is not None:
            _save_results(node, results, getattr(op, "plain", ()))
    if not several:
        return results[0]
    made: Any = tuple(results)
    return type(result)(*made) if hasattr(result, "_fields") else made


def _save_results(node: Any, results: Any, plain: Any) -> None:
    """torch saves results through ``detach``; those without a gradient (``plain``) as they are."""
    for at, (kind, place) in enumerate(node.kept):
        if kind != "out":
            continue
        if results[place].aval.answered:
            node.saved[at] = again(results[place])
        if place not in plain:
            with below():
                route(overload("detach.default"), (results[place],), {})


def _without_history(view: Tensor) -> Tensor:
    if tape.requires_grad(view):
        return again(view) if view.aval.answered else alias(view)
    view._node = None
    return view


def _enter_as_view(op: Op, inputs: Any, params: Any, result: Tensor) -> None:
    source = inputs[0]
    history = result._node
    if type(history) is tape.ViewHistory and history.parent is source:
        history.in_grad_mode = True
        tape.enter_view(history, source._node, GRAD)
        return
    plan = op.plan_without_kernel(inputs, params)
    recorded(op, plan, GRAD, inputs, params, (result,))


def _is_tracked(inputs: Any) -> bool:
    return any(x is not None and x._node is not None and tape.requires_grad(x) for x in inputs)


class Dispatcher(Receiver):
    """Hands overloads to a mode.

    Args:
        mode: has ``__torch_dispatch__``; None: tensors' classes alone are asked.
    """

    observes_nodes = True
    leaves_first = True
    sees_writes = True

    def __init__(self, mode: Any = None) -> None:
        self.mode = mode
        self.outer: Any = ()
        self.thread = threading.get_ident()

    def enter(self) -> None:
        """Take the calls of this thread from here on."""
        self.resume = pause()
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))

    def leave(self) -> None:
        """Leave them to who was there before."""
        state.update(interpreters=tuple(x for x in state.interpreters if x is not self))
        self.resume()

    def hand(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        if self.mode is None:
            return self.outside(route, func, args, kwargs)
        types = tuple(type(x) for x in wrapped_in(args, kwargs))
        args, kwargs = func.as_passed(args, kwargs)
        with below():
            result = self.outside(self.mode.__torch_dispatch__, func, types, args, kwargs)
        if result is NotImplemented:
            return self.outside(route, func, args, kwargs)
        return result

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        if is_below() or not (state.mode & GRAD and _is_tracked(inputs)):
            with below():
                return handed(op, inputs, params)
        with below():
            result = handed(op, inputs, params)
        return attached(op, inputs, params, result)

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        def write() -> None:
            with below():
                func, args, kwargs = described(op, inputs, params, target)
                route(func, args, kwargs)

        return inplace.written(op, target, inputs, params, write)

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        inplace.check_writable(target)
        with below():
            if source.aval.weak and not source.aval.shape:
                number = source.flat[0].item()
                route(overload("fill_.Scalar"), (target, number), {})
            else:
                route(overload("copy_.default"), (target, source), {})
        if not is_below():
            self.outside(inplace.note_copied, target, source)
        return target

    def item(self, tensor: Tensor) -> Any:
        with below():
            return route(overload("_local_scalar_dense.default"), (tensor,), {})

    # --- backward passes ----------------------------------------------------------------------

    @contextlib.contextmanager
    def around_node(self, node: Any) -> Any:
        """torch takes saved results out through ``detach``."""
        if not state.mode & GRAD and node.saved and node.saved is not tape.RELEASED:
            plain = getattr(node.op, "plain", ())
            for (kind, place), x in zip(node.kept, node.saved, strict=True):
                if kind == "out" and isinstance(x, Tensor) and place not in plain:
                    with below():
                        route(overload("detach.default"), (x,), {})
        yield

    def gradients_of(self, node: Any, gradients: Any, needed: Any) -> Any:
        return None if state.mode & GRAD else view_gradients(node, gradients)

    def root_gradient(self, output: Tensor) -> Any:
        named = {"pin_memory": False, "memory_format": preserve_format}
        with below():
            return route(overload("ones_like.default"), (output,), named)

    def accumulate(self, variable: Tensor, gradient: Tensor, alone: bool) -> bool:
        held = variable._grad
        if gradient._sparse and not gradient.aval.answered:
            return False
        with below():
            if held is not None:
                route(overload("add_.Tensor"), (held, gradient), {})
            elif gradient.aval.answered or (alone and _lie_alike(gradient.aval, variable.aval)):
                variable._grad = route(overload("detach.default"), (gradient,), {})
            else:
                variable._grad = self.copy_of(gradient, variable)
        return True

    def copy_of(self, gradient: Tensor, variable: Tensor) -> Any:
        """The gradient as the variable lies."""
        aval = variable.aval
        made = route(
            overload("new_empty_strided.default"),
            (gradient, list(aval.shape), list(aval.strides)), {},
        )  # fmt: skip
        return route(overload("copy_.default"), (made, gradient), {})


def _lie_alike(one: Any, other: Any) -> bool:
    """Whether two tensors have one type and order of elements."""
    return one is other or (
        one.dtype is other.dtype and one.shape == other.shape and all(
            n == 1 or a == b
            for n, a, b in zip(one.shape, one.strides, other.strides, strict=True)
        )
    )


@contextlib.contextmanager
def outside_modes() -> Any:
    """A block in which no mode is active."""
    before = state.interpreters
    state.update(interpreters=tuple(x for x in before if not isinstance(x, Receiver)))
    try:
        yield
    finally:
        state.update(interpreters=before)


# what takes the ops on tensors whose classes answer, where no mode is active
_classes = Dispatcher()


def _call(op: Op, mode: int, inputs: Any, params: Any) -> Any:
    """A call of an op where a tensor's class answers."""
    del mode
    if state.recorder is not None:
        state.recorder.repeatable = False
    return _classes.apply(op, inputs, params)


def answer_for_classes() -> None:
    """Let ops ask tensors' classes from now on."""
    callbacks.call_answered = _call
    callbacks.write_answered = _classes.apply_in_place
    callbacks.root_gradient_answered = _classes.root_gradient
    callbacks.accumulate_answered = lambda x, g: _classes.accumulate(x, g, False)
