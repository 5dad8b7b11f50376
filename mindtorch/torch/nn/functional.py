"""torch.nn.functional: what modules compute, as functions."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from .._api.autocast_policies import FUNCTIONAL as _AUTOCAST_POLICIES
from .._api.autocast_policies import cast_pad as _cast_pad
from .._api.autocast_policies import cast_whole as _cast_whole
from .._api.cacheable import FUNCTIONAL as _REMEMBERED
from .._api.cacheable import remember as _remember
from .._api.kernel_signatures import explain_kernel_calls as _explain_kernel_calls
from .._api.kernel_signatures import kernel_check as _kernel_check
from .._api.shared_docs import TEXTS as _TEXTS
from .._api.signatures import as_function as _as_function
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
from ._functional_vision import *  # noqa: F403

# those that torch writes in C++, but for the ones so short that a frame more would be felt
for _name in (
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "celu_",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cosine_similarity", "elu_", "hardshrink", "hardtanh_", "leaky_relu_",
    "one_hot", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu",
    "rrelu_", "scaled_dot_product_attention", "selu_", "softplus", "softshrink", "threshold_",
):  # fmt: skip
    globals()[_name] = _as_function(globals()[_name], _name, __name__)
_explain_kernel_calls(globals())
_cast_whole(globals(), _AUTOCAST_POLICIES)
_remember(globals(), _REMEMBERED, __name__, check_of=_kernel_check)
pad = _cast_pad(pad)  # noqa: F405
_TEXTS.add_to(globals().values())


def _found_later(name: str) -> _Any:
    """What torch also has here, and is seldom used, imported when it is."""
    if name == "grad":
        return _import_module("mindtorch.torch.nn.grad")
    if name == "conv_tbc":
        return _import_module("mindtorch.torch._compat.deprecated_functions").conv_tbc
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if TYPE_CHECKING:
    from .._compat.deprecated_functions import conv_tbc as conv_tbc
    from . import grad as grad
else:
    __getattr__ = _found_later
