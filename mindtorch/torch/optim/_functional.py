"""Optimizers' steps as functions of lists: parameters, gradients and states, which are changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .adam import Adam, AdamW
from .adaptive import ASGD, Adadelta, Adagrad, Adamax, NAdam, RAdam, RMSprop, Rprop
from .sgd import SGD, update_tensors

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop",
    "sgd",
]  # fmt: skip

_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"),
          "step_sizes": ("step_size_min", "step_size_max")}  # fmt: skip
_OPTIONAL = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _signature(lists: str, options: str, settings: str) -> inspect.Signature:
    """Of the function: lists, options that are off, and settings, which have to be named."""
    place, named = _OPTIONAL
    parameters = [inspect.Parameter(each, place) for each in lists.split()]
    for each in options.split():
        default = None if each in ("foreach", "fused", "grad_scale", "found_inf") else False
        parameters.append(inspect.Parameter(each, place, default=default))
    parameters += [inspect.Parameter(each, named) for each in settings.split()]
    return inspect.Signature(parameters)


def _step(
    kind: type[Any], states: str, lists: str, options: str, settings: str
) -> Callable[..., None]:
    """The function of an optimizer's class.

    Args:
        states: names of the states in the class, in the order of their lists.
        lists, options, settings: the function's arguments, in torch's order.
    """
    signature, names = _signature(lists, options, settings), states.split()
    optimizer: Any = object.__new__(kind)

    def step(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        group = dict(given.arguments)
        if not (group.get("grad_scale") is group.get("found_inf") is None):
            raise AssertionError("Expected grad_scale and found_inf to be None")
        params, grads, *kept = (group.pop(each) for each in lists.split())
        for name, parts in _PAIRS.items():
            if parts[0] in group:
                group[name] = tuple(group.pop(each) for each in parts)
        group.setdefault("decoupled_weight_decay", kind is AdamW)
        group.setdefault("differentiable", False)
        for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
            state = {
                name: each[i] for name, each in zip(names, kept, strict=True) if i < len(each)
            }
            grad = -grad if group.get("maximize") else grad
            if kind is SGD:
                update = optimizer._update_of(group)
                update_tensors(update, p, grad, state, optimizer._settings(group))
                if i < len(kept[0]):
                    kept[0][i] = state.get("momentum_buffer")
            else:
                optimizer._update_one(p, grad, state, group)

    step.__name__ = step.__qualname__ = kind.__name__.lower()
    step.__signature__ = signature  # type: ignore[attr-defined]
    step.__doc__ = (
        f"One step of :class:`torch.optim.{kind.__name__}` over lists, which hold an entry for "
        "each parameter.\n\n    Its settings are the optimizer's, and have to be given by name; "
        "those that choose a kernel\n    (foreach, fused, capturable) change nothing.\n\n"
        "    Raises:\n        AssertionError: for grad_scale and found_inf, which CUDA has."
    )
    return step


_ADAM = "exp_avg exp_avg_sq max_exp_avg_sq step"
_ADAM_LISTS = "params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"
_ADAM_SETTINGS = "amsgrad beta1 beta2 lr weight_decay eps maximize"
_ADAM_OPTIONS = "foreach capturable differentiable fused grad_scale found_inf has_complex"

adadelta = _step(
    Adadelta, "square_avg acc_delta step", "params grads square_avgs acc_deltas state_steps",
    "capturable foreach differentiable has_complex", "lr rho eps weight_decay maximize",
)  # fmt: skip
adagrad = _step(
    Adagrad, "sum step", "params grads state_sums state_steps",
    "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
    "lr weight_decay lr_decay eps maximize",
)  # fmt: skip
adam = _step(Adam, _ADAM, _ADAM_LISTS, f"{_ADAM_OPTIONS} decoupled_weight_decay", _ADAM_SETTINGS)
adamw = _step(AdamW, _ADAM, _ADAM_LISTS, _ADAM_OPTIONS, _ADAM_SETTINGS)
adamax = _step(
    Adamax, "exp_avg exp_inf step", "params grads exp_avgs exp_infs state_steps",
    "foreach maximize differentiable capturable has_complex", "eps beta1 beta2 lr weight_decay",
)  # fmt: skip
asgd = _step(
    ASGD, "ax mu eta step", "params grads axs mus etas state_steps",
    "foreach maximize differentiable capturable has_complex", "lambd lr t0 alpha weight_decay",
)  # fmt: skip
nadam = _step(
    NAdam, "exp_avg exp_avg_sq mu_product step",
    "params grads exp_avgs exp_avg_sqs mu_products state_steps",
    "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
    "beta1 beta2 lr weight_decay momentum_decay eps",
)  # fmt: skip
radam = _step(
    RAdam, "exp_avg exp_avg_sq step", "params grads exp_avgs exp_avg_sqs state_steps",
    "decoupled_weight_decay foreach differentiable capturable has_complex maximize",
    "beta1 beta2 lr weight_decay eps",
)  # fmt: skip
rmsprop = _step(
    RMSprop, "square_avg grad_avg momentum_buffer step",
    "params grads square_avgs grad_avgs momentum_buffer_list state_steps",
    "foreach maximize differentiable capturable has_complex",
    "lr alpha eps weight_decay momentum centered",
)  # fmt: skip
rprop = _step(
    Rprop, "prev step_size step", "params grads prevs step_sizes state_steps",
    "foreach capturable maximize differentiable has_complex",
    "step_size_min step_size_max etaminus etaplus",
)  # fmt: skip
sgd = _step(
    SGD, "momentum_buffer", "params d_p_list momentum_buffer_list",
    "has_sparse_grad foreach fused grad_scale found_inf",
    "weight_decay momentum lr dampening nesterov maximize",
)  # fmt: skip
