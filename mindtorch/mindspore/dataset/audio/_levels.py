"""Loudness, distortion and masks of signals and spectra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._random import draw
from ._options import BorderType, FadeShape, GainType, ScaleType, chosen, positive, waveform

__all__ = [
    "AmplitudeToDB", "Angle", "ComplexNorm", "ComputeDeltas", "Contrast", "DBToAmplitude",
    "DCShift", "Fade", "FrequencyMasking", "Gain", "Magphase", "MaskAlongAxis", "MaskAlongAxisIID",
    "MuLawDecoding", "MuLawEncoding", "Overdrive", "SlidingWindowCmn", "TimeMasking", "Vol",
]  # fmt: skip


class AmplitudeToDB:
    """k log10(max(x, amin) / max(ref_value, amin)), k = 10 for powers and 20 for magnitudes.

    Args:
        stype: what x is.
        ref_value, amin: see the formula.
        top_db: nothing is more than this below the largest, of the last three axes.
    """

    def __init__(
        self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0, amin: float = 1e-10,
        top_db: float = 80.0,
    ) -> None:  # fmt: skip
        self.factor = 10.0 if chosen(ScaleType, stype, "stype") is ScaleType.POWER else 20.0
        self.reference = positive("ref_value", ref_value)
        self.least, self.top = positive("amin", amin), top_db

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        base = math.log10(max(self.least, self.reference))
        made = self.factor * (np.log10(np.maximum(values, self.least)) - base)
        if self.top is not None:
            axes = tuple(range(max(made.ndim - 3, 0), made.ndim))
            made = np.maximum(made, made.max(axes, keepdims=True) - self.top)
        return made.astype(values.dtype)


class DBToAmplitude:
    """ref (10 ** (x / 10)) ** power."""

    def __init__(self, ref: float, power: float) -> None:
        self.reference, self.power = ref, power

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        return (self.reference * (10.0 ** (0.1 * values)) ** self.power).astype(values.dtype)


def _parts(data: Any) -> tuple[Any, Any]:
    """(real, imaginary) of an array whose last axis holds both."""
    values = waveform(data)
    if values.shape[-1] != 2:
        raise RuntimeError(f"complex numbers have a last axis of 2, but got {values.shape}")
    return values[..., 0], values[..., 1]


class Angle:
    """The angles of complex numbers, whose parts are the last axis."""

    def __call__(self, data: Any) -> Any:
        real, imaginary = _parts(data)
        return np.arctan2(imaginary, real)


class ComplexNorm:
    """The absolute values of complex numbers, to a power; their parts are the last axis.

    Args:
        power: at least 0.
    """

    def __init__(self, power: float = 1.0) -> None:
        self.power = positive("power", power, -1e-30)

    def __call__(self, data: Any) -> Any:
        real, imaginary = _parts(data)
        return (real**2 + imaginary**2) ** real.dtype.type(self.power / 2)


class Magphase:
    """(absolute values to a power, angles) of complex numbers, whose parts are the last axis."""

    def __init__(self, power: float = 1.0) -> None:
        self.norm, self.angle = ComplexNorm(power), Angle()

    def __call__(self, data: Any) -> tuple[Any, Any]:
        return self.norm(data), self.angle(data)


def padded(values: Any, count: int, mode: BorderType) -> Any:
    """``count`` more values at both ends of the last axis."""
    ends = [(0, 0)] * (values.ndim - 1) + [(count, count)]
    name: Any = chosen(BorderType, mode, "pad_mode").value
    return np.pad(values, ends, mode=name)


class ComputeDeltas:
    """Slopes along the last axis: sum of n (x[t+n] - x[t-n]) / (2 sum of n^2), n up to half the
    window.

    Args:
        win_length: of the window, at least 3.
        pad_mode: what is around.
    """

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE) -> None:
        if not isinstance(win_length, int) or win_length < 3:
            raise ValueError(f"win_length should be an int of 3 or more, but got {win_length!r}")
        self.half, self.mode = (win_length - 1) // 2, chosen(BorderType, pad_mode, "pad_mode")

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        n, length = self.half, values.shape[-1]
        around = padded(values.astype(np.float64), n, self.mode)
        total = sum(k * around[..., n + k : n + k + length] for k in range(-n, n + 1))
        return (total / (n * (n + 1) * (2 * n + 1) / 3)).astype(values.dtype)


class Contrast:
    """sin(y + c sin(4 y)), y = pi/2 x, c = enhancement_amount / 750: louder."""

    def __init__(self, enhancement_amount: float = 75.0) -> None:
        if not 0 <= enhancement_amount <= 100:
            raise ValueError(f"enhancement_amount should be in [0, 100]: {enhancement_amount}")
        self.amount = enhancement_amount / 750

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        turned = values * (math.pi / 2)
        return np.sin(turned + self.amount * np.sin(turned * 4)).astype(values.dtype)


class DCShift:
    """x + shift, within [-1, 1]; with a limit, values near the end are pressed and not cut.

    Args:
        shift: in [-2, 2].
        limiter_gain: how much of the range is left for them.
    """

    def __init__(self, shift: float, limiter_gain: float | None = None) -> None:
        if not -2 <= shift <= 2:
            raise ValueError(f"shift should be in [-2, 2], but got {shift}")
        self.shift, self.gain = shift, limiter_gain

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        if self.gain is None:
            return (values + self.shift).clip(-1, 1).astype(values.dtype)
        if not self.shift:
            return values
        bound = 1.0 - (abs(self.shift) - self.gain)
        sign = 1.0 if self.shift > 0 else -1.0
        turned = values.astype(np.float64) * sign
        pressed = (turned - bound) * self.gain / (1 - bound) + bound + abs(self.shift)
        made = sign * np.where(turned > bound, np.minimum(pressed, bound),
                               (turned + abs(self.shift)).clip(-1, 1))  # fmt: skip
        return made.astype(values.dtype)


class Fade:
    """Rises at the beginning and falls at the end.

    Args:
        fade_in_len, fade_out_len: in samples.
        fade_shape: of the rise.
    """

    def __init__(
        self, fade_in_len: int = 0, fade_out_len: int = 0,
        fade_shape: FadeShape = FadeShape.LINEAR,
    ) -> None:  # fmt: skip
        for name, value in (("fade_in_len", fade_in_len), ("fade_out_len", fade_out_len)):
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} should be an int >= 0, but got {value!r}")
        self.lengths = fade_in_len, fade_out_len
        self.shape = chosen(FadeShape, fade_shape, "fade_shape")

    def _rise(self, length: int) -> Any:
        t = np.linspace(0, 1, length)
        if self.shape is FadeShape.EXPONENTIAL:
            return 2.0 ** (t - 1) * t
        if self.shape is FadeShape.LOGARITHMIC:
            return np.log10(0.1 + t) + 1
        if self.shape is FadeShape.QUARTER_SINE:
            return np.sin(t * math.pi / 2)
        return np.sin(t * math.pi - math.pi / 2) / 2 + 0.5 if "half" in self.shape else t

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        length = values.shape[-1]
        if max(self.lengths) > length:
            raise RuntimeError(f"a fade of {max(self.lengths)} samples of {length}")
        factor = np.ones(length)
        first, last = self.lengths
        factor[:first] *= self._rise(first)
        factor[length - last :] *= self._rise(last)[::-1]
        return (values * factor).astype(values.dtype)


class Gain:
    """x 10 ** (gain_db / 20)."""

    def __init__(self, gain_db: float = 1.0) -> None:
        self.factor = 10 ** (gain_db / 20)

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        return (values * self.factor).astype(values.dtype)


class Vol:
    """x times a gain, within [-1, 1].

    Args:
        gain: as its type says.
        gain_type: of the amplitude, of the power, or in dB.
    """

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE) -> None:
        kind = chosen(GainType, gain_type, "gain_type")
        if kind is GainType.DB:
            gain = 10 ** (gain / 20)
        elif gain < 0 or (kind is GainType.POWER and gain == 0):
            raise ValueError(f"gain should not be negative, but got {gain}")
        self.factor = math.sqrt(gain) if kind is GainType.POWER else gain

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        return (values * self.factor).clip(-1, 1).astype(values.dtype)


class MuLawEncoding:
    """Values of [-1, 1] as whole numbers, finer about 0: int32.

    Args:
        quantization_channels: how many numbers.
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu = positive("quantization_channels", quantization_channels) - 1

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        pressed = np.sign(values) * np.log1p(self.mu * np.abs(values)) / math.log1p(self.mu)
        return ((pressed + 1) / 2 * self.mu + 0.5).astype(np.int32)


class MuLawDecoding:
    """:class:`MuLawEncoding` undone.

    Args:
        quantization_channels: how many numbers.
    """

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu = positive("quantization_channels", quantization_channels) - 1

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        spread = values / self.mu * 2 - 1.0
        made = np.sign(spread) * np.expm1(np.abs(spread) * math.log1p(self.mu)) / self.mu
        return made.astype(values.dtype)


class Overdrive:
    """Cut off softly, mixed with the signal: SoX's overdrive.

    Args:
        gain: in dB, in [0, 100].
        color: how much of even harmonics, in [0, 100].
    """

    def __init__(self, gain: float = 20.0, color: float = 20.0) -> None:
        if not 0 <= gain <= 100 or not 0 <= color <= 100:
            raise ValueError(f"gain {gain} and color {color} should be in [0, 100]")
        self.gain, self.color = 10 ** (gain / 20), color / 200

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        pressed = values.astype(np.float64) * self.gain + self.color
        cut = np.where(pressed < -1, -2 / 3, np.where(pressed > 1, 2 / 3, pressed - pressed**3 / 3))
        flat = cut.reshape(-1, cut.shape[-1])
        change = np.diff(flat, axis=-1, prepend=0.0)
        out = np.empty_like(flat)
        held = np.zeros(len(flat))
        for i in range(flat.shape[1]):
            held = change[:, i] + 0.995 * held
            out[:, i] = held
        mixed = values * 0.5 + out.reshape(cut.shape) * 0.75
        return mixed.clip(-1, 1).astype(values.dtype)


class MaskAlongAxis:
    """A stretch of a spectrum replaced.

    Args:
        mask_start, mask_width: where it begins, how long it is.
        mask_value: in its place.
        axis: 1: frequencies, 2: times.
    """

    def __init__(self, mask_start: int, mask_width: int, mask_value: float, axis: int) -> None:
        if axis not in (1, 2):
            raise ValueError(f"Input axis is not within the required interval of [1, 2]: {axis}")
        if mask_start < 0 or mask_width < 1:
            raise ValueError(f"mask_start {mask_start}, mask_width {mask_width}")
        self.start, self.width, self.value, self.axis = mask_start, mask_width, mask_value, axis

    def __call__(self, data: Any) -> Any:
        return _masked(waveform(data), self.start, self.width, self.value, self.axis)


def _masked(values: Any, start: int, width: int, value: float, axis: int) -> Any:
    made, place = np.array(values), values.ndim - 3 + axis
    if place < 0 or start + width > made.shape[place]:
        raise RuntimeError(f"a mask from {start} of {width}, of a spectrum of shape {made.shape}")
    part = [slice(None)] * made.ndim
    part[place] = slice(start, start + width)
    made[tuple(part)] = value
    return made


class MaskAlongAxisIID:
    """A random stretch of each spectrum replaced.

    Args:
        mask_param: the longest stretch.
        mask_value: in its place.
        axis: 1: frequencies, 2: times.
    """

    def __init__(self, mask_param: int, mask_value: float, axis: int) -> None:
        if axis not in (1, 2) or mask_param < 0:
            raise ValueError(f"axis should be 1 or 2, mask_param >= 0: {axis}, {mask_param}")
        self.longest, self.value, self.axis = mask_param, mask_value, axis

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        made = np.array(values).reshape(-1, *values.shape[-2:])
        if self.longest > made.shape[self.axis]:
            raise RuntimeError(f"a mask of {self.longest}, of spectra {made.shape}")
        for i in range(len(made)):
            width = int(draw().uniform(0, self.longest))
            start = int(draw().uniform(0, made.shape[self.axis] - width))
            if width:
                made[i : i + 1] = _masked(made[i : i + 1], start, width, self.value, self.axis)
        return made.reshape(values.shape)


class _RandomMask:
    """A random stretch along an axis replaced."""

    axis = 1

    def __init__(self, iid: bool, longest: int, start: int, value: float) -> None:
        if longest < 0 or start < 0 or value < 0:
            raise ValueError(f"mask_param {longest}, mask_start {start}, mask_value {value}")
        self.iid, self.longest, self.start, self.value = iid, longest, start, value

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        if self.iid:
            return MaskAlongAxisIID(self.longest, self.value, self.axis)(values)
        width = int(draw().uniform(0, self.longest)) if self.longest else 0
        if not width:
            return values
        return _masked(values, self.start, width, self.value, self.axis)


class FrequencyMasking(_RandomMask):
    """A random stretch of frequencies replaced.

    Args:
        iid_masks: another one for each spectrum.
        freq_mask_param: the longest.
        mask_start: where it begins, unless ``iid_masks``.
        mask_value: in its place.
    """

    def __init__(
        self, iid_masks: bool = False, freq_mask_param: int = 0, mask_start: int = 0,
        mask_value: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(iid_masks, freq_mask_param, mask_start, mask_value)


class TimeMasking(_RandomMask):
    """A random stretch of times replaced.

    Args:
        iid_masks: another one for each spectrum.
        time_mask_param: the longest.
        mask_start: where it begins, unless ``iid_masks``.
        mask_value: in its place.
    """

    axis = 2

    def __init__(
        self, iid_masks: bool = False, time_mask_param: int = 0, mask_start: int = 0,
        mask_value: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(iid_masks, time_mask_param, mask_start, mask_value)


class SlidingWindowCmn:
    """Features (..., time, feature) less their mean over a window of times.

    Args:
        cmn_window: of how many times.
        min_cmn_window: at the beginning, where the window is not about the middle.
        center: the window is about each time, not before it.
        norm_vars: over the deviation, too.
    """

    def __init__(
        self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False,
        norm_vars: bool = False,
    ) -> None:  # fmt: skip
        self.window = positive("cmn_window", cmn_window)
        self.least, self.center, self.norm = min_cmn_window, center, norm_vars

    def _bounds(self, time: int, count: int) -> tuple[int, int]:
        if self.center:
            begin = time - self.window // 2
            end = begin + self.window
        else:
            begin, end = time - self.window, time + 1
        if begin < 0:
            begin, end = 0, end - begin
        if not self.center:
            end = max(time + 1, self.least) if end > time else end
        if end > count:
            begin, end = max(begin - (end - count), 0), count
        return begin, end

    def __call__(self, data: Any) -> Any:
        values = waveform(data)
        wide = values.astype(np.float64).reshape(-1, *values.shape[-2:])
        made = np.empty_like(wide)
        for time in range(wide.shape[1]):
            begin, end = self._bounds(time, wide.shape[1])
            part = wide[:, begin:end]
            made[:, time] = wide[:, time] - part.mean(1)
            if self.norm:
                spread = part.var(1) if end - begin > 1 else np.ones(1)
                made[:, time] = made[:, time] / np.sqrt(spread) if end - begin > 1 else 0.0
        return made.reshape(values.shape).astype(values.dtype)
