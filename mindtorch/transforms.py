"""What MindSpore builds on gradients: Jacobians, mapped functions, GradOperation, recompute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.engine.tensor import Tensor, akin, alias
from mindtorch.torch.utils._pytree import tree_flatten, tree_map

from .functional import Linearised, cotangents_apart, sensitivities_at, split_aux

__all__ = ["GradOperation", "jacfwd", "jacrev", "recompute", "stop_gradient", "vmap"]


def jacrev(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that returns d fn / d argument, row by row, of shape output + input.

    With ``has_aux``, ``fn`` returns (output, aux), and the result is (Jacobian, aux).

    Args:
        grad_position: which argument to derive by, or several.
    """
    return _like_arguments(torch.func.jacrev(fn, _bare(grad_position), has_aux=has_aux))


def jacfwd(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """:func:`jacrev`'s result, column by column: for more outputs than inputs.

    Args:
        fn, grad_position, has_aux: as of :func:`jacrev`.
    """
    return _like_arguments(torch.func.jacfwd(fn, _bare(grad_position), has_aux=has_aux))


def _bare(position: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """``(p,)`` is ``p``: one Jacobian comes without a tuple."""
    return position[0] if isinstance(position, tuple) and len(position) == 1 else position


def _like_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` whose tensors have the class of the first tensor among its arguments."""

    def called(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        given = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
        return tree_map(
            lambda leaf: akin(leaf, given[0]) if given and isinstance(leaf, Tensor) else leaf,
            result,
        )

    return called


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """``fn``, mapped over axis ``in_axes`` of its arguments; results are along ``out_axes``."""
    return torch.func.vmap(fn, in_axes, out_axes)


def stop_gradient(value: Any) -> Any:
    """``value``, a tensor or tensors nested in tuples, lists and dicts, as a constant."""

    def constant(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        detach = getattr(leaf, "detach", None)
        return alias(leaf) if detach is None else detach()

    return tree_map(constant, value)


def recompute(block: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``block(*args, **kwargs)`` whose intermediate results are computed again for backward."""
    return torch.utils.checkpoint.checkpoint(block, *args, use_reentrant=False, **kwargs)


class GradOperation:
    """Makes gradient functions: ``GradOperation(...)(fn, weights)(*args)``.

    Args:
        get_all: gradients of all inputs, in a tuple, and not only of the first.
        get_by_list: gradients of the weights, in a tuple unless one parameter is given alone; with
            ``get_all`` a pair of both.
        sens_param: the last argument is the sensitivity of the output.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        for name, value in (
            ("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)
        ):  # fmt: skip
            if not isinstance(value, bool):
                raise TypeError(
                    f"For 'GradOperation', the '{name}' should be bool, but got "
                    f"{type(value).__name__}"
                )
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        if not self.get_by_list:
            listed: list[Any] = []
        elif weights is None:
            trainable = getattr(fn, "trainable_params", None)
            if trainable is None:
                raise ValueError("GradOperation(get_by_list=True) of a function needs weights")
            listed = list(trainable())
        else:
            listed = [weights] if isinstance(weights, Tensor) else list(weights)
        alone = isinstance(weights, Tensor)

        def gradients(*args: Any, **kwargs: Any) -> Any:
            given = None
            if self.sens_param:
                args, given = cotangents_apart(args, kwargs)
            positions = range(len(args)) if self.get_all else range(0 if self.get_by_list else 1)
            run = Linearised(fn, args, kwargs, positions, listed)
            outputs, _ = split_aux(run.result, False)
            sensitivities = sensitivities_at(outputs, given)
            of_inputs, of_weights = run.pull(outputs, sensitivities, retain=False)
            of_weights = of_weights[0] if alone else of_weights
            if self.get_all:
                return (of_inputs, of_weights) if self.get_by_list else of_inputs
            return of_weights if self.get_by_list else of_inputs[0]

        return gradients
