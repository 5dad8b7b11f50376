"""Functions of complex numbers and their parts."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import complex as complex_ops
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.transforms.autocast import FULL
from mindtorch.engine.transforms.vmap import is_mapped

from .._api.arguments import require_tensor
from .._api.out_rules import FOUND, SCALAR_OBJECT, Out
from .._api.publish import function, store_out


@function(cacheable=True)
def conj(input: Any) -> Any:  # noqa: A002
    """The complex conjugate."""
    return complex_ops.conj(input)


@function(out=Out(FOUND, shown="aten::conj_physical"), in_place=True, name="conj_physical")
def conj_physical(input: Any) -> Any:  # noqa: A002
    """The complex conjugate."""
    return complex_ops.conj(input)


@function()
def resolve_conj(input: Any) -> Any:  # noqa: A002
    """``input``: conjugation is never put off here."""
    require_tensor(input, "resolve_conj", "input", 1)
    return input


@function()
def resolve_neg(input: Any) -> Any:  # noqa: A002
    """``input``: negation is never put off here."""
    require_tensor(input, "resolve_neg", "input", 1)
    return input


@function(method=False, cacheable=True)
def real(input: Any) -> Any:  # noqa: A002
    """The real part: a view of a complex tensor, a real one itself."""
    if not input.aval.dtype.is_complex or is_mapped(input):
        return complex_ops.real(input)
    return movement.select(complex_ops.view_as_real(input), axis=input.aval.ndim, index=0)


@function(method=False)
def imag(input: Any) -> Any:  # noqa: A002
    """The imaginary part of a complex tensor, as a view."""
    if not input.aval.dtype.is_complex or is_mapped(input):
        return complex_ops.imag(input)
    return movement.select(complex_ops.view_as_real(input), axis=input.aval.ndim, index=1)


@function(out=True)
def angle(input: Any) -> Any:  # noqa: A002
    """The argument of a complex number."""
    if input.aval.dtype.category < dtypes.FLOAT:
        input = movement.cast(input, dtype=dtypes.default)  # noqa: A001
    return complex_ops.angle(input)


@function(method=False, cacheable=True)
def view_as_real(input: Any) -> Any:  # noqa: A002
    """Real and imaginary parts along a last axis of length 2."""
    if is_mapped(input):
        return complex_ops.view_as_real_copy(input)
    return complex_ops.view_as_real(input)


@function(method=False, autocast=FULL, cacheable=True)
def view_as_complex(input: Any) -> Any:  # noqa: A002
    """The complex numbers whose parts lie along the last axis, of length 2."""
    if is_mapped(input):
        return complex_ops.view_as_complex_copy(input)
    result = complex_ops.view_as_complex(input)
    if input._offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return result


@function(method=False, autocast=FULL, cacheable=True)
def polar(abs: Any, angle: Any, *, out: Any = None) -> Any:  # noqa: A002
    """``abs * (cos(angle) + i sin(angle))``."""
    require_tensor(abs, "polar", "abs", 1)
    require_tensor(angle, "polar", "angle", 2)
    complex_ops.check_parts(abs.aval, angle.aval)
    refuse_kinds("polar_cpu", abs.aval, "short")
    result = complex_ops.make_complex(
        ops.multiply(abs, ops.cos(angle)), ops.multiply(abs, ops.sin(angle))
    )
    result = tape.named(result, "PolarBackward0")
    return result if out is None else store_out(result, out, "polar", (), Out(SCALAR_OBJECT))


# --- activations that are in torch's own namespace -------------------------------------------

