"""Where a user's servers have their sockets, tokens and logs; addresses as users give them."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

__all__ = ["DEFAULT_HOST", "DEFAULT_PORT", "address", "private_folder", "server_file"]

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 50052
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def address(host: str | None, port: int | None) -> tuple[str, int]:
    """The address of a server: as given, else ``MS_CACHE_HOST`` and ``MS_CACHE_PORT``, else
    127.0.0.1 and 50052.

    Raises:
        ValueError: another machine, since rows are in shared memory, or no port of a user's.
    """
    host = host or os.environ.get("MS_CACHE_HOST") or DEFAULT_HOST
    if host not in _LOOPBACK:
        raise ValueError(
            f"Invalid host interface: {host}. Current limitation, only 127.0.0.1 can be used."
        )
    given = os.environ.get("MS_CACHE_PORT") if port is None else port
    try:
        number = DEFAULT_PORT if given in (None, "") else int(given)
    except ValueError:
        raise ValueError(f"Invalid numeric value: {given}") from None
    if not 1025 <= number <= 65535:
        raise ValueError("Port must be in range (1025..65535).")
    return DEFAULT_HOST, number


def private_folder() -> Path:
    """The folder of this user's servers, which nobody else can enter: ``MINDTORCH_DATA_CACHE_DIR``,
    else one under ``XDG_RUNTIME_DIR`` or the folder of temporary files.

    Raises:
        PermissionError: it belongs to somebody else, or others may enter it.
    """
    given = os.environ.get("MINDTORCH_DATA_CACHE_DIR")
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        folder = Path(given).absolute()
    elif runtime and os.access(runtime, os.W_OK):
        folder = Path(runtime) / "mindtorch-cache"
    else:
        folder = Path(tempfile.gettempdir()) / f"mindtorch-cache-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or facts.st_mode & 0o077:
        raise PermissionError(
            f"{folder} should be a folder of this user alone (mode 700); set "
            "MINDTORCH_DATA_CACHE_DIR to another one"
        )
    return folder


def server_file(port: int, kind: str) -> Path:
    """A file of the server of a port: its "socket", "token", "lock", "state" or "log"."""
    return private_folder() / f"{port}.{kind}"
