"""What a server leaves in the user's folder while it runs, and what the next one clears away.

The lock of a port is held as long as its server lives, also by the kernel when it is killed: what
lies there without a lock is of a server that has gone. Shared memory has no names and goes alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

from ..places import private_folder, server_file

__all__ = ["PortLock", "clear_leftovers", "wait_until_gone", "write_private"]


class PortLock:
    """Held by the one server of a port.

    Raises:
        BlockingIOError: another server has it.
    """

    def __init__(self, port: int) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(server_file(port, "lock"), flags, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(self._file)
            raise

    def release(self) -> None:
        """Let the next server have it."""
        os.close(self._file)


def write_private(path: Path, text: str) -> None:
    """A file that this user alone can read, as a whole or not at all."""
    part = path.with_suffix(f"{path.suffix}.part")
    part.unlink(missing_ok=True)
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    part.replace(path)


def clear_leftovers() -> list[int]:
    """Remove files of this user's servers that were killed; their ports."""
    gone = []
    for path in sorted(private_folder().glob("*.state")):
        port = int(path.stem) if path.stem.isdigit() else 0
        try:
            lock = PortLock(port)
        except BlockingIOError:
            continue
        try:
            _clear(port, path)
        finally:
            lock.release()
        gone.append(port)
    return gone


def _clear(port: int, path: Path) -> None:
    try:
        state: Any = json.loads(path.read_text())
        folder = Path(state["spill_folder"] or "")
    except (OSError, ValueError, KeyError, TypeError):
        folder = Path()
    ours = folder.is_dir() and folder.name.startswith("mindtorch-cache-")
    if ours and folder.stat().st_uid == os.getuid():
        shutil.rmtree(folder, ignore_errors=True)
    for kind in ("socket", "token", "state"):
        server_file(port, kind).unlink(missing_ok=True)


def wait_until_gone(port: int, seconds: float) -> bool:
    """Wait for the server of a port to end; whether it did."""
    until = time.monotonic() + seconds
    while True:
        try:
            PortLock(port).release()
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
