"""TensorBoard's event files: the messages of its own package."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.util import tensor_util

from .values import Graph, Histogram, Node, Scalar, Stored, Text

__all__ = ["image_media", "stored_content", "values_of"]

_MEDIA = (
    (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"), (b"RIFF", "audio/wav"),
)  # fmt: skip
_LONGEST_TEXT = 100_000


def image_media(content: bytes) -> str:
    """The kind of a picture or sound by its first bytes; "" for others, which are never sent."""
    return next((media for start, media in _MEDIA if content.startswith(start)), "")


def values_of(content: bytes, file: Path, place: int) -> Iterator[Any]:
    """What a record holds.

    Raises:
        DecodeError: it is no event.
    """
    event = Event.FromString(content)
    if event.WhichOneof("what") == "graph_def":
        yield _graph(GraphDef.FromString(event.graph_def))
        return
    for index, value in enumerate(event.summary.value):
        where = (file, place, len(content), index)
        yield from _value(value, event.step, event.wall_time, where)


def _value(value: Any, step: int, time: float, where: tuple[Path, int, int, int]) -> Iterator[Any]:
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        yield Scalar(value.tag, step, time, value.simple_value)
    elif kind == "histo":
        yield _histogram(value.tag, step, time, value.histo)
    elif kind == "image":
        media = image_media(value.image.encoded_image_string)
        if media:
            words = f"{value.image.width} x {value.image.height}"
            yield Stored(value.tag, step, time, media, words, *where)
    elif kind == "audio":
        media = image_media(value.audio.encoded_audio_string)
        if media:
            words = f"{value.audio.sample_rate:.0f} Hz, {value.audio.length_frames} samples"
            yield Stored(value.tag, step, time, media, words, *where)
    elif kind == "tensor":
        yield from _tensor(value, step, time)
    elif value.metadata.plugin_data.plugin_name == "hparams":
        yield from _hyperparameters(value.metadata.plugin_data.content)


def _histogram(tag: str, step: int, time: float, held: Any) -> Histogram:
    limits, counts = np.array(held.bucket_limit, float), np.array(held.bucket, float)
    if len(limits) != len(counts) or not len(limits):
        raise DecodeError(f"{tag}: {len(limits)} limits, {len(counts)} buckets")
    edges = np.clip(np.concatenate([[held.min], limits]), held.min, held.max)
    number = held.num or 1.0
    mean = held.sum / number
    spread = math.sqrt(max(held.sum_squares / number - mean * mean, 0.0))
    return Histogram(
        tag, step, time, np.maximum.accumulate(edges), counts, held.min, held.max, mean, spread,
        int(held.num),
    )  # fmt: skip


def _tensor(value: Any, step: int, time: float) -> Iterator[Any]:
    plugin = value.metadata.plugin_data.plugin_name
    try:
        array = tensor_util.make_ndarray(value.tensor)
    except (TypeError, ValueError) as error:
        raise DecodeError(f"{value.tag}: {error}") from None
    if plugin == "text" or array.dtype == object:
        text = "\n".join(map(_decoded, array.flat))[:_LONGEST_TEXT]
        yield Text(value.tag.removesuffix("/text_summary"), step, time, text)
    elif array.size == 1:
        yield Scalar(value.tag, step, time, float(array.reshape(())))
    elif plugin == "histograms" and array.ndim == 2 and array.shape[1] == 3:
        yield _bucket_rows(value.tag, step, time, array)
    elif array.dtype.kind in "fiub":
        yield Text(value.tag, step, time, tensor_words(array))


def _decoded(held: Any) -> str:
    return held.decode("utf-8", "replace") if isinstance(held, bytes) else str(held)


def _bucket_rows(tag: str, step: int, time: float, rows: np.ndarray) -> Histogram:
    """TensorBoard's newer form: (left, right, count) in each row."""
    edges = np.concatenate([rows[:1, 0], rows[:, 1]]).astype(float)
    counts = rows[:, 2].astype(float)
    centers = (edges[1:] + edges[:-1]) / 2
    total = counts.sum() or 1.0
    mean = float(counts @ centers / total)
    spread = math.sqrt(max(float(counts @ (centers - mean) ** 2 / total), 0.0))
    return Histogram(
        tag, step, time, edges, counts, float(edges[0]), float(edges[-1]), mean, spread, int(total)
    )


def tensor_words(array: np.ndarray) -> str:
    """A tensor's type, shape, figures and first elements."""
    numbers = array.astype(float).reshape(-1)
    finite = numbers[np.isfinite(numbers)]
    lines = [f"{array.dtype} {list(array.shape)}"]
    if finite.size:
        lines.append(f"min {finite.min():.6g}, max {finite.max():.6g}, mean {finite.mean():.6g}")
    if finite.size < numbers.size:
        lines.append(f"{numbers.size - finite.size} elements are NaN or infinite")
    return "\n".join([*lines, np.array2string(array, threshold=200, precision=4)])


def _hyperparameters(content: bytes) -> Iterator[dict[str, Any]]:
    """What `add_hparams` wrote, as a piece of lineage."""
    data = HParamsPluginData.FromString(content)
    if data.WhichOneof("data") != "session_start_info":
        return
    found: dict[str, Any] = {}
    for name, value in data.session_start_info.hparams.items():
        kind = value.WhichOneof("kind")
        if kind in ("number_value", "string_value", "bool_value"):
            found[name] = getattr(value, kind)
    yield {"kind": "lineage", "parameters": found}


def _graph(definition: Any) -> Graph:
    """Each node's name is its path."""
    graph = Graph()
    for each in definition.node:
        inputs = [name.lstrip("^").split(":")[0] for name in each.input]
        shapes = (
            [[dim.size for dim in shape.dim] for shape in each.attr["_output_shapes"].list.shape]
            if "_output_shapes" in each.attr
            else []
        )
        words = each.attr["attr"].s.decode("utf-8", "replace") if "attr" in each.attr else ""
        shape = ", ".join("x".join(map(str, sizes)) or "number" for sizes in shapes)
        graph.nodes[each.name] = Node(each.name, each.op, inputs, shape, words=words)
    return graph


def stored_content(content: bytes, position: int) -> bytes:
    """The bytes of the picture or sound that a record's value holds."""
    value = Event.FromString(content).summary.value[position]
    if value.WhichOneof("value") == "image":
        return bytes(value.image.encoded_image_string)
    return bytes(value.audio.encoded_audio_string)
