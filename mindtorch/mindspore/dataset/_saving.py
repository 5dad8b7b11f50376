"""Rows of a pipeline, written into files of records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ._rows import Rows, array_of, zip_lists
from .tfrecord import RecordWriter, example_of

__all__ = ["save_rows"]


def save_rows(
    dataset: Rows, file_name: str, num_files: int, file_type: str, mindrecord_writer: Any
) -> None:
    """See :meth:`Dataset.save`."""
    if not isinstance(num_files, int) or not 1 <= num_files <= 1000:
        raise ValueError(f"num_files should be within 1 and 1000, but got {num_files!r}")
    if file_type == "mindrecord":
        _save_mindrecord(dataset, file_name, num_files, mindrecord_writer)
    elif file_type == "tfrecord":
        _save_tfrecord(dataset, file_name, num_files)
    else:
        raise ValueError(f"file_type should be mindrecord or tfrecord, but got {file_type!r}")


def _kind(array: Any) -> dict[str, Any]:
    """MindRecord's description of a column."""
    if array.dtype.kind == "U":
        return {"type": "string"}
    if array.dtype.kind == "S":
        return {"type": "bytes"}
    kinds = {"int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32",
             "bool": "int32", "uint32": "int64", "float16": "float32"}  # fmt: skip
    kind = kinds.get(str(array.dtype), str(array.dtype))
    if kind not in ("int32", "int64", "float32", "float64"):
        raise RuntimeError(f"MindRecord files hold no {array.dtype}")
    if array.ndim == 0:
        return {"type": kind}
    return {"type": kind, "shape": [-1, *array.shape[1:]]}


def _save_mindrecord(dataset: Rows, file_name: str, count: int, writer_class: Any) -> None:
    writer, schema = writer_class(str(file_name), count), None
    pending: list[dict[str, Any]] = []
    for row in dataset.rows(0):
        arrays = [array_of(value) for value in row]
        if schema is None:
            schema = {c: _kind(a) for c, a in zip_lists(dataset.columns, arrays)}
            writer.add_schema(schema, "rows of a data set")
        values = {}
        for name, array in zip_lists(dataset.columns, arrays):
            kind = schema[name]["type"]
            if kind in ("string", "bytes"):
                values[name] = array.item() if array.ndim == 0 else array.reshape(-1)[0].item()
            else:
                cast = array.astype(kind)
                values[name] = cast if cast.ndim else cast.item()
        pending.append(values)
        if len(pending) == 1000:
            writer.write_raw_data(pending)
            pending = []
    if schema is None:
        raise RuntimeError("a data set without rows cannot be saved")
    if pending:
        writer.write_raw_data(pending)
    writer.commit()


def _save_tfrecord(dataset: Rows, file_name: str, count: int) -> None:
    names = [file_name] if count == 1 else [f"{file_name}{i}" for i in range(count)]
    paths = [Path(name) for name in names]
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise RuntimeError(f"the file {there[0]} is there already")
    parts = [path.with_name(f"{path.name}.{os.getpid()}.part") for path in paths]
    try:
        files = [part.open("wb") for part in parts]
        try:
            writers = [RecordWriter(file) for file in files]
            for number, row in enumerate(dataset.rows(0)):
                arrays = [np.asarray(array_of(value)) for value in row]
                example = example_of(dict(zip_lists(dataset.columns, arrays)))
                writers[number % count].write(example)
        finally:
            for file in files:
                file.close()
        for part, path in zip_lists(parts, paths):
            part.replace(path)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
