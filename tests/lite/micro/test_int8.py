"""int8 C code computes what integers of the same scales give, bit by bit."""

import math
from fractions import Fraction

import numpy as np
import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.lite import micro
from mindtorch.torch import nn
from tests.lite.micro.compiling import compiled, outputs


def away_from_zero(x):
    """The nearest whole number, halves away from zero."""
    return math.floor(abs(x) + Fraction(1, 2)) * (1 if x >= 0 else -1)


def rescale(x, factor):
    """x * factor in two roundings: a 31-bit multiplier's high product, then a power of two."""
    mantissa, shift = math.frexp(factor)
    multiplier = round(mantissa * 2**31)
    wide = int(x) * 2 ** max(shift, 0) * multiplier
    high = int(abs(wide + (2**30 if wide >= 0 else 1 - 2**30)) // 2**31)
    high = high if wide + (2**30 if wide >= 0 else 1 - 2**30) >= 0 else -high
    return away_from_zero(Fraction(high, 2 ** max(-shift, 0)))


def held(arrays):
    """Scale and zero point of the range of arrays and 0."""
    low = min(0.0, *[float(x.min()) for x in arrays])
    high = max(0.0, *[float(x.max()) for x in arrays])
    scale = (high - low) / 255
    return scale, int(np.clip(round(-128 - low / scale), -128, 127))


def product(columns, weight, bias, given, made, low):
    """Integers of rows @ weight.T + bias, for integers ``columns`` (rows, inputs)."""
    scales = np.abs(weight).max(1) / 127
    integers = np.clip(np.rint(weight / scales[:, None]), -127, 127).astype(np.int64)
    sums = (columns - given[1]) @ integers.T + np.rint(bias / (given[0] * scales)).astype(np.int64)
    factors = given[0] * scales / made[0]
    out = [[made[1] + rescale(x, f) for x, f in zip(row, factors, strict=True)] for row in sums]
    return np.clip(np.array(out), low, 127)


def test_a_network_bit_by_bit(tmp_path):
    torch.manual_seed(0)
    conv, fc = nn.Conv2d(2, 4, 3), nn.Linear(16, 5)
    model = nn.Sequential(conv, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), fc)
    samples = [torch.randn(1, 2, 6, 6) for _ in range(8)]
    micro.generate(model, samples[0], tmp_path, calibration=samples)
    got = outputs(compiled(tmp_path), [[x.numpy()] for x in samples])

    stages = [[x.detach().numpy().astype(np.float64) for x in each] for each in (
        samples, [model[:2](x) for x in samples], [model(x) for x in samples])]  # fmt: skip
    first, middle, last = (held(each) for each in stages)
    weights = [x.detach().numpy().astype(np.float64) for x in (
        conv.weight.reshape(4, 18), conv.bias, fc.weight, fc.bias)]  # fmt: skip
    for sample, mine in zip(samples, got, strict=True):
        x = np.rint(sample.numpy() / np.float32(first[0])) + first[1]
        x = np.clip(x, -128, 127).astype(np.int64)[0]
        columns = np.array([
            x[:, i : i + 3, j : j + 3].reshape(-1) for i in range(4) for j in range(4)])
        y = product(columns, weights[0], weights[1], first, middle, middle[1])
        y = y.T.reshape(4, 2, 2, 2, 2).max((2, 4)).reshape(1, 16)
        z = product(y, weights[2], weights[3], middle, last, -128)
        expected = np.float32(last[0]) * (z - last[1]).astype(np.float32)
        np.testing.assert_array_equal(mine.astype(np.float32), expected.reshape(-1))


class Mixed(nn.Module):
    """Branches, padding, joins, averages, and ops that have no int8 form."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, stride=2)
        self.pointwise = nn.Conv2d(8, 8, 1)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        y = F.pad(x, (1, 0, 1, 0))
        y = F.relu6(self.pointwise(F.relu(self.depthwise(y))))
        x = F.max_pool2d(x, 2) + y
        z = torch.tanh(x).mean((2, 3), keepdim=True)
        x = torch.cat([F.adaptive_avg_pool2d(x, 1), F.avg_pool2d(torch.relu(x), 4), z], 1)
        return torch.softmax(self.fc(x.flatten(1)), 1)


def test_a_network_of_many_ops_is_near_the_float_one(tmp_path):
    torch.manual_seed(0)
    model = Mixed().eval()
    samples = [torch.randn(1, 3, 8, 8) for _ in range(16)]
    small = micro.generate(model, samples[0], tmp_path, calibration=samples)
    got = outputs(compiled(tmp_path), [[x.numpy()] for x in samples])
    exact = np.array([model(x).detach().numpy()[0] for x in samples])
    # six layers of integers with steps of 1/255 of the range: a signal of 30 dB above the noise
    noise = np.square(np.array(got) - exact).sum()
    assert np.square(exact).sum() > 10**3 * noise
    large = micro.generate(model, samples[0], tmp_path)
    assert small.arena_bytes < large.arena_bytes / 2
    assert small.weight_bytes < large.weight_bytes


def test_numbers_beyond_the_samples_saturate(tmp_path):
    model = nn.Sequential(nn.Conv1d(1, 2, 1), nn.ReLU())
    samples = [torch.linspace(-1, 1, 5).reshape(1, 1, 5)]
    micro.generate(model, samples[0], tmp_path, calibration=samples)
    far = np.array([1e30, -1e30, math.inf, -math.inf, 0.5])
    (got,) = outputs(compiled(tmp_path), [[far]])
    most = float(model(samples[0]).max())
    assert np.isfinite(got).all()
    assert got.max() <= most * 1.01
    assert got.min() >= 0


def test_calibration_needs_samples_of_the_model(tmp_path):
    model = nn.Linear(3, 2)
    with pytest.raises(micro.ExportError, match="needs samples"):
        micro.generate(model, torch.randn(1, 3), tmp_path, calibration=[])
    with pytest.raises(micro.ExportError, match=r"has not the shapes \[\(1, 3\)\]"):
        micro.generate(model, torch.randn(1, 3), tmp_path, calibration=[torch.randn(2, 3)])
    with pytest.raises(micro.ExportError, match="not finite"):
        micro.generate(
            model, torch.randn(1, 3), tmp_path, calibration=[torch.full((1, 3), math.inf)]
        )
