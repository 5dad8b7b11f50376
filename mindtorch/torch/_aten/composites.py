"""Public functions in calls of overloads, as torch decomposes them before anybody sees them.

A function that is not here is one overload, found by the arguments; where there is none either,
its body runs and the engine's ops are handed on.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.result_strides import view_strides
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat

from .. import return_types
from .._api.arguments import as_device, as_dtype
from .._tensor.autograd import Gradients
from .._tensor.size_and_formats import contiguous_format, preserve_format
from .autograd import COMPOSITES, NOT_MADE
from .dispatcher import Dispatcher
from .lowerings import call, packet
from .overloads import receiver
from .schemas import bind, lines_of, marks_of, schema_of, shortened

__all__ = ["BY_PLACE", "NOT_MADE", "made_of", "public", "whole"]

Body = Callable[..., Any]
# by the place of a public name ("Tensor.", "F.", "" for torch itself) and the name
BY_PLACE: dict[str, Body] = {}


def public(*names: str) -> Callable[[Body], Body]:
    """Make the body below what these public names are."""

    def keep(body: Body) -> Body:
        for name in names:
            BY_PLACE[name] = body
            if "." not in name:
                COMPOSITES.setdefault(name, body)
        return body

    return keep


def made_of(place: str, name: str) -> Body | None:
    """What the function ``name`` of ``place`` is made of; None where nothing is known."""
    found = BY_PLACE.get(f"{place}{name}")
    if found is None and place != "F.":
        found = BY_PLACE.get(name)
    if found is not None:
        return found
    base = {"linalg.": "linalg_", "fft.": "fft_", "special.": "special_"}.get(place, "") + name
    if all("*" in marks_of(line) for line in lines_of(base).values()) or base in _BY_HAND:
        return None
    return _by_schema(base)


# whose overloads are not told apart by the arguments as torch's parser takes them
_BY_HAND = frozenset({"tensor", "as_tensor", "backward", "set_", "resize_", "data", "is_same_size"})


@functools.cache
def whole(name: str) -> Body | None:
    """The overload ``name``, also one that torch decomposes: in inference mode it does not."""
    some = any("*" in marks_of(line) for line in lines_of(name).values())
    return _by_schema(name, True) if some else None


def _by_schema(name: str, composite: bool = False) -> Body | None:
    """The overload that takes the arguments; a ``composite`` one, too."""
    known = packet(name)
    if known is None:
        return None
    lines = [
        (which, line) for which, line in known._lines.items()
        if composite or "*" not in marks_of(line)
    ]  # fmt: skip
    kind = getattr(return_types, name, None)

    def body(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("out") is not None:
            return NOT_MADE
        kwargs.pop("out", None)
        requires_grad = kwargs.pop("requires_grad", False)
        for given in _spellings(args):
            for which, line in lines:
                schema = schema_of(line)
                values = bind(schema, given, kwargs, "+" in marks_of(line))
                if values is None:
                    continue
                if "pin_memory" in values and values["pin_memory"] is None:
                    values["pin_memory"] = False  # as torch's parser passes it on
                    if not which.endswith("like") and "self" not in values:
                        values["device"] = as_device(values["device"])
                positional, named = shortened(schema, values)
                result = getattr(known, which)(*positional, **named)
                if requires_grad:
                    return result.requires_grad_()
                if type(result) is tuple and kind is not None:
                    return kind(*result)
                return tuple(result) if type(result) is list else result
        return NOT_MADE

    return body


def _spellings(args: Any) -> Any:
    """The arguments as given, and with whole numbers at the end as one list."""
    yield args
    at = len(args)
    while at and isinstance(args[at - 1], int) and not isinstance(args[at - 1], bool):
        at -= 1
    if at < len(args):
        yield (*args[:at], list(args[at:]))


# --- operators --------------------------------------------------------------------------------


def _is_tensor(x: Any) -> bool:
    return isinstance(x, EngineTensor)


@public("Tensor.__rsub__", "rsub")
def _rsub(x: Any, other: Any) -> Any:
    return call("rsub.Tensor" if _is_tensor(other) else "rsub.Scalar", x, other)


@public("Tensor.__rdiv__")
def _rdiv(x: Any, other: Any) -> Any:
    return call("mul.Tensor", call("reciprocal", x), other)


@public("Tensor.__rpow__")
def _rpow(x: Any, other: Any) -> Any:
    return call("pow.Tensor_Tensor" if _is_tensor(other) else "pow.Scalar", other, x)


def _renamed(name: str) -> Body:
    def body(*args: Any, **kwargs: Any) -> Any:
        found = made_of("", name)
        return NOT_MADE if found is None else found(*args, **kwargs)

    return body


for _alias, _name in {
    "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub", "negative": "neg",
    "absolute": "abs", "greater": "gt", "less": "lt", "Tensor.__floordiv__": "floor_divide",
    "Tensor.__and__": "bitwise_and", "Tensor.__or__": "bitwise_or", "Tensor.__xor__": "bitwise_xor",
    "Tensor.__eq__": "eq", "concat": "cat", "concatenate": "cat", "Tensor.__radd__": "add",
    "Tensor.__rmul__": "mul", "clip": "clamp", "arccos": "acos", "swapaxes": "transpose",
    "F.relu": "relu", "F.sigmoid": "sigmoid", "F.tanh": "tanh", "moveaxis": "movedim",
}.items():  # fmt: skip
    BY_PLACE[_alias] = _renamed(_name)


# --- products ---------------------------------------------------------------------------------


@public("matmul", "Tensor.__matmul__")
def _matmul(x: Any, y: Any) -> Any:
    if not (_is_tensor(x) and _is_tensor(y)):
        return NOT_MADE
    first, second = x.aval.ndim, y.aval.ndim
    if (first, second) == (1, 1):
        return call("dot", x, y)
    if (first, second) == (2, 1):
        return call("mv", x, y)
    if (first, second) == (1, 2):
        return call("squeeze.dim", call("mm", call("unsqueeze", x, 0), y), 0)
    if (first, second) == (2, 2):
        return call("mm", x, y)
    if first >= 3 and second in (1, 2):
        flat = _reshape(x, [math.prod(x.aval.shape[:-1]), x.aval.shape[-1]])
        if second == 1:
            return call("_unsafe_view", call("mv", flat, y), list(x.aval.shape[:-1]))
        product = call("mm", flat, y)
        return call("_unsafe_view", product, [*x.aval.shape[:-1], y.aval.shape[1]])
    if first < 2 or second < 2:
        return NOT_MADE
    return _batched(x, y)


def _batched(x: Any, y: Any) -> Any:
    """Products of stacks of matrices, which are expanded to one another."""
    a, b = x.aval.shape, y.aval.shape
    lead = _broadcast(a[:-2], b[:-2])
    if lead is None:
        return NOT_MADE
    count = math.prod(lead)
    left = _reshape(call("expand", x, [*lead, *a[-2:]]), [count, *a[-2:]])
    right = _reshape(call("expand", y, [*lead, *b[-2:]]), [count, *b[-2:]])
    return call("_unsafe_view", call("bmm", left, right), [*lead, a[-2], b[-1]])


def _broadcast(a: Any, b: Any) -> list[int] | None:
    size = max(len(a), len(b))
    a, b = (1,) * (size - len(a)) + tuple(a), (1,) * (size - len(b)) + tuple(b)
    if any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        return None
    return [n if m == 1 else m for m, n in zip(a, b, strict=True)]


@public("F.linear", "linear")
def _linear(input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    x, w = input, weight
    if not (_is_tensor(x) and _is_tensor(w)) or w.aval.ndim != 2 or x.aval.ndim < 1:
        return NOT_MADE
    if x.aval.shape[-1] != w.aval.shape[1]:
        return NOT_MADE
    if bias is not None and x.aval.ndim == 2:
        return call("addmm", bias, x, call("t", w))
    if bias is not None and x.aval.ndim > 2 and x.aval.contiguous:
        flat = call("view", x, [math.prod(x.aval.shape[:-1]), x.aval.shape[-1]])
        made = call("addmm", bias, flat, call("t", w))
        return call("view", made, [*x.aval.shape[:-1], w.aval.shape[0]])
    made = _matmul(x, call("t", w))
    return made if bias is None else call("add.Tensor", made, bias)


@public("outer", "ger")
def _outer(input: Any, vec2: Any) -> Any:  # noqa: A002
    return call("mul.Tensor", call("view", input, [input.aval.shape[0], 1]), vec2)


# --- shapes -----------------------------------------------------------------------------------


def _full_shape(shape: Any, size: int) -> list[int]:
    shape = list(shape)
    if -1 in shape:
        rest = -math.prod(shape)
        shape[shape.index(-1)] = size // rest if rest else 0
    return shape


def _reshape(x: Any, given: Any) -> Any:
    shape = _full_shape(given, x.aval.size)
    if x.aval.contiguous or view_strides(x.aval.shape, x.aval.strides, tuple(shape)) is not None:
        return call("view", x, given)
    copy = call("clone", x, memory_format=contiguous_format)
    return call("_unsafe_view", copy, shape)


def _sizes(shape: Any) -> list[int]:
    if len(shape) == 1 and isinstance(shape[0], (list, tuple)):
        shape = shape[0]
    return list(shape)


@public("reshape")
def _reshaped(input: Any, *shape: Any, **named: Any) -> Any:  # noqa: A002
    sizes = _sizes(shape) if shape else list(named.get("shape", ()))
    fits = math.prod(_full_shape(sizes, input.aval.size)) == input.aval.size
    return _reshape(input, sizes) if fits else NOT_MADE


@public("Tensor.view")
def _view(x: Any, *shape: Any, **named: Any) -> Any:
    sizes = _sizes(shape) if shape else named.get("size")
    if not isinstance(sizes, (list, tuple)) or not all(isinstance(n, int) for n in sizes):
        return NOT_MADE
    return call("view", x, list(sizes))


@public("flatten")
def _flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:  # noqa: A002
    ndim, shape = input.aval.ndim, input.aval.shape
    if not ndim:
        return _reshape(input, [1])
    first, last = start_dim % ndim, end_dim % ndim
    if first == last:
        return input
    if first > last:
        return NOT_MADE
    middle = math.prod(shape[first : last + 1])
    return _reshape(input, [*shape[:first], middle, *shape[last + 1 :]])


@public("view_as")
def _view_as(x: Any, other: Any) -> Any:
    return call("view", x, list(other.aval.shape))


@public("reshape_as")
def _reshape_as(x: Any, other: Any) -> Any:
    return _reshape(x, list(other.aval.shape))


@public("expand_as")
def _expand_as(x: Any, other: Any) -> Any:
    return call("expand", x, list(other.aval.shape))


@public("Tensor.T")
def _turned(x: Any) -> Any:
    return call("permute", x, list(range(x.aval.ndim))[::-1])


@public("Tensor.mT", "adjoint")
def _transposed(x: Any) -> Any:
    return call("transpose.int", x, -2, -1)


@public("contiguous")
def _contiguous(x: Any, *, memory_format: Any = contiguous_format) -> Any:
    if memory_format is not contiguous_format:
        return NOT_MADE
    return x if x.aval.contiguous else call("clone", x, memory_format=contiguous_format)


@public("squeeze")
def _squeeze(input: Any, dim: Any = None) -> Any:  # noqa: A002
    if dim is None:
        return call("squeeze", input)
    return call("squeeze.dim" if isinstance(dim, int) else "squeeze.dims", input, dim)


@public("chunk")
def _chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
    size = input.aval.shape[dim]
    if chunks <= 0 or not size:
        return NOT_MADE
    return tuple(call("split.Tensor", input, -(-size // chunks), dim))


@public("split")
def _split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, **named: Any) -> Any:
    sizes = named.get("split_size", split_size_or_sections)
    if isinstance(sizes, int):
        made = call("split.Tensor", tensor, sizes, *([dim] if dim else []))
    else:
        made = call("split_with_sizes", tensor, list(sizes), *([dim] if dim else []))
    return tuple(made)


@public("narrow")
def _narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    if not isinstance(start, int) or not 0 <= start <= input.aval.shape[dim] - length:
        return NOT_MADE
    return call("slice.Tensor", input, dim, start, start + length)


# --- indexing ---------------------------------------------------------------------------------


def _simple_index(x: Any, item: Any) -> tuple[Any, ...] | None:
    """The parts of an index of numbers, slices, None, ... and tensors; None for any other."""
    parts = item if isinstance(item, tuple) else (item,)
    for part in parts:
        simple = part is None or part is Ellipsis or isinstance(part, (slice, EngineTensor))
        if not simple and (not isinstance(part, int) or isinstance(part, bool)):
            return None
        if isinstance(part, slice) and not all(
            n is None or isinstance(n, int) for n in (part.start, part.stop, part.step)
        ):
            return None
    used = sum(
        part.aval.ndim if isinstance(part, EngineTensor) and part.aval.dtype is dtypes.bool_ else 1
        for part in parts if part is not None and part is not Ellipsis
    )  # fmt: skip
    if used > x.aval.ndim:
        return None
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    fill = (slice(None),) * (x.aval.ndim - used)
    return (*parts[:at], *fill, *parts[at + 1 :])


def _viewed(x: Any, parts: Any) -> tuple[Any, list[Any]]:
    """The view that numbers, slices and None choose, and the tensors that choose of it."""
    axis = 0
    tensors: list[Any] = []
    for part in parts:
        if part is None:
            x, axis = call("unsqueeze", x, axis), axis + 1
        elif isinstance(part, int):
            x = call("select.int", x, axis, part)
        elif isinstance(part, slice):
            full = part.start in (None, 0) and part.stop is None and part.step in (None, 1)
            if not full:
                x = _sliced(x, axis, part)
            axis += 1
        else:
            tensors += [None] * (axis - len(tensors)) + [part]
            axis += part.aval.ndim if part.aval.dtype is dtypes.bool_ else 1
    return x, tensors


def _sliced(x: Any, axis: int, part: slice) -> Any:
    stop = 2**63 - 1 if part.stop is None else part.stop
    return call("slice.Tensor", x, axis, part.start or 0, stop, part.step or 1)


@public("Tensor.__getitem__")
def _item(x: Any, item: Any) -> Any:
    parts = _simple_index(x, item)
    if parts is None:
        return NOT_MADE
    made, tensors = _viewed(x, parts)
    if tensors:
        return call("index.Tensor", made, tensors)
    return call("alias", x) if made is x else made


@public("Tensor.__setitem__")
def _set_item(x: Any, item: Any, value: Any) -> Any:
    parts = _simple_index(x, item)
    if parts is None:
        return NOT_MADE
    numbers = not _is_tensor(value)
    if numbers and not isinstance(value, (int, float, complex)):
        return NOT_MADE
    if numbers:
        value = call("lift_fresh", scalar(value, x))
    made, tensors = _viewed(x, parts)
    if tensors:
        call("index_put_", made, tensors, value)
    elif numbers and not x.aval.answered:
        call("fill_.Tensor", made, value)
    else:
        call("copy_", made, value)
    return None


def scalar(value: Any, like: Any) -> Any:
    """A number as a tensor of no axes, of another one's type."""
    return full_flat((), like.aval.dtype, value, like.aval.device)


@public("gather")
def _gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:  # noqa: A002
    if sparse_grad:
        return NOT_MADE
    return call("gather", input, dim, index)


# --- types and copies -------------------------------------------------------------------------


def _converted(x: Any, **changes: Any) -> Any:
    return call("_to_copy", x, **{k: v for k, v in changes.items() if v is not None})


def _to_type(name: str) -> None:
    kind = getattr(dtypes, name)

    def body(x: Any, memory_format: Any = None) -> Any:
        return x if x.aval.dtype is kind else _converted(x, dtype=kind)

    BY_PLACE[f"Tensor.{_METHODS_OF_TYPES[name]}"] = body


_METHODS_OF_TYPES = {
    "float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat16",
    "int32": "int", "int64": "long", "int16": "short", "int8": "char", "uint8": "byte",
    "bool_": "bool",
}  # fmt: skip
for _type in _METHODS_OF_TYPES:
    _to_type(_type)


@public("Tensor.to")
def _to(
    x: Any, *args: Any, dtype: Any = None, device: Any = None, copy: bool = False,
    non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    for value in args:
        if isinstance(value, dtypes.DType):
            dtype = value
        elif isinstance(value, EngineTensor):
            dtype, device = value.aval.dtype, value.aval.device
        elif isinstance(value, bool):
            return NOT_MADE
        elif value is not None:
            device = value
    if memory_format not in (None, preserve_format):
        return NOT_MADE
    kind = x.aval.dtype if dtype is None else as_dtype(dtype)
    place = x.aval.device if device is None else as_device(device)
    changed = {
        "dtype": None if kind is x.aval.dtype else kind,
        "device": None if place == x.aval.device else place,
    }
    if not copy and not any(changed.values()):
        return x
    return _converted(x, **changed)


@public("Tensor.type")
def _type_of(x: Any, dtype: Any = None, *rest: Any, **named: Any) -> Any:
    return NOT_MADE if not isinstance(dtype, dtypes.DType) else _to(x, dtype)


@public("Tensor.backward")
def _backward(x: Any, *args: Any, **kwargs: Any) -> Any:
    """A backward pass from a tensor whose class answers takes torch's steps where no mode does."""
    if receiver() is not None:
        return _plain_backward(x, *args, **kwargs)
    steps = Dispatcher()
    steps.enter()
    try:
        return _plain_backward(x, *args, **kwargs)
    finally:
        steps.leave()


_plain_backward = Gradients.backward
