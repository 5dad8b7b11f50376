"""Operations on images: arrays (height, width, channels) unless they say otherwise."""

from ..._absent import refusing as _refusing
from . import _colors, _geometry, _images, _policies, _tones
from ._colors import *
from ._geometry import *
from ._images import *
from ._policies import *
from ._tones import *

__all__ = [  # noqa: PLE0604
    *_colors.__all__, *_geometry.__all__, *_images.__all__, *_policies.__all__,
    *_tones.__all__,
]  # fmt: skip

__getattr__ = _refusing("mindspore.dataset.vision")
