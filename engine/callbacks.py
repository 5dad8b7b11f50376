"""What ops ask of modules above them: each function is put here by the module that defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Callbacks:
    """Functions that ops call and that are themselves made of ops.

    Attributes:
        apply_in_place: ``apply_in_place(op, target, *inputs, **params)``, of autograd/inplace.py.
        copy_into: ``copy_into(target, source, filling=False)``, of autograd/inplace.py.
        kernel_in_place: ``kernel_in_place(op, target, inputs, params)``, what ``apply_in_place``
            runs; ``kernel_of_copy(target's aval, source's aval)``: the same of ``copy_into``.
        gradients: ``gradients(outputs, inputs, gradients of the outputs)``, of autograd/api.py.
        full_sharded: ``full_sharded(aval, value)``, a tensor over several processes.
        redraw_sharded: ``redraw_sharded(target, fill, inputs)``, random numbers for such a tensor.
        call_sharded, plan_sharded, copy_sharded: of sharding/dispatch.py, a call of an op, its
            plan, and a copy, where a tensor lies over several processes; None: there are none yet.
        call_answered: ``call_answered(op, mode, inputs, params)``, a call where a tensor's class
            answers for ops; None: there is no such class yet.
        root_gradient_answered: ``root_gradient(output)``, the gradient of ones of such a tensor.
        accumulate_answered: ``accumulate(variable, gradient)``, such a gradient.
        write_answered: the same for ``apply_in_place(op, target, inputs, params)``.
    """

    apply_in_place: Callable[..., Any]
    copy_into: Callable[..., Any]
    kernel_in_place: Callable[..., Any]
    kernel_of_copy: Callable[..., Any]
    gradients: Callable[..., list[Any]]
    full_sharded: Callable[..., Any]
    redraw_sharded: Callable[..., Any]
    call_sharded: Callable[..., Any] | None = None
    plan_sharded: Callable[..., Any] | None = None
    copy_sharded: Callable[..., Any] | None = None
    call_answered: Callable[..., Any] | None = None
    write_answered: Callable[..., Any] | None = None
    root_gradient_answered: Callable[..., Any]
    accumulate_answered: Callable[..., Any]


callbacks = Callbacks()
