"""Windows: torch.hann_window and its kin, and torch.signal.windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as mt

NATIVE = ("hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window")
EXTRA: dict[str, tuple[float, ...]] = {"hamming_window": (0.3, 0.4), "kaiser_window": (5.0,)}


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_windows_are_torchs(name: str, dtype: str) -> None:
    """Every parity of the length, both kinds of end, in torch's own order of roundings."""
    for length in (0, 1, 2, 3, 8, 9, 400):
        for periodic in (True, False):
            for more in ((), EXTRA.get(name, ())):
                found = getattr(mt, name)(length, periodic, *more, dtype=getattr(mt, dtype))
                known = getattr(torch, name)(length, periodic, *more, dtype=getattr(torch, dtype))
                # kaiser's slope is that of i0 up to 12
                units = 48 if name == "kaiser_window" else 4
                epsilon = units * float(torch.finfo(known.dtype).eps)
                assert str(found.dtype) == str(known.dtype)
                assert found.double().tolist() == pytest.approx(
                    known.double().tolist(), rel=epsilon, abs=epsilon
                )


def _message(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


CALLS: list[Callable[[Any], Any]] = [
    *(lambda t, n=n: getattr(t, n)(-1) for n in NATIVE),
    *(lambda t, n=n: getattr(t, n)(3, 2) for n in NATIVE),
    lambda t: t.hann_window(3.5),
    lambda t: t.hann_window(3, True, 0.5),
    lambda t: t.kaiser_window(3, True, "a"),
    lambda t: t.hamming_window(),
    lambda t: t.blackman_window(3, dtype=t.int64),
    lambda t: t.bartlett_window(3, dtype=t.complex64),
    lambda t: t.signal.windows.kaiser(3, beta=-1.0),
    lambda t: t.signal.windows.gaussian(3, std=0),
    lambda t: t.signal.windows.exponential(3, center=1.0),
    lambda t: t.signal.windows.exponential(3, tau=0),
    lambda t: t.signal.windows.general_cosine(3, a=[]),
    lambda t: t.signal.windows.general_cosine(3, a=4),
    lambda t: t.signal.windows.hann(-1),
    lambda t: t.signal.windows.blackman(3, dtype=t.int64),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_errors_have_torchs_type_and_text(number: int) -> None:
    """Lengths, types and parameters that no window has."""
    assert _message(lambda: CALLS[number](mt)) == _message(lambda: CALLS[number](torch))


SIGNAL: list[tuple[str, dict[str, Any]]] = [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 2.0}),
    ("gaussian", {"std": 1.5}), ("general_cosine", {"a": [0.5, 0.3, 0.2]}),
    ("general_hamming", {"alpha": 0.6}), ("hamming", {}), ("hann", {}), ("kaiser", {"beta": 7.0}),
    ("nuttall", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), SIGNAL, ids=[name for name, _ in SIGNAL])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_signal_windows_are_torchs(name: str, options: dict[str, Any], dtype: str) -> None:
    """Symmetric or not, with the lengths that the formulas do not cover."""
    for length in (0, 1, 2, 3, 8, 9, 50):
        for sym in (True, False):
            found, known = (
                getattr(t.signal.windows, name)(
                    length, sym=sym, dtype=getattr(t, dtype), requires_grad=True, **options
                )
                for t in (mt, torch)
            )
            epsilon = 16 * float(torch.finfo(known.dtype).eps)
            assert (found.requires_grad, found.is_leaf) == (known.requires_grad, known.is_leaf)
            assert found.tolist() == pytest.approx(known.tolist(), rel=epsilon, abs=epsilon)
