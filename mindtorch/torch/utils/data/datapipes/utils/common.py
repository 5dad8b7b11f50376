"""Functions of columns, files by masks, and streams that close themselves."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, NoReturn

from mindtorch.torch._api.public_names import own_names as _own_names

__all__ = [
    "StreamWrapper", "get_file_binaries_from_pathnames", "get_file_pathnames_from_root",
    "match_masks", "validate_input_col", "validate_pathname_binary_tuple",
]  # fmt: skip

_P = inspect.Parameter


def validate_input_col(fn: Callable[..., Any], input_col: Any) -> None:
    """Check that a function takes as many arguments as there are columns.

    Args:
        fn: the function; one without a signature passes.
        input_col: a column, or a tuple or list of them.

    Raises:
        ValueError: it needs more, takes fewer, or has keywords without defaults.
    """
    try:
        taken = list(inspect.signature(fn).parameters.values())
    except ValueError:
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    places = [p for p in taken if p.kind in (_P.POSITIONAL_ONLY, _P.POSITIONAL_OR_KEYWORD)]
    keywords = [p for p in taken if p.kind is _P.KEYWORD_ONLY and p.default is p.empty]
    open_end = any(p.kind is _P.VAR_POSITIONAL for p in taken)
    inner = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(inner, "__name__", repr(inner))
    if keywords:
        raise ValueError(
            f"The function {name} takes {len(keywords)} "
            "non-default keyword-only parameters, which is not allowed."
        )
    if len(taken) < count and not open_end:
        raise ValueError(
            f"The function {name} takes {len(taken)} parameters, but {count} are required."
        )
    needed = any(p.default is p.empty for p in places[count:])
    if needed or (len(places) < count and not open_end):
        raise ValueError(
            f"The function {name} takes {len(places)} "
            f"positional parameters, but {count} are required."
        )


def check_function(fn: Any) -> None:
    """Check that ``fn`` can be called; warn of one that pickle does not take."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, functools.partial):
        fn = fn.func
    code = getattr(fn, "__code__", None)
    if code is not None:
        local = bool(code.co_flags & inspect.CO_NESTED)
    else:
        local = "<locals>" in getattr(fn, "__qualname__", type(fn).__qualname__)
    if local or getattr(fn, "__name__", None) == "<lambda>":
        warnings.warn(
            f"{'Local' if local else 'Lambda'} function is not supported by pickle, please use "
            "regular python function or functools.partial instead.",
            stacklevel=3,
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Whether a name fits one of the patterns, as a shell has them; none fit every name.

    Args:
        name: of a file.
        masks: a pattern, or several.
    """
    several = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, mask) for mask in several)


def _tell_and_raise(error: OSError) -> NoReturn:
    warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
    raise error


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """The paths of a folder's files.

    Args:
        root: the folder, or one file.
        masks: patterns of the files' names.
        recursive: also those of the folders below.
        abspath: absolute paths.
        non_deterministic: in the system's order, not sorted.
    """
    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for folder, below, files in os.walk(root, onerror=_tell_and_raise):
        place = os.path.abspath(folder) if abspath else folder
        if not non_deterministic:
            below.sort()
            files.sort()
        yield from (os.path.join(place, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Any, mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Opened files.

    Args:
        pathnames: their paths.
        mode: of ``open``; "b" and "t" are read.
        encoding: of text.
    """
    paths = pathnames if isinstance(pathnames, Iterable) else [pathnames]
    mode = f"r{mode}" if mode in ("b", "t") else mode
    for path in paths:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding))  # noqa: SIM115


def validate_pathname_binary_tuple(data: Any) -> None:
    """Check that ``data`` is a tuple of a path and a stream; TypeError says what is not."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    if not isinstance(data[0], str):
        raise TypeError("pathname within the tuple should have string type pathname, but it is "
                        f"type {type(data[0])}")
    if not isinstance(data[1], (io.IOBase, StreamWrapper)):
        raise TypeError("binary stream within the tuple should have IOBase orits subclasses as "
                        f"type, but it is type {type(data[1])}")


class StreamWrapper:
    """A stream that is closed where nobody has it any more.

    Args:
        file_obj: the stream.
        parent_stream: one that this one was read from; ``autoclose`` closes it after its last.
        name: for ``repr``.
    """

    session_streams: ClassVar[dict[Any, int]] = {}
    debug_unclosed_streams = False

    def __init__(self, file_obj: Any, parent_stream: Any = None, name: Any = None) -> None:
        self.file_obj = file_obj
        self.child_counter = 0
        self.parent_stream = parent_stream
        self.close_on_last_child = False
        self.name = name
        self.closed = False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(
                    f"Parent stream should be StreamWrapper, {type(parent_stream)} was given"
                )
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the streams in ``v``: in dicts, lists and tuples, 10 deep from ``depth`` on."""
        if isinstance(v, StreamWrapper):
            v.close()
        elif depth < 10 and isinstance(v, (dict, list, tuple)):
            for each in v.values() if isinstance(v, dict) else v:
                cls.close_streams(each, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the stream, with its own ``close``'s arguments; nothing where that was done."""
        if self.closed:
            return
        StreamWrapper.session_streams.pop(self, None)
        parent = self.parent_stream
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        close = getattr(self.file_obj, "close", None)
        if close is not None:
            close(*args, **kwargs)
        self.closed = True

    def autoclose(self) -> None:
        """Close after the last stream that was read from this one, or now."""
        self.close_on_last_child = True
        if not self.child_counter:
            self.close()

    def __dir__(self) -> list[str]:
        return list({*self.__dict__, *StreamWrapper.__dict__, *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.__dict__.get("closed", True):
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name},"
        return f"StreamWrapper<{name}{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, file_obj: Any) -> None:
        StreamWrapper.__init__(self, file_obj)


_own_names(globals())
