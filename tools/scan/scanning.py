"""A code base scanned: every use of a name with its verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from mindtorch.module_hooker import torch_as_mindtorch
from mindtorch.tools.progress import progress

from .files import MAX_SIZE, UnreadableError, find_files, parse, read_source
from .names import Use, uses_in
from .namespace import DIFFERENT, MISSING, SUPPORTED, Namespace, Verdict
from .notebooks import Notebook

__all__ = ["Finding", "Scan", "scan", "scan_source"]


@dataclass(frozen=True)
class Finding:
    """One use in a file, and the verdict on it; `cell` of a notebook, else 0."""

    file: str
    use: Use
    verdict: Verdict
    cell: int = 0

    @property
    def failing(self) -> bool:
        """Whether running this line fails, with nothing in the program that is ready for it."""
        return self.verdict.status == MISSING and not self.use.guarded


class _Read(NamedTuple):
    """A file's uses, and for a notebook the cell and line of each line of its text."""

    file: str
    uses: list[Use]
    places: list[tuple[int, int]] | None = None


@dataclass
class Scan:
    """What was found.

    Attributes:
        files: how many were read.
        lines: in them.
        refused: files and folders that could not be read, and why.
    """

    files: int = 0
    lines: int = 0
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def share(self) -> tuple[int, int]:
        """(uses that are supported, differences included; all uses)."""
        known = (SUPPORTED, DIFFERENT)
        return sum(f.verdict.status in known for f in self.findings), len(self.findings)

    def names(self) -> dict[str, Verdict]:
        """Each name with its worst verdict."""
        order = (SUPPORTED, DIFFERENT, "unknown", MISSING)
        found: dict[str, Verdict] = {}
        for each in self.findings:
            name, verdict = each.verdict.name, each.verdict
            if name not in found or order.index(found[name].status) < order.index(verdict.status):
                found[name] = verdict
        return found

    @property
    def status(self) -> int:
        """For the process: 0, 1 where a name is missing, 2 where something was not read."""
        if any(each.failing for each in self.findings):
            return 1
        return 2 if self.refused or not self.files else 0


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Room for long chains of operators in the code that is read."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 5000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _read(path: Path, names: Namespace, found: Scan, max_size: int) -> _Read:
    source = read_source(path, max_size)
    notebook = Notebook(source) if path.suffix == ".ipynb" else None
    if notebook is not None:
        source = notebook.text.encode()
        tree = parse(source, notebook.place)
    else:
        tree = parse(source)
    try:
        uses = uses_in(tree, names.exported)
    except RecursionError:
        raise UnreadableError("is nested too deeply") from None
    found.files += 1
    found.lines += source.count(b"\n") + (not source.endswith(b"\n") and bool(source))
    return _Read(str(path), uses, notebook.places if notebook else None)


def _judged(read: Iterable[_Read], names: Namespace) -> list[Finding]:
    """Attributes first: importing a module may put names where the program would miss them."""
    everything = [(each, use) for each in read for use in each.uses]
    names.known_imports(use for _, use in everything)
    verdicts: dict[int, Verdict | None] = {}
    for late in (False, True):
        for position, (_, use) in enumerate(everything):
            if (use.kind == "import") is late:
                verdicts[position] = names.judge(use)
    findings = []
    for position, (source, use) in enumerate(everything):
        verdict = verdicts[position]
        if verdict is not None:
            cell, line = source.places[use.line - 1] if source.places else (0, use.line)
            findings.append(Finding(source.file, replace(use, line=line), verdict, cell))
    return findings


def scan(paths: Sequence[Path], exclude: Sequence[str] = (), max_size: int = MAX_SIZE) -> Scan:
    """Read the files below the paths and judge every name in them; nothing of them is run.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise FileNotFoundError(f"no such file or folder: {path}")
    found, names, read = Scan(), Namespace(), []
    with torch_as_mindtorch(), _deep_recursion():
        files = dict.fromkeys(
            file for path in paths for file in find_files(path, exclude, found.refused)
        )
        for file in progress(files, "reading", len(files)):
            try:
                read.append(_read(file, names, found, max_size))
            except UnreadableError as error:
                found.refused[str(file)] = str(error)
        found.findings = _judged(read, names)
    return found


def scan_source(source: str | bytes, file: str = "<text>") -> list[Finding]:
    """The findings of one source text.

    Raises:
        UnreadableError: the text is no Python.
    """
    content = source.encode() if isinstance(source, str) else source
    names = Namespace()
    with torch_as_mindtorch(), _deep_recursion():
        return _judged([_Read(file, uses_in(parse(content), names.exported))], names)
