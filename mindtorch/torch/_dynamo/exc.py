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


class BackendCompilerFailed(TorchDynamoException):
    """What a backend's function raised."""

    def __init__(self, backend_fn: object, inner_exception: Exception, *rest: object) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(
            f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: "
            f"{inner_exception}"
        )
