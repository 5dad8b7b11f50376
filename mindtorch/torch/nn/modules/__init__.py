"""The modules by subject."""

from __future__ import annotations

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

__all__ = sorted(name for name, value in globals().items() if isinstance(value, type))  # noqa: PLE0605
