"""torch.compile: arguments are checked as torch checks them; what it returns is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch.torch as torch

from ._options import check_options

__all__ = ["compile"]

_MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
_GRAPHED = ("reduce-overhead", "max-autotune")


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
    """A module or function that computes what ``model`` computes, captured and run as kernels.

    The first call for each structure of arguments is captured: its ops, those of ``backward()``
    and writes in place, random draws and optimizer steps. Later calls run what was captured while
    its guards hold: shapes and types of tensors, Python values that were read, training flags. A
    call that needs a tensor's data (``item()``, ``print``) runs op by op, as does a model with
    hooks. Results are bit-equal to eager ones. See :func:`mindtorch.engine.compile.jit.jit`.

    A length that changed once stands for all others from then on: the call is captured a second
    time, with numbers that remember how they follow from the arguments' sizes, and bound to memory
    for each size that comes. A size that is used as a number (``range(x.size(0))``) is captured by
    itself, and so is one for which a comparison comes out otherwise.

    ``mode`` and ``options`` are checked and change nothing on the CPU. On CUDA the modes
    "reduce-overhead" and "max-autotune", the option "triton.cudagraphs" and the backend
    "cudagraphs" record what runs between two host calls as a CUDA graph.

    Args:
        model: a module or a function; None returns a decorator.
        dynamic: True lets all lengths stand for others as soon as one of them changes, False none
            ever.
        fullgraph: raise ``torch._dynamo.exc.Unsupported`` where a call cannot be captured whole.
        backend: a name of :func:`torch.compiler.list_backends`; "inductor" when None. Those for
            debugging ("eager", "aot_eager") run op by op. A function, or the name of a registered
            one, is called as ``backend(graph_module, example_inputs)`` with a graph of torch.fx
            and gives what runs in its place; a call that is no graph runs op by op.
        mode: of "inductor"; not together with ``options``.
        disable: return ``model`` as it is.
        recompile_limit: how often it may be captured for one structure of arguments.
        isolate_recompiles, shapes_spec: of no effect.

    Raises:
        RuntimeError: the mode or an option is not known, or both mode and options are given.
        torch._dynamo.exc.InvalidBackend: nobody knows the backend.
        torch._dynamo.exc.BackendCompilerFailed: the backend's function raised.
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
    chosen = torch._dynamo.lookup_backend(_dynamo_default() if backend is None else backend)
    if chosen == "inductor" and (mode or "default") not in _MODES:
        raise RuntimeError(
            f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}"
        )
    if chosen == "inductor" and options:
        check_options(options)
    torch._dynamo.check_backend(chosen)
    if dynamic is not None and not isinstance(dynamic, bool):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if disable:
        return model
    if callable(chosen):
        return _compiled_by(model, chosen, fullgraph, options)
    graphs = mode in _GRAPHED or bool((options or {}).get("triton.cudagraphs"))
    recorded = graphs or chosen == "cudagraphs"
    if dynamic is None and not torch._dynamo.config.automatic_dynamic_shapes:
        dynamic = False
    return _wrapped(model, chosen, fullgraph, recorded, recompile_limit, dynamic)


def _dynamo_default() -> Any:
    return torch.compiler.get_default_backend()


def _compiled_by(
    model: Any, backend: Any, whole: bool, options: dict[str, Any] | None
) -> Any:
    eval_frame = torch._dynamo.eval_frame
    if isinstance(model, (eval_frame.OptimizedModule, type)):
        return model
    assert callable(model), f"A callable function is expected, but {type(model)} is provided."
    return eval_frame.compiled_by(model, backend, whole, options)


def _wrapped(
    model: Any, backend: Any, whole: bool, recorded: bool, limit: int | None, dynamic: bool | None
) -> Any:
    eval_frame = torch._dynamo.eval_frame
    if isinstance(model, (eval_frame.OptimizedModule, type)):
        return model
    eager = backend in torch._dynamo._DEBUGGING
    if isinstance(model, torch.nn.Module):
        return eval_frame.OptimizedModule(model) if eager else (
            eval_frame.compiled_module(model, whole, recorded, limit, dynamic)
        )
    assert callable(model), f"A callable function is expected, but {type(model)} is provided."
    return eval_frame.eager_function(model) if eager else (
        eval_frame.compiled_function(model, whole, recorded, limit, dynamic)
    )
