"""Docstrings get the text of arguments that mean the same in many functions.

A function's own docstring says what it computes and what is particular to its arguments. What is
said of ``dim`` or ``keepdim`` or ``reduction`` everywhere stands once, in a table of a namespace
(``torch/_argument_texts.py``, ``mindspore/_argument_texts.py``), and is added for each argument
that a docstring does not name. ``tests/architecture/test_docstrings.py`` finds those
that neither names.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Mapping
from types import CodeType, FunctionType
from typing import Any

from mindtorch._module_names import is_ours

_CONTINUED = re.compile(r"(\n *)(?=\S)")
_SECTION = re.compile(r"\n *(?:Returns|Raises|Attributes|Shapes):(?=\n)")
_VARARGS, _VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS


class ArgumentTexts:
    """What arguments mean, by the modules whose functions have them.

    Args:
        tables: for modules (``"torch.nn"``; what holds for a package holds for all below it) lines
            such as ``"stride, padding: what they mean"``, continued by indented ones. Where two
            modules on the way down name an argument, the lower one counts.
    """

    def __init__(self, tables: Mapping[str, str]) -> None:
        self.tables = tables
        self.of_module = functools.cache(self._of_module)
        self.done: set[int] = set()  # ids of what was completed

    def _of_module(self, module: str) -> dict[str, str]:
        found: dict[str, str] = {}
        parts = module.removeprefix("mindtorch.").split(".")
        for end in range(1, len(parts) + 1):
            found |= _entries(self.tables.get(".".join(parts[:end]), ""))
        return found

    def add_to(self, values: Iterable[Any]) -> None:
        """Complete the docstrings of the functions and classes (by their arguments) among
        ``values``, as far as they are ours and have one."""
        for value in list(values):
            called = value
            if isinstance(value, type):
                called = value.__init__ if "__doc__" in vars(value) else None  # type: ignore[misc]
            if type(called) is FunctionType and id(value) not in self.done:
                if value.__doc__ and is_ours(value.__module__):
                    self.done.add(id(value))
                    self._complete(value, called)

    def _complete(self, described: Any, called: FunctionType) -> None:
        docstring = described.__doc__
        names, wrapped = _arguments(called)
        if described is not called:
            wrapped = inspect.unwrap(described)
        texts = self.of_module(wrapped.__module__)
        added: dict[str, list[str]] = {}
        for name in names:
            if name in texts and not (name in docstring and _has_word(docstring, name)):
                added.setdefault(texts[name], []).append(name)
        if added:
            lines = [f"    {', '.join(names)}: {text}" for text, names in added.items()]
            described.__doc__ = _with_lines(docstring, lines)


@functools.cache
def _entries(table: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in table.replace("\n ", "\v").split("\n"):
        names, _, text = entry.partition(": ")
        found |= dict.fromkeys(names.split(", "), text.replace("\v", "\n "))
    return found


def _has_word(docstring: str, word: str) -> bool:
    start = docstring.find(word)
    while start >= 0:
        end = start + len(word)
        before, after = docstring[start - 1 : start], docstring[end : end + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            return True
        start = docstring.find(word, end)
    return False


def _arguments(function: Any) -> tuple[Iterable[str], Any]:
    """The names of a function's arguments and of those that it wraps, and the last of these."""
    names: dict[str, None] = {}
    if getattr(vars(function).get("__signature__"), "out", False):  # which alone tells of it
        names["out"] = None
    while True:
        code: CodeType | None = getattr(function, "__code__", None)
        if code is not None:
            flags = code.co_flags
            starred = (flags & _VARARGS != 0) + (flags & _VARKEYWORDS != 0)
            count = code.co_argcount + code.co_kwonlyargcount + starred
            names.update(dict.fromkeys(code.co_varnames[:count]))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is None:
            return names, function
        function = wrapped


def _with_lines(docstring: str, lines: list[str]) -> str:
    """``docstring`` with ``lines`` at the end of its ``Args:``, which may be new."""
    continued = _CONTINUED.search(docstring)
    indent = continued[1] if continued else "\n"
    more = "".join(indent + line.replace("\n", indent + "    ") for line in lines)
    args = docstring.find(indent + "Args:")
    if args >= 0:
        end = docstring.find("\n\n", args)
    else:
        section = _SECTION.search(docstring)
        end = section.start() if section else -1
        more = f"\n{indent}Args:{more}" if end < 0 else f"{indent}Args:{more}\n"
    if end < 0:
        return docstring.rstrip() + more + "\n"
    return docstring[:end] + more + docstring[end:]
