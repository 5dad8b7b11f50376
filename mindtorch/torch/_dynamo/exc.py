"""Errors of torch.compile."""

from __future__ import annotations


class TorchDynamoException(RuntimeError):
    """What torch.compile raises."""


class InvalidBackend(TorchDynamoException):
    """A backend's name that nobody registered."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available "
            "backends."
        )


class Unsupported(TorchDynamoException):
    """Code that cannot be one graph although ``fullgraph=True`` was asked for."""


class RecompileError(TorchDynamoException):
    """A function was called that would be compiled again, while ``error_on_recompile`` is set."""


class UserError(TorchDynamoException):
    """Arguments of torch.export that do not fit the model or each other."""
