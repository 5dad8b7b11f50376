"""``torch._foreach_*``: one function for each tensor of a list, out of place or in place.

``_foreach_add(xs, ys)`` is a tuple of results, ``_foreach_add_(xs, ys)`` writes over the tensors
of ``xs`` and returns the list. The second argument may be a number, a list of numbers, a list of
tensors, and for arithmetic a 0-d tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.public import Public
from .._api.publish import FUNCTIONS

_NUMBERS = (int, float, bool, complex)
# what overloads call an argument that is `other`, `value` or `weight` here
_OTHER, _VALUE, _WEIGHT = (
    {"scalar": "other", "scalars": "other"}, {"scalars": "value"}, {"weights": "weight"}
)  # fmt: skip


def _check_list(name: str, tensors: Any) -> None:
    if not isinstance(tensors, (list, tuple)) or any(
        not isinstance(x, EngineTensor) for x in tensors
    ):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"({type(tensors).__name__}, ...), but expected a tuple of Tensors first"
        )
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _same_length(first: Any, second: Any) -> None:
    if len(first) != len(second):
        raise RuntimeError(
            "Tensor lists must have the same number of tensors, got "
            f"{len(first)} and {len(second)}"
        )


def _spread(name: str, tensors: Any, other: Any, tensor: bool) -> list[Any]:
    """``other`` for each of the tensors: itself, or its elements."""
    if isinstance(other, (list, tuple)):
        if any(isinstance(x, EngineTensor) for x in other):
            _same_length(tensors, other)
        elif len(other) != len(tensors):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return list(other)
    if isinstance(other, EngineTensor) and tensor:
        if other.aval.shape:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {other.aval.ndim} dimensions and "
                f"{other.aval.size} elements."
            )
    elif not isinstance(other, _NUMBERS):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (tuple, "
            f"{type(other).__name__})"
        )
    return [other] * len(tensors)


def _publish(
    name: str, about: str, outside: Any, inside: Any, synonyms: dict[str, str] | None = None
) -> None:
    for own, body in ((f"_foreach_{name}", outside), (f"_foreach_{name}_", inside)):
        if body is not None:
            body.__name__ = body.__qualname__ = own
            body.__doc__ = about
            public = Public(own, body, synonyms=synonyms, explained=False)
            FUNCTIONS[own] = public.as_function(own)


def _define_unary(name: str) -> None:
    def outside(self: Any) -> tuple[Any, ...]:
        _check_list(f"_foreach_{name}", self)
        return tuple([getattr(x, name)() for x in self])

    def inside(self: Any) -> Any:
        _check_list(f"_foreach_{name}_", self)
        for x in self:
            getattr(x, name + "_")()
        return self

    _publish(name, f":func:`torch.{name}` of each tensor.", outside, inside)


def _define_binary(
    name: str, method: str | None = None, *, tensor: bool = False, alpha: bool = False
) -> None:
    """``tensor``: a 0-d tensor may stand for a number; ``alpha``: the second one has a factor."""
    called = method or name

    def options(factor: Any) -> dict[str, Any]:
        if factor == 1:
            return {}
        if not alpha:
            raise TypeError(f"_foreach_{name}() got an unexpected keyword argument 'alpha'")
        return {"alpha": factor}

    def outside(self: Any, other: Any, *, alpha: Any = 1) -> tuple[Any, ...]:
        _check_list(f"_foreach_{name}", self)
        others = _spread(f"_foreach_{name}", self, other, tensor)
        more = options(alpha)
        return tuple([_call(x, called, y, more) for x, y in zip(self, others, strict=True)])

    def inside(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        _check_list(f"_foreach_{name}_", self)
        others = _spread(f"_foreach_{name}_", self, other, tensor)
        more = options(alpha)
        for x, y in zip(self, others, strict=True):
            _call(x, called + "_", y, more)
        return self

    _publish(name, f":func:`torch.{name}` of each pair.", outside, inside, _OTHER)


def _call(x: Any, method: str, y: Any, options: dict[str, Any]) -> Any:
    return getattr(x, method)(y, **options)


def _scalars(tensors: Any, value: Any) -> list[Any]:
    """The factor of each tensor: a number, a list of numbers, or a vector of them."""
    if isinstance(value, EngineTensor):
        value = value.tolist()
        if len(value) != len(tensors):
            raise RuntimeError(
                f"Expected length of scalars to match input of length {len(tensors)} but got "
                f"{len(value)} instead."
            )
    elif isinstance(value, (list, tuple)):
        if len(value) != len(tensors):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    else:
        value = [value] * len(tensors)
    return list(value)


def _define_pointwise(name: str) -> None:
    def rows(own: str, self: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
        for tensors in (self, tensor1, tensor2):
            _check_list(own, tensors)
        _same_length(self, tensor1)
        _same_length(self, tensor2)
        return zip(self, tensor1, tensor2, _scalars(self, value), strict=True)

    def outside(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> tuple[Any, ...]:
        found = rows(f"_foreach_{name}", self, tensor1, tensor2, value)
        return tuple([getattr(x, name)(a, b, value=v) for x, a, b, v in found])

    def inside(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
        for x, a, b, v in rows(f"_foreach_{name}_", self, tensor1, tensor2, value):
            getattr(x, name + "_")(a, b, value=v)
        return self

    _publish(name, f":func:`torch.{name}` of each triple.", outside, inside, _VALUE)


def _lerp(self: Any, tensors1: Any, weight: Any) -> tuple[Any, ...]:
    return tuple([x.lerp(y, w) for x, y, w in _lerps("_foreach_lerp", self, tensors1, weight)])


def _lerp_in_place(self: Any, tensors1: Any, weight: Any) -> Any:
    for x, y, w in _lerps("_foreach_lerp_", self, tensors1, weight):
        x.lerp_(y, w)
    return self


def _lerps(name: str, self: Any, tensors1: Any, weight: Any) -> Any:
    _check_list(name, self)
    _check_list(name, tensors1)
    _same_length(self, tensors1)
    return zip(self, tensors1, _spread(name, self, weight, False), strict=True)


def _power(self: Any, exponent: Any) -> tuple[Any, ...]:
    if isinstance(self, _NUMBERS):
        _check_list("_foreach_pow", exponent)
        return tuple([FUNCTIONS["pow"](self, x) for x in exponent])
    _check_list("_foreach_pow", self)
    exponents = _spread("_foreach_pow", self, exponent, False)
    return tuple([FUNCTIONS["pow"](x, y) for x, y in zip(self, exponents, strict=True)])


def _power_in_place(self: Any, exponent: Any) -> Any:
    _check_list("_foreach_pow_", self)
    for x, y in zip(self, _spread("_foreach_pow_", self, exponent, False), strict=True):
        x.pow_(y)
    return self


def _copy_in_place(self: Any, src: Any, non_blocking: bool = False) -> Any:
    _check_list("_foreach_copy_", self)
    _check_list("_foreach_copy_", src)
    _same_length(self, src)
    for x, y in zip(self, src, strict=True):
        x.copy_(y, non_blocking)
    return self


def _zero_in_place(self: Any) -> Any:
    _check_list("_foreach_zero_", self)
    for x in self:
        x.zero_()
    return self


def _each(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def body(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        _check_list(f"_foreach_{name}", self)
        return tuple([function(x, *args, **kwargs) for x in self])

    return body


def _products(self: Any, mat2: Any) -> tuple[Any, ...]:
    _check_list("_foreach_mm", self)
    _same_length(self, mat2)
    return tuple([x.mm(y) for x, y in zip(self, mat2, strict=True)])


def _norm(x: Any, ord: Any = 2, dtype: Any = None) -> Any:  # noqa: A002
    from ..linalg import vector_norm

    return vector_norm(x, ord, dtype=dtype)


def _power_sum(x: Any, ord: Any = 2, dtype: Any = None) -> Any:  # noqa: A002
    return (x if dtype is None else x.to(dtype)).abs().pow(ord).sum()


for _name in (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor",
    "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
):  # fmt: skip
    _define_unary(_name)
_define_binary("add", tensor=True, alpha=True)
_define_binary("sub", alpha=True)
_define_binary("mul", tensor=True)
_define_binary("div", tensor=True)
for _name in ("clamp_max", "clamp_min"):
    _define_binary(_name)
_define_binary("maximum", "clamp_min")
_define_binary("minimum", "clamp_max")
_define_pointwise("addcmul")
_define_pointwise("addcdiv")
_publish("lerp", ":func:`torch.lerp` of each pair.", _lerp, _lerp_in_place, _WEIGHT)
_publish("pow", ":func:`torch.pow` of each pair.", _power, _power_in_place)
_publish("copy", "Overwrite each tensor with another.", None, _copy_in_place)
_publish("zero", "Overwrite each tensor with zeros.", None, _zero_in_place)
_publish("clone", "A copy of each tensor.", _each("clone", lambda x, **k: x.clone(**k)), None)
_publish("max", "The largest element of each tensor.", _each("max", lambda x: x.max()), None)
_publish("norm", "The ``ord``-norm of each tensor.", _each("norm", _norm), None)
_publish("powsum", "``sum |x|^ord`` of each tensor.", _each("powsum", _power_sum), None)
_publish("mm", "The product of each pair of matrices.", _products, None)
