"""Rows of Fourier transforms; sizes even and odd, cut and padded, along one axis and several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.tables.ops_table import Case, Row, call, numbers

ONE: tuple[dict[str, Any], ...] = (
    {}, {"n": 3}, {"n": 8, "norm": "ortho"}, {"dim": 0, "norm": "forward"}, {"n": 1, "dim": 1},
)  # fmt: skip
SEVERAL: tuple[dict[str, Any], ...] = (
    {}, {"s": (4, 3)}, {"dim": (0,), "norm": "ortho"}, {"s": (7, -1), "dim": (2, 0)},
    {"dim": (2, 1), "norm": "forward"},
)  # fmt: skip
REAL: tuple[Case, ...] = ((numbers(4, 5, 6),),)
COMPLEX: tuple[Case, ...] = ((numbers(4, 5, 6), numbers(4, 5, 6, seed=1)),)


def _parts(t: Any, x: Any) -> Any:
    return t.view_as_real(x.resolve_conj()) if x.is_complex() else x


def _of_real(name: str, options: dict[str, Any]) -> Callable[..., Any]:
    return lambda t, x: _parts(t, getattr(t.fft, name)(x * x, **options))


def _of_complex(name: str, options: dict[str, Any]) -> Callable[..., Any]:
    return lambda t, x, y: _parts(t, getattr(t.fft, name)(t.complex(x * x, y), **options))


def _rows(op: str, names: str, variants: Any, make: Any, cases: Any) -> list[Row]:
    return [
        call(op, make(name, options), *cases, tolerance=64, strides=False,
             label=f"{name}_{make.__name__.strip('_')}_{number}")
        for name in names.split() for number, options in enumerate(variants)
    ]  # fmt: skip


ROWS: list[Row] = [
    *_rows("_fft_c2c", "fft ifft", ONE, _of_real, REAL),
    *_rows("_fft_c2c", "fft ifft", ONE, _of_complex, COMPLEX),
    *_rows("_fft_r2c", "rfft ihfft", ONE, _of_real, REAL),
    *_rows("_fft_c2r", "irfft hfft", ONE, _of_complex, COMPLEX),
    *_rows("_fft_c2c", "fftn ifftn", SEVERAL, _of_complex, COMPLEX),
    *_rows("_fft_r2c", "rfftn ihfftn", SEVERAL, _of_real, REAL),
    *_rows("_fft_c2r", "irfftn hfftn", SEVERAL, _of_complex, COMPLEX),
    *_rows("_fft_c2c", "fft2 ifft2", SEVERAL[:2], _of_complex, COMPLEX),
    *_rows("_fft_r2c", "rfft2 ihfft2", SEVERAL[:2], _of_real, REAL),
    *_rows("_fft_c2r", "irfft2 hfft2", SEVERAL[:2], _of_complex, COMPLEX),
]  # fmt: skip
