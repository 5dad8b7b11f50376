"""Element types that are stored, moved and converted: floats of 8 bits, complex32.

Nothing computes in them. An op that only moves elements runs on whole numbers of their width; the
few others that PyTorch has run on float32 or complex64, and round once; the rest is refused with
PyTorch's error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import dtypes
from .aval import Aval, dense_like, retyped
from .dtype_support import refuse
from .tensor import as_array

_MOVES = "moves"
_INTEGERS = {1: dtypes.uint8, 4: dtypes.int32}


def only_moves(*ops: Any) -> None:
    """Say of ops that they move elements and look at none of them."""
    for op in ops:
        op.stored = _MOVES


def computes(kinds: str, *ops: Any) -> None:
    """Say of ops that PyTorch computes them of some of these types.

    Args:
        kinds: ``floats``, ``complex``, ``both``, or ``infinite``: those that have infinities.
    """
    for op in ops:
        op.stored = kinds


def is_stored(aval: Aval | None) -> bool:
    """Whether an op on a tensor of this description is bound here."""
    return aval is not None and aval.dtype in dtypes.STORED


def bound(op: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """The callable on flat arrays of an op whose inputs or results are of such types.

    Raises:
        NotImplementedError: PyTorch has no kernel for it.
    """
    kind = next(a.dtype for a in (*in_avals, *avals) if is_stored(a))
    if op.name == "_to_copy":
        return _conversion(avals[0], in_avals[0])
    numbers = [a for a in in_avals if a is not None and a.dtype.category >= dtypes.FLOAT]
    if op.stored == _MOVES and all(is_stored(a) for a in numbers):
        return _moving(op, avals, in_avals, params)
    if op.stored != _MOVES and not _computes(op, kind):
        refuse(_kernel_name(op.name), kind)
    if op.name == "matmul" and any(a.ndim != 2 for a in in_avals):
        refuse("dot" if all(a.ndim == 1 for a in in_avals) else "bmm", kind)
    return _computing(op, avals, in_avals, params)


# What PyTorch's errors call the kernels of our ops, where it is not the op's name with `_cpu`.
_KERNELS = dict(
    pair.split("=")
    for pair in """add=add_stub add_scaled=add_stub subtract=add_stub subtract_scaled=add_stub
    multiply=mul_cpu_reduced_float divide=div_cpu floor_divide=div_floor_cpu_reduced_float
    negative=neg_cpu mean=sum_cpu amax=max_all amin=min_all max_dim=max_cpu min_dim=min_cpu
    gather=gather_expanded_index scatter=scatter_gather_tensor_cpu masked_fill=masked_fill
    sort=sorting_kernel_method_name isfinite=isfinite isinf=isinf relu=clamp_min_scalar_cpu
    clamp=clamp_scalar_cpu power_two=pow power=pow power_three=pow power_half=pow tril=tril
    triu=triu
    cumsum=cumsum_out_cpu cumprod=cumprod_out_cpu linalg_vector_norm=norm_cpu
    softmax=softmax_lastdim_kernel_impl log_softmax=log_softmax_lastdim_kernel_impl
    index_add=index_add_ masked_scatter=masked_scatter lerp=lerp_kernel_scalar prod=prod_out_cpu
    median_dim=median_cpu nan_to_num=nan_to_num addcmul=addcmul_cpu_out addcdiv=addcdiv_cpu_out
    exp=exp_vml_cpu sqrt=sqrt_vml_cpu round=round_vml_cpu trunc=trunc_vml_cpu ceil=ceil_vml_cpu
    floor=floor_vml_cpu log=log_vml_cpu sin=sin_vml_cpu cos=cos_vml_cpu tan=tan_vml_cpu
    tanh=tanh_vml_cpu sigmoid=sigmoid_cpu erf=erf_vml_cpu""".split()
)


def _computes(op: Any, kind: dtypes.DType) -> bool:
    if kind.is_complex:
        return op.stored in ("complex", "both", "infinite")
    if op.stored == "infinite":
        return kind is dtypes.float8_e5m2
    found: bool = op.stored in ("floats", "both")
    if kind is dtypes.float8_e8m0fnu:
        return found and op.name not in ("matmul", "linear", "absolute")
    return found


def _kernel_name(name: str) -> str:
    return _KERNELS.get(name, f"{name}_cpu")


def _moving(op: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """The op on whole numbers in place of the elements."""

    def meant(aval: Aval | None) -> Aval | None:
        if aval is None or not is_stored(aval):
            return aval
        return retyped(aval, _INTEGERS[aval.dtype.itemsize])

    described = [[meant(a) for a in held] for held in (avals, in_avals)]
    run = op.bound(tuple(described[0]), tuple(described[1]), params)
    kinds = [
        _INTEGERS[a.dtype.itemsize].np if is_stored(a) else None for a in (*avals, *in_avals)
    ]

    def call(*flat: Any) -> None:
        pairs = zip(flat, kinds, strict=True)
        run(*[data if kind is None else data.view(kind) for data, kind in pairs])

    return call


def _computing(op: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
    """The op in float32 or complex64."""

    def wide(aval: Aval | None) -> Aval | None:
        if aval is None or not is_stored(aval):
            return aval
        return retyped(dense_like(aval), _wide(aval.dtype))

    def goes_along(aval: Aval | None) -> bool:  # float16 and a complex number are complex32
        return is_stored(aval) or (aval is not None and aval.dtype is dtypes.float16)

    outs: Any = tuple(wide(a) for a in avals)
    ins: Any = tuple(
        retyped(dense_like(a), _wide(a.dtype)) if goes_along(a) else a for a in in_avals
    )
    run = op.bound(outs, ins, params)
    count = len(avals)

    def call(*flat: Any) -> None:
        given = []
        for data, aval, other in zip(flat[count:], in_avals, ins, strict=True):
            stored = other is not None and goes_along(aval)
            given.append(widened(as_array(data, aval)).reshape(-1) if stored else data)
        made = [
            np.empty(other.size, other.dtype.np) if is_stored(aval) else data
            for data, aval, other in zip(flat, avals, outs, strict=False)
        ]
        run(*made, *given)
        for data, aval, result in zip(flat, avals, made, strict=False):
            if is_stored(aval):
                store(as_array(data, aval), result.reshape(aval.shape), aval.dtype)

    return call


def _wide(dtype: dtypes.DType) -> dtypes.DType:
    return dtypes.complex64 if dtype.is_complex else dtypes.float32


def _conversion(out: Aval, x: Aval) -> Callable[..., Any]:
    """`x.to(dtype)` where one of both is such a type."""

    def call(target: Any, source: Any) -> None:
        array = as_array(source, x)
        if is_stored(x):
            array = widened(array)
        if array.dtype.kind == "c" and not out.dtype.is_complex:
            array = array.real
        where = as_array(target, out)
        if is_stored(out):
            store(where, array, out.dtype)
        else:
            with np.errstate(all="ignore"):
                np.copyto(where, array, casting="unsafe")

    return call


def widened(array: Any) -> Any:
    """The elements as float32 or complex64."""
    if array.dtype == dtypes.complex32.np:
        pairs = np.ascontiguousarray(array).view(np.float16).astype(np.float32)
        return pairs.view(np.complex64).reshape(array.shape)
    return array.astype(np.float32)


def store(target: Any, numbers: Any, dtype: dtypes.DType) -> None:
    """Write numbers, rounded to the nearest of ``dtype``, over an array of that type."""
    with np.errstate(all="ignore"):
        if dtype.is_complex:
            made = np.ascontiguousarray(numbers, np.complex64)
            pairs = made.reshape(*made.shape, 1).view(np.float32).astype(np.float16)
            target[...] = pairs.view(target.dtype).reshape(made.shape)
        elif dtype is dtypes.float8_e8m0fnu:
            target[...] = _exponents(np.asarray(numbers).astype(np.float32)).view(target.dtype)
        else:
            target[...] = _of_8_bits(np.asarray(numbers).astype(np.float32), dtype)


def narrowed(numbers: Any, dtype: dtypes.DType) -> Any:
    """A new array of the numbers, rounded to the nearest of ``dtype``."""
    made = np.empty(np.shape(numbers), dtype.np)
    store(made, numbers, dtype)
    return made


def _of_8_bits(numbers: Any, dtype: dtypes.DType) -> Any:
    """float32 as a type of 8 bits. PyTorch's e4m3fn ends at its largest number, 448, and its
    e5m2 has NaN with all bits set."""
    if dtype is dtypes.float8_e4m3fn:
        return np.clip(numbers, -448, 448).astype(dtype.np)
    made = numbers.astype(dtype.np)
    if dtype is dtypes.float8_e5m2:
        codes = made.view(np.uint8)
        made = np.where(np.isnan(numbers), codes | 1, codes).view(dtype.np)
    return made


def _exponents(numbers: Any) -> Any:
    """float32's exponents, rounded to the nearest power of two, ties to the larger one of normal
    numbers; signs are lost, and what is not finite is NaN (255)."""
    bits = np.ascontiguousarray(numbers).view(np.uint32)
    exponent = (bits >> 23) & 0xFF
    half, rest = (bits & 0x400000) > 0, (bits & 0x3FFFFF) > 0
    up = half & (rest | (exponent > 0))
    return np.where(exponent == 0xFF, 0xFF, exponent + up).astype(np.uint8)
