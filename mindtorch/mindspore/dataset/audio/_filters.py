"""Recursive filters: b and a of a transfer function, applied along the last axis.

The formulas of the biquads are those of R. Bristow-Johnson's "Cookbook formulae for audio equalizer
biquad filter coefficients", of SoX for band, RIAA and de-emphasis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import signal

from ._options import waveform

__all__ = [
    "AllpassBiquad", "BandBiquad", "BandpassBiquad", "BandrejectBiquad", "BassBiquad", "Biquad",
    "DeemphBiquad", "EqualizerBiquad", "Filtfilt", "HighpassBiquad", "LFilter", "LowpassBiquad",
    "RiaaBiquad", "TrebleBiquad",
]  # fmt: skip


class LFilter:
    """y[n] = (sum of b[k] x[n-k] - sum over k > 0 of a[k] y[n-k]) / a[0].

    Args:
        a_coeffs, b_coeffs: lists of one length.
        clamp: cut to [-1, 1].
    """

    def __init__(self, a_coeffs: Any, b_coeffs: Any, clamp: bool = True) -> None:
        self.a, self.b = (np.asarray(v, np.float64) for v in (a_coeffs, b_coeffs))
        if self.a.shape != self.b.shape or self.a.ndim != 1 or not self.a.size or self.a[0] == 0:
            raise ValueError("a_coeffs and b_coeffs should have one length, a_coeffs[0] not be 0")
        self.clamp = clamp

    def filtered(self, data: Any) -> Any:
        """The filtered signal, before it is cut."""
        return signal.lfilter(self.b, self.a, data.astype(np.float64), axis=-1)

    def __call__(self, data: Any) -> Any:
        wave = waveform(data)
        made = self.filtered(wave)
        return (made.clip(-1, 1) if self.clamp else made).astype(wave.dtype)


class Filtfilt(LFilter):
    """:class:`LFilter` forwards, then backwards: without a shift of phases.

    Args:
        a_coeffs, b_coeffs: lists of one length.
        clamp: cut to [-1, 1] each time.
    """

    def __call__(self, data: Any) -> Any:
        once = super().__call__(data)
        return np.ascontiguousarray(super().__call__(once[..., ::-1])[..., ::-1])


class Biquad(LFilter):
    """:class:`LFilter` of second order, cut to [-1, 1].

    Args:
        b0, b1, b2, a0, a1, a2: of the transfer function.
    """

    def __init__(
        self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float
    ) -> None:
        if a0 == 0:
            raise ValueError("Input a0 can not be 0.")
        super().__init__([a0, a1, a2], [b0, b1, b2])


def _angle(sample_rate: int, frequency: float, quality: float) -> tuple[float, float, float]:
    """(cosine of the angular frequency, sine, alpha)."""
    if not isinstance(sample_rate, int):
        raise TypeError(f"sample_rate should be an int, but got {sample_rate!r}")
    if sample_rate == 0:
        raise ValueError("Input sample_rate is not within the required interval")
    if not 0 < quality <= 1:
        raise ValueError(f"Q should be in (0, 1], but got {quality}")
    turn = 2 * math.pi * frequency / sample_rate
    return math.cos(turn), math.sin(turn), math.sin(turn) / (2 * quality)


class AllpassBiquad(Biquad):
    """Changes phases only.

    Args:
        sample_rate: samples of a second.
        central_freq: in Hz.
        Q: central frequency over bandwidth, in (0, 1].
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707) -> None:  # noqa: N803
        cosine, _, alpha = _angle(sample_rate, central_freq, Q)
        super().__init__(1 - alpha, -2 * cosine, 1 + alpha, 1 + alpha, -2 * cosine, 1 - alpha)


class BandBiquad(Biquad):
    """Two poles about a frequency.

    Args:
        sample_rate: samples of a second.
        central_freq: in Hz.
        Q: central frequency over bandwidth, in (0, 1].
        noise: for signals without tones.
    """

    def __init__(
        self, sample_rate: int, central_freq: float, Q: float = 0.707,  # noqa: N803
        noise: bool = False,
    ) -> None:  # fmt: skip
        cosine, _, _ = _angle(sample_rate, central_freq, Q)
        a2 = math.exp(-2 * math.pi * (central_freq / Q) / sample_rate)
        a1 = -4 * a2 / (1 + a2) * cosine
        b0 = math.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
        if noise:
            b0 = math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2))
        super().__init__(b0, 0.0, 0.0, 1.0, a1, a2)


class BandpassBiquad(Biquad):
    """What lies about a frequency.

    Args:
        sample_rate: samples of a second.
        central_freq: in Hz.
        Q: central frequency over bandwidth, in (0, 1].
        const_skirt_gain: the gain at the peak is Q, not 1.
    """

    def __init__(
        self, sample_rate: int, central_freq: float, Q: float = 0.707,  # noqa: N803
        const_skirt_gain: bool = False,
    ) -> None:  # fmt: skip
        cosine, sine, alpha = _angle(sample_rate, central_freq, Q)
        b0 = sine / 2 if const_skirt_gain else alpha
        super().__init__(b0, 0.0, -b0, 1 + alpha, -2 * cosine, 1 - alpha)


class BandrejectBiquad(Biquad):
    """Without what lies about a frequency.

    Args:
        sample_rate: samples of a second.
        central_freq: in Hz.
        Q: central frequency over bandwidth, in (0, 1].
    """

    def __init__(self, sample_rate: int, central_freq: float, Q: float = 0.707) -> None:  # noqa: N803
        cosine, _, alpha = _angle(sample_rate, central_freq, Q)
        super().__init__(1.0, -2 * cosine, 1.0, 1 + alpha, -2 * cosine, 1 - alpha)


class LowpassBiquad(Biquad):
    """What lies below a frequency.

    Args:
        sample_rate: samples of a second.
        cutoff_freq: in Hz.
        Q: of the slope, in (0, 1].
    """

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707) -> None:  # noqa: N803
        cosine, _, alpha = _angle(sample_rate, cutoff_freq, Q)
        b = (1 - cosine) / 2
        super().__init__(b, 2 * b, b, 1 + alpha, -2 * cosine, 1 - alpha)


class HighpassBiquad(Biquad):
    """What lies above a frequency.

    Args:
        sample_rate: samples of a second.
        cutoff_freq: in Hz.
        Q: of the slope, in (0, 1].
    """

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = 0.707) -> None:  # noqa: N803
        cosine, _, alpha = _angle(sample_rate, cutoff_freq, Q)
        b = (1 + cosine) / 2
        super().__init__(b, -2 * b, b, 1 + alpha, -2 * cosine, 1 - alpha)


class EqualizerBiquad(Biquad):
    """More, or less, of what lies about a frequency.

    Args:
        sample_rate: samples of a second.
        center_freq: in Hz.
        gain: in dB.
        Q: central frequency over bandwidth, in (0, 1].
    """

    def __init__(
        self, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707  # noqa: N803
    ) -> None:
        cosine, _, alpha = _angle(sample_rate, center_freq, Q)
        level = 10 ** (gain / 40)
        super().__init__(1 + alpha * level, -2 * cosine, 1 - alpha * level,
                         1 + alpha / level, -2 * cosine, 1 - alpha / level)  # fmt: skip


def _shelf(cosine: float, alpha: float, level: float, high: bool) -> tuple[float, ...]:
    """(b0, b1, b2, a0, a1, a2) of a shelf: what lies above, or below, ``level`` squared as much."""
    side = cosine if high else -cosine
    slope = 2 * math.sqrt(level) * alpha
    above, below = level + 1, level - 1
    sign = -1 if high else 1
    return (level * (above + below * side + slope), sign * 2 * level * (below + above * side),
            level * (above + below * side - slope), above - below * side + slope,
            -sign * 2 * (below - above * side), above - below * side - slope)  # fmt: skip


class BassBiquad(Biquad):
    """More, or less, of what lies below a frequency.

    Args:
        sample_rate: samples of a second.
        gain: in dB.
        central_freq: in Hz.
        Q: of the slope, in (0, 1].
    """

    def __init__(
        self, sample_rate: int, gain: float, central_freq: float = 100.0,
        Q: float = 0.707,  # noqa: N803
    ) -> None:  # fmt: skip
        cosine, _, alpha = _angle(sample_rate, central_freq, Q)
        super().__init__(*_shelf(cosine, alpha, 10 ** (gain / 40), False))


class TrebleBiquad(Biquad):
    """More, or less, of what lies above a frequency.

    Args:
        sample_rate: samples of a second.
        gain: in dB.
        central_freq: in Hz.
        Q: of the slope, in (0, 1].
    """

    def __init__(
        self, sample_rate: int, gain: float, central_freq: float = 3000,
        Q: float = 0.707,  # noqa: N803
    ) -> None:  # fmt: skip
        cosine, _, alpha = _angle(sample_rate, central_freq, Q)
        super().__init__(*_shelf(cosine, alpha, 10 ** (gain / 40), True))


class DeemphBiquad(Biquad):
    """The emphasis of compact discs undone.

    Args:
        sample_rate: 44100 or 48000.
    """

    def __init__(self, sample_rate: int) -> None:
        facts = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}
        if sample_rate not in facts:
            raise ValueError(f"Input sample_rate should be 44100 or 48000, but got {sample_rate}.")
        frequency, slope, gain = facts[sample_rate]
        turn, level = 2 * math.pi * frequency / sample_rate, 10 ** (gain / 40)
        alpha = math.sin(turn) / 2 * math.sqrt((level + 1 / level) * (1 / slope - 1) + 2)
        super().__init__(*_shelf(math.cos(turn), alpha, level, True))


class RiaaBiquad(Biquad):
    """The curve of vinyl records undone.

    Args:
        sample_rate: 44100, 48000, 88200 or 96000.
    """

    def __init__(self, sample_rate: int) -> None:
        facts = {
            44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
            48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
            88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
            96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
        }
        if sample_rate not in facts:
            raise ValueError(f"sample_rate should be one of {sorted(facts)}, but got {sample_rate}")
        b, a = (np.poly(roots) for roots in facts[sample_rate])
        turn = np.exp(-2j * np.pi * 1000 / sample_rate * np.arange(3))  # 1 kHz has the gain 1
        b = b * abs((a @ turn) / (b @ turn))
        super().__init__(*(float(v) for v in (*b, *a)))


