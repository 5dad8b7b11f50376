"""`mindspore.load`: from a file to its graph."""

from __future__ import annotations

import functools
import os
from typing import Any

from . import (  # noqa: F401  # they register themselves
    primitives_images,
    primitives_mint,
    primitives_networks,
    primitives_shapes,
)
from ._protobuf import DecodeError
from .encryption import check_key, decrypted, is_encrypted
from .errors import MindIRError
from .graphs import FuncGraph, graph_of
from .schema import ModelProto
from .values import Beside

__all__ = ["load"]


def load(
    file_name: str | os.PathLike[str], *, dec_key: bytes | None = None, dec_mode: Any = "AES-GCM",
    obf_func: Any = None,
) -> FuncGraph:  # fmt: skip
    """Read a MindIR file, of MindSpore's (versions 1 to 3) or ours; `nn.GraphCell` runs it.

    Args:
        file_name: ends in ".mindir".
        dec_key: of 16, 24 or 32 bytes, for a file that is encrypted.
        dec_mode: "AES-GCM", "AES-CBC", or a function of (path, key) that gives the content.
        obf_func: of obfuscated models, which are not read.

    Raises:
        ValueError: no such file, another ending, or a wrong key's length.
        MindIRError: the file is damaged, encrypted otherwise, newer, or names a primitive that is
            not known.
        NotImplementedError: ``obf_func``.
    """
    if obf_func is not None:
        raise NotImplementedError("load(obf_func=...): obfuscated models are not read")
    if not isinstance(file_name, (str, os.PathLike)):
        raise ValueError(
            f"For 'load', the argument 'file_name' must be string, but got {type(file_name)}."
        )
    path = os.path.realpath(os.fspath(file_name))
    if not path.endswith(".mindir"):
        raise ValueError(
            "For 'load', the argument 'file_name'(model file name) should end with '.mindir', "
            f"please input the correct 'file_name': {os.fspath(file_name)!r}."
        )
    if not os.path.isfile(path):
        raise ValueError(
            f"For 'load', the argument 'file_name'(model file name) should exist: {path!r}."
        )
    opened = functools.partial(_opened, path=path, key=dec_key, mode=dec_mode)
    if dec_key is not None and not callable(dec_mode):
        check_key("load", dec_key, dec_mode)
    with open(path, "rb") as file:
        content = opened(file.read())
    model = ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise MindIRError(f"{path} is no MindIR file, or is damaged: {error}") from None
    try:
        return graph_of(model, Beside(os.path.dirname(path), opened))
    except MindIRError as error:
        raise type(error)(f"{path}: {error}") from error


def _opened(content: bytes, path: str, key: Any, mode: Any) -> bytes:
    """What a file of the model holds, decrypted."""
    if key is None:
        if is_encrypted(content):
            raise MindIRError(f"{path} is encrypted: give its key as dec_key")
        return content
    if callable(mode):
        return bytes(mode(path, key))
    return decrypted(content, key, mode)
