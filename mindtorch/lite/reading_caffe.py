"""Caffe's models as Lite graphs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from .caffe.module import CaffeModule
from .caffe.schema import NetParameter, layer_type
from .errors import ConvertError
from .graph import LiteGraph
from .importing import Shapes, chosen_shape, from_model

__all__ = ["graph_of_file"]

_TEST = 1  # the phase


def graph_of_file(
    path: str | os.PathLike[str], weight_file: str | os.PathLike[str], shapes: Shapes
) -> LiteGraph:
    """The graph of a description (prototxt) with its weights (caffemodel).

    Raises:
        ConvertError: one of them cannot be read, they do not fit, or a layer is not known.
    """
    if not weight_file or not os.path.isfile(weight_file):
        raise ConvertError(f"weightFile: there is no file {os.fspath(weight_file)!r}")
    net, held = NetParameter(), NetParameter()
    try:
        with open(path, encoding="utf-8") as text:
            text_format.Parse(text.read(), net, allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ConvertError(f"{os.fspath(path)} is no description of a net: {error}") from error
    try:
        with open(weight_file, "rb") as file:
            held.ParseFromString(file.read())
    except (DecodeError, RuntimeError) as error:
        raise ConvertError(f"{os.fspath(weight_file)} is no file of weights: {error}") from error
    layers = [each for each in (*net.layers, *net.layer) if _runs(each)]
    try:
        given = _inputs(net, layers)
        weights = {each.name: _arrays(each) for each in (*held.layers, *held.layer) if each.blobs}
        module = CaffeModule(layers, weights, list(given)).eval()
        names = list(given)
        examples = [
            np.zeros(chosen_shape(name, (-1, *dims[1:]) if dims[:1] == (1,) else dims, shapes,
                                  names), np.float32)
            for name, dims in given.items()
        ]  # fmt: skip
        return from_model(module, examples, names=names, output_names=module.outputs)
    except ConvertError:
        raise
    except Exception as error:  # a damaged file asks layers for what they do not do
        raise ConvertError(f"the layers of {os.fspath(path)} do not fit: {error}") from error


def _runs(layer: Any) -> bool:
    """Whether inference runs a layer."""
    if any(rule.HasField("phase") and rule.phase == _TEST for rule in layer.exclude):
        return False
    rules = [rule.phase for rule in layer.include if rule.HasField("phase")]
    return not rules or _TEST in rules


def _inputs(net: Any, layers: list[Any]) -> dict[str, tuple[int, ...]]:
    """The names and shapes of what a net takes.

    Raises:
        ConvertError: it says none.
    """
    found: dict[str, tuple[int, ...]] = {}
    for number, name in enumerate(net.input):
        if number < len(net.input_shape):
            dims = tuple(int(n) for n in net.input_shape[number].dim)
        else:
            dims = tuple(int(n) for n in net.input_dim[4 * number : 4 * number + 4])
        found[name] = dims
    for layer in layers:
        if layer_type(layer) == "Input":
            for number, name in enumerate(layer.top):
                described = layer.input_param.shape
                found[name] = tuple(int(n) for n in described[min(number, len(described) - 1)].dim)
    if not found or not all(found.values()):
        raise ConvertError("the net names no inputs with shapes: a description for inference does")
    return found


def _arrays(layer: Any) -> list[np.ndarray]:
    """The weights of a layer."""
    made = []
    for blob in layer.blobs:
        data = np.array(blob.data if len(blob.data) else blob.double_data, np.float32)
        if blob.HasField("shape"):
            shape = tuple(int(n) for n in blob.shape.dim)
        else:
            shape = (blob.num, blob.channels, blob.height, blob.width)
        if int(np.prod(shape, dtype=np.int64)) != data.size:
            raise ConvertError(f"a weight of layer {layer.name!r} has {data.size} numbers")
        made.append(data.reshape(shape))
    return made
