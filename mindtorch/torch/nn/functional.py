"""torch.nn.functional: what modules compute, as functions."""

from __future__ import annotations

from .._argument_texts import TEXTS as _TEXTS
from .._autocast import FUNCTIONAL as _AUTOCAST_POLICIES
from .._autocast import cast_pad as _cast_pad
from .._autocast import cast_whole as _cast_whole
from ._functional_activation import *  # noqa: F403
from ._functional_attention import *  # noqa: F403
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

_cast_whole(globals(), _AUTOCAST_POLICIES)
pad = _cast_pad(pad)  # noqa: F405
_TEXTS.add_to(globals().values())
