"""What is known of the operations in a graph: which are quantised, and how."""

from __future__ import annotations

import operator
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._api.public import record_of
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn import quantized as nnq

from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase
from .qconfig_mapping import FIXED_QPARAMS_OP_TO_OBSERVER as _FIXED
from .quantization_mappings import (
    DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
)
from .stubs import DeQuantStub, QuantStub

__all__ = [
    "FUNCTIONS", "KNOWN", "PAIRS", "RELU", "Kind", "dynamic_class", "first_class", "is_observer",
    "key_of", "kind_of", "module_of", "target_of",
]  # fmt: skip

F = nn.functional


def key_of(target: Any) -> Any:
    """What tells a function from others, whatever is put in front of it while a graph is traced."""
    known = record_of(target)
    return target if known is None else known.body


RELU = (nn.ReLU, key_of(F.relu), key_of(torch.relu), "relu", "relu_")


class Kind:
    """How an operation is quantised."""

    OWN = "with levels of its own"
    SAME = "on the levels of what comes in"
    KNOWN = "on levels that its range asks for"
    PAIR = "a sum or product of two"
    JOINED = "several on the levels of one"
    NONE = "not"


_MODULES = set(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS) - {
    QuantStub, DeQuantStub, nn.Dropout, nn.ReLU6, nn.Embedding, nn.EmbeddingBag,
    nnq.FloatFunctional,
}  # fmt: skip
_SAME: set[Any] = set(map(key_of, (
    nn.Identity, nn.Dropout, nn.Flatten, nn.MaxPool1d, nn.MaxPool2d, nn.AvgPool2d, nn.AvgPool3d,
    nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.Hardtanh, nn.ReLU, nn.ReLU6, nn.PixelShuffle,
    nn.PixelUnshuffle, nn.Upsample, F.max_pool1d, F.max_pool2d, F.avg_pool2d, F.avg_pool3d,
    F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh, F.relu, torch.relu, F.relu6,
    F.interpolate, F.dropout, torch.clamp, torch.flatten, torch.mean, torch.squeeze,
    torch.unsqueeze, torch.transpose, torch.permute, torch.reshape, "clamp", "contiguous",
    "flatten", "mean", "permute", "relu", "relu_", "repeat", "reshape", "squeeze", "transpose",
    "t", "unsqueeze", "view",
)))  # fmt: skip
# functions of two that have an operator, by what they do
PAIRS: dict[Any, str] = {
    key_of(torch.add): "add", operator.add: "add", operator.iadd: "add",
    key_of(torch.mul): "mul", operator.mul: "mul", operator.imul: "mul",
    key_of(torch.matmul): "matmul", operator.matmul: "matmul",
}  # fmt: skip
# functions with an operator that takes the result's scale and zero point last, or after the input
FUNCTIONS: dict[Any, tuple[str, bool]] = {
    key_of(F.hardswish): ("hardswish", False), key_of(F.elu): ("elu", True),
    key_of(F.leaky_relu): ("leaky_relu", False),
}  # fmt: skip
# what has a range of its own, and its observer
KNOWN = {key_of(key): observer for key, observer in _FIXED.items() if key is not nn.Softmax}


def is_observer(module: Any) -> bool:
    """Whether a module observes, or is one of fake quantisation."""
    return isinstance(module, (ObserverBase, FakeQuantizeBase))


def module_of(node: Any, model: Any) -> Any:
    """The module that a node calls; None for other nodes."""
    return model.get_submodule(node.target) if node.op == "call_module" else None


def target_of(node: Any, model: Any) -> Any:
    """The class of the module, the function (:func:`key_of`) or the method's name of a node."""
    module = module_of(node, model)
    return key_of(node.target) if module is None else type(module)


def kind_of(node: Any, model: Any) -> str:
    """How what a node does is quantised."""
    if node.op not in ("call_module", "call_function", "call_method"):
        return Kind.NONE
    target = target_of(node, model)
    if node.op == "call_module" and target in _MODULES:
        return Kind.OWN
    if node.op == "call_module" and hasattr(module_of(node, model), "weight_fake_quant"):
        return Kind.OWN
    if target in FUNCTIONS:
        return Kind.OWN
    if target in PAIRS:
        both = all(hasattr(a, "op") for a in node.args[:2]) and len(node.args) == 2
        return Kind.PAIR if both and not node.kwargs else Kind.NONE
    if target is key_of(torch.cat):
        return Kind.JOINED
    if target in KNOWN:
        return Kind.KNOWN
    return Kind.SAME if target in _SAME else Kind.NONE


def dynamic_class(module: Any) -> Any:
    """What takes the place of a module whose input is put on levels at each call; else None."""
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS.get(type(module))


def first_class(module: Any) -> Any:
    """The class by which a configuration is looked up: of fused modules, that of the first."""
    return type(module[0]) if isinstance(module, nni._FusedModule) and isinstance(
        module, nn.Sequential
    ) else type(module)
