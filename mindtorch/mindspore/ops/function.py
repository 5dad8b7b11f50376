"""Functions with MindSpore's names and arguments: torch's, called with torch's."""

from __future__ import annotations

import builtins
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.torch import linalg
from mindtorch.torch._api.publish import ELEMENTWISE

from ..common.dtype import as_dtype
from ..common.tensor import F, Tensor, adopting, as_tensor, t
from . import _network_functions
from ._network_functions import *  # noqa: F403

# the same names and arguments in both libraries, beside those of all elementwise functions
_SAME = """
    add addbmm addcdiv addcmul addmm addmv addr amax amin argwhere baddbmm bernoulli bitwise_and
    bitwise_or bitwise_xor block_diag broadcast_to cdist celu cholesky clamp clip conj cummax
    cumprod diag diagonal diff dot einsum flip fliplr flipud geqrf heaviside histc imag inner
    inverse isclose isfinite isinf isnan kron lerp logdet logical_and logical_not logical_or
    logical_xor logit logsumexp masked_fill masked_select matmul mm movedim mv nan_to_num nansum
    negative nonzero numel ones_like outer permute pinverse positive pow ravel real roll rot90 round
    swapaxes swapdims tensordot trace tril triu true_divide unbind unique_consecutive unsqueeze
    view_as_real where zeros_like
""".split()
_SAME_NEURAL = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d batch_norm celu cosine_similarity elu fold glu grid_sample group_norm
    hardshrink hardsigmoid hardswish hardtanh interpolate layer_norm logsigmoid mish pad
    pairwise_distance pixel_shuffle pixel_unshuffle prelu relu6 selu silu softplus softshrink
    softsign unfold
""".split()
for _name in (*ELEMENTWISE, *_SAME):
    globals()[_name] = getattr(t, _name)
for _name in _SAME_NEURAL:
    globals()[_name] = getattr(F, _name)
sub = subtract = t.sub
div = divide = t.true_divide
floor_div = t.floor_divide
mod = floor_mod = t.remainder
equal, not_equal, ne = t.eq, t.ne, t.ne
greater = gt = t.gt
greater_equal = ge = t.ge
less = lt = t.lt
less_equal = le = t.le
inv = t.reciprocal
tensor_pow, tensor_exp = t.pow, t.exp
hardswish = F.hardswish


def _axes(axis: Any) -> Any:
    return None if axis in ((), []) else tuple(axis) if isinstance(axis, list) else axis


# --- reductions --------------------------------------------------------------------------------


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: A001, A002
    """The sum along ``dim``."""
    return t.sum(input, _axes(dim), keepdim=keepdim, dtype=dtype)


def mean(x: Any, axis: Any = None, keep_dims: bool = False) -> Any:
    """The mean along ``axis``; whole numbers have a whole one, rounded towards zero."""
    return _kept("mean", x, _axes(axis), keep_dims)


def _kept(name: str, x: Any, axis: Any, keepdim: bool) -> Any:
    """A sum or mean of the type of ``x``."""
    dtype = x.aval.dtype
    if dtype.category >= dtypes.FLOAT:
        return getattr(t, name)(x, axis, keepdim=keepdim)
    total = t.sum(x, axis, keepdim=keepdim)
    if name == "mean":
        total = t.div(total, x.aval.size // builtins.max(total.aval.size, 1), rounding_mode="trunc")
    return total.to(dtype)


def maximum(input: Any, other: Any) -> Any:  # noqa: A002
    """The larger of two elements; a number counts as a tensor."""
    return t.maximum(as_tensor(input), as_tensor(other))


def minimum(input: Any, other: Any) -> Any:  # noqa: A002
    """The smaller of two elements; a number counts as a tensor."""
    return t.minimum(as_tensor(input), as_tensor(other))


def multinomial(
    input: Any, num_samples: int, replacement: bool = True, seed: int | None = None  # noqa: A002
) -> Any:
    """Places drawn with the chances given, as int32."""
    draw = lambda _, dtype: t.multinomial(input, num_samples, replacement)  # noqa: E731
    return _seeded(seed, draw, (), None).int()


def _reduced(name: str) -> Any:
    def call(x: Any, axis: Any = ()) -> Any:
        return getattr(t, name)(x, _axes(axis) if axis not in ((), [], None) else ())

    call.__name__ = name
    call.__doc__ = "The reduction along ``axis``, of all elements by default."
    return call


reduce_mean = mean
reduce_max, reduce_min, reduce_sum = map(_reduced, ("amax", "amin", "sum"))


def count_nonzero(
    x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = dtypes.int32
) -> Any:
    """How many elements along ``axis`` are not 0."""
    return sum(t.ne(x, 0), _axes(axis), keep_dims).to(as_dtype(dtype))


def cummin(input: Any, axis: int) -> Any:  # noqa: A002
    """(smallest elements so far along ``axis``, their places)."""
    values, places = t.cummin(input, axis)
    return values, places.int()


def meshgrid(*inputs: Any, indexing: str = "xy") -> Any:
    """The coordinates of a grid, the first along columns ("xy") or rows ("ij")."""
    return builtins.tuple(t.meshgrid(*inputs, indexing=indexing))


def prod(input: Any, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:  # noqa: A002
    """The product along ``axis``."""
    if axis is None:
        result = t.prod(input, dtype=dtype)
        return result.reshape((1,) * input.aval.ndim) if keep_dims else result
    return t.prod(input, axis, keepdim=keep_dims, dtype=dtype)


def _extreme(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    if axis is None:
        flat = t.reshape(x, (-1,))
        values, places = getattr(t, name)(flat, 0)
        return (values.reshape((1,) * x.aval.ndim) if keepdims else values), places
    return builtins.tuple(getattr(t, name)(x, axis, keepdim=keepdims))


def max(input: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001, A002
    """(largest elements along ``axis``, their places)."""
    return _extreme("max", input, axis, keepdims)


def min(input: Any, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A001, A002
    """(smallest elements along ``axis``, their places)."""
    return _extreme("min", input, axis, keepdims)


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Any:  # noqa: A002
    """The place of the largest element."""
    return t.argmax(input, dim, keepdim)


def argmin(input: Any, axis: int | None = None, keepdims: bool = False) -> Any:  # noqa: A002
    """The place of the smallest element, as int32."""
    return t.argmin(input, axis, keepdims).int()


def all(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:  # noqa: A001, A002
    """Whether all elements are true."""
    return t.all(input, _axes(axis), keepdim=keep_dims)


def any(input: Any, axis: Any = None, keep_dims: bool = False) -> Any:  # noqa: A001, A002
    """Whether some element is true."""
    return t.any(input, _axes(axis), keepdim=keep_dims)


def var(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:  # noqa: A002
    """The variance: squares over (number - ``ddof``)."""
    return t.var(input, dim=_axes(axis), correction=int(ddof), keepdim=keepdims)


def std(input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:  # noqa: A002
    """The square root of :func:`var`."""
    return t.std(input, dim=_axes(axis), correction=int(ddof), keepdim=keepdims)


def norm(
    A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None  # noqa: A002, N803
) -> Any:
    """The norm of order ``ord`` (2 when None) along ``dim``."""
    return adopting(linalg.norm)(A, ord, dim, keepdim, dtype=dtype)


def cumsum(x: Any, axis: int, dtype: Any = None) -> Any:
    """Running sums along ``axis``, of the type of ``x`` unless given."""
    own = x.aval.dtype if x.aval.dtype is not dtypes.bool_ else dtypes.int64
    return t.cumsum(x, axis, dtype=own if dtype is None else as_dtype(dtype))


def topk(
    input: Any, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True  # noqa: A002
) -> Any:
    """(the ``k`` largest elements along ``dim``, their places)."""
    values, places = t.topk(input, k, -1 if dim is None else dim, largest, sorted)
    return values, places.int()


top_k = topk


def sort(input_x: Any, axis: int = -1, descending: bool = False) -> Any:
    """(sorted elements along ``axis``, where they were)."""
    values, places = t.sort(input_x, axis, descending)
    return values, places.int()


def argsort(input: Any, axis: int = -1, descending: bool = False) -> Any:  # noqa: A002
    """The order that sorts along ``axis``."""
    return t.argsort(input, axis, descending).int()


def unique(input: Any) -> Any:  # noqa: A002
    """(distinct elements in the order in which they come, where each element is among them)."""
    flat = t.reshape(input, (-1,))
    values, places = t.unique(flat, return_inverse=True)
    count, number = values.aval.size, flat.aval.size
    first = t.full((count,), number, dtype=dtypes.int64)
    first = t.scatter_reduce(first, 0, places, t.arange(number), "amin")
    order = t.argsort(first)
    rank = t.argsort(order)
    index = t.reshape(rank[places], input.aval.shape)
    return values[order], index if input.aval.dtype is dtypes.int64 else index.int()


# --- shapes ------------------------------------------------------------------------------------


def cat(tensors: Any, axis: int = 0) -> Any:
    """Tensors one after another along ``axis``."""
    return t.cat(builtins.list(tensors), axis)


concat = cat


def stack(tensors: Any, axis: int = 0) -> Any:
    """Tensors along a new axis."""
    return t.stack(builtins.list(tensors), axis)


def unstack(input_x: Any, axis: int = 0) -> Any:
    """The slices along ``axis``."""
    return t.unbind(input_x, axis)


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> Any:
    """Pieces of a length, or of several lengths, along ``axis``."""
    return t.split(tensor, split_size_or_sections, axis)


def chunk(input: Any, chunks: int, axis: int = 0) -> Any:  # noqa: A002
    """As many pieces along ``axis``."""
    return t.chunk(input, chunks, axis)


def reshape(input: Any, shape: Any) -> Any:  # noqa: A002
    """The elements in another shape."""
    return t.reshape(input, builtins.tuple(shape))


def transpose(input: Any, input_perm: Any) -> Any:  # noqa: A002
    """The axes in the order ``input_perm``."""
    return t.permute(input, builtins.tuple(input_perm))


def expand_dims(input_x: Any, axis: int) -> Any:
    """A new axis of length 1."""
    return t.unsqueeze(input_x, axis)


def squeeze(input: Any, axis: Any = None) -> Any:  # noqa: A002
    """Without the axes of length 1, or without ``axis``."""
    return Tensor.squeeze(input, axis)


def flatten(
    input: Any, order: str = "C", *, start_dim: int = 1, end_dim: int = -1  # noqa: A002
) -> Any:
    """The axes from ``start_dim`` to ``end_dim`` as one.

    Args:
        order: "C" or "F": which axis runs fastest, the last or the first.
    """
    return Tensor.flatten(input, order, start_dim=start_dim, end_dim=end_dim)


def tile(input: Any, dims: Any) -> Any:  # noqa: A002
    """The whole tensor repeated along each axis."""
    return t.tile(input, builtins.tuple(dims))


def repeat_interleave(input: Any, repeats: Any, axis: int | None = None) -> Any:  # noqa: A002
    """Each element repeated."""
    return t.repeat_interleave(input, repeats, axis)


def bmm(input_x: Any, mat2: Any) -> Any:
    """The products of the matrices that two tensors of three or more axes hold.

    Args:
        input_x, mat2: tensors whose axes before the last two are equal.
    """
    x, y = as_tensor(input_x), as_tensor(mat2)
    if x.aval.ndim < 3 or y.aval.ndim < 3 or x.aval.shape[:-2] != y.aval.shape[:-2]:
        raise ValueError(
            "For 'BatchMatMul', the inputs must have three or more axes and equal ones before the "
            f"last two, but got {tuple(x.aval.shape)} and {tuple(y.aval.shape)}."
        )
    return t.matmul(x, y)


def gather(input_params: Any, input_indices: Any, axis: int, batch_dims: int = 0) -> Any:
    """The slices that the indices name along ``axis``; the axis becomes the indices' axes.

    Args:
        input_params: a tensor.
        input_indices: whole numbers, places along ``axis``.
        batch_dims: axes that both have in common in front.
    """
    shape = input_params.aval.shape
    axis = int(axis) % builtins.len(shape)
    indices = as_tensor(input_indices)
    if batch_dims:
        own = indices.aval.shape
        first = batch_dims + builtins.len(own) if batch_dims < 0 else batch_dims
        if first > axis or own[:first] != shape[:first]:
            raise ValueError(
                f"For 'Gather', the first {first} axes of {tuple(shape)} and {tuple(own)} must be "
                f"equal, and come before axis {axis}."
            )
        ones, behind = (1,) * (axis - first), (1,) * (builtins.len(shape) - axis - 1)
        places = t.reshape(indices, (*own[:first], *ones, -1, *behind))
        places = t.broadcast_to(places, (*shape[:axis], places.shape[axis], *shape[axis + 1 :]))
        made = t.gather(input_params, axis, places.long())
        return t.reshape(made, (*shape[:axis], *own[first:], *shape[axis + 1 :]))
    found = t.index_select(input_params, axis, t.reshape(indices, (-1,)).long())
    return t.reshape(found, (*shape[:axis], *indices.aval.shape, *shape[axis + 1 :]))


def gather_elements(input: Any, dim: int, index: Any) -> Any:  # noqa: A002
    """The elements that ``index`` names along ``dim``."""
    return t.gather(input, dim, index.long())


def gather_nd(input_x: Any, indices: Any) -> Any:
    """The slices at the places that the rows of ``indices`` name."""
    return input_x[builtins.tuple(t.unbind(indices.long(), -1))]


def one_hot(
    indices: Any, depth: int, on_value: Any = 1, off_value: Any = 0, axis: int = -1
) -> Any:
    """``on_value`` at each index along a new axis of length ``depth``, ``off_value`` elsewhere.
    Indices out of range have ``off_value`` everywhere."""
    on, off = as_tensor(on_value), as_tensor(off_value)
    places = t.arange(depth)
    chosen = t.eq(t.unsqueeze(as_tensor(indices).long(), -1), places)
    result = t.where(chosen, on, off)
    return result if axis in (-1, result.aval.ndim - 1) else t.movedim(result, -1, axis)


def select(condition: Any, input: Any, other: Any) -> Any:  # noqa: A002
    """``input`` where the condition holds, else ``other``."""
    return t.where(condition, input, other)


# --- new tensors -------------------------------------------------------------------------------


def _size(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, int) else builtins.tuple(int(n) for n in shape)


def zeros(size: Any, dtype: Any = None) -> Any:
    """Zeros, float32 unless given."""
    return t.zeros(_size(size), dtype=dtypes.float32 if dtype is None else as_dtype(dtype))


def ones(size: Any, dtype: Any = None) -> Any:
    """Ones, float32 unless given."""
    return t.ones(_size(size), dtype=dtypes.float32 if dtype is None else as_dtype(dtype))


def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Any:
    """``fill_value`` everywhere."""
    return t.full(_size(size), fill_value, dtype=None if dtype is None else as_dtype(dtype))


def fill(type: Any, shape: Any, value: Any) -> Any:  # noqa: A002
    """``value`` everywhere, of the type given."""
    return full(shape, value, dtype=type)


def full_like(input: Any, fill_value: Any, *, dtype: Any = None) -> Any:  # noqa: A002
    """``fill_value`` in the shape of ``input``."""
    return t.full_like(input, fill_value, dtype=None if dtype is None else as_dtype(dtype))


def linspace(start: Any, end: Any, steps: int) -> Any:
    """Numbers at equal distances from ``start`` to ``end``."""
    return t.linspace(float(start), float(end), int(steps))


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """Numbers from ``start`` below ``end``; from 0 below ``start`` where no end is given.

    Args:
        step: the distance of neighbours.
    """
    start, end = (0, start) if end is None else (start, end)
    values = (v.item() if hasattr(v, "item") else v for v in (start, end, step))
    return t.arange(*values, dtype=None if dtype is None else as_dtype(dtype))


def range(start: Any, end: Any, step: Any) -> Any:  # noqa: A001
    """Numbers from ``start`` below ``end``.

    Args:
        step: the distance of neighbours.
    """
    return t.arange(*(v.item() if hasattr(v, "item") else v for v in (start, end, step)))


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Uniform numbers in [0, 1)."""
    return _seeded(seed, t.rand, _from_arguments(size), dtype)


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Normal numbers."""
    return _seeded(seed, t.randn, _from_arguments(size), dtype)


def standard_normal(shape: Any, seed: int | None = None) -> Any:
    """Normal numbers."""
    return _seeded(seed, t.randn, _size(shape), None)


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Any:
    """Normal numbers of the mean and deviation given."""
    return standard_normal(shape, seed) * stddev + mean


def uniform(
    shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = dtypes.float32
) -> Any:
    """Uniform numbers between the limits; whole ones for a whole type."""
    if as_dtype(dtype).category == dtypes.INTEGER:
        low, high = int(minval), int(maxval)
        return _seeded(seed, lambda s, dtype: t.randint(low, high, s, dtype=dtype), shape, dtype)
    return _seeded(seed, t.rand, _size(shape), dtype) * (maxval - minval) + minval


def randint(
    low: int, high: int, size: Any, *, dtype: Any = None, seed: int | None = None
) -> Any:
    """Whole numbers from ``low`` below ``high``."""
    return _seeded(seed, lambda s, dtype: t.randint(low, high, s, dtype=dtype), size, dtype)


def randperm(n: int, seed: int | None = None, dtype: Any = dtypes.int64) -> Any:
    """0 to n - 1 in random order."""
    return _seeded(seed, lambda _, dtype: t.randperm(n, dtype=dtype), (n,), dtype)


def _from_arguments(size: tuple[Any, ...]) -> tuple[int, ...]:
    return _size(size[0]) if builtins.len(size) == 1 else _size(size)


def _seeded(seed: int | None, draw: Any, shape: Any, dtype: Any) -> Any:
    """Numbers from the common generator, or from a seed of their own."""
    kind = None if dtype is None else as_dtype(dtype)
    if seed is None:
        return draw(_size(shape), dtype=kind)
    before = torch.get_rng_state()
    try:
        torch.manual_seed(seed)
        return draw(_size(shape), dtype=kind)
    finally:
        torch.set_rng_state(before)


def cast(input: Any, dtype: Any) -> Any:  # noqa: A002
    """The tensor cast to ``dtype``."""
    return as_tensor(input).to(as_dtype(dtype))


def shape(input_x: Any) -> tuple[int, ...]:
    """The lengths of the axes."""
    return builtins.tuple(input_x.aval.shape)


def size(input_x: Any) -> int:
    """The number of elements."""
    return int(input_x.aval.size)


def rank(input_x: Any) -> int:
    """The number of axes."""
    return int(input_x.aval.ndim)


def dtype(input_x: Any) -> Any:
    """The type of the elements."""
    return input_x.aval.dtype


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


def print_(*input_x: Any) -> None:
    """Print the arguments."""
    print(*input_x)


def depend(value: Any, expr: Any) -> Any:
    """``value``; ``expr`` was computed before."""
    return value


for _name in _network_functions.__all__:
    globals()[_name].__module__ = __name__  # where pickle finds them
_HELPERS = {
    "Any", "F", "Tensor", "adopting", "annotations", "as_dtype", "as_tensor", "builtins", "dtypes",
    "t",
}  # fmt: skip
__all__ = [
    name for name in list(globals()) if not name.startswith("_") and name not in _HELPERS
]
