"""Files that are there as a whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = False) -> Iterator[BinaryIO]:
    """A file for writing bytes that takes the place of ``path`` when the block ends well.

    It lies beside its target (:func:`name_beside`), and vanishes when the block raises; what a
    killed process leaves behind, the next one that writes there removes. A link stays, what it
    points to is replaced. The new file has the mode of the old one, if there was one. What is no
    file (``/dev/stdout``, a pipe) is written to.

    Args:
        path: the file's final name; its folder exists.
        durable: wait until the content is on the disk, so that a power cut cannot take it away
            after the renaming.

    Raises:
        OSError: the folder is missing or cannot be written, or the disk is full.
    """
    target = os.path.realpath(path)
    special = os.path.exists(path) and not os.path.isfile(path)
    temporary = "" if special else name_beside(target)
    try:
        if special:
            with open(path, "wb") as file:
                yield file
            return
        remove_leftovers(target)
        with open(temporary, "xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if os.path.exists(target):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename is None:  # a full disk
            error.filename = str(path)
        raise


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Make ``content`` (text as UTF-8) the file's, for readers all of it or nothing.

    Raises:
        OSError: as of :func:`replacing`.
    """
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def name_beside(target: str) -> str:
    """A new name in the folder of ``target`` that says which process of which machine took it."""
    return f"{target}.{platform.node()}-{os.getpid()}-{os.urandom(4).hex()}.partial"


def remove_leftovers(target: str) -> None:
    """Remove what processes of this machine left beside ``target`` when they were killed."""
    folder, name = os.path.split(target)
    start = f"{name}.{platform.node()}-"
    for old in os.listdir(folder or "."):
        if old.startswith(start) and old.endswith(".partial"):
            owner = old.removeprefix(start).partition("-")[0]
            if owner.isdecimal() and not _runs(int(owner)):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, old))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
