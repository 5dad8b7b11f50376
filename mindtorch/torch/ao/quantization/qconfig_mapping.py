"""QConfigMapping: which parts of a model get which QConfig."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn

from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .observer import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from .qconfig import (
    QConfig,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]

FIXED_QPARAMS_OP_TO_OBSERVER: dict[Any, Any] = {
    **dict.fromkeys(
        (nn.Hardsigmoid, nn.functional.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid,
         torch.sigmoid, "sigmoid", "sigmoid_", nn.Softmax),
        default_fixed_qparams_range_0to1_observer,
    ),
    **dict.fromkeys(
        (nn.Tanh, torch.tanh, "tanh", "tanh_"), default_fixed_qparams_range_neg1to1_observer
    ),
}  # fmt: skip
_STYLES = (
    ("object_type", "object_type_qconfigs"),
    ("module_name_regex", "module_name_regex_qconfigs"),
    ("module_name", "module_name_qconfigs"),
    ("module_name_object_type_order", "module_name_object_type_order_qconfigs"),
)


class QConfigMapping:
    """Configurations by what they are for, the more special ones winning.

    Attributes:
        global_qconfig: for what nothing else is said of.
        object_type_qconfigs: by a module's class, a function, or a method's name.
        module_name_regex_qconfigs: by an expression that names of modules match.
        module_name_qconfigs: by a module's name.
        module_name_object_type_order_qconfigs: by a module's name, a function in it, and which
            call of it.
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[Any, Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """For what nothing else is said of."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """For a module's class, a function, or a method's name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """For modules whose names match; what was said first wins."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """For a module by its name."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """For the ``index``-th call of a function in a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for name in ("global_qconfig", *[attribute for _, attribute in _STYLES]):
            held = getattr(self, name)
            text += f"\n {name}"
            if isinstance(held, OrderedDict) and held:
                text += "".join(f"\n  {key}: {qconfig}" for key, qconfig in held.items())
            else:
                text += f"\n  {held}"
        return f"{text}\n)"

    def to_dict(self) -> dict[str, Any]:
        """As a dictionary of lists of tuples; "" is the global one."""
        found: dict[str, Any] = {"": self.global_qconfig}
        for key, attribute in _STYLES[:-1]:
            found[key] = list(getattr(self, attribute).items())
        found[_STYLES[-1][0]] = [
            (*k, v) for k, v in self.module_name_object_type_order_qconfigs.items()
        ]
        return found

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The inverse of :meth:`to_dict`.

        Args:
            qconfig_dict: any of its keys.
        """
        made = cls()
        if "" in qconfig_dict:
            made.set_global(qconfig_dict[""])
        for key, _ in _STYLES:
            for entry in qconfig_dict.get(key, []):
                getattr(made, f"set_{key}")(*entry)
        return made


def _default_mapping(qconfig: QConfig, is_qat: bool, backend: str) -> QConfigMapping:
    weight = default_weight_fake_quant if is_qat else default_weight_observer
    made = QConfigMapping().set_global(qconfig)
    made.set_object_type("reshape", default_reuse_input_qconfig)
    transposed = (
        QConfig(qconfig.activation, weight) if backend in ("fbgemm", "x86") else qconfig
    )
    functions = nn.functional
    for kind in (
        nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, functions.conv_transpose1d,
        functions.conv_transpose2d, functions.conv_transpose3d,
    ):  # fmt: skip
        made.set_object_type(kind, transposed)
    normalised = QConfig(qconfig.activation, default_placeholder_observer)
    made.set_object_type(functions.layer_norm, normalised)
    made.set_object_type(nn.LayerNorm, normalised)
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    known: dict[int, QConfig] = {}
    for kind, observer in FIXED_QPARAMS_OP_TO_OBSERVER.items():
        activation = FixedQParamsFakeQuantize.with_args(observer=observer) if is_qat else observer
        fixed = known.setdefault(id(observer), QConfig(activation, weight))
        made.set_object_type(kind, fixed)
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """What a backend takes for quantisation after training.

    Args:
        backend, version: as :func:`get_default_qconfig` has them.
    """
    return _default_mapping(get_default_qconfig(backend, version), False, backend)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """What a backend takes for training with fake quantisation.

    Args:
        backend, version: as :func:`get_default_qat_qconfig` has them.
    """
    return _default_mapping(get_default_qat_qconfig(backend, version), True, backend)
