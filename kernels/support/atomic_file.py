"""Files that are there as a whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

_LONGEST_NAME = 128  # bytes; 255 are allowed, and the machine, the process and an ending are added


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], durable: bool = False) -> Iterator[BinaryIO]:
    """A file for writing bytes that takes the place of ``path`` when the block ends well.

    It lies beside its target (:func:`name_beside`), and vanishes when the block raises; what a
    killed process leaves behind, the next one that writes there removes. A link stays, what it
    points to is replaced. The new file has the mode of the old one, if there was one. What is no
    file (a pipe) or has no name (``/dev/stdout``) is written to.

    Args:
        path: the file's final name; its folder exists.
        durable: wait until the content is on the disk, so that a power cut cannot take it away
            after the renaming.

    Raises:
        OSError: the folder is missing or cannot be written, the file may not be written, or the
            disk is full.
    """
    target = os.path.realpath(path)
    direct = not _can_be_replaced(path, target)
    temporary = "" if direct else name_beside(os.fsdecode(target))
    try:
        if direct:
            with open(path, "wb") as file:
                yield file
            return
        remove_leftovers(os.fsdecode(target))
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


def _can_be_replaced(path: str | os.PathLike[str], target: str) -> bool:
    """False for what is no file, for one that ``target`` does not name (/proc/self/fd/3), and where
    only this file may be written, none beside it."""
    try:
        there = os.stat(path)  # raises for links that lead to one another, and names too long
    except FileNotFoundError:
        if not os.path.basename(path):
            raise
        return os.access(os.path.dirname(target), os.W_OK)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    if not stat.S_ISREG(there.st_mode) or not os.path.exists(target):
        return False
    folder = os.path.dirname(target)
    around = os.stat(folder)
    if around.st_mode & stat.S_ISVTX and os.geteuid() not in (0, there.st_uid, around.st_uid):
        return False  # another's file in /tmp
    return os.path.samefile(path, target) and os.access(folder, os.W_OK)


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Make ``content`` (text as UTF-8) the file's, for readers all of it or nothing.

    Raises:
        OSError: as of :func:`replacing`.
    """
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def name_beside(target: str) -> str:
    """A new name in the folder of ``target`` that says which process of which machine took it."""
    folder, start = _start_beside(target)
    return os.path.join(folder, f"{start}{os.getpid()}-{os.urandom(4).hex()}.partial")


def _start_beside(target: str) -> tuple[str, str]:
    """The folder, and how names beside ``target`` begin: short enough for what is added to them."""
    folder, name = os.path.split(target)
    encoded = os.fsencode(name)
    if len(encoded) > _LONGEST_NAME:
        encoded = encoded[:_LONGEST_NAME]
    return folder, f"{os.fsdecode(encoded)}.{platform.node()[:64]}-"


def remove_leftovers(target: str) -> None:
    """Remove what processes of this machine left beside ``target`` when they were killed."""
    folder, start = _start_beside(target)
    try:
        names = os.listdir(folder or ".")
    except PermissionError:  # a folder that may be written to and not read
        return
    for old in names:
        if old.startswith(start) and ".partial" in old:
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
