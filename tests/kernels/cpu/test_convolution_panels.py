"""Convolutions with pixels along the vectors have the bits of those with channels there."""

from typing import Any

import numpy as np
import pytest

from mindtorch.kernels.cpu import convolution
from mindtorch.kernels.cpu.convolutions import convolution_panels, convolution_tables
from mindtorch.kernels.cpu.threads import thread_pool

# input, weight, stride, padding, dilation, groups
CASES: dict[str, Any] = {
    "a small image": ((1, 20, 7, 7), (270, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "images side by side": ((7, 9, 5, 6), (257, 9, 3, 2), (1, 1), (1, 1), (1, 1), 1),
    "several blocks of pixels": ((1, 100, 30, 31), (256, 100, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "no padding": ((2, 18, 9, 9), (258, 18, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    "stride": ((2, 19, 14, 11), (256, 19, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "stride of three": ((2, 19, 20, 17), (256, 19, 3, 3), (3, 3), (1, 2), (1, 1), 1),
    "dilation": ((1, 16, 15, 11), (256, 16, 3, 2), (1, 2), (2, 1), (3, 2), 1),
    "groups": ((2, 18, 8, 9), (514, 9, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "volume": ((1, 8, 4, 5, 7), (256, 8, 2, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1), 1),
}


def results(case: Any, dtype: Any) -> list[Any]:
    """The result, and the gradient for the input of a case with both numbers of channels
    exchanged, so that it has many, too."""
    shape, window, *params = case
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.standard_normal(s).astype(dtype) for s in (shape, window, window[0]))
    names = dict(zip(("stride", "padding", "dilation", "groups"), params, strict=True))
    spatial = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(shape[2:], window[2:], *params[:3], strict=True)
    ]
    out = np.full((shape[0], window[0], *spatial), np.nan, dtype)
    convolution.convolution(out, x, weight, bias, **names)
    g = rng.standard_normal((shape[0], shape[1], *spatial)).astype(dtype)
    turned = rng.standard_normal((shape[1], window[0] // params[3], *window[2:])).astype(dtype)
    back = np.full((shape[0], window[0], *shape[2:]), np.nan, dtype)
    convolution.convolution_input_gradient(back, g, turned, **names)
    return [out, back]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_both_ways_have_one_order_of_sums(
    name: str, dtype: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of pixels, rests of vectors and of tiles, scattered results, zeros around images."""
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(threads)
    try:
        found = results(CASES[name], dtype)
        monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
        expected = results(CASES[name], dtype)
    finally:
        thread_pool.set_num_threads(before)
    for mine, like in zip(found, expected, strict=True):
        assert np.array_equal(mine, like)


def test_which_convolutions_pack_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many channels for few pixels; more channels for many; never with the switch off."""

    def suits(images: int, side: int, channels: int) -> bool:
        plan = convolution_tables.forward(
            (images, 16, side, side), (channels, 16, 3, 3), (images, channels, side, side),
            (1, 1), (1, 1), (1, 1), 1,
        )  # fmt: skip
        return convolution_panels.suits(plan, np.dtype(np.float32))

    assert suits(1, 14, 256) and suits(1, 7, 512) and suits(32, 16, 512)
    assert not suits(1, 14, 128) and not suits(32, 16, 256)
    assert not suits(1, 1, 512)
    monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
    assert not suits(1, 7, 512)
