"""torch.compile: arguments are checked as torch checks them; what it returns runs eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compile"]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def compile(  # noqa: A001
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A module or function that computes what ``model`` computes, op after op.

    Whole graphs are not compiled yet (see docs/gaps.md), so the arguments that steer compilation
    are checked and have no further effect: an eager run has no graph to break, no shapes to
    specialise and no options to follow.

    Args:
        model: a module or a function; None returns a decorator.
        backend: a name of :func:`torch.compiler.list_backends`; "inductor" when None.
        mode: of "inductor"; not together with ``options``.
        disable: return ``model`` as it is.

    Raises:
        RuntimeError: the mode is not known, or both mode and options are given.
        torch._dynamo.exc.InvalidBackend: nobody knows the backend.
        NotImplementedError: the backend is a function, which would want a graph.
        AssertionError: ``model`` cannot be called.
    """
    if model is None:
        return lambda each: compile(
            each, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, name=name, disable=disable, recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec,
        )  # fmt: skip
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    from .. import _dynamo

    chosen = _dynamo_default() if backend is None else backend
    if chosen == "inductor" and (mode or "default") not in _MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}"
        )
    _dynamo.check_backend(chosen)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if disable:
        return model
    return _eager(model)


def _dynamo_default() -> Any:
    from . import get_default_backend

    return get_default_backend()


def _eager(model: Any) -> Any:
    from .._dynamo.eval_frame import OptimizedModule, eager_function
    from ..nn.modules.module import Module

    if isinstance(model, (OptimizedModule, type)):
        return model
    if isinstance(model, Module):
        return OptimizedModule(model)
    assert callable(model), f"A callable function is expected, but {type(model)} is provided."
    return eager_function(model)
