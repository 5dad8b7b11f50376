"""Values of MindRecord files as bytes: msgpack for plain fields, packed numbers for arrays."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

PLAIN = ("string", "int32", "int64", "float32", "float64")
TYPES = (*PLAIN, "bytes")

# the width of each element as two bits
_WIDTHS: tuple[np.dtype[Any], ...] = (
    np.dtype("<i1"),
    np.dtype("<i2"),
    np.dtype("<i4"),
    np.dtype("<i8"),
)


def packed(values: dict[str, Any]) -> bytes:
    """A dict of texts, whole numbers and fractions in the msgpack format, by sorted names."""
    parts = [_length(len(values), 0x80, 15, ((0xDE, ">H"),))]
    for name in sorted(values):
        parts += [_packed(name), _packed(values[name])]
    return b"".join(parts)


def _length(size: int, short: int, most: int, longer: Any) -> bytes:
    if size <= most:
        return bytes([short | size])
    for mark, form in longer:
        if size < 1 << 8 * struct.calcsize(form):
            return bytes([mark]) + struct.pack(form, size)
    raise ValueError(f"{size} is too long for a MindRecord file")


def _packed(value: Any) -> bytes:
    if isinstance(value, str):
        text = value.encode()
        longer = ((0xD9, ">B"), (0xDA, ">H"), (0xDB, ">I"))
        return _length(len(text), 0xA0, 31, longer) + text
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            short = float(np.float32(value)) == value
        return b"\xca" + struct.pack(">f", value) if short else b"\xcb" + struct.pack(">d", value)
    if value >= 0:
        return _length(value, 0, 127, ((0xCC, ">B"), (0xCD, ">H"), (0xCE, ">I"), (0xCF, ">Q")))
    if value >= -32:
        return struct.pack(">b", value)
    for mark, form in ((0xD0, ">b"), (0xD1, ">h"), (0xD2, ">i"), (0xD3, ">q")):
        if value >= -1 << 8 * struct.calcsize(form) - 1:
            return bytes([mark]) + struct.pack(form, value)
    raise ValueError(f"{value} has more than 64 bits")


_FORMS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b",
    0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}


def unpacked(data: bytes) -> dict[str, Any]:
    """The dict that :func:`packed` wrote.

    Raises:
        ValueError: the bytes are something else.
    """
    try:
        size, at = (data[0] & 15, 1) if data[0] >> 4 == 8 else (_number(data, 1, ">H"), 3)
        if data[0] >> 4 != 8 and data[0] != 0xDE:
            raise ValueError("not a dict")
        found = {}
        for _ in range(size):
            name, at = _unpacked(data, at)
            found[name], at = _unpacked(data, at)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"broken fields: {error}") from None
    if at != len(data):
        raise ValueError(f"fields of {at} bytes in {len(data)}")
    return found


def _number(data: bytes, at: int, form: str) -> Any:
    return struct.unpack_from(form, data, at)[0]


def _unpacked(data: bytes, at: int) -> tuple[Any, int]:
    mark = data[at]
    if mark < 0x80 or mark >= 0xE0:
        return (mark if mark < 0x80 else mark - 256), at + 1
    if mark in _FORMS:
        form = _FORMS[mark]
        return _number(data, at + 1, form), at + 1 + struct.calcsize(form)
    if mark >> 5 == 5:
        start, size = at + 1, mark & 31
    elif mark in _TEXTS:
        form = _TEXTS[mark]
        start, size = at + 1 + struct.calcsize(form), _number(data, at + 1, form)
    else:
        raise ValueError(f"broken fields: a value that begins with {mark:#x}")
    if start + size > len(data):
        raise ValueError("broken fields: a text is cut off")
    return data[start : start + size].decode(), start + size


def packed_array(array: Any) -> bytes:
    """Elements in C order. Whole numbers each in as few bytes as they need: their number, two
    bits for the width of each, then the elements."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "f":
        return flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
    values = flat.astype(np.int64)
    kinds = np.zeros(values.size, np.int64)
    for kind in _WIDTHS[:-1]:
        limits = np.iinfo(kind)
        kinds += (values < limits.min) | (values > limits.max)
    marks = np.zeros(-(-values.size // 4) * 4, np.int64)
    marks[: values.size] = kinds
    bits = (marks.reshape(-1, 4) << np.array([6, 4, 2, 0])).sum(1).astype(np.uint8)
    elements = b"".join(
        value.astype(_WIDTHS[kind]).tobytes()
        for value, kind in zip(values, kinds.tolist(), strict=True)
    )
    return struct.pack(">I", values.size) + bits.tobytes() + elements


def unpacked_array(data: bytes, dtype: Any) -> Any:
    """The elements that :func:`packed_array` wrote, one axis.

    Raises:
        ValueError: the bytes are something else.
    """
    kind = np.dtype(dtype)
    if kind.kind == "f":
        if len(data) % kind.itemsize:
            raise ValueError(f"an array of {kind} of {len(data)} bytes")
        return np.frombuffer(data, kind.newbyteorder("<")).astype(kind)
    if len(data) < 4:
        raise ValueError("a broken array of whole numbers")
    size = _number(data, 0, ">I")
    start = 4 + -(-size // 4)
    bits = np.frombuffer(data[4:start], np.uint8)
    kinds = (bits[:, None] >> np.array([6, 4, 2, 0]) & 3).reshape(-1)[:size]
    ends = start + np.cumsum(1 << kinds) if len(kinds) == size else np.array([-1])
    if (ends[-1] if size else start) != len(data):
        raise ValueError("a broken array of whole numbers")
    values = np.empty(size, np.int64)
    for width, each in enumerate(_WIDTHS):
        places: Any = np.flatnonzero(kinds == width)
        offsets = (ends[places] - each.itemsize)[:, None] + np.arange(each.itemsize)
        content: Any = np.ascontiguousarray(np.frombuffer(data, np.uint8)[offsets])
        values[places] = content.view(each).reshape(-1)
    return values.astype(kind)
