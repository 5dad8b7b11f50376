"""Spectra of signals and back, by the Fourier transforms of ``torch``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch import torch

from .._random import draw
from ._options import BorderType, WindowType, chosen, positive, waveform, window_of

__all__ = [
    "GriffinLim", "InverseSpectrogram", "PhaseVocoder", "PitchShift", "Resample",
    "SpectralCentroid", "Spectrogram", "TimeStretch",
]  # fmt: skip

_BLOCK = 1 << 14  # samples that are made at once
_PADDING = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


class _Frames:
    """How a signal is cut: sizes and window."""

    def __init__(self, n_fft: int, win_length: int | None, hop_length: int | None, window: Any):
        positive("n_fft", n_fft)
        self.size = n_fft
        self.length = n_fft if win_length is None else win_length
        if not 0 < self.length <= n_fft:
            raise ValueError(f"win_length should be in [1, n_fft = {n_fft}], but got {win_length}")
        self.hop = self.length // 2 if hop_length is None else hop_length
        positive("hop_length", self.hop)
        self.window = window_of(window, self.length)

    def spectrum(self, wave: Any, center: bool, mode: str, onesided: bool) -> Any:
        """Complex (..., frequency, time) of a tensor (..., sample)."""
        flat = wave.reshape(-1, wave.shape[-1])
        made = torch.stft(
            flat, self.size, self.hop, self.length, self.window, center=center, pad_mode=mode,
            onesided=onesided, return_complex=True,
        )  # fmt: skip
        return made.reshape(*wave.shape[:-1], *made.shape[-2:])

    def wave(self, spectrum: Any, length: int | None, center: bool, onesided: bool) -> Any:
        """The signal (..., sample) of :meth:`spectrum`."""
        flat = spectrum.reshape(-1, *spectrum.shape[-2:])
        made = torch.istft(
            flat, self.size, self.hop, self.length, self.window, center=center, onesided=onesided,
            length=length,
        )  # fmt: skip
        return made.reshape(*spectrum.shape[:-2], made.shape[-1])


def _complex(data: Any) -> Any:
    """A complex tensor of an array whose last axis holds both parts."""
    values = np.ascontiguousarray(waveform(data))
    if values.shape[-1] != 2:
        raise RuntimeError(f"complex numbers have a last axis of 2, but got {values.shape}")
    return torch.view_as_complex(torch.from_numpy(values))


def _parts(values: Any) -> Any:
    return torch.view_as_real(values).numpy()


class Spectrogram:
    """Absolute values of the short-time Fourier transform, to a power: (..., frequency, time).

    Args:
        n_fft: size of a transform.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, half the window unless given.
        pad: zeros at both ends.
        window: a :class:`WindowType`.
        power: 0 for complex numbers, as a last axis of 2.
        normalized: over the root of the sum of squares of the window.
        center: frames are about their time, not behind it.
        pad_mode: what is around then.
        onesided: without frequencies that follow from others.
    """

    def __init__(
        self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
        pad: int = 0, window: WindowType = WindowType.HANN, power: float = 2.0,
        normalized: bool = False, center: bool = True, pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ) -> None:  # fmt: skip
        self.frames = _Frames(n_fft, win_length, hop_length, window)
        self.pad, self.power, self.normalized = pad, positive("power", power, -1e-30), normalized
        name = chosen(BorderType, pad_mode, "pad_mode").value
        if name not in _PADDING:
            raise NotImplementedError(f"pad_mode={pad_mode!r} of a spectrum")
        self.center, self.mode, self.onesided = center, _PADDING[name], onesided

    def __call__(self, data: Any) -> Any:
        wave = torch.from_numpy(np.ascontiguousarray(waveform(data)))
        if self.pad:
            wave = torch.nn.functional.pad(wave, (self.pad, self.pad))
        made = self.frames.spectrum(wave, self.center, self.mode, self.onesided)
        if self.normalized:
            made = made / self.frames.window.pow(2).sum().sqrt()
        if self.power == 0:
            return _parts(made)
        size = made.abs()
        return (size if self.power == 1 else size.pow(self.power)).numpy()


class InverseSpectrogram:
    """The signal of a complex spectrum (..., frequency, time, 2).

    Args:
        length: of the signal.
        n_fft: size of a transform.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, half the window unless given.
        pad: zeros that were at both ends.
        window: a :class:`WindowType`.
        normalized: as of :class:`Spectrogram`.
        center: frames are about their time.
        pad_mode: of no effect on the way back.
        onesided: without frequencies that follow from others.
    """

    def __init__(
        self, length: int | None = None, n_fft: int = 400, win_length: int | None = None,
        hop_length: int | None = None, pad: int = 0, window: WindowType = WindowType.HANN,
        normalized: bool = False, center: bool = True, pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ) -> None:  # fmt: skip
        self.frames = _Frames(n_fft, win_length, hop_length, window)
        self.length, self.pad, self.normalized = length, pad, normalized
        self.center, self.onesided = center, onesided
        chosen(BorderType, pad_mode, "pad_mode")

    def __call__(self, data: Any) -> Any:
        values = _complex(data)
        if self.normalized:
            values = values * self.frames.window.pow(2).sum().sqrt()
        length = None if self.length is None else self.length + 2 * self.pad
        made = self.frames.wave(values, length, self.center, self.onesided)
        if self.pad:
            made = made[..., self.pad : made.shape[-1] - self.pad]
        return made.numpy().copy()


class GriffinLim:
    """A signal that has a given spectrum: D. Griffin and J. Lim, "Signal estimation from modified
    short-time Fourier transform", 1984, with the momentum of N. Perraudin et al., 2013.

    Args:
        n_fft: size of a transform.
        n_iter: how many rounds.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, half the window unless given.
        window_type: a :class:`WindowType`.
        power: of the spectrum.
        momentum: in [0, 1).
        length: of the signal.
        rand_init: begin with random phases, not with zeros.
    """

    def __init__(
        self, n_fft: int = 400, n_iter: int = 32, win_length: int | None = None,
        hop_length: int | None = None, window_type: WindowType = WindowType.HANN,
        power: float = 2.0, momentum: float = 0.99, length: int | None = None,
        rand_init: bool = True,
    ) -> None:  # fmt: skip
        self.frames = _Frames(n_fft, win_length, hop_length, window_type)
        self.rounds, self.power = positive("n_iter", n_iter), positive("power", power)
        if not 0 <= momentum < 1:
            raise ValueError(f"momentum should be in [0, 1), but got {momentum}")
        self.momentum, self.length, self.random = momentum / (1 + momentum), length, rand_init

    def __call__(self, data: Any) -> Any:
        size = torch.from_numpy(np.ascontiguousarray(waveform(data))).pow(1 / self.power)
        if self.random:
            phases = draw().random_sample((*size.shape, 2)).astype(np.float32)
            angles = torch.view_as_complex(torch.from_numpy(phases))
        else:
            angles = torch.full(size.shape, 1.0, dtype=torch.complex64)
        before = torch.zeros_like(angles)
        for _ in range(self.rounds):
            wave = self.frames.wave(size * angles, self.length, True, True)
            rebuilt = self.frames.spectrum(wave, True, "reflect", True)
            angles = rebuilt - before * self.momentum if self.momentum else rebuilt
            angles = angles / (angles.abs() + 1e-16)
            before = rebuilt
        return self.frames.wave(size * angles, self.length, True, True).numpy().copy()


def _stretched(values: Any, rate: float, advance: Any) -> Any:
    """A complex spectrum (..., frequency, time) ``rate`` times as fast: a phase vocoder."""
    if rate == 1:
        return values
    steps = np.arange(0, values.shape[-1], rate)
    left = steps.astype(np.int64)
    share = (steps % 1).astype(np.float32)
    angle = np.angle(values[..., :1])
    wide = np.concatenate([values, np.zeros_like(values[..., :1]).repeat(2, -1)], -1)
    first, second = wide[..., left], wide[..., left + 1]
    turn = np.angle(second) - np.angle(first) - advance
    turn = turn - 2 * np.pi * np.rint(turn / (2 * np.pi)) + advance
    phase = np.cumsum(np.concatenate([angle, turn[..., :-1]], -1), -1)
    size = share * np.abs(second) + (1 - share) * np.abs(first)
    return size * np.exp(1j * phase)


class PhaseVocoder:
    """A complex spectrum (..., frequency, time, 2) with other times, and the same pitches.

    Args:
        rate: how much faster.
        phase_advance: (frequency, 1): how far a phase goes from frame to frame.
    """

    def __init__(self, rate: float, phase_advance: Any) -> None:
        self.rate, self.advance = positive("rate", rate), np.asarray(phase_advance)

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        made = _stretched(values[..., 0] + 1j * values[..., 1].astype(np.float64), self.rate,
                          self.advance)  # fmt: skip
        return np.stack([made.real, made.imag], -1).astype(values.dtype)


class TimeStretch:
    """:class:`PhaseVocoder` of a short-time Fourier transform.

    Args:
        hop_length: from frame to frame, ``n_freq - 1`` unless given.
        n_freq: how many frequencies.
        fixed_rate: how much faster; 1 unless given.
    """

    def __init__(
        self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None
    ) -> None:
        self.hop = n_freq - 1 if hop_length is None else positive("hop_length", hop_length)
        self.count, self.rate = n_freq, 1.0 if fixed_rate is None else fixed_rate

    def __call__(self, data: Any) -> Any:
        advance = np.linspace(0, math.pi * self.hop, self.count)[:, None]
        return PhaseVocoder(self.rate, advance)(data)


class SpectralCentroid:
    """The mean frequency of each frame, weighed by absolute values: (..., 1, time).

    Args:
        sample_rate: samples of a second.
        n_fft: size of a transform.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, half the window unless given.
        pad: zeros at both ends.
        window: a :class:`WindowType`.
    """

    def __init__(
        self, sample_rate: int, n_fft: int = 400, win_length: int | None = None,
        hop_length: int | None = None, pad: int = 0, window: WindowType = WindowType.HANN,
    ) -> None:  # fmt: skip
        self.spectrum = Spectrogram(n_fft, win_length, hop_length, pad, window, power=1.0)
        self.frequencies = np.linspace(0, sample_rate // 2, 1 + n_fft // 2)[:, None]

    def __call__(self, data: Any) -> Any:
        size = self.spectrum(data)
        made = (self.frequencies * size).sum(-2, keepdims=True) / size.sum(-2, keepdims=True)
        return made.astype(size.dtype)


class Resample:
    """Another number of samples in a second: a filter of windowed sinc.

    Args:
        orig_freq, new_freq: samples of a second, before and after.
        resample_method: the window: Hann's, or Kaiser's.
        lowpass_filter_width: zeros of the sinc on a side.
        rolloff: where the filter falls off, of half the lower rate.
        beta: of Kaiser's window.
    """

    def __init__(
        self, orig_freq: float = 16000, new_freq: float = 16000,
        resample_method: Any = "sinc_interpolation", lowpass_filter_width: int = 6,
        rolloff: float = 0.99, beta: float | None = None,
    ) -> None:  # fmt: skip
        positive("orig_freq", orig_freq)
        positive("new_freq", new_freq)
        if lowpass_filter_width < 1 or not 0 < rolloff <= 1:
            raise ValueError(f"lowpass_filter_width {lowpass_filter_width}, rolloff {rolloff}")
        common = math.gcd(int(orig_freq), int(new_freq))
        self.old, self.new = int(orig_freq) // common, int(new_freq) // common
        self.zeros, self.method = lowpass_filter_width, str(resample_method)
        self.base = min(self.old, self.new) * rolloff
        self.beta = 14.769656459379492 if beta is None else beta

    def _weights(self, places: Any, samples: Any) -> Any:
        """Of old samples, for new ones at ``places``; times count from 0, in common periods."""
        t = (samples / self.old - places[:, None] / self.new) * self.base
        inside = np.abs(t) < self.zeros
        t = t.clip(-self.zeros, self.zeros)
        if "kaiser" in self.method:
            window = np.i0(self.beta * np.sqrt(1 - (t / self.zeros) ** 2)) / np.i0(self.beta)
        else:
            window = np.cos(t * math.pi / self.zeros / 2) ** 2
        return np.where(inside, np.sinc(t) * window * self.base / self.old, 0)

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        if self.old == self.new:
            return values
        length = values.shape[-1]
        reach = math.ceil(self.zeros * self.old / self.base) + 1
        around = np.pad(values.reshape(-1, length).astype(np.float64), [(0, 0), (reach, reach + 1)])
        made = np.empty((len(around), math.ceil(self.new * length / self.old)), values.dtype)
        offsets = np.arange(-reach, reach + 1)
        for begin in range(0, made.shape[1], _BLOCK):
            places = np.arange(begin, min(begin + _BLOCK, made.shape[1]))
            samples = (places * self.old // self.new)[:, None] + offsets
            weights = self._weights(places, samples)
            made[:, places] = np.einsum("cnk,nk->cn", around[:, samples + reach], weights)
        return made.reshape(*values.shape[:-1], made.shape[1])


class PitchShift:
    """Other pitches, and the same times.

    Args:
        sample_rate: samples of a second.
        n_steps: how many steps up.
        bins_per_octave: steps of an octave.
        n_fft: size of a transform.
        win_length: of the window, ``n_fft`` unless given.
        hop_length: from frame to frame, a quarter of the window unless given.
        window: a :class:`WindowType`.
    """

    def __init__(
        self, sample_rate: int, n_steps: int, bins_per_octave: int = 12, n_fft: int = 512,
        win_length: int | None = None, hop_length: int | None = None,
        window: WindowType = WindowType.HANN,
    ) -> None:  # fmt: skip
        if bins_per_octave == 0:
            raise ValueError("bins_per_octave should not be 0")
        length = n_fft if win_length is None else win_length
        self.frames = _Frames(n_fft, length, length // 4 if hop_length is None else hop_length,
                              window)  # fmt: skip
        self.sample_rate = sample_rate
        self.rate = 2.0 ** (-n_steps / bins_per_octave)

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        length = values.shape[-1]
        flat = torch.from_numpy(values.reshape(-1, length))
        spectrum = self.frames.spectrum(flat, True, "reflect", True).numpy()
        advance = np.linspace(0, math.pi * self.frames.hop, spectrum.shape[-2])[:, None]
        stretched = _stretched(spectrum, self.rate, advance).astype(np.complex64)
        wave = self.frames.wave(torch.from_numpy(stretched), round(length / self.rate), True, True)
        shifted = Resample(int(self.sample_rate / self.rate), self.sample_rate)(wave.numpy())
        made = np.zeros((len(shifted), length), values.dtype)
        count = min(length, shifted.shape[-1])
        made[:, :count] = shifted[:, :count]
        return made.reshape(values.shape)
