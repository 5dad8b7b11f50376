"""What the columns of a MindRecord file are, and rows as bytes and back."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np

from ._values import PLAIN, TYPES, packed, packed_array, unpacked, unpacked_array
from .errors import MRMInvalidSchemaError, MRMOpenError

_PYTHON: dict[str, Any] = {
    "string": str, "int32": (int, np.integer), "int64": (int, np.integer),
    "float32": (int, float, np.number), "float64": (int, float, np.number), "bytes": bytes,
}  # fmt: skip


class Schema:
    """The columns: {name: {"type": ..., "shape": [...]}}.

    Raises:
        MRMInvalidSchemaError: a name, type or shape that there is not.
    """

    def __init__(self, content: dict[str, Any], arrays: list[str] | None = None) -> None:
        if not isinstance(content, dict) or not content:
            raise MRMInvalidSchemaError("Schema content is empty or not a dict.")
        for name, entry in content.items():
            self._check(name, entry)
        self.content = content
        held = [n for n, e in sorted(content.items()) if e["type"] == "bytes" or "shape" in e]
        self.arrays = held if arrays is None else arrays
        self.fields = [name for name in content if name not in self.arrays]
        if sorted(self.arrays) != sorted(held):
            raise MRMInvalidSchemaError(f"arrays {self.arrays} of columns {list(content)}")

    @staticmethod
    def _check(name: Any, entry: Any) -> None:
        if not isinstance(name, str) or re.fullmatch(r"\w+", name, re.ASCII) is None:
            raise MRMInvalidSchemaError(f"Field {name!r} should be composed of letters, digits "
                                        "and underscores.")  # fmt: skip
        if not isinstance(entry, dict) or "type" not in entry or set(entry) - {"type", "shape"}:
            raise MRMInvalidSchemaError(f"Field '{name}' should be {{'type': ..., 'shape': ...}}.")
        if entry["type"] not in TYPES:
            raise MRMInvalidSchemaError(
                f"Schema format is error. Detail: Field '{name}' contain illegal attribute "
                f"'{entry['type']}'."
            )
        shape = entry.get("shape")
        if "shape" in entry and (
            not isinstance(shape, list)
            or not all(isinstance(n, int) for n in shape)
            or entry["type"] in ("string", "bytes")
        ):
            raise MRMInvalidSchemaError(f"Field '{name}' contain illegal shape {shape!r}.")

    @property
    def plain(self) -> dict[str, Any]:
        """The columns by sorted names, as the header has them."""
        return {
            name: {key: self.content[name][key] for key in sorted(self.content[name])}
            for name in sorted(self.content)
        }

    def problem(self, row: Any) -> str | None:
        """Why a row does not fit; None where it does."""
        if not isinstance(row, dict):
            return f"a row should be a dict, but got {type(row).__name__}"
        for name, entry in self.content.items():
            if name not in row:
                return f"there is no field {name!r}"
            value, kind = row[name], entry["type"]
            if "shape" not in entry:
                if not isinstance(value, _PYTHON[kind]) or isinstance(value, bool):
                    return f"field {name!r} of type {kind} is {type(value).__name__}"
                if kind.startswith("int") and not (
                    np.iinfo(kind).min <= value <= np.iinfo(kind).max
                ):
                    return f"field {name!r}: {value} is not within {kind}"
            elif not isinstance(value, np.ndarray) or value.dtype != np.dtype(kind):
                return f"field {name!r} should be an array of {kind}"
            elif not _fits(value.shape, entry["shape"]):
                return f"field {name!r} of shape {entry['shape']} has {list(value.shape)}"
        return None

    def encoded(self, row: dict[str, Any]) -> tuple[bytes, bytes, int]:
        """The fields and the arrays of a row, and how many bytes packing whole numbers saved."""
        fields = {}
        for name in self.fields:
            kind = self.content[name]["type"]
            value = row[name]
            if kind != "string":
                value = int(value) if kind.startswith("int") else float(np.dtype(kind).type(value))
            fields[name] = value
        parts, saved = [], 0
        for name in self.arrays:
            value = row[name]
            parts.append(value if isinstance(value, bytes) else packed_array(value))
            saved += 0 if isinstance(value, bytes) else value.nbytes - len(parts[-1])
        if len(parts) == 1:
            blob = parts[0]
        elif parts:
            blob = b"".join(struct.pack(">Q", len(part)) + part for part in parts)
        else:
            blob = bytes(4)
        return packed(fields if fields else {"id": 0}), blob, saved

    def decoded(self, fields: bytes, blob: bytes, names: list[str]) -> dict[str, Any]:
        """The columns ``names`` of a row.

        Raises:
            MRMOpenError: the bytes are no row of this schema.
        """
        try:
            values: dict[str, Any] = unpacked(fields)
            for name, part in zip(self.arrays, self._parts(blob), strict=True):
                if name in names:
                    values[name] = self._array(name, part)
            return {name: values[name] for name in names}
        except (ValueError, KeyError, struct.error) as error:
            raise MRMOpenError(f"Invalid file, a row cannot be read: {error}.") from None

    def _parts(self, blob: bytes) -> list[bytes]:
        if len(self.arrays) < 2:
            return [blob][: len(self.arrays)]
        parts, at = [], 0
        for _ in self.arrays:
            size = struct.unpack_from(">Q", blob, at)[0]
            parts.append(blob[at + 8 : at + 8 + size])
            at += 8 + size
        if at != len(blob):
            raise ValueError(f"arrays of {at} bytes in {len(blob)}")
        return parts

    def _array(self, name: str, part: bytes) -> Any:
        entry = self.content[name]
        if entry["type"] == "bytes":
            return part
        return unpacked_array(part, entry["type"]).reshape(entry["shape"])


def _fits(shape: tuple[int, ...], wanted: list[int]) -> bool:
    return len(shape) == len(wanted) and all(
        w in (-1, n) for n, w in zip(shape, wanted, strict=True)
    )


def is_plain(entry: dict[str, Any]) -> bool:
    """Whether a column can be looked up by: one text or number."""
    return entry["type"] in PLAIN and "shape" not in entry
