"""The forms of products of bytes, which give the same integers on every processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindtorch.kernels.codegen.jit import entry_point, from_source
from mindtorch.kernels.cpu.inference import inference_packing as packing
from mindtorch.kernels.cpu.inference.packed_tile import (
    ARGUMENTS,
    FIRST_ACTIVATION,
    NUMBERS,
    byte_form,
    tile_code,
)
from mindtorch.kernels.cpu.inference.vector_activations import ACTIVATIONS
from mindtorch.kernels.cpu.matrix_products.packed_dot import dot_code
from mindtorch.kernels.cpu.vectors.simd import tile_rows, vector_bytes

WIDTHS = {16: [4], 32: [4, 8], 64: [4, 8, 16]}


FORMS = sorted({byte_form(), "plain", *(["pairs"] if byte_form() != "plain" else [])})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(1, 1, 64), (4, 4, 192), (1, 4, 128), (3, 2, 0)])
def test_sums_along_rows_are_exact(form: str, shape: tuple[int, int, int]) -> None:
    rows, channels, size = shape
    generator = np.random.default_rng(size)
    x = generator.integers(0, 256, (rows, size)).astype(np.uint8)
    weight = generator.integers(-128, 128, (channels, size)).astype(np.int8)
    x[0], weight[0] = 255, -128
    sums = np.empty((rows, channels), np.int32)
    dot = from_source("def dot(a, b, c, d):\n    code(a, b, c, d)", "dot",
                      {"code": dot_code(rows, channels, form)})  # fmt: skip
    run = entry_point(dot, "void(int64, int64, int64, int64)")
    run(sums.ctypes.data, x.ctypes.data, weight.ctypes.data, size)
    assert np.array_equal(sums, x.astype(np.int64) @ weight.T.astype(np.int64))


def _tile(kind: str, rows: int, width: int, form: str = "") -> Any:
    """The compiled code of one tile."""
    names = ", ".join([*ARGUMENTS, *NUMBERS])
    code = tile_code(kind, rows, 1, width, form)
    tile = from_source(f"def tile({names}):\n    code({names})", "tile", {"code": code})
    return entry_point(tile, f"void({', '.join(['int64'] * len(ARGUMENTS) + ['float32'] * 4)})")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", WIDTHS[vector_bytes()])
def test_forms_are_exact(form: str, width: int) -> None:
    generator = np.random.default_rng(width)
    rows, words, pixels = 3, 5, 4
    x = generator.integers(0, 256, (pixels, 4 * words)).astype(np.uint8)
    x[0], x[1] = 255, 0
    weight = generator.integers(-127, 128, (width, 4 * words)).astype(np.int8)
    weight[0], weight[1] = 127, -127
    packed = np.ascontiguousarray(weight.view(np.int32).T)
    places = np.array([0, 8 * words, 4 * words] + [0] * 8, np.int32)
    start = generator.integers(-1000, 1000, width).astype(np.int32)
    factor, bias = np.ones(width, np.float32), np.zeros(width, np.float32)
    out, as_bytes = np.empty((rows, width), np.float32), np.empty((rows, width), np.uint8)
    run = _tile("bytes", rows, width, form)
    at = [a.ctypes.data for a in (places, x, packed, start, bias, factor, out, as_bytes)]
    run(at[0], 1, words, at[1], at[2], at[3], at[4], at[5], 0, 0, at[6], 4 * width, at[7], width,
        0, 0, -1e9, 1e9, 1 / 512, 100.0)  # fmt: skip
    exact = x[[0, 2, 1]].astype(np.int64) @ weight.T.astype(np.int64) + start
    assert np.array_equal(out, exact.astype(np.float32))
    levels = np.clip(np.rint(exact.astype(np.float32) / 512) + 100, 0, 255)
    assert np.array_equal(as_bytes, levels.astype(np.uint8))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("width", WIDTHS[vector_bytes()])
def test_forms_for_each_channel_are_exact(form: str, width: int) -> None:
    generator = np.random.default_rng(width)
    rows, taps = tile_rows(), 9
    x = generator.integers(0, 256, (taps + rows, width)).astype(np.uint8)
    x[3], x[4] = 255, 0
    weight = generator.integers(-128, 128, (taps, width)).astype(np.int32)
    weight[3] = -128
    places = ((np.arange(taps)[:, None] + np.arange(rows)) * width).astype(np.int32)
    start = generator.integers(-1000, 1000, width).astype(np.int32)
    factor, bias = np.ones(width, np.float32), np.zeros(width, np.float32)
    out = np.empty((rows, width), np.float32)
    at = [a.ctypes.data for a in (places, x, weight, start, bias, factor, out)]
    _tile("depthwise bytes", rows, width, form)(
        at[0], taps, 1, at[1], at[2], at[3], at[4], at[5], 0, 0, at[6], 4 * width, 0, 0, 0, 0,
        -1e9, 1e9, 1.0, 0.0,
    )  # fmt: skip
    windows = np.stack([x[t : t + rows] for t in range(taps)]).astype(np.int64)
    exact = (windows * weight[:, None]).sum(0) + start
    assert np.array_equal(out, exact.astype(np.float32))


def _exact(name: str, x: Any) -> Any:
    with np.errstate(over="ignore"):
        part = 1 / (1 + np.exp(-x))
    sixth = np.clip(x + 3, 0, 6) / 6
    return {"silu": x * part, "sigmoid": part, "hardswish": x * sixth, "hardsigmoid": sixth}[name]


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("width", WIDTHS[vector_bytes()])
def test_activations_in_registers(name: str, width: int) -> None:
    """Against float64; numbers that are not finite end as they do in the scalar functions."""
    generator = np.random.default_rng(width)
    rows = tile_rows()
    x = np.concatenate([
        generator.uniform(-20, 20, 61 * rows * width - 6), [0, -0.0, 100, -100, 1e30, 3]
    ]).astype(np.float32)  # fmt: skip
    x = x.reshape(-1, rows, width)
    place = np.zeros(rows, np.int32)
    weight, start = np.zeros(width, np.float32), np.zeros(width, np.float32)
    run = _tile("depthwise", rows, width)
    found, levels = np.empty_like(x), np.empty(x.shape, np.uint8)
    weight[:] = 1
    for number, given in enumerate(x):
        place[:] = np.arange(rows) * 4 * width
        at = [a.ctypes.data for a in (place, given, weight, start, found[number], levels[number])]
        run(at[0], 1, 1, at[1], at[2], at[3], at[3], at[3], 0, 0, at[4], 4 * width, at[5], width,
            FIRST_ACTIVATION + list(ACTIVATIONS).index(name), 0, -1.0, 1.0, 10.0, 3.0)  # fmt: skip
    exact = _exact(name, x.astype(np.float64))
    assert np.abs(found - exact).max(initial=0, where=np.abs(x) < 1e6) <= 3e-6
    near = np.abs(x) < 1
    np.testing.assert_allclose(found[near], exact[near], rtol=1e-6)
    np.testing.assert_array_equal(levels, np.clip(np.rint(found * np.float32(10)) + 3, 0, 255))
    special = np.full((rows, width), np.nan, np.float32)
    special[1], special[2] = np.inf, -np.inf
    at[1], at[4] = special.ctypes.data, found[0].ctypes.data
    run(at[0], 1, 1, at[1], at[2], at[3], at[3], at[3], 0, 0, at[4], 4 * width, at[5], width,
        FIRST_ACTIVATION + list(ACTIVATIONS).index(name), 0, -1.0, 1.0, 10.0, 3.0)  # fmt: skip
    assert np.isnan(found[0, 0]).all()
    assert np.all(found[0, 1] == (np.inf if name in ("silu", "hardswish") else 1))


@pytest.mark.parametrize("channels", [1, 8, 9, 16, 24, 40, 64, 136])
def test_panels_hold_every_channel_once(channels: int) -> None:
    pitch = packing.pitch_of(channels)
    assert pitch >= channels
    at = 0
    for _, first, count in packing.panels_of(pitch):
        assert first == at
        at += count
    assert at == pitch
    weight = np.arange(channels * 6, dtype=np.float32).reshape(channels, 2, 3)
    held, table = packing.packed_floats(weight)
    for (_, first, count), (_, begin, distance) in zip(
        packing.panels_of(pitch), table, strict=True
    ):
        assert begin == first
        panel = held[distance // 4 : distance // 4 + 6 * count].reshape(6, count)
        valid = min(count, channels - first)
        assert np.array_equal(panel[:, :valid], weight[first : first + valid].reshape(-1, 6).T)
        assert not panel[:, valid:].any()
