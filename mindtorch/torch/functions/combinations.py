"""Functions of several tensors, of a tensor and numbers, and special functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.dtype_support import refuse, refuse_kinds
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.ops import elementwise_special as special
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.reduction import sum_
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array, of_numpy

from .._api.arguments import as_int, check_value
from .._api.out_rules import Out
from .._api.publish import (
    check_numbers,
    function,
    operand,
)
from ._old_forms import old_factor


@function(out=True, cacheable=True)
def lerp(input: Any, end: Any, weight: Any) -> Any:  # noqa: A002
    """``input + weight * (end - input)``."""
    _same_dtype(input, end, "end")
    _require_fitting(weight, input)
    _require_lerp(input, weight)
    found = ops.lerp(input, end, operand(weight, "lerp", "weight"))
    return tape.named(found, f"LerpBackward{int(isinstance(weight, EngineTensor))}")


def _require_lerp(input: Any, weight: Any) -> None:  # noqa: A002
    number = not isinstance(weight, EngineTensor)
    found = [input.aval] if number else [input.aval, weight.aval]
    dtype = dtypes.result_type(found)
    if dtype.category < dtypes.FLOAT:
        refuse(f"lerp_kernel_{'scalar' if number else 'tensor'}", dtype)


def _require_fitting(factor: Any, *tensors: Any) -> None:
    """torch's error for a complex factor of tensors none of which is."""
    if isinstance(factor, complex) and not any(x.aval.dtype.is_complex for x in tensors):
        check_value(factor, tensors[0].aval.dtype, filling=False)


def _same_dtype(first: Any, second: Any, argument: str) -> None:
    if second.aval.dtype is not first.aval.dtype:
        raise RuntimeError(
            f"expected dtype {dtypes.c_name(first.aval.dtype)} for `{argument}` but got dtype "
            f"{dtypes.c_name(second.aval.dtype)}"
        )


@function(namespace=False, name="lerp_", cacheable=True)
def _lerp_(self: Any, end: Any, weight: Any) -> Any:
    """:func:`lerp` over ``self``."""
    _same_dtype(self, end, "end")
    _require_lerp(self, weight)
    return inplace.apply_in_place(ops.lerp, self, self, end, operand(weight, "lerp_", "weight"))


def _old_pair(
    name: str, first: Any, value: Any, second: Any, rest: tuple[Any, ...]
) -> tuple[Any, ...]:
    return old_factor(name, "value", "tensor1 tensor2", first, value, (second, *rest))


def _factor_of_products(value: Any, name: str, *tensors: Any) -> Any:
    """addcmul's factor in the type that it computes in: of whole numbers a whole one."""
    kind = dtypes.result_type([x.aval for x in tensors])
    if kind is dtypes.bool_:
        refuse("addcmul_cpu_out", kind)
    value = of_numpy(value) if isinstance(value, np.generic) else value
    if isinstance(value, (float, complex)) and not kind.is_complex:
        check_value(value, kind, filling=False)
        value = value.real if kind.category == dtypes.FLOAT else int(value.real)
    return operand(value, name, "value")


@function(out=True, cacheable=True)
def addcmul(input: Any, tensor1: Any, tensor2: Any, *old: Any, value: Any = 1) -> Any:  # noqa: A002
    """``input + value * tensor1 * tensor2``."""
    if old:
        value, (tensor1, tensor2) = tensor1, _old_pair("addcmul", input, tensor1, tensor2, old)
    _require_fitting(value, input, tensor1, tensor2)
    factor = _factor_of_products(value, "addcmul", input, tensor1, tensor2)
    return ops.addcmul(input, tensor1, tensor2, factor)


def _require_quotient(tensor1: Any, tensor2: Any) -> None:
    if tensor1.aval.dtype.category < dtypes.FLOAT and tensor2.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv"
            " will perform a true division of tensor1 and tensor2. The historic addcdiv behavior "
            "can be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype)"
            " for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The "
            "future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes."
        )


@function(out=True, cacheable=True)
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *old: Any, value: Any = 1) -> Any:  # noqa: A002
    """``input + value * tensor1 / tensor2``."""
    if old:
        value, (tensor1, tensor2) = tensor1, _old_pair("addcdiv", input, tensor1, tensor2, old)
    _require_quotient(tensor1, tensor2)
    _require_fitting(value, input, tensor1, tensor2)
    return ops.addcdiv(input, tensor1, tensor2, operand(value, "addcdiv", "value"))


@function(namespace=False, name="addcmul_", cacheable=True)
def _addcmul_(self: Any, tensor1: Any, tensor2: Any, *old: Any, value: Any = 1) -> Any:
    """:func:`addcmul` over ``self``."""
    if old:
        value, (tensor1, tensor2) = tensor1, _old_pair("addcmul_", self, tensor1, tensor2, old)
    factor = _factor_of_products(value, "addcmul_", self, tensor1, tensor2)
    return inplace.apply_in_place(ops.addcmul, self, self, tensor1, tensor2, factor)


@function(namespace=False, name="addcdiv_", cacheable=True)
def _addcdiv_(self: Any, tensor1: Any, tensor2: Any, *old: Any, value: Any = 1) -> Any:
    """:func:`addcdiv` over ``self``."""
    if old:
        value, (tensor1, tensor2) = tensor1, _old_pair("addcdiv_", self, tensor1, tensor2, old)
    _require_quotient(tensor1, tensor2)
    factor = operand(value, "addcdiv_", "value")
    return inplace.apply_in_place(ops.addcdiv, self, self, tensor1, tensor2, factor)


@function(
    out=Out(
        "heaviside is not yet implemented for tensors with different dtypes.",
        shown="aten::heaviside",
    ),
    in_place=True,
)
def heaviside(input: Any, values: Any) -> Any:  # noqa: A002
    """0 below zero, 1 above, ``values`` at zero."""
    check_numbers("heaviside", "none", input, values)
    if input.aval.dtype is not values.aval.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return special.heaviside(input, values)


@function(out=True, in_place=True)
def logit(input: Any, eps: float | None = None) -> Any:  # noqa: A002
    """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""
    x = input
    if eps is not None:
        x = ops.clamp(x, constant(eps), constant(1 - eps))
    return special.logit(x)


def _scaled_by_power(x: Any, exponent: Any) -> Any:
    """``x * 2 ** exponent``, rounded once, of the exponent's lower 32 bits (C's int)."""
    left = movement.cast(exponent, dtype=dtypes.int32)
    factors = []
    for _ in range(3 if x.aval.dtype is dtypes.float64 else 1):  # 2 ** 1000 has a number
        part = ops.clamp(left, constant(-1000), constant(1000))
        left = ops.subtract(left, part)
        factors.append(ops.power(constant(2.0), movement.cast(part, dtype=dtypes.float64)))
    result = movement.cast(x, dtype=dtypes.float64)
    for factor in reversed(factors):  # the last one alone rounds
        result = ops.multiply(result, factor)
    return movement.cast(result, dtype=x.aval.dtype)


@function(out=Out(cast="ldexp can't be cast to the desired output type {out}"), in_place=True)
def ldexp(input: Any, other: Any) -> Any:  # noqa: A002
    """``input * 2 ** other``."""
    check_numbers("ldexp", "none", input, other)
    kind = input.aval.dtype
    if kind.category == dtypes.FLOAT and other.aval.dtype.category < dtypes.FLOAT:
        return tape.named(_scaled_by_power(input, other), "LdexpBackward0")
    base = constant(2.0)
    if input.aval.dtype.category >= dtypes.FLOAT:
        base = movement.cast(base, dtype=input.aval.dtype)
    return tape.named(ops.multiply(input, ops.power(base, other)), "LdexpBackward0")


@function(
    out=Out(
        cast="mvlgamma: result type {result} can't be cast to the desired output type {result}",
    ),
    in_place=True,
)
def mvlgamma(input: Any, p: int) -> Any:  # noqa: A002
    """The logarithm of the multivariate gamma function of dimension ``p``."""
    if as_int(p) < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = input
    if x.aval.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    refuse_kinds("arange_cpu", x.aval, "complex")
    if x.aval.dtype.category < dtypes.FLOAT:
        x = movement.cast(x, dtype=dtypes.default)
    if not x.aval.size:
        return tape.named(special.lgamma(x), "MvlgammaBackward0")
    shifts = from_array((np.arange(p) / -2).astype(x.aval.dtype.np), x.aval.device)
    each = special.lgamma(ops.add(movement.unsqueeze(x, axis=x.aval.ndim), shifts))
    total = sum_(each, axis=(x.aval.ndim,), keepdims=False)
    found = ops.add(total, constant(p * (p - 1) / 4 * math.log(math.pi)))
    return tape.named(found, "MvlgammaBackward0")


@function(out=True, in_place=True, checked=True)
def polygamma(n: Any, input: Any) -> Any:  # noqa: A002
    """The ``n``-th derivative of digamma."""
    if isinstance(n, EngineTensor):
        n, input = input, n  # noqa: A001
    n = as_int(n)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    kernel = {0: "digamma", 1: "trigamma"}.get(n, "polygamma")
    refuse_kinds(kernel, input.aval, "complex")
    if n == 0:
        return tape.named(special.digamma(input), "PolygammaBackward0")
    if n == 1:
        return tape.named(special.trigamma(input), "PolygammaBackward0")
    dtype = input.aval.dtype
    half = dtype.category == dtypes.FLOAT and dtype.itemsize < 4
    size = float(math.factorial(n)) if n <= 170 else math.inf
    factor = constant(size if n % 2 else -size)
    wide = input.float() if half else input
    result = ops.multiply(factor, special.zeta(constant(float(n + 1)), wide))
    return tape.named(result.to(dtype) if half else result, "PolygammaBackward0")
