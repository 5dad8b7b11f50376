"""Functions of networks with MindSpore's names and arguments: losses, pools, random numbers."""

from __future__ import annotations

from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes

from ..common.dtype import as_dtype
from ..common.tensor import F, as_tensor, t
from . import function
from ._words import named

_neural = torch.nn.functional
# the same arguments by position
_SAME = """
    adaptive_max_pool3d affine_grid cosine_embedding_loss dropout1d dropout2d dropout3d
    gaussian_nll_loss hinge_embedding_loss margin_ranking_loss multilabel_margin_loss max_unpool1d
    max_unpool2d max_unpool3d multilabel_soft_margin_loss soft_margin_loss tanhshrink threshold
    gumbel_softmax lp_pool1d lp_pool2d pdist channel_shuffle
""".split()
for _name in _SAME:
    globals()[_name] = named(
        getattr(_neural, _name), x="input", inputs="input", targets="target", thr="threshold"
    )
soft_shrink = named(_neural.softshrink)


def avg_pool1d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window."""
    return F.avg_pool1d(input_x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool3d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The mean of each window."""
    divisor = divisor_override or None
    return F.avg_pool3d(
        input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor
    )


def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    return F.max_pool3d(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
    return_indices: bool = False, _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The largest element of each of windows that overlap at random places."""
    return F.fractional_max_pool2d(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


def col2im(
    input_x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any
) -> Any:
    """Sums of the windows' elements at their places; windows (N, C, kernel, places).

    Args:
        padding_value: places added at both ends of each axis.
    """
    count, channels, kernel, places = input_x.aval.shape
    windows = t.reshape(input_x, (count, channels * kernel, places))
    size = [int(n) for n in output_size]
    return F.fold(windows, size, kernel_size, dilation, padding_value, stride)


def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Any:
    """The softmax of -x along ``axis``."""
    return F.softmin(x, axis, dtype=None if dtype is None else as_dtype(dtype))


def fast_gelu(x: Any) -> Any:
    """x sigmoid(1.702 x)."""
    return t.mul(x, t.sigmoid(t.mul(x, 1.702)))


def rrelu(input: Any, lower: float = 0.125, upper: float = 1.0 / 3) -> Any:  # noqa: A002
    """x where positive, elsewhere times a random slope between the limits."""
    return F.rrelu(input, lower, upper, True)


def lrn(
    x: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Any:  # fmt: skip
    """x / (bias + alpha sum of squares over the near channels)^beta.

    Args:
        depth_radius: how many channels on either side are near.
        norm_region: "ACROSS_CHANNELS".
    """
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"norm_region must be ACROSS_CHANNELS, but got {norm_region!r}")
    size = 2 * depth_radius + 1
    return F.local_response_norm(x, size, alpha * size, beta, bias)


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """(x gamma / root of the mean of squares, 1 / that root)."""
    axes = tuple(range(-gamma.aval.ndim, 0))
    inverse = t.rsqrt(t.mean(t.square(x.float()), axes, keepdim=True) + epsilon)
    return (x * inverse.to(x.aval.dtype)) * gamma, inverse


def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1, weight: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin - x_label + x_i)^p over the classes, divided by their number."""
    return F.multi_margin_loss(input, target.long(), p, margin, weight, reduction=reduction)


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: int = 2, eps: float = 1e-6,
    swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, distance to the positive - distance to the negative + margin).

    Args:
        eps: added to differences.
    """
    return F.triplet_margin_loss(
        anchor, positive, negative, float(as_tensor(margin).item()), p, eps, swap,
        reduction=reduction,
    )  # fmt: skip


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """(the connectionist loss, None): logarithms of the paths are kept for the gradient only.

    Args:
        log_probs: (time, batch, classes).
        targets: class numbers, (batch, length) or in a row.
        input_lengths, target_lengths: of each sample.
        blank: the class that stands for nothing.
        zero_infinity: 0 in place of an infinite loss.
    """
    loss = F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    )
    return loss, None


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",  # noqa: A002
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
) -> Any:  # fmt: skip
    """The same as ``interpolate``."""
    return F.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the labels ``x2`` are among the ``k`` most probable classes."""
    own = t.gather(x1, 1, t.unsqueeze(x2, 1).long())
    return t.lt(t.sum(t.gt(x1, own).long(), 1), int(k))


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Any:
    """Areas of the intersections of boxes (x0, y0, x1, y1) over those of the unions ("iou") or of
    the true boxes ("iof"): rows for ``gt_boxes``, columns for ``anchor_boxes``. Boxes hold their
    last pixel.

    Args:
        mode: as named.
    """
    if mode not in ("iou", "iof"):
        raise ValueError(f"mode must be iou or iof, but got {mode!r}")
    a, b = t.unsqueeze(anchor_boxes, 0), t.unsqueeze(gt_boxes, 1)
    low, high = t.maximum(a[..., :2], b[..., :2]), t.minimum(a[..., 2:], b[..., 2:])
    shared = t.prod(t.clamp(high - low + 1, min=0), -1)
    area_a = t.prod(a[..., 2:] - a[..., :2] + 1, -1)
    area_b = t.prod(b[..., 2:] - b[..., :2] + 1, -1)
    return shared / (area_a + area_b - shared if mode == "iou" else area_b)


def space_to_batch_nd(input_x: Any, block_shape: Any, paddings: Any) -> Any:
    """Blocks of the last axes laid out along the first."""
    blocks = _listed(block_shape, input_x.aval.ndim - 2)
    ends = [n for pair in reversed(list(paddings)) for n in pair]
    x = F.pad(input_x, ends)
    lead = x.aval.shape[: -len(blocks)]
    sizes = x.aval.shape[-len(blocks) :]
    split: list[int] = [*lead]
    for length, block in zip(sizes, blocks, strict=True):
        split += [length // block, block]
    first, count = len(lead), len(blocks)
    inner = [first + 2 * i + 1 for i in range(count)]
    outer = [first + 2 * i for i in range(count)]
    x = t.permute(t.reshape(x, split), (*inner, *range(first), *outer))
    rest = [n // b for n, b in zip(sizes, blocks, strict=True)]
    return t.reshape(x, (-1, *lead[1:], *rest))


def batch_to_space_nd(input_x: Any, block_shape: Any, crops: Any) -> Any:
    """What :func:`space_to_batch_nd` took apart, without ``crops`` at the ends."""
    blocks = _listed(block_shape, input_x.aval.ndim - 2)
    count = len(blocks)
    lead, sizes = input_x.aval.shape[:-count], input_x.aval.shape[-count:]
    x = t.reshape(input_x, (*blocks, -1, *lead[1:], *sizes))
    order = list(range(count, count + len(lead)))
    for i in range(count):
        order += [count + len(lead) + i, i]
    x = t.permute(x, order)
    whole = [n * b for n, b in zip(sizes, blocks, strict=True)]
    x = t.reshape(x, (*x.aval.shape[: len(lead)], *whole))
    for i, (before, after) in enumerate(crops):
        axis = len(lead) + i
        x = t.narrow(x, axis, before, x.aval.shape[axis] - before - after)
    return x


def _listed(block: Any, count: int) -> list[int]:
    return [int(block)] * count if isinstance(block, int) else [int(n) for n in block]


def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Any:
    """Padded with its own elements: "REFLECT" without, "SYMMETRIC" with those at the edge.

    Args:
        mode: as named.
    """
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"mode must be REFLECT or SYMMETRIC, but got {mode!r}")
    shift = 1 if mode == "REFLECT" else 0
    for axis, pair in enumerate(paddings.tolist() if hasattr(paddings, "tolist") else paddings):
        before, after = pair
        length = input_x.aval.shape[axis]
        if max(before, after) > length - shift:
            raise ValueError(f"For 'mirror_pad', {pair} is too much for an axis of {length}")
        places = [*range(before - 1 + shift, shift - 1, -1), *range(length)]
        places += range(length - 1 - shift, length - 1 - shift - after, -1)
        input_x = t.index_select(input_x, axis, t.tensor(places, dtype=dtypes.int64))
    return input_x


# --- random numbers ----------------------------------------------------------------------------


def _like(what: str, draw: Any) -> Any:
    def call(input: Any, *args: Any, seed: int | None = None, dtype: Any = None) -> Any:  # noqa: A002
        kind = input.aval.dtype if dtype is None else as_dtype(dtype)
        return draw(input.aval.shape, *args, kind, seed)

    call.__doc__ = f"{what}, in the shape of ``input`` and, without ``dtype``, of its type."
    return call


rand_like = _like(
    "Uniform numbers in [0, 1)",
    lambda shape, kind, seed: function.rand(shape, dtype=kind, seed=seed),
)
randn_like = _like(
    "Normal numbers", lambda shape, kind, seed: function.randn(shape, dtype=kind, seed=seed)
)
randint_like = _like(
    "Whole numbers from the first limit below the second",
    lambda shape, low, high, kind, seed: function.randint(low, high, shape, dtype=kind, seed=seed),
)


def _drawn(seed: int | None, name: str, shape: Any, *parameters: Any) -> Any:
    """Samples of a distribution, of ``shape`` for each parameter."""
    made = getattr(torch.distributions, name)(*(as_tensor(p).float() for p in parameters))
    return function._seeded(seed, lambda s, dtype: named(made.sample)(s), shape, None)


def standard_laplace(shape: Any, seed: int | None = None) -> Any:
    """Laplace's distribution around 0 with the scale 1."""
    return _drawn(seed, "Laplace", shape, 0.0, 1.0)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Any:
    """Laplace's distribution around ``mean``."""
    return _drawn(seed, "Laplace", shape, mean, lambda_param)


def gamma(shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Any:
    """The gamma distribution of shape ``alpha`` and rate ``beta``."""
    return _drawn(seed, "Gamma", shape, alpha, beta)


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Any:
    """The gamma distribution of shape ``alpha`` and rate 1."""
    return _drawn(seed, "Gamma", shape, alpha, t.ones_like(as_tensor(alpha)))


def random_poisson(
    shape: Any, rate: Any, seed: int | None = None, dtype: Any = dtypes.float32
) -> Any:
    """Poisson's distribution of a rate."""
    return _drawn(seed, "Poisson", shape, rate).to(as_dtype(dtype))


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Any:
    """Poisson's distribution of a mean, as int32."""
    return random_poisson(shape, mean, seed, dtypes.int32)


def random_categorical(
    logits: Any, num_sample: int, seed: int = 0, dtype: Any = dtypes.int64
) -> Any:
    """Classes drawn with the probabilities softmax(logits)."""
    chances = F.softmax(logits, -1)
    drawn = function._seeded(
        seed or None, lambda s, dtype: t.multinomial(chances, num_sample, True), (), None
    )
    return drawn.to(as_dtype(dtype))


def shuffle(x: Any, seed: int | None = None) -> Any:
    """The slices along the first axis in random order."""
    order = function.randperm(x.aval.shape[0], seed)
    return t.index_select(x, 0, order)


_LOCAL = {"Any", "F", "annotations", "as_dtype", "as_tensor", "dtypes", "function", "named", "t",
          "torch"}  # fmt: skip
__all__ = [name for name in list(globals()) if not name.startswith("_") and name not in _LOCAL]
