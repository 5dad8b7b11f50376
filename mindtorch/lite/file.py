"""Files of Lite models, version 2.

    header    128 bytes, little-endian: magic, version, its own size, the file's size, where the
              graph and the weights begin and how long they are, the CRC-32 of each, its own
    graph     JSON, deflated: what :class:`.graph.LiteGraph` has, but for the elements of constants
    weights   the elements of constants, each at a multiple of 64 bytes; whole numbers of few bits,
              which are not computed with as they stand, are deflated

The file is mapped to memory; constants are views of the map, which is private: what writes to them
does not change the file. In version 1 nothing is deflated.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.kernels.support.atomic_file import replacing

from .errors import LiteFileError
from .graph import LiteGraph, LiteNode, LiteTensor, Quantization, Size, Then

__all__ = ["VERSION", "is_lite_file", "read", "write"]

MAGIC = b"MTLITE\r\n"
VERSION = 2
_HEADER = struct.Struct("<8sIIQQQQQIII")
_HEADER_BYTES = 128
_ALIGNED = 64
_LEAST_GAIN = 50  # what is deflated has to be smaller by this part
_MOST_TEXT = 1 << 28  # bytes of a graph
_MOST_RATIO = 1100  # of deflated bytes to what they stand for; 1032 at most, but for their ends
_FIELDS = ("name", "dtype", "shape", "weak")


def is_lite_file(content: bytes) -> bool:
    """Whether a file begins as ours do."""
    return content[: len(MAGIC)] == MAGIC


# --- writing --------------------------------------------------------------------------------------


class _Weights:
    """The section of constants, as it grows."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, array: np.ndarray) -> list[Any]:
        """Where an array lies: [element type, shape, offset, bytes], and then "deflate" if so."""
        content = np.ascontiguousarray(array).tobytes()
        how = []
        if array.dtype.kind in "iu" and array.dtype.itemsize <= 2:
            short = _deflated(content)
            if len(short) <= len(content) - max(_ALIGNED, len(content) // _LEAST_GAIN):
                content, how = short, ["deflate"]
        place = [array.dtype.name, list(array.shape), self.size, len(content), *how]
        content += bytes(-len(content) % _ALIGNED)
        self.parts.append(content)
        self.size += len(content)
        return place


def _deflated(content: bytes) -> bytes:
    """Numbers in fewer bits, the shorter ones for those that are frequent."""
    packer = zlib.compressobj(9, wbits=-15, strategy=zlib.Z_HUFFMAN_ONLY)
    return packer.compress(content) + packer.flush()


def _plain(value: Any) -> Any:
    """A parameter as JSON has it."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Size):
        return {"size": value.place}
    if isinstance(value, dtypes.DType):
        return {"dtype": value.name}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    raise LiteFileError(f"a parameter of type {type(value).__name__} cannot be kept in a file")


def _tensor(tensor: LiteTensor, weights: _Weights) -> dict[str, Any]:
    made: dict[str, Any] = {name: _plain(getattr(tensor, name)) for name in _FIELDS}
    if tensor.data is not None:
        made["data"] = weights.add(tensor.data)
    if tensor.quantization is not None:
        q = tensor.quantization
        made["quantization"] = {
            "bits": q.bits, "axis": q.axis, "scales": weights.add(q.scales),
            "zero_points": weights.add(q.zero_points),
        }  # fmt: skip
    return made


def _node(node: LiteNode) -> dict[str, Any]:
    return {
        "op": node.op, "name": node.name, "inputs": list(node.inputs),
        "outputs": list(node.outputs),
        "params": {name: _plain(value) for name, value in node.params.items()},
        "then": [
            {"op": t.op, "inputs": list(t.inputs),
             "params": {name: _plain(value) for name, value in t.params.items()}}
            for t in node.then
        ],
    }  # fmt: skip


def content_of(graph: LiteGraph) -> bytes:
    """A file's bytes."""
    weights = _Weights()
    text = json.dumps({
        "tensors": [_tensor(tensor, weights) for tensor in graph.tensors],
        "nodes": [_node(node) for node in graph.nodes],
        "inputs": graph.inputs, "outputs": graph.outputs, "sizes": graph.sizes,
        "lengths": graph.lengths, "information": graph.information,
    }, separators=(",", ":")).encode()  # fmt: skip
    text = zlib.compress(text, 9)
    text += bytes(-len(text) % _ALIGNED)
    held = b"".join(weights.parts)
    begins = _HEADER_BYTES + len(text)
    fields = (
        MAGIC, VERSION, _HEADER_BYTES, begins + len(held), _HEADER_BYTES, len(text), begins,
        len(held), zlib.crc32(text), zlib.crc32(held),
    )  # fmt: skip
    header = _HEADER.pack(*fields, 0)[:-4]
    header += struct.pack("<I", zlib.crc32(header))
    return header.ljust(_HEADER_BYTES, b"\0") + text + held


def write(graph: LiteGraph, path: str | os.PathLike[str]) -> None:
    """Write a model, whole or not at all.

    Raises:
        LiteFileError: a parameter of a node cannot be kept.
        OSError: the file cannot be written.
    """
    content = content_of(graph)
    with replacing(path) as file:
        file.write(content)


# --- reading --------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> LiteGraph:
    """The model of a file, checked; its constants are in the mapped file.

    Raises:
        LiteFileError: it is none, truncated, damaged or newer.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _HEADER_BYTES:
            start = file.read(len(MAGIC))
            what = "is truncated" if start == MAGIC[: len(start)] and start else "is no Lite model"
            raise LiteFileError(f"{os.fspath(path)}: the file {what}: it has {size} bytes")
        held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    try:
        return graph_of(held)
    except LiteFileError as error:
        raise LiteFileError(f"{os.fspath(path)}: {error}") from None


def _sections(held: Any) -> tuple[bytes, Any]:
    """The graph's text and the weights, once the header and the checksums are right."""
    if not is_lite_file(held[: len(MAGIC)]):
        raise LiteFileError("the file is no Lite model: it does not begin as one")
    if len(held) < _HEADER_BYTES:
        raise LiteFileError(f"the file is truncated: it has {len(held)} bytes")
    fields = _HEADER.unpack(held[: _HEADER.size])
    _, version, head, size, at, length, begins, amount, text_sum, weights_sum, own = fields
    if version > VERSION:
        raise LiteFileError(
            f"the file is of version {version}, {VERSION} is the newest that is known: "
            "a newer mindtorch reads it"
        )
    if zlib.crc32(held[: _HEADER.size - 4]) != own or version < 1:
        raise LiteFileError("the file is damaged: its header's checksum is wrong")
    if len(held) < size:
        raise LiteFileError(f"the file is truncated: it has {len(held)} bytes of {size}")
    if len(held) != size or head != _HEADER_BYTES or at != head or begins != at + length:
        raise LiteFileError("the file is damaged: its sizes do not fit")
    if begins + amount != size or begins % _ALIGNED:
        raise LiteFileError("the file is damaged: its sizes do not fit")
    view = memoryview(held)
    text, weights = view[at:begins], view[begins:size]
    for section, expected, what in ((text, text_sum, "graph"), (weights, weights_sum, "weights")):
        if zlib.crc32(section) != expected:
            raise LiteFileError(f"the file is damaged: the checksum of its {what} is wrong")
    return bytes(text) if version == 1 else _inflated(text, _MOST_TEXT, 15), weights


def _inflated(content: Any, most: int, bits: int = -15) -> bytes:
    """What was deflated, of which there are no more than ``most`` bytes."""
    unpacker = zlib.decompressobj(bits)
    try:
        made = unpacker.decompress(content, most)
    except zlib.error as error:
        raise LiteFileError(f"the file is damaged: {error}") from None
    if not unpacker.eof:
        raise LiteFileError("the file is damaged: what is deflated does not end")
    return made


def graph_of(held: Any) -> LiteGraph:
    """The model that bytes hold.

    Raises:
        LiteFileError: as :func:`read`.
    """
    text, weights = _sections(held)
    try:
        stored = json.loads(text)
        return _Reader(stored, weights).graph()
    except (
        KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError,
    ) as error:  # fmt: skip
        raise LiteFileError(f"the file's graph is damaged: {error}") from None


class _Reader:
    """Makes a graph of JSON; whatever is not as it should be raises ValueError, KeyError, ..."""

    def __init__(self, stored: Any, weights: Any) -> None:
        self.stored, self.weights = stored, weights
        self.count = len(stored["tensors"])
        self.sizes = [_text(each) for each in stored["sizes"]]

    def graph(self) -> LiteGraph:
        stored = self.stored
        made = LiteGraph(
            [self._tensor(each) for each in stored["tensors"]],
            [self._node(each) for each in stored["nodes"]],
            [self._place(i) for i in stored["inputs"]],
            [self._place(i) for i in stored["outputs"]],
            self.sizes, [_number(n, 1) for n in stored["lengths"]], dict(stored["information"]),
        )  # fmt: skip
        if len(made.lengths) > len(made.sizes):
            raise ValueError("more lengths are open than there are")
        known = {*made.inputs, *[i for i, t in enumerate(made.tensors) if t.data is not None]}
        if len(set(made.inputs)) != len(made.inputs):
            raise ValueError("an input is named twice")
        if any(made.tensors[i].data is not None for i in made.inputs):
            raise ValueError("an input is a constant")
        for node in made.nodes:
            if not known.issuperset(node.reads()):
                raise ValueError(f"the node {node.name!r} reads what is not there")
            if known.intersection(node.outputs) or not node.outputs:
                raise ValueError(f"the node {node.name!r} makes what is there")
            known.update(node.outputs)
        if not made.outputs or not known.issuperset(made.outputs):
            raise ValueError("an output is not there")
        return made

    def _place(self, value: Any) -> int:
        place = _number(value)
        if place >= self.count:
            raise ValueError(f"there is no tensor {place}")
        return place

    def _value(self, value: Any) -> Any:
        """A parameter."""
        if isinstance(value, dict):
            if "dtype" in value:
                return dtypes.by_name(_text(value["dtype"]))
            return self._size(value)
        if isinstance(value, list):
            return tuple(self._value(each) for each in value)
        return value

    def _size(self, value: Any) -> Size:
        place = _number(value["size"])
        if place >= len(self.sizes):
            raise ValueError(f"there is no length {place}")
        return Size(place)

    def _array(self, stored: Any) -> np.ndarray:
        """Elements in the mapped file, unless they are deflated."""
        name, shape, offset, size, *how = stored
        dtype = np.dtype(dtypes.by_name(_text(name)).np) if name not in _PLAIN else np.dtype(name)
        lengths = tuple(_number(n) for n in shape)
        start, amount = _number(offset), _number(size)
        if start % _ALIGNED or start + amount > len(self.weights):
            raise ValueError("a constant lies outside of the file")
        content, wanted = self.weights[start : start + amount], math.prod(lengths) * dtype.itemsize
        if how:
            if how != ["deflate"] or wanted > amount * _MOST_RATIO:
                raise ValueError("a constant is not kept in a way that is known")
            content = _inflated(content, wanted + 1)
        if len(content) != wanted:
            raise ValueError("a constant's size is not that of its shape")
        return np.frombuffer(content, dtype).reshape(lengths)

    def _tensor(self, stored: Any) -> LiteTensor:
        dtype = _text(stored["dtype"])
        dtypes.by_name(dtype)
        shape = tuple(
            self._size(n) if isinstance(n, dict) else _number(n) for n in stored["shape"]
        )
        made = LiteTensor(_text(stored["name"]), dtype, shape, weak=bool(stored["weak"]))
        if "data" in stored:
            made.data = self._array(stored["data"])
        if "quantization" in stored:
            made.quantization = self._quantization(stored["quantization"], made)
        held = made.data
        half = held is not None and held.dtype == np.float16 and dtype == "float32"
        if held is not None and made.quantization is None and (
            held.shape != shape or not (half or held.dtype == dtypes.by_name(dtype).np)
        ):
            raise ValueError(f"the constant {made.name!r} is not what it is said to be")
        return made

    def _quantization(self, stored: Any, tensor: LiteTensor) -> Quantization:
        bits, axis = _number(stored["bits"], 1), stored["axis"]
        scales, zeros = self._array(stored["scales"]), self._array(stored["zero_points"])
        if bits > 16 or scales.shape != zeros.shape or scales.ndim != 1:
            raise ValueError(f"the quantization of {tensor.name!r} is not known")
        if axis is not None and _number(axis) >= len(tensor.shape):
            raise ValueError(f"{tensor.name!r} has no axis {axis}")
        if scales.size != (1 if axis is None else tensor.shape[axis]):
            raise ValueError(f"{tensor.name!r} has {scales.size} scales")
        return Quantization(bits, scales, zeros, axis)

    def _params(self, stored: Any) -> dict[str, Any]:
        return {_text(name): self._value(value) for name, value in stored.items()}

    def _node(self, stored: Any) -> LiteNode:
        inputs = tuple(None if i is None else self._place(i) for i in stored["inputs"])
        then = tuple(
            Then(
                _text(each["op"]), tuple(-1 if i == -1 else self._place(i) for i in each["inputs"]),
                self._params(each["params"]),
            )
            for each in stored["then"]
        )
        return LiteNode(
            _text(stored["op"]), inputs, tuple(self._place(i) for i in stored["outputs"]),
            self._params(stored["params"]), then, _text(stored["name"]),
        )  # fmt: skip


_PLAIN = ("uint16", "uint32", "uint64")


def _number(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 1 << 62:
        raise ValueError(f"{value!r} is no length or place")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no name")
    return value
