"""torch.nn: modules, their functions, and initial values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403
from .modules.linear import Bilinear as Bilinear
from .modules.linear import Identity as Identity
from .modules.linear import LazyLinear as LazyLinear
from .modules.linear import Linear as Linear
from .modules.module import Module as Module
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords of a module's constructor that go to functions that make tensors.

    Args:
        kwargs: ``device``, ``dtype``, ``memory_format``, or a dictionary of these as
            ``factory_kwargs``.

    Raises:
        TypeError: another keyword, or one in both places.
    """
    known = {"device", "dtype", "memory_format"}
    given = dict(kwargs or {})
    strange = given.keys() - known - {"factory_kwargs"}
    if strange:
        raise TypeError(f"unexpected kwargs {strange}")
    found = dict(given.pop("factory_kwargs", {}))
    for name, value in given.items():
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = value
    return found


def _found_later(name: str) -> Any:
    """What few programs use is imported when first used."""
    if name in ("attention", "common_types", "grad", "intrinsic", "parallel", "qat", "quantized"):
        return importlib.import_module(f"{__package__}.{name}")
    if name == "DataParallel":
        return importlib.import_module(f"{__package__}.parallel").DataParallel
    raise AttributeError(f"module 'torch.nn' has no attribute '{name}'")


if TYPE_CHECKING:
    from . import attention as attention
    from . import common_types as common_types
    from . import grad as grad
    from . import intrinsic as intrinsic
    from . import parallel as parallel
    from . import qat as qat
    from . import quantized as quantized
    from .parallel import DataParallel as DataParallel
else:
    __getattr__ = _found_later


_give_reasons(globals())
