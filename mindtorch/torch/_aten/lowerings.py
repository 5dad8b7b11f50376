"""Which overload an op of the engine is, for what calls the engine directly: vjp rules, and bodies
of functions that :mod:`.composites` says nothing about.

An op without an entry and without an overload of its own name is ``mindtorch::name``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.aval import contiguous_strides
from mindtorch.engine.op import OPS, Op

from .._tensor.size_and_formats import contiguous_format
from . import kernels_layers
from .kernels import kernel_of
from .overloads import OpOverload, OpOverloadPacket, is_written, route
from .schemas import lines_of, schema_of

__all__ = ["call", "described", "handed", "overload", "own", "packet"]

_KERNELS = kernels_layers  # which registers its own
# what a call of an overload is made of: its name, arguments, keyword arguments
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


@functools.cache
def packet(name: str) -> OpOverloadPacket | None:
    """``torch.ops.aten.name``; None where there is no kernel for it."""
    kernel = kernel_of(name)
    return None if kernel is None else OpOverloadPacket(f"aten::{name}", kernel)


@functools.cache
def overload(name: str) -> OpOverload:
    """``torch.ops.aten.name.overload``, by ``name.overload``."""
    base, _, which = name.partition(".")
    found = packet(base)
    if found is None:
        raise NotImplementedError(f"torch.ops.aten.{name} has no kernel in mindtorch")
    return getattr(found, which or "default")


@functools.cache
def own(name: str) -> OpOverload:
    """The overload of an op that torch has not."""
    return OpOverloadPacket(f"mindtorch::{name}", OPS[name]).default


def call(name: str, /, *args: Any, **kwargs: Any) -> Any:
    """``torch.ops.aten.name.overload(*args, **kwargs)``."""
    return overload(name)(*args, **kwargs)


def number(x: Any) -> Any:
    """The Python number that a tensor stands for; the tensor itself where it does not."""
    if x is not None and x.aval.weak and not x.aval.shape:
        return x.flat[0].item()
    return x


def _is_number(x: Any) -> bool:
    return not hasattr(x, "aval")


def _arithmetic(name: str) -> Callable[..., Call]:
    def made(x: Any, y: Any) -> Call:
        y = number(y)
        if _is_number(y):
            return f"{name}.Scalar", (x, y), {}
        x = number(x)
        if _is_number(x) and name in ("add", "mul"):
            return f"{name}.Scalar", (y, x), {}
        if _is_number(x) and name == "sub":
            return "rsub.Scalar", (y, x), {}
        return f"{name}.Tensor", (x, y), {}

    return made


_TURNED = str.maketrans("gl", "lg")


def _comparison(name: str) -> Callable[..., Call]:
    def made(x: Any, y: Any) -> Call:
        y = number(y)
        x = x if _is_number(y) else number(x)
        if _is_number(x):
            return f"{name.translate(_TURNED)}.Scalar", (y, x), {}
        return f"{name}.{'Scalar' if _is_number(y) else 'Tensor'}", (x, y), {}

    return made


def _power(x: Any, y: Any) -> Call:
    y = number(y)
    x = x if _is_number(y) else number(x)
    if _is_number(y):
        return "pow.Tensor_Scalar", (x, y), {}
    return f"pow.{'Scalar' if _is_number(x) else 'Tensor_Tensor'}", (x, y), {}


def _fixed_power(exponent: float) -> Callable[..., Call]:
    return lambda x: ("pow.Tensor_Scalar", (x, exponent), {})


def _where(x: Any, y: Any, z: Any) -> Call:
    y, z = number(y), number(z)
    kind = {
        (False, False): "self", (True, False): "ScalarSelf", (False, True): "ScalarOther",
        (True, True): "Scalar",
    }[_is_number(y), _is_number(z)]  # fmt: skip
    return f"where.{kind}", (x, y, z), {}


def _numbers_after(name: str, count: int = 1) -> Callable[..., Call]:
    """An op whose inputs after the first ``count`` are Python numbers in torch."""
    return lambda *inputs: (name, (*inputs[:count], *map(number, inputs[count:])), {})


def _reduced(name: str, all_axes: str = "default", some: str = "dim") -> Callable[..., Call]:
    def made(x: Any, *, axis: Any = None, keepdims: bool = False) -> Call:
        if axis is None or (len(axis) == x.aval.ndim and not keepdims and name != "amax"):
            return f"{name}.{all_axes}", (x,), {}
        return f"{name}.{some}", (x, list(axis), *([True] if keepdims else [])), {}

    return made


def _clone(x: Any, *, strides: Any = None) -> Call:
    plain = strides is not None and tuple(strides) == contiguous_strides(x.aval.shape)
    return "clone.default", (x,), {"memory_format": contiguous_format} if plain else {}


def _squeeze(x: Any, *, axes: Any) -> Call:
    if len(axes) == 1:
        return "squeeze.dim", (x, axes[0]), {}
    return "squeeze.dims", (x, list(axes)), {}


def _slice(x: Any, *, axis: int, start: int, length: int, step: int = 1) -> Call:
    end = start + (length - 1) * step + 1 if length else start
    return "slice.Tensor", (x, axis, start, end, *([step] if step != 1 else [])), {}


def _slice_backward(
    g: Any, *, shape: Any, axis: int, start: int, length: int, step: int = 1
) -> Call:
    end = start + (length - 1) * step + 1 if length else start
    return "slice_backward.default", (g, list(shape), axis, start, end, step), {}


def _sized(name: str) -> Callable[..., Call]:
    return lambda x, *, shape: (name, (x, list(shape)), {})


def _cumsum(x: Any, *, axis: int, reverse: bool = False) -> Call | None:
    return None if reverse else ("cumsum.default", (x, axis), {})


def _layer_norm(x: Any, weight: Any, bias: Any, *, eps: float, normalized_ndim: int) -> Call:
    shape = list(x.aval.shape[x.aval.ndim - normalized_ndim :])
    return "native_layer_norm.default", (x, shape, weight, bias, eps), {}


def _extreme_place(name: str) -> Callable[..., Call | None]:
    def made(x: Any, *, axis: Any, keepdims: bool) -> Call | None:
        if isinstance(axis, (tuple, list)):
            if len(axis) not in (1, x.aval.ndim):
                return None
            axis = axis[0] if len(axis) == 1 else None
        more = [axis, keepdims] if keepdims else [axis] if axis is not None else []
        return f"{name}.default", (x, *more), {}

    return made


def _spread(name: str) -> Callable[..., Call]:
    def made(x: Any, *, axis: Any, correction: Any, keepdims: bool) -> Call:
        named = {"keepdim": True} if keepdims else {}
        return f"{name}.correction", (x, list(axis)), {"correction": correction, **named}

    return made


def _vector_norm(x: Any, *, order: Any, axis: Any, keepdims: bool) -> Call:
    more = [list(axis), keepdims] if keepdims or len(axis) != x.aval.ndim else []
    return "linalg_vector_norm.default", (x, order, *more), {}


def _attention(q: Any, k: Any, v: Any, mask: Any, *, scale: float, causal: bool) -> Call | None:
    if q.aval.ndim != 4:
        return None
    named: dict[str, Any] = {} if mask is None else {"attn_mask": mask}
    if scale != q.aval.shape[-1] ** -0.5:
        named["scale"] = scale
    name = "_scaled_dot_product_flash_attention_for_cpu.default"
    return name, (q, k, v, *([0.0, True] if causal else [])), named


def _attention_backward(
    y: Any, q: Any, k: Any, v: Any, mask: Any, result: Any, logs: Any, *, scale: float,
    causal: bool,
) -> Call | None:  # fmt: skip
    if q.aval.ndim != 4:
        return None
    named: dict[str, Any] = {} if mask is None else {"attn_mask": mask}
    if scale != q.aval.shape[-1] ** -0.5:
        named["scale"] = scale
    name = "_scaled_dot_product_flash_attention_for_cpu_backward.default"
    return name, (y, q, k, v, result, logs, 0.0, causal), named


def _pad(x: Any, value: Any, *, padding: Any) -> Call:
    flat = [n for pair in reversed(padding) for n in pair]
    while len(flat) > 2 and flat[-2:] == [0, 0]:
        flat = flat[:-2]
    found = number(value)
    return "constant_pad_nd.default", (x, flat, *([found] if found != 0 else [])), {}


def _axis(name: str) -> Callable[..., Call]:
    return lambda x, *, axis: (name, (x, axis), {})


def _gradient_in_result(name: str) -> Callable[..., Call]:
    return lambda y, result, *, axis: (name, (y, result, axis, y.aval.dtype), {})


_LOWERINGS: dict[str, Callable[..., Call | None]] = {}


def _lower(**lowerings: Callable[..., Call | None]) -> None:
    """Note what ops, by their names, are."""
    _LOWERINGS.update(lowerings)


for _name in "gt lt ge le eq ne".split():
    _lower(**{_name: _comparison(_name)})
_lower(
    add=_arithmetic("add"), subtract=_arithmetic("sub"), multiply=_arithmetic("mul"),
    divide=_arithmetic("div"),
    power=_power, power_two=_fixed_power(2), power_three=_fixed_power(3),
    power_half=_fixed_power(0.5), power_minus_half=_fixed_power(-0.5),
    power_minus_one=_fixed_power(-1), power_minus_two=_fixed_power(-2),
    where=_where,
    absolute=lambda x: ("abs.default", (x,), {}),
    negative=lambda x: ("neg.default", (x,), {}),
    add_scaled=lambda x, y, z: ("add.Tensor", (x, y), {"alpha": number(z)}),
    subtract_scaled=lambda x, y, z: ("sub.Tensor", (x, y), {"alpha": number(z)}),
    addcmul=lambda x, y, z, w: ("addcmul.default", (x, y, z), {"value": number(w)}),
    addcdiv=lambda x, y, z, w: ("addcdiv.default", (x, y, z), {"value": number(w)}),
    gelu_tanh=lambda x: ("gelu.default", (x,), {"approximate": "tanh"}),
    gelu_gradient=lambda x, y: ("gelu_backward.default", (x, y), {}),
    gelu_tanh_gradient=lambda x, y: ("gelu_backward.default", (x, y), {"approximate": "tanh"}),
    threshold_gradient=_numbers_after("threshold_backward.default", 2),
    tanh_gradient=lambda x, y: ("tanh_backward.default", (x, y), {}),
    sigmoid_gradient=lambda x, y: ("sigmoid_backward.default", (x, y), {}),
    silu_gradient=lambda x, y: ("silu_backward.default", (x, y), {}),
    mish_gradient=lambda x, y: ("mish_backward.default", (x, y), {}),
    hardswish_gradient=lambda x, y: ("hardswish_backward.default", (x, y), {}),
    hardsigmoid_gradient=lambda x, y: ("hardsigmoid_backward.default", (x, y), {}),
    softplus_gradient=_numbers_after("softplus_backward.default", 2),
    hardtanh_gradient=_numbers_after("hardtanh_backward.default", 2),
    leaky_relu_gradient=lambda x, y, z:
        ("leaky_relu_backward.default", (x, y, number(z), False), {}),
    elu_gradient=lambda x, y, z, w, v:
        ("elu_backward.default", (x, number(z), number(w), number(v), False, y), {}),
    leaky_relu=_numbers_after("leaky_relu.default"),
    elu=_numbers_after("elu.default"), hardtanh=_numbers_after("hardtanh.default"),
    softplus=_numbers_after("softplus.default"),
    threshold=_numbers_after("threshold.default"),
    prod=lambda x, *, axis, keepdims: None if axis is not None and len(axis) != x.aval.ndim
        else ("prod.default", (x,), {}),
    clamp_min=_numbers_after("clamp_min.default"),
    clamp_max=_numbers_after("clamp_max.default"),
    clamp=_numbers_after("clamp.default"),
    lerp=_numbers_after("lerp.Scalar", 2),
    sum=_reduced("sum", some="dim_IntList"), mean=_reduced("mean"),
    amax=_reduced("amax", some="default"), amin=_reduced("amin", some="default"),
    any=_reduced("any", some="dims"), all=_reduced("all", some="dims"),
    clone=_clone,
    _to_copy=lambda x, *, dtype: ("_to_copy.default", (x,), {"dtype": dtype}),
    permute=lambda x, *, axes: ("permute.default", (x, list(axes)), {}),
    view=_sized("view.default"), expand=_sized("expand.default"),
    unsqueeze=lambda x, *, axis: ("unsqueeze.default", (x, axis), {}),
    squeeze=_squeeze,
    select=lambda x, *, axis, index: ("select.int", (x, axis, index), {}),
    slice=_slice, slice_backward=_slice_backward,
    cat=lambda *inputs, axis: ("cat.default", (list(inputs), axis), {}),
    flip=lambda x, *, axes: ("flip.default", (x, list(axes)), {}),
    roll=lambda x, *, shifts, axes: ("roll.default", (x, list(shifts), list(axes)), {}),
    tril=lambda x, *, diagonal: ("tril.default", (x, diagonal), {}),
    triu=lambda x, *, diagonal: ("triu.default", (x, diagonal), {}),
    cumsum=_cumsum,
    gather=lambda x, index, *, axis: ("gather.default", (x, axis, index), {}),
    scatter_add=lambda x, index, source, *, axis:
        ("scatter_add.default", (x, axis, index, source), {}),
    index_add=lambda x, index, source, *, axis:
        ("index_add.default", (x, axis, index, source), {}),
    index_select=lambda x, index, *, axis: ("index_select.default", (x, axis, index), {}),
    masked_fill=lambda x, mask, value: (
        "masked_fill.Scalar" if _is_number(number(value)) else "masked_fill.Tensor",
        (x, mask, number(value)), {},
    ),
    softmax=lambda x, *, axis: ("_softmax.default", (x, axis, False), {}),
    log_softmax=lambda x, *, axis: ("_log_softmax.default", (x, axis, False), {}),
    softmax_gradient=_gradient_in_result("_softmax_backward_data.default"),
    log_softmax_gradient=_gradient_in_result("_log_softmax_backward_data.default"),
    native_layer_norm=_layer_norm,
    alias=lambda x: ("alias.default", (x,), {}),
    argmax=_extreme_place("argmax"), argmin=_extreme_place("argmin"),
    var=_spread("var"), std=_spread("std"),
    stack=lambda *inputs, axis: ("stack.default", (list(inputs), axis), {}),
    linalg_vector_norm=_vector_norm,
    scaled_dot_product_attention=_attention,
    scaled_dot_product_attention_backward=_attention_backward,
    convolution=lambda x, weight, bias, *, stride, padding, dilation, groups: (
        "convolution.default",
        (x, weight, bias, list(stride), list(padding), list(dilation), False,
         [0] * len(stride), groups), {},
    ),
    constant_pad_nd=_pad,
    linear=lambda x, weight, bias=None: ("linear.default", (x, weight, bias), {}),
    avg_pool=lambda x, *, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override: None if len(kernel_size) != 2 else ("avg_pool2d.default", (
            x, list(kernel_size), list(stride), list(padding), ceil_mode, count_include_pad,
            divisor_override), {}),
    diag_embed=lambda x, *, offset, first, second:
        ("diag_embed.default", (x, offset, first, second), {}),
    diagonal=lambda x, *, offset, first, second:
        ("diagonal.default", (x, offset, first, second), {}),
)  # fmt: skip


def _by_name(op: Op, inputs: Any, params: Any) -> Call | None:
    """The overload of the same name, where it takes the inputs and nothing else."""
    line = lines_of(op.name).get("default")
    if line is None or params or any(x is None for x in inputs) or kernel_of(op.name) is None:
        return None
    schema = schema_of(line)
    tensors = [a for a in schema.arguments if a.type == "Tensor"]
    rest = schema.arguments[len(tensors) :]
    if len(tensors) != len(inputs) or not all(a.has_default for a in rest):
        return None
    return f"{op.name}.default", tuple(inputs), {}


def described(
    op: Op, inputs: Any, params: Any, target: Any = None
) -> tuple[OpOverload, tuple[Any, ...], dict[str, Any]]:
    """The overload that an op is, and its arguments.

    Args:
        target: what the result is written to, by the overload in place; its first input.
    """
    lowering = _LOWERINGS.get(op.name)
    made = _by_name(op, inputs, params) if lowering is None else lowering(*inputs, **params)
    if made is None:
        func = own(op.name)
        return func, tuple(inputs), dict(params)
    name, args, kwargs = made
    if target is None:
        return overload(name), args, kwargs
    base, _, which = name.partition(".")
    if which in lines_of(f"{base}_") and args and args[0] is target:
        return is_written(f"{base}_") or overload(f"{base}_.{which}"), args, kwargs
    value = route(overload(name), args, kwargs)
    return overload("copy_.default"), (target, value), {}


def _matmul(x: Any, y: Any) -> Any:
    if x.aval.ndim == 2 and y.aval.ndim == 2:
        return below_call("mm.default", x, y)
    if x.aval.ndim == 3 and y.aval.ndim == 3 and x.aval.shape[0] == y.aval.shape[0]:
        return below_call("bmm.default", x, y)
    return None


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """The steps of a layer: its weight turned, and a product with what is not its last axis."""
    turned = below_call("t.default", weight)
    if bias is not None and x.aval.ndim == 2:
        return below_call("addmm.default", bias, x, turned)
    shape, ndim = x.aval.shape, x.aval.ndim
    flat = x
    if not x.aval.contiguous and ndim != 2:
        flat = below_call("clone.default", x, memory_format=contiguous_format)
        flat = below_call("_unsafe_view.default", flat, [-1, shape[-1]])
    elif ndim != 2:
        flat = below_call("view.default", x, [-1, shape[-1]])
    if bias is None:
        made = below_call("mm.default", flat, turned)
    else:
        made = below_call("addmm.default", bias, flat, turned)
    return made if ndim == 2 else below_call(
        "view.default", made, [*shape[:-1], weight.aval.shape[0]]
    )


def below_call(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call below autograd."""
    return route(overload(name), args, kwargs)


# ops that are several overloads; None where they are their own
_SEVERAL: dict[str, Callable[..., Any]] = {"matmul": _matmul, "linear": _linear}


def handed(op: Op, inputs: Any, params: Any) -> Any:
    """What the op's overload gives, below autograd."""
    several = _SEVERAL.get(op.name)
    found = None if several is None else several(*inputs, **params)
    if found is not None:
        return found
    func, args, kwargs = described(op, inputs, params)
    return route(func, args, kwargs)


