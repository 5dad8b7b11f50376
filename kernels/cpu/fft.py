"""Discrete Fourier transforms by pocketfft, through scipy, in the precision of the input.

``norm`` says what a transform's result is divided by: "none", "root" (the square root of the number
of points) or "count" (their number).
"""

from __future__ import annotations

import functools
from typing import Any

from .threads.thread_pool import get_num_threads

# what scipy calls these factors for the forward and the backward transform, and pocketfft for both
_FORWARD = {"none": "backward", "root": "ortho", "count": "forward"}
_BACKWARD = {"none": "forward", "root": "ortho", "count": "backward"}
_NUMBERS = {"none": 0, "root": 1, "count": 2}
_SMALLEST_FOR_THREADS = 1 << 15


@functools.cache
def _pocketfft() -> Any:
    """The library that scipy's functions call, which writes where it is told to and takes a fifth
    of their time for few points; None where scipy has it at another place."""
    try:
        from scipy.fft._pocketfft import pypocketfft
    except ImportError:
        return None
    return pypocketfft


def _threads(x: Any) -> int:
    return get_num_threads() if x.size >= _SMALLEST_FOR_THREADS else 1


def complex_to_complex(
    out: Any, x: Any, *, axes: tuple[int, ...], norm: str, forward: bool
) -> None:
    """The transform (``forward``: exp(-2 pi i jk / n)) over ``axes``."""
    library = _pocketfft()
    if library is not None:
        library.c2c(x, axes, forward, _NUMBERS[norm], out, _threads(x))
        return
    from scipy import fft

    transform, names = (fft.fftn, _FORWARD) if forward else (fft.ifftn, _BACKWARD)
    out[...] = transform(x, axes=axes, norm=names[norm], workers=_threads(x))


def real_to_complex(out: Any, x: Any, *, axes: tuple[int, ...], norm: str) -> None:
    """The forward transform of real numbers; of the last of ``axes`` the first half is kept."""
    library = _pocketfft()
    if library is not None:
        library.r2c(x, axes, True, _NUMBERS[norm], out, _threads(x))
        return
    from scipy import fft

    out[...] = fft.rfftn(x, axes=axes, norm=_FORWARD[norm], workers=_threads(x))


def complex_to_real(out: Any, x: Any, *, axes: tuple[int, ...], norm: str, size: int) -> None:
    """The backward transform to real numbers, from half of the last of ``axes``."""
    library = _pocketfft()
    if library is not None:
        library.c2r(x, axes, size, False, _NUMBERS[norm], out, _threads(x))
        return
    from scipy import fft

    sizes = [*[x.shape[a] for a in axes[:-1]], size]
    out[...] = fft.irfftn(x, s=sizes, axes=axes, norm=_BACKWARD[norm], workers=_threads(x))
