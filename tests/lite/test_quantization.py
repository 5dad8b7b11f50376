"""Quantisation after training: numbers, sizes, accuracy on real digits."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mindtorch import lite, torch
from mindtorch.kernels.cpu import quantized
from mindtorch.lite.execution import packed, unpacked
from mindtorch.lite.file import read
from mindtorch.lite.quantization.calibration import Range
from mindtorch.lite.quantization.weights import quantized_weight
from mindtorch.torch import nn

from .models import converted, eager, loaded, predicted, sections


def _stored(path: Path) -> int:
    """The bytes of the constants in a file."""
    return sum(tensor["data"][3] for tensor in sections(path)[0]["tensors"] if "data" in tensor)


class _Layout:
    def __init__(self, *shape: int) -> None:
        self.shape = shape


@pytest.mark.parametrize("bits", range(1, 17))
def test_bits_come_back(bits: int) -> None:
    low = -(2 ** (bits - 1))
    numbers = np.random.default_rng(bits).integers(low, -low, (7, 13)).astype(np.int32)
    data = packed(numbers, bits)
    assert data.nbytes == -(-7 * 13 * bits // 8)
    assert np.array_equal(unpacked(data, bits, (7, 13)), numbers)


@pytest.mark.parametrize("bits", [2, 4, 8, 16])
def test_weights_are_within_half_a_step_and_correction_keeps_means(bits: int) -> None:
    weight = np.random.default_rng(0).normal(0.1, 1, (6, 50))
    numbers, made = quantized_weight(weight, bits, correction=False)
    shown = numbers * made.scales[:, None].astype(np.float64)
    step = np.abs(weight).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    assert (np.abs(shown - weight) <= step * (0.5 + 1e-6)).all()
    numbers, made = quantized_weight(weight, bits)
    corrected = (numbers - made.zero_points[:, None]) * made.scales[:, None].astype(np.float64)
    assert np.abs((corrected - weight).mean(axis=1)).max() < 1e-6
    assert ((corrected - weight) ** 2).sum() <= ((shown - weight) ** 2).sum() * (1 + 1e-9)


@pytest.mark.parametrize(
    ("channels", "size", "window", "stride", "padding", "dilation"),
    [(3, 9, (3, 3), (1, 1), (1, 1), (1, 1)), (5, 11, (5, 2), (2, 3), (2, 0), (1, 2)),
     (64, 6, (3, 3), (1, 1), (1, 1), (1, 1)), (7, 4, (1, 1), (2, 2), (0, 0), (1, 1))],
)  # fmt: skip
def test_quantised_convolution_is_exact(
    channels: int, size: int, window: Any, stride: Any, padding: Any, dilation: Any
) -> None:
    generator = np.random.default_rng(channels)
    x = generator.normal(0, 1, (2, channels, size, size + 1)).astype(np.float32)
    numbers = generator.integers(-127, 128, (10, channels, *window)).astype(np.int8)
    scale, zero = 0.0234375, 77
    q = np.clip(np.rint(x / np.float32(scale)) + zero, 0, 255) - zero
    exact = torch.conv2d(
        torch.from_numpy(q).double(), torch.from_numpy(numbers).double(), None, stride, padding,
        dilation,
    ).numpy()  # fmt: skip
    rows = np.moveaxis(numbers, 1, -1).reshape(10, -1)
    held = np.zeros((10, -(-rows.shape[1] // 64) * 64), np.int8)
    held[:, : rows.shape[1]] = rows
    offsets = (-zero * rows.sum(axis=1, dtype=np.int64)).astype(np.int32)
    ones, bias = np.ones(10, np.float32), generator.normal(0, 1, 10).astype(np.float32)
    run = quantized.convolution(
        (_Layout(*exact.shape),), (_Layout(*x.shape), _Layout(*held.shape)), scale=scale, zero=zero,
        window=window, stride=stride, padding=padding, dilation=dilation,
    )  # fmt: skip
    out = np.empty(exact.size, np.float32)
    run(out, x.reshape(-1), held.reshape(-1), ones, offsets, bias)
    expected = exact * scale + bias.reshape(1, -1, 1, 1)
    error = np.abs(out.reshape(exact.shape) - expected)
    assert (error <= 2.0**-22 * (np.abs(exact * scale) + np.abs(expected)) + 1e-9).all()


def test_ranges_by_the_three_methods() -> None:
    """Most numbers are around 0, one is far away: KL and REMOVAL_OUTLIER leave it out."""
    numbers = np.random.default_rng(0).normal(0, 1, 50_000).astype(np.float32)
    numbers[0] = 40
    about = Range()
    about.extend(numbers[None])
    about.count(numbers)
    assert about.limits("MAX_MIN") == (float(numbers.min()), 40.0)
    for method in ("KL", "REMOVAL_OUTLIER"):
        low, high = about.limits(method)
        assert 2 < high < 20
        assert -6 < low < -2


@pytest.fixture(scope="module")
def digits() -> Any:
    """A network trained on scikit-learn's digits, examples of the training, and a test set."""
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1300], order[1300:]
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(6):
        for first in range(0, len(train), 50):
            batch = train[first : first + 50]
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(
                net(torch.from_numpy(x[batch])), torch.from_numpy(y[batch])
            )
            loss.backward()
            optimizer.step()
    return net.eval(), x[train[:100]], x[test], y[test]


def _accuracy(scores: np.ndarray, y: np.ndarray) -> float:
    return float((scores.argmax(1) == y).mean())


_COMMON = "[common_quant_param]\nmin_quant_weight_channel=0\n"


@pytest.mark.parametrize("bits", [4, 6, 8, 16])
def test_weights_alone_on_digits(digits: Any, bits: int, tmp_path: Path) -> None:
    net, _, x, y = digits
    whole = converted(net, [x[:1]], tmp_path)
    weights = _stored(whole)
    path = converted(
        net, [x[:1]], tmp_path, f"{_COMMON}quant_type=WEIGHT_QUANT\nbit_num={bits}\n"
    )
    assert _stored(path) <= weights * bits / 32 * 1.02 + 1024
    lost = _accuracy(eager(net, x), y) - _accuracy(predicted(loaded(path), x), y)
    assert lost <= (0.005 if bits >= 6 else 0.02)


@pytest.mark.parametrize("method", ["MAX_MIN", "KL", "REMOVAL_OUTLIER"])
def test_eight_bits_on_digits(digits: Any, method: str, tmp_path: Path) -> None:
    net, examples, x, y = digits
    folder, report = tmp_path / "examples", tmp_path / "report"
    folder.mkdir()
    for number, each in enumerate(examples):
        each[None].tofile(folder / f"{number:03}.bin")
    path = converted(net, [x[:1]], tmp_path, (
        f"{_COMMON}quant_type=FULL_QUANT\nbit_num=8\ndebug_info_save_path={report}\n"
        f"[full_quant_param]\nactivation_quant_method={method}\nbias_correction=true\n"
        f"[data_preprocess_param]\ncalibrate_path=input:{folder}\ncalibrate_size=100\n"
        "input_type=BIN\n"
    ))  # fmt: skip
    kinds = [node.op for node in read(path).nodes if node.op.startswith("quantized_")]
    assert kinds == ["quantized_convolution"] * 2 + ["quantized_linear"] * 2
    lost = _accuracy(eager(net, x), y) - _accuracy(predicted(loaded(path), x), y)
    assert lost <= 0.005
    with open(report / "quantization_report.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["op"] for line in lines] == ["convolution"] * 2 + ["linear"] * 2
    assert all(float(line["result_snr_db"]) > 20 for line in lines)
    assert all(float(line["result_largest_difference"]) > 0 for line in lines)


def test_a_named_node_stays(digits: Any, tmp_path: Path) -> None:
    net, _, x, _ = digits
    names = [n.name for n in read(converted(net, [x[:1]], tmp_path)).nodes if n.op == "linear"]
    path = converted(net, [x[:1]], tmp_path, (
        f"{_COMMON}quant_type=WEIGHT_QUANT\nskip_quant_node={names[0]}\n"
    ))  # fmt: skip
    graph = read(path)
    kept = {
        n.name: graph.tensors[n.inputs[1] or 0].quantization
        for n in graph.nodes if n.op == "linear"
    }  # fmt: skip
    assert [kept[name] is None for name in names] == [True, False]


@pytest.mark.parametrize(("text", "said"), [
    ("[common_quant_param]\nquant_type=DYNAMIC_QUANT\n", "must be one of WEIGHT_QUANT, FULL_QUANT"),
    ("[common_quant_param]\nquant_type=WEIGHT_QUANT\nbit_num=17\n", "must be from 1 to 16"),
    ("[common_quant_param]\nquant_type=WEIGHT_QUANT\nbits=8\n", "bits of .* is not supported"),
    ("[micro_param]\nenable_micro=true\n", r"section \[micro_param\] is not supported"),
    ("[common_quant_param]\nquant_type=FULL_QUANT\n", "needs calibrate_path"),
    ("[common_quant_param]\nbit_num=8\n", "has no quant_type"),
    ("nonsense", "settings.cfg"),
])  # fmt: skip
def test_settings_that_are_not_supported_are_refused(
    text: str, said: str, digits: Any, tmp_path: Path
) -> None:
    net, _, x, _ = digits
    with pytest.raises(lite.ConvertError, match=said):
        converted(net, [x[:1]], tmp_path, text)
