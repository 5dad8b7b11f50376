"""Wrong calls of functions that torch writes in Python around one kernel of C++.

The kernel is what finds them there, after a truth test of ``inplace`` or an attribute that was
asked first; so the errors are named and numbered by the kernel's arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .signatures import each_kind_once, type_name, wrong_call

__all__ = ["as_kernel_call", "called_wrongly", "explain_kernel_calls", "kernel_check"]

# function: its kernel, and the arguments handed to that, in order; as far as they are the same
_KERNELS = {
    **{f"adaptive_{kind}_pool{n}d": (f"adaptive_{kind}_pool{n}d", "input output_size")
       for kind, n in (("avg", 2), ("avg", 3), ("max", 1), ("max", 2), ("max", 3))},
    **{f"adaptive_max_pool{n}d_with_indices": (f"adaptive_max_pool{n}d", "input output_size")
       for n in (1, 2, 3)},
    **{name: (name, "input p training")
       for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")},
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"),
                    ("feature_dropout", "input p training")),
    **{name: (name, "input")
       for name in ("hardsigmoid", "hardswish", "mish", "relu", "relu6", "selu", "silu")},
    "celu": ("celu", "input alpha"),
    "elu": ("elu", "input alpha"),
    "hardtanh": ("hardtanh", "input min_val max_val"),
    "leaky_relu": ("leaky_relu", "input negative_slope"),
    "rrelu": ("rrelu", "input lower upper training"),
    "threshold": ("threshold", "input threshold value"),
    "batch_norm": ("batch_norm", "input weight bias running_mean running_var training momentum"
                                 " eps training"),
    "cosine_embedding_loss": ("cosine_embedding_loss", "input1 input2 target margin"),
    "cross_entropy": ("cross_entropy_loss", "input target weight"),
    "embedding": ("embedding", "weight input"),
    "group_norm": ("group_norm", "input num_groups weight bias eps"),
    "grid_sample": ("grid_sampler", "input grid"),
    "hinge_embedding_loss": ("hinge_embedding_loss", "input target margin"),
    "kl_div": ("kl_div", "input target"),
    "layer_norm": ("layer_norm", "input normalized_shape weight bias eps"),
    "linear": ("linear", "input weight bias"),
    "multi_margin_loss": ("multi_margin_loss", "input target p margin weight"),
    "multilabel_margin_loss": ("multilabel_margin_loss", "input target"),
    "nll_loss": ("nll_loss_nd", "input target weight"),
    "pad": ("pad", "input pad mode value"),
    "poisson_nll_loss": ("poisson_nll_loss", "input target log_input full eps"),
    "rms_norm": ("rms_norm", "input normalized_shape weight eps"),
    "soft_margin_loss": ("soft_margin_loss", "input target"),
    "triplet_margin_loss": ("triplet_margin_loss", "anchor positive negative margin p eps swap"),
}  # fmt: skip
# what is asked of the input before the kernel is called
_ASKED = {
    **dict.fromkeys((name for name in _KERNELS if name.startswith("adaptive_")
                     and "1d" not in name), "size"),
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), "dim"),
}  # fmt: skip
# called from where a frame more would be felt: they ask :func:`called_wrongly` themselves
_BARE = ("dropout", "layer_norm", "linear", "relu", "silu")


def called_wrongly(name: str, error: Exception, **given: Any) -> Exception:
    """The error of torch where the kernel of ``name`` does not take what it is given by it."""
    if "inplace" in given:
        bool(given["inplace"])
    kernel, order = _KERNELS[name]
    values = tuple(given[each] for each in order.split() if each in given)
    if isinstance(error, ValueError) or str(error).startswith("Boolean value"):
        return error  # of a test in front of the kernel
    first, asked = given.get("input"), _ASKED.get(name)
    if asked and not isinstance(first, EngineTensor):
        return AttributeError(f"'{type_name(first)}' object has no attribute '{asked}'")
    wrong = wrong_call(kernel, values, {})
    return error if wrong is None or "() missing" in str(wrong) else wrong


def kernel_check(name: str, body: Any, _: bool) -> Callable[[Any, Any], None] | None:
    """A check of calls of a new kind of ``body`` by the signature of its kernel, if it has one."""
    if name not in _KERNELS:
        return None
    kernel, order = _KERNELS[name]

    def error_of(args: Any, kwargs: Any) -> Exception | None:
        try:
            bound = inspect.signature(body).bind(*args, **kwargs)
        except TypeError:
            return None
        bound.apply_defaults()
        given = bound.arguments
        values = tuple(_filled(name, each, given[each]) for each in order.split() if each in given)
        if not isinstance(values[0], EngineTensor):
            return None
        wrong = wrong_call(kernel, values, {})
        return None if "() missing" in str(wrong) else wrong  # what has another form here

    return each_kind_once(error_of)


def _filled(name: str, argument: str, value: Any) -> Any:
    """An argument as the kernel gets it: sizes that are None have become the input's."""
    if argument == "output_size" and name in _ASKED and isinstance(value, (tuple, list)):
        return type(value)(0 if size is None else size for size in value)
    return value


def as_kernel_call(body: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``body`` as the function ``name``, which explains a wrong call by its kernel's signature."""

    @functools.wraps(body)
    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            return body(*args, **kwargs)
        except Exception as error:
            try:
                bound = inspect.signature(body).bind(*args, **kwargs)
            except TypeError:
                raise error from None
            bound.apply_defaults()
            wrong = called_wrongly(name, error, **bound.arguments)
            if wrong is error:
                raise
            raise wrong from None

    return explained


def explain_kernel_calls(names: dict[str, Any]) -> None:
    """Replace a module's functions (its globals) by those that explain wrong calls."""
    for name in _KERNELS:
        if name not in _BARE:
            names[name] = as_kernel_call(names[name], name)
