"""Linear maps, embeddings, distances, and other functions of vectors."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import call_of
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.implementations import Implementations
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import embedding as embedding_ops
from mindtorch.engine.ops import linear_algebra, movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant as c
from mindtorch.engine.tensor import from_array
from mindtorch.engine.transforms.autocast import FULL, PLAIN, WIDEST
from mindtorch.engine.transforms.vmap import values_of_all

from .._api.kernel_signatures import Kernel
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import EXACT, Out
from .._api.out_variants import store_out
from .._api.publish import functional
from .._api.signatures import wrong_call
from .._api.warn_caller import warn_caller
from ..autograd.grad_mode import no_grad
from ..functions.distances import lengths
from ..functions.gathering import one_hot
from ._half import in_float32

__all__ = [
    "bilinear", "cosine_similarity", "embedding", "embedding_bag", "linear", "normalize",
    "one_hot", "pairwise_distance", "pdist",
]  # fmt: skip

functional(explained=True)(one_hot)
_INDICES = (dtypes.int64, dtypes.int32)


_OF_LINEAR = Out(EXACT)
_LINEAR = Kernel("linear", "input weight bias")


_MISSING: Any = object()
_others = Implementations()
_linear = call_of(linear_algebra.linear, 3, optional=1, others=_others)


@functional(bare=True, implementations=_others)
def linear(
    input: Any = _MISSING, weight: Any = _MISSING, bias: Any = None, *, out: Any = None,  # noqa: A002
    x: Any = _MISSING,
) -> Any:  # fmt: skip
    """``x W^T + b``; numpy's name of ``input`` is taken, too."""
    if x is not _MISSING and input is _MISSING:
        input = x  # noqa: A001
    try:
        if weight.aval.ndim == 1 and bias is None and input.aval.ndim:
            result = input @ weight
        else:
            result = _linear(input, weight, bias)
    except Exception as error:
        if weight is _MISSING:
            given = () if input is _MISSING else (input,)
            raise wrong_call("linear", given, {}) or error from None
        if not _spreads(bias, input, weight):
            raise _LINEAR.wrong(error, input=input, weight=weight, bias=bias) from None
        shape = bias.aval.shape[-max(input.aval.ndim, 1) :]
        result = linear_algebra.linear(input, weight, None) + bias.reshape(shape)
    return result if out is None else store_out(result, out, "linear", (), _OF_LINEAR)


def _as_shown(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Any:  # noqa: A002
    """What ``inspect.signature`` shows of :func:`linear`."""


linear.__signature__ = inspect.signature(_as_shown)  # type: ignore[attr-defined]


def _spreads(bias: Any, x: Any, weight: Any) -> bool:
    """Whether ``bias`` is no vector of the outputs' length, but broadcasts to the result."""
    tensors = all(isinstance(t, EngineTensor) for t in (bias, x, weight))
    if not tensors or weight.aval.ndim != 2 or bias.aval.shape == weight.aval.shape[:1]:
        return False
    target, shape = (*x.aval.shape[:-1], weight.aval.shape[0]), bias.aval.shape
    if len(shape) > max(len(target), 2) or bias.aval.dtype is not x.aval.dtype:
        return False
    return all(a in (1, b) for a, b in zip(shape[::-1], (*target[::-1], 1), strict=False))


@functional(autocast=PLAIN, autocast_cuda=WIDEST, explained=True, around=in_float32)
def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """``x1^T W[o] x2 + b[o]`` for each output ``o``.

    Args:
        input1, input2: (..., in1) and (..., in2).
    """
    given = {"input1": input1, "input2": input2, "weight": weight}
    given |= {} if bias is None else {"bias": bias}
    if len({x.aval.dtype for x in given.values()}) > 1:
        listed = ", ".join(f"{name}: {dtypes.c_name(x.aval.dtype)}" for name, x in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {listed}")
    outputs, first, second = weight.aval.shape
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
        )
    for i, (x, n) in enumerate(((input1, first), (input2, second))):
        if x.aval.shape[-1] != n:
            raise RuntimeError(
                f"bilinear(): input{i + 1} size does not match weight size: got "
                f"{x.aval.shape[-1]} but expected {n}"
            )
    batch = tuple(input1.aval.shape[:-1])
    x1 = movement.reshape(input1, (_count(batch), first))
    x2 = movement.reshape(input2, (_count(batch), 1, second))
    swapped = movement.reshape(movement.permute(weight, axes=(0, 2, 1)), (outputs * second, first))
    left = linear_algebra.linear(x1, swapped, None)
    left = movement.reshape(left, (_count(batch), outputs, second))
    products = pointwise.multiply(left, x2)
    result = products.sum(-1, dtype=products.dtype)
    result = movement.reshape(result, (*batch, outputs))
    return result if bias is None else pointwise.add(result, bias)


def _count(shape: Any) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def _padding_place(padding_idx: int, rows: int) -> int:
    if padding_idx > 0:
        if padding_idx >= rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        if padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += rows
    return padding_idx


def _renormalize(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, the rows that are looked up and longer than ``max_norm``."""
    if lacks_elements(weight):
        return
    with no_grad():
        rows = np.unique(indices.array())
        table = weight.array()
        for row in rows:
            wide = np.linalg.norm(table[row].astype(np.float64), norm_type)
            norm = float(wide.astype(table.dtype))
            if norm > max_norm:
                table[row] *= np.asarray(max_norm / (norm + 1e-7)).astype(table.dtype)
        weight._shared.version += 1


@functional(kernel=Kernel("embedding", "weight input"))
def embedding(
    input: Any,  # noqa: A002
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of ``weight`` that ``input`` names.

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows longer than this are scaled down in place first.
        scale_grad_by_freq: divide each row's gradient by how often it was looked up.
        sparse: the gradient of ``weight`` is a sparse COO tensor of the rows looked up, one entry
            for each of them.
    """
    place = -1 if padding_idx is None else _padding_place(padding_idx, weight.shape[0])
    if max_norm is not None and weight.aval.ndim != 2:
        raise RuntimeError(
            f"Expected 2-dimensional tensor, but got {weight.aval.ndim}-dimensional tensor for "
            "argument #1 'self' (while checking arguments for embedding_renorm_)"
        )
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    look_up = embedding_ops.embedding
    if sparse:
        _prepare_sparse()
        look_up = embedding_ops.embedding_sparse
    return look_up(
        weight,
        input,
        padding_idx=None if place < 0 else place,
        scale_by_frequency=bool(scale_grad_by_freq),
    )


def _prepare_sparse() -> None:
    """Load the class of sparse gradients, before the first one is made."""
    importlib.import_module("mindtorch.torch.sparse")


@functional()
def embedding_bag(
    input: Any,  # noqa: A002
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of the rows of ``weight`` that each bag of ``input`` names.

    Args:
        input: int64 or int32; (bags, rows of each), or flat with ``offsets``.
        weight: (rows, D).
        offsets: where each bag of a flat ``input`` begins, ascending from 0.
        max_norm: rows longer than this, in the norm of order ``norm_type``, are scaled down in
            place first.
        scale_grad_by_freq: divide each row's gradient by how often it was looked up.
        mode: "sum", "mean" or "max".
        sparse: the gradient of ``weight`` is a sparse tensor of the rows looked up.
        per_sample_weights: factors of the rows, of the input's shape, for mode "sum".
        include_last_offset: the last of ``offsets`` is where the last bag ends.
        padding_idx: a row that is left out, of the means' counts too, and gets no gradient.

    Returns:
        (bags, D); zeros for an empty bag.

    Raises:
        ValueError: for shapes and modes that do not fit each other.
        RuntimeError: for other indices or offsets.
    """
    if weight.aval.dtype is dtypes.int64 and input.aval.dtype.category == dtypes.FLOAT:
        warn_caller(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag("
            "weight, input, ...)` is deprecated, and should now be `embedding_bag(input, weight, "
            "...)`.",
        )
        weight, input = input, weight  # noqa: A001
    dtype = weight.aval.dtype
    if dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            "Half, BFloat16, Float, Double; but got "
            f"{dtypes.tensor_type_name(dtype)} instead (while checking arguments for "
            "embedding_bag)"
        )
    _check_bag_options(input, mode, per_sample_weights, scale_grad_by_freq, sparse)
    if (
        mode == "sum" and padding_idx is max_norm is offsets is per_sample_weights is None
        and input.dim() == 2 and not sparse and dtype is not dtypes.float64
        and input.aval.dtype in _INDICES
    ):
        starts = from_array(_even_starts(*input.aval.shape), weight.aval.device)
        found = _sums_of_rows(weight, input, starts, bool(scale_grad_by_freq))
        return tape.named(found, "EmbeddingBagBackward0")
    place = -1 if padding_idx is None else _padding_row(padding_idx, weight.shape[0])
    flat, starts = _bags(input, offsets, include_last_offset)
    _require_indices(flat)
    if max_norm is not None:
        _renormalize(weight, flat, max_norm, norm_type)
    # torch's quick way for sums stops where the offsets do; else the last bag has all the rest
    whole = _with_end(starts[:-1], flat.aval.size) if starts.size > 1 else starts
    quick = place < 0 and mode != "max" and weight.aval.dtype is not dtypes.float64
    if not quick:
        starts = whole
        _check_rows(flat, weight.shape[0])
    if mode == "max":
        found = _largest_of_bags(weight, flat, starts, place)
    else:
        found = _sums_of_bags(
            weight, flat, starts, place, per_sample_weights, scale_grad_by_freq, sparse
        )
    if mode == "mean":
        found = _over_counts(found, flat, whole, place)
    return tape.named(found, "EmbeddingBagBackward0")


@functools.lru_cache(64)
def _even_starts(count: int, length: int) -> Any:
    """Where ``count`` bags of ``length`` begin and, last, where the last one ends; to be read."""
    return np.arange(count + 1, dtype=np.int64) * length


@cached
def _sums_of_rows(weight: Any, indices: Any, starts: Any, scale_grad_by_freq: bool) -> Any:
    """The sums of bags that are the rows of ``indices``, and begin at ``starts``."""
    flat = movement.reshape(indices, (indices.aval.size,))
    return embedding_ops.bag_sum(
        weight, flat, starts, None, padding_idx=None, scale_by_frequency=scale_grad_by_freq
    )


def _padding_row(padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
            f"but got {padding_idx}"
        )
    return padding_idx % rows


def _check_rows(flat: Any, rows: int) -> None:
    found = values_of_all(flat)
    wrong = found[(found < 0) | (found >= rows)]
    if wrong.size:
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{wrong[0]}"
        )


def _check_bag_options(
    x: Any, mode: str, factors: Any, scale_grad_by_freq: bool, sparse: bool
) -> None:
    """torch's errors for options that exclude each other, in its order."""
    if factors is not None and x.aval.shape != factors.aval.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({list(factors.shape)}) is not "
            f"None, then it must have the same shape as the input ({list(x.shape)})"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if factors is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if mode == "max" and (scale_grad_by_freq or sparse):
        option = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {option}")


def _require_indices(flat: Any) -> None:
    if flat.aval.dtype not in _INDICES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {dtypes.tensor_type_name(flat.aval.dtype)} instead "
            "(while checking arguments for embedding_bag)"
        )


def _sums_of_bags(
    weight: Any, flat: Any, starts: Any, place: int, factors: Any, scale_grad_by_freq: bool,
    sparse: bool,
) -> Any:  # fmt: skip
    """The sum of each bag's rows, each times its factor where there are any."""
    ends = from_array(starts, weight.aval.device)
    if factors is not None:
        factors = _same_type(factors.reshape(-1), weight)
    add_up = embedding_ops.bag_sum
    if sparse:
        _prepare_sparse()
        add_up = embedding_ops.bag_sum_sparse
    return add_up(
        weight, flat, ends, factors, padding_idx=None if place < 0 else place,
        scale_by_frequency=bool(scale_grad_by_freq),
    )  # fmt: skip


def _over_counts(sums: Any, flat: Any, starts: Any, place: int) -> Any:
    """Each bag's sum divided by how many of its rows are not padding, by 1 where none is."""
    kept = starts  # how many rows that are not padding lie before each bag
    if place >= 0:
        kept = np.concatenate([[0], np.cumsum(flat.array() != place)])[starts]
    counts = np.maximum(kept[1:] - kept[:-1], 1)
    divisors = from_array(counts.astype(np.float64)[:, None], sums.aval.device)
    return sums / divisors.to(sums.dtype)


def _same_type(factors: Any, weight: Any) -> Any:
    if factors.aval.dtype is not weight.aval.dtype:
        names = [dtypes.scalar_type_name(v.aval.dtype) for v in (weight, factors)]
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type torch.{names[0]}Tensor does not equal "
            f"torch.{names[1]}Tensor (while checking arguments for embedding_bag)"
        )
    return factors


def _largest_of_bags(weight: Any, flat: Any, starts: Any, place: int) -> Any:
    ends = from_array(starts, weight.aval.device)
    rows = embedding_ops.bag_largest(weight, flat, ends, padding_idx=None if place < 0 else place)
    return weight.gather(0, rows.clamp_min(0)).masked_fill(rows < 0, 0.0)


def _bags(x: Any, offsets: Any, include_last: bool) -> tuple[Any, Any]:
    """The flat indices; where each bag begins and, last, where the last one ends."""
    if x.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        count, length = x.aval.shape
        return movement.reshape(x, (count * length,)), _even_starts(count, length)
    if x.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {x.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _require_indices(offsets)
    starts = offsets.array().astype(np.int64)
    if include_last and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {starts[0]}"
        )
    if starts.size and starts[-1] > x.aval.size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {x.aval.size} but got "
            f"offsets[-1] of {starts[-1]}"
        )
    if b"\1" in (starts[1:] < starts[:-1]).tobytes():  # numpy's any() takes longer
        raise RuntimeError("embedding_bag: offsets have to be in ascending order")
    return x, starts if include_last else _with_end(starts, x.aval.size)


def _with_end(starts: Any, end: int) -> Any:
    """``starts`` and ``end`` behind them."""
    made = np.empty(starts.size + 1, np.int64)
    made[:-1], made[-1] = starts, end
    return made


@functional(cacheable=True)
def normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None  # noqa: A002
) -> Any:
    """``x / max(norm(x), eps)`` along ``dim``.

    Args:
        p: the order of the norm.
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result = input / length
    return result if out is None else store_out(result, out, "div")


@functional(cacheable=True, autocast_cuda=FULL, explained=True)
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """``x1 . x2 / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``."""
    common = dtypes.result_type((x1.aval, x2.aval))
    if common.category != dtypes.FLOAT:
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{dtypes.scalar_type_name(common)}"
        )
    x1, x2 = (
        movement.cast(x, dtype=common) if x.aval.dtype.category < dtypes.FLOAT else x
        for x in torch.broadcast_tensors(x1, x2)
    )
    first = x1 / x1.norm(2, dim, keepdim=True).clamp_min(eps)
    second = x2 / x2.norm(2, dim, keepdim=True).clamp_min(eps)
    return (first * second).sum(dim)


@functional(cacheable=True, explained=True)
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norm of ``x1 - x2 + eps`` along the last axis."""
    found = pointwise.add(pointwise.subtract(x1, x2), c(eps)).norm(p, -1, keepdim=keepdim)
    return tape.named(found, "NormBackward1")


@functional(cacheable=True, autocast_cuda=FULL, explained=True)
def pdist(input: Any, p: float = 2.0) -> Any:  # noqa: A002
    """The p-norm distance of every pair of rows."""
    if input.dim() != 2:
        raise RuntimeError(
            f"pdist only supports 2D tensors, got: {input.dim()}D"
        )
    if input.aval.dtype.category != dtypes.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes")
    refuse_kinds("pdist", input.aval, "short")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    n = input.aval.shape[0]
    if n < 2:
        return tape.named(input.new_zeros((0,)) + 0 * input.sum(), "PdistBackward0")
    rows, columns = np.triu_indices(n, 1)
    first = input[from_array(rows.astype(np.int64), input.aval.device)]
    second = input[from_array(columns.astype(np.int64), input.aval.device)]
    return tape.named(lengths(first - second, p), "PdistBackward0")
