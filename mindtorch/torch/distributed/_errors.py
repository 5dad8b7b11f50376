"""The errors of processes that cannot reach each other; RuntimeErrors all."""

__all__ = [
    "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError",
]  # fmt: skip


class DistError(RuntimeError):
    """Exception raised when an error occurs in the distributed library"""


class DistBackendError(DistError):
    """Exception raised when a backend error occurs in distributed"""


class DistNetworkError(DistError):
    """Exception raised when a network error occurs in distributed"""


class DistStoreError(DistError):
    """Exception raised when an error occurs in the distributed store"""


class QueueEmptyError(DistStoreError):
    """Exception raised when an error occurs in the distributed store"""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = __name__.rpartition(".")[0]
