"""Effects with delays, dither, and pitch: algorithms of SoX as torchaudio has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._options import DensityFunction, Interpolation, Modulation, chosen, positive, waveform

__all__ = ["DetectPitchFrequency", "Dither", "Flanger", "Phaser"]

_TINY = 1e-9


def _within(name: str, value: Any, low: float, high: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} should be a number, but got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"Input {name} is not within the required interval of [{low}, {high}].")
    return float(value)


def _rate(sample_rate: Any) -> int:
    if not isinstance(sample_rate, int) or isinstance(sample_rate, bool):
        raise TypeError(f"sample_rate should be an int, but got {sample_rate!r}")
    if sample_rate == 0:
        raise ValueError("Input sample_rate can not be 0.")
    return sample_rate


def _wave_table(sinusoidal: bool, size: int, low: float, high: float, phase: float) -> Any:
    """One period of a modulation between two values, in float64."""
    point = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if sinusoidal:
        unit = (np.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        quarter, unit = 4 * point // size, point * 2 / size
        unit = np.select([quarter == 0, quarter == 3], [unit + 0.5, unit - 1.5], 1.5 - unit)
    return unit * (high - low) + low


class Phaser:
    """Adds the signal again, delayed by a time that swings, with feedback; cut to [-1, 1].

    Args:
        sample_rate: in Hz.
        gain_in, gain_out: 0 to 1, 0 to 1e9.
        delay_ms: 0 to 5.
        decay: of the feedback, 0 to 0.99.
        mod_speed: of the swing in Hz, 0.1 to 2.
        sinusoidal: the swing's shape; triangular otherwise.
    """

    def __init__(
        self, sample_rate: int, gain_in: float = 0.4, gain_out: float = 0.74,
        delay_ms: float = 3.0, decay: float = 0.4, mod_speed: float = 0.5, sinusoidal: bool = True,
    ) -> None:  # fmt: skip
        if not isinstance(sinusoidal, bool):
            raise TypeError(f"sinusoidal should be a bool, but got {sinusoidal!r}")
        rate = _rate(sample_rate)
        self.gain_in = _within("gain_in", gain_in, 0, 1)
        self.gain_out = _within("gain_out", gain_out, 0, 1e9)
        self.decay = _within("decay", decay, 0, 0.99)
        self.length = int(_within("delay_ms", delay_ms, 0, 5) * 0.001 * rate + 0.5)
        size = int(rate / _within("mod_speed", mod_speed, 0.1, 2) + 0.5)
        table = _wave_table(sinusoidal, size, 1.0, float(self.length), math.pi / 2)
        self.delays = np.trunc(table + np.copysign(0.5, table)).astype(np.int64).tolist()

    def _channel(self, samples: list[float]) -> list[float]:
        length, delays, decay = self.length, self.delays, self.decay
        held, place, made = [0.0] * max(length, 1), 0, []
        for number, sample in enumerate(samples):
            delay = delays[number % len(delays)]
            value = sample * self.gain_in
            if length:
                value += held[(place + delay) % length]
                place = (place + 1) % length
                held[place] = value * decay
            made.append(value * self.gain_out)
        return made

    def __call__(self, data: Any) -> Any:
        wave = waveform(data)
        rows = [self._channel(row) for row in wave.reshape(-1, wave.shape[-1]).tolist()]
        return np.array(rows).reshape(wave.shape).clip(-1, 1).astype(wave.dtype)


class Flanger:
    """Adds the signal again, delayed by a time that swings between samples; cut to [-1, 1].

    Args:
        sample_rate: in Hz.
        delay, depth: of the delay in ms, 0 to 30, and of its swing, 0 to 10.
        regen, width: feedback and share of what is delayed in percent, -95 to 95, 0 to 100.
        speed: of the swing in Hz, 0.1 to 10.
        phase: between channels, in percent of a period.
        modulation: the swing's shape.
        interpolation: between samples.
    """

    def __init__(
        self, sample_rate: int, delay: float = 0.0, depth: float = 2.0, regen: float = 0.0,
        width: float = 71.0, speed: float = 0.5, phase: float = 25.0,
        modulation: Modulation = Modulation.SINUSOIDAL,
        interpolation: Interpolation = Interpolation.LINEAR,
    ) -> None:  # fmt: skip
        rate = _rate(sample_rate)
        least = _within("delay", delay, 0, 30) / 1000
        span = least + _within("depth", depth, 0, 10) / 1000
        self.feedback = _within("regen", regen, -95, 95) / 100
        share = _within("width", width, 0, 100) / 100
        self.gain = 1 / (1 + share)
        self.delayed_gain = share / (1 + share) * (1 - abs(self.feedback))
        self.length = int(span * rate + 0.5) + 2
        size = int(rate / _within("speed", speed, 0.1, 10))
        self.phase = _within("phase", phase, 0, 100) / 100
        sinusoidal = chosen(Modulation, modulation, "modulation") is Modulation.SINUSOIDAL
        low = math.floor(least * rate + 0.5)
        table = _wave_table(sinusoidal, size, low, self.length - 2.0, 3 * math.pi / 2)
        self.whole, self.parts = np.floor(table).astype(int).tolist(), (table % 1).tolist()
        word = chosen(Interpolation, interpolation, "interpolation")
        self.quadratic = word is Interpolation.QUADRATIC

    def _channel(self, samples: list[float], shift: int) -> list[float]:
        length, size = self.length, len(self.whole)
        held, last, made = [0.0] * length, 0.0, []
        for number, sample in enumerate(samples):
            place = -(number + 1) % length
            held[place] = sample + last * self.feedback
            at = (number + shift) % size
            part, start = self.parts[at], place + self.whole[at]
            first, second = held[start % length], held[(start + 1) % length]
            if self.quadratic:
                rise, further = second - first, held[(start + 2) % length] - first
                bend, slope = further * 0.5 - rise, rise * 2 - further * 0.5
                last = first + (bend * part + slope) * part
            else:
                last = first + (second - first) * part
            made.append(sample * self.gain + last * self.delayed_gain)
        return made

    def __call__(self, data: Any) -> Any:
        wave = waveform(data)
        if wave.ndim < 2:
            raise RuntimeError(f"a signal <..., channel, time> is needed, but got {wave.shape}")
        channels, size = wave.shape[-2], len(self.whole)
        shifts = [int(n * size * self.phase + 0.5) for n in range(channels)]
        rows = [
            self._channel(row, shifts[number % channels])
            for number, row in enumerate(wave.reshape(-1, wave.shape[-1]).tolist())
        ]
        return np.array(rows).reshape(wave.shape).clip(-1, 1).astype(wave.dtype)


class Dither:
    """Rounds to 16 bits with noise, so that the error of rounding does not follow the signal.

    Args:
        density_function: of the noise. TPDF is a triangle over time, the others are samples of the
            signal drawn at random, as in torchaudio.
        noise_shaping: the error of the sample before is added.
    """

    def __init__(
        self, density_function: DensityFunction = DensityFunction.TPDF, noise_shaping: bool = False
    ) -> None:
        if not isinstance(noise_shaping, bool):
            raise TypeError(f"noise_shaping should be a bool, but got {noise_shaping!r}")
        self.density = chosen(DensityFunction, density_function, "density_function")
        self.noise_shaping = noise_shaping

    def _noise(self, rows: Any) -> Any:
        length = rows.shape[1]
        if self.density is DensityFunction.TPDF:
            ramp = 1 - np.abs(np.arange(length) * 2 / length - 1)  # a periodic triangle
            return ramp.astype(rows.dtype)
        count = 1 if self.density is DensityFunction.RPDF else 7
        places = np.random.randint(0, rows.size, count)  # noqa: NPY002 (rows seed this one)
        total = rows.reshape(-1)[places].sum()
        return total - 0.5 if self.density is DensityFunction.RPDF else total

    def __call__(self, data: Any) -> Any:
        wave = waveform(data)
        rows = wave.reshape(-1, wave.shape[-1])
        rounded = np.round(rows * (2.0**15 - 2) + self._noise(rows)) / 2.0**15
        if self.noise_shaping:
            error = rounded - rows
            rounded[:, 1:] += error[:, :-1]
        return rounded.reshape(wave.shape).astype(wave.dtype)


class DetectPitchFrequency:
    """The frequency of each frame in Hz: the lag at which a frame is most like what follows it
    (normalised cross-correlation), smoothed by medians.

    Args:
        sample_rate: in Hz.
        frame_time: length of a frame in seconds.
        win_length: frames of a median.
        freq_low, freq_high: the range in Hz.
    """

    def __init__(
        self, sample_rate: int, frame_time: float = 0.01, win_length: int = 30,
        freq_low: int = 85, freq_high: int = 3400,
    ) -> None:  # fmt: skip
        self.rate = _rate(sample_rate)
        self.frame = math.ceil(self.rate * positive("frame_time", frame_time))
        self.lags = math.ceil(self.rate / positive("freq_low", freq_low))
        self.least = math.ceil(self.rate / positive("freq_high", freq_high))
        self.window = int(positive("win_length", win_length))

    def _correlations(self, rows: Any) -> Any:
        """(rows, frames, lags): each frame with what lies 1, 2, ... samples later."""
        frames = math.ceil(rows.shape[1] / self.frame)
        padded = np.pad(rows, ((0, 0), (0, self.lags + frames * self.frame - rows.shape[1])))
        shape = len(rows), frames, self.frame

        def cut(begin: int) -> Any:
            return padded[:, begin : begin + frames * self.frame].reshape(shape)

        def power(part: Any) -> Any:
            return (_TINY + np.sqrt((part * part).sum(-1))) ** 2

        first = cut(0)
        found = [
            (first * later).sum(-1) / power(first) / power(later)
            for later in (cut(lag) for lag in range(1, self.lags + 1))
        ]
        return np.stack(found, axis=-1)

    def _best(self, correlations: Any) -> Any:
        """The lag of each frame; one of the shorter half if it is nearly as good."""
        half = correlations.shape[-1] // 2
        whole, short = correlations[..., self.least :], correlations[..., self.least : half]
        best = whole.argmax(-1)
        if short.shape[-1]:
            near = short.max(-1) > 0.99 * whole.max(-1)
            best = np.where(near, short.argmax(-1), best)
        return best + self.least + 1

    def __call__(self, data: Any) -> Any:
        wave = waveform(data)
        lags = self._best(self._correlations(wave.reshape(-1, wave.shape[-1])))
        before = (self.window - 1) // 2
        if lags.shape[-1] + before < self.window:
            raise RuntimeError(f"a median of {self.window} frames, and there are {lags.shape[-1]}")
        padded = np.pad(lags, ((0, 0), (before, 0)), mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.window, axis=-1)
        middle = np.sort(windows, axis=-1)[..., (self.window - 1) // 2]
        found = (self.rate / (_TINY + middle)).astype(np.float32)
        return found.reshape(*wave.shape[:-1], -1)
