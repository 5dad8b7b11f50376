"""Which quantised module takes the place of which."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn import qat as nnqat
from mindtorch.torch.ao.nn import quantized as nnq
from mindtorch.torch.ao.nn.intrinsic import qat as nniqat
from mindtorch.torch.ao.nn.intrinsic import quantized as nniq
from mindtorch.torch.ao.nn.intrinsic.quantized import dynamic as nniqd
from mindtorch.torch.ao.nn.quantized import dynamic as nnqd

from .fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from .stubs import DeQuantStub, QuantStub
from .utils import get_combined_dict, without_parametrizations

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS", "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings", "get_default_float_to_quantized_operator_mappings",
    "get_default_qat_module_mappings", "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings", "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings", "get_embedding_static_quant_module_mappings",
    "get_quantized_operator", "get_static_quant_module_class",
]  # fmt: skip

_PLAIN = nn.modules.linear.NonDynamicallyQuantizableLinear


def _by_name(names: str, source: Any, target: Any) -> dict[Any, Any]:
    return {getattr(source, name): getattr(target, name) for name in names.split()}


DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize, DeQuantStub: nnq.DeQuantize,
    **_by_name(
        "BatchNorm2d BatchNorm3d Dropout Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d "
        "ConvTranspose3d ELU Embedding EmbeddingBag GroupNorm Hardswish InstanceNorm1d "
        "InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU Linear ReLU6 PReLU", nn, nnq,
    ),
    _PLAIN: nnq.Linear, nnq.FloatFunctional: nnq.QFunctional,
    **_by_name("BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearReLU", nni, nniq),
    nniqat.ConvBn1d: nnq.Conv1d, nniqat.ConvBn2d: nnq.Conv2d, nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nniq.ConvReLU1d, nniqat.ConvBnReLU2d: nniq.ConvReLU2d,
    nniqat.ConvBnReLU3d: nniq.ConvReLU3d,
    **_by_name("ConvReLU2d ConvReLU3d LinearReLU", nniqat, nniq),
    nniqat.LinearBn1d: nnq.Linear,
    **_by_name("Linear Conv2d Conv3d", nnqat, nnq),
}  # fmt: skip
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    **_by_name("Conv2d Conv3d Linear", nn, nnqat), _PLAIN: nnqat.Linear,
    **_by_name(
        "ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU2d ConvReLU3d "
        "LinearReLU LinearBn1d", nni, nniqat,
    ),
}  # fmt: skip
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    **_by_name("GRUCell Linear LSTM GRU LSTMCell RNNCell", nn, nnqd), _PLAIN: nnqd.Linear,
    nni.LinearReLU: nniqd.LinearReLU, **_by_name("EmbeddingBag Embedding", nn, nnq),
}  # fmt: skip
DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS: dict[Any, Any] = _by_name(
    "elu hardswish instance_norm layer_norm leaky_relu", nn.functional, torch.ops.quantized
)
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def no_observer_set() -> set[Any]:
    """The classes of modules that get no observers by themselves: none."""
    return set()


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """What takes the place of calibrated and of trained modules."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """The same, with embeddings that were trained so."""
    return {
        **DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, nnqat.EmbeddingBag: nnq.EmbeddingBag,
        nnqat.Embedding: nnq.Embedding,
    }  # fmt: skip


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """What takes the place of modules for quantisation-aware training."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """The same, with embeddings."""
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **_by_name("EmbeddingBag Embedding", nn, nnqat)}


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """What takes the place of modules whose weights alone are known beforehand."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    """The quantised operators of functions."""
    return dict(DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The classes of modules that get a ``qconfig``."""
    return {
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, *DEFAULT_QAT_MODULE_MAPPINGS,
        *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, nn.Sequential,
    }  # fmt: skip


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    """What takes the place of a class of modules.

    Args:
        float_module_class: the class.
        additional_static_quant_mapping: further ones.
        is_reference: False; there are no reference modules.

    Raises:
        AssertionError: there is nothing.
    """
    return _found(
        float_module_class, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, additional_static_quant_mapping
    )


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: Any = None
) -> Any:
    """What takes the place of a class of modules, whose weights alone are known beforehand.

    Args:
        float_module_class: the class.
        additional_dynamic_quant_mapping: further ones.

    Raises:
        AssertionError: there is nothing.
    """
    return _found(
        float_module_class, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping
    )


def _found(kind: Any, known: Any, more: Any) -> Any:
    found = get_combined_dict(known, more or {}).get(kind)
    if found is None:
        raise AssertionError(
            f"Floating point module class {kind} does not have a corresponding quantized module "
            "class"
        )
    return found


def get_quantized_operator(float_op: Any) -> Any:
    """The quantised operator of a function.

    Args:
        float_op: the function.

    Raises:
        AssertionError: there is none.
    """
    found = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    if found is None:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return found


def special_act_post_process(module: Any) -> Any:
    """What observes a module whose range is known, while it is trained; else None."""
    if not module.training:
        return None
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(without_parametrizations(module))


