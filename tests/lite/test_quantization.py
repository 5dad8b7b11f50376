"""Quantisation after training: numbers, sizes, accuracy on real digits."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from mindtorch import lite, torch
from mindtorch.engine.ops.quantization import dynamic_quantized_linear
from mindtorch.engine.tensor import from_array
from mindtorch.kernels.cpu import quantized
from mindtorch.lite.config import read_config
from mindtorch.lite.execution import packed, unpacked
from mindtorch.lite.file import read
from mindtorch.lite.quantization.calibration import Range
from mindtorch.lite.quantization.images import image_of
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


@pytest.mark.parametrize("budget", [0.1, 0.02, 0.005])
@pytest.mark.parametrize("per_channel", [True, False])
def test_mixed_bits_keep_the_mean_relative_error_of_channels(
    budget: float, per_channel: bool
) -> None:
    weight = np.random.default_rng(0).normal(0.1, 1, (24, 3, 5, 5))
    weight *= np.random.default_rng(1).uniform(0.1, 3, (24, 1, 1, 1))
    numbers, made = quantized_weight(weight, 0, per_channel, budget=budget)
    shape = (-1, 1, 1, 1)
    shown = (numbers - made.zero_points.reshape(shape)) * made.scales.reshape(shape)
    lost = np.sqrt(((shown - weight) ** 2).sum((1, 2, 3)) / (weight**2).sum((1, 2, 3)))
    assert budget * 0.95 < lost.mean() <= budget * 1.0001
    assert numbers.min() >= -(2 ** (made.bits - 1))
    assert numbers.max() <= 2 ** (made.bits - 1) - 1


def test_mixed_bits_on_digits(digits: Any, tmp_path: Path) -> None:
    """About as small as 6 or 7 bits, as MindSpore's document says of the budget of 0.02."""
    net, _, x, y = digits
    common, sizes = f"{_COMMON}quant_type=WEIGHT_QUANT\n", {}
    for bits in (0, 5, 7):
        path = converted(net, [x[:1]], tmp_path, f"{common}bit_num={bits}\n")
        sizes[bits] = _stored(path)
        if bits == 0:
            chosen = {t.quantization.bits for t in read(path).tensors if t.quantization}
            lost = _accuracy(eager(net, x), y) - _accuracy(predicted(loaded(path), x), y)
    assert sizes[5] < sizes[0] < sizes[7]
    assert len(chosen) > 1
    assert lost <= 0.005


def test_the_budget_is_tuned_by_the_outputs(digits: Any, tmp_path: Path) -> None:
    net, _, x, _ = digits
    found = {}
    for auto in ("true", "false"):
        path = converted(net, [x[:1]], tmp_path, (
            f"{_COMMON}quant_type=WEIGHT_QUANT\nbit_num=0\n[mixed_bit_weight_quant_param]\n"
            f"auto_tune={auto}\n"
        ))  # fmt: skip
        given = np.random.default_rng(2).standard_normal(x[:100].shape).astype(np.float32)
        a, b = eager(net, given).ravel(), predicted(loaded(path), given).ravel()
        found[auto] = float(a @ b / np.sqrt((a @ a) * (b @ b)))
    assert 0.985 < found["true"] < 0.9995 < found["false"]


def _ragged(rows: int, count: int) -> np.ndarray:
    """Rows of sizes of their own, the first of zeros."""
    made = np.random.default_rng(count).normal(0.3, 1, (rows, count))
    return (made * np.arange(rows)[:, None]).astype(np.float32)


@pytest.mark.parametrize("per_row", [True, False])
@pytest.mark.parametrize(("rows", "count", "channels"), [(1, 64, 3), (5, 70, 9), (3, 17, 1)])
def test_activations_are_rounded_to_a_scale_of_their_own(
    rows: int, count: int, channels: int, per_row: bool
) -> None:
    generator, x = np.random.default_rng(0), _ragged(rows, count)
    numbers = generator.integers(-127, 128, (channels, count)).astype(np.int8)
    held = np.zeros((channels, -(-count // 64) * 64), np.int8)
    held[:, :count] = numbers
    scales, bias = generator.uniform(0.01, 1, (2, channels)).astype(np.float32)
    sums = -numbers.sum(axis=1, dtype=np.int32)
    constants = [from_array(each) for each in (held, scales, sums, bias)]
    made = dynamic_quantized_linear(from_array(x), *constants, per_row=per_row).array()
    axes = 1 if per_row else None
    low = np.minimum(x.min(axis=axes, keepdims=True), 0).astype(np.float64)
    step = (np.maximum(x.max(axis=axes, keepdims=True), 0) - low) / 255
    step = np.where(step == 0, 1, step)
    q = np.clip(np.rint(x / step) + np.rint(-low / step), 0, 255) - np.rint(-low / step)
    exact = q @ numbers.T.astype(np.float64) * step * scales + bias
    # a number in the middle between two levels may go to either
    assert np.abs(made - exact).max() <= (step * scales * 127).max() * 2 + 1e-5
    assert np.abs(made - exact).mean() <= 1e-5 * np.abs(exact).max()
    x[-1, 0] = np.inf
    with np.errstate(all="ignore"):
        lost = dynamic_quantized_linear(from_array(x), *constants, per_row=per_row).array()
    assert not np.isfinite(lost[-1]).any()


@pytest.mark.parametrize("strategy", ["ALWC", "ACWL"])
def test_dynamic_quantisation_of_a_transformer(strategy: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    net = nn.Sequential(nn.Embedding(50, 64), layer, nn.Linear(64, 7)).eval()
    x = np.random.default_rng(0).integers(0, 50, (4, 9))
    whole = converted(net, [x], tmp_path).stat().st_size
    (tmp_path / "words").mkdir()
    x.tofile(tmp_path / "words" / "0.bin")
    path = converted(net, [x], tmp_path, (
        f"[common_quant_param]\nquant_type=DYNAMIC_QUANT\ndebug_info_save_path={tmp_path}\n"
        f"[dynamic_quant_param]\nquant_strategy={strategy}\n"
        f"[data_preprocess_param]\ncalibrate_path=input:{tmp_path}/words\ncalibrate_size=1\n"
    ))  # fmt: skip
    kinds = [node.op for node in read(path).nodes]
    assert kinds.count("dynamic_quantized_linear") == 5
    assert "linear" not in kinds
    assert path.stat().st_size < 0.35 * whole
    exact = eager(net, x)
    found = predicted(loaded(path), x)
    assert np.linalg.norm(found - exact) < 0.03 * np.linalg.norm(exact)
    with open(tmp_path / "quantization_report.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["op"] for line in lines] == ["linear"] * 5 + ["embedding"]
    assert all(float(line["result_snr_db"]) > 25 for line in lines)


@pytest.mark.parametrize(("settings", "expected"), [
    ("", lambda rgb: rgb[::-1]),
    ("image_to_format=RGB\n", lambda rgb: rgb),
    ("image_to_format=GRAY\nnormalize_mean=[100]\nnormalize_std=[50]\n",
     lambda rgb: (np.rint(np.tensordot([0.299, 0.587, 0.114], rgb, 1))[None] - 100) / 50),
    ("image_to_format=RGB\nnormalize_mean=1,2,3\nnormalize_std=2,4,8\ncenter_crop_width=4\n"
     "center_crop_height=3\n",
     lambda rgb: ((rgb - [[[1]], [[2]], [[3]]]) / [[[2]], [[4]], [[8]]])[:, 1:4, 2:6]),
    ("image_to_format=RGB\nresize_width=16\nresize_height=12\nresize_method=NEAREST\n",
     lambda rgb: rgb.repeat(2, 1).repeat(2, 2)),
    ("image_to_format=RGB\nresize_width=4\nresize_height=3\nresize_method=LINEAR\n",
     lambda rgb: rgb.reshape(3, 3, 2, 4, 2).mean((2, 4))),
])  # fmt: skip
def test_images_as_examples(settings: str, expected: Any, tmp_path: Path) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (6, 8, 3)).astype(np.uint8)
    file = tmp_path / "one.png"
    Image.fromarray(rgb).save(file)
    (tmp_path / "settings").write_text(
        f"[common_quant_param]\nquant_type=FULL_QUANT\n[data_preprocess_param]\n{settings}"
        f"calibrate_path=x:{tmp_path}\ncalibrate_size=1\ninput_type=IMAGE\n"
    )
    found = image_of(str(file), read_config(tmp_path / "settings"))
    wanted = expected(np.moveaxis(rgb, -1, 0).astype(np.float64))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-4)


def test_eight_bits_by_images(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(4):
        pixels = generator.integers(0, 256, (10, 12, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 20, 3), nn.ReLU(), nn.Flatten(), nn.Linear(720, 5)).eval()
    x = np.zeros((1, 3, 8, 8), np.float32)
    settings = (
        f"{_COMMON}quant_type=FULL_QUANT\n[data_preprocess_param]\ncalibrate_path=input:{folder}\n"
        "calibrate_size=4\ninput_type=IMAGE\nimage_to_format=RGB\nnormalize_mean=127.5,127.5,127.5\n"
        "normalize_std=127.5,127.5,127.5\ncenter_crop_height=8\ncenter_crop_width=%d\n"
    )
    path = converted(net, [x], tmp_path, settings % 8)
    inputs = generator.uniform(-1, 1, x.shape).astype(np.float32)
    exact = eager(net, inputs)
    assert np.linalg.norm(predicted(loaded(path), inputs) - exact) < 0.05 * np.linalg.norm(exact)
    with pytest.raises(lite.ConvertError, match=r"image of \[1, 3, 8, 7\]"):
        converted(net, [x], tmp_path, settings % 7)
    with pytest.raises(lite.ConvertError, match="fewer than 8 x 13"):
        converted(net, [x], tmp_path, settings % 13)
    (folder / "0.png").write_bytes(b"no picture")
    with pytest.raises(lite.ConvertError, match="cannot be read as an image"):
        converted(net, [x], tmp_path, settings % 8)


@pytest.mark.parametrize(("text", "said"), [
    ("[common_quant_param]\nquant_type=QUANT_ALL\n", "must be one of WEIGHT_QUANT, FULL_QUANT"),
    ("[common_quant_param]\nquant_type=DYNAMIC_QUANT\nbit_num=4\n", "DYNAMIC_QUANT must be 8"),
    ("[common_quant_param]\nquant_type=WEIGHT_QUANT\nbit_num=17\n", "must be from 0 to 16"),
    ("[common_quant_param]\nquant_type=WEIGHT_QUANT\nbits=8\n", "bits of .* is not supported"),
    ("[common_quant_param]\nquant_type=WEIGHT_QUANT\n[mixed_bit_weight_quant_param]\n"
     "auto_tune=true\n", "auto_tune is of WEIGHT_QUANT with bit_num=0"),
    ("[mixed_bit_weight_quant_param]\ninit_scale=1\n", "must be between 0 and 1"),
    ("[dynamic_quant_param]\nquant_strategy=BOTH\n", "must be one of ALWC, ACWL"),
    ("[data_preprocess_param]\nresize_width=8\n", "resize_width is of images"),
    ("[data_preprocess_param]\ninput_type=IMAGE\nresize_width=8\n", "belong together"),
    ("[data_preprocess_param]\ninput_type=IMAGE\nnormalize_mean=1\nnormalize_std=2\n",
     "must have 3 numbers"),
    ("[micro_param]\nenable_micro=true\nsupport_parallel=true\n", "only false is supported"),
    ("[micro_param]\nenable_micro=true\n[common_quant_param]\nquant_type=WEIGHT_QUANT\n",
     "C code is of float32 or, with FULL_QUANT, of int8"),
    ("[registry]\ndisable_fusion=on\n", r"section \[registry\] is not supported"),
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
