"""torch.fft beside the table of ops: types, errors, frequencies, shifts, ``out=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from tests.tables.ops_table import numbers

torch = pytest.importorskip("torch")
SIGNAL = numbers(3, 4)


def _outcome(call: Callable[..., Any], namespace: Any, array: Any = SIGNAL) -> Any:
    try:
        return call(namespace, namespace.from_numpy(np.array(array)))
    except Exception as error:
        return type(error).__name__, str(error)


RAISING: dict[str, Callable[..., Any]] = {
    "norm": lambda t, x: t.fft.fft(x, norm="half"),
    "points": lambda t, x: t.fft.fft(x, n=0),
    "points_of_one": lambda t, x: t.fft.irfft(x[:, :1]),
    "dim": lambda t, x: t.fft.fft(x, dim=2),
    "no_dim": lambda t, x: t.fft.fft(x[0, 0]),
    "half": lambda t, x: t.fft.fft(x.half()),
    "complex_rfft": lambda t, x: t.fft.rfft(t.complex(x, x)),
    "complex_ihfft": lambda t, x: t.fft.ihfft(t.complex(x, x)),
    "lengths": lambda t, x: t.fft.fftn(x, s=(2, 2), dim=(0,)),
    "too_many": lambda t, x: t.fft.fftn(x, s=(2, 2, 2)),
    "twice": lambda t, x: t.fft.fftn(x, dim=(0, -2)),
    "negative": lambda t, x: t.fft.fftfreq(-2),
    "no_axis": lambda t, x: t.fft.rfftn(x, dim=()),
    "no_axis_back": lambda t, x: t.fft.irfftn(t.complex(x, x), dim=()),
}


@pytest.mark.parametrize("name", RAISING)
def test_errors_are_torchs(name: str) -> None:
    """Type and text of what torch raises for the same call."""
    theirs = _outcome(RAISING[name], torch)
    assert isinstance(theirs, tuple), "torch must raise"
    assert _outcome(RAISING[name], mt) == theirs


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "rfft", "ihfft", "fftn"])
def test_result_types_are_torchs(name: str, dtype: str) -> None:
    """Integers become the default type; float32 is transformed in single precision."""
    def call(t: Any, x: Any) -> Any:
        return str(getattr(t.fft, name)(x.to(getattr(t, dtype))).dtype)

    assert _outcome(call, mt) == _outcome(call, torch)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_are_torchs(name: str, n: int) -> None:
    """Even and odd counts differ in where the negative ones begin."""
    mine = getattr(mt.fft, name)(n, d=0.25, dtype=mt.float64)
    theirs = getattr(torch.fft, name)(n, d=0.25, dtype=torch.float64)
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert getattr(mt.fft, name)(n).dtype is mt.float32


@pytest.mark.parametrize("dim", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts_are_torchs(name: str, dim: Any) -> None:
    """Zero comes to the middle, of odd lengths too."""
    def call(t: Any, x: Any) -> Any:
        return getattr(t.fft, name)(x, dim).numpy()

    array = numbers(5, 4)
    np.testing.assert_array_equal(_outcome(call, mt, array), _outcome(call, torch, array))


def test_a_transform_fills_what_out_names() -> None:
    """``out=`` is resized and returned."""
    out = mt.empty(0, dtype=mt.complex128)
    x = mt.from_numpy(SIGNAL)
    assert mt.fft.fft(x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), mt.fft.fft(x).numpy())


def test_transforms_of_many_points_keep_single_precision() -> None:
    """Threads share long batches; the error stays that of float32."""
    x = np.random.default_rng(0).normal(size=(16, 4096)).astype(np.float32)
    found = mt.fft.fft(mt.from_numpy(x)).numpy()
    exact = np.fft.fft(x.astype(np.float64))
    assert found.dtype == np.complex64
    assert np.abs(found - exact).max() < 8 * np.finfo(np.float32).eps * np.abs(exact).max()
