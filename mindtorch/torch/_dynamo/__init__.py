"""Names of torch._dynamo that packages use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.compile.explain import explain as explain
from mindtorch.engine.compile.jit import every
from mindtorch.engine.dispatch import graph_under_way
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import fields_of

from .._compat import unsupported_names
from ..compiler import _compile
from ..nn.modules.module import Module
from . import config as config
from . import exc as exc
from . import function_backends
from .eval_frame import OptimizedModule as OptimizedModule
from .eval_frame import eager_function

_DEBUGGING = ("aot_eager", "aot_eager_decomp_partition", "aot_ts", "eager", "eager_noexcept")
_BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")


# functions that programs registered, and their tags
_REGISTERED: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}


def register_backend(
    compiler_fn: Callable[..., Any] | None = None, name: str | None = None, tags: Any = ()
) -> Any:
    """Let ``torch.compile(backend=name)`` call ``compiler_fn(graph_module, example_inputs)``; a
    decorator where it is None.

    Args:
        name: the function's own where it is None.
        tags: words by which :func:`list_backends` leaves it out.
    """
    if compiler_fn is None:
        return lambda each: register_backend(each, name, tags)
    assert callable(compiler_fn)
    chosen = name if name is not None else str(getattr(compiler_fn, "__name__", ""))
    assert chosen not in _REGISTERED, f"duplicate name: {chosen}"
    _REGISTERED[chosen] = compiler_fn, tuple(tags)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> Any:
    """The function that is meant by a name, where one was registered; else what is given."""
    known = _REGISTERED.get(compiler_fn) if isinstance(compiler_fn, str) else None
    return compiler_fn if known is None else known[0]


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """Names that ``torch.compile(backend=...)`` takes: the debugging ones run eagerly."""
    left_out = set(exclude_tags or ())
    hidden = () if "debug" in left_out else _DEBUGGING
    own = (name for name, (_, tags) in _REGISTERED.items() if not left_out.intersection(tags))
    return sorted((*_BACKENDS, *hidden, *own))


def check_backend(backend: Any) -> None:
    """Raise for a backend that is not known."""
    if not callable(backend) and backend not in (*_BACKENDS, *_DEBUGGING, *_REGISTERED):
        raise exc.InvalidBackend(backend)


def is_compiling() -> bool:
    """Whether a call is being captured."""
    capture = graph_under_way()
    return capture is not None


def reset() -> None:
    """Forget what was compiled; functions are captured again at their next call."""
    for jitted in list(every):
        jitted.forget()
    function_backends.forget_all()


def graph_break(msg: str = "") -> None:
    """End the graph here and begin another one."""
    capture = graph_under_way()
    if capture is not None:
        capture.materialise()


def mark_dynamic(t: Any, index: Any, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
    """Let the length of an axis stand for all others (from ``min`` to ``max``, which is not
    checked) when a call with this tensor is captured.

    Args:
        index: an axis, or a list of axes.
    """
    _mark(t, index, True)


maybe_mark_dynamic = mark_dynamic


def mark_static(t: Any, index: Any = None) -> None:
    """Capture a call with this tensor for the length that the axis (the axes, all of them) has."""
    if isinstance(t, EngineTensor):
        _mark(t, range(t.aval.ndim) if index is None else index, False)


def _mark(tensor: Any, index: Any, changes: bool) -> None:
    axes = [index] if isinstance(index, int) else index
    fields_of(tensor).setdefault("_dynamic_axes", {}).update(dict.fromkeys(axes, changes))


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Say that a tensor stays where it is; its place is looked up at each run anyway."""


def allow_in_graph(fn: Any) -> Any:
    """``fn``; whatever it does to tensors is in the graph already."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    assert callable(fn), "allow_in_graph expects a callable"
    return fn


disallow_in_graph = forbid_in_graph = allow_in_graph


def assume_constant_result(fn: Any) -> Any:
    """``fn``: it is called each time."""
    return fn


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """``fn`` as something that is never compiled; a decorator when ``fn`` is None."""
    if fn is None:
        return lambda each: disable(each, recursive, reason=reason)
    if isinstance(fn, Module):
        return OptimizedModule(fn)
    assert callable(fn), f"A callable function is expected, but {type(fn)} is provided."
    return fn if isinstance(fn, type) else eager_function(fn)


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Any:
    """``torch.compile`` as a decorator, by its old name."""
    def wrap(fn: Callable[..., Any]) -> Any:
        return _compile.compile(fn, fullgraph=nopython, backend=backend, **options)

    return wrap


export = unsupported_names.absent_function(
    "torch._dynamo", "export", "no graphs of torch.fx are made"
)
