"""What the members of a family of ops share, said once."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import index
from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval, broadcast_shapes, broadcast_two
from ..callbacks import callbacks
from ..devices.device import cpu
from ..dispatch import state
from ..dtypes import BOOL, COMPLEX, DType
from ..op import Op, find_kernel, layouts
from ..result_strides import elementwise_strides
from ..tensor import Tensor
from ..tensor import as_array as host_view


class Update(Op):
    """An op whose result is its first input with some places written.

    Its kernel copies that input first, unless both lie in one memory: then it writes these places
    alone. ``x.op_`` and ``x[i] = y`` go that way, lest a row of a large table cost the table.
    """

    updates = True

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        if state.written_to is not None and inputs[0] is state.written_to:
            state.written_to = None
            return callbacks.apply_in_place(self, inputs[0], *inputs, **params)
        return super().__call__(*inputs, **params)


def _promoted(avals: tuple[Aval, ...]) -> DType:
    if all(a.weak for a in avals):
        return reduce(dtypes.promote, [a.dtype for a in avals])
    return dtypes.result_type(avals)


class Elementwise(Op):
    """An op that applies a scalar function at each place of the broadcast inputs.

    Args:
        name: of the op, and of the function in :mod:`mindtorch.kernels.scalar` unless ``scalar``
            says otherwise.
        arity: the number of inputs, where ``partials`` does not tell.
        partials: for each input its vjp rule; None for a zero derivative. Rules call the inputs
            x, y, z, w, v, u, in this order.
        result: "same" (the promoted type), "float" (integers become the default type), "bool",
            or "real" (the real part's type).
        refuses: a function of the promoted dtype that raises torch's error for types it lacks.
    """

    saves_second_first = True

    def __init__(
        self,
        name: str,
        partials: Any = None,
        *,
        arity: int | None = None,
        result: str = "same",
        scalar: str | None = None,
        refuses: Callable[[DType], None] | None = None,
        **options: Any,
    ) -> None:
        self.scalar = scalar or name
        self.result = result
        self.refuses = refuses
        if callable(partials):
            raise TypeError(f"{name}: rules are a tuple, also where it has one: (rule,)")
        if arity is None:
            arity = len(partials)
        shape_rule = _ARITIES[arity](self)
        shape_rule.__qualname__ = name  # Python's errors name it where the count of inputs is wrong
        super().__init__(name, shape_rule, None, vjp=partials, in_place_safe=True, **options)

    def types(self, avals: tuple[Aval, ...]) -> tuple[DType, DType]:
        """The types that it computes in and stores; numbers among themselves stay double."""
        compute = _promoted(avals)
        if self.refuses is not None:
            self.refuses(compute)
        return self._stored(compute)

    def described(self, avals: tuple[Aval, ...]) -> tuple[Shape, DType]:
        """Shape and type of the result of inputs whose types it may refuse."""
        return broadcast_shapes(*[a.shape for a in avals]), self._stored(_promoted(avals))[1]

    def _stored(self, compute: DType) -> tuple[DType, DType]:
        if self.result == "float" and compute.category < dtypes.FLOAT:
            compute = dtypes.default
        if self.result == "bool":
            return compute, dtypes.bool_
        if self.result == "real":
            return compute, compute.to_real()
        return compute, compute

    def shape_rule(self, *avals: Aval) -> Aval:
        if len(avals) == 2:
            shape = broadcast_two(avals[0].shape, avals[1].shape)
        else:
            shape = broadcast_shapes(*[a.shape for a in avals])
        _, stored = self.types(avals)
        device = next((a.device for a in avals if a.device is not cpu), cpu)
        weak = not shape and all(a.weak for a in avals)
        return aval(shape, stored, elementwise_strides(shape, avals), device, weak)

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        compute, _ = self.types(in_avals)
        self.kernel = "elementwise.plan"
        plan = find_kernel(self, avals[0].device.type)
        run: Callable[..., Any] = plan(
            self.scalar, layouts(avals), layouts(in_avals), compute_dtype=compute.np
        )
        return run

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        """How the op is a step of a larger loop."""
        return self.scalar, tuple(range(len(in_avals))), self.types(tuple(in_avals))[0].np


def _unary(op: Elementwise) -> Any:
    def shape_rule(x: Aval) -> Aval:
        return op.shape_rule(x)

    return shape_rule


def _binary(op: Elementwise) -> Any:
    def shape_rule(x: Aval, y: Aval) -> Aval:
        return op.shape_rule(x, y)

    return shape_rule


def _ternary(op: Elementwise) -> Any:
    def shape_rule(x: Aval, y: Aval, z: Aval) -> Aval:
        return op.shape_rule(x, y, z)

    return shape_rule


def _quaternary(op: Elementwise) -> Any:
    def shape_rule(x: Aval, y: Aval, z: Aval, w: Aval) -> Aval:
        return op.shape_rule(x, y, z, w)

    return shape_rule


def _quinary(op: Elementwise) -> Any:
    def shape_rule(x: Aval, y: Aval, z: Aval, w: Aval, v: Aval) -> Aval:
        return op.shape_rule(x, y, z, w, v)

    return shape_rule


def _senary(op: Elementwise) -> Any:
    def shape_rule(x: Aval, y: Aval, z: Aval, w: Aval, v: Aval, u: Aval) -> Aval:
        return op.shape_rule(x, y, z, w, v, u)

    return shape_rule


_ARITIES = {1: _unary, 2: _binary, 3: _ternary, 4: _quaternary, 5: _quinary, 6: _senary}


class LibraryElementwise(Elementwise):
    """An elementwise op whose kernel is a function of ``special``: its loop is not fused."""

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        return None

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        self.kernel = f"scipy_special.{self.scalar}"
        return Op.bind(self, avals, in_avals, params)


def refuse_bool(message: str) -> Callable[[DType], None]:
    """Raise ``message`` for bool inputs."""

    def check(dtype: DType) -> None:
        if dtype.category == BOOL:
            raise RuntimeError(message)

    return check


def refuse_complex(name: str) -> Callable[[DType], None]:
    def check(dtype: DType) -> None:
        if dtype.category == COMPLEX:
            raise NotImplementedError(f"{name} is not supported for complex inputs")

    return check


def normalize_axis(axis: int, ndim: int) -> int:
    """``axis`` counted from the front; IndexError with torch's text when out of range."""
    limit = max(ndim, 1)
    if axis.__class__ is not int:
        if axis.__class__ is bool:
            raise TypeError("an axis must be int, not bool")
        axis = index(axis)
    if not -limit <= axis < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], "
            f"but got {axis})"
        )
    return axis + limit if axis < 0 else axis


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """A tuple of distinct axes counted from the front; all of them for None or ()."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, int):
        axis = (axis,)
    axes = tuple(normalize_axis(a, ndim) for a in axis)
    for a in axes:
        if axes.count(a) > 1:
            raise RuntimeError(f"dim {a} appears multiple times in the list of dims")
    if not axes:
        return tuple(range(ndim))
    return tuple(a for a in axes if ndim)


class WholeDivision(Elementwise):
    """A division that whole numbers refuse where the divisor is zero; the GPU does not look."""

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        run = super().bind(avals, in_avals, params)
        compute, _ = self.types(in_avals)
        if compute.category >= dtypes.FLOAT or avals[0].device is not cpu or not avals[0].size:
            return run
        divisor = in_avals[1]
        single = divisor.size == 1

        def checked(out: Any, x: Any, y: Any) -> None:
            if not (y[0] if single else host_view(y, divisor).all()):
                raise RuntimeError("ZeroDivisionError")
            run(out, x, y)

        return checked


class Reduction(Op):
    """An op that folds the axes ``axis`` of its input.

    Args:
        name: of the op and of its kernel in ``mindtorch.kernels.cpu.reduction``.
        result: "same", "sum" (integers become int64), "bool", "index" or "float".
        combined: how the results of parts make that of the whole ("sum", "avg", "max", "min",
            "product"), which tensors over several processes ask; None: no way is known.
    """

    def __init__(
        self, name: str, vjp: Any = None, *, result: str = "same", combined: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        self.combined = combined

        def shape_rule(x: Aval, *, axis: tuple[int, ...], keepdims: bool) -> Aval:
            return aval(
                reduced_shape(x.shape, axis, keepdims), _REDUCED[result](x.dtype), None, x.device
            )

        super().__init__(name, shape_rule, "reduction.plan", vjp=vjp, **options)

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        plan = find_kernel(self, avals[0].device.type)
        run: Callable[..., Any] = plan(self.name, layouts(avals), layouts(in_avals), **params)
        return run


_REDUCED: dict[str, Callable[[DType], DType]] = {
    "same": lambda dtype: dtype,
    "sum": lambda dtype: dtypes.int64 if dtype.category < dtypes.FLOAT else dtype,
    "bool": lambda dtype: dtypes.uint8 if dtype is dtypes.uint8 else dtypes.bool_,
    "index": lambda dtype: dtypes.int64,
    "float": lambda dtype: dtype,
}


def reduced_shape(shape: Any, axis: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if i in axis else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axis)


def view_aval(x: Aval, shape: Shape, strides: Shape) -> Aval:
    found = aval(shape, x.dtype, strides, x.device)
    if found.size >= 1 << 63:
        raise RuntimeError("numel: integer multiplication overflow")
    return found


def expand_aval(x: Aval, *, shape: Shape) -> Aval:
    extra = len(shape) - x.ndim
    strides = [0] * len(shape)
    for i in range(x.ndim - 1, -1, -1):
        n, s = x.shape[i], x.strides[i]
        if n != shape[i + extra] and n != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[i + extra]}) must match the existing "
                f"size ({n}) at non-singleton dimension {i + extra}.  Target sizes: "
                f"{list(shape)}.  Tensor sizes: {list(x.shape)}"
            )
        strides[i + extra] = s if n == shape[i + extra] else 0
    for i in range(extra - 1, -1, -1) if x.ndim else ():
        following = strides[i + 1] * shape[i + 1] if i + 1 < len(shape) else 1
        strides[i] = following if shape[i] == 1 else 0
    return view_aval(x, shape, tuple(strides))


def check_result(target: Tensor, shape: Any, dtype: dtypes.DType) -> None:
    """The result of an op fits into ``target``: torch's errors otherwise."""
    if shape != target.aval.shape:
        raise RuntimeError(
            f"output with shape {list(target.aval.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )
    if not dtypes.can_cast(dtype, target.aval.dtype):
        raise RuntimeError(
            f"result type {dtypes.scalar_type_name(dtype)} can't be cast to the desired output "
            f"type {dtypes.scalar_type_name(target.aval.dtype)}"
        )


def name_by_number(name: str, number: int, tensor: int) -> Any:
    """The name of a node, whose form tells whether the last operand was a number or a tensor."""

    def label(avals: Any, params: Any) -> str:
        is_number = avals[-1].weak and not avals[-1].shape
        return f"{name}Backward{number if is_number else tensor}"

    return label
