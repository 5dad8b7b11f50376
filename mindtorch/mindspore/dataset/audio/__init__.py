"""Operations on signals: arrays whose last axis is time. Where ``torchaudio`` has the same
operation, formulas and defaults are its."""

from ..._absent import refusing as _refusing
from . import _effects, _filters, _levels, _mels, _options, _spectra
from ._effects import *
from ._filters import *
from ._levels import *
from ._mels import *
from ._options import *
from ._spectra import *

__all__ = [  # noqa: PLE0604
    *_effects.__all__, *_filters.__all__, *_levels.__all__, *_mels.__all__, *_options.__all__,
    *_spectra.__all__,
]  # fmt: skip

__getattr__ = _refusing("mindspore.dataset.audio")
