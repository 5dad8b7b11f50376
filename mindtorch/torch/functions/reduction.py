"""Functions that fold axes: sums, means, extremes, norms, statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import movement, reduction
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms.autocast import FULL

from .. import return_types
from .._api.arguments import (
    as_dtype,
    as_int,
    check_form,
    normalize_axes,
    normalize_axis,
    require_tensor,
)
from .._api.invalid_arguments import type_name
from .._api.kernel_signatures import Kernel
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import CAN_CAST, EXACT, OF_DTYPE, ONLY_BOOL, Out
from .._api.publish import function, store_out
from .._api.signatures import is_number
from .._api.warn_caller import warn_caller


def _axes(x: Any, dim: Any) -> tuple[int, ...]:
    if x.aval.ndim > 64:
        raise RuntimeError("only tensors with up to 64 dims are supported")
    if dim is None:
        return tuple(range(x.aval.ndim))
    if isinstance(dim, (float, str, bool)):
        raise TypeError(f"argument 'dim' must be tuple of ints, not {type(dim).__name__}")
    if type(dim) is not int and not isinstance(dim, (tuple, list)):
        dim = int(dim)
    return normalize_axes(dim, x.aval.ndim)


def typed_input(x: Any, dtype: Any) -> Any:
    """``x`` as ``dtype`` where one is asked for."""
    if dtype is None:
        return x
    dtype = as_dtype(dtype)
    return x if dtype is x.aval.dtype else movement.cast(x, dtype=dtype)


def require_order(name: str, x: Any) -> None:
    """torch's error for complex numbers, none of which is the greater."""
    if x.aval.dtype.is_complex:
        kind = dtypes.scalar_type_name(x.aval.dtype)
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")


def single_axis(x: Any, dim: Any) -> int:
    return normalize_axis(dim, x.aval.ndim)


@function(out=Out(of_dtype=OF_DTYPE), cacheable=True)
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A001, A002
    """The sum over ``dim`` (all axes by default); integers are summed as int64."""
    require_tensor(input, "sum", "input", 1)
    total = reduction.sum_(typed_input(input, dtype), axis=_axes(input, dim), keepdims=keepdim)
    if dim is not None:
        total = tape.named(total, "SumBackward1")
    return typed_input(total, dtype)


@function(
    out=Out(
        cast="mean.dtype_out(): input types can't be cast to the desired output type {out}",
        of_dtype=OF_DTYPE,
    ),
    cacheable=True,
)
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The mean over ``dim`` (all axes by default)."""
    require_tensor(input, "mean", "input", 1)
    x = typed_input(input, dtype)
    if x.aval.dtype.category < dtypes.FLOAT:
        which = "Input dtype" if dtype is None else "Optional dtype"
        raise RuntimeError(
            f"mean(): could not infer output dtype. {which} must be either a floating point or "
            f"complex dtype. Got: {dtypes.scalar_type_name(x.aval.dtype)}"
        )
    result = reduction.mean(x, axis=_axes(x, dim), keepdims=keepdim)
    return result if dim is None else tape.named(result, "MeanBackward1")


@function(
    out=Out(of_dtype="nansum: provided dtype must match dtype of result. Got {out} and {dtype}."),
    cacheable=True,
)
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The sum, nan counted as 0."""
    if input.aval.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    x = typed_input(input, dtype)
    if x.aval.dtype.category >= dtypes.FLOAT:
        x = comparisons.where(comparisons.is_nan(x), constant(0), x)
    found = typed_input(reduction.sum_(x, axis=_axes(x, dim), keepdims=keepdim), dtype)
    return tape.named(found, "NansumBackward0")


@function(out=Out(shown="nansum"), cacheable=True)
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A002
    """The mean of the elements that are numbers."""
    x = typed_input(input, dtype)
    if x.aval.dtype.category < dtypes.FLOAT:
        kind = dtypes.scalar_type_name(x.aval.dtype)
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {kind}"
            if dtype is None
            else "nanmean(): could not infer output dtype. Optional dtype must be either a "
            f"floating point or complex dtype. Got: {kind}"
        )
    axis = _axes(x, dim)
    is_number = comparisons.logical_not(comparisons.is_nan(x))
    count = reduction.sum_(is_number, axis=axis, keepdims=keepdim)
    return el.divide(nansum(x, dim, keepdim), count)


@function(out=Out(of_dtype=OF_DTYPE), cacheable=True, autocast=FULL, not_none=True)
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A001, A002
    """The product over one axis, or of all elements."""
    x = typed_input(input, dtype)
    axis = tuple(range(x.aval.ndim)) if dim is None else _axes(x, dim)
    return typed_input(reduction.prod(x, axis=axis, keepdims=keepdim), dtype)


def _truths(x: Any) -> Any:
    """Whether each element is not 0; uint8 for uint8, as any and all have it."""
    kept = dtypes.uint8 if x.aval.dtype is dtypes.uint8 else dtypes.bool_
    return movement.cast(comparisons.not_equal(x, constant(0)), dtype=kept)


def _is_empty(dim: Any) -> bool:
    """Whether a list of axes has none; of numpy's numbers ``==`` would make an array."""
    return dim.__class__ in (tuple, list) and not dim


def _truth(name: str, op: Any) -> None:
    about = f"Whether {name} of the elements along ``dim`` (of all by default) is not 0; bool."

    @function(out=Out(ONLY_BOOL), cacheable=True, name=name, about=about)
    def body(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        require_tensor(input, name, "input", 1)
        if _is_empty(dim):  # no axis is folded, unlike in sums
            return _truths(input)
        return op(input, axis=_axes(input, dim), keepdims=keepdim)


_truth("any", reduction.any_)
_truth("all", reduction.all_)


# --- extremes --------------------------------------------------------------------------------


def _require_elements(name: str, x: Any) -> None:
    if x.aval.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )


def require_length(name: str, x: Any, axis: int, call: str = "()") -> None:
    if x.aval.ndim and x.aval.shape[axis] == 0:
        raise IndexError(
            f"{name}{call}: Expected reduction dim {axis} to have non-zero size."
        )


def _bounds(name: str, op: Any) -> None:
    about = f"The {'greatest' if name == 'amax' else 'least'} element over ``dim``."

    @function(cacheable=True, name=name, about=about)
    def body(input: Any, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A002
        require_tensor(input, name, "input", 1)
        if dim is None or _is_empty(dim):
            _require_elements(name, input)
        axis = _axes(input, dim)
        for each in axis:
            require_length(name, input, each)
        found = op(input, axis=axis, keepdims=keepdim)
        if out is None:
            return found
        if out.aval.dtype is not input.aval.dtype:
            raise RuntimeError(
                "Expected the dtype for input and out to match, but got "
                f"{dtypes.scalar_type_name(input.aval.dtype)} for input's dtype and "
                f"{dtypes.scalar_type_name(out.aval.dtype)} for out's dtype."
            )
        return store_out(found, out, name)


_bounds("amax", reduction.amax)
_bounds("amin", reduction.amin)


def _extreme(name: str, whole: Any, indexed: Any, pairwise: Any, result: Any) -> Any:
    def body(
        input: Any,  # noqa: A002
        dim: Any = None,
        keepdim: bool = False,
        *,
        other: Any = None,
        out: Any = None,
    ) -> Any:
        if dim is not None:
            check_form(
                name, isinstance(input, EngineTensor), (input, dim),
                "Tensor input, *, Tensor out = None",
                "Tensor input, Tensor other, *, Tensor out = None",
                "Tensor input, int dim, bool keepdim = False, *, tuple of Tensors out = None",
            )  # fmt: skip
        require_tensor(input, name, "input", 1)
        if isinstance(dim, EngineTensor):
            if isinstance(keepdim, EngineTensor):
                raise TypeError(f"{name}() takes two tensors at most")
            if keepdim:  # so it is an axis
                dim = as_int(dim)
            else:
                dim, other = None, dim
        if other is not None:
            found = pairwise(input, other)
        elif dim is None:
            _require_elements(name, input)
            refuse_kinds(f"{name}_all", input.aval, "complex")
            found = whole(input, axis=tuple(range(input.aval.ndim)), keepdims=False)
            found = tape.named(found, f"{name.capitalize()}Backward1")
        else:
            if input.aval.dtype.is_complex:
                raise RuntimeError(f"{name}(): does not support complex input")
            axis = single_axis(input, dim)
            require_length(name, input, axis)
            found = result(*indexed(input, axis=axis, keepdims=keepdim))
        if out is None:
            return found
        if other is not None:
            return store_out(found, out, f"{name}imum")
        return store_out(found, out, name, (), Out(cast=CAN_CAST) if dim is None else Out(EXACT))

    body.__doc__ = (
        f"The {name}imum of all elements; with ``dim`` also its place; of two tensors' elements."
    )
    body.__name__ = body.__qualname__ = name
    return function(cacheable=True, not_none=True, name=name)(body)


_extreme("max", reduction.amax, reduction.max_with_index, el.maximum, return_types.max)
_extreme("min", reduction.amin, reduction.min_with_index, el.minimum, return_types.min)


@function(out=Out(EXACT), cacheable=True)
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
    """The least and the greatest element."""
    if dim is None and not input.aval.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    refuse_kinds("aminmax_cpu", input.aval, "complex")
    axis = _axes(input, dim)
    if dim is not None and axis:
        require_length("aminmax", input, axis[0], "")
    found = [op(input, axis=axis, keepdims=keepdim) for op in (reduction.amin, reduction.amax)]
    return return_types.aminmax(*[tape.named(x, "AminmaxBackward0") for x in found])


def _place(name: str, op: Any) -> None:
    about = f"""The first place of the {name[3:]}imum along ``dim``, int64; a nan counts as it.

Without ``dim`` places are counted over all elements in C order.

Raises:
    IndexError: there is nothing to choose from.
    RuntimeError: ``input`` is bool or complex.
"""

    @function(out=Out(EXACT), cacheable=True, name=name, about=about)
    def body(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        require_tensor(input, name, "input", 1)
        for category, kind in ((dtypes.BOOL, "bool"), (dtypes.COMPLEX, "complex")):
            if input.aval.dtype.category == category:
                raise RuntimeError(f"{name}(): does not support {kind} input")
        if dim is None:
            if input.aval.size == 0:
                raise IndexError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0."
                )
            return op(input, axis=None, keepdims=keepdim)
        if isinstance(dim, (bool, float, str, tuple, list)):
            raise TypeError(
                f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}"
            )
        axis = single_axis(input, dim)
        require_length(name, input, axis)
        return op(input, axis=axis, keepdims=keepdim)


_place("argmax", reduction.argmax)
_place("argmin", reduction.argmin)


# --- spread ----------------------------------------------------------------------------------


def _warn_of_freedom(name: str) -> None:
    warn_caller(
        f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
        "reduction factor (input numel divided by output numel).",
    )


def _spread(name: str, op: Any, caller: str = "") -> Callable[..., Any]:
    def body(
        input: Any,  # noqa: A002
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        require_tensor(input, name, "input", 1)
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if input.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                f"{caller or 'std and var'} only support floating point and complex dtypes"
            )
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        axis = _axes(input, dim)
        shape = input.aval.shape
        few = correction >= math.prod(shape[i] for i in axis) or 0 in shape
        if few and not lacks_elements(input):
            _warn_of_freedom(caller or name)
        return op(input, axis=axis, correction=correction, keepdims=keepdim)

    body.__doc__ = f"The {name} over ``dim``, divided by the count minus ``correction``."
    return body if caller else function(out=True, cacheable=True, name=name)(body)


var = _spread("var", reduction.var)
std = _spread("std", reduction.std)


def _with_mean(name: str, op: Any) -> None:
    spread = _spread(name, op, name)

    about = f"(:func:`{name[:3]}`, :func:`mean`) over ``dim``, or all axes."

    @function(method=False, cacheable=True, name=name, about=about)
    def body(
        input: Any,  # noqa: A002
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        first = spread(input, dim, unbiased, keepdim, correction=correction)
        label = f"{name[:3].capitalize()}MeanBackward0"
        return tape.named(first, label), tape.named(mean(input, dim, keepdim), label)


_with_mean("var_mean", reduction.var)
_with_mean("std_mean", reduction.std)


# --- norms -----------------------------------------------------------------------------------


def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None  # noqa: A002
) -> Any:
    """``sum(abs(x) ** ord) ** (1 / ord)`` over ``dim``.

    Args:
        dtype: the type that ``input`` is cast to first.
    """
    if not is_number(ord):
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not "
            f"{type_name(ord)}"
        )
    if isinstance(ord, (complex, np.complexfloating)):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )
    if x.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{dtypes.scalar_type_name(x.aval.dtype)}"
        )
    if dtype is not None:
        _check_norm_type(x.aval.dtype, as_dtype(dtype))
    x = typed_input(x, dtype)
    if not isinstance(ord, (int, float)):
        ord = float(ord)  # noqa: A001
    axis = _axes(x, dim)
    if x.aval.size == 0 and (ord < 0 or ord == math.inf):
        _require_identity(x, ord, axis, dim is not None)
    return reduction.vector_norm(x, order=float(ord), axis=axis, keepdims=keepdim)


def _require_identity(x: Any, order: Any, axis: tuple[int, ...], named: bool) -> None:
    """RuntimeError for the least or greatest of no elements."""
    order = int(order) if float(order).is_integer() else order
    for i in axis if named else ():
        if x.aval.shape[i] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {order} norm on the dimension {i}"
                "because this dimension is empty and the operation does not have an identity"
            )
    if not named:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {order} norm on an empty tensor because the "
            "operation does not have an identity"
        )


def _check_norm_type(given: Any, asked: Any) -> None:
    """RuntimeError where the norm of ``given`` numbers cannot be computed as ``asked``."""
    kind = dtypes.scalar_type_name(asked)
    if asked.category < dtypes.FLOAT:
        problem = f"dtype should be floating point or complex, but got {kind}"
    elif given.is_complex and not asked.is_complex:
        problem = f"dtype should be complex for complex inputs, but got {kind}"
    elif asked.is_complex and not given.is_complex:
        problem = f"dtype should be real for real inputs, but got {kind}"
    elif dtypes.promote(given, asked) is not asked:
        problem = (
            f"the dtype of the input ({dtypes.scalar_type_name(given)}) should be convertible "
            f"without narrowing to the specified dtype ({kind})"
        )
    else:
        return
    raise RuntimeError(f"linalg.vector_norm: {problem}")


_NORM = Kernel(
    "linalg_vector_norm", "input p dim keepdim dtype=", "layout", turned={
        "p": lambda p: 2.0 if p is None or isinstance(p, str) else p,
        "dim": lambda dim: [dim] if isinstance(dim, int) else dim,
    },
)  # fmt: skip


@function(
    out=Out(EXACT, shown="linalg_vector_norm"), cacheable=True, home="functional", kernel=_NORM
)
def norm(
    input: Any,  # noqa: A002
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    """The vector norm of order ``p`` over ``dim``; "nuc": the sum of singular values."""
    if p == "nuc":
        from .linear_algebra import matrix_norm

        return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    order = 2.0 if p is None or p == "fro" else p
    return vector_norm(input, order, dim, keepdim, dtype=dtype)


@function(out=True, autocast_cuda=FULL, cacheable=True)
def dist(input: Any, other: Any, p: float = 2) -> Any:  # noqa: A002
    """The norm of ``input - other``."""
    difference = el.subtract(input, other)
    if difference.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "norm(): input dtype should be either floating point or complex. Got "
            f"{dtypes.scalar_type_name(difference.aval.dtype)} instead."
        )
    return tape.named(vector_norm(difference, p), "DistBackward0")


@function(
    out=Out(cast="logsumexp(): Expected floating point type for result tensor, but got: {out}"),
    cacheable=True, not_none=True,
)  # fmt: skip
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:  # noqa: A002
    """``log(sum(exp(input)))``."""
    if input.aval.dtype.category < dtypes.FLOAT:
        input = movement.cast(input, dtype=dtypes.default)  # noqa: A001
    return reduction.logsumexp(input, axis=_axes(input, dim), keepdims=keepdim)


@function(out=True, cacheable=True)
def count_nonzero(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """How many elements are not 0."""
    flags = comparisons.not_equal(input, constant(0))
    return reduction.sum_(flags, axis=_axes(input, dim), keepdims=False)


@function(out=Out("Expected result to be of dtype uint64, but got {out}"))
def hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Any:  # noqa: A002
    """The exclusive or of the elements' bits as float64 or int64, as uint64.

    Args:
        mode: 0, the only one.
    """
    require_tensor(input, "hash_tensor", "input", 1)
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    axis = _axes(input, None if _is_empty(dim) else dim)
    if _is_empty(dim):
        _require_elements("hash_tensor", input)
    return reduction.xor_sum(input, axis=axis, keepdims=keepdim)
