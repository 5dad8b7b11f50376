"""Which modules become one, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch import nn
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from .utils import get_combined_dict

__all__ = [
    "fuse_conv_bn", "fuse_conv_bn_relu", "fuse_convtranspose_bn", "fuse_linear_bn",
    "get_fuser_method",
]  # fmt: skip


def _same_mode(what: str, *modules: Any) -> None:
    if len({module.training for module in modules}) > 1:
        raise AssertionError(f"{what} both must be in the same mode (train or eval).")


def _trainable(layer: Any, bn: Any, length: int, kind: str) -> None:
    """Check that a batch norm can be trained as one with a layer."""
    if bn.num_features != length:
        raise AssertionError(
            "Output channel of Conv2d must match num_features of BatchNorm2d."
            if kind == "Conv" else
            "Output features of Linear must match num_features of BatchNorm1d"
        )  # fmt: skip
    name = "BatchNorm2d" if kind == "Conv" else "BatchNorm1d"
    if not bn.affine:
        raise AssertionError(f"Only support fusing {name} with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError(f"Only support fusing {name} with tracking_running_stats set to True")


_SPATIAL = {nn.Conv1d: 1, nn.Conv2d: 2, nn.Conv3d: 3}


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and a batch norm as one module; evaluated ones become a convolution.

    Args:
        is_qat: for quantisation-aware training.
        conv, bn: the modules.

    Raises:
        AssertionError: they do not fit together.
    """
    _same_mode("Conv and BN", conv, bn)
    if not is_qat:
        return fuse_conv_bn_eval(conv, bn)
    _trainable(conv, bn, conv.out_channels, "Conv")
    if type(conv) not in _SPATIAL:
        raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
    return getattr(nni, f"ConvBn{_SPATIAL[type(conv)]}d")(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """A convolution, a batch norm and a ReLU as one module.

    Args:
        is_qat: for quantisation-aware training.
        conv, bn, relu: the modules.

    Raises:
        AssertionError: they do not fit together.
    """
    _same_mode("Conv and BN", conv, bn, relu)
    spatial = _SPATIAL.get(type(conv))
    if spatial is None:
        mode = "train" if is_qat else "eval"
        raise NotImplementedError(f"Cannot fuse {mode} modules: {(conv, bn, relu)}")
    if not is_qat:
        return getattr(nni, f"ConvReLU{spatial}d")(fuse_conv_bn_eval(conv, bn), relu)
    _trainable(conv, bn, conv.out_channels, "Conv")
    return getattr(nni, f"ConvBnReLU{spatial}d")(conv, bn, relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear map and a batch norm as one module; evaluated ones become a linear map.

    Args:
        is_qat: for quantisation-aware training.
        linear, bn: the modules.

    Raises:
        AssertionError: they do not fit together.
    """
    _same_mode("Linear and BN", linear, bn)
    if not is_qat:
        return fuse_linear_bn_eval(linear, bn)
    _trainable(linear, bn, linear.out_features, "Linear")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """An evaluated transposed convolution and a batch norm as one.

    Args:
        is_qat: False.
        convt, bn: the modules.

    Raises:
        Exception: for quantisation-aware training.
    """
    _same_mode("ConvTranspose and BN", convt, bn)
    if is_qat:
        raise Exception(
            "Fusing ConvTranspose+BatchNorm not yet supported in QAT."
        )
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _in_order(kind: Any) -> Callable[..., Any]:
    return lambda is_qat, *modules: kind(*modules)


DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[tuple[Any, ...], Callable[..., Any]] = {
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _in_order(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _in_order(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _in_order(nni.BNReLU3d),
}
for _n in (1, 2, 3):
    _conv, _bn = getattr(nn, f"Conv{_n}d"), getattr(nn, f"BatchNorm{_n}d")
    DEFAULT_OP_LIST_TO_FUSER_METHOD |= {
        (_conv, _bn): fuse_conv_bn, (_conv, _bn, nn.ReLU): fuse_conv_bn_relu,
        (_conv, nn.ReLU): _in_order(getattr(nni, f"ConvReLU{_n}d")),
        (getattr(nn, f"ConvTranspose{_n}d"), _bn): fuse_convtranspose_bn,
    }  # fmt: skip


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Any:
    """What makes one module of modules of these classes.

    Args:
        op_list: a tuple of classes.
        additional_fuser_method_mapping: further ones, by such tuples.

    Raises:
        AssertionError: there is none.
    """
    known = get_combined_dict(
        DEFAULT_OP_LIST_TO_FUSER_METHOD, additional_fuser_method_mapping or {}
    )
    found = known.get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found
