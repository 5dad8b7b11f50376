"""Operations on images: arrays (height, width, channels) unless they say otherwise."""

from . import _colors, _images
from ._colors import *
from ._images import *

__all__ = [*_colors.__all__, *_images.__all__]  # noqa: PLE0604
