"""Marks for NVIDIA's profilers, which need a CUDA device."""

from .._api.cuda_devices import require_cuda

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """AssertionError: there is no CUDA device."""
    require_cuda()


def stop() -> None:
    """AssertionError: there is no CUDA device."""
    require_cuda()


class profile:  # noqa: N801
    """A block that is marked; entering one says that there is no CUDA device."""

    def __enter__(self) -> None:
        start()

    def __exit__(self, *exception: object) -> None:
        stop()
