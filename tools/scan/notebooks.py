"""The Python text of a Jupyter notebook: its code cells one after the other."""

from __future__ import annotations

import json
import re
from typing import Any

from .files import UnreadableError

__all__ = ["Notebook"]

_MAGIC = re.compile(r"^(\s*)(?:[%!?]|\w[\w.]*\?{1,2}\s*$)")
_ASSIGNED = re.compile(r"^(\s*[\w., ]+=\s*)[%!].*$")
_PYTHON = ("%%time", "%%timeit", "%%capture", "%%prun", "%%python")


def _plain(cell: str) -> list[str]:
    """A cell's lines, what IPython alone understands replaced by as many lines of Python."""
    lines = cell.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and not first.startswith(_PYTHON):
        return [""] * len(lines)
    plain = []
    for line in lines:
        magic = _MAGIC.match(line)
        plain.append(f"{magic[1]}pass" if magic else _ASSIGNED.sub(r"\1None", line))
    return plain


class Notebook:
    """A notebook's code.

    Attributes:
        text: the code of all cells, as one module's.
        places: of each of its lines the cell and the line in that, both counted from 1.

    Raises:
        UnreadableError: it is no notebook, or one of another language.
    """

    def __init__(self, source: bytes) -> None:
        try:
            content = json.loads(source)
            language = content.get("metadata", {}).get("kernelspec", {}).get("language", "python")
            cells = [self._source(each) for each in content["cells"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UnreadableError("is no notebook of version 4") from None
        if language != "python":
            raise UnreadableError(f"is a notebook of {language}")
        plain = [_plain(cell) for cell in cells]
        self.text = "\n".join(line for lines in plain for line in lines)
        self.places = [(cell, line) for cell, lines in enumerate(plain, 1)
                       for line in range(1, len(lines) + 1)]  # fmt: skip

    @staticmethod
    def _source(cell: dict[str, Any]) -> str:
        source = cell["source"] if cell["cell_type"] == "code" else ""
        return "".join(source)

    def place(self, line: int) -> str:
        """A line of `text` in words."""
        cell, inside = self.places[min(line, len(self.places)) - 1]
        return f"cell {cell}, line {inside}"
