"""The summary folder: which trainings are in it, read on by a thread."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from .run import Run, kind_of_file

__all__ = ["RunFolder"]

DEEPEST = 12
MOST_RUNS = 5000


class RunFolder:
    """All trainings below a folder. Links are not followed.

    Args:
        base: the folder.
        interval: seconds between two looks.

    Attributes:
        runs: by name. A name is a path below `base` that was found by looking, never one that was
            asked for.
        version: rises when something was read.
    """

    def __init__(self, base: Path, interval: float = 2.0) -> None:
        self.base = base.resolve()
        self.interval = interval
        self.runs: dict[str, Run] = {}
        self.rounds = 0
        self._probed: dict[str, Run] = {}
        self._folders: dict[str, Path] = {}
        self.problem = ""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def version(self) -> int:
        return sum(run.version + 1 for run in list(self.runs.values()))

    def start(self) -> None:
        """Read in the background until `stop`."""
        self._thread = threading.Thread(target=self._follow, name="insight-reader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _follow(self) -> None:
        while not self._ended.is_set():
            self.look()
            self._ended.wait(self.interval)

    def look(self) -> None:
        """Find trainings, the newest first, and read what is new in them."""
        self.problem = ""
        try:
            found = self._find()
        except OSError as error:
            self.problem = f"{self.base}: {error.strerror}"
            return
        for name, _, _ in found:
            if name not in self.runs:
                self.runs[name] = Run(name, self._folders[name], self.base)
        for name in self.runs.keys() - {each[0] for each in found}:
            del self.runs[name]
        for name, files, _ in found:
            if self._ended.is_set():
                return
            self.runs[name].read(files)
        self.rounds += 1

    def _find(self) -> list[tuple[str, dict[str, str], float]]:
        """(name, files with their kinds, when the newest was written) of each training."""
        found: list[tuple[str, dict[str, str], float]] = []
        waiting = [(self.base, 0)]
        while waiting and len(found) < MOST_RUNS:
            folder, depth = waiting.pop()
            files: dict[str, str] = {}
            newest = 0.0
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                if folder == self.base:
                    raise
                continue
            for entry in entries:
                try:
                    if entry.is_symlink():
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if depth < DEEPEST and not entry.name.startswith("."):
                            waiting.append((folder / entry.name, depth + 1))
                    elif kind := kind_of_file(entry.name):
                        files[entry.name] = kind
                        newest = max(newest, entry.stat(follow_symlinks=False).st_mtime)
                except OSError:
                    continue
            if any(kind != "report" for kind in files.values()) or self._has_report(folder, files):
                found.append((self._name(folder), files, newest))
        return sorted(found, key=lambda each: -each[2])

    def _name(self, folder: Path) -> str:
        """A folder's name in pages; bytes that are no text in any encoding are replaced."""
        name = os.fsencode(folder.relative_to(self.base)).decode("utf-8", "replace")
        self._folders[name] = folder
        return name

    def _has_report(self, folder: Path, files: dict[str, str]) -> bool:
        """Whether a folder of nothing but reports is listed: when one of them is ours."""
        if not files:
            return False
        name = self._name(folder)
        probe = self.runs.get(name)
        if probe is None:
            probe = self._probed.setdefault(name, Run(name, folder, self.base))
            probe.read(files)
        return bool(probe.findings or probe.operations)
