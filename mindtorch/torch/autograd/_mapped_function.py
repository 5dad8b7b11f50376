"""User functions inside of vmap: their own rule, or one generated from forward and backward."""

from __future__ import annotations

from typing import Any, NamedTuple

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms.vmap import Vmap

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a ``vmap`` staticmethod is told of the call."""

    batch_size: int
    randomness: str


def check_function(function: Any, base: Any, mapped: bool) -> None:
    """torch's errors for functions that transformations, vmap where ``mapped``, cannot run."""
    if function.setup_context is base.setup_context and not function._plain:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
            "jacrev, ...), it must override the setup_context staticmethod. For more details, "
            "please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if not mapped:
        return
    own = function.vmap is not base.vmap
    if function.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True "
            "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete "
            f"the overridden vmap staticmethod to avoid ambiguity. {_MORE}"
        )
    if not (function.generate_vmap_rule or own):
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. "
            "Please override and implement the vmap staticmethod or set generate_vmap_rule=True. "
            f"{_MORE}"
        )


def outputs_of(function: Any, level: Vmap, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The function's outputs as tensors of the mapped function; a node is made around it."""
    tensors = [isinstance(x, EngineTensor) for x in args]
    wholes = tuple(level.whole(x) if t else x for x, t in zip(args, tensors, strict=True))
    in_dims = tuple(0 if t and level.batched(x) else None
                    for x, t in zip(args, tensors, strict=True))  # fmt: skip
    if all(d is None for d in in_dims):
        return _entered(level, level.outside(function.apply, *wholes, **kwargs), None)
    if function.generate_vmap_rule:
        generated = _generated(function, in_dims, level)
        return _entered(level, level.outside(generated.apply, *wholes, **kwargs), 0)
    info = VmapInfo(level.size, level.randomness)
    found = level.outside(function.vmap, info, in_dims, *wholes, **kwargs)
    if not (isinstance(found, tuple) and len(found) == 2):
        what = f"{len(found)} returns" if isinstance(found, tuple) else f"a {type(found)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got {what} instead"
        )
    return _entered(level, *found)


def _entered(level: Vmap, outputs: Any, out_dims: Any) -> Any:
    """Outputs of the level around as those of the mapped function."""
    if isinstance(outputs, (tuple, list)):
        if isinstance(out_dims, (tuple, list)) and (
            type(out_dims) is not type(outputs) or len(out_dims) != len(outputs)
        ):
            raise _incompatible(outputs, out_dims)
        dims = out_dims if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outputs)
        return tuple(_entered(level, o, d) for o, d in zip(outputs, dims, strict=True))
    if not isinstance(outputs, EngineTensor):
        return outputs
    if out_dims is None:
        return level.lift(outputs)
    if not isinstance(out_dims, int):
        raise _incompatible(outputs, out_dims)
    return level.outside(level.enter_argument, outputs, out_dims % outputs.aval.ndim)


def _incompatible(outputs: Any, out_dims: Any) -> RuntimeError:
    from mindtorch.torch.utils._pytree import tree_structure  # takes longer to import than all here

    return RuntimeError(
        "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
        f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
        f"out_dims has structure {tree_structure(out_dims)} but output has structure "
        f"{tree_structure(outputs)}. {_MORE}"
    )


def _generated(function: Any, in_dims: tuple[Any, ...], around: Vmap) -> Any:
    """``function`` on tensors of all examples: forward and backward of each example, mapped."""
    from ..func._vmap import vmap
    from .function import Function, FunctionCtx, rule_of

    size, randomness = around.size, around.randomness

    class Mapped(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*wholes: Any) -> Any:
            return vmap(function.forward, in_dims, 0, randomness)(*wholes)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            level = Vmap(size, randomness)
            several = isinstance(output, tuple)
            results = output if several else (output,)
            given = tuple(
                x if d is None else level.wrap(x) for x, d in zip(inputs, in_dims, strict=True)
            )
            made = tuple(level.wrap(x) for x in results)
            inner = ctx.inner = FunctionCtx()
            inner.needs_input_grad = ctx.needs_input_grad
            with level.active():
                function.setup_context(inner, given, made if several else made[0])
            ctx.saved_flags = tuple(x is not None and level.batched(x) for x in inner.to_save)
            ctx.save_for_backward(*[None if x is None else level.whole(x) for x in inner.to_save])
            ctx.mark_non_differentiable(*[level.whole(x) for x in inner.non_differentiable])
            ctx.set_materialize_grads(inner.materialize_grads)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            level = Vmap(size, randomness)
            inner = ctx.inner
            inner.to_save = tuple(
                level.wrap(x) if batched else x
                for x, batched in zip(ctx.saved_tensors, ctx.saved_flags, strict=True)
            )
            given = [None if g is None else level.wrap(g) for g in gradients]
            with level.active():
                found = rule_of(function)(inner, *given)
            found = found if isinstance(found, tuple) else (found,)
            return tuple(
                None if g is None else level.leave_result(g, 0) if d == 0
                else level.leave_result(g, 0).sum(0)
                for g, d in zip(found, in_dims, strict=False)
            )

    Mapped.__name__ = Mapped.__qualname__ = function.__name__
    return Mapped
