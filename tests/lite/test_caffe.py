"""Caffe's descriptions and weights, against what their layers are defined as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch import lite
from mindtorch import torch as mt
from mindtorch.lite.caffe.schema import NetParameter
from mindtorch.lite.converter import converted
from mindtorch.torch.nn import functional

from .models import loaded, predicted


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _files(folder: Path, text: str, weights: dict[str, Any], old: bool = False) -> tuple[str, str]:
    """A description and a file of weights, by layers' names."""
    held = NetParameter()
    for name, arrays in weights.items():
        layer = (held.layers if old else held.layer).add(name=name)
        for array in arrays:
            blob = layer.blobs.add()
            blob.data.extend(array.reshape(-1).tolist())
            if old:
                shape = (1,) * (4 - array.ndim) + array.shape
                blob.num, blob.channels, blob.height, blob.width = shape
            else:
                blob.shape.dim.extend(array.shape)
    (folder / "net.prototxt").write_text(text)
    (folder / "net.caffemodel").write_bytes(held.SerializeToString())
    return str(folder / "net.prototxt"), str(folder / "net.caffemodel")


def _model(files: tuple[str, str]) -> lite.Model:
    path = files[0] + ".ms"
    lite.Converter().convert(lite.FmkType.CAFFE, files[0], path, files[1])
    return loaded(Path(path))


_LENET = """
name: "LeNet"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 12 dim: 12 } } }
layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1" param { lr_mult: 1 }
  convolution_param { num_output: 4 kernel_size: 3 stride: 1 weight_filler { type: "xavier" } } }
layer { name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
layer { name: "ip1" type: "InnerProduct" bottom: "pool1" top: "ip1" inner_product_param { num_output: 6 } }
layer { name: "relu1" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
  inner_product_param { num_output: 3 bias_term: false } }
layer { name: "acc" type: "Accuracy" bottom: "ip2" bottom: "label" top: "acc" include { phase: TRAIN } }
layer { name: "prob" type: "Softmax" bottom: "ip2" top: "prob" }
"""  # noqa: E501


def test_lenet(tmp_path: Path) -> None:
    w = {"conv1": [_numbers(4, 1, 3, 3), _numbers(4)], "ip2": [_numbers(3, 6, seed=2)],
         "ip1": [_numbers(6, 100, seed=1) / 9, _numbers(6)]}  # fmt: skip
    model = _model(_files(tmp_path, _LENET, w))
    assert (model.get_inputs()[0].name, model.get_outputs()[0].name) == ("data", "prob")
    x = _numbers(2, 1, 12, 12, seed=5)
    t = {name: [mt.from_numpy(a) for a in arrays] for name, arrays in w.items()}
    y = mt.conv2d(mt.from_numpy(x), *t["conv1"])
    y = functional.max_pool2d(y, 3, 2, ceil_mode=True)
    assert y.shape == (2, 4, 5, 5)
    y = mt.relu(functional.linear(y.flatten(1), *t["ip1"]))
    expected = mt.softmax(functional.linear(y, t["ip2"][0]), 1).numpy()
    assert np.abs(predicted(model, x) - expected).max() < 1e-6


_RESIDUAL = """
input: "image" input_dim: 1 input_dim: 3 input_dim: 9 input_dim: 9
layer { name: "a" type: "Convolution" bottom: "image" top: "a"
  convolution_param { num_output: 8 bias_term: false pad: 1 kernel_size: 3 stride: 2 } }
layer { name: "a_bn" type: "BatchNorm" bottom: "a" top: "a" batch_norm_param { eps: 0.001 } }
layer { name: "a_scale" type: "Scale" bottom: "a" top: "a" scale_param { bias_term: true } }
layer { name: "a_relu" type: "ReLU" bottom: "a" top: "a" }
layer { name: "b" type: "Convolution" bottom: "a" top: "b"
  convolution_param { num_output: 8 group: 8 pad_h: 1 pad_w: 0 kernel_h: 3 kernel_w: 1 } }
layer { name: "sum" type: "Eltwise" bottom: "a" bottom: "b" top: "sum" }
layer { name: "largest" type: "Eltwise" bottom: "sum" bottom: "b" top: "largest" eltwise_param { operation: MAX } }
layer { name: "both" type: "Concat" bottom: "largest" bottom: "a" top: "both" }
layer { name: "norm" type: "LRN" bottom: "both" top: "norm" lrn_param { local_size: 5 alpha: 0.1 beta: 0.75 } }
layer { name: "mean" type: "Pooling" bottom: "norm" top: "mean" pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
layer { name: "one" type: "Pooling" bottom: "norm" top: "one" pooling_param { pool: AVE global_pooling: true } }
"""  # noqa: E501


def test_layers_of_residual_networks(tmp_path: Path) -> None:
    """Batch norms with their scales, groups, sums, LRN and means of windows with a border."""
    w = {"a": [_numbers(8, 3, 3, 3)], "b": [_numbers(8, 1, 3, 1), _numbers(8)],
         "a_bn": [_numbers(8, seed=1), np.abs(_numbers(8, seed=2)) + 1, np.full(1, 4, np.float32)],
         "a_scale": [_numbers(8, seed=3), _numbers(8, seed=4)]}  # fmt: skip
    files = _files(tmp_path, _RESIDUAL, w)
    kinds = [node.op for node in converted("CAFFE", files[0], weight_file=files[1]).nodes]
    assert "batch_norm_inference" not in kinds
    x = _numbers(1, 3, 9, 9, seed=5)
    t = {name: [mt.from_numpy(a) for a in arrays] for name, arrays in w.items()}
    a = mt.conv2d(mt.from_numpy(x), t["a"][0], None, 2, 1)
    mean, variance, _ = t["a_bn"]
    a = mt.relu(functional.batch_norm(a, mean / 4, variance / 4, *t["a_scale"], eps=0.001))
    b = mt.conv2d(a, *t["b"], 1, (1, 0), 1, 8)
    both = mt.cat([mt.maximum(a + b, b), a], 1)
    norm = functional.local_response_norm(both, 5, 0.1, 0.75, 1.0)
    model = _model(files)
    model.get_inputs()[0].set_data_from_numpy(x)
    found = {y.name: y.get_data_to_numpy() for y in model.predict(model.get_inputs())}
    mean = functional.avg_pool2d(norm, 3, 2, 1, ceil_mode=True).numpy()
    assert np.abs(found["mean"] - mean).max() < 1e-5
    assert np.abs(found["one"] - norm.mean((2, 3), keepdim=True).numpy()).max() < 1e-5


_OLD = """
input: "data" input_dim: 1 input_dim: 2 input_dim: 6 input_dim: 6
layers { name: "c" type: CONVOLUTION bottom: "data" top: "c" blobs_lr: 1
  convolution_param { num_output: 4 kernel_size: 3 group: 2 } }
layers { name: "r" type: RELU bottom: "c" top: "c" relu_param { negative_slope: 0.25 } }
layers { name: "p" type: POOLING bottom: "c" top: "p" pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
layers { name: "f" type: INNER_PRODUCT bottom: "p" top: "f" inner_product_param { num_output: 3 } }
layers { name: "w" type: POWER bottom: "f" top: "w" power_param { scale: 2 shift: 1 power: 2 } }
"""  # noqa: E501


def test_layers_as_they_were_written_first(tmp_path: Path) -> None:
    w = {"c": [_numbers(4, 1, 3, 3), _numbers(4)], "f": [_numbers(3, 16), _numbers(3)]}
    x = _numbers(1, 2, 6, 6, seed=5)
    y = mt.conv2d(mt.from_numpy(x), *[mt.from_numpy(a) for a in w["c"]], groups=2)
    y = functional.max_pool2d(functional.leaky_relu(y, 0.25), 2).flatten(1).numpy()
    expected = (2 * (y @ w["f"][0].T + w["f"][1]) + 1) ** 2
    found = predicted(_model(_files(tmp_path, _OLD, w, old=True)), x)
    assert np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max()


@pytest.mark.parametrize(("change", "message"), [
    (('type: "ReLU"', 'type: "Unheard"'), "layers that are not known: Unheard"),
    (('bottom: "pool1"', 'bottom: "pool9"'), "reads 'pool9', which is not there"),
    (('layer { name: "data"', "layer { {"), "is no description of a net"),
    (("dim: 12 dim: 12", "dim: 15 dim: 12"), "do not fit"),
    (('name: "ip2"', 'name: "ip3"'), "layer 'ip3' has no weights"),
    (('type: "Input"', 'type: "Silence"'), "names no inputs"),
    (("shape { dim: 1 dim: 1 dim: 12 dim: 12 }", ""), "do not fit: list index out of range"),
])  # fmt: skip
def test_what_is_wrong_is_named(change: Any, message: str, tmp_path: Path) -> None:
    w = {"conv1": [_numbers(4, 1, 3, 3), _numbers(4)], "ip1": [_numbers(6, 100), _numbers(6)],
         "ip2": [_numbers(3, 6)]}  # fmt: skip
    files = _files(tmp_path, _LENET.replace(*change), w)
    with pytest.raises(lite.ConvertError, match=message):
        converted("CAFFE", files[0], weight_file=files[1])


def test_weights_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    files = _files(tmp_path, _LENET, {})
    with pytest.raises(lite.ConvertError, match="there is no file ''"):
        converted("CAFFE", files[0])
    Path(files[1]).write_bytes(b"\xff" * 50)
    with pytest.raises(lite.ConvertError, match="is no file of weights"):
        converted("CAFFE", files[0], weight_file=files[1])
