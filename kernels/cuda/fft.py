"""Fourier transforms for CUDA: cuFFT through cupy where it is installed.

    picture, memory, sync, sizes    see ``vendor``; without cupy the host computes
"""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.cpu import fft as on_cpu

from .library_calls import through_library

_FORWARD, _BACKWARD = on_cpu._FORWARD, on_cpu._BACKWARD


def _complex_to_complex(
    cupy: Any, out: Any, x: Any, *, axes: tuple[int, ...], norm: str, forward: bool
) -> None:
    if forward:
        out[...] = cupy.fft.fftn(x, axes=axes, norm=_FORWARD[norm])
    else:
        out[...] = cupy.fft.ifftn(x, axes=axes, norm=_BACKWARD[norm])


def _real_to_complex(cupy: Any, out: Any, x: Any, *, axes: tuple[int, ...], norm: str) -> None:
    out[...] = cupy.fft.rfftn(x, axes=axes, norm=_FORWARD[norm])


def _complex_to_real(
    cupy: Any, out: Any, x: Any, *, axes: tuple[int, ...], norm: str, size: int
) -> None:
    sizes = [*[x.shape[a] for a in axes[:-1]], size]
    out[...] = cupy.fft.irfftn(x, s=sizes, axes=axes, norm=_BACKWARD[norm])


complex_to_complex = through_library(on_cpu.complex_to_complex, _complex_to_complex)
real_to_complex = through_library(on_cpu.real_to_complex, _real_to_complex)
complex_to_real = through_library(on_cpu.complex_to_real, _complex_to_real)
