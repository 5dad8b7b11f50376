"""How a function becomes torch's: namespace entry, Tensor method, in-place and ``out=`` variants.

A function is written once with torch's signature. A decorator above it says what else is known of
it (:class:`~.public.Public`), and registers it; the namespaces and the Tensor class are filled
from the registries when ``mindtorch.torch`` is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import call_of, in_frames_as
from mindtorch.engine.implementations import Implementations
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, full_flat

from .built_in import as_built_in, is_built_in
from .invalid_arguments import type_name
from .out_rules import ANY, Out
from .out_variants import store_out
from .public import Public, explained, numpys_names, record_of, write_result
from .shown_signature import ShownSignature
from .signatures import (
    arguments_of,
    call_check,
    has_signature,
    takes_nothing,
    unbound,
    wrong_call,
)
from .texts_by_function import said_of

__all__ = [
    "FUNCTIONAL", "FUNCTIONS", "METHODS", "binary", "binary_function", "check_numbers",
    "elementwise", "function", "functional", "module_function", "namespace_function", "operand",
    "store_out", "unary_function", "under_other_name", "write_result",
]  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
FUNCTIONAL: dict[str, Callable[..., Any]] = {}
_NAMESPACE = "mindtorch.torch"
_FUNCTIONAL = f"{_NAMESPACE}.nn.functional"
_NUMBERS = (float, int, bool, complex)
_SCALARS = (*_NUMBERS, np.generic)
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def function(
    *,
    method: bool = True,
    namespace: bool = True,
    in_place: bool = False,
    apart: bool = False,
    out: bool | Out = False,
    aliases: tuple[str, ...] = (),
    name: str | None = None,
    about: str | None = None,
    bare: bool = False,
    home: str = "",
    synonyms: dict[str, str] | None = None,
    autocast_in_place: str | None = None,
    **facts: Any,
) -> _Decorator:
    """Register a function under its name.

    Args:
        method: it is also ``Tensor.<name>``, the first argument being the tensor.
        namespace: it is also ``torch.<name>``.
        in_place: ``<name>_`` computes it and writes the result over the first argument.
        apart: ``<name>_`` refuses other arguments that lie in the memory of the first.
        out: it takes ``out=`` and writes the result (or the tuple of results) there; what torch
            demands of it.
        aliases: further names for it.
        name: its name, where that is not the body's.
        about: its docstring, where one body is made for several names.
        bare: the method is so short that a frame to catch exceptions in would be felt: its errors
            are its own.
        home: the module of torch's that it belongs to, where that is not ``torch`` itself.
        synonyms: other names of its arguments, beside numpy's.
        autocast_in_place: how ``<name>_`` casts its tensors as a whole.
        facts: as :class:`~.public.Public` has them.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        body.__doc__ = about or body.__doc__
        own = name or body.__name__.rstrip("_")
        if name and "<locals>" in body.__qualname__:
            body.__qualname__ = name  # which errors of Python's show
        place = f"{_NAMESPACE}.{home}" if home else _NAMESPACE
        numpys = out or "dim" in arguments_of(body)  # others have them at need
        others = (numpys_names(body) if numpys else {}) | (synonyms or {})
        public = Public(
            own, body, out=out, synonyms=others, kinds_checked=True, **facts
        )
        final = public.as_function(own, place if namespace else None) if out else body
        as_method = public.changed(own, explained=False) if bare else public
        for each in (own, *aliases):
            if namespace:
                same = out and (each == own or not has_signature(each))
                FUNCTIONS[each] = final if same else public.changed(each).as_function(each, place)
            if method:
                METHODS[each] = as_method.as_method(each)
            if in_place:
                written = public.in_place(each + "_", True, apart, autocast_in_place)
                METHODS[each + "_"] = written
                if each + "_" not in FUNCTIONS:
                    FUNCTIONS[each + "_"] = public.in_place(
                        each + "_", False, apart, autocast_in_place
                    )
        return final

    return register


def functional(
    *, out: bool | Out = False, name: str | None = None, explained: bool | None = None,
    bare: bool = False, **facts: Any,
) -> _Decorator:  # fmt: skip
    """Register a function of torch.nn.functional.

    A wrapper that only asks the call cache, or writes to ``out``, takes the body's place in its
    file, too, and is of that file for pickle once something is put over the public name. Others
    leave the body there, as it is called from functions that have cast and checked already.

    Args:
        name: its name in errors, where that is not the body's.
        explained: it is written in C++ by torch, so that a wrong call is said by its signature;
            None where that is so of those with a kernel alone.
        bare: there is no wrapper; the body looks for other implementations itself.
        out, facts: as :class:`~.public.Public` has them.
    """

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        public = Public(
            name or body.__name__, body, out=out, synonyms=numpys_names(body) if out else None,
            explained="kernel" in facts if explained is None else explained,
            kinds_checked=bool(explained), **facts,
        )  # fmt: skip
        if bare:
            body.public = public  # type: ignore[attr-defined]
            FUNCTIONAL[body.__name__] = body
            return body
        alone = public.explained or public.autocast or public.autocast_cuda
        made = public.as_function(body.__name__, _FUNCTIONAL)
        FUNCTIONAL[body.__name__] = made
        return body if alone else made

    return register


def namespace_function(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """Register a body that does all by itself as ``torch.<name>``, with torch's errors."""
    made = Public(name, body).as_function(name, _NAMESPACE)
    FUNCTIONS[name] = made
    return made


def module_function(*, out: bool | Out = False, **facts: Any) -> _Decorator:
    """Make the public function of a body of torch.linalg or torch.fft.

    In errors its name begins with that of the module.
    """

    def make(body: Callable[..., Any]) -> Callable[..., Any]:
        places = body.__module__.split(".")
        prefix = next((f"{place}_" for place in ("linalg", "fft") if place in places), "")
        synonyms = numpys_names(body) | facts.pop("synonyms", {}) if out else None
        name = prefix + body.__name__
        public = Public(
            name, body, out=out, synonyms=synonyms, signature=name, kinds_checked=True, **facts
        )
        return public.as_function(body.__name__)

    return make


def under_other_name(
    name: str, function: Callable[..., Any], synonyms: dict[str, str] | None = None
) -> Callable[..., Any]:
    """A function of another module as ``torch.<name>``, with torch's errors for that.

    ``synonyms``: other names of arguments, beside those that it has.
    """
    known = record_of(function)
    public = Public(name, function) if known is None else known
    others = {**(public.synonyms or {}), **(synonyms or {})}
    public = public.changed(
        public.name, synonyms=others, explained=True,
        signature=said_of("an older name of", name) or name,
    )  # fmt: skip
    made = public.as_function(name, _NAMESPACE)
    made.__doc__ = function.__doc__
    return made


def explained_where_known(name: str, value: Any) -> Any:
    """A function of the namespace with torch's errors, where the table has it; else ``value``."""
    if is_built_in(name):
        return as_built_in(name, value)
    known = record_of(value)
    explained = known is not None and known.explained
    signature = said_of("an older name of", name) or name
    return under_other_name(name, value) if (
        callable(value) and has_signature(signature) and not explained
    ) else value


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


NOT_GIVEN: Any = object()


_FIRST, _SECOND = ("input", "x", "a", "x1"), ("other", "x2")


def _operands(
    name: str, args: tuple[Any, ...], named: dict[str, Any], places: tuple[tuple[str, ...], ...],
    method: bool = False,
) -> list[Any]:  # fmt: skip
    """Arguments, each in its place or by torch's or numpy's name; torch's TypeError otherwise."""
    left, found = dict(named), list(args)
    for names in places[len(args) :]:
        found += [left.pop(each) for each in names if each in left][:1]
    if left or len(found) != len(places):
        given = args[1:] if method else args
        raise wrong_call(name, given, named, method) or TypeError(
            f"{name}() misses required positional arguments"
        )
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


def unary_function(
    name: str, op: Op, formula: str, rule: Out = ANY, others: Implementations | None = None
) -> Callable[..., Any]:
    """``name(input, *, out=None)`` for a one-input elementwise op; see ``elementwise``."""
    others = Implementations() if others is None else others
    call, check_out = call_of(op, 1, others=others), call_check(name, False)

    def body(
        given: Any = NOT_GIVEN, /, *rest: Any, out: Any = None, input: Any = NOT_GIVEN,  # noqa: A002
        x: Any = NOT_GIVEN, a: Any = NOT_GIVEN, x1: Any = NOT_GIVEN,
    ) -> Any:  # fmt: skip
        if rest or input is not x or a is not x1 or not isinstance(given, EngineTensor):
            given = _tensor_of(name, _present(given, *rest), input=input, x=x, a=a, x1=x1)
        if out is not None:
            check_out((given,), {"out": out})
        result = call(given)
        return result if out is None else store_out(result, out, name, (given,), rule)

    return _elementwise_function(body, name, _UNARY_TEXT.format(formula), _OF_ONE, others)


def _unary_method(
    name: str, op: Op, formula: str, others: Implementations
) -> Callable[..., Any]:
    """The method ``name()``, which takes no arguments."""
    call = call_of(op, 1, others=others)

    def body(self: Any = NOT_GIVEN, /, *rest: Any, **named: Any) -> Any:
        if rest or named:
            raise unbound(name, _present(self)) or takes_nothing(name, rest, named)
        try:
            return call(self)
        except Exception:
            if (bare := unbound(name, _present(self))) is None:
                raise
            raise bare from None

    return _elementwise_function(body, name, _UNARY_TEXT.format(formula), _OF_SELF, others)


def _present(*values: Any) -> tuple[Any, ...]:
    """Those arguments that were given by place."""
    return tuple(x for x in values if x is not NOT_GIVEN)


def _tensor_of(name: str, args: tuple[Any, ...], **by_names: Any) -> Any:
    """The one tensor that a function takes; torch's TypeError where it is something else."""
    named = {key: value for key, value in by_names.items() if value is not NOT_GIVEN}
    (found,) = _operands(name, args, named, (_FIRST,))
    if not isinstance(found, EngineTensor):
        raise wrong_call(name, args, named) or TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(found)}"
        )
    return found


def _elementwise_function(
    body: Any, name: str, about: str, signature: Any, others: Implementations
) -> Any:
    in_frames_as(name, body)
    body.__doc__, body.__module__, body.__signature__ = about, _NAMESPACE, signature
    body.public = Public(name, body, explained=False, implementations=others)
    return body


_OF_ONE = ShownSignature(lambda input: None, out=True)
_OF_SELF = ShownSignature(lambda input: None)
_OF_TWO = ShownSignature(lambda input, other: None, out=True)
_OVER_ITSELF = ShownSignature(lambda self: None)
_OVER_FIRST = ShownSignature(lambda self, other: None)


def second(name: str, by_numpys_name: Any) -> Any:
    """The second operand of a method, where it was not given by its own name."""
    if by_numpys_name is NOT_GIVEN:
        raise wrong_call(name, (), {}, method=True) or TypeError(f"{name}() misses 'other'")
    return by_numpys_name


def elementwise(
    name: str,
    op: Op,
    formula: str,
    *,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    method: bool = True,
    out: Out = ANY,
    cacheable: bool = False,
) -> Callable[..., Any]:
    """Register a one-input elementwise op as ``torch.<name>``, ``Tensor.<name>``, ``<name>_``.

    Args:
        formula: what is computed of an element x, for the docstring.
        out: what torch demands of ``out=``.
        cacheable: as :class:`~.public.Public` has it.
    """
    body = unary_function(name, op, formula, out)
    if cacheable:
        public = body.public.changed(name, kinds_checked=True, cacheable=True)  # type: ignore[attr-defined]
        body = public.as_function(name, _NAMESPACE)
    ELEMENTWISE.append(name)

    to_real = getattr(op, "result", "") == "real"

    def variant_of(own: str) -> Callable[..., Any]:
        def variant(self: Any = NOT_GIVEN, /, *rest: Any, **named: Any) -> Any:
            if self is NOT_GIVEN and len(named) == 1 and next(iter(named)) in ("self", *_FIRST):
                self = named.popitem()[1]
            bare = unbound(f"{own}_", _present(self))
            if rest or named or bare:
                raise bare or takes_nothing(f"{own}_", rest, named)
            if to_real and self.aval.dtype.is_complex:
                raise RuntimeError(f"In-place {name} is not supported for complex tensors.")
            return inplace.apply_in_place(op, self, self)

        variant.__signature__ = _OVER_ITSELF  # type: ignore[attr-defined]
        return variant

    others = body.public.implementations  # type: ignore[attr-defined]
    for each in (name, *aliases):
        of_alias = body if each == name else unary_function(each, op, formula, out, others)
        _publish(of_alias, variant_of(each), each, in_place)
        if method:
            own = _unary_method(each, op, formula, others)
            if cacheable:
                public = own.public.changed(each, kinds_checked=True, cacheable=True)  # type: ignore[attr-defined]
                own = public.as_method(each)
            METHODS[each] = own
    return body


def check_numbers(
    name: str, numbers: str, first: Any, second: Any, method: bool = False,
    written: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
) -> None:  # fmt: skip
    """TypeError, as torch words it, where an argument may not be what it is.

    Args:
        numbers: as :func:`binary` has it.
        method: ``first`` is the tensor whose method was called.
        written: the call's arguments by place and by name; None: both by place.
    """
    given = [isinstance(x, EngineTensor) for x in (first, second)]
    known = [t or isinstance(x, _SCALARS) for x, t in zip((first, second), given, strict=True)]
    allowed = {
        "none": all(given), "both": True, "one": any(given), "other": given[0],
    }  # fmt: skip
    if all(known) and allowed[numbers]:
        return
    args, named = ((first, second), {}) if written is None else written
    wrong = wrong_call(name, args[1:] if method else args, named, method)
    if wrong is not None:
        raise wrong
    place, x = next((i, x) for i, x in enumerate((first, second)) if not given[i])
    raise TypeError(
        f"{name}(): argument '{('input', 'other')[place]}' (position {place + 1 - method}) must be "
        f"Tensor, not {type_name(x)}"
    )


def binary_function(
    name: str, op: Op, formula: str, numbers: str = "both", method: bool = False, rule: Out = ANY,
    others: Implementations | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """``name(input, other, *, out=None)`` for a two-input elementwise op; see ``binary``.

    Args:
        method: its errors count the arguments as those of a tensor's method.
        others: as :class:`~.public.Public` has ``implementations``.
    """
    others = Implementations() if others is None else others
    call, check_out = call_of(op, 2, others=others), call_check(name, method)

    def body(
        first: Any = NOT_GIVEN, second: Any = NOT_GIVEN, /, *rest: Any, out: Any = None,
        **named: Any,
    ) -> Any:  # fmt: skip
        if rest or named:
            args = _present(first, second, *rest)
            if method and (bare := unbound(name, args[:1])) is not None:
                raise bare
            first, second = _operands(name, args, named, (_FIRST, _SECOND), method)
            check_numbers(name, numbers, first, second, method, (args, named))
        if second.__class__ in _NUMBERS and isinstance(first, EngineTensor) and numbers != "none":
            second = constant(second)
        elif not isinstance(second, EngineTensor) or not isinstance(first, EngineTensor):
            args = _present(first, second)
            if method and (bare := unbound(name, args[:1])) is not None:
                raise bare
            first, second = _operands(name, args, {}, (_FIRST, _SECOND), method)
            check_numbers(name, numbers, first, second, method)
            first, second = of_numbers(first, second)
            first = operand(first, name, "input")
            second = operand(second, name, "other")
        if out is not None:
            check_out((first, second), {"out": out})
        result = call(first, second)
        return result if out is None else store_out(result, out, name, (first, second), rule)

    about = _BINARY_TEXT.format(formula, _MAY_BE_NUMBERS[numbers])
    return _elementwise_function(body, name, about, _OF_TWO, others)


def binary(
    name: str,
    op: Op,
    formula: str,
    *,
    aliases: tuple[str, ...] = (),
    in_place: bool = True,
    numbers: str = "both",
    out: Out = ANY,
) -> Callable[..., Any]:
    """Register a two-input elementwise op.

    Args:
        formula: what is computed of elements x and y, for the docstring.
        numbers: which input may be a number: "none", "other", "one" of them, or "both".
        out: what torch demands of ``out=``.
    """
    body = binary_function(name, op, formula, numbers, rule=out)
    ELEMENTWISE.append(name)

    def variant_of(own: str) -> Callable[..., Any]:
        def variant(self: Any, other: Any = NOT_GIVEN, *, x2: Any = NOT_GIVEN) -> Any:
            if not isinstance(other, EngineTensor):
                if other is NOT_GIVEN:
                    other = second(own + "_", x2)
                check_numbers(own + "_", numbers, self, other, method=True)
                other = operand(other, own + "_", "other")
            return inplace.apply_in_place(op, self, self, other)

        variant.__signature__ = _OVER_FIRST  # type: ignore[attr-defined]
        return variant

    others = body.public.implementations  # type: ignore[attr-defined]
    for each in (name, *aliases):
        of_alias = body if each == name else binary_function(
            each, op, formula, numbers, rule=out, others=others
        )  # fmt: skip
        _publish(of_alias, variant_of(each), each, in_place)
        METHODS[each] = binary_function(each, op, formula, numbers, True, out, others)
    return body


def _publish(body: Any, variant: Any, name: str, in_place: bool) -> None:
    variant.__name__ = name + "_"
    variant.__qualname__, variant.__module__ = f"Tensor.{name}_", _NAMESPACE
    second = "" if variant.__signature__ is _OVER_ITSELF else " and ``other``"
    variant.__doc__ = f":func:`{name}` of the tensor{second}, written over it; its type stays."
    FUNCTIONS[name] = body
    if in_place:
        METHODS[name + "_"] = written = cached(explained(variant), writes=True)
        written.__wrapped__ = variant  # type: ignore[attr-defined]
        if name + "_" not in FUNCTIONS:
            record = Public(name + "_", variant, cacheable=True)
            FUNCTIONS[name + "_"] = record.as_function(name + "_", _NAMESPACE)
