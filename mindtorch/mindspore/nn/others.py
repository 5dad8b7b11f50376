"""Cells that are one function each: paddings, losses, shapes, matrices."""

from __future__ import annotations

from typing import Any

from mindtorch.functional import jvp, vjp

from ..common.tensor import F, t
from ..ops import function, mathematics, neural
from .cell import Cell
from .loss import LossBase

_made: list[str] = []
_NEEDED: Any = object()


def _cell(name: str, run: Any, meaning: str, **settings: Any) -> None:
    """Define a cell: ``run(*inputs, **settings)``, the settings by position or name."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        Cell.__init__(self)
        unknown = set(kwargs) - set(settings)
        if len(args) > len(settings) or unknown:
            raise TypeError(f"{name}() takes the arguments {list(settings)}, got {args} {kwargs}")
        given = dict(zip(settings, args, strict=False))
        self.settings = {**settings, **given, **kwargs}
        missing = [key for key, value in self.settings.items() if value is _NEEDED]
        if missing:
            raise TypeError(f"{name}() needs {missing}")

    def construct(self: Any, *inputs: Any) -> Any:
        return run(*inputs, **self.settings)

    def extend_repr(self: Any) -> str:
        return ", ".join(f"{key}={value}" for key, value in self.settings.items())

    fields = {"__init__": __init__, "construct": construct, "extend_repr": extend_repr}
    globals()[name] = type(name, (Cell,), {**fields, "__doc__": meaning, "__module__": __name__})
    _made.append(name)


# --- paddings ----------------------------------------------------------------------------------


def _pad(axes: int, mode: str) -> Any:
    def run(x: Any, padding: Any, value: float = 0.0) -> Any:
        ends = (padding,) * (2 * axes) if isinstance(padding, int) else tuple(padding)
        if mode == "constant":
            return F.pad(x, ends, "constant", value)
        return F.pad(x, ends, mode)

    return run


for _axes in (1, 2, 3):
    _cell(f"ConstantPad{_axes}d", _pad(_axes, "constant"), "``value`` around the last axes.",
          padding=_NEEDED, value=_NEEDED)  # fmt: skip
    _cell(f"ReflectionPad{_axes}d", _pad(_axes, "reflect"), "Reflections around the last axes.",
          padding=_NEEDED)  # fmt: skip
    _cell(f"ReplicationPad{_axes}d", _pad(_axes, "replicate"), "The edges around the last axes.",
          padding=_NEEDED)  # fmt: skip
_cell("ZeroPad2d", _pad(2, "constant"), "Zeros around the last two axes.", padding=_NEEDED)

# --- pools and shapes --------------------------------------------------------------------------

_cell("AdaptiveMaxPool3d", lambda x, output_size, return_indices: F.adaptive_max_pool3d(
    x, output_size, return_indices), "The largest element of each of ``output_size`` windows.",
    output_size=_NEEDED, return_indices=False)  # fmt: skip
for _axes in (1, 2):
    _cell(f"LPPool{_axes}d", getattr(neural, f"lp_pool{_axes}d"),
          "The norm of order ``norm_type`` of each window.", norm_type=_NEEDED,
          kernel_size=_NEEDED, stride=None, ceil_mode=False)  # fmt: skip
for _axes in (1, 2, 3):
    _cell(f"MaxUnpool{_axes}d", lambda x, indices, output_size=None, *, _axes=_axes, **s:
          getattr(F, f"max_unpool{_axes}d")(x, indices, output_size=output_size, **s),
          "Elements at the places that a max pool found them at, zeros elsewhere.",
          kernel_size=_NEEDED, stride=None, padding=0)  # fmt: skip
_cell("FractionalMaxPool2d", neural.fractional_max_pool2d,
      "The largest element of each of windows at random places.", kernel_size=_NEEDED,
      output_size=None, output_ratio=None, return_indices=False,
      _random_samples=None)  # fmt: skip
_cell("ChannelShuffle", lambda x, groups: F.channel_shuffle(x, groups),
      "The channels of ``groups`` groups in turn.", groups=_NEEDED)  # fmt: skip
_cell("PixelUnshuffle", lambda x, downscale_factor: F.pixel_unshuffle(x, downscale_factor),
      "Blocks of pixels as channels.", downscale_factor=_NEEDED)  # fmt: skip
_cell("LRN", neural.lrn, "Normalization over near channels; see ``ops.lrn``.", depth_radius=5,
      bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS")  # fmt: skip
_cell("Roll", lambda x, shift, axis: t.roll(x, shift, axis), "The elements moved along axes.",
      shift=_NEEDED, axis=_NEEDED)  # fmt: skip
_cell("Tril", lambda x, k=0: t.tril(x, k), "The elements on and below the k-th diagonal.")
_cell("Triu", lambda x, k=0: t.triu(x, k), "The elements on and above the k-th diagonal.")
_cell("MatrixDiag", lambda x: t.diag_embed(x), "Matrices with the rows as diagonals.")
_cell("MatrixDiagPart", lambda x: t.diagonal(x, 0, -2, -1), "The diagonals of matrices.")
_cell("MatrixSetDiag", lambda x, diagonal: t.diagonal_scatter(x, diagonal, 0, -2, -1),
      "Matrices with other diagonals.")  # fmt: skip
_cell("ReduceLogSumExp", lambda x, axis, keep_dims: t.logsumexp(x, axis, keep_dims),
      "log sum exp along ``axis``.", axis=_NEEDED, keep_dims=False)  # fmt: skip
_cell("Range", lambda start, limit, delta: function.range(
    0 if limit is None else start, start if limit is None else limit, delta),
    "Numbers below a limit.", start=_NEEDED, limit=None, delta=1)  # fmt: skip


def _matmul(x1: Any, x2: Any, transpose_x1: bool, transpose_x2: bool) -> Any:
    x1 = t.transpose(x1, -2, -1) if transpose_x1 else x1
    return t.matmul(x1, t.transpose(x2, -2, -1) if transpose_x2 else x2)


def _moments(x: Any, axis: Any, keep_dims: Any) -> Any:
    axes = tuple(range(x.aval.ndim)) if axis is None or axis == () else axis
    mean = t.mean(x, axes, keepdim=True)
    variance = t.mean(t.square(x - mean), axes, keepdim=True)
    if keep_dims:
        return mean, variance
    return t.mean(x, axes), t.mean(t.square(x - mean), axes)


_cell("MatMul", _matmul, "The matrix product.", transpose_x1=False, transpose_x2=False)
_cell("Moments", _moments, "(mean, variance) along axes.", axis=None, keep_dims=None)
_cell("MatInverse", lambda x: t.inverse(x), "The inverse of matrices.")
_cell("MatDet", lambda x: mathematics.det(x), "The determinant of matrices.")  # type: ignore[attr-defined]
_cell("LGamma", lambda x: t.lgamma(x), "log |gamma(x)|.")
_cell("DiGamma", lambda x: t.digamma(x), "The derivative of log gamma.")
_cell("IGamma", lambda a, x: t.igamma(a, x), "The regularized lower incomplete gamma function.")
_cell("L1Regularizer", lambda weights, scale: t.sum(t.abs(weights)) * scale,
      "``scale`` times the sum of |weights|.", scale=_NEEDED)  # fmt: skip

# --- activations -------------------------------------------------------------------------------

_cell("FastGelu", neural.fast_gelu, "x sigmoid(1.702 x).")
_cell("SeLU", lambda x: F.selu(x), "The self-normalising exponential unit.")
_cell("Softmax2d", lambda x: F.softmax(x, -3), "The softmax over the channels.")
_cell("Tanhshrink", lambda x: x - t.tanh(x), "x - tanh(x).")
_cell("RReLU", neural.rrelu, "x where positive, elsewhere times a random slope.", lower=0.125,
      upper=1.0 / 3)  # fmt: skip

# --- losses ------------------------------------------------------------------------------------


def _loss(name: str, run: Any, meaning: str, **settings: Any) -> None:
    """Define a loss: ``run(*inputs, **settings, reduction=...)``."""
    _cell(name, run, meaning, **settings)
    made = globals()[name]
    first = made.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        first(self, *args, **kwargs)
        LossBase.__init__(check := LossBase.__new__(LossBase), self.settings["reduction"])
        self.reduction = check.reduction

    globals()[name] = type(name, (made, LossBase), {
        "__init__": __init__, "__doc__": meaning, "__module__": __name__
    })  # fmt: skip


def _poisson(x: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: str) -> Any:
    return F.poisson_nll_loss(x, target, log_input, full, eps=eps, reduction=reduction)


def _focal(logits: Any, labels: Any, weight: Any, gamma: float, reduction: str) -> Any:
    """-(1 - p)^gamma log p of the labelled class, over (N, C, ...) logits."""
    logs = F.log_softmax(logits, 1)
    if labels.aval.ndim == logits.aval.ndim and labels.aval.shape[1] == 1:
        labels = t.squeeze(labels, 1)
    if labels.aval.ndim == logits.aval.ndim:
        chosen, own = labels.to(logs.aval.dtype), None
    else:
        own = t.unsqueeze(labels.long(), 1)
        chosen = None
    values = logs * chosen if chosen is not None else t.gather(logs, 1, own)
    chance = t.exp(logs) if chosen is not None else t.exp(values)
    if weight is not None:
        shaped = t.reshape(weight, (1, -1) + (1,) * (logits.aval.ndim - 2))
        shaped = t.broadcast_to(shaped, logs.aval.shape)
        values = values * (shaped if own is None else t.gather(shaped, 1, own))
    loss = t.mean(-t.pow(1 - chance, gamma) * values, 1)
    return loss if reduction == "none" else t.mean(loss) if reduction == "mean" else t.sum(loss)


_loss("GaussianNLLLoss", lambda x, target, var, full, eps, reduction: F.gaussian_nll_loss(
    x, target, var, full, eps, reduction), "See ``ops.gaussian_nll_loss``.",
    full=False, eps=1e-6, reduction="mean")  # fmt: skip
_loss("HingeEmbeddingLoss", neural.hinge_embedding_loss,  # type: ignore[attr-defined]
      "x where the label is 1, max(0, margin - x) where it is -1.", margin=1.0,
      reduction="mean")  # fmt: skip
_loss("MarginRankingLoss", neural.margin_ranking_loss,  # type: ignore[attr-defined]
      "max(0, -target (a - b) + margin).", margin=0.0, reduction="mean")  # fmt: skip
_loss("MultiLabelSoftMarginLoss", neural.multilabel_soft_margin_loss,  # type: ignore[attr-defined]
      "The mean cross entropy of several labels.", weight=None, reduction="mean")  # fmt: skip
_loss("MultilabelMarginLoss", neural.multilabel_margin_loss,  # type: ignore[attr-defined]
      "Hinges between labelled and other classes.", reduction="mean")  # fmt: skip
_loss("MultiMarginLoss", lambda x, target, p, margin, reduction, weight: neural.multi_margin_loss(
    x, target, p, margin, weight, reduction), "Hinges between the label and other classes.",
    p=1, margin=1.0, reduction="mean", weight=None)  # fmt: skip
_loss("PoissonNLLLoss", _poisson, "exp(x) - target x, the loss of Poisson's distribution.",
      log_input=True, full=False, eps=1e-8, reduction="mean")  # fmt: skip
_loss("TripletMarginLoss", lambda x, positive, negative, margin_=None, *, p, swap, eps, reduction,
      margin: neural.triplet_margin_loss(
          x, positive, negative, margin if margin_ is None else margin_, p, eps, swap, reduction),
      "max(0, distance to the positive - distance to the negative + margin).", p=2, swap=False,
      eps=1e-6, reduction="mean", margin=1.0)  # fmt: skip
_loss("CTCLoss", lambda x, targets, lengths, label_lengths, blank, reduction, zero_infinity:
      neural.ctc_loss(x, targets, lengths, label_lengths, blank, reduction, zero_infinity)[0],
      "The connectionist loss of sequences.", blank=0, reduction="mean",
      zero_infinity=False)  # fmt: skip
_loss("FocalLoss", _focal, "The cross entropy, weaker for what is known already.", weight=None,
      gamma=2.0, reduction="mean")  # fmt: skip


class PSNR(Cell):
    """10 log10(max_val^2 / mean squared difference) of each picture (N, C, H, W)."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = float(max_val)

    def construct(self, img1: Any, img2: Any) -> Any:
        scale = self.max_val**2
        difference = t.mean(t.square(img1 - img2), (-3, -2, -1))
        return 10 * t.log10(scale / difference)


class TimeDistributed(Cell):
    """``layer`` applied to each slice along ``time_axis``.

    Args:
        reshape_with_axis: slices are computed as one batch, joined with this axis.
    """

    def __init__(self, layer: Any, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        self.layer, self.time_axis = layer, time_axis
        if reshape_with_axis is not None and (time_axis, reshape_with_axis) != (1, 0):
            raise NotImplementedError("TimeDistributed: reshape_with_axis other than 0 with time 1")
        self.joined = reshape_with_axis is not None

    def construct(self, inputs: Any) -> Any:
        if self.joined:
            n, steps = inputs.aval.shape[:2]
            flat = self.layer(t.reshape(inputs, (n * steps, *inputs.aval.shape[2:])))
            return t.reshape(flat, (n, steps, *flat.aval.shape[1:]))
        return t.stack(
            [self.layer(each) for each in t.unbind(inputs, self.time_axis)], self.time_axis
        )


class Jvp(Cell):
    """``cell(*inputs, vector)`` returns (value, product of the Jacobian with the vector)."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        inputs, vectors = args[:-1], args[-1]
        if len(inputs) == 1:
            return jvp(self.fn, inputs[0], vectors)
        return jvp(self.fn, inputs, vectors)


class Vjp(Cell):
    """``cell(*inputs, vector)`` returns (value, product of the vector with the Jacobian)."""

    def __init__(self, fn: Any) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        value, pull = vjp(self.fn, *args[:-1])
        vector = args[-1]
        pulled = pull(*vector) if isinstance(vector, (tuple, list)) else pull(vector)
        return value, pulled


class CentralCrop(Cell):
    """The middle of pictures (..., H, W): a fraction of both lengths.

    Args:
        central_fraction: between 0 and 1.
    """

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        if not 0 < central_fraction <= 1:
            raise ValueError(f"'central_fraction' must be in (0, 1], but got {central_fraction}")
        self.central_fraction = float(central_fraction)

    def construct(self, image: Any) -> Any:
        high, wide = image.aval.shape[-2:]
        top = int((high - high * self.central_fraction) / 2)
        left = int((wide - wide * self.central_fraction) / 2)
        return image[..., top : high - top, left : wide - left]


class ImageGradients(Cell):
    """(differences of rows, differences of columns), zeros at the end."""

    def construct(self, images: Any) -> Any:
        down = images[..., 1:, :] - images[..., :-1, :]
        right = images[..., 1:] - images[..., :-1]
        return F.pad(down, (0, 0, 0, 1)), F.pad(right, (0, 1))


__all__ = [  # noqa: PLE0604
    "CentralCrop", "ImageGradients", "Jvp", "PSNR", "TimeDistributed", "Vjp", *_made
]  # fmt: skip
