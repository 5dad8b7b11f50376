"""TFLite files, float and of 8 bits, against what their operators are defined as."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch import lite
from mindtorch import torch as mt
from mindtorch.lite.converter import converted
from mindtorch.torch.nn import functional

from .models import loaded, predicted
from .tflite_files import TFLiteFile

SAME, VALID = 0, 1
RELU, RELU6 = 1, 3


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _converted(path: Path) -> lite.Model:
    lite.Converter().convert(lite.FmkType.TFLITE, str(path), str(path.with_suffix(".ms")))
    return loaded(path.with_suffix(".ms"))


def small_network(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """A MobileNet in small, of floats: strided with a border on one side, depthwise, a sum."""
    file, w = TFLiteFile(), {}
    w["a"], w["b"] = _numbers(8, 3, 3, 3, seed=1) / 5, _numbers(8, seed=2)
    w["c"], w["d"] = _numbers(1, 3, 3, 8, seed=3) / 3, _numbers(8, 1, 1, 8, seed=4) / 3
    w["e"] = _numbers(5, 8, seed=5)
    x = file.tensor((1, 8, 10, 3), name="image")
    a, b, c, d = (file.tensor((1, 4, 5, 8)) for _ in range(4))
    mean, flat = file.tensor((1, 1, 1, 8)), file.tensor((1, 8))
    scores, shares = file.tensor((1, 5)), file.tensor((1, 5), name="shares")
    zero = file.constant(np.zeros(8, np.float32))
    file.operator("CONV_2D", [x, file.constant(w["a"]), file.constant(w["b"])], [a],
                  "Conv2DOptions", Padding=SAME, StrideH=2, StrideW=2, DilationHFactor=1,
                  DilationWFactor=1, FusedActivationFunction=RELU6)  # fmt: skip
    file.operator("DEPTHWISE_CONV_2D", [a, file.constant(w["c"]), zero], [b],
                  "DepthwiseConv2DOptions", Padding=SAME, StrideH=1, StrideW=1, DepthMultiplier=1,
                  DilationHFactor=1, DilationWFactor=1, FusedActivationFunction=RELU)  # fmt: skip
    file.operator("CONV_2D", [b, file.constant(w["d"]), zero], [c], "Conv2DOptions", Padding=VALID,
                  StrideH=1, StrideW=1, DilationHFactor=1, DilationWFactor=1)  # fmt: skip
    file.operator("ADD", [a, c], [d], "AddOptions")
    file.operator("AVERAGE_POOL_2D", [d], [mean], "Pool2DOptions", Padding=VALID, StrideH=1,
                  StrideW=1, FilterHeight=4, FilterWidth=5)  # fmt: skip
    file.operator("RESHAPE", [mean, file.constant(np.array([1, 8], np.int32))], [flat],
                  "ReshapeOptions", NewShape=[1, 8])  # fmt: skip
    file.operator("FULLY_CONNECTED", [flat, file.constant(w["e"]), -1], [scores],
                  "FullyConnectedOptions")  # fmt: skip
    file.operator("SOFTMAX", [scores], [shares], "SoftmaxOptions", Beta=1.0)
    return file.save(folder / "small.tflite", [x], [shares]), w


def test_a_float_network(tmp_path: Path) -> None:
    path, w = small_network(tmp_path)
    model = _converted(path)
    (given,) = model.get_inputs()
    assert (given.name, given.shape) == ("image", [1, 8, 10, 3])
    assert given.format is lite.Format.NHWC
    x = _numbers(3, 8, 10, 3, seed=9)
    to = lambda name, *axes: mt.from_numpy(np.ascontiguousarray(w[name].transpose(axes)))  # noqa: E731
    image = functional.pad(mt.from_numpy(x).permute(0, 3, 1, 2), (0, 1, 0, 1))
    a = functional.relu6(
        mt.conv2d(image, to("a", 0, 3, 1, 2), mt.from_numpy(w["b"]), 2)
    )
    b = mt.relu(mt.conv2d(a, to("c", 3, 0, 1, 2), None, 1, 1, 1, 8))
    d = a + mt.conv2d(b, to("d", 0, 3, 1, 2))
    scores = mt.mean(d, (2, 3)) @ to("e", 1, 0)
    expected = mt.softmax(scores, -1).numpy()
    assert np.abs(predicted(model, x) - expected).max() < 1e-6
    assert model.get_outputs()[0].name == "shares"


def _levels(x: np.ndarray, of: tuple[float, int]) -> np.ndarray:
    scale, zero = of
    return np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)


def quantized_network(folder: Path) -> tuple[Path, Any]:
    """Two convolutions, the largest of windows, and a product, all in 8 bits."""
    file, generator = TFLiteFile(), np.random.default_rng(3)
    of = lambda *shape: generator.integers(-127, 128, shape).astype(np.int8)  # noqa: E731
    w, v, p = of(6, 3, 3, 2), of(1, 3, 3, 6), of(4, 24)
    ws, vs = generator.uniform(0.002, 0.01, (2, 6)).astype(np.float32)
    b = generator.integers(-200, 200, 6).astype(np.int32)
    q = {"x": (0.02, -5), "a": (0.05, -128), "b": (0.03, 3), "y": (0.08, 7)}

    def value(shape: Any, name: str) -> int:
        scale, zero = q[name]
        return file.tensor(shape, "int8", scales=[scale], zeros=[zero], name=name)

    x, a, c = value((1, 5, 5, 2), "x"), value((1, 5, 5, 6), "a"), value((1, 5, 5, 6), "b")
    m, f, y = value((1, 2, 2, 6), "b"), value((1, 24), "b"), value((1, 4), "y")
    given = [file.constant(w, scales=ws, zeros=[0] * 6),
             file.constant(b, scales=ws * np.float32(0.02), zeros=[0] * 6)]  # fmt: skip
    file.operator("CONV_2D", [x, *given], [a], "Conv2DOptions", Padding=SAME, StrideH=1, StrideW=1,
                  DilationHFactor=1, DilationWFactor=1, FusedActivationFunction=RELU)  # fmt: skip
    zero = file.constant(np.zeros(6, np.int32), scales=vs * np.float32(0.05), zeros=[0] * 6)
    each = file.constant(v, scales=vs, zeros=[0] * 6, axis=3)
    file.operator("DEPTHWISE_CONV_2D", [a, each, zero], [c], "DepthwiseConv2DOptions",
                  Padding=SAME, StrideH=1, StrideW=1, DepthMultiplier=1, DilationHFactor=1,
                  DilationWFactor=1)  # fmt: skip
    file.operator("MAX_POOL_2D", [c], [m], "Pool2DOptions", Padding=VALID, StrideH=2, StrideW=2,
                  FilterHeight=2, FilterWidth=2)  # fmt: skip
    file.operator("RESHAPE", [m, file.constant(np.array([1, 24], np.int32))], [f],
                  "ReshapeOptions", NewShape=[1, 24])  # fmt: skip
    row = file.constant(p, scales=[0.004], zeros=[0])
    file.operator("FULLY_CONNECTED", [f, row, -1], [y], "FullyConnectedOptions")
    return file.save(folder / "bytes.tflite", [x], [y]), (w, ws, b, v, vs, p, q)


def _convolved(x: np.ndarray, w: np.ndarray, groups: int) -> np.ndarray:
    """Exact sums of an image with its channels last and filters ``[channel, row, column, in]``."""
    image = mt.from_numpy(x.astype(np.float64)).permute(0, 3, 1, 2)
    weight = mt.from_numpy(np.ascontiguousarray(w.astype(np.float64).transpose(0, 3, 1, 2)))
    made = mt.conv2d(image, weight, None, 1, 1, 1, groups)
    return np.asarray(made.permute(0, 2, 3, 1).numpy())


def test_a_quantised_network(tmp_path: Path) -> None:
    """Within a step of the result, and layers are computed in 8 bits."""
    path, (w, ws, b, v, vs, p, q) = quantized_network(tmp_path)
    graph = converted("TFLITE", path)
    kinds = [node.op for node in graph.nodes if "quantized" in node.op]
    assert kinds == ["quantized_convolution", "quantized_convolution", "quantized_linear"]
    x = np.random.default_rng(0).integers(-128, 128, (4, 5, 5, 2)).astype(np.int8)
    a = (_convolved(x.astype(int) - q["x"][1], w, 1) + b) * (ws.astype(np.float64) * q["x"][0])
    a = _levels(np.maximum(a, 0), q["a"]).astype(int)
    c = _convolved(a - q["a"][1], v.transpose(3, 1, 2, 0), 6) * vs.astype(np.float64) * q["a"][0]
    c = _levels(c, q["b"]).astype(int)[:, :4, :4]
    m = c.reshape(4, 2, 2, 2, 2, 6).max((2, 4)).reshape(4, 24)
    y = _levels((m - q["b"][1]) @ p.T.astype(int) * 0.004 * q["b"][0], q["y"])
    found = predicted(_converted(path), x)
    assert found.dtype == np.int8
    assert np.abs(found.astype(int) - y).max() <= 1
    assert (found == y).mean() > 0.8


@pytest.mark.parametrize(("name", "options", "expected"), [
    ("LOGISTIC", "", lambda x: 1 / (1 + np.exp(-x))),
    ("HARD_SWISH", "HardSwishOptions", lambda x: x * np.clip(x + 3, 0, 6) / 6),
    ("ABS", "AbsOptions", np.abs),
    ("RELU_N1_TO_1", "", lambda x: np.clip(x, -1, 1)),
])  # fmt: skip
def test_operators_of_one_value(
    name: str, options: str, expected: Any, tmp_path: Path
) -> None:
    file = TFLiteFile()
    x, y = file.tensor((2, 3, 4, 5)), file.tensor((2, 3, 4, 5))
    file.operator(name, [x], [y], options)
    given = _numbers(2, 3, 4, 5) * 3
    found = predicted(_converted(file.save(tmp_path / "one.tflite", [x], [y])), given)
    assert np.abs(found - expected(given)).max() < 1e-5


def test_shapes(tmp_path: Path) -> None:
    """Padding, parts, pieces put together, other orders and means of axes."""
    file = TFLiteFile()
    ints = lambda *n: file.constant(np.array(n, np.int32))  # noqa: E731
    x, padded, part = (
        file.tensor((2, 4, 5, 3)), file.tensor((2, 6, 7, 3)), file.tensor((2, 4, 7, 3))
    )  # fmt: skip
    both, turned, mean = (
        file.tensor((2, 4, 7, 6)), file.tensor((2, 7, 4, 6)), file.tensor((2, 4, 6))
    )  # fmt: skip
    rows = file.constant(np.array([[0, 0], [1, 1], [0, 2], [0, 0]], np.int32))
    file.operator("PAD", [x, rows], [padded], "PadOptions")
    file.operator("SLICE", [padded, ints(0, 1, 0, 0), ints(-1, 4, -1, -1)], [part], "SliceOptions")
    file.operator("CONCATENATION", [part, part], [both], "ConcatenationOptions", Axis=3)
    file.operator("TRANSPOSE", [both, ints(0, 2, 1, 3)], [turned], "TransposeOptions")
    file.operator("MEAN", [turned, ints(1)], [mean], "ReducerOptions", KeepDims=False)
    given = _numbers(2, 4, 5, 3)
    found = predicted(_converted(file.save(tmp_path / "s.tflite", [x], [mean])), given)
    wide = np.pad(given, [(0, 0), (0, 0), (0, 2), (0, 0)])
    expected = np.concatenate([wide, wide], 3).transpose(0, 2, 1, 3).mean(1)
    assert np.abs(found - expected).max() < 1e-6


def test_windows_with_a_border_do_not_count_it(tmp_path: Path) -> None:
    file = TFLiteFile()
    x, y, z = file.tensor((1, 4, 4, 8)), file.tensor((1, 2, 2, 8)), file.tensor((1, 2, 2, 8))
    settings = {"Padding": SAME, "StrideH": 2, "StrideW": 2, "FilterHeight": 3, "FilterWidth": 3}
    file.operator("AVERAGE_POOL_2D", [x], [y], "Pool2DOptions", **settings)
    file.operator("MAX_POOL_2D", [x], [z], "Pool2DOptions", **settings)
    given = _numbers(1, 4, 4, 8) - 5
    model = _converted(file.save(tmp_path / "p.tflite", [x], [y, z]))
    mean = predicted(model, given)
    model.get_inputs()[0].set_data_from_numpy(given)
    largest = model.predict(model.get_inputs())[1].get_data_to_numpy()
    for i, j in np.ndindex(2, 2):
        window = given[0, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        assert np.abs(mean[0, i, j] - window.mean((0, 1))).max() < 1e-5
        assert np.array_equal(largest[0, i, j], window.max((0, 1)))


def test_bad_files_are_refused(tmp_path: Path) -> None:
    path, _ = small_network(tmp_path)
    content = path.read_bytes()
    bad = tmp_path / "bad.tflite"
    for damaged in (content[:100], content[: len(content) // 2], b"x" * 200):
        bad.write_bytes(damaged)
        with pytest.raises(lite.ConvertError):
            converted("TFLITE", bad)
    generator = np.random.default_rng(0)
    for _ in range(20):
        numbers = np.frombuffer(content, np.uint8).copy()
        places = generator.integers(8, len(numbers), 40)
        numbers[places] = generator.integers(0, 256, 40)
        bad.write_bytes(numbers.tobytes())
        with contextlib.suppress(lite.ConvertError):
            converted("TFLITE", bad)
    content = quantized_network(tmp_path)[0].read_bytes()
    for length in range(60, len(content), 75):  # some end within an operator's options
        bad.write_bytes(content[:length])
        with contextlib.suppress(lite.ConvertError):
            converted("TFLITE", bad)
    file = TFLiteFile()
    x, y = file.tensor((1, 4, 4, 1)), file.tensor((1, 2, 2, 1))
    file.operator("MAX_POOL_2D", [x], [y], "Pool2DOptions", StrideH=0, FilterHeight=2)
    with pytest.raises(lite.ConvertError, match="do not fit"):
        converted("TFLITE", file.save(bad, [x], [y]))
    file = TFLiteFile()
    x, y = file.tensor((1, 4)), file.tensor((1, 4))
    file.operator("CUMSUM", [x], [y])
    with pytest.raises(lite.ConvertError, match="CUMSUM"):
        converted("TFLITE", file.save(bad, [x], [y]))
