"""The modules by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS
from mindtorch.torch._compat.module_aliases import alias_module

from . import activation, instancenorm, pooling
from ._own_names import name_apart as _name_apart
from .activation import *  # noqa: F403
from .adaptive import *  # noqa: F403
from .batchnorm import *  # noqa: F403
from .container import *  # noqa: F403
from .conv import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .fractional import *  # noqa: F403
from .linear import Bilinear as Bilinear
from .linear import Identity as Identity
from .linear import LazyLinear as LazyLinear
from .linear import Linear as Linear
from .linear import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
from .linear_cross_entropy_options import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from .loss import *  # noqa: F403
from .module import Module as Module
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .pooling import *  # noqa: F403
from .reshaping import *  # noqa: F403
from .rnn import *  # noqa: F403
from .sparse import *  # noqa: F403
from .transformer import *  # noqa: F403

_classes = sorted(name for name, value in globals().items() if isinstance(value, type))
if TYPE_CHECKING:  # which takes all that is imported here
    from ._made import *  # noqa: F403
else:
    __all__ = _classes  # noqa: PLE0605

_TEXTS.add_to(globals().values())  # by the files that they are written in
# Where torch has them: checkpoints of whole modules name these places.
for _name, _names in {
    "channelshuffle": "ChannelShuffle",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}.items():
    alias_module(__name__, _name, _names)
for _place, _names in (
    (activation, "MultiheadAttention"),
    (instancenorm, "LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d"),
    (pooling, "FractionalMaxPool2d FractionalMaxPool3d"),
):
    for _name in _names.split():
        setattr(_place, _name, globals()[_name])
        globals()[_name].__module__ = _place.__name__
for _name in instancenorm.__all__[:3]:
    globals()[_name].__module__ = instancenorm.__name__

_name_apart([globals()[_name] for _name in _classes])
_TEXTS.add_to(globals().values())
