"""`mindtorch scan --fix`: the entry point's import line, and training loops, as a patch.

Nothing else of a file changes: libcst keeps every blank and comment.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from pathlib import Path

import libcst as cst
from libcst import matchers as m

from mindtorch.kernels.support.atomic_file import write_whole

from .loops import LoopFixer

__all__ = ["Fix", "fix_source", "is_entry_point", "patch_of"]

_ENABLE = "from mindtorch.tools import mstorch_enable  # noqa: F401"
_GRADIENTS = "from mindtorch import value_and_grad"


class Fix:
    """A file's new text.

    Attributes:
        path, before, after: the file, and its bytes.
        told: loops that were left as they are, and why.
    """

    def __init__(self, path: Path, before: bytes, after: bytes, told: list[str]) -> None:
        self.path = path
        self.before = before
        self.after = after
        self.told = told


def is_entry_point(source: bytes) -> bool:
    """Whether a file is meant to be run: it asks for `__main__`."""
    return b"__main__" in source and b"__name__" in source


def _imports(statement: cst.BaseStatement) -> bool:
    """Whether a top-level statement imports something (but not from `__future__`)."""
    for found in m.findall(statement, m.Import() | m.ImportFrom()):
        module = getattr(found, "module", None)
        if not (isinstance(module, cst.Name) and module.value == "__future__"):
            return True
    return False


def _has_line(module: cst.Module, line: str) -> bool:
    wanted = line.partition("#")[0].strip()
    return any(
        cst.Module(body=[each.with_changes(leading_lines=[])]).code.startswith(wanted)
        for each in module.body
        if isinstance(each, cst.SimpleStatementLine)
    )


def _with_lines(module: cst.Module, lines: Iterable[str]) -> cst.Module:
    """The module with import lines before its first import. Blank lines before that stay there;
    comments stay with the import that they are about."""
    place = next((at for at, each in enumerate(module.body) if _imports(each)), None)
    new = [line for line in lines if not _has_line(module, line)]
    if place is None or not new:
        return module
    first = module.body[place]
    above = list(getattr(first, "leading_lines", []))
    blank = next((at for at, line in enumerate(above) if line.comment is not None), len(above))
    made = [cst.parse_statement(line, config=module.config_for_parsing) for line in new]
    made[0] = made[0].with_changes(leading_lines=above[:blank])
    rest = first.with_changes(leading_lines=above[blank:])
    return module.with_changes(body=[*module.body[:place], *made, rest, *module.body[place + 1 :]])


def fix_source(path: Path, source: bytes, loops: bool) -> Fix:
    """The file with its import line, and (`loops`) its training loops by `value_and_grad`."""
    module = cst.parse_module(source)
    lines, told = [_ENABLE], []
    if loops:
        wrapper = cst.MetadataWrapper(module, unsafe_skip_copy=True)
        fixer = LoopFixer()
        module = wrapper.visit(fixer)
        told = fixer.told
        if fixer.count:
            lines.append(_GRADIENTS)
    return Fix(path, source, _with_lines(module, lines).bytes, told)


def patch_of(fix: Fix) -> str:
    """A unified diff, "" where nothing changes."""
    inside = os.path.relpath(fix.path)
    name = str(fix.path).lstrip("/") if inside.startswith("..") else inside
    before, after = (
        [f"{line}\n" for line in text.decode("utf-8", "surrogateescape").split("\n")]
        for text in (fix.before, fix.after)
    )
    for lines in (before, after):  # no other character ends a line; the last may have no end
        last = lines.pop().removesuffix("\n")
        lines += [last] if last else []
    lines = list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"))
    marked = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
              for line in lines]  # fmt: skip
    return "".join(marked)


def apply(fix: Fix) -> None:
    """Replace the file's text by the new one, whole or not at all; its mode stays."""
    write_whole(fix.path, fix.after)
