"""A row as bytes: a text that describes it, and its arrays, each at a multiple of 64 bytes.

A row is what a data set returns: numbers, texts, bytes, None, numpy arrays, tensors and Pillow's
images in tuples, lists and dicts. Nothing is pickled. Rows of one description are read by one list
of functions, so that reading costs one view for each array.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ALIGNMENT", "Reader", "encode"]

ALIGNMENT = 64
_LENGTH = struct.Struct("<I")
_INT, _FLOAT = struct.Struct("<q"), struct.Struct("<d")
_READERS_KEPT = 1024
_HAS_NO_OBJECTS = "biufcUSmM"

Read = Callable[[Any, int], Any]


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


# --- writing -------------------------------------------------------------------------------------


class _Writer:
    """Gathers the description of a row and the buffers of its leaves."""

    def __init__(self) -> None:
        self.buffers: list[tuple[int, Any]] = []
        self.size = 0

    def add(self, data: Any) -> int:
        """The place of a buffer among all; they begin after the description."""
        place = self.size
        self.buffers.append((place, data))
        self.size = place + _aligned(len(data))
        return place

    def tree(self, value: Any) -> Any:
        kind = type(value)
        if value is None:
            return ["none"]
        if kind is bool or kind is int:
            return self._integer(value, kind.__name__)
        if kind is float:
            return ["float", self.add(_FLOAT.pack(value))]
        if kind is str:
            data = value.encode("utf-8", "surrogatepass")
            return ["str", self.add(data), len(data)]
        if kind in (bytes, bytearray):
            return [kind.__name__, self.add(bytes(value)), len(value)]
        if kind in (tuple, list):
            return [kind.__name__, [self.tree(part) for part in value]]
        if kind is dict:
            return ["dict", [_key(k) for k in value], [self.tree(v) for v in value.values()]]
        return self._library_value(value, kind)

    def _integer(self, value: int, name: str) -> Any:
        if -(2**63) <= value < 2**63:
            return [name, self.add(_INT.pack(value))]
        return ["big", str(value)]

    def _library_value(self, value: Any, kind: type) -> Any:
        if kind is np.ndarray:
            return self._array("array", value)
        if isinstance(value, np.generic):
            return self._array("scalar", np.asarray(value))
        root = kind.__module__.partition(".")[0]
        if root in ("torch", "mindtorch") and hasattr(value, "requires_grad"):
            return self._tensor(value)
        if root == "PIL" and hasattr(value, "tobytes"):
            if value.mode == "P":
                raise TypeError("images with a palette are not cached: convert them to RGB")
            data = value.tobytes()
            return ["image", value.mode, list(value.size), self.add(data), len(data)]
        raise TypeError(
            f"{kind.__module__}.{kind.__qualname__} is not cached: rows are made of numbers, "
            "texts, bytes, None, arrays, tensors and images in tuples, lists and dicts"
        )

    def _array(self, name: str, value: Any) -> Any:
        array = np.asarray(value, order="C")
        if array.dtype.kind not in _HAS_NO_OBJECTS:
            raise TypeError(f"arrays of dtype {array.dtype} are not cached")
        flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
        return [name, array.dtype.str, list(array.shape), self.add(flat.data)]

    def _tensor(self, value: Any) -> Any:
        torch = sys.modules[_torch_of(value)]
        held = value.detach()
        if held.layout is not torch.strided or held.is_quantized:
            raise TypeError(f"tensors of layout {held.layout} are not cached")
        held = held.cpu().contiguous()
        name = str(held.dtype).partition(".")[2]
        if name not in _SAME_IN_NUMPY:
            held = held.reshape(-1).view(torch.uint8)
        tree = self._array("tensor", held.numpy())
        return [*tree[:2], list(value.shape), *tree[3:], name, torch.__name__]


_SAME_IN_NUMPY = frozenset(
    "bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128".split()
)


def _key(key: Any) -> Any:
    if type(key) not in (str, int):
        raise TypeError(f"keys of dicts that are cached are str or int, but got {key!r}")
    return key


def _torch_of(value: Any) -> str:
    ours = sys.modules.get("mindtorch.torch")
    return "mindtorch.torch" if ours and isinstance(value, ours.Tensor) else "torch"


def encode(value: Any) -> bytearray:
    """The bytes of a row.

    Raises:
        TypeError: it holds something else than what the module's text names.
    """
    writer = _Writer()
    text = json.dumps(writer.tree(value), separators=(",", ":")).encode()
    start = _aligned(_LENGTH.size + len(text))
    row = bytearray(start + writer.size)
    row[: _LENGTH.size] = _LENGTH.pack(start)
    row[_LENGTH.size : _LENGTH.size + len(text)] = text
    for place, data in writer.buffers:
        row[start + place : start + place + len(data)] = data
    return row


# --- reading -------------------------------------------------------------------------------------


class Reader:
    """Makes rows of bytes; keeps one function for each description it has seen."""

    def __init__(self) -> None:
        self._known: dict[bytes, Read] = {}

    def read(self, buffer: Any, start: int) -> Any:
        """The row that begins at ``start``; its arrays are read-only views of the buffer."""
        (length,) = _LENGTH.unpack_from(buffer, start)
        head = bytes(buffer[start + _LENGTH.size : start + length])
        function = self._known.get(head)
        if function is None:
            if len(self._known) >= _READERS_KEPT:
                self._known.clear()
            function = self._known[head] = _reader(json.loads(head.rstrip(b"\0")), length)
        return function(buffer, start)


def _reader(tree: Any, base: int) -> Read:
    kind, *rest = tree
    return _KINDS[kind](base, *rest)


def _read_array(base: int, dtype: str, shape: list[int], place: int) -> Read:
    kind, sizes, at, array = np.dtype(dtype), tuple(shape), base + place, np.ndarray
    return lambda buffer, start: array(sizes, kind, buffer, start + at)


def _read_scalar(base: int, dtype: str, shape: list[int], place: int) -> Read:
    array = _read_array(base, dtype, shape, place)
    return lambda buffer, start: array(buffer, start)[()]


def _read_tensor(
    base: int, dtype: str, shape: list[int], place: int, name: str, framework: str
) -> Read:
    torch = sys.modules[framework]
    kind, as_bytes = np.dtype(dtype), name not in _SAME_IN_NUMPY
    wanted, at = getattr(torch, name), base + place
    count = int(np.prod(shape, dtype=np.int64)) * (wanted.itemsize if as_bytes else 1)
    if count == 0:
        return lambda buffer, start: torch.empty(shape, dtype=wanted)

    def read(buffer: Any, start: int) -> Any:
        # frameworks have no read-only tensors: each gets memory of its own
        flat = torch.from_numpy(np.ndarray((count,), kind, buffer, start + at).copy())
        return (flat.view(wanted) if as_bytes else flat).reshape(shape)

    return read


def _read_image(base: int, mode: str, size: list[int], place: int, length: int) -> Read:
    from_bytes, data = sys.modules["PIL.Image"].frombytes, _read_bytes(base, place, length)
    return lambda buffer, start: from_bytes(mode, tuple(size), data(buffer, start))


def _read_bytes(base: int, place: int, length: int) -> Read:
    at = base + place
    return lambda buffer, start: bytes(buffer[start + at : start + at + length])


def _read_bytearray(base: int, place: int, length: int) -> Read:
    data = _read_bytes(base, place, length)
    return lambda buffer, start: bytearray(data(buffer, start))


def _read_str(base: int, place: int, length: int) -> Read:
    data = _read_bytes(base, place, length)
    return lambda buffer, start: data(buffer, start).decode("utf-8", "surrogatepass")


def _read_int(base: int, place: int) -> Read:
    at, unpack = base + place, _INT.unpack_from
    return lambda buffer, start: unpack(buffer, start + at)[0]


def _read_bool(base: int, place: int) -> Read:
    number = _read_int(base, place)
    return lambda buffer, start: bool(number(buffer, start))


def _read_float(base: int, place: int) -> Read:
    at, unpack = base + place, _FLOAT.unpack_from
    return lambda buffer, start: unpack(buffer, start + at)[0]


def _read_tuple(base: int, parts: list[Any]) -> Read:
    readers = [_reader(part, base) for part in parts]
    if len(readers) == 2:
        first, second = readers
        return lambda buffer, start: (first(buffer, start), second(buffer, start))
    return lambda buffer, start: tuple([read(buffer, start) for read in readers])


def _read_list(base: int, parts: list[Any]) -> Read:
    readers = [_reader(part, base) for part in parts]
    return lambda buffer, start: [read(buffer, start) for read in readers]


def _read_dict(base: int, keys: list[Any], values: list[Any]) -> Read:
    readers = [(key, _reader(part, base)) for key, part in zip(keys, values, strict=True)]
    return lambda buffer, start: {key: read(buffer, start) for key, read in readers}


_KINDS: dict[str, Callable[..., Read]] = {
    "none": lambda base: lambda buffer, start: None,
    "big": lambda base, text: lambda buffer, start: int(text),
    "array": _read_array, "scalar": _read_scalar, "tensor": _read_tensor, "image": _read_image,
    "bytes": _read_bytes, "bytearray": _read_bytearray, "str": _read_str, "int": _read_int,
    "bool": _read_bool, "float": _read_float, "tuple": _read_tuple, "list": _read_list,
    "dict": _read_dict,
}  # fmt: skip
