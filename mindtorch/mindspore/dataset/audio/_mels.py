"""Spectra on scales of hearing, and their cosine transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._levels import AmplitudeToDB
from ._options import BorderType, MelType, NormMode, NormType, WindowType, chosen, waveform
from ._spectra import Spectrogram

__all__ = [
    "LFCC", "MFCC", "InverseMelScale", "MelScale", "MelSpectrogram", "create_dct", "linear_fbanks",
    "melscale_fbanks",
]  # fmt: skip


def _triangles(frequencies: Any, points: Any) -> Any:
    """(frequency, filter): triangles between neighbours of ``points``."""
    width = np.diff(points)
    slopes = points[None, :] - frequencies[:, None]
    return np.maximum(0, np.minimum(-slopes[:, :-2] / width[:-1], slopes[:, 2:] / width[1:]))


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> Any:
    """Triangular filters at equal distances: float32 (n_freqs, n_filter).

    Args:
        n_freqs: how many frequencies, up to half of ``sample_rate``.
        f_min, f_max: in Hz.
        n_filter: how many filters.
        sample_rate: samples of a second.
    """
    if f_min > f_max:
        raise ValueError(f"f_min {f_min} should not be above f_max {f_max}")
    frequencies = np.linspace(0, sample_rate // 2, n_freqs)
    return _triangles(frequencies, np.linspace(f_min, f_max, n_filter + 2)).astype(np.float32)


def _to_mel(hertz: float, kind: MelType) -> float:
    if kind is MelType.HTK:
        return 2595.0 * math.log10(1.0 + hertz / 700.0)
    step = 200.0 / 3
    if hertz < 1000:
        return hertz / step
    return 1000 / step + math.log(hertz / 1000.0) * 27.0 / math.log(6.4)


def _to_hertz(mels: Any, kind: MelType) -> Any:
    if kind is MelType.HTK:
        return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
    step = 200.0 / 3
    least = 1000 / step
    above = 1000.0 * np.exp(math.log(6.4) / 27.0 * (mels - least))
    return np.where(mels >= least, above, step * mels)


def melscale_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int,
    norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK,
) -> Any:  # fmt: skip
    """Triangular filters at equal distances in mels: float32 (n_freqs, n_mels).

    Args:
        n_freqs: how many frequencies, up to half of ``sample_rate``.
        f_min, f_max: in Hz.
        n_mels: how many filters.
        sample_rate: samples of a second.
        norm: SLANEY: filters of one area.
        mel_type: which scale.
    """
    kind = chosen(MelType, mel_type, "mel_type")
    if f_min > f_max:
        raise ValueError(f"f_min {f_min} should not be above f_max {f_max}")
    frequencies = np.linspace(0, sample_rate // 2, n_freqs)
    points = _to_hertz(np.linspace(_to_mel(f_min, kind), _to_mel(f_max, kind), n_mels + 2), kind)
    filters = _triangles(frequencies, points)
    if chosen(NormType, norm, "norm") is NormType.SLANEY:
        filters = filters * (2.0 / (points[2:] - points[:-2]))
    return filters.astype(np.float32)


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> Any:
    """The matrix of a cosine transform of type 2: float32 (n_mels, n_mfcc).

    Args:
        n_mfcc: how many coefficients.
        n_mels: of how many values.
        norm: ORTHO: orthonormal.
    """
    places, orders = np.arange(n_mels), np.arange(n_mfcc)[:, None]
    matrix = np.cos(math.pi / n_mels * (places + 0.5) * orders)
    if chosen(NormMode, norm, "norm") is NormMode.NONE:
        return (2 * matrix).T.astype(np.float32)
    matrix[0] *= 1 / math.sqrt(2)
    return (matrix * math.sqrt(2.0 / n_mels)).T.astype(np.float32)


def _filtered(spectrum: Any, filters: Any) -> Any:
    """(..., frequency, time) through (frequency, filter)."""
    return np.swapaxes(np.swapaxes(spectrum, -1, -2) @ filters, -1, -2)


class MelScale:
    """A spectrum (..., frequency, time) through filters of mels.

    Args:
        n_mels: how many filters.
        sample_rate: samples of a second.
        f_min, f_max: in Hz; half of ``sample_rate`` unless given.
        n_stft: how many frequencies.
        norm, mel_type: as of :func:`melscale_fbanks`.
    """

    def __init__(
        self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0,
        f_max: float | None = None, n_stft: int = 201, norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        top = float(sample_rate // 2) if f_max is None else f_max
        self.filters = melscale_fbanks(n_stft, f_min, top, n_mels, sample_rate, norm, mel_type)

    def __call__(self, data: Any) -> Any:
        return np.ascontiguousarray(_filtered(waveform(data), self.filters))


class InverseMelScale:
    """A spectrum that gives one of mels: the non-negative one of least squares.

    Args:
        n_stft: how many frequencies.
        n_mels: how many filters.
        sample_rate: samples of a second.
        f_min, f_max: in Hz; half of ``sample_rate`` unless given.
        max_iter, tolerance_loss, tolerance_change, sgdargs: of MindSpore's gradient descent; the
            solution here is exact and needs none of them.
        norm, mel_type: as of :func:`melscale_fbanks`.
    """

    def __init__(
        self, n_stft: int, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0,
        f_max: float | None = None, max_iter: int = 100000, tolerance_loss: float = 1e-5,
        tolerance_change: float = 1e-8, sgdargs: Any = None, norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        top = float(sample_rate // 2) if f_max is None else f_max
        self.filters = melscale_fbanks(n_stft, f_min, top, n_mels, sample_rate, norm, mel_type)
        self.inverse = np.linalg.pinv(self.filters.T.astype(np.float64))

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        return np.maximum(self.inverse @ values, 0).astype(values.dtype)


class MelSpectrogram:
    """:class:`Spectrogram`, then :class:`MelScale`.

    Args:
        sample_rate: samples of a second.
        n_fft: size of a transform.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, half the window unless given.
        f_min, f_max: in Hz; half of ``sample_rate`` unless given.
        pad: zeros at both ends.
        n_mels: how many filters.
        window, power, normalized, center, pad_mode, onesided: as of :class:`Spectrogram`.
        norm, mel_scale: as of :func:`melscale_fbanks`.
    """

    def __init__(
        self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None,
        hop_length: int | None = None, f_min: float = 0.0, f_max: float | None = None,
        pad: int = 0, n_mels: int = 128, window: WindowType = WindowType.HANN,
        power: float = 2.0, normalized: bool = False, center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
        norm: NormType = NormType.NONE, mel_scale: MelType = MelType.HTK,
    ) -> None:  # fmt: skip
        self.spectrum = Spectrogram(n_fft, win_length, hop_length, pad, window, power, normalized,
                                    center, pad_mode, onesided)  # fmt: skip
        self.scale = MelScale(n_mels, sample_rate, f_min, f_max, n_fft // 2 + 1, norm, mel_scale)

    def __call__(self, data: Any) -> Any:
        return self.scale(self.spectrum(data))


def _checked_dct(dct_type: int, count: int, of: int) -> None:
    if dct_type != 2:
        raise ValueError(f"dct_type must be 2, but got : {dct_type}.")
    if not 0 < count <= of:
        raise ValueError(f"{count} coefficients of {of} filters")


class MFCC:
    """Cosine transform of the logarithm of :class:`MelSpectrogram`.

    Args:
        sample_rate: samples of a second.
        n_mfcc: how many coefficients.
        dct_type: 2.
        norm: of the cosine transform.
        log_mels: logarithms and not decibels.
        melkwargs: {argument of :class:`MelSpectrogram`: value}.
    """

    def __init__(
        self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2,
        norm: NormMode = NormMode.ORTHO, log_mels: bool = False,
        melkwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        options = {"n_mels": 128, **(melkwargs or {})}
        _checked_dct(dct_type, n_mfcc, options["n_mels"])
        self.mels: Any = MelSpectrogram(sample_rate, **options)
        self.matrix = create_dct(n_mfcc, options["n_mels"], norm)
        self.log, self.decibels = log_mels, AmplitudeToDB()

    def __call__(self, data: Any) -> Any:
        mels = self.mels(data)
        loud = np.log(mels + np.float32(1e-6)) if self.log else self.decibels(mels)
        return np.ascontiguousarray(_filtered(loud, self.matrix))


class LFCC(MFCC):
    """Cosine transform of the logarithm of a spectrum through filters at equal distances.

    Args:
        sample_rate: samples of a second.
        n_filter: how many filters.
        n_lfcc: how many coefficients.
        f_min, f_max: in Hz; half of ``sample_rate`` unless given.
        dct_type: 2.
        norm: of the cosine transform.
        log_lf: logarithms and not decibels.
        speckwargs: {argument of :class:`Spectrogram`: value}.
    """

    def __init__(
        self, sample_rate: int = 16000, n_filter: int = 128, n_lfcc: int = 40, f_min: float = 0.0,
        f_max: float | None = None, dct_type: int = 2, norm: NormMode = NormMode.ORTHO,
        log_lf: bool = False, speckwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        _checked_dct(dct_type, n_lfcc, n_filter)
        top = float(sample_rate // 2) if f_max is None else f_max
        spectrum = Spectrogram(**(speckwargs or {}))
        filters = linear_fbanks(spectrum.frames.size // 2 + 1, f_min, top, n_filter, sample_rate)
        self.mels = lambda data: _filtered(spectrum(data), filters)
        self.matrix = create_dct(n_lfcc, n_filter, norm)
        self.log, self.decibels = log_lf, AmplitudeToDB()
