"""What jagged nested tensors have of torch's functions: computed of their values where parts need
not be told apart, else part by part or over padded parts."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ..._tensor.tensor import Tensor
from ..._tensor.tensor_classes import functional as F  # noqa: N812
from ..._tensor.tensor_classes import implements, refuse_the_rest, torch
from ...nn import functional as functional_names
from .nested_tensor import NestedInt, NestedTensor, missing, nested_from_parts

__all__ = ["extract_kwargs"]
_REGISTERED = functional_names  # which registers the functions that F has


def extract_kwargs(arg: Any) -> dict[str, Any]:
    """What a nested tensor is made of besides its values."""
    return {"offsets": arg.offsets(), "lengths": arg.lengths(), "_ragged_idx": arg._ragged_idx}


def _named(registry: Any, names: str) -> list[Any]:
    return [getattr(registry, name) for name in names.split()]


def _methods(names: str) -> list[Any]:
    return [getattr(Tensor, name) for name in names.split()]


# --- elementwise ------------------------------------------------------------------------------


def _same_places(name: str, first: NestedTensor, others: list[Any]) -> None:
    for other in others:
        if isinstance(other, NestedTensor) and not (
            other._ragged_idx == first._ragged_idx and (
                other._offsets is first._offsets
            )
        ):
            raise RuntimeError(
                f"cannot call binary pointwise function {name} with inputs of shapes "
                f"({', '.join(map(str, first.shape))}) and ({', '.join(map(str, other.shape))})"
            )


def _beside(nested: NestedTensor, other: Any) -> Any:
    """An operand as it goes with the values."""
    if isinstance(other, NestedTensor):
        return other.held
    if not isinstance(other, EngineTensor) or not other.aval.ndim:
        return other
    axis, ndim = nested._ragged_idx, nested.aval.ndim
    if other.aval.ndim < ndim - axis:
        return other
    if other.aval.ndim == ndim and axis == 1 and other.aval.shape[1] == 1:
        flat = other.squeeze(1)
        if other.aval.shape[0] == 1:
            return flat
        if other.aval.shape[0] == len(nested):
            return flat.index_select(0, nested.rows())
    raise RuntimeError(
        f"a tensor of shape {list(other.aval.shape)} is not broadcast to a nested tensor of shape "
        f"({', '.join(map(str, nested.shape))})"
    )


def _on_values(function: Any, *args: Any, **kwargs: Any) -> Any:
    given = [*args, *kwargs.values()]
    nested = [x for x in given if isinstance(x, NestedTensor)]
    first = nested[0]
    _same_places(getattr(function, "__name__", "op"), first, nested[1:])
    return first.like(function(
        *[_beside(first, x) for x in args], **{k: _beside(first, x) for k, x in kwargs.items()}
    ))  # fmt: skip


def _written(name: str, tensor: Any, result: Any) -> Any:
    tensor.held.copy_(result.held)
    return tensor


implements(NestedTensor, *_named(
    torch, "abs acos acosh add addcdiv addcmul asin asinh atan atan2 atanh bitwise_and bitwise_not "
    "bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clone cos cosh deg2rad div eq erf erfc "
    "erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac ge gt isfinite isinf isnan le "
    "lerp lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt "
    "masked_fill maximum minimum mul nan_to_num ne neg positive pow reciprocal relu remainder "
    "round rsqrt sgn sigmoid sign sin sinc sinh sqrt square sub tan tanh trunc where xlogy "
    "zeros_like ones_like empty_like full_like rand_like randn_like",
), in_place=_written)(_on_values)  # fmt: skip
implements(NestedTensor, *_named(
    F, "relu tanh sigmoid gelu silu elu leaky_relu softplus hardtanh mish logsigmoid dropout",
))(_on_values)  # fmt: skip
implements(NestedTensor, *_methods("to float double half bfloat16 int long bool cpu type"))(
    _on_values
)


@implements(NestedTensor, *_methods("copy_ fill_ zero_"))
def _in_place(function: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    function(self.held, *[_beside(self, x) for x in args], **kwargs)
    return self


def _operator(function: Any, reflected: bool = False) -> Any:
    def call(self: Any, other: Any) -> Any:
        return _on_values(function, *((other, self) if reflected else (self, other)))

    return call


for _name in "add sub mul pow floordiv and or xor lt le gt ge eq ne mod truediv".split():
    _function = getattr(torch, {
        "floordiv": "floor_divide", "and": "bitwise_and", "or": "bitwise_or", "mod": "remainder",
        "xor": "bitwise_xor", "truediv": "div",
    }.get(_name, _name))  # fmt: skip
    setattr(NestedTensor, f"__{_name}__", _operator(_function))
    if _name in ("add", "sub", "mul", "truediv", "pow"):
        setattr(NestedTensor, f"__r{_name}__", _operator(_function, True))
setattr(NestedTensor, "__neg__", lambda self: _on_values(torch.neg, self))  # noqa: B010
setattr(NestedTensor, "__invert__", lambda self: _on_values(torch.bitwise_not, self))  # noqa: B010


# --- sums and other reductions ------------------------------------------------------------------


def _axes(x: NestedTensor, dim: Any) -> list[int]:
    given = [dim] if isinstance(dim, int) else list(dim)
    return sorted(d + x.aval.ndim if d < 0 else d for d in given)


def _over_ragged(name: str, x: NestedTensor) -> Any:
    """The reduction of each part along the ragged axis, dense."""
    if x._ragged_idx != 1:
        missing(f"{name} along the ragged axis of a transposed tensor")
    x = x.contiguous()
    if name in ("amax", "amin"):
        worst = -math.inf if name == "amax" else math.inf
        return getattr(x.to_padded_tensor(worst), name)(1)
    total = x.held.new_zeros((len(x), *x.held.aval.shape[1:])).index_add(0, x.rows(), x.held)
    if name == "sum":
        return total
    counts = torch.tensor(x.part_lengths(), dtype=total.dtype)
    return total / counts.reshape(-1, *[1] * (total.aval.ndim - 1))


def _reduced(
    function: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None  # noqa: A002
) -> Any:
    name = function.__name__
    x = input if dtype is None else input.to(dtype)
    if dim is None or dim == ():
        return function(x.contiguous().held)
    axes, ragged = _axes(x, dim), x._ragged_idx
    inner = [d - 1 for d in axes if d not in (0, ragged)]
    if 0 in axes and ragged not in axes:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not "
            "supported for nested tensors"
        )
    if 0 in axes:
        made = function(x.contiguous().held, sorted([*inner, ragged - 1]), keepdim)
        return made.unsqueeze(0) if keepdim else made
    if ragged not in axes:
        shift = 0 if keepdim else sum(d < ragged - 1 for d in inner)
        return x.like(function(x.held, inner, keepdim), ragged - shift)
    if inner:
        missing(f"{name} along the ragged axis and others")
    made = _over_ragged(name, x)
    return made.unsqueeze(ragged) if keepdim else made


implements(NestedTensor, torch.sum, torch.mean, torch.amax, torch.amin)(_reduced)


def _softmax(function: Any, input: Any, dim: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    if not isinstance(input, NestedTensor):
        return NotImplemented
    (axis,) = _axes(input, dim)
    if axis == 0:
        raise RuntimeError("softmax(): not supported when reducing across the batch dimension")
    if axis != input._ragged_idx:
        return input.like(function(input.held, axis - 1, *args, **kwargs))
    packed = input.contiguous()
    padded = function(packed.to_padded_tensor(-math.inf), 1, *args, **kwargs)
    rows = padded.flatten(0, 1).index_select(0, packed.places(padded.aval.shape[1]))
    return packed.like(rows)


implements(NestedTensor, torch.softmax, torch.log_softmax, F.softmax, F.log_softmax)(_softmax)


# --- layers and products ------------------------------------------------------------------------


@implements(NestedTensor, F.linear, F.layer_norm, F.rms_norm)
def _layer(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    if not isinstance(input, NestedTensor):
        missing(function.__name__)
    if input._ragged_idx == input.aval.ndim - 1:
        missing(f"{function.__name__} along the ragged axis")
    return input.like(function(input.held, *args, **kwargs))


@implements(NestedTensor, F.embedding)
def _embedding(function: Any, input: Any, weight: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    return input.like(function(input.held, weight, *args, **kwargs))


@implements(NestedTensor, torch.matmul, torch.bmm)
def _matmul(function: Any, input: Any, other: Any) -> Any:  # noqa: A002
    x = input
    if isinstance(x, NestedTensor) and not isinstance(other, NestedTensor):
        if other.aval.ndim == 2 and x._ragged_idx < x.aval.ndim - 1:
            return x.like(torch.matmul(x.held, other))
    if not isinstance(x, NestedTensor) and x.aval.ndim == 2:
        missing("matmul of a dense and a nested tensor")
    parts = [torch.matmul(a, b) for a, b in zip(x.unbind(), other.unbind(), strict=True)]
    shapes = {part.aval.shape for part in parts}
    nested = x if isinstance(x, NestedTensor) else other
    summed = isinstance(x, NestedTensor) and x._ragged_idx == x.aval.ndim - 1
    if summed and len(shapes) == 1:
        return torch.stack(parts)
    made = nested_from_parts(parts, nested._ragged_idx)
    return nested.like(made.held) if nested._lengths is None else made


setattr(NestedTensor, "__matmul__", lambda self, other: _matmul(torch.matmul, self, other))  # noqa: B010


@implements(NestedTensor, F.scaled_dot_product_attention)
def _attention(
    function: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any,
    **kwargs: Any,
) -> Any:  # fmt: skip
    if not all(isinstance(x, NestedTensor) for x in (query, key, value)) or attn_mask is not None:
        missing("scaled_dot_product_attention of dense tensors or with a mask")
    parts = [
        function(q[None], k[None], v[None], None, *args, **kwargs)[0]
        for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    ]
    made = nested_from_parts(parts, query._ragged_idx)
    return query.like(made.held) if query._lengths is None else made


# --- shapes -----------------------------------------------------------------------------------


@implements(NestedTensor, torch.transpose)
def _transpose(function: Any, input: Any, dim0: int, dim1: int) -> Any:  # noqa: A002
    first, second = (d + input.aval.ndim if d < 0 else d for d in (dim0, dim1))
    if first == second:
        return input
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    ragged = {first: second, second: first}.get(input._ragged_idx, input._ragged_idx)
    return input.like(function(input.held, first - 1, second - 1), ragged)


def _new_shape(x: NestedTensor, sizes: Any) -> NestedTensor:
    """The values with other lengths of the axes behind the ragged one."""
    sizes = list(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else list(sizes)
    axis = x._ragged_idx
    fits = len(sizes) > axis and sizes[0] in (len(x), -1) and (
        isinstance(sizes[axis], NestedInt) or sizes[axis] == -1
    )
    if not fits or list(sizes[1:axis]) != list(x.aval.shape[1:axis]):
        raise RuntimeError(
            f"view(): cannot view shape ({', '.join(map(str, x.shape))}) as {sizes}"
        )
    inner = [*x.held.aval.shape[:axis], *sizes[axis + 1 :]]
    return x.like(x.held.reshape(inner))


@implements(NestedTensor, torch.reshape, Tensor.view)
def _reshape(function: Any, input: Any, *sizes: Any) -> Any:  # noqa: A002
    return _new_shape(input, sizes)


@implements(NestedTensor, torch.unflatten)
def _unflatten(function: Any, input: Any, dim: int, sizes: Any) -> Any:  # noqa: A002
    (axis,) = _axes(input, dim)
    if axis <= input._ragged_idx:
        missing("unflatten of or before the ragged axis")
    return input.like(function(input.held, axis - 1, sizes))


@implements(NestedTensor, torch.flatten)
def _flatten(function: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:  # noqa: A002
    first, last = _axes(input, [start_dim]) + _axes(input, [end_dim])
    if first <= input._ragged_idx:
        missing("flatten of or before the ragged axis")
    return input.like(function(input.held, first - 1, last - 1))


@implements(NestedTensor, torch.unsqueeze)
def _unsqueeze(function: Any, input: Any, dim: int) -> Any:  # noqa: A002
    axis = dim + input.aval.ndim + 1 if dim < 0 else dim
    if axis == 0:
        missing("unsqueeze before the parts")
    ragged = input._ragged_idx + (axis <= input._ragged_idx)
    return input.like(function(input.held, axis - 1), ragged)


@implements(NestedTensor, torch.squeeze)
def _squeeze(function: Any, input: Any, dim: Any = None) -> Any:  # noqa: A002
    if dim is None:
        raise ValueError("squeeze without dim is ambiguous for nested tensors")
    (axis,) = _axes(input, dim)
    if axis in (0, input._ragged_idx) or input.aval.shape[axis] != 1:
        return input
    ragged = input._ragged_idx - (axis < input._ragged_idx)
    return input.like(function(input.held, axis - 1), ragged)


@implements(NestedTensor, torch.cat)
def _cat(function: Any, tensors: Any, dim: int = 0) -> Any:
    first = next(x for x in tensors if isinstance(x, NestedTensor))
    _same_places("cat", first, tensors)
    (axis,) = _axes(first, dim)
    if axis in (0, first._ragged_idx) or not all(isinstance(x, NestedTensor) for x in tensors):
        missing("cat along the parts or the ragged axis")
    return first.like(function([x.held for x in tensors], axis - 1))


@implements(NestedTensor, torch.chunk, torch.split)
def _divided(function: Any, input: Any, count: Any, dim: int = 0) -> Any:  # noqa: A002
    (axis,) = _axes(input, dim)
    if axis in (0, input._ragged_idx):
        missing(f"{function.__name__} along the parts or the ragged axis")
    return tuple(input.like(x) for x in function(input.held, count, axis - 1))


refuse_the_rest(NestedTensor, missing, "__eq__", "__lt__", "__gt__", "__setitem__")
