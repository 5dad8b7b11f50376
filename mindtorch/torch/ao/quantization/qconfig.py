"""QConfig: which observers activations and weights get."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn.modules.linear import Identity
from mindtorch.torch.nn.modules.module import Module

from .fake_quantize import (
    FakeQuantize,
    FakeQuantizeBase,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_embedding_fake_quant_4bit,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PartialWrapper,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
    default_placeholder_observer,
    default_reuse_input_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)

__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig",
    "default_debug_qconfig", "default_dynamic_qat_qconfig", "default_dynamic_qconfig",
    "default_embedding_qat_qconfig", "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig", "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig", "default_qat_qconfig",
    "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig",
    "default_reuse_input_qconfig", "default_symmetric_qnnpack_qat_qconfig",
    "default_symmetric_qnnpack_qconfig", "default_weight_only_qconfig", "float16_dynamic_qconfig",
    "float16_static_qconfig", "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit", "get_default_qat_qconfig", "get_default_qconfig",
    "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip

_MISTAKE = (
    "{} received observer instance, please pass observer class instead. Use MyObserver.with_args"
    "(x=1) to override arguments to constructor if needed"
)


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Classes of observers: one for activations, one for weights.

    Args:
        activation, weight: a class, or one with arguments (`with_args`); an observer of its own
            is made for each module.

    Raises:
        ValueError: an observer in place of a class.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(_MISTAKE.format("QConfig"))
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """An older form of QConfig, of weights.

    Args:
        activation, weight: as there.
    """

    __slots__ = ()

    def __new__(cls, activation: Any = Identity, weight: Any = Identity) -> QConfigDynamic:
        warnings.warn(
            "`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` "
            "instead",
            FutureWarning,
            stacklevel=2,
        )
        if isinstance(weight, Module):
            raise ValueError(_MISTAKE.format("QConfigDynamic"))
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None

_half = PlaceholderObserver.with_args(dtype=torch.float16)
default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True), _half
)
float16_static_qconfig = QConfig(_half, _half)
per_channel_dynamic_qconfig = QConfig(
    default_dynamic_quant_observer, default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    default_placeholder_observer, default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    default_placeholder_observer, default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, Identity)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
_symmetric = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_symmetric, weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _symmetric, per_channel_weight_observer_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(
    NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant
)
default_embedding_qat_qconfig_4bit = QConfig(
    NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant_4bit
)
_symmetric_trained = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=torch.qint8,
    reduce_range=False, eps=2**-12,
)  # fmt: skip
default_symmetric_qnnpack_qat_qconfig = QConfig(
    _symmetric_trained, fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _symmetric_trained, fused_per_channel_wt_fake_quant_range_neg_127_to_127
)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of {_BACKENDS}"
        )


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration that a backend takes for quantisation after training.

    Args:
        backend: x86, fbgemm, onednn or qnnpack. The first two use every second level of
            activations; all but the last have a scale for each channel of a weight.
        version: 0.

    Raises:
        AssertionError: another backend or version.
    """
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number "
            "must be 0"
        )
    narrow = backend in ("fbgemm", "x86")
    weight = default_weight_observer if backend == "qnnpack" else (
        default_per_channel_weight_observer
    )
    return QConfig(HistogramObserver.with_args(reduce_range=narrow), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration that a backend takes for training with fake quantisation.

    Args:
        backend: as :func:`get_default_qconfig` has it.
        version: 1, or 0 for modules that are not fused.

    Raises:
        AssertionError: another backend or version.
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number "
            "must be 0 or 1"
        )
    kind: Any = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    options = {} if backend == "onednn" else {"reduce_range": backend != "qnnpack"}
    activation = kind.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **options
    )
    one, several = (
        (default_fused_wt_fake_quant, default_fused_per_channel_wt_fake_quant) if version
        else (default_weight_fake_quant, default_per_channel_weight_fake_quant)
    )  # fmt: skip
    return QConfig(activation, one if backend == "qnnpack" else several)


def assert_valid_qconfig(qconfig: Any, mod: Any) -> None:
    """Refuse a scale for each channel of a transposed convolution's weight."""
    if qconfig is None or qconfig.weight is None:
        return
    if not type(mod).__name__.startswith("ConvTranspose"):
        return
    if isinstance(qconfig.weight(), PerChannelMinMaxObserver):
        raise AssertionError(
            "Per channel weight observer is not supported yet for ConvTranspose{n}d."
        )


def _same_class(a: Any, b: Any) -> bool:
    if not (isinstance(a, PartialWrapper) and isinstance(b, PartialWrapper)):
        return bool(a == b)
    first, second = dict(a.p.keywords), dict(b.p.keywords)
    if "observer" in first and "observer" in second and not _same_class(
        first.pop("observer"), second.pop("observer")
    ):
        return False
    return a.p.func == b.p.func and a.p.args == b.p.args and first == second


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Whether two configurations make the same observers.

    Args:
        q1, q2: a QConfig or None.
    """
    if q1 is None or q2 is None:
        return q1 is q2
    return _same_class(q1.activation, q2.activation) and _same_class(q1.weight, q2.weight)


def activation_is_memoryless(qconfig: Any) -> bool:
    """Whether ranges of activations are those of each call."""
    made = qconfig.activation()
    if isinstance(made, FakeQuantizeBase) and hasattr(made, "activation_post_process"):
        made = made.activation_post_process
    return getattr(made, "averaging_constant", None) == 1
