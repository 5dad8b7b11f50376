"""Operations on signals, against what real MindSpore 2.10 gave, to rounding."""

from typing import Any

import numpy as np
import pytest

from mindtorch.mindspore.dataset import audio as a
from tests.support.paths import GOLDEN_FILES


def test_values_of_mindspore() -> None:
    """86 calls of all kinds. Recursive filters and phases round otherwise."""
    draw = np.random.RandomState(0)
    wave = np.sin(np.arange(160) * 0.1) * 0.5 + draw.randn(160) * 0.1
    names: dict[str, Any] = {
        "a": a, "np": np, "x": wave.astype(np.float32)[None],
        "z": draw.randn(1, 33, 9, 2).astype(np.float32),
        "sp": np.abs(draw.randn(1, 33, 9)).astype(np.float32),
    }  # fmt: skip
    golden = np.load(GOLDEN_FILES / "mindspore_audio.npz")
    wrong = []
    for code in golden.files:
        found, wanted = np.asarray(eval(code, names)), golden[code]
        same = found.shape == wanted.shape and found.dtype == wanted.dtype
        if not same or np.abs(found - wanted).max() > 1e-4 * max(1, np.abs(wanted).max()):
            wrong.append((code, found.shape, found.dtype))
    assert wrong == [] and len(golden.files) > 80


def test_random_and_iterative_operations() -> None:
    """Masks keep to their stretch; a spectrum is found again by GriffinLim and from its mels."""
    draw = np.random.default_rng(0)
    spectrum = draw.random((2, 20, 30)).astype(np.float32) + 1
    for mask, axis in ((a.FrequencyMasking(True, 8, mask_value=0.0), 1),
                       (a.TimeMasking(False, 8, 3, 0.0), 2)):  # fmt: skip
        masked = mask(spectrum)
        changed = (masked == 0).all(axis=3 - axis)
        assert changed.sum(axis=1).max() <= 8
        assert np.array_equal(masked[masked > 0], spectrum[masked > 0])
        assert (masked == 0).sum() == changed.sum() * masked.shape[3 - axis]
    wave = np.sin(np.arange(800) * 0.2).astype(np.float32)[None]
    power = a.Spectrogram(128)(wave)
    again = a.Spectrogram(128)(a.GriffinLim(128, 32, rand_init=False)(power))
    middle = slice(3, again.shape[-1] - 3)
    assert np.abs(np.sqrt(again) - np.sqrt(power[..., : again.shape[-1]]))[..., middle].max() < 3
    mels = a.MelScale(10, 16000, n_stft=65)(power)
    back = a.InverseMelScale(65, 10, 16000)(mels)
    assert back.shape == power.shape and back.min() >= 0


def test_dither_draws_from_the_signal() -> None:
    """Noise of one sample, or of the sum of seven; steps of 16 bits."""
    wave = np.sin(np.arange(400) * 0.1)[None] * 0.3
    np.random.seed(1)  # noqa: NPY002 (the generator that rows seed)
    for density, most in ((a.DensityFunction.RPDF, 2), (a.DensityFunction.GPDF, 4)):
        made = a.Dither(density)(wave)
        assert np.array_equal(made * 2**15, np.round(made * 2**15))
        assert 0 < np.abs(made * 2**15 - wave * (2**15 - 2)).max() <= most


def test_bad_arguments_are_told() -> None:
    """What is no number, no word of the options, and no signal."""
    with pytest.raises(TypeError, match="stype should be a ScaleType"):
        a.AmplitudeToDB("power")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"Q should be in \(0, 1\]"):
        a.LowpassBiquad(16000, 100.0, 2.0)
    with pytest.raises(ValueError, match="44100 or 48000"):
        a.DeemphBiquad(16000)
    with pytest.raises(ValueError, match=r"depth is not within the required interval of \[0, 10"):
        a.Flanger(16000, depth=11.0)
    with pytest.raises(RuntimeError, match="channel, time"):
        a.Flanger(16000)(np.zeros(8))
    with pytest.raises(RuntimeError, match="a signal is needed"):
        a.Gain()(np.array(["x"]))
    with pytest.raises(RuntimeError, match="last axis of 2"):
        a.Angle()(np.zeros((3, 3), np.float32))
    with pytest.raises(AttributeError, match=r"mindspore\.dataset\.audio"):
        a.Vad
