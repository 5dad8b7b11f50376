"""The Python files and notebooks below a path, read with care: links in circles, unreadable, huge
and broken ones."""

from __future__ import annotations

import ast
import os
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

__all__ = ["MAX_SIZE", "UnreadableError", "find_files", "parse", "read_source"]

MAX_SIZE = 4 * 2**20
_SKIPPED = {"__pycache__", "node_modules"}


class UnreadableError(Exception):
    """A file or folder that could not be read; the text says why."""


def _excluded(path: str, root: str, patterns: Sequence[str]) -> bool:
    inside = os.path.relpath(path, root)
    return any(fnmatch(inside, p) or fnmatch(os.path.basename(path), p) for p in patterns)


def _is_skipped(name: str, folder: str) -> bool:
    """Hidden folders, caches, and virtual environments."""
    if name in _SKIPPED or name.startswith("."):
        return True
    return os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))


def find_files(
    root: Path, exclude: Sequence[str], refused: dict[str, str]
) -> Iterator[Path]:
    """The Python files and notebooks below `root` (or `root` itself), by name; each folder once.

    Args:
        exclude: patterns of names, or of paths below `root`, to leave out.
        refused: gets the folders that could not be listed, and why.
    """
    if not root.is_dir():
        yield root
        return

    def note(error: OSError) -> None:
        refused[str(error.filename)] = error.strerror or str(error)

    seen: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(root, onerror=note, followlinks=True):
        try:
            status = os.stat(folder)
        except OSError as error:
            note(error)
            folders.clear()
            continue
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(
            each for each in folders
            if not _is_skipped(each, folder)
            and not _excluded(os.path.join(folder, each), str(root), exclude)
        )  # fmt: skip
        for name in sorted(files):
            path = os.path.join(folder, name)
            if name.endswith((".py", ".ipynb")) and not _excluded(path, str(root), exclude):
                yield Path(path)


def read_source(path: Path, max_size: int = MAX_SIZE) -> bytes:
    """A file's bytes.

    Raises:
        UnreadableError: no ordinary file, too large, or refused by the system.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("is no ordinary file")
        if status.st_size > max_size:
            size = status.st_size / 2**20
            raise UnreadableError(f"is larger than {max_size / 2**20:g} MiB ({size:.1f} MiB)")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableError(error.strerror or str(error)) from None


def parse(source: bytes, place: Callable[[int], str] = "line {}".format) -> ast.Module:
    """The syntax tree of a source text; `place` names one of its lines.

    Raises:
        UnreadableError: no Python of this version.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the code's own: invalid escapes
            return ast.parse(source)
    except SyntaxError as error:
        where = f" ({place(error.lineno)})" if error.lineno else ""
        raise UnreadableError(f"is no Python: {error.msg}{where}") from None
    except ValueError as error:
        raise UnreadableError(f"is no Python: {error}") from None
    except (RecursionError, MemoryError):
        raise UnreadableError("is nested too deeply") from None
