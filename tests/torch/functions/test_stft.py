"""Short-time Fourier transforms and their inverses, against torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.torch._api import warn_caller
from tests.tables.ops_table import numbers

torch = pytest.importorskip("torch")
SIGNAL = numbers(2, 30)
WINDOW = numbers(8, domain="probability") + 0.5

HANN = 0.5 - 0.5 * np.cos(np.arange(8) * (np.pi / 4))


def _outcome(call: Callable[..., Any], namespace: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(namespace, namespace.from_numpy(SIGNAL), namespace.from_numpy(WINDOW))
        except Exception as error:
            return type(error).__name__, str(error)


RAISING: dict[str, Callable[..., Any]] = {
    "real_output": lambda t, x, w: t.stft(x, 8, window=w),
    "integers": lambda t, x, w: t.stft(x.long(), 8, window=w, return_complex=True),
    "axes": lambda t, x, w: t.stft(x[None], 8, window=w, return_complex=True),
    "short": lambda t, x, w: t.stft(x, 80, center=False, return_complex=True),
    "hop": lambda t, x, w: t.stft(x, 8, hop_length=0, window=w, return_complex=True),
    "wide": lambda t, x, w: t.stft(x, 8, win_length=9, window=w, return_complex=True),
    "window": lambda t, x, w: t.stft(x, 8, window=w[:3], return_complex=True),
    "onesided": lambda t, x, w: t.stft(t.complex(x, x), 8, window=w, onesided=True),
    "aligned": lambda t, x, w: t.stft(x, 8, window=w, align_to_window=True, return_complex=True),
    "back_real": lambda t, x, w: t.istft(x, 8, window=w),
    "back_empty": lambda t, x, w: t.istft(t.complex(x, x)[:, :0], 8, window=w),
    "back_rows": lambda t, x, w: t.istft(t.complex(x, x), 8, window=w, onesided=True),
    "back_hop": lambda t, x, w: t.istft(t.complex(x, x)[:, :5].mT, 8, hop_length=9, window=w),
    "back_window": lambda t, x, w: t.istft(t.complex(x, x)[:, :5].mT, 8, window=w[:3]),
    "back_onesided": lambda t, x, w: t.istft(
        t.complex(x, x)[:, :5].mT, 8, window=w, return_complex=True),
    "back_complex_window": lambda t, x, w: t.istft(
        t.complex(x, x)[:, :5].mT, 8, window=t.complex(w, w)),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_errors_are_torchs(name: str) -> None:
    """Type and text of what torch raises for the same call."""
    theirs = _outcome(RAISING[name], torch)
    assert isinstance(theirs, tuple), "torch must raise"
    assert _outcome(RAISING[name], mt) == theirs


OPTIONS: list[dict[str, Any]] = [
    {}, {"hop_length": 3}, {"center": False}, {"normalized": True}, {"onesided": False},
    {"pad_mode": "constant"}, {"center": False, "n_fft": 12, "win_length": 8, "hop_length": 2},
    {"center": False, "n_fft": 12, "win_length": 8, "align_to_window": True}, {"n_fft": 11,
     "win_length": 8},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("windowed", [True, False])
def test_short_time_transforms_and_gradients_are_torchs(
    options: dict[str, Any], windowed: bool
) -> None:
    """Frames, windows narrower than frames, padding, one side or both."""
    results = []
    for t in (mt, torch):
        x = t.from_numpy(SIGNAL.copy()).requires_grad_()
        window = t.from_numpy(WINDOW.copy()).requires_grad_()
        chosen = {"n_fft": 8, **options}
        w = window if windowed else t.ones(8, dtype=t.float64)
        out = t.view_as_real(x.stft(window=w, return_complex=True, **chosen))
        weights = t.from_numpy(numbers(*out.shape, seed=4))
        gradients = t.autograd.grad((out * weights).sum(), [x, *[window] * windowed])
        results.append([out.detach().numpy(), *[g.numpy() for g in gradients]])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{}, {"length": 25}, {"length": 60}, {"normalized": True}, {"n_fft": 10, "win_length": 8},
     {"center": False}, {"onesided": False}, {"onesided": False, "return_complex": True}],
    ids=str,
)  # fmt: skip
def test_inverses_and_gradients_are_torchs(options: dict[str, Any]) -> None:
    """Arbitrary transforms, which no signal has, so that the weights of overlaps show."""
    options = {"n_fft": 8, "hop_length": 3, **options}
    rows = options["n_fft"] if options.get("onesided") is False else options["n_fft"] // 2 + 1
    results = []
    for t in (mt, torch):
        parts = [t.from_numpy(numbers(2, rows, 9, seed=s)).requires_grad_() for s in (1, 2)]
        window = t.from_numpy(WINDOW.copy()).requires_grad_()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The length of signal is shorter")
            out = t.istft(t.complex(*parts), window=window, **options)
        out = t.view_as_real(out) if out.is_complex() else out
        weights = t.from_numpy(numbers(*out.shape, seed=4))
        gradients = t.autograd.grad((out * weights).sum(), [*parts, window])
        results.append([out.detach().numpy(), *[g.numpy() for g in gradients]])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11)


def test_a_signal_comes_back_from_its_transform() -> None:
    """istft inverts stft where windows cover every point."""
    x, window = mt.from_numpy(SIGNAL), mt.from_numpy(HANN)
    back = mt.istft(mt.stft(x, 8, window=window, return_complex=True), 8, window=window, length=30)
    np.testing.assert_allclose(back.numpy(), SIGNAL, atol=1e-12)


def test_a_missing_window_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rectangle leaks; torch says so, once in a process unless asked for more."""
    monkeypatch.setattr(warn_caller, "always", [True])
    with pytest.warns(UserWarning, match="A window was not provided"):
        mt.stft(mt.from_numpy(SIGNAL), 8, return_complex=True)


def test_a_window_that_leaves_a_point_out_cannot_be_inverted() -> None:
    """Hann's first point weighs nothing, and without centering nothing else covers it."""
    x, window = mt.from_numpy(SIGNAL), mt.from_numpy(HANN)
    transform = mt.stft(x, 8, window=window, center=False, return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min: 1"):
        mt.istft(transform, 8, window=window, center=False)
