"""How a function becomes torch's: namespace entry, Tensor method, in-place and ``out=`` variants.

A function is written once with torch's signature. ``@function(...)`` registers it; the namespace
and the Tensor class are filled from the registry when ``mindtorch.torch`` is imported.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.dispatch import call_of, in_frames_as, state
from mindtorch.engine.op import Op
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, full_flat

from .out_variants import add_out, store_out, synonyms_of, with_out
from .signatures import as_function, as_method, type_name, wrong_call

__all__ = [
    "FUNCTIONS", "METHODS", "answered_by", "binary", "binary_function", "check_numbers",
    "elementwise", "function", "operand", "store_out", "unary_function", "with_out",
    "with_synonyms", "write_result",
]  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
_NUMBERS = (float, int, bool, complex)
_SCALARS = (*_NUMBERS, np.generic)
# so short that a frame to catch exceptions in would be felt: their errors are their own
_BARE = {
    "clone", "contiguous", "expand", "flatten", "permute", "reshape", "t", "view",
}  # fmt: skip


def function(
    *,
    method: bool = True,
    namespace: bool = True,
    in_place: bool = False,
    apart: bool = False,
    out: bool = False,
    aliases: tuple[str, ...] = (),
    name: str | None = None,
    about: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function under its name.

    Args:
        method: it is also ``Tensor.<name>``, the first argument being the tensor.
        namespace: it is also ``torch.<name>``.
        in_place: ``<name>_`` computes it and writes the result over the first argument.
        apart: ``<name>_`` refuses other arguments that lie in the memory of the first.
        out: it takes ``out=`` and writes the result (or the tuple of results) there.
        aliases: further names for it.
        name: its name, where that is not the body's.
        about: its docstring, where one body is made for several names.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        body.__doc__ = about or body.__doc__
        own = name or body.__name__.rstrip("_")
        synonyms = synonyms_of(body, own, out)
        plain = with_synonyms(body, synonyms) if synonyms else body
        final = add_out(body, own, synonyms) if out else plain
        for each in (own, *aliases):
            if namespace:
                FUNCTIONS[each] = final if out else as_function(final, each)
            if method:
                METHODS[each] = final if each in _BARE else as_method(body, each, synonyms)
            if in_place:
                METHODS[each + "_"] = _in_place_variant(plain, each + "_", apart)
                FUNCTIONS.setdefault(each + "_", as_function(METHODS[each + "_"], each + "_"))
        return final

    return register


def with_synonyms(body: Callable[..., Any], synonyms: dict[str, str]) -> Callable[..., Any]:
    """``body`` that takes its arguments by further names."""

    @functools.wraps(body)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {synonyms.get(name, name): value for name, value in kwargs.items()}
        return body(*args, **kwargs)

    return wrapper


def first_given(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """A call's first argument, None without one: the function called says what is missing."""
    return args[0] if args else kwargs.get(name)


def put_over(namespace: dict[str, Any], name: str, function: Any) -> None:
    """Put a function into a module's ``namespace`` in place of another, where pickle finds it.

    Where the other one asks ``__torch_function__``, so does the new one.
    """
    asking = getattr(namespace.get(name), "__asking__", None)
    if asking is not None and not hasattr(function, "__asking__"):
        function = asking(function)
    function.__module__, function.__qualname__ = namespace["__name__"], name
    namespace[name] = function


def answered_by(kind: type, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` that leaves calls on tensors of the class ``kind`` to their method ``name``."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        first = first_given(args, kwargs, "input")
        if not isinstance(first, kind):
            return function(*args, **kwargs)
        if not args:
            del kwargs["input"]
        return getattr(first, name)(*args[1:], **kwargs)

    return wrapper


def _in_place_variant(body: Callable[..., Any], name: str, apart: bool) -> Callable[..., Any]:
    @functools.wraps(body)
    def variant(self: Any, *args: Any, **kwargs: Any) -> Any:
        inplace.check_writable(self)
        given = self
        refused = _clash(self, (*args, *kwargs.values())) if apart else None
        if state.grad_enabled and any(map(_is_tracked, (self, *args, *kwargs.values()))):
            given = movement.clone(self)  # its elements may be kept, and are about to change
        elif refused is None and not state.interpreters:
            state.written_to = self
        try:
            result = body(given, *args, **kwargs)
            if refused is not None:  # the body's own errors come first
                raise refused
            return self if result is self else write_result(self, result)
        except Exception:
            wrong = wrong_call(name, args, kwargs, method=True)
            if wrong is None:
                raise
            raise wrong from None
        finally:
            state.written_to = None

    variant.__name__ = variant.__qualname__ = name
    return variant


def _clash(target: Any, values: Any) -> RuntimeError | None:
    """torch's error for arguments, one of them or in a list, in memory that is written to."""
    try:
        for value in values:
            for x in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(x, EngineTensor) and x.aval.ndim:
                    inplace.check_apart(target, x)
    except RuntimeError as error:
        return error
    return None


def _is_tracked(value: Any) -> bool:
    return isinstance(value, EngineTensor) and tape.requires_grad(value)


def write_result(target: Any, result: Any) -> Any:
    """Write a function's result over ``target`` and make ``target`` derive from it."""
    inplace.check_result(target, result.aval.shape, result.aval.dtype)
    return inplace.copy_(target, result)


def of_numbers(first: Any, second: Any) -> tuple[Any, Any]:
    """The operands; two numbers as tensors of the types that torch gives them."""
    if isinstance(first, EngineTensor) or isinstance(second, EngineTensor):
        return first, second
    if type(first) not in _NUMBERS or type(second) not in _NUMBERS:
        return first, second
    kinds = {float: dtypes.default, complex: dtypes.default.to_complex(), bool: dtypes.bool_}
    a, b = (full_flat((), kinds.get(type(x), dtypes.int64), x) for x in (first, second))
    return a, b


def operand(value: Any, name: str, position: str, dtype_name: str = "Tensor") -> Any:
    """A tensor as it is, a number as a weak constant; torch's TypeError for anything else."""
    if isinstance(value, EngineTensor):
        return value
    if type(value) in _NUMBERS:
        return constant(value)
    try:
        return constant(value)
    except TypeError:
        wrong = wrong_call(name, (value,), {}, method=True) if name.endswith("_") else None
        raise wrong or TypeError(
            f"{name}(): argument '{position}'{' (position 2)' if position == 'other' else ''} must "
            f"be {dtype_name}, not {type_name(value)}"
        ) from None


_NOT_GIVEN: Any = object()


def _given(
    name: str, named: dict[str, Any], *places: tuple[Any, tuple[str, ...]]
) -> list[Any]:
    """Arguments, each in its place or by one of numpy's names; torch's TypeError otherwise."""
    left, found = dict(named), []
    for value, others in places:
        by_name = (left.pop(other) for other in others if other in left)
        found.append(next(by_name, _NOT_GIVEN) if value is _NOT_GIVEN else value)
    if left or any(x is _NOT_GIVEN for x in found):
        given = itertools.takewhile(lambda x: x is not _NOT_GIVEN, (x for x, _ in places))
        wrong = wrong_call(name, tuple(given), named)
        raise wrong or TypeError(f"{name}() misses required positional arguments")
    return found


_UNARY_TEXT = """Of each element x: {0}.

Args:
    input: a tensor; ``x``, by numpy's name.
    out: a tensor for the result.

Raises:
    TypeError: ``input`` is no tensor.
"""
_BINARY_TEXT = """Of elements x of ``input`` and y of ``other``: {0}.

Shapes are broadcast together, types promoted.

Args:
    input, other: {1}.
    named: the same by numpy's names: ``x``, ``a`` or ``x1``, and ``x2``.
    out: a tensor for the result.

Raises:
    TypeError: one of them is something else.
    RuntimeError: the shapes cannot be broadcast.
"""
_MAY_BE_NUMBERS = {
    "none": "tensors", "other": "a tensor, and a tensor or a number",
    "one": "tensors, or a tensor and a number", "both": "tensors or numbers",
}  # fmt: skip


# the functions that :func:`elementwise` and :func:`binary` made, in their order
ELEMENTWISE: list[str] = []


def unary_function(name: str, op: Op, formula: str) -> Callable[..., Any]:
    """``name(input, *, out=None)`` for a one-input elementwise op; see ``elementwise``."""
    call = call_of(op, 1)

    def body(input: Any = _NOT_GIVEN, *, out: Any = None, x: Any = _NOT_GIVEN) -> Any:  # noqa: A002
        if not isinstance(input, EngineTensor):
            named = {} if x is _NOT_GIVEN else {"x": x}
            (input,) = _given(name, named, (input, ("x",)))  # noqa: A001
            if not isinstance(input, EngineTensor):
                raise TypeError(
                    f"{name}(): argument 'input' (position 1) must be Tensor, not "
                    f"{type_name(input)}"
                )
        result = call(input)
        return result if out is None else store_out(result, out, name, (input,))

    in_frames_as(name, body)
    body.__doc__ = _UNARY_TEXT.format(formula)
    return body


def elementwise(
    name: str,
    op: Op,
    formula: str,
    *,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    method: bool = True,
) -> Callable[..., Any]:
    """Register a one-input elementwise op as ``torch.<name>``, ``Tensor.<name>``, ``<name>_``.

    Args:
        formula: what is computed of an element x, for the docstring.
    """
    body = unary_function(name, op, formula)
    ELEMENTWISE.append(name)

    def variant(self: Any) -> Any:
        return inplace.apply_in_place(op, self, self)

    _publish(body, variant, name, aliases, in_place, method)
    return body


def check_numbers(
    name: str, numbers: str, first: Any, second: Any, method: bool = False
) -> None:
    """TypeError, as torch words it, where an argument may not be what it is.

    Args:
        numbers: as :func:`binary` has it.
        method: ``first`` is the tensor whose method was called.
    """
    given = [isinstance(x, EngineTensor) for x in (first, second)]
    known = [t or isinstance(x, _SCALARS) for x, t in zip((first, second), given, strict=True)]
    allowed = {
        "none": all(given), "both": True, "one": any(given), "other": given[0],
    }  # fmt: skip
    if all(known) and allowed[numbers]:
        return
    wrong = wrong_call(name, (second,) if method else (first, second), {}, method)
    if wrong is not None:
        raise wrong
    place, x = next((i, x) for i, x in enumerate((first, second)) if not given[i])
    raise TypeError(
        f"{name}(): argument '{('input', 'other')[place]}' (position {place + 1 - method}) must be "
        f"Tensor, not {type_name(x)}"
    )


def binary_function(
    name: str, op: Op, formula: str, numbers: str = "both", method: bool = False
) -> Callable[..., Any]:
    """``name(input, other, *, out=None)`` for a two-input elementwise op; see ``binary``.

    ``method``: its errors count the arguments as those of a tensor's method.
    """
    call = call_of(op, 2)

    def body(
        input: Any = _NOT_GIVEN, other: Any = _NOT_GIVEN, *, out: Any = None,  # noqa: A002
        **named: Any,
    ) -> Any:  # fmt: skip
        if named or not isinstance(other, EngineTensor) or not isinstance(input, EngineTensor):
            first = (input, ("x", "a", "x1"))
            input, other = _given(name, named, first, (other, ("x2",)))  # noqa: A001
            check_numbers(name, numbers, input, other, method)
            input, other = of_numbers(input, other)  # noqa: A001
            input = operand(input, name, "input")  # noqa: A001
            other = operand(other, name, "other")
        result = call(input, other)
        return result if out is None else store_out(result, out, name, (input, other))

    in_frames_as(name, body)
    body.__doc__ = _BINARY_TEXT.format(formula, _MAY_BE_NUMBERS[numbers])
    return body


def binary(
    name: str,
    op: Op,
    formula: str,
    *,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    numbers: str = "both",
) -> Callable[..., Any]:
    """Register a two-input elementwise op.

    Args:
        formula: what is computed of elements x and y, for the docstring.
        numbers: which input may be a number: "none", "other", "one" of them, or "both".
    """
    body = binary_function(name, op, formula, numbers)
    ELEMENTWISE.append(name)

    def variant(self: Any, other: Any) -> Any:
        if not isinstance(other, EngineTensor):
            check_numbers(name + "_", numbers, self, other, method=True)
            other = operand(other, name + "_", "other")
        return inplace.apply_in_place(op, self, self, other)

    _publish(body, variant, name, aliases, in_place, False)
    for each in (name, *aliases):
        METHODS[each] = binary_function(name, op, formula, numbers, method=True)
    return body


def _publish(
    body: Any, variant: Any, name: str, aliases: tuple[str, ...], in_place: bool, method: bool
) -> None:
    variant.__name__ = variant.__qualname__ = name + "_"
    second = "" if variant.__code__.co_argcount == 1 else " and ``other``"
    variant.__doc__ = f":func:`{name}` of the tensor{second}, written over it; its type stays."
    for each in (name, *aliases):
        FUNCTIONS[each] = body
        if method:
            METHODS[each] = body
        if in_place:
            METHODS[each + "_"] = variant
            FUNCTIONS.setdefault(each + "_", as_function(variant, each + "_"))
