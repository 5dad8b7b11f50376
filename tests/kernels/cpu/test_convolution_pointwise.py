"""Convolutions of windows of one place, as products, against torch in float64."""

from typing import Any

import numpy as np
import pytest
import torch

from mindtorch.kernels.cpu import convolution as kernels
from mindtorch.kernels.cpu.convolutions import convolution_pointwise, convolution_tables
from mindtorch.kernels.cpu.vectors import simd

# input, channels of the result, stride, groups
CASES: dict[str, Any] = {
    "pixels of a rest": ((2, 19, 13, 11), 37, (1, 1), 1),
    "one small image": ((1, 40, 7, 7), 33, (1, 1), 1),
    "more terms than a block": ((2, 500, 12, 12), 20, (1, 1), 1),
    "stride": ((3, 20, 25, 30), 18, (2, 3), 1),
    "groups": ((2, 20, 12, 12), 30, (1, 1), 2),
    "stride and groups": ((2, 24, 24, 24), 12, (2, 2), 3),
    "volume": ((2, 6, 5, 6, 7), 9, (1, 1, 1), 1),
}


def made(shape: Any, dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def near(found: Any, expected: Any, terms: int) -> bool:
    """Within the roundings of a sum of ``terms`` products, for the largest result."""
    unit = np.finfo(found.dtype).eps * np.sqrt(terms + 1)
    return bool(np.abs(found - expected).max() <= unit * max(np.abs(expected).max(), 1))


def images_last(x: Any) -> Any:
    """The same numbers with channels last in memory."""
    behind = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    return np.moveaxis(behind, -1, 1)


def plans(shape: Any, outer: int, stride: Any, groups: int, dtype: Any, has_bias: bool) -> Any:
    spatial = tuple((n - 1) // s + 1 for n, s in zip(shape[2:], stride, strict=True))
    window = (outer, shape[1] // groups, *[1] * len(spatial))
    case = shape, window, (shape[0], outer, *spatial), stride, (0,) * len(spatial), (), groups
    kind = np.dtype(dtype)
    return (
        convolution_pointwise.correlation(kind, case, False, has_bias, False),
        convolution_pointwise.correlation(kind, case, False, False, True),
        convolution_pointwise.weight_gradient(kind, case, False),
    )


@pytest.mark.parametrize(("dtype", "last", "switch"), [
    (np.float32, False, "1"), (np.float32, True, "1"), (np.float64, False, "1"),
    (np.float32, False, "0"),
], ids=["planes", "channels last", "float64", "switched off"])  # fmt: skip
@pytest.mark.parametrize("name", CASES)
def test_products_are_the_convolution_and_its_gradients(
    name: str, dtype: Any, last: bool, switch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With products of our own switched off, too."""
    monkeypatch.setenv("MINDTORCH_PRODUCTS", switch)
    shape, outer, stride, groups = CASES[name]
    order = images_last if last else np.ascontiguousarray
    x, weight = order(made(shape, dtype, 0)), made((outer, shape[1] // groups), dtype, 1)
    weight = weight.reshape(*weight.shape, *[1] * (len(shape) - 2))
    bias = made(outer, dtype, 2)
    wide = [torch.from_numpy(np.array(v, np.float64)).requires_grad_() for v in (x, weight, bias)]
    function = getattr(torch.nn.functional, f"conv{len(shape) - 2}d")
    result = function(*wide, stride, 0, 1, groups)
    g = order(made(result.shape, dtype, 3))
    result.backward(torch.from_numpy(np.array(g, np.float64)))
    params: Any = {
        "stride": stride, "padding": (0,) * len(stride), "dilation": (1,) * len(stride),
        "groups": groups,
    }  # fmt: skip
    out, gx, gw = (order(np.full(v.shape, np.nan, dtype)) for v in (g, x, weight))
    terms = shape[1] // groups
    kernels.convolution(out, x, weight, bias, **params)
    assert near(out, result.detach().numpy(), terms)
    kernels.convolution(out, x, weight, **params)
    plain = (result - wide[2].reshape(-1, *[1] * len(stride))).detach().numpy()
    assert near(out, plain, terms)
    kernels.convolution_input_gradient(gx, g, weight, **params)
    assert near(gx, wide[0].grad.numpy(), outer // groups)  # type: ignore[union-attr]
    kernels.convolution_weight_gradient(gw, g, x, **params)
    assert near(gw, wide[1].grad.numpy(), g.size // outer)  # type: ignore[union-attr]


def test_which_convolutions_are_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Images that fill vectors; small ones while they are few; never with the switch off."""
    side = simd.lanes(np.float32)
    large = (4, 8, side, side), 8, (1, 1), 1, np.float32
    assert all(plan is not None for plan in plans(*large, False))
    assert all(plan is None for plan in plans((400, 8, 7, 7), 8, (1, 1), 1, np.float32, False))
    assert plans((1, 8, 1, 1), 8, (1, 1), 1, np.float32, False)[0] is None
    grouped = (4, 16, side, side), 8, (1, 1), 2, np.float32
    assert plans(*grouped, True)[0] is None
    assert plans(*grouped, False)[0] is not None
    monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
    assert all(plan is None for plan in plans(*large, False))


def test_blocks_of_channels_are_those_of_onednn() -> None:
    """Vectors of sixteen: a block's sum of its own; of eight: one chain of all terms."""
    plan = convolution_tables.forward(
        (2, 40, 9, 9), (8, 40, 3, 3), (2, 8, 9, 9), (1, 1), (1, 1), (1, 1), 1
    )
    wide = simd.lanes(np.float32) == 16
    assert plan.chained == (not wide)
    assert [*plan.phases[0].parts] == ([0, 144, 288, 360] if wide else [0, 360])
