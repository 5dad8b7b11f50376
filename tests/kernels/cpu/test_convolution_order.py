"""Convolutions add their terms in oneDNN's order, so that their bits can be PyTorch's.

It is another one for vectors of sixteen floats, where sums of blocks are added up. The order is
written out here as plain loops. Where torch's oneDNN has vectors of eight floats and no wider ones,
torch itself is asked too.
"""

from typing import Any

import numba
import numpy as np
import pytest
import torch

from mindtorch.kernels.cpu import convolution as kernels
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.kernels.cpu.vectors.float_bits import fma
from mindtorch.kernels.cpu.vectors.simd import lanes

BLOCK = lanes(np.float32)

# input, weight, stride, padding
CASES: dict[str, Any] = {
    "first layer": ((3, 1, 28, 28), (6, 1, 5, 5), 1, 2),
    "second layer": ((3, 6, 14, 14), (16, 6, 5, 5), 1, 0),
    "colours": ((2, 3, 16, 16), (24, 3, 3, 3), 1, 1),
    "two parts": ((2, 40, 9, 9), (36, 40, 3, 3), 1, 1),
    "rows of sixteen": ((2, 16, 16, 16), (48, 16, 3, 3), 1, 1),
    "wide rows": ((2, 8, 42, 42), (16, 8, 3, 3), 1, 1),
}


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Threads divide the sums of a weight's gradient."""
    before = thread_pool.get_num_threads(), torch.get_num_threads()
    thread_pool.set_num_threads(1)
    torch.set_num_threads(1)
    yield
    thread_pool.set_num_threads(before[0])
    torch.set_num_threads(before[1])


@numba.njit(error_model="numpy")
def added_one_by_one(rows: Any, columns: Any, begins: Any, start: Any, apart: bool) -> Any:
    """``start[j] + sum of rows[i, t] * columns[t, j]``, one by one, or parts between ``begins``
    ``apart``."""
    out = np.empty((rows.shape[0], columns.shape[1]), np.float32)
    for i in range(rows.shape[0]):
        for j in range(columns.shape[1]):
            total = start[j]
            for part in range(begins.size - 1):
                chained = np.float32(0) if apart else total
                for t in range(begins[part], begins[part + 1]):
                    chained = fma(rows[i, t], columns[t, j], chained)  # type: ignore[call-arg]
                total = np.float32(total + chained) if apart else chained
            out[i, j] = total
    return out


def windows(x: Any, kernel: int, padding: int) -> Any:
    """``[images * places, channels, taps]``: what each result sees."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), (2, 3))
    n, c, h, w = seen.shape[:4]
    return seen.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c, kernel * kernel)


def in_blocks(array: Any) -> Any:
    """``[rows, channels, taps]`` as ``[rows, terms]``: blocks of channels, taps, channels."""
    parts = [
        array[:, c : c + BLOCK].transpose(0, 2, 1).reshape(len(array), -1)
        for c in range(0, array.shape[1], BLOCK)
    ]
    return np.ascontiguousarray(np.concatenate(parts, 1))


def planes(rows: Any, images: int, side: int) -> Any:
    return rows.reshape(images, side, side, -1).transpose(0, 3, 1, 2)


def run(case: Any) -> tuple[Any, ...]:
    (x_shape, w_shape, stride, padding), random = case, np.random.default_rng(0)
    x = random.standard_normal(x_shape).astype(np.float32)
    weight = random.standard_normal(w_shape).astype(np.float32)
    bias = random.standard_normal(w_shape[0]).astype(np.float32)
    side = x_shape[2] + 2 * padding - w_shape[2] + 1
    g = random.standard_normal((x_shape[0], w_shape[0], side, side)).astype(np.float32)
    params: Any = {
        "stride": (stride,) * 2, "padding": (padding,) * 2, "dilation": (1, 1), "groups": 1,
    }  # fmt: skip
    out, gx, gw = np.empty_like(g), np.empty_like(x), np.empty_like(weight)
    kernels.convolution(out, x, weight, bias, **params)
    kernels.convolution_input_gradient(gx, g, weight, **params)
    kernels.convolution_weight_gradient(gw, g, x, **params)
    gb = np.empty_like(bias)
    kernels.channel_sum(gb, g, inner=x_shape[1], groups=1)
    return x, weight, bias, g, out, gx, gw, gb


@pytest.mark.parametrize("name", CASES)
def test_terms_are_added_in_the_order_of_blocks(name: str) -> None:
    """Bit for bit what the loops above make, in all three directions and for the bias."""
    shape, kernel, _, padding = CASES[name]
    x, weight, bias, g, out, gx, gw, gb = run(CASES[name])
    taps = kernel[2] ** 2
    seen = windows(x, kernel[2], padding)
    flat = in_blocks(weight.reshape(kernel[0], kernel[1], taps))
    whole = BLOCK * taps if BLOCK == 16 else flat.shape[1]
    begins = np.array([*range(0, flat.shape[1], whole), flat.shape[1]])
    expected = added_one_by_one(in_blocks(seen), flat.T.copy(), begins, bias, BLOCK == 16)
    assert np.array_equal(out, planes(expected, shape[0], g.shape[2]))

    back = windows(g, kernel[2], kernel[2] - 1 - padding)[:, :, ::-1]
    turned = in_blocks(weight.transpose(1, 0, 2, 3).reshape(kernel[1], kernel[0], taps))
    blocks = 1 if BLOCK == 16 else 4 if g.shape[3] < 15 else 2 if g.shape[3] < 40 else 1
    begins = np.array([*range(0, turned.shape[1], blocks * BLOCK * taps), turned.shape[1]])
    nothing = np.zeros(kernel[1], np.float32)
    expected = added_one_by_one(in_blocks(back), turned.T.copy(), begins, nothing, True)
    assert np.array_equal(gx, planes(expected, shape[0], shape[2]))

    slopes = g.transpose(1, 0, 2, 3).reshape(kernel[0], -1).copy()
    terms = np.array([0, slopes.shape[1]])
    expected = added_one_by_one(
        slopes, seen.reshape(len(seen), -1), terms, np.zeros(kernel[1] * taps, np.float32), False
    )
    assert np.array_equal(gw.reshape(kernel[0], -1), expected)
    ones = np.ones((slopes.shape[1], 1), np.float32)
    expected = added_one_by_one(slopes, ones, terms, np.zeros(1, np.float32), False)
    assert np.array_equal(gb, expected[:, 0])


@pytest.mark.parametrize("name", CASES)
def test_torch_agrees(name: str) -> None:
    """Bit for bit where the processor's vectors hold eight floats, else within rounding."""
    x, weight, bias, g, *found = run(CASES[name])
    given: Any = [torch.from_numpy(v).requires_grad_() for v in (x, weight, bias)]
    result = torch.nn.functional.conv2d(*given, *CASES[name][2:])
    result.backward(torch.from_numpy(g))
    terms = [weight[0].size, weight.shape[0] * weight[0, 0].size, g[:, 0].size, g[:, 0].size]
    for mine, theirs, count in zip(found, [result, *[v.grad for v in given]], terms, strict=True):
        expected: Any = theirs.detach().numpy()
        if torch.backends.cpu.get_cpu_capability() == "AVX2" and BLOCK == 8:
            assert np.array_equal(mine, expected)
        limit = np.finfo(np.float32).eps * count * max(np.abs(expected).max(), 1)
        assert np.abs(mine - expected).max() <= limit
