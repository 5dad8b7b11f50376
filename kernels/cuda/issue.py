"""How work is issued: called now, or written down in the recording that this thread makes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from mindtorch.kernels.support.errors import AcceleratorError

if TYPE_CHECKING:
    from .graphs import Recording

Call = Callable[[], None]


class _Local(threading.local):
    active: Recording | None = None


local = _Local()


def active() -> Recording | None:
    """The recording that this thread makes now."""
    return local.active


def issue(call: Call) -> None:
    """Call what puts work on the current stream, or write it down where that is all there is."""
    recording = local.active
    if recording is not None and recording.driver is None:
        recording.waiting.append(call)
    else:
        call()


def on_host(call: Call) -> None:
    """Call what works on the host; a recording calls it again at each replay, at its place."""
    recording = local.active
    if recording is None:
        call()
    else:
        recording.host(call)


def refuse() -> None:
    """Raise where a recording is being made, as the driver does.

    Raises:
        AcceleratorError: torch's text.
    """
    if local.active is not None:
        raise AcceleratorError(
            "CUDA error: operation not permitted when stream is capturing\nCUDA kernel errors "
            "might be asynchronously reported at some other API call, so the stacktrace below "
            "might be incorrect."
        )
