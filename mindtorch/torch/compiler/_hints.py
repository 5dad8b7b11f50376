"""What tells PyTorch's compiler which checks to leave out, or what to put in another's place.

Guards are always checked here and every function is run as it is, so none of these changes what is
computed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.functions.from_data import from_numpy
from mindtorch.torch.utils._pytree import tree_map

__all__ = [
    "keep_tensor_guards_unsafe", "nested_compile_region", "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe", "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip


def nested_compile_region(fn: Any = None) -> Any:
    """``fn``, or a decorator: what repeats is compiled once without being told."""
    return fn if fn is not None else lambda function: function


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # fmt: skip
    """A decorator for a Python function that means the same as ``original_fn``, which is written
    in C: it comes back, and ``original_fn`` is called where it was.

    Args:
        can_constant_fold_through, skip_signature_check: of no effect.

    Raises:
        TypeError: one of them is not callable.
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def decorate(traceable_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(traceable_fn):
            raise TypeError(
                f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}"
            )
        return traceable_fn

    return decorate


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn``, a function of numpy arrays, as one of tensors; results are tensors without history.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        def array(value: Any) -> Any:
            return value.numpy() if isinstance(value, Tensor) else value

        made = fn(*tree_map(array, args), **tree_map(array, kwargs))
        return tree_map(lambda v: from_numpy(v) if hasattr(v, "__array_interface__") else v, made)

    return call


def _all_kept(name: str, doc: str) -> Callable[..., list[bool]]:
    def choose(guard_entries: Sequence[Any], **_: Any) -> list[bool]:
        return [True] * len(guard_entries)

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = doc
    return choose


_DOC = "True for each of ``guard_entries``: none is left out."
skip_guard_on_inbuilt_nn_modules_unsafe = _all_kept("skip_guard_on_inbuilt_nn_modules_unsafe", _DOC)
skip_guard_on_all_nn_modules_unsafe = _all_kept("skip_guard_on_all_nn_modules_unsafe", _DOC)
skip_guard_on_globals_unsafe = _all_kept("skip_guard_on_globals_unsafe", _DOC)
skip_all_guards_unsafe = _all_kept("skip_all_guards_unsafe", _DOC)
keep_tensor_guards_unsafe = _all_kept("keep_tensor_guards_unsafe", _DOC)
