"""More primitives: functions of the other modules as classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes

from ..common.dtype import as_dtype
from ..common.tensor import F, Tensor, as_tensor, t
from . import function, indexing, losses, mathematics, neural, operations
from .operations import DECLARED, declare

_FIRST = len(DECLARED)

# primitives without settings
_PLAIN = {
    function: {
        "ACos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
        "Atan2": "atan2", "Atanh": "atanh", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
        "BitwiseXor": "bitwise_xor", "Cholesky": "cholesky",
        "Cosh": "cosh",
        "Diag": "diag", "Digamma": "digamma", "Erfc": "erfc", "Erfinv": "erfinv",
        "Expm1": "expm1", "Gcd": "gcd", "HSigmoid": "hardsigmoid", "HSwish": "hardswish",
        "Heaviside": "heaviside", "Hypot": "hypot", "Imag": "imag", "Inv": "reciprocal",
        "Lcm": "lcm", "Lerp": "lerp", "Lgamma": "lgamma", "LinSpace": "linspace",
        "Log1p": "log1p", "LogicalXor": "logical_xor", "MaskedFill": "masked_fill",
        "MaskedSelect": "masked_select", "MatrixInverse": "inverse", "Mish": "mish",
        "NonZero": "nonzero", "PReLU": "prelu", "Range": "range",
        "Real": "real", "Rint": "round", "SeLU": "selu", "Sinc": "sinc", "Sinh": "sinh",
        "Softplus": "softplus", "Softsign": "softsign", "Tan": "tan", "Trace": "trace",
        "Trunc": "trunc", "Unique": "unique", "Xlogy": "xlogy", "Conj": "conj", "GLU": "glu",
    },
    mathematics: {
        "AddN": "addn", "AccumulateNV2": "accumulate_n", "BesselI0": "bessel_i0",
        "BesselI0e": "bessel_i0e", "BesselI1": "bessel_i1", "BesselI1e": "bessel_i1e",
        "BesselJ0": "bessel_j0", "BesselJ1": "bessel_j1", "BesselK0": "bessel_k0",
        "BesselK1": "bessel_k1", "BesselY0": "bessel_y0", "BesselY1": "bessel_y1",
        "Ger": "ger", "Igamma": "igamma", "Igammac": "igammac", "Invert": "invert",
        "LogMatrixDeterminant": "log_matrix_determinant", "MatrixDeterminant": "det",
        "MatrixExp": "matrix_exp", "Polygamma": "polygamma", "Polar": "polar", "Eps": "eps",
        "PopulationCount": "population_count", "TruncateDiv": "truncate_div",
        "TruncateMod": "truncate_mod", "Xdivy": "xdivy", "Zeta": "zeta", "Angle": "angle",
        "MatrixBandPart": "matrix_band_part", "NextAfter": "nextafter", "IsReal": "isreal",
    },
    indexing: {
        "GatherD": "gather_d", "ScatterNd": "scatter_nd", "Slice": "slice",
        "TensorScatterAdd": "tensor_scatter_add", "TensorScatterDiv": "tensor_scatter_div",
        "TensorScatterMax": "tensor_scatter_max", "TensorScatterMin": "tensor_scatter_min",
        "TensorScatterMul": "tensor_scatter_mul", "TensorScatterSub": "tensor_scatter_sub",
        "TensorScatterUpdate": "tensor_scatter_update", "TensorShape": "dyn_shape",
        "TupleToArray": "tuple_to_array", "UnsortedSegmentMax": "unsorted_segment_max",
        "UnsortedSegmentMin": "unsorted_segment_min",
        "UnsortedSegmentProd": "unsorted_segment_prod",
        "UnsortedSegmentSum": "unsorted_segment_sum", "DynamicShape": "dyn_shape",
    },
    neural: {"FastGeLU": "fast_gelu"},
}  # fmt: skip
for _module, _names in _PLAIN.items():
    for _name, _function in _names.items():
        declare(_name, getattr(_module, _function))



def _written(name: str) -> Any:
    run = getattr(indexing, name)
    return lambda x, indices, updates, use_locking: run(x, indices, updates)


for _name in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update"):
    declare("Scatter" + _name, _written("scatter_" + _name.lower()), use_locking=False)
    declare("ScatterNd" + _name, _written("scatter_nd_" + _name.lower()), use_locking=False)


def _softmax_loss(logits: Any, labels: Any) -> Any:
    """(the loss of each example, its gradient by the logits)."""
    loss = -t.sum(labels * F.log_softmax(logits, -1), -1)
    return loss, F.softmax(logits, -1) - labels


def _sparse_softmax_loss(logits: Any, labels: Any, is_grad: bool) -> Any:
    """The mean loss, or its gradient by the logits."""
    if not is_grad:
        return F.cross_entropy(logits, labels.long())
    chosen = F.one_hot(labels.long(), logits.aval.shape[-1]).to(logits.aval.dtype)
    return (F.softmax(logits, -1) - chosen) / logits.aval.shape[0]


def _layer_norm(x: Any, gamma: Any, beta: Any, **s: Any) -> Any:
    """(normalized, mean, variance)."""
    first = s["begin_norm_axis"] % x.aval.ndim
    axes = tuple(range(first, x.aval.ndim))
    mean = t.mean(x, axes, keepdim=True)
    variance = t.mean(t.square(x - mean), axes, keepdim=True)
    result = (x - mean) * t.rsqrt(variance + s["epsilon"]) * gamma + beta
    return result, mean, variance


def _dropped(x: Any, keep_prob: float) -> Any:
    """(elements kept with a probability and divided by it, the mask)."""
    mask = t.lt(t.rand_like(x), keep_prob)
    return x * mask / keep_prob, mask.to(x.aval.dtype)


def _padded(x: Any, paddings: Any) -> Any:
    return F.pad(x, [n for pair in reversed(list(paddings)) for n in pair])


def _depth_to_space(x: Any, block_size: int) -> Any:
    n, c, h, w = x.aval.shape
    x = t.reshape(x, (n, block_size, block_size, c // block_size**2, h, w))
    x = t.permute(x, (0, 3, 4, 1, 5, 2))
    return t.reshape(x, (n, c // block_size**2, h * block_size, w * block_size))


def _space_to_depth(x: Any, block_size: int) -> Any:
    n, c, h, w = x.aval.shape
    x = t.reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
    x = t.permute(x, (0, 3, 5, 1, 2, 4))
    return t.reshape(x, (n, c * block_size**2, h // block_size, w // block_size))


declare("Cross", lambda x, y, dim: t.cross(x, y, dim=_axis_of_three(x, dim)), dim=-65530)
declare("Sort", lambda x, axis, descending: function.sort(x, axis, descending), axis=-1,
           descending=False)  # fmt: skip
declare("Argmin", lambda x, axis, output_type: t.argmin(x, axis).to(output_type), axis=-1,
           output_type=dtypes.int32)  # fmt: skip
declare("SoftmaxCrossEntropyWithLogits", _softmax_loss)
declare("SparseSoftmaxCrossEntropyWithLogits", _sparse_softmax_loss, is_grad=False)
declare(
    "SigmoidCrossEntropyWithLogits",
    lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
)
declare("SmoothL1Loss", lambda x, y, beta, reduction: F.smooth_l1_loss(
    x, y, reduction=reduction, beta=beta), beta=1.0, reduction="none")  # fmt: skip
declare("KLDivLoss", lambda x, y, reduction: losses.kl_div(x, y, reduction),
           reduction="mean")  # fmt: skip
declare("BinaryCrossEntropy", lambda x, y, weight=None, *, reduction:
           F.binary_cross_entropy(x, y, weight, reduction=reduction),
           reduction="mean")  # fmt: skip
declare("LayerNorm", _layer_norm, begin_norm_axis=1, begin_params_axis=1, epsilon=1e-7)
declare("Dropout", _dropped, keep_prob=0.5)
declare("Pad", _padded, paddings=())
declare("MirrorPad", lambda x, paddings, mode: neural.mirror_pad(x, paddings, mode),
           mode="REFLECT")  # fmt: skip
declare("L2Normalize", lambda x, axis, epsilon: function.l2_normalize(
    x, axis[0] if isinstance(axis, (list, tuple)) else axis, epsilon), axis=0,
    epsilon=1e-4)  # fmt: skip
declare("Roll", lambda x, shift, axis: t.roll(x, shift, axis), shift=(), axis=())
declare("ReverseV2", lambda x, axis: indexing.reverse(x, axis), axis=())
declare("Tril", lambda x, diagonal: t.tril(x, diagonal), diagonal=0)
declare("Triu", lambda x, diagonal: t.triu(x, diagonal), diagonal=0)
declare("Einsum", lambda x, equation: t.einsum(equation, *x), equation="")
declare("InTopK", lambda x, labels, k: neural.intopk(x, labels, k), k=1)
declare("IsClose", lambda x, y, rtol, atol, equal_nan: t.isclose(x, y, rtol, atol, equal_nan),
           rtol=1e-5, atol=1e-8, equal_nan=True)  # fmt: skip
declare("Meshgrid", lambda x, indexing: function.meshgrid(*x, indexing=indexing), indexing="xy")
declare("HShrink", lambda x, lambd: F.hardshrink(x, lambd), lambd=0.5)
declare("SoftShrink", lambda x, lambd: F.softshrink(x, lambd), lambd=0.5)
declare("CeLU", lambda x, alpha: F.celu(x, alpha), alpha=1.0)
declare("CumProd", lambda x, axis, exclusive, reverse: _product(x, axis, exclusive, reverse),
           exclusive=False, reverse=False)  # fmt: skip
declare("DepthToSpace", _depth_to_space, block_size=2)
declare("SpaceToDepth", _space_to_depth, block_size=2)
declare("StridedSlice", indexing.strided_slice, begin_mask=0, end_mask=0, ellipsis_mask=0,
           new_axis_mask=0, shrink_axis_mask=0)  # fmt: skip
declare("StandardNormal", lambda shape, seed, seed2: function.standard_normal(
    shape, seed + seed2 or None), seed=0, seed2=0)  # fmt: skip
declare("UniformReal", lambda shape, seed, seed2: function._seeded(
    seed + seed2 or None, t.rand, shape, None), seed=0, seed2=0)  # fmt: skip
declare("Identity", lambda x: x)
declare("StopGradient", lambda x: as_tensor(x).detach())
declare("ScalarToTensor", lambda x, dtype=dtypes.float32: Tensor(x, dtype))
declare("IOU", lambda a, b, mode: neural.iou(a, b, mode), mode="iou")
declare("NanToNum", lambda x, nan, posinf, neginf: t.nan_to_num(x, nan, posinf, neginf),
           nan=None, posinf=None, neginf=None)  # fmt: skip
declare("ReverseSequence", lambda x, lengths, seq_dim, batch_dim: indexing.reverse_sequence(
    x, lengths, seq_dim, batch_dim), seq_dim=0, batch_dim=0)  # fmt: skip


def _axis_of_three(x: Any, axis: int) -> int:
    """``axis``, or the first of length 3 where none was given."""
    return x.aval.shape.index(3) if axis == -65530 else axis


def _product(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    x = t.flip(x, (axis,)) if reverse else x
    if exclusive:
        ones = t.ones_like(t.narrow(x, axis, 0, 1))
        x = t.cat([ones, t.narrow(x, axis, 0, x.aval.shape[axis] - 1)], axis)
    total = t.cumprod(x, axis)
    return t.flip(total, (axis,)) if reverse else total


def _resize_nearest(x: Any, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Pixels of an image (..., height, width) that are nearest to those of another size.

    The first pixels lie on each other; with ``align_corners`` the last ones, too.

    Raises:
        NotImplementedError: ``half_pixel_centers``, which MindSpore's CPU kernel does not know.
    """
    if half_pixel_centers:
        raise NotImplementedError("ResizeNearestNeighbor(half_pixel_centers=True)")
    x = as_tensor(x)
    for axis, (after, before) in enumerate(zip(size, x.aval.shape[-2:], strict=True), -2):
        places = np.arange(after, dtype=np.float32)
        if align_corners:
            scale = np.float32(before - 1) / np.float32(max(after - 1, 1))
            places = np.floor(places * scale + np.float32(0.5))
        else:
            scale = np.float32(before) / np.float32(after)
            places = np.floor(places * scale)
        x = t.index_select(x, axis, Tensor(np.minimum(places, before - 1).astype(np.int64)))
    return x


declare("ResizeNearestNeighbor", _resize_nearest, size=None, align_corners=False,
           half_pixel_centers=False)  # fmt: skip


globals().update({name: getattr(operations, name) for name in DECLARED[_FIRST:]})
def scalar_to_tensor(input_x: Any, dtype: Any = dtypes.float32) -> Any:
    """A number as a tensor without axes."""
    return Tensor(input_x, dtype)


def identity(x: Any) -> Any:
    """``x``."""
    return x


def eye(n: int, m: int | None = None, dtype: Any = None) -> Any:
    """Ones on the main diagonal of ``n`` rows and ``m`` columns, ``n`` unless given."""
    return t.eye(n, n if m is None else m, dtype=None if dtype is None else as_dtype(dtype))


__all__ = [*DECLARED[_FIRST:], "eye", "identity", "scalar_to_tensor"]  # noqa: PLE0604
