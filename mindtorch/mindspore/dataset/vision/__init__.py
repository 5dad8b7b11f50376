"""Operations on images: arrays (height, width, channels) unless they say otherwise."""

from ..._absent import refusing as _refusing
from . import (
    _augmentations,
    _boxes,
    _colors,
    _files,
    _geometry,
    _images,
    _mixing,
    _policies,
    _tones,
)
from ._augmentations import *
from ._boxes import *
from ._colors import *
from ._files import *
from ._geometry import *
from ._images import *
from ._mixing import *
from ._policies import *
from ._tones import *

__all__ = [  # noqa: PLE0604
    *_augmentations.__all__, *_boxes.__all__, *_colors.__all__, *_files.__all__,
    *_geometry.__all__, *_images.__all__, *_mixing.__all__, *_policies.__all__, *_tones.__all__,
]  # fmt: skip

__getattr__ = _refusing("mindspore.dataset.vision")
