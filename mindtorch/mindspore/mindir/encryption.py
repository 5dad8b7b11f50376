"""Encrypted files, in MindSpore's layout.

The content is cut into blocks; each is, with numbers of four bytes, lowest first:

    AES-GCM  0x7F3A5ED8, the tag, length of all that follows, 16, nonce, length, cipher text
    AES-CBC  0x7F3A5ED9,          length of all that follows, 16, start,  length, cipher text

Nonce and start take 16 bytes; of the nonce the first twelve count. CBC is padded as PKCS 7 says.
"""

from __future__ import annotations

import os
import struct
from typing import Any

from mindtorch._distribution import install_extra

from .errors import MindIRError

try:
    from cryptography.hazmat.primitives import ciphers, padding
except ModuleNotFoundError as missing:
    if not (missing.name or "").startswith("cryptography"):
        raise
    ciphers = None  # type: ignore[assignment]

__all__ = ["MODES", "check_key", "decrypted", "encrypted", "is_encrypted"]

_GCM, _CBC = 0x7F3A5ED8, 0x7F3A5ED9
MODES = ("AES-GCM", "AES-CBC")
_BLOCK = 64 << 20  # bytes of content in a block
_VECTOR, _NONCE, _TAG = 16, 12, 16
_KEYS = (16, 24, 32)


def is_encrypted(content: bytes) -> bool:
    """Whether a file begins as encrypted ones do."""
    return len(content) >= 4 and struct.unpack_from("<I", content)[0] in (_GCM, _CBC)


def check_key(name: str, key: Any, mode: Any) -> None:
    """Raise where a key or a mode is none.

    Raises:
        TypeError: the key is not bytes.
        ValueError: its length, or the mode.
    """
    if not isinstance(key, bytes):
        raise TypeError(f"For '{name}', the key must be bytes, but got {type(key).__name__}.")
    if len(key) not in _KEYS:
        raise ValueError(f"For '{name}', the key must have 16, 24 or 32 bytes, but has {len(key)}.")
    if mode not in MODES:
        raise ValueError(f"MindIR only support AES-GCM/AES-CBC encryption here, but got {mode!r}")


def _need_library() -> None:
    if ciphers is None:
        raise ModuleNotFoundError(
            f"encrypted files need the package cryptography: {install_extra('export')}",
            name="cryptography",
        )


def encrypted(content: bytes, key: bytes, mode: str) -> bytes:
    """The content as blocks that only the key opens."""
    _need_library()
    blocks = []
    for begin in range(0, max(len(content), 1), _BLOCK):
        part, vector = content[begin : begin + _BLOCK], os.urandom(_VECTOR)
        gcm = mode == "AES-GCM"
        kind = ciphers.modes.GCM(vector[:_NONCE]) if gcm else ciphers.modes.CBC(vector)
        if not gcm:
            padder = padding.PKCS7(128).padder()
            part = padder.update(part) + padder.finalize()
        made: Any = ciphers.Cipher(ciphers.algorithms.AES(key), kind).encryptor()
        hidden = made.update(part) + made.finalize()
        rest = struct.pack("<I", _VECTOR) + vector + struct.pack("<I", len(hidden)) + hidden
        start = struct.pack("<I", _GCM) + made.tag if gcm else struct.pack("<I", _CBC)
        blocks += [start, struct.pack("<I", len(rest)), rest]
    return b"".join(blocks)


def decrypted(content: bytes, key: bytes, mode: str) -> bytes:
    """What :func:`encrypted` was given.

    Raises:
        MindIRError: another mode or key, or the file was cut off or changed.
    """
    _need_library()
    parts, at, gcm = [], 0, mode == "AES-GCM"
    while at < len(content):
        tag, vector, hidden, at = _block(content, at, gcm, mode)
        kind: Any
        if gcm:
            kind = ciphers.modes.GCM(vector[:_NONCE], tag)
        else:
            kind = ciphers.modes.CBC(vector)
        opened = ciphers.Cipher(ciphers.algorithms.AES(key), kind).decryptor()
        try:
            part = opened.update(hidden) + opened.finalize()
            if not gcm:
                unpadder = padding.PKCS7(128).unpadder()
                part = unpadder.update(part) + unpadder.finalize()
        except Exception as error:  # InvalidTag, or ValueError for lengths and padding
            raise MindIRError(
                "the file cannot be decrypted: the key is another one, or the file was changed"
            ) from error
        parts.append(part)
    return b"".join(parts)


def _block(content: bytes, at: int, gcm: bool, mode: str) -> tuple[bytes, bytes, bytes, int]:
    """(tag, vector, cipher text, where the next block begins) of the block at a place."""
    head = 4 + (_TAG if gcm else 0)
    short = MindIRError("the encrypted file ends in the middle of a block")
    if at + head + 4 > len(content):
        raise short
    (magic,) = struct.unpack_from("<I", content, at)
    if magic != (_GCM if gcm else _CBC):
        raise MindIRError(f"the file is not encrypted with {mode}, or was changed")
    tag = content[at + 4 : at + head]
    (length,) = struct.unpack_from("<I", content, at + head)
    begin = at + head + 4
    end = begin + length
    if end > len(content) or length < 8 + _VECTOR:
        raise short
    width, count = struct.unpack_from("<I", content, begin)[0], 0
    if width == _VECTOR:
        (count,) = struct.unpack_from("<I", content, begin + 4 + _VECTOR)
    if width != _VECTOR or 8 + _VECTOR + count != length:
        raise MindIRError("the encrypted file has lengths that do not fit together")
    vector = content[begin + 4 : begin + 4 + _VECTOR]
    return tag, vector, content[begin + 8 + _VECTOR : end], end
