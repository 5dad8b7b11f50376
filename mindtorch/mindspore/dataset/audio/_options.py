"""The words that arguments of audio operations take, and what they mean."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from mindtorch import torch

__all__ = [
    "BorderType", "DensityFunction", "FadeShape", "GainType", "Interpolation", "MelType",
    "Modulation", "NormMode", "NormType", "ResampleMethod", "ScaleType", "WindowType",
]  # fmt: skip


class BorderType(enum.StrEnum):
    """What is around a signal."""

    CONSTANT, EDGE, REFLECT, SYMMETRIC = "constant", "edge", "reflect", "symmetric"


class DensityFunction(enum.StrEnum):
    """Distributions of noise: triangular, even, Gaussian."""

    TPDF, RPDF, GPDF = "TPDF", "RPDF", "GPDF"


class FadeShape(enum.StrEnum):
    """How a fade rises."""

    QUARTER_SINE, HALF_SINE, LINEAR = "quarter_sine", "half_sine", "linear"
    LOGARITHMIC, EXPONENTIAL = "logarithmic", "exponential"


class GainType(enum.StrEnum):
    """What a gain multiplies."""

    AMPLITUDE, POWER, DB = "amplitude", "power", "db"


class Interpolation(enum.StrEnum):
    """How values between samples are found."""

    LINEAR, QUADRATIC = "linear", "quadratic"


class MelType(enum.StrEnum):
    """Which scale of mels."""

    HTK, SLANEY = "htk", "slaney"


class Modulation(enum.StrEnum):
    """The wave of a modulation."""

    SINUSOIDAL, TRIANGULAR = "sinusoidal", "triangular"


class NormMode(enum.StrEnum):
    """Whether a cosine transform is orthonormal."""

    ORTHO, NONE = "ortho", "none"


class NormType(enum.StrEnum):
    """Whether filters of mels have one area."""

    SLANEY, NONE = "slaney", "none"


class ResampleMethod(enum.StrEnum):
    """The window of a resampling filter."""

    SINC_INTERPOLATION, KAISER_WINDOW = "sinc_interpolation", "kaiser_window"


class ScaleType(enum.StrEnum):
    """What decibels are of."""

    POWER, MAGNITUDE = "power", "magnitude"


class WindowType(enum.StrEnum):
    """Windows of a short-time Fourier transform."""

    BARTLETT, BLACKMAN, HAMMING = "bartlett", "blackman", "hamming"
    HANN, KAISER = "hann", "kaiser"


def chosen(kind: Any, value: Any, name: str) -> Any:
    """``value`` as one of the words of ``kind``.

    Raises:
        TypeError: it is none of them.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} should be a {kind.__name__}, but got {value!r}")
    return value


def window_of(kind: WindowType, length: int) -> Any:
    """A periodic window as a tensor."""
    return getattr(torch, f"{chosen(WindowType, kind, 'window').value}_window")(length)


def positive(name: str, value: Any, least: float = 0) -> Any:
    """A number above ``least``.

    Raises:
        TypeError: no number.
        ValueError: too small.
    """
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} should be a number, but got {value!r}")
    if value <= least:
        raise ValueError(f"{name} should be above {least}, but got {value}")
    return value


def waveform(data: Any) -> Any:
    """A signal along the last axis: float32 or float64.

    Raises:
        RuntimeError: it has no axis, or is no signal.
    """
    array = np.asarray(data)
    if array.ndim == 0 or array.dtype.kind not in "fiu":
        raise RuntimeError(f"a signal is needed, but got {array.dtype} of shape {array.shape}")
    return array if array.dtype == np.float64 else array.astype(np.float32)
