"""torch.compiler: how torch.compile is steered."""

from __future__ import annotations

import functools
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.settings import policy
from mindtorch.torch._api.public_names import own_names as _own_names

from ._compile import compile as compile
from ._hints import keep_tensor_guards_unsafe as keep_tensor_guards_unsafe
from ._hints import nested_compile_region as nested_compile_region
from ._hints import skip_all_guards_unsafe as skip_all_guards_unsafe
from ._hints import skip_guard_on_all_nn_modules_unsafe as skip_guard_on_all_nn_modules_unsafe
from ._hints import skip_guard_on_globals_unsafe as skip_guard_on_globals_unsafe
from ._hints import (
    skip_guard_on_inbuilt_nn_modules_unsafe as skip_guard_on_inbuilt_nn_modules_unsafe,
)
from ._hints import substitute_in_graph as substitute_in_graph
from ._hints import wrap_numpy as wrap_numpy

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]  # fmt: skip

_default_backend = "inductor"
_STANCES = ("default", "eager_then_compile", "aot_eager_then_compile", "fail_on_recompile",
            "eager_on_recompile", "force_eager")  # fmt: skip


def is_compiling() -> bool:
    """Whether a call is being captured by ``torch.compile``."""
    return torch._dynamo.is_compiling()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``torch.compile(backend=...)`` takes.

    Args:
        exclude_tags: leave out the names with these tags; only "debug" marks any.
    """
    return torch._dynamo.list_backends(exclude_tags)


def get_default_backend() -> Any:
    """The backend of ``torch.compile(backend=None)``."""
    return _default_backend


def set_default_backend(backend: Any) -> None:
    """Make ``backend`` that of ``torch.compile(backend=None)``; None for torch's own choice."""
    global _default_backend
    backend = "inductor" if backend is None else backend
    torch._dynamo.check_backend(backend)
    _default_backend = backend


def reset() -> None:
    """Forget what was compiled; functions are captured again at their next call."""
    torch._dynamo.reset()


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins; no recorded device graphs are replayed."""


def allow_in_graph(fn: Any) -> Any:
    """``fn``; whatever it does to tensors is in the graph already."""
    return torch._dynamo.allow_in_graph(fn)


def assume_constant_result(fn: Any) -> Any:
    """``fn``: it is called each time."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` as something that is never compiled; a decorator when ``fn`` is None.

    Args:
        recursive, reason: of no effect; what it calls is never compiled either.
    """
    return torch._dynamo.disable(fn, recursive, reason=reason)


class set_stance:  # noqa: N801
    """What compiled functions do from now on, or in a block, or in a decorated function.

    Args:
        stance: "default" compiles; "force_eager" runs everything eagerly; "eager_on_recompile"
            runs eagerly what was not compiled before; "fail_on_recompile" raises RuntimeError
            there; "eager_then_compile" and "aot_eager_then_compile" run a function's first call
            eagerly.
        skip_guard_eval_unsafe: guards are checked nevertheless.
        force_backend: a name of :func:`list_backends`, checked; those for debugging run eagerly.

    Raises:
        RuntimeError: no such stance, or a backend with another stance than "default".
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:  # fmt: skip
        if stance not in _STANCES:
            raise RuntimeError(
                f"invalid torch.compile stance 'DynamoStance(stance={stance!r}, "
                f"skip_guard_eval_unsafe={skip_guard_eval_unsafe}, backend={force_backend!r})'"
            )
        if force_backend is not None:
            if stance != "default":
                raise RuntimeError("non-default stance cannot have force_backend set")
            torch._dynamo.check_backend(force_backend)
            stance = "force_eager" if force_backend in torch._dynamo._DEBUGGING else stance
        self.stance = stance
        self._before = policy.stance
        policy.stance = stance

    def __enter__(self) -> None:
        policy.stance = self.stance

    def __exit__(self, *exception: object) -> None:
        policy.stance = self._before

    def __call__(self, fn: Any) -> Any:
        """``fn``, which takes the stance while it runs; outside of it the stance is as before."""
        policy.stance = self._before

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            before, policy.stance = policy.stance, self.stance
            try:
                return fn(*args, **kwargs)
            finally:
                policy.stance = before

        return call

_own_names(globals())
