"""Convolution kernels against torch in float64, over odd shapes and layouts."""

import multiprocessing
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from mindtorch.kernels.cpu import convolution as kernels
from mindtorch.kernels.cpu.convolutions import convolution_tables as tables
from mindtorch.kernels.cpu.convolutions import convolution_tiles as tiles
from mindtorch.kernels.cpu.threads import thread_pool

# input, weight, stride, padding, dilation, groups
CASES: dict[str, Any] = {
    "one pixel": ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "first layer": ((3, 1, 28, 28), (6, 1, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    "few channels back": ((3, 6, 14, 14), (16, 6, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    "seven channels back": ((2, 7, 9, 17), (9, 7, 3, 2), (1, 1), (1, 1), (1, 1), 1),
    "several panels": ((2, 19, 9, 7), (37, 19, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "more taps than a block": ((2, 70, 5, 5), (24, 70, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "stride": ((2, 8, 13, 10), (20, 8, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "stride beyond the window": ((2, 5, 11, 12), (17, 5, 1, 2), (3, 4), (0, 0), (1, 1), 1),
    "stride leaves a rest": ((2, 3, 12, 15), (4, 3, 5, 3), (4, 3), (0, 1), (1, 1), 1),
    "pointwise": ((3, 16, 8, 8), (33, 16, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "dilation": ((2, 4, 15, 11), (18, 4, 3, 2), (1, 2), (2, 1), (3, 2), 1),
    "padding beyond the window": ((1, 3, 4, 5), (10, 3, 2, 2), (1, 1), (4, 3), (1, 1), 1),
    "groups": ((2, 12, 8, 9), (27, 4, 3, 3), (2, 1), (1, 1), (1, 1), 3),
    "depthwise": ((2, 9, 12, 10), (9, 1, 3, 3), (1, 1), (1, 1), (1, 1), 9),
    "depthwise, stride": ((2, 9, 12, 11), (18, 1, 3, 5), (2, 3), (1, 2), (1, 1), 9),
    "depthwise, dilation": ((2, 4, 12, 11), (4, 1, 3, 3), (1, 2), (2, 2), (2, 3), 4),
    "line": ((3, 4, 50), (18, 4, 7), (2,), (3,), (2,), 1),
    "volume": ((2, 3, 5, 6, 7), (9, 3, 2, 3, 3), (1, 2, 1), (1, 1, 0), (2, 1, 1), 1),
    "transposed as in GANs": ((3, 3, 16, 16), (20, 3, 4, 4), (2, 2), (1, 1), (1, 1), 1),
}


def made(shape: Any, dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def params_of(case: Any) -> dict[str, Any]:
    return dict(zip(("stride", "padding", "dilation", "groups"), case[2:], strict=True))


def reference(case: Any, x: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    """Result, output gradient and the gradients of input and weight, in float64."""
    wide = [torch.from_numpy(np.asarray(v, np.float64)).requires_grad_() for v in (x, weight)]
    offset = None if bias is None else torch.from_numpy(np.asarray(bias, np.float64))
    function = getattr(torch.nn.functional, f"conv{x.ndim - 2}d")
    result = function(*wide, offset, *case[2:])
    g = made(result.shape, x.dtype, 3)
    result.backward(torch.from_numpy(np.asarray(g, np.float64)))
    return result.detach().numpy(), g, wide[0].grad.numpy(), wide[1].grad.numpy()  # type: ignore[union-attr]


def assert_near(actual: Any, expected: Any, terms: int) -> None:
    """Within the rounding of a sum of ``terms`` products, for the largest result."""
    unit = np.finfo(actual.dtype).eps * np.sqrt(terms + 1)
    limit = unit * max(np.abs(expected).max(initial=0), 1)
    assert np.abs(actual - expected).max(initial=0) <= limit


@pytest.fixture(params=[1, 3])
def thread_count(request: Any) -> Any:
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(request.param)
    yield request.param
    thread_pool.set_num_threads(before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_result_and_both_gradients_are_those_of_torch(name: str, dtype: Any) -> None:
    """Tables of places and ends of panels and tiles are where such loops go wrong."""
    case = CASES[name]
    x, weight, bias = made(case[0], dtype, 0), made(case[1], dtype, 1), made(case[1][0], dtype, 2)
    expected, g, x_gradient, weight_gradient = reference(case, x, weight, bias)
    params = params_of(case)
    out = np.full(expected.shape, np.nan, dtype)
    kernels.convolution(out, x, weight, bias, **params)
    assert_near(out, expected, weight[0].size)
    out = np.full(x.shape, np.nan, dtype)
    kernels.convolution_input_gradient(out, g, weight, **params)
    assert_near(out, x_gradient, weight.size // weight.shape[1])
    out = np.full(weight.shape, np.nan, dtype)
    kernels.convolution_weight_gradient(out, g, x, **params)
    assert_near(out, weight_gradient, g.size // g.shape[1])


@pytest.mark.parametrize("last", [False, True], ids=["channels first", "channels last"])
def test_padded_images_end_a_vector_behind_themselves(last: bool) -> None:
    """Also where all channels of a pixel stand before each row: no other memory is written."""
    image, window, result = (2, 3, 64, 64), (96, 3, 4, 4), (2, 96, 16, 16)
    plan = tables.backward(image, window, result, (4, 4), (0, 0), (1, 1), 1, last)
    size = plan.images * plan.image_pitch
    assert size > 2 * 96 * 16 * 16
    padded = np.full(size + 4096, np.nan, np.float32)
    tiles._padding(padded.dtype)(padded, made(2 * 96 * 16 * 16, np.float32, 0), plan.sizes, 0, 2)
    assert np.isnan(padded[size + tiles.BEYOND :]).all()


@pytest.mark.parametrize("shape", [(16, 24, 16, 16), (1, 24, 40, 40)], ids=["images", "panels"])
def test_threads_share_a_large_case(shape: Any, thread_count: int) -> None:
    """Threads take images or panels of channels; their weight gradients are added up."""
    case = (shape, (40, 24, 3, 3), (1, 1), (1, 1), (1, 1), 1)
    x, weight = made(case[0], np.float32, 0), made(case[1], np.float32, 1)
    expected, g, x_gradient, weight_gradient = reference(case, x, weight, None)
    params = params_of(case)
    out, dx, dw = np.empty(expected.shape, np.float32), np.empty_like(x), np.empty_like(weight)
    kernels.convolution(out, x, weight, None, **params)
    kernels.convolution_input_gradient(dx, g, weight, **params)
    kernels.convolution_weight_gradient(dw, g, x, **params)
    assert_near(out, expected, 24 * 9)
    assert_near(dx, x_gradient, 40 * 9)
    assert_near(dw, weight_gradient, g.size // 40)


def test_operands_may_have_any_strides() -> None:
    """The engine hands over views: channels-last images, transposed and reversed weights."""
    case = CASES["several panels"]
    x, weight = made(case[0], np.float32, 0), made(case[1], np.float32, 1)
    expected, g, x_gradient, weight_gradient = reference(case, x, weight, None)
    params = params_of(case)
    x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    weight = np.ascontiguousarray(weight[::-1].T).T[::-1]
    g = np.ascontiguousarray(g.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    out, dx = np.empty(expected.shape, np.float32), np.empty(case[0], np.float32)
    dw = np.empty(case[1], np.float32)
    kernels.convolution(out, x, weight, None, **params)
    kernels.convolution_input_gradient(dx, g, weight, **params)
    kernels.convolution_weight_gradient(dw, g, x, **params)
    assert_near(out, expected, 171)
    assert_near(dx, x_gradient, 333)
    assert_near(dw, weight_gradient, 126)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_special_values_reach_the_results_that_see_them_and_no_other(value: float) -> None:
    """Surplus rows and columns of tiles, and the padding's zeros, must not spread them."""
    x, weight = np.ones((2, 3, 9, 9), np.float32), np.ones((5, 3, 3, 3), np.float32)
    x[1, 2, 4, 4] = value
    out = np.empty((2, 5, 9, 9), np.float32)
    kernels.convolution(
        out, x, weight, None, stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1
    )
    seen = np.zeros((2, 5, 9, 9), bool)
    seen[1, :, 3:6, 3:6] = True
    np.testing.assert_array_equal(~np.isfinite(out), seen)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_are_the_rounded_float32_result(dtype: Any) -> None:
    """torch computes half convolutions in float32 and rounds once."""
    case = CASES["stride"]
    x, weight = made(case[0], dtype, 0), made(case[1], dtype, 1)
    params = params_of(case)
    shape = reference(case, x.astype(np.float32), weight.astype(np.float32), None)[0].shape
    out, wide = np.empty(shape, dtype), np.empty(shape, np.float32)
    kernels.convolution(out, x, weight, None, **params)
    kernels.convolution(wide, x.astype(np.float32), weight.astype(np.float32), None, **params)
    np.testing.assert_array_equal(out, wide.astype(dtype))


def test_integers_are_exact() -> None:
    """torch convolves integer tensors on the CPU."""
    rng = np.random.default_rng(0)
    x, weight = rng.integers(-9, 9, (2, 3, 6, 7)), rng.integers(-9, 9, (4, 3, 3, 2))
    out = np.empty((2, 4, 4, 6), np.int64)
    kernels.convolution(
        out, x, weight, None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1
    )
    expected = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(weight))
    np.testing.assert_array_equal(out, expected.numpy())


def test_complex_numbers_multiply_as_such() -> None:
    """A complex convolution is made of four real ones."""
    case = CASES["stride"]
    x, weight, bias = (
        made(s, np.float64, i) + 1j * made(s, np.float64, i + 9)
        for i, s in enumerate((case[0], case[1], case[1][:1]))
    )
    expected = torch.nn.functional.conv2d(*map(torch.from_numpy, (x, weight, bias)), *case[2:])  # type: ignore[call-overload]
    out = np.empty(expected.shape, np.complex128)
    kernels.convolution(out, x, weight, bias, **params_of(case))
    np.testing.assert_allclose(out, expected.numpy(), rtol=1e-12, atol=1e-12)


def test_without_images_the_weight_gradient_is_zero() -> None:
    """An empty batch is a batch."""
    out = np.full((4, 3, 3, 3), np.nan, np.float32)
    kernels.convolution_weight_gradient(
        out, np.empty((0, 4, 6, 6), np.float32), np.empty((0, 3, 8, 8), np.float32),
        stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
    )  # fmt: skip
    assert not out.any()


def test_without_input_channels_the_result_is_the_bias() -> None:
    """A sum of nothing."""
    out = np.full((2, 3, 4, 4), np.nan, np.float32)
    kernels.convolution(
        out, np.empty((2, 0, 4, 4), np.float32), np.empty((3, 0, 1, 1), np.float32),
        np.arange(3, dtype=np.float32), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1,
    )  # fmt: skip
    np.testing.assert_array_equal(out, np.broadcast_to(np.arange(3.0)[:, None, None], out.shape))


def test_pieces_cover_a_range_once_and_their_errors_arrive(thread_count: int) -> None:
    """The pool is what every parallel kernel relies on."""
    seen = np.zeros(1000, np.int64)

    def part(start: int, stop: int) -> None:
        seen[start:stop] += 1
        thread_pool.parallel_for(3, lambda first, last: None)

    thread_pool.parallel_for(1000, part)
    assert (seen == 1).all()
    with pytest.raises(ZeroDivisionError):
        thread_pool.parallel_for(1000, lambda start, stop: 1 // start and None)  # type: ignore[arg-type]


def child_of_a_fork(answer: Any) -> None:
    total = np.zeros(2, np.int64)
    thread_pool.set_num_threads(2)

    def part(start: int, stop: int) -> None:
        total[start:stop] = 1

    thread_pool.parallel_for(2, part)
    answer.put(int(total.sum()))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_makes_threads_of_its_own(thread_count: int) -> None:
    """Workers of a data loader are forked from a process whose pool runs."""
    thread_pool.parallel_for(thread_count, lambda start, stop: None)
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    child = context.Process(target=child_of_a_fork, args=(answer,))
    child.start()
    assert answer.get(timeout=60) == 2
    child.join()
