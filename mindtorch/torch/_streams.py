"""torch.Stream and torch.Event: on the CPU, where every op has ended when it returns."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device

from ._api.arguments import as_device


def _supported(device: Any) -> Device:
    found = Device("cpu" if device is None else device)
    if found.type == "cuda" and not cuda.device_count():
        raise RuntimeError("PyTorch is not linked with support for cuda devices")
    return as_device(found)


class Stream:
    """The CPU's only stream.

    Args:
        device: None or the CPU.
        priority: of no effect.
    """

    def __init__(self, device: Any = None, *, priority: int = 0) -> None:
        self.device = _supported(device)
        self.stream_id = 0
        self.priority = priority

    @property
    def device_index(self) -> int:
        return -1

    def query(self) -> bool:
        """Whether what was issued has ended: yes."""
        return True

    def synchronize(self) -> None:
        """What was issued has ended."""

    def wait_stream(self, stream: Any) -> None:
        """What was issued has ended."""

    def wait_event(self, event: Any) -> None:
        """What was issued has ended."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        """There is one stream."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device is self.device

    def __hash__(self) -> int:
        return hash((self.device, self.stream_id))

    def __repr__(self) -> str:
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A moment on a stream; the CPU has no such moments, and recording one says so.

    Args:
        device: None or the CPU.
        enable_timing, blocking, interprocess: of no effect.
    """

    def __init__(
        self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False,
        interprocess: bool = False,
    ) -> None:  # fmt: skip
        self.device = _supported(device)
        self.enable_timing = enable_timing
        self.event_id = 0

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing is pending."""

    def record(self, stream: Any = None) -> None:
        raise RuntimeError("cpu backend doesn't support events.")

    def wait(self, stream: Any = None) -> None:
        """Nothing is pending."""

    def elapsed_time(self, other: Any) -> float:
        if not (self.enable_timing and other.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        raise RuntimeError("cpu backend doesn't support events.")

    def __repr__(self) -> str:
        return (
            f"torch.Event device_type={self.device.type}, device_index=-1, "
            f"event_flag={int(self.enable_timing)}, event_id=0"
        )
