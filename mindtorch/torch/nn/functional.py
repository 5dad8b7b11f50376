"""torch.nn.functional: what modules compute, as functions."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._api.publish import FUNCTIONAL as _FUNCTIONAL
from .._api.publish import explained_where_known as _explained
from .._api.shared_docs import TEXTS as _TEXTS
from . import _reduction as _Reduction  # noqa: F401, N812
from ._functional_activation import *  # noqa: F403
from ._functional_attention import *  # noqa: F403
from ._functional_attention import _canonical_mask, _none_or_dtype  # noqa: F401
from ._functional_convolution import *  # noqa: F403
from ._functional_ctc import *  # noqa: F403
from ._functional_dropout import *  # noqa: F403
from ._functional_fractional import *  # noqa: F403
from ._functional_linear import *  # noqa: F403
from ._functional_linear_loss import *  # noqa: F403
from ._functional_loss import *  # noqa: F403
from ._functional_margin_loss import *  # noqa: F403
from ._functional_normalization import *  # noqa: F403
from ._functional_padding import *  # noqa: F403
from ._functional_pooling import *  # noqa: F403
from ._functional_sampling import *  # noqa: F403
from ._functional_unpooling import *  # noqa: F403
from ._functional_vision import *  # noqa: F403

globals().update(_FUNCTIONAL)
_TEXTS.add_to(globals().values())


def _found_later(name: str) -> _Any:
    """What torch also has here, and is seldom used, imported when it is."""
    if name == "grad":
        return _import_module("mindtorch.torch.nn.grad")
    if name in ("conv_tbc", "native_channel_shuffle"):
        older = _import_module("mindtorch.torch._compat.deprecated_functions")
        found = _explained(name, getattr(older, name))
        found.__module__ = __name__
        return found
    if name in ("grouped_mm", "scaled_grouped_mm", "scaled_mm"):
        found = getattr(_import_module("mindtorch.torch.nn._functional_groups"), name)
        found.__module__ = __name__
        return found
    if name in _OF_OVERRIDES:
        return getattr(_import_module("mindtorch.torch.overrides"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_OF_OVERRIDES = (
    "handle_torch_function", "has_torch_function", "has_torch_function_unary",
    "has_torch_function_variadic",
)  # fmt: skip
if TYPE_CHECKING:
    from .._compat.deprecated_functions import conv_tbc as conv_tbc
    from .._compat.deprecated_functions import native_channel_shuffle as native_channel_shuffle
    from . import grad as grad
    from ._functional_groups import grouped_mm as grouped_mm
    from ._functional_groups import scaled_grouped_mm as scaled_grouped_mm
    from ._functional_groups import scaled_mm as scaled_mm
else:
    __getattr__ = _found_later

_own_names(globals())
