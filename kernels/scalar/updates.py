"""What a step of an optimizer does to one element; its only writing.

The functions are plain Python on numbers. Loops over parameters compile them (``kernels.cpu`` and
``kernels.cuda``: ``multi_tensor_update``); on tensors they run with operations on tensors in the
place of those of this module (:func:`with_operations`): parameters that no loop can take have the
same formula. An operation that ends in ``_`` may, as torch's, overwrite its first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from types import FunctionType
from typing import Any

Number = Any

OPERATIONS: dict[str, Callable[..., Any]] = {"sqrt": sqrt}

# --- operations ------------------------------------------------------------------------------


def operation(function: Any) -> Any:
    """Make the function one of the operations that a formula is written in."""
    OPERATIONS[function.__name__] = function
    return function


def fma(x: Number, y: Number, z: Number) -> Number:
    """``x * y + z``; the CPU's loops round it once."""
    return x * y + z


@operation
def decayed(g: Number, p: Number, weight: Number) -> Number:
    """:func:`add`, with a product that is rounded."""
    return g + weight * p


@operation
def add(x: Number, y: Number, alpha: Number) -> Number:
    return fma(alpha, y, x)


@operation
def add_(x: Number, y: Number, alpha: Number) -> Number:
    return fma(alpha, y, x)


@operation
def add_number_(x: Number, y: Number) -> Number:
    return x + y


@operation
def mul_(x: Number, y: Number) -> Number:
    return x * y


@operation
def div_(x: Number, y: Number) -> Number:
    return x / y


@operation
def lerp_(x: Number, y: Number, weight: Number) -> Number:
    return x + weight * (y - x)


@operation
def addcmul_(x: Number, y: Number, z: Number, value: Number) -> Number:
    return x + value * y * z


@operation
def addcdiv_(x: Number, y: Number, z: Number, value: Number) -> Number:
    return x + value * (y / z)


@operation
def maximum_(x: Number, y: Number) -> Number:
    return x if x > y else y


@operation
def copy_(x: Number, y: Number) -> Number:
    return y


# --- updates: (parameter, gradient, states, numbers) -> (parameter, states) --------------------


def sgd(p: Number, g: Number, rate: Number, weight: Number) -> tuple[Number]:
    if weight != 0:
        g = decayed(g, p, weight)
    return (add_(p, g, rate),)


def sgd_momentum(
    p: Number, g: Number, momentum_buffer: Number, rate: Number, weight: Number, first: Number,
    keep: Number, take: Number, nesterov: Number,
) -> tuple[Number, Number]:  # fmt: skip
    if weight != 0:
        g = add(g, p, weight)
    b = copy_(momentum_buffer, g) if first else add_(mul_(momentum_buffer, keep), g, take)
    along = add(g, b, keep) if nesterov else b
    return add_(p, along, rate), b


def adam(
    p: Number, g: Number, exp_avg: Number, exp_avg_sq: Number, rate: Number, root: Number,
    shrink: Number, weight: Number, blend: Number, keep: Number, take: Number, eps: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    p, m, v = moments(p, g, exp_avg, exp_avg_sq, shrink, weight, blend, keep, take)
    return addcdiv_(p, m, add_number_(div_(sqrt(v), root), eps), rate), m, v


def adam_amsgrad(
    p: Number, g: Number, exp_avg: Number, exp_avg_sq: Number, max_exp_avg_sq: Number,
    rate: Number, root: Number, shrink: Number, weight: Number, blend: Number, keep: Number,
    take: Number, eps: Number,
) -> tuple[Number, Number, Number, Number]:  # fmt: skip
    p, m, v = moments(p, g, exp_avg, exp_avg_sq, shrink, weight, blend, keep, take)
    top = maximum_(max_exp_avg_sq, v)
    return addcdiv_(p, m, add_number_(div_(sqrt(top), root), eps), rate), m, v, top


def moments(
    p: Number, g: Number, m: Number, v: Number, shrink: Number, weight: Number, blend: Number,
    keep: Number, take: Number,
) -> tuple[Number, Number, Number]:  # fmt: skip
    """Weight decay, then the running means of the gradient and of its square."""
    if shrink != 1:
        p = mul_(p, shrink)
    if weight != 0:
        g = decayed(g, p, weight)
    return p, lerp_(m, g, blend), addcmul_(mul_(v, keep), g, g, take)


# --- numbers of a step, from its number (which begins with 1) and the optimizer's settings -----


def sgd_numbers(step: Number, lr: Number, weight_decay: Number) -> tuple[Number, ...]:
    return -lr, weight_decay


def sgd_momentum_numbers(
    step: Number, lr: Number, weight_decay: Number, momentum: Number, dampening: Number,
    nesterov: Number,
) -> tuple[Number, ...]:  # fmt: skip
    return -lr, weight_decay, 1.0 if step == 1 else 0.0, momentum, 1.0 - dampening, nesterov


def adam_numbers(
    step: Number, lr: Number, beta1: Number, beta2: Number, eps: Number, weight_decay: Number,
    decoupled: Number,
) -> tuple[Number, ...]:  # fmt: skip
    rate = -(lr / (1.0 - beta1**step))
    root = (1.0 - beta2**step) ** 0.5
    shrink = 1.0 - lr * weight_decay if decoupled else 1.0
    weight = 0.0 if decoupled else weight_decay
    return rate, root, shrink, weight, 1.0 - beta1, beta2, 1.0 - beta2, eps


class Update:
    """A step of an optimizer.

    Args:
        element: ``(p, g, *states, *numbers) -> (p, *states)``; the states by their names in
            ``optimizer.state``.
        numbers: ``(step, *settings) -> numbers``, in float64; the loops round them to the element
            type.
        states: how many states there are.

    Attributes:
        state_names, number_names, settings: as the two functions name them.
    """

    def __init__(
        self, element: Callable[..., Any], numbers: Callable[..., Any], states: int
    ) -> None:
        self.name, self.element, self.numbers = element.__name__, element, numbers
        names = _parameters(element)
        self.state_names, self.number_names = names[2 : 2 + states], names[2 + states :]
        self.settings = _parameters(numbers)[1:]
        self._check_counts()

    def _check_counts(self) -> None:
        """Try both functions on halves: their errors are Python's then, not a compiler's."""
        try:
            numbers = self.numbers(1.0, *[0.5] * len(self.settings))
            wanted = f"{self.name} takes, after its states,"
            _same_count(self.numbers.__name__, numbers, wanted, self.number_names)
            own = ("p", *self.state_names)
            found = self.element(*[0.5] * (1 + len(own)), *numbers)
        except (ArithmeticError, ValueError):  # a formula that has no result for halves
            return
        _same_count(self.name, found, "an update returns", own)


def _same_count(name: str, found: Any, wanted: str, names: tuple[str, ...]) -> None:
    if not isinstance(found, tuple) or len(found) != len(names):
        count = f"a tuple of {len(found)}" if isinstance(found, tuple) else "no tuple"
        raise TypeError(f"{name} returns {count} where {wanted} {len(names)}: {', '.join(names)}")


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


SGD = Update(sgd, sgd_numbers, 0)
SGD_MOMENTUM = Update(sgd_momentum, sgd_momentum_numbers, 1)
ADAM = Update(adam, adam_numbers, 2)
ADAM_AMSGRAD = Update(adam_amsgrad, adam_numbers, 3)


def with_operations(
    update: Update, operations: Mapping[str, Any], compiled: Callable[[Any], Any] = lambda f: f
) -> Callable[..., Any]:
    """``update.element`` with other operations than this module's; ``compiled`` is given each of
    its functions first."""
    names = dict(globals(), **operations)

    def made(function: Any) -> Any:
        used = {n for n in function.__code__.co_names if isinstance(names.get(n), FunctionType)}
        for name in used - set(operations):
            names[name] = made(names[name])
        return compiled(FunctionType(function.__code__, names, function.__name__))

    return made(update.element)
