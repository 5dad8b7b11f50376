"""torch.compiler: how torch.compile is steered."""

from __future__ import annotations

from typing import Any

from ._compile import compile as compile

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable",
    "get_default_backend", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
    "reset", "set_default_backend", "set_stance",
]  # fmt: skip

_default_backend = "inductor"
_STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "fail_on_recompile",
            "eager_on_recompile", "force_eager")  # fmt: skip


def is_compiling() -> bool:
    """Whether a call is being captured by ``torch.compile``."""
    from .. import _dynamo

    return _dynamo.is_compiling()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``torch.compile(backend=...)`` takes."""
    from .. import _dynamo

    return _dynamo.list_backends(exclude_tags)


def get_default_backend() -> Any:
    """The backend of ``torch.compile(backend=None)``."""
    return _default_backend


def set_default_backend(backend: Any) -> None:
    """Make ``backend`` that of ``torch.compile(backend=None)``."""
    global _default_backend
    from .. import _dynamo

    _dynamo.check_backend(backend)
    _default_backend = backend


def reset() -> None:
    """Forget what was compiled; functions are captured again at their next call."""
    from .. import _dynamo

    _dynamo.reset()


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins; no recorded device graphs are replayed."""


def allow_in_graph(fn: Any) -> Any:
    """``fn``; there is no graph it could be kept out of."""
    from .. import _dynamo

    return _dynamo.allow_in_graph(fn)


def assume_constant_result(fn: Any) -> Any:
    """``fn``: it is called each time."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` as something that is never compiled; a decorator when ``fn`` is None."""
    from .. import _dynamo

    return _dynamo.disable(fn, recursive, reason=reason)


class set_stance:  # noqa: N801
    """What compiled functions do from now on, or in a block; they always run eagerly."""

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:  # fmt: skip
        self.stance = stance
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")

    def __enter__(self) -> None:
        """Functions run eagerly already."""

    def __exit__(self, *exception: object) -> None:
        """Functions run eagerly still."""

    def __call__(self, fn: Any) -> Any:
        return fn
