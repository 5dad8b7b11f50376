"""Functions of ``torch`` that say in other words what ``torch.nn.functional`` says.

``torch.batch_norm`` and its like take their arguments in another order than the functions of
the same name in :mod:`torch.nn.functional`, and reductions and modes as numbers.
"""

from __future__ import annotations

from typing import Any

from .._api.arguments import require_tensor
from ..nn import functional as F  # noqa: N812
from ..nn._functional_activation import rrelu_by
from ..nn._functional_dropout import drop_where
from ..nn._functional_padding import constant_pad_nd
from ..nn.modules.rnn import gru_step, lstm_step

__all__ = [
    "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_",
    "batch_norm", "binary_cross_entropy_with_logits", "constant_pad_nd", "cosine_embedding_loss",
    "ctc_loss", "dropout", "dropout_", "embedding", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d",
    "group_norm", "gru_cell", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm",
    "lstm_cell", "margin_ranking_loss", "norm_except_dim", "poisson_nll_loss", "rms_norm",
    "rnn_relu_cell", "rnn_tanh_cell", "rrelu", "rrelu_", "triplet_margin_loss",
]  # fmt: skip

_REDUCTIONS = ("none", "mean", "sum")
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _reduction(number: int) -> str:
    if number not in (0, 1, 2):
        raise RuntimeError(f"Expected reduction to be 0 (none), 1 (mean) or 2 (sum), got {number}")
    return _REDUCTIONS[number]


def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,  # noqa: A002
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each channel."""
    if running_mean is None and not training:
        raise RuntimeError("running_mean must be defined in evaluation mode")
    return F.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,  # noqa: A002
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each sample and channel."""
    return F.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,  # noqa: A002
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(var + eps) * weight + bias`` over the last axes."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,  # noqa: A002
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """``(x - mean) / sqrt(var + eps) * weight + bias`` for each group of channels."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:  # noqa: A002
    """``x / sqrt(mean(x^2) + eps) * weight`` over the last axes."""
    return F.rms_norm(input, normalized_shape, weight, eps)


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of ``weight`` that ``indices`` name; a negative ``padding_idx`` names none."""
    require_tensor(weight, "embedding", "weight", 1)
    require_tensor(indices, "embedding", "indices", 2)
    place = None if padding_idx < 0 else padding_idx
    return F.embedding(
        indices, weight, place, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse
    )


def _dropouts(name: str, like: Any, about: str) -> tuple[Any, Any]:
    """``torch.<name>(input, p, train)`` and its in-place form."""

    def check(p: float) -> None:
        if p < 0.0 or p > 1.0:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")

    def outside(input: Any, p: float, train: bool) -> Any:  # noqa: A002
        require_tensor(input, name, "input", 1)
        check(p)
        return like(input, p, train)

    def inside(input: Any, p: float, train: bool) -> Any:  # noqa: A002
        require_tensor(input, name + "_", "input", 1)
        check(p)
        return like(input, p, train, inplace=True)

    for body, own in ((outside, name), (inside, name + "_")):
        body.__name__ = body.__qualname__ = own
        body.__doc__ = about
    return outside, inside


def _feature_dropout(x: Any, p: float, train: bool, inplace: bool = False) -> Any:
    return drop_where(x, p, train, inplace, feature=True)


dropout, dropout_ = _dropouts(
    "dropout", F.dropout, "Each element 0 with probability ``p``, else divided by ``1 - p``."
)
feature_dropout, feature_dropout_ = _dropouts(
    "feature_dropout", _feature_dropout, "Each channel 0 with probability ``p``, or / (1 - p)."
)
alpha_dropout, alpha_dropout_ = _dropouts(
    "alpha_dropout", F.alpha_dropout, "Dropout that keeps the mean and variance of SELU's values."
)
feature_alpha_dropout, feature_alpha_dropout_ = _dropouts(
    "feature_alpha_dropout", F.feature_alpha_dropout, "Alpha dropout of whole channels."
)


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,  # noqa: A002
    generator: Any = None,
) -> Any:  # fmt: skip
    """``x`` where positive, else ``x`` times a slope drawn between ``lower`` and ``upper``.

    Args:
        training: whether the slope is drawn; otherwise it is the mean of both bounds.
    """
    return rrelu_by(generator, input, lower, upper, training, False)


def rrelu_(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,  # noqa: A002
    generator: Any = None,
) -> Any:  # fmt: skip
    """:func:`rrelu`, in place.

    Args:
        lower, upper, training: as there.
    """
    return rrelu_by(generator, input, lower, upper, training, True)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:  # noqa: A002
    """The largest element of each of ``output_size`` windows, and where it is."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool  # noqa: A002
) -> Any:
    """:func:`torch.nn.functional.grid_sample` with its modes as numbers.

    Args:
        grid: (N, H, W, 2) or (N, D, H, W, 3), places between -1 and 1, x first.
    """
    return F.grid_sample(
        input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: Any, size: Any, align_corners: bool) -> Any:
    """The sampling grid of the affine maps ``theta``.

    Args:
        size: (N, C, H, W) or (N, C, D, H, W) of the result that is sampled with it.
    """
    return F.affine_grid(theta, size, align_corners)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 0  # noqa: A002
) -> Any:
    """``-(y log(s) + (1 - y) log(1 - s))`` of ``s = sigmoid(x)``.

    Args:
        target: y, as large as ``input``.
        weight: a factor for each element.
        pos_weight: a factor of the first term, for each class.
    """
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""
    return F.cosine_embedding_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, reduction: int = 0  # noqa: A002
) -> Any:
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:  # noqa: A002
    """``target (log(target) - input)``; reduction 1 divides by the number of elements.

    Args:
        log_target: targets are logarithms, too.
    """
    total = F.kl_div(input, target, reduction="none", log_target=log_target)
    return {"none": lambda: total, "mean": total.mean, "sum": total.sum}[_reduction(reduction)]()


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: int = 0
) -> Any:
    """``max(0, -target (input1 - input2) + margin)``."""
    return F.margin_ranking_loss(
        input1, input2, target, margin, reduction=_reduction(reduction)
    )


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int  # noqa: A002
) -> Any:
    """The negative log-likelihood of counts ``target`` under Poisson rates.

    Args:
        log_input: the rates are ``exp(input)``; otherwise the input itself.
        full: add Stirling's approximation of ``log(target!)``.
        eps: added to the rates before the logarithm.
    """
    return F.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = 0,
) -> Any:  # fmt: skip
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        p: the order of the norm d.
        eps: added to differences.
        swap: take the distance of positive and negative, where it is less than that of the anchor.
    """
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )


def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: int = 0, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """-log of the probability of the targets, summed over all alignments with the steps.

    Args:
        log_probs: (time, batch, classes).
        input_lengths, target_lengths: of each sample.
        blank: the class that stands for nothing.
        zero_infinity: 0 in place of an infinite loss.
    """
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction),
        zero_infinity,
    )  # fmt: skip


def _check_cell(gates: int, input: Any, hx: Any, w_ih: Any, w_hh: Any) -> None:  # noqa: A002
    """torch's errors for shapes of a step of a recurrent layer with so many gates."""
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}"
        )
    hidden = w_hh.size(1)
    if gates == 3:  # the order of the checks is that of PyTorch's functions
        _check_hidden(input, hx, hidden)
    for name, weight in (("ih", w_ih), ("hh", w_hh)):
        if weight.size(0) != gates * hidden:
            raise RuntimeError(
                f"weight_{name} first dim must be {gates} * hidden_size = {gates * hidden}, but "
                f"got {weight.size(0)}"
            )
    _check_hidden(input, hx, hidden)


def _check_hidden(input: Any, hx: Any, hidden: int) -> None:  # noqa: A002
    if input.size(0) != hx.size(0):
        raise RuntimeError(
            f"Input batch size {input.size(0)} doesn't match hidden0 batch size {hx.size(0)}"
        )
    if hx.size(1) != hidden:
        raise RuntimeError(
            f"hidden0 has inconsistent hidden_size: got {hx.size(1)}, expected {hidden}"
        )


def lstm_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None  # noqa: A002
) -> tuple[Any, Any]:
    """h and c after one step of an LSTM from ``hx = (h, c)``."""
    _check_cell(4, input, hx[0], w_ih, w_hh)
    return lstm_step(F.linear(input, w_ih, b_ih) + F.linear(hx[0], w_hh, b_hh), hx[1])


def gru_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None  # noqa: A002
) -> Any:
    """h after one step of gated recurrent units."""
    _check_cell(3, input, hx, w_ih, w_hh)
    return gru_step(F.linear(input, w_ih, b_ih), F.linear(hx, w_hh, b_hh), hx)


def rnn_tanh_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None  # noqa: A002
) -> Any:
    """``tanh(W_ih x + b_ih + W_hh h + b_hh)``."""
    _check_cell(1, input, hx, w_ih, w_hh)
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None  # noqa: A002
) -> Any:
    """``relu(W_ih x + b_ih + W_hh h + b_hh)``."""
    _check_cell(1, input, hx, w_ih, w_hh)
    return (F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh)).relu()


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:  # noqa: A002
    """The ``pow``-norm of each slice along axis ``dim``, shaped to divide ``v``."""
    if dim == -1:
        return v.norm(pow)
    rows = v.transpose(0, dim).reshape(v.shape[dim], -1).norm(pow, 1)
    return rows.view([-1 if i == dim % v.dim() else 1 for i in range(v.dim())])
