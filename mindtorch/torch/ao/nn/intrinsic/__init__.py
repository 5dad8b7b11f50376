"""torch.ao.nn.intrinsic: modules in one another's place, before they are quantised."""

from __future__ import annotations

from typing import Any

from mindtorch.torch import nn
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.module_aliases import alias_module

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
    "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip


class _FusedModule(nn.Module):
    """Modules that become one."""


def _fused(name: str, *kinds: Any) -> Any:
    """A class of modules of these classes, one after another."""

    def __init__(self: Any, *modules: Any) -> None:
        if len(modules) != len(kinds):
            raise TypeError(f"{name} takes {len(kinds)} modules, got {len(modules)}")
        found = [type(m).__bases__[0] if "parametrizations" in m._modules else type(m)
                 for m in modules]  # fmt: skip
        if not all(map(issubclass, found, kinds)):
            raise AssertionError(f"Incorrect types for input modules{''.join(map(str, found))}")
        nn.Sequential.__init__(self, *modules)

    words = ", ".join(kind.__name__ for kind in kinds)
    body = {
        "__init__": __init__, "__doc__": f"The modules {words} one after another.",
        "__module__": __name__,
    }  # fmt: skip
    return type(name, (nn.Sequential, _FusedModule), body)


ConvReLU1d = _fused("ConvReLU1d", nn.Conv1d, nn.ReLU)
ConvReLU2d = _fused("ConvReLU2d", nn.Conv2d, nn.ReLU)
ConvReLU3d = _fused("ConvReLU3d", nn.Conv3d, nn.ReLU)
LinearReLU = _fused("LinearReLU", nn.Linear, nn.ReLU)
ConvBn1d = _fused("ConvBn1d", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _fused("ConvBn2d", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _fused("ConvBn3d", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _fused("ConvBnReLU1d", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _fused("ConvBnReLU2d", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _fused("ConvBnReLU3d", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d = _fused("BNReLU2d", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _fused("BNReLU3d", nn.BatchNorm3d, nn.ReLU)
LinearBn1d = _fused("LinearBn1d", nn.Linear, nn.BatchNorm1d)

_own_names(globals())
alias_module(__name__, "modules", " ".join([*__all__, "_FusedModule"]))
alias_module(f"{__name__}.modules", "fused", " ".join([*__all__, "_FusedModule"]))
