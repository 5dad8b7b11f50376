"""Pipes of files: their paths, their streams, what is in them."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import get_file_binaries_from_pathnames, get_file_pathnames_from_root
from .utils import IterableWrapperIterDataPipe

__all__ = ["FileListerIterDataPipe", "FileOpenerIterDataPipe", "StreamReaderIterDataPipe"]


class _OfTold(IterDataPipe[Any]):
    """A pipe whose length is what it was told, if anything."""

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise self._unknown_length()
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_OfTold):
    """The paths of the files in folders.

    Args:
        root: a folder, or several.
        masks: patterns of the files' names, as a shell has them.
        recursive: also files of the folders below.
        abspath: absolute paths.
        non_deterministic: in the system's order, not sorted.
        length: what ``len`` tells; -1 for nothing.
    """

    def __init__(
        self,
        root: Any = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        super().__init__()
        if isinstance(root, str):
            root = [root]
        if not isinstance(root, IterDataPipe):
            root = IterableWrapperIterDataPipe(root)
        self.datapipe = root
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self) -> Any:
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_OfTold):
    """Tuples of a path and the opened file.

    Args:
        datapipe: the paths.
        mode: "r", "t" or "rt" for text, "b" or "rb" for bytes.
        encoding: of text.
        length: what ``len`` tells; -1 for nothing.
    """

    def __init__(
        self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.mode = mode
        self.encoding = encoding
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.length = length

    def __iter__(self) -> Any:
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe[Any]):
    """Tuples of a path and what was read of its stream, which is closed at its end.

    Args:
        datapipe: tuples of a path and a stream.
        chunk: how much is read at a time; all of it without.
    """

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self) -> Any:
        for path, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield path, data
            stream.close()


_own_names(globals())
