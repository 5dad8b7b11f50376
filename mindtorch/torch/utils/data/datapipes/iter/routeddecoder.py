"""A pipe of what files hold."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.decoder import Decoder, basichandlers, extension_extract_fn, imagehandler

__all__ = ["RoutedDecoderIterDataPipe"]


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe[Any]):
    """Tuples of a path and what a handler makes of the file.

    Args:
        datapipe: tuples of a path and a stream.
        handlers: functions of an extension and bytes.
        key_fn: the extension of a path.
    """

    def __init__(
        self, datapipe: Any, *handlers: Any, key_fn: Any = extension_extract_fn
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        usual = (basichandlers, imagehandler("torch"))
        self.decoder = Decoder(*(handlers or usual), key_fn=key_fn)
        warnings.warn(
            f"`{type(self).__name__}()` and its functional API `.routed_decode()` are deprecated "
            "since 1.12 and will be removed in 1.13.\n"
            "See https://github.com/pytorch/data/issues/163 for details.",
            FutureWarning,
            stacklevel=2,
        )

    def add_handler(self, *handler: Any) -> None:
        """Ask ``handler`` before the others."""
        self.decoder.add_handler(*handler)

    def __iter__(self) -> Any:
        for path, stream in self.datapipe:
            yield path, self.decoder((path, stream))[path]

    def __len__(self) -> int:
        return self._length_of(self.datapipe)


_own_names(globals())
