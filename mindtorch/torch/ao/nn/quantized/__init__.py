"""torch.ao.nn.quantized: modules of quantised tensors."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch.nn import MaxPool2d as MaxPool2d

from . import functional as functional
from .activation import (
    ELU,
    DeQuantize,
    Dropout,
    Hardswish,
    LeakyReLU,
    PReLU,
    Quantize,
    ReLU6,
    Sigmoid,
    Softmax,
)
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .embedding_ops import Embedding, EmbeddingBag
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .linear import Linear
from .normalization import (
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LayerNorm,
)

__all__ = [
    "ELU", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "DeQuantize", "Dropout", "Embedding", "EmbeddingBag",
    "FXFloatFunctional", "FloatFunctional", "GroupNorm", "Hardswish", "InstanceNorm1d",
    "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LeakyReLU", "Linear", "PReLU",
    "QFunctional", "Quantize", "ReLU6", "Sigmoid", "Softmax",
]  # fmt: skip

_own_names(globals())
