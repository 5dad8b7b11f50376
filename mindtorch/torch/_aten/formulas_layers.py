"""Gradients of layers and losses, in calls of overloads, in the order in which torch makes them."""

from __future__ import annotations

from typing import Any

from .formulas import FORMULAS as FORMULAS
from .formulas import gradient
from .lowerings import call

__all__ = ["FORMULAS"]


@gradient("convolution")
def _convolution(
    g: Any, input: Any, weight: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,  # noqa: A002
    output_padding: Any, groups: int, needs: Any, avals: Any,
) -> list[Any]:  # fmt: skip
    sizes = None if avals[2] is None else list(avals[2].shape)
    return list(call(
        "convolution_backward", g, input, weight, sizes, stride, padding, dilation, transposed,
        output_padding, groups, list(needs),
    ))  # fmt: skip


@gradient("upsample_nearest2d", grad_name="UpsampleNearest2DBackward0")
def _upsample(
    g: Any, output_size: Any, scales_h: Any, scales_w: Any, avals: Any
) -> list[Any]:
    shape = list(avals[0].shape)
    return [call("upsample_nearest2d_backward", g, output_size, shape, scales_h, scales_w)]


# --- layers and losses ------------------------------------------------------------------------


@gradient("_softmax")
def _softmax(g: Any, out: Any, dim: int) -> list[Any]:
    return [call("_softmax_backward_data", g, out, dim, out.aval.dtype)]


@gradient("_log_softmax")
def _log_softmax(g: Any, out: Any, dim: int) -> list[Any]:
    return [call("_log_softmax_backward_data", g, out, dim, out.aval.dtype)]


@gradient("native_layer_norm", plain=(1, 2))
def _layer_norm(
    g: Any, input: Any, weight: Any, bias: Any, out1: Any, out2: Any, normalized_shape: Any,  # noqa: A002
    needs: Any,
) -> list[Any]:  # fmt: skip
    return list(call(
        "native_layer_norm_backward", g[0], input, normalized_shape, out1, out2, weight, bias,
        list(needs),
    ))  # fmt: skip


@gradient("native_batch_norm", plain=(1, 2))
def _batch_norm(
    g: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, out1: Any, out2: Any,  # noqa: A002
    training: bool, eps: float, needs: Any,
) -> list[Any]:  # fmt: skip
    made = call(
        "native_batch_norm_backward", g[0], input, weight, running_mean, running_var, out1, out2,
        training, eps, list(needs[:3]),
    )  # fmt: skip
    return [*made, None, None]


@gradient("native_group_norm")
def _group_norm(
    g: Any, input: Any, weight: Any, out1: Any, out2: Any, N: int, C: int, HxW: int, group: int,  # noqa: A002, N803
    needs: Any,
) -> list[Any]:  # fmt: skip
    return list(call(
        "native_group_norm_backward", g[0], input, out1, out2, weight, N, C, HxW, group,
        list(needs),
    ))  # fmt: skip


@gradient("max_pool2d_with_indices", grad_name="MaxPool2DWithIndicesBackward0", plain=(1,))
def _max_pool(
    g: Any, self: Any, out1: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> list[Any]:  # fmt: skip
    return [call(
        "max_pool2d_with_indices_backward", g[0], self, kernel_size, stride, padding, dilation,
        ceil_mode, out1,
    )]  # fmt: skip


@gradient("avg_pool2d", grad_name="AvgPool2DBackward0")
def _avg_pool(
    g: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: Any,
) -> list[Any]:  # fmt: skip
    return [call(
        "avg_pool2d_backward", g, self, kernel_size, stride, padding, ceil_mode,
        count_include_pad, divisor_override,
    )]  # fmt: skip


@gradient("_adaptive_avg_pool2d", grad_name="AdaptiveAvgPool2DBackward0")
def _adaptive_avg_pool(g: Any, self: Any) -> list[Any]:
    return [call("_adaptive_avg_pool2d_backward", g, self)]


@gradient(
    "_scaled_dot_product_flash_attention_for_cpu",
    grad_name="ScaledDotProductFlashAttentionForCpuBackward0", plain=(1,),
)
def _attention(
    g: Any, query: Any, key: Any, value: Any, attn_mask: Any, out0: Any, out1: Any,
    dropout_p: float, is_causal: bool, scale: Any,
) -> list[Any]:  # fmt: skip
    made = call(
        "_scaled_dot_product_flash_attention_for_cpu_backward", g[0], query, key, value, out0,
        out1, dropout_p, is_causal, attn_mask=attn_mask, scale=scale,
    )  # fmt: skip
    return [*made, None]


@gradient("log_sigmoid_forward", grad_name="LogSigmoidBackward0", plain=(1,))
def _log_sigmoid(g: Any, self: Any, out1: Any) -> list[Any]:
    return [call("log_sigmoid_backward", g[0], self, out1)]


@gradient("mse_loss")
def _mse(g: Any, self: Any, target: Any, reduction: int, needs: Any) -> list[Any]:
    pairs = ((self, target), (target, self))
    return [
        call("mse_loss_backward", g, *pair, reduction) if need else None
        for pair, need in zip(pairs, needs, strict=True)
    ]


@gradient("smooth_l1_loss", grad_name="SmoothL1LossBackward0")
def _smooth_l1(
    g: Any, self: Any, target: Any, reduction: int, beta: float, needs: Any
) -> list[Any]:
    pairs = ((self, target), (target, self))
    return [
        call("smooth_l1_loss_backward", g, *pair, reduction, beta) if need else None
        for pair, need in zip(pairs, needs, strict=True)
    ]


@gradient("binary_cross_entropy_with_logits")
def _bce_with_logits(
    g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int, needs: Any
) -> list[Any]:
    if pos_weight is None:
        slope = call("mul.Tensor", call("sub.Tensor", call("sigmoid", self), target), g)
    else:
        t = call("mul.Tensor", pos_weight, target)
        rest = call("rsub.Scalar", call("sub.Tensor", target, t), 1)
        inner = call("sub.Tensor", call("mul.Tensor", rest, call("sigmoid", self)), t)
        slope = call("mul.Tensor", inner, g)
    if weight is not None:
        slope = call("mul.Tensor", slope, weight)
    if reduction == 1:
        slope = call("div_.Scalar", slope, self.aval.size)
    second = None
    if needs[1]:
        second = call("mul.Tensor", call("neg", self), g)
        second = call("div.Scalar", second, self.aval.size) if reduction == 1 else second
    return [slope if needs[0] else None, second, None, None]


@gradient("binary_cross_entropy")
def _bce(g: Any, self: Any, target: Any, weight: Any, reduction: int, needs: Any) -> list[Any]:
    made = call("binary_cross_entropy_backward", g, self, target, weight, reduction)
    return [made if needs[0] else None, None, None]


def _nll(name: str, grad_name: str) -> None:
    """The gradient of a negative log likelihood, of rows or of images."""

    def formula(
        g: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, out1: Any
    ) -> list[Any]:
        made = call(
            f"{name}_backward", g[0], self, target, weight, reduction, ignore_index, out1
        )
        return [made, None, None]

    gradient(f"{name}_forward", grad_name=grad_name, plain=(1,))(formula)


_nll("nll_loss", "NllLossBackward0")
_nll("nll_loss2d", "NllLoss2DBackward0")
