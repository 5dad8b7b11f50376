"""Full backward hooks: two identity functions around a module see its gradients pass."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...autograd.function import Function

_NO_INPUTS = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See https://docs.pytorch.org/docs/main/generated/"
    "torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more details."
)


class _Passage:
    """One call of a module with backward hooks: what its two boundaries share."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.input_count = 0
        self.input_places: list[int] = []
        self.output_count = 0
        self.output_places: list[int] = []

    def enter(self, args: Any) -> Any:
        """The module's arguments; those that are tensors come out of the input boundary."""
        self.input_count = len(args)
        tensors = [(i, a) for i, a in enumerate(args) if isinstance(a, EngineTensor)]
        if not (state.grad_enabled and any(a.requires_grad for _, a in tensors)):
            return args
        self.input_places = [i for i, _ in tensors]
        passed = _Entry.apply(self, *[a for _, a in tensors])
        return _replace(args, self.input_places, passed)

    def leave(self, result: Any) -> Any:
        """The module's results; those that are tensors come out of the output boundary."""
        single = not isinstance(result, tuple)
        results = (result,) if single else result
        tensors = [(i, r) for i, r in enumerate(results) if isinstance(r, EngineTensor)]
        if not (state.grad_enabled and any(r.requires_grad for _, r in tensors)):
            return result
        self.output_count = len(results)
        self.output_places = [i for i, _ in tensors]
        passed = _Exit.apply(self, *[r for _, r in tensors])
        results = _replace(results, self.output_places, passed)
        if single:
            return results[0]
        return type(result)(*results) if hasattr(result, "_fields") else results

    def outputs_arrive(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        full = _spread(gradients, self.output_places, self.output_count)
        for hook in self.pre_hooks:
            changed = hook(self.module, full)
            if changed is not None:
                full = _as_gradients(changed, self.output_count, "Backward pre hook")
        self.grad_outputs = full
        if not self.input_places:
            warnings.warn(_NO_INPUTS, stacklevel=2)
            self.run_hooks((None,) * self.input_count)
        return tuple(full[i] for i in self.output_places)

    def inputs_arrive(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.grad_outputs is None:  # they have not come through the outputs: a second derivative
            return gradients
        full = _spread(gradients, self.input_places, self.input_count)
        full = self.run_hooks(full)
        self.grad_outputs = None
        return tuple(full[i] for i in self.input_places)

    def run_hooks(self, grad_inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.hooks:
            changed = hook(self.module, grad_inputs, self.grad_outputs)
            if changed is None:
                continue
            if not self.input_places:
                if isinstance(changed, tuple) and all(g is None for g in changed):
                    continue
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
            grad_inputs = _as_gradients(changed, self.input_count, "Backward hook")
        return grad_inputs


def _replace(values: Any, places: list[int], passed: Any) -> tuple[Any, ...]:
    listed = list(values)
    for place, value in zip(
        places, passed if isinstance(passed, tuple) else (passed,), strict=True
    ):
        listed[place] = value
    return tuple(listed)


def _spread(gradients: Any, places: list[int], count: int) -> tuple[Any, ...]:
    full: list[Any] = [None] * count
    for place, gradient in zip(places, gradients, strict=True):
        full[place] = gradient
    return tuple(full)


def _as_gradients(changed: Any, count: int, kind: str) -> tuple[Any, ...]:
    if not isinstance(changed, tuple):
        changed = (changed,)
    if len(changed) != count:
        raise RuntimeError(
            f"{kind} returned an invalid number of grad_input, got {len(changed)}, but expected "
            f"{count}"
        )
    return changed


def _pass(ctx: Any, tensors: Any) -> tuple[Any, ...]:
    ctx.passes_on = True
    passed = tuple(t.detach() for t in tensors)
    pairs = zip(passed, tensors, strict=True)
    ctx.mark_non_differentiable(*[p for p, t in pairs if not t.requires_grad])
    return passed


class _Entry(Function):
    """The identity before a module; backward passes through it last."""

    @staticmethod
    def forward(ctx: Any, passage: _Passage, *tensors: Any) -> Any:
        ctx.passage = passage
        return _pass(ctx, tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *ctx.passage.inputs_arrive(gradients))


class _Exit(Function):
    """The identity after a module; backward passes through it first."""

    @staticmethod
    def forward(ctx: Any, passage: _Passage, *tensors: Any) -> Any:
        ctx.passage = passage
        return _pass(ctx, tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, *ctx.passage.outputs_arrive(gradients))


# the name of both nodes in torch
_Entry.__name__ = _Exit.__name__ = "BackwardHookFunction"


def passage(module: Any, hooks: list[Any], pre_hooks: list[Any]) -> _Passage:
    """What a call of ``module`` goes through when it has backward hooks."""
    return _Passage(module, hooks, pre_hooks)


def hook_last_node(module: Any, hooks: list[Any], args: Any, result: Any) -> None:
    """Give deprecated backward hooks to the operation that made a call's (first) result."""
    first = result
    while not isinstance(first, EngineTensor):
        if isinstance(first, dict):
            first = next(v for v in first.values() if isinstance(v, EngineTensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(hook, module))
    said = _missed_by(args, result, node)
    if said:
        warnings.warn(said, FutureWarning, stacklevel=4)


def _missed_by(args: Any, result: Any, node: Any) -> str | None:
    """torch's warning of what hooks of ``node`` are not told of a module's gradients."""
    begin = "Using non-full backward hooks on a Module that does not "
    end = (
        " is deprecated and will be removed in future versions. This hook will be missing some {}."
        " Please use register_full_backward_hook to get the documented behavior."
    )
    results = (result,) if isinstance(result, EngineTensor) else result
    for values, what, missed in (
        (results, "return a single Tensor or a tuple of Tensors", "of the grad_output"),
        (args, "take as input a single Tensor or a tuple of Tensors", "of the grad_input"),
    ):
        if not (isinstance(values, tuple) and all(isinstance(v, EngineTensor) for v in values)):
            return begin + what + end.format(missed)
    makers = {r.grad_fn for r in results if r.grad_fn is not None}
    begin = "Using a non-full backward hook when "
    if len(makers) > 1:
        return begin + "outputs are generated by different autograd Nodes" + end.format(
            "grad_output"
        )
    if {a.grad_fn for a in args if a.grad_fn is not None} != {n[0] for n in node.next_functions}:
        return begin + "the forward contains multiple autograd Nodes" + end.format("grad_input")
    return None
