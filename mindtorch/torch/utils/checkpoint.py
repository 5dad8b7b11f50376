"""Trading time for memory: what a function computed is computed again when backward needs it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.torch import autograd
from mindtorch.torch._random import fork_rng, get_rng_state, set_rng_state
from mindtorch.torch._tensor import Tensor
from mindtorch.torch.autograd.function import Function
from mindtorch.torch.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
]


class CheckpointError(RuntimeError):
    """The function computed something else the second time."""


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def _as_it_was(state: Any) -> Iterator[None]:
    """The random state of the first time, where it was kept."""
    if state is None:
        yield
        return
    with fork_rng(devices=[]):
        set_rng_state(state)
        yield


def _tensors_of(output: Any) -> list[Tensor]:
    values = output if isinstance(output, (tuple, list)) else (output,)
    return [value for value in values if isinstance(value, Tensor)]


class _Checkpoint(Function):
    """Runs without a tape; backward runs again with one, and backward through that.

    `anchor` requires grad where nothing else among the inputs does, so that parameters inside the
    function get their gradients.
    """

    @staticmethod
    def forward(
        ctx: Any, run: Callable[..., Any], keep_state: bool, anchor: Any, *args: Any
    ) -> Any:
        ctx._run = run
        ctx._state = get_rng_state() if keep_state else None
        ctx._places = [at for at, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx._args = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx._wanted = [isinstance(arg, Tensor) and arg.requires_grad for arg in args]
        ctx.save_for_backward(*(args[at] for at in ctx._places))
        with no_grad():
            return run(False, *args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        args = list(ctx._args)
        for at, tensor in zip(ctx._places, ctx.saved_tensors, strict=True):
            args[at] = tensor.detach().requires_grad_(ctx._wanted[at])
        with _as_it_was(ctx._state), enable_grad():
            output = ctx._run(True, *args)
        outputs = _tensors_of(output)
        if len(outputs) != len(gradients):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was computed during the "
                f"original forward and recomputation: {len(gradients)} and {len(outputs)}."
            )
        pairs = [
            (each, gradient)
            for each, gradient in zip(outputs, gradients, strict=True)
            if each.requires_grad and gradient is not None
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        autograd.backward([each for each, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, None, *(x.grad if isinstance(x, Tensor) else None for x in args))


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args)`, of which only the inputs are kept until backward.

    Backward calls the function again, with the random state of the first time (unless
    `preserve_rng_state=False`). Gradients reach the parameters inside by `.backward()`.

    Args:
        use_reentrant: True is torch's older way: a gradient only if an input requires one, and no
            keyword arguments for the function. Both ways here call the function as a whole.
        context_fn: a context for the first time and one for the second, with
            `use_reentrant=False`.
        determinism_check: "default" compares the number of results, "none" likewise.
        debug: accepted as False; there is no list of operations to show.
        early_stop: the second run may end early; here it never does.

    Raises:
        ValueError: keyword arguments or contexts with `use_reentrant=True`, or an unknown check.
        NotImplementedError: `debug=True`.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    keep_state = kwargs.pop("preserve_rng_state", True)
    if debug:
        raise NotImplementedError("checkpoint(debug=True) is not available in mindtorch")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or not is_grad_enabled():
            if context_fn is not noop_context_fn:
                raise ValueError(
                    "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
                )
            return function(*args)
        if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
            )
        return _Checkpoint.apply(lambda again, *a: function(*a), keep_state, None, *args)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    names = list(kwargs)

    def run(again: bool, *given: Any) -> Any:
        named = dict(zip(names, given[len(args) :], strict=True))
        with second if again else first:
            return function(*given[: len(args)], **named)

    from mindtorch import torch

    anchor = torch.empty(0, requires_grad=True)
    return _Checkpoint.apply(run, keep_state, anchor, *args, *kwargs.values())


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of modules in `segments` parts, all but the last one of them checkpointed.

    Raises:
        ValueError: unknown keyword arguments.
    """
    keep_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=keep_state
        )
    return part(end, len(steps))(input)
