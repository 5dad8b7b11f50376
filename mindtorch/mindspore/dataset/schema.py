"""Names, types and shapes of columns, for files that do not tell them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..common.dtype import as_dtype

__all__ = ["Schema"]


class Schema:
    """Columns of a file: each has a name, an element type, and a shape or None.

    Args:
        schema_file: a file of JSON: {"columns": {name: {"type": ..., "shape": [...]}}}.
    """

    def __init__(self, schema_file: Any = None) -> None:
        self.columns: list[dict[str, Any]] = []
        self.num_rows = 0
        if schema_file is not None:
            path = Path(schema_file)
            if not path.is_file():
                raise RuntimeError(f"The file {schema_file} does not exist")
            self.from_json(json.loads(path.read_text(encoding="utf-8")))

    def add_column(self, name: str, de_type: Any, shape: Any = None) -> None:
        """One more column.

        Args:
            de_type: a type of MindSpore's, or its name.
            shape: -1 for a length that follows from the data.
        """
        if not isinstance(name, str):
            raise TypeError(f"name should be a str, but got {name!r}")
        kind = de_type if isinstance(de_type, str) else str(np.dtype(as_dtype(de_type).np))
        self.columns.append({"name": name, "type": kind,
                             "shape": None if shape is None else list(shape)})  # fmt: skip

    def parse_columns(self, columns: Any) -> None:
        """Columns of a list of {"name", "type", "shape"}, or of {name: {"type", "shape"}}."""
        if isinstance(columns, dict):
            columns = [{"name": name, **facts} for name, facts in columns.items()]
        for column in columns:
            if "name" not in column or "type" not in column:
                raise RuntimeError(f"a column has a name and a type, but got {column}")
            self.add_column(column["name"], column["type"], column.get("shape"))

    def from_json(self, json_obj: dict[str, Any]) -> None:
        """Columns of {"columns": ..., "numRows": ...}."""
        if not isinstance(json_obj, dict) or "columns" not in json_obj:
            raise RuntimeError("a schema has columns")
        self.num_rows = int(json_obj.get("numRows", 0))
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The text of :meth:`from_json`."""
        columns = {
            c["name"]: {k: v for k, v in c.items() if k != "name" and v is not None}
            for c in self.columns
        }
        return json.dumps({"columns": columns, "numRows": self.num_rows}, indent=2)

    def array_of(self, column: dict[str, Any], values: Any) -> Any:
        """Values as a column of this type and shape.

        Raises:
            RuntimeError: they do not have it.
        """
        kind = column["type"]
        array = values if kind in ("string", "bytes") else values.astype(kind)
        if column["shape"] is None:
            return array
        try:
            return array.reshape(column["shape"])
        except ValueError:
            raise RuntimeError(
                f"the column {column['name']!r} has {array.size} values, its shape is "
                f"{column['shape']}"
            ) from None
