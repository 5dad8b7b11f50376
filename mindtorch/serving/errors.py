"""What can go wrong with a request, and what the protocols say of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "EXHAUSTED",
    "FAILED",
    "INVALID",
    "NOT_FOUND",
    "TIMEOUT",
    "TOO_LARGE",
    "UNAVAILABLE",
    "Kind",
    "ServingError",
]


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        name: in metrics and in the log of requests.
        http: HTTP's status.
        grpc: the name of gRPC's status.
        code: `error_code` in MindSpore's replies.
        is_limit: whether MindSpore's gRPC service tells it as a status of gRPC and not in its
            reply: the request was not looked at, and may be sent again.
    """

    name: str
    http: int
    grpc: str
    code: int
    is_limit: bool = False


INVALID = Kind("invalid", 400, "INVALID_ARGUMENT", 2)
NOT_FOUND = Kind("not_found", 404, "NOT_FOUND", 5)
TOO_LARGE = Kind("too_large", 413, "RESOURCE_EXHAUSTED", 2, is_limit=True)
EXHAUSTED = Kind("exhausted", 429, "RESOURCE_EXHAUSTED", 3, is_limit=True)
FAILED = Kind("failed", 500, "INTERNAL", 1)
UNAVAILABLE = Kind("unavailable", 503, "UNAVAILABLE", 4, is_limit=True)
TIMEOUT = Kind("timeout", 504, "DEADLINE_EXCEEDED", 3, is_limit=True)

KINDS = {kind.name: kind for kind in
         (INVALID, NOT_FOUND, TOO_LARGE, EXHAUSTED, FAILED, UNAVAILABLE, TIMEOUT)}  # fmt: skip


class ServingError(RuntimeError):
    """A request that cannot be answered.

    Args:
        kind: what kind of fault it is.
        text: what is wrong, for whoever sent the request.
    """

    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind = kind
