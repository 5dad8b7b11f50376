"""What ops ask of modules above them: each function is put here by the module that defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Callbacks:
    """Functions that ops call and that are themselves made of ops.

    Attributes:
        apply_in_place: ``apply_in_place(op, target, *inputs, **params)``, of autograd/inplace.py.
        copy_into: ``copy_into(target, source)``, of autograd/inplace.py.
        gradients: ``gradients(outputs, inputs, gradients of the outputs)``, of autograd/api.py.
    """

    apply_in_place: Callable[..., Any]
    copy_into: Callable[..., Any]
    gradients: Callable[..., list[Any]]


callbacks = Callbacks()
