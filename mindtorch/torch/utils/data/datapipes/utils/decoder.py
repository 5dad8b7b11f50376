"""What is made of a file's bytes, by its extension."""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.torch._api.public_names import own_names as _own_names

from .common import StreamWrapper

__all__ = [
    "Decoder", "ImageHandler", "basichandlers", "extension_extract_fn", "handle_extension",
    "imagehandler",
]  # fmt: skip

_NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
_IMAGES = ("jpg", "jpeg", "png", "ppm", "pgm", "pbm", "pnm")


def basichandlers(extension: str, data: Any) -> Any:
    """Text, numbers, JSON, pickles and saved tensors.

    Args:
        extension: a file's, without its dot.
        data: the file's bytes.

    Returns:
        The object; None for other extensions, and for text that is no number.
    """
    if extension in "txt text transcript":
        return data.decode("utf-8")
    if extension in _NUMBERS:
        try:
            return int(data)
        except ValueError:
            return None
    if extension in "json jsn":
        return json.loads(data)
    if extension in ("pyd", "pickle"):
        return pickle.loads(data)
    return torch.load(io.BytesIO(data)) if extension == "pt" else None


def handle_extension(extensions: str, f: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    """A handler that calls ``f`` with the bytes of files whose name ends with an extension.

    Args:
        extensions: with spaces between them, also with dots within; the first one decides.
        f: a function of bytes.
    """
    endings = [ending.split(".") for ending in extensions.lower().split()]

    def handler(key: str, data: Any) -> Any:
        parts = key.lower().split(".")
        for ending in endings:
            if len(ending) <= len(parts):
                return f(data) if parts[-len(ending):] == ending else None
        return None

    return handler


def _specifications() -> dict[str, tuple[str, bool, str]]:
    """Names of what images are made: the kind, whether it keeps bytes, Pillow's mode."""
    found = {}
    for mode in ("l", "rgb", "rgba"):
        for kind, prefix in (("numpy", ""), ("torch", "torch")):
            found[f"{prefix}{mode}8"] = (kind, True, mode)
            found[f"{prefix}{mode}"] = (kind, False, mode)
        found[f"pil{mode}"] = ("pil", True, mode)
    return {**found, "torch": ("torch", False, "rgb"), "pil": ("pil", True, "rgb")}


_SPECIFICATIONS = _specifications()


class ImageHandler:
    """Images as arrays, tensors (channels first) or Pillow's images.

    Args:
        imagespec: "torch", "pil" or nothing for NumPy; "l", "rgb" or "rgba"; and "8" for bytes
            in place of floats from 0 to 1.
    """

    def __init__(self, imagespec: str) -> None:
        if imagespec not in _SPECIFICATIONS:
            raise AssertionError(f"unknown image specification: {imagespec}")
        self.imagespec = imagespec

    def __call__(self, extension: str, data: Any) -> Any:
        if extension.lower() not in _IMAGES:
            return None
        try:
            import PIL.Image
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Package `PIL` is required to be installed for default image decoder."
                "Please use `pip install Pillow` to install the package"
            ) from error
        kind, keeps_bytes, mode = _SPECIFICATIONS[self.imagespec]
        with io.BytesIO(data) as stream:
            image = PIL.Image.open(stream).convert(mode.upper())
        if kind == "pil":
            return image
        pixels = np.asarray(image)
        if kind == "numpy":
            return pixels if keeps_bytes else pixels.astype("f") / 255.0
        made = torch.tensor(np.array(pixels.transpose(2, 0, 1)))
        return made if keeps_bytes else made / 255.0


def imagehandler(imagespec: str) -> ImageHandler:
    """The handler of images that ``imagespec`` names."""
    return ImageHandler(imagespec)


def extension_extract_fn(pathname: str) -> str:
    """The extension of ``pathname``, without its dot."""
    return os.path.splitext(pathname)[1].removeprefix(".")


class Decoder:
    """What the first handler that knows an extension makes of a file's bytes.

    Args:
        handler: functions of an extension and bytes; None says that they do not know it.
        key_fn: the extension of a path.
    """

    def __init__(self, *handler: Any, key_fn: Any = extension_extract_fn) -> None:
        self.handlers = list(handler)
        self.key_fn = key_fn

    def add_handler(self, *handler: Any) -> None:
        """Ask ``handler`` before the others."""
        self.handlers = [*handler, *self.handlers]

    def decode1(self, key: str, data: Any) -> Any:
        """What is made of ``data``, bytes or a stream of them, of extension ``key``."""
        if not data:
            return data
        stream = data.file_obj if isinstance(data, StreamWrapper) else data
        if isinstance(stream, (io.BufferedIOBase, io.RawIOBase)):
            read = b"".join(data)
            data.close()
            data = read
        made = (handler(key, data) for handler in self.handlers)
        return next((each for each in made if each is not None), data)

    def decode(self, data: Any) -> dict[str, Any]:
        """What is made of ``data``, a tuple of a path and bytes or several, by path."""
        made = {}
        for path, value in [data] if isinstance(data, tuple) else data or ():
            if path[0] == "_" and isinstance(value, bytes):
                made[path] = value.decode("utf-8")
            else:
                made[path] = self.decode1(self.key_fn(path), value)
        return made

    def __call__(self, data: Any) -> dict[str, Any]:
        return self.decode(data)


_own_names(globals())
