"""MindSpore's summary files (`*_MS`) and its lineage files (`*_lineage`).

Their fields, as far as they are read, are those that MindSpore 2.10 writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from mindtorch.protobuf_messages import make_messages

from .tensorboard_events import image_media, tensor_words
from .values import Graph, Histogram, Node, Scalar, Stored, Text

__all__ = ["lineage_of", "stored_content", "values_of"]

_SUMMARY = make_messages(
    "mindtorch/mindspore_summary.proto",
    "mindtorch.mindspore_summary",
    {
        "Event": "1 wall_time double; 2 step int64; 3 what.version string; "
        "4 what.graph_def GraphProto; 5 what.summary Summary",
        "Summary": "1 value Value*",
        "Value": "1 tag string; 3 value.scalar_value float; 4 value.image Image; "
        "8 value.tensor TensorProto; 9 value.histogram Histogram",
        "Image": "1 height int32; 2 width int32; 3 colorspace int32; 4 encoded_image bytes",
        "Histogram": "1 buckets Bucket*; 2 nan_count int64; 3 pos_inf_count int64; "
        "4 neg_inf_count int64; 5 max double; 6 min double; 7 sum double; 8 count int64",
        "Bucket": "1 left double; 2 width double; 3 count int64",
        "TensorProto": "1 dims int64*; 2 data_type int32; 3 float_data float*; "
        "4 int32_data int32*; 5 int64_data int64*; 6 double_data double*; 8 raw_data bytes",
        "GraphProto": "1 node NodeProto*; 3 parameters Parameter*",
        "Parameter": "1 name string; 2 type TypeProto",
        "NodeProto": "1 input Input*; 2 name string; 3 op_type string; 4 scope string; "
        "6 output_type TypeProto; 8 full_name string",
        "Input": "1 name string",
        "TypeProto": "1 data_type int32; 2 tensor_type Tensor; 3 sequence_type Sequence",
        "Sequence": "1 elem_types TypeProto*",
        "Tensor": "1 elem_type int32; 2 shape Shape",
        "Shape": "1 dim Dimension*",
        "Dimension": "1 size int64",
    },
)  # fmt: skip
_LINEAGE = make_messages(
    "mindtorch/mindspore_lineage.proto",
    "mindtorch.mindspore_lineage",
    {
        "Event": "1 wall_time double; 2 step int64; 3 what.version string; "
        "6 what.train_lineage Train; 7 what.evaluation_lineage Evaluation; "
        "9 what.dataset_graph DatasetGraph; 10 what.user_defined_info UserInfo",
        "Train": "1 hyper_parameters HyperParameters; 2 train_dataset TrainDataset; "
        "3 algorithm Algorithm; 4 model Model",
        "HyperParameters": "1 optimizer string; 2 learning_rate float; 3 loss_function string; "
        "4 epoch int32; 5 parallel_mode string; 6 device_num int32; 8 batch_size int32",
        "TrainDataset": "1 path string; 2 size int32",
        "Algorithm": "1 network string; 2 loss float",
        "Model": "3 path string; 4 size int64",
        "Evaluation": "2 metric string; 3 valid_dataset ValidDataset",
        "ValidDataset": "1 path string; 2 size int32",
        "DatasetGraph": "1 children DatasetGraph*; 2 parameter Parameters; 3 operations Operation*",
        "Operation": "1 operationParam Parameters",
        "Parameters": "1 mapStr string->string; 4 mapInt string->int32",
        "UserInfo": "1 user_info UserInfo*; 2 map_dict string->UserInfo; "
        "3 map_int32 string->int32; 4 map_str string->string; 5 map_double string->double",
    },
)  # fmt: skip
_TYPES = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8,
          7: np.uint16, 8: np.uint32, 9: np.uint64, 10: np.float16, 11: np.float32,
          12: np.float64}  # fmt: skip


def values_of(content: bytes, file: Path, place: int) -> Iterator[Any]:
    """What a record of a summary file holds.

    Raises:
        DecodeError: it is none.
    """
    event = _SUMMARY["Event"].FromString(content)
    if event.WhichOneof("what") == "graph_def":
        yield _graph(event.graph_def)
        return
    for index, value in enumerate(event.summary.value):
        kind = value.WhichOneof("value")
        # "loss/auto" of a collector and "loss[:Tensor]" of a record are shown as "loss"
        tag = value.tag.split("[:")[0].removesuffix("/auto")
        if kind == "scalar_value":
            yield Scalar(tag, event.step, event.wall_time, value.scalar_value)
        elif kind == "histogram":
            yield _histogram(tag, event.step, event.wall_time, value.histogram)
        elif kind == "tensor":
            yield Text(tag, event.step, event.wall_time, tensor_words(_array(value.tensor)))
        elif kind == "image" and (media := image_media(value.image.encoded_image)):
            words = f"{value.image.width} x {value.image.height}"
            yield Stored(
                tag, event.step, event.wall_time, media, words, file, place, len(content), index
            )


def _histogram(tag: str, step: int, time: float, held: Any) -> Histogram:
    if not held.buckets:
        raise DecodeError(f"{tag}: no buckets")
    left = np.array([each.left for each in held.buckets])
    width = np.array([each.width for each in held.buckets])
    counts = np.array([each.count for each in held.buckets], float)
    edges = np.maximum.accumulate(np.append(left, left[-1] + width[-1]))
    number = held.count - held.nan_count - held.pos_inf_count - held.neg_inf_count
    mean = held.sum / max(number, 1)
    centers = left + width / 2
    spread = math.sqrt(max(float(counts @ (centers - mean) ** 2) / max(counts.sum(), 1.0), 0.0))
    odd = held.nan_count + held.pos_inf_count + held.neg_inf_count
    return Histogram(
        tag, step, time, edges, counts, held.min, held.max, mean, spread, held.count, odd
    )


def _array(held: Any) -> np.ndarray:
    dtype = _TYPES.get(held.data_type)
    sizes = [int(n) for n in held.dims]
    if dtype is None:
        raise DecodeError(f"a tensor of type {held.data_type}")
    array: np.ndarray
    for data in (held.float_data, held.int32_data, held.int64_data, held.double_data):
        if len(data):
            array = np.array(data).astype(dtype)
            break
    else:
        if len(held.raw_data) % np.dtype(dtype).itemsize:
            raise DecodeError("a tensor's data end within an element")
        array = np.frombuffer(held.raw_data, dtype)
    if math.prod(sizes) != array.size:
        raise DecodeError(f"a tensor of shape {sizes} with {array.size} elements")
    return array.reshape(sizes)


def _shape(kind: Any) -> str:
    if kind.HasField("tensor_type"):
        return "x".join(str(dim.size) for dim in kind.tensor_type.shape.dim) or "number"
    if kind.HasField("sequence_type"):
        return ", ".join(filter(None, map(_shape, kind.sequence_type.elem_types)))
    return ""


def _graph(held: Any) -> Graph:
    """Nodes are numbered in the file; their paths are the scope and the operation's name."""
    graph, paths = Graph(), {}
    for parameter in held.parameters:
        path = f"parameters/{parameter.name}"
        paths[parameter.name] = path
        graph.nodes[path] = Node(path, "Parameter", [], _shape(parameter.type))
    for each in held.node:
        path = each.full_name or f"{each.scope}/{each.op_type}-op{each.name}"
        paths[each.name] = path
        inputs = [paths[source.name] for source in each.input if source.name in paths]
        graph.nodes[path] = Node(path, each.op_type, inputs, _shape(each.output_type))
    return graph


def lineage_of(content: bytes) -> Iterator[dict[str, Any]]:
    """What a record of a lineage file says, in the words of our own files.

    Raises:
        DecodeError: it is none.
    """
    event = _LINEAGE["Event"].FromString(content)
    kind = event.WhichOneof("what")
    if kind == "train_lineage":
        yield _train(event.train_lineage)
    elif kind == "evaluation_lineage":
        held = event.evaluation_lineage
        data = [{"name": "valid", "path": held.valid_dataset.path, "size": held.valid_dataset.size}]
        yield {"kind": "lineage", "data": data, "parameters": {"metrics": held.metric}}
    elif kind == "dataset_graph":
        words = " <- ".join(_stages(event.dataset_graph))
        yield {"kind": "lineage", "parameters": {"dataset": words}}
    elif kind == "user_defined_info":
        yield {"kind": "lineage", "parameters": dict(_user_info(event.user_defined_info))}


def _train(held: Any) -> dict[str, Any]:
    given = held.hyper_parameters
    parameters = {
        name: getattr(given, name)
        for name in ("optimizer", "learning_rate", "loss_function", "epoch", "parallel_mode",
                     "device_num", "batch_size")
        if getattr(given, name)
    }  # fmt: skip
    if "learning_rate" in parameters:
        parameters["learning_rate"] = float(f"{parameters['learning_rate']:.7g}")
    if held.algorithm.network:
        parameters["network"] = held.algorithm.network
    data = [{"name": "train", "path": held.train_dataset.path, "size": held.train_dataset.size}]
    found: dict[str, Any] = {"kind": "lineage", "parameters": parameters, "data": data}
    if held.HasField("algorithm") and held.algorithm.loss:
        found["metrics"] = {"loss": held.algorithm.loss}
    return found


def _stages(held: Any, depth: int = 0) -> list[str]:
    names = [str(held.parameter.mapStr["op_type"])] if "op_type" in held.parameter.mapStr else []
    names += [str(each.operationParam.mapStr.get("tensor_op_name", "")) for each in held.operations]
    for child in held.children if depth < 100 else ():
        names += _stages(child, depth + 1)
    return [name for name in names if name]


def _user_info(held: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for values in (held.map_int32, held.map_str, held.map_double):
        yield from values.items()
    for name, inner in held.map_dict.items():
        for key, value in _user_info(inner, depth + 1) if depth < 20 else ():
            yield f"{name}.{key}", value
    for inner in held.user_info if depth < 20 else ():
        yield from _user_info(inner, depth + 1)


def stored_content(content: bytes, position: int) -> bytes:
    """The bytes of the picture that a record's value holds."""
    event = _SUMMARY["Event"].FromString(content)
    return bytes(event.summary.value[position].image.encoded_image)
