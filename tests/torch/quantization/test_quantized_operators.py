"""torch.ops.quantized: levels are PyTorch's, or one step from them where its kernels round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt

pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
rng = np.random.default_rng(3)
NUMBERS = {
    name: rng.standard_normal(shape).astype(np.float32)
    for name, shape in {
        "rows": (5, 70), "weight": (9, 70), "bias": (12,), "images": (2, 8, 9, 9),
        "filters": (12, 8, 3, 3), "line": (2, 8, 20), "volume": (2, 8, 5, 5, 5), "flat": (30,),
        "other": (30,),
    }.items()
}  # fmt: skip


def numbers(t: Any, name: str, scale: float = 1.0) -> Any:
    return t.tensor(NUMBERS[name] * np.float32(scale))


def levels(t: Any, name: str, scale: float = 0.03, zero: int = 100, dtype: str = "quint8") -> Any:
    return t.quantize_per_tensor(numbers(t, name), scale, zero, getattr(t, dtype))


def weight(t: Any, array: np.ndarray, by_rows: bool = True) -> Any:
    w = t.tensor(np.ascontiguousarray(array) / 5)
    if not by_rows:
        return t.quantize_per_tensor(w, 0.01, 0, t.qint8)
    scales = w.abs().flatten(1).amax(1) / 127
    return t.quantize_per_channel(w, scales, t.zeros(len(w), dtype=t.int64), 0, t.qint8)


def linear(t: Any, name: str, *args: Any, by_rows: bool = True) -> Any:
    ops = t.ops.quantized
    packed = ops.linear_prepack(weight(t, NUMBERS["weight"], by_rows), numbers(t, "bias")[:9])
    return getattr(ops, name)(*args[:1], packed, *args[1:])


def convolution(
    t: Any, x: str, shape: Any, stride: int, padding: int, dilation: int, groups: int,
    relu: bool = False, by_rows: bool = True,
) -> Any:  # fmt: skip
    q, ops = levels(t, x), t.ops.quantized
    spatial = q.dim() - 2
    held = np.resize(NUMBERS["filters"], shape)
    steps = [[n] * spatial for n in (stride, padding, dilation)]
    packed = getattr(ops, f"conv{spatial}d_prepack")(
        weight(t, held, by_rows), numbers(t, "bias")[: shape[0]], *steps, groups
    )
    return getattr(ops, f"conv{spatial}d{'_relu' * relu}")(q, packed, 0.06, 80)


def normed(t: Any, name: str, *more: Any) -> Any:
    ones, zeros = t.ones(8), t.zeros(8)
    return getattr(t.ops.quantized, name)(levels(t, "images"), *more, ones, zeros, 1e-5, 0.03, 120)


def flat(t: Any, name: str, *args: Any) -> Any:
    return getattr(t.ops.quantized, name)(levels(t, "flat", 0.02, 120), *args)


def two(t: Any, name: str) -> Any:
    ops = t.ops.quantized
    return getattr(ops, name)(
        levels(t, "flat", 0.02, 120), levels(t, "other", 0.03, 110), 0.04, 100
    )


Call = Callable[[Any], Any]


def _two(name: str) -> Call:
    return lambda t: two(t, name)


def _flat(name: str, number: float) -> Call:
    return lambda t: flat(t, name, number)


CALLS: dict[str, Call] = {
    "linear": lambda t: linear(t, "linear", levels(t, "rows"), 0.05, 90),
    "linear relu": lambda t: linear(t, "linear_relu", levels(t, "rows"), 0.05, 90),
    "linear, one scale": lambda t: linear(t, "linear", levels(t, "rows"), 0.05, 90, by_rows=False),
    "linear dynamic": lambda t: linear(t, "linear_dynamic", numbers(t, "rows"), True),
    "linear dynamic, all levels": lambda t: linear(t, "linear_dynamic", numbers(t, "rows"), False),
    "linear relu dynamic": lambda t: linear(t, "linear_relu_dynamic", numbers(t, "rows"), True),
    "half": lambda t: t.ops.quantized.linear_dynamic_fp16(
        numbers(t, "rows"), t.ops.quantized.linear_prepack_fp16(
            numbers(t, "weight"), numbers(t, "bias")[:9])),
    "convolution": lambda t: convolution(t, "images", (12, 8, 3, 3), 1, 0, 1, 1),
    "convolution relu": lambda t: convolution(t, "images", (12, 8, 3, 3), 1, 0, 1, 1, True),
    "strides": lambda t: convolution(t, "images", (12, 8, 3, 3), 2, 1, 1, 1),
    "dilated": lambda t: convolution(t, "images", (12, 8, 3, 3), 1, 2, 2, 1),
    "groups": lambda t: convolution(t, "images", (12, 2, 3, 3), 1, 1, 1, 4),
    "depthwise": lambda t: convolution(t, "images", (8, 1, 3, 3), 1, 1, 1, 8),
    "one axis": lambda t: convolution(t, "line", (6, 8, 3), 1, 1, 1, 1, by_rows=False),
    "three axes": lambda t: convolution(t, "volume", (6, 8, 3, 3, 3), 1, 1, 1, 1, by_rows=False),
    "transposed": lambda t: t.ops.quantized.conv_transpose2d(
        levels(t, "images"), t.ops.quantized.conv_transpose2d_prepack(
            weight(t, NUMBERS["filters"][:8, :6], False), None, [2, 2], [1, 1], [1, 1], [1, 1], 1),
        0.1, 70),
    **{name: _two(name) for name in ("add", "mul", "add_relu", "mul_relu")},
    **{
        f"{name} {number}": _flat(name, number)
        for name in ("add_scalar", "mul_scalar", "add_scalar_relu", "mul_scalar_relu")
        for number in (0.5, -0.5, 10.0, -10.0)
    },
    "cat": lambda t: t.ops.quantized.cat(
        [levels(t, "flat", 0.02, 120), levels(t, "other", 0.03, 110)], 0, 0.05, 100),
    "matmul": lambda t: t.ops.quantized.matmul(
        levels(t, "flat").view(5, 6), levels(t, "other").view(6, 5), 0.1, 100),
    "elu": lambda t: flat(t, "elu", 0.02, 100, 1.0),
    "celu": lambda t: flat(t, "celu", 0.02, 100, 1.0),
    "hardswish": lambda t: flat(t, "hardswish", 0.02, 100),
    "leaky_relu": lambda t: flat(t, "leaky_relu", 0.1, False, 0.02, 100),
    "softmax": lambda t: flat(t, "softmax", 0, 1 / 256, 0),
    "prelu": lambda t: flat(
        t, "prelu", t.quantize_per_tensor(t.tensor([0.2]), 0.01, 0, t.quint8), 0.02, 100),
    "layer_norm": lambda t: flat(t, "layer_norm", [30], t.ones(30), t.zeros(30), 1e-5, 0.03, 120),
    "group_norm": lambda t: normed(t, "group_norm", 2),
    "instance_norm": lambda t: normed(t, "instance_norm"),
    "batch_norm2d": lambda t: t.ops.quantized.batch_norm2d(
        levels(t, "images"), t.ones(8), t.zeros(8), t.ones(8) * 0.1, t.ones(8) * 2, 1e-5, 0.03,
        120),
    "embedding": lambda t: t.ops.quantized.embedding_byte(
        t.ops.quantized.embedding_bag_prepack(t.quantize_per_channel(
            numbers(t, "rows"), t.tensor([0.03, 0.02, 0.04, 0.03, 0.02]),
            t.tensor([100.5, 90, 120, 110, 99]), 0, t.quint8)), t.tensor([1, 4])),
    "bilinear": lambda t: t.nn.functional.interpolate(
        levels(t, "images"), scale_factor=2.0, mode="bilinear"),
    "mean": lambda t: levels(t, "images").mean((2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_results(name: str) -> None:
    ours, theirs = CALLS[name](mt), CALLS[name](torch)
    if not theirs.is_quantized:
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-5)
        return
    assert (ours.q_zero_point(), ours.dtype.name) == (
        theirs.q_zero_point(), repr(theirs.dtype).removeprefix("torch."))
    assert ours.q_scale() == pytest.approx(theirs.q_scale(), rel=1e-6)
    a, b = (x.int_repr().numpy().astype(int) for x in (ours, theirs))
    assert a.shape == b.shape
    assert np.abs(a - b).max() <= 1
    assert (a != b).mean() <= 0.02


def test_a_long_row_has_exact_sums() -> None:
    """70,000 products, whose sum leaves 32 bits where all levels are at their ends."""
    x = mt.quantize_per_tensor(mt.full((1, 70_000), 25.5), 0.1, 0, mt.quint8)
    w = mt.quantize_per_tensor(mt.full((2, 70_000), 12.7), 0.1, 0, mt.qint8)
    made = mt.ops.quantized.linear(x, mt.ops.quantized.linear_prepack(w), 1e5, 0)
    np.testing.assert_array_equal(made.int_repr().numpy(), [[227, 227]])


@pytest.mark.parametrize("zero", [0, 5])
def test_weights_with_zero_points(zero: int) -> None:
    def run(t: Any) -> Any:
        w = t.quantize_per_tensor(numbers(t, "weight", 0.2), 0.01, zero, t.qint8)
        packed = t.ops.quantized.linear_prepack(w, None)
        return t.ops.quantized.linear(levels(t, "rows"), packed, 0.05, 90).int_repr().numpy()

    assert np.abs(run(mt).astype(int) - run(torch).astype(int)).max() <= 1


def test_names_print_as_torchs() -> None:
    for name in ("linear", "conv2d", "add"):
        assert str(getattr(mt.ops.quantized, name)) == str(getattr(torch.ops.quantized, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mt.ops.quantized.nothing
