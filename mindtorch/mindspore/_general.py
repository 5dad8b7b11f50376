"""Names of the top of MindSpore: tensors from arrays, random states, what concerns compiling."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mindtorch import torch

from .common.tensor import Tensor, t
from .version import __version__

__all__ = [
    "Generator", "JitConfig", "constexpr", "default_generator", "from_numpy", "get_rng_state",
    "initial_seed", "is_tensor", "lazy_inline", "manual_seed", "mutable", "no_inline", "run_check",
    "seed", "set_deterministic", "set_recursion_limit", "set_rng_state", "tensor",
]  # fmt: skip

Generator = torch.Generator
default_generator = torch.default_generator


def tensor(
    input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None,
    const_arg: bool = False, device: Any = None,
) -> Tensor:  # fmt: skip
    """``Tensor(input_data, dtype, shape, init)``, a copy of the data.

    Args:
        const_arg: kept; it says to MindSpore's compiler that the value never changes.

    Raises:
        ValueError: a device other than "CPU".
    """
    if device is not None and str(device).upper() != "CPU":
        raise ValueError(f"For 'tensor', device={device!r}: tensors are on the CPU")
    return Tensor(input_data, dtype, shape, init, const_arg=const_arg)


from_numpy = Tensor.from_numpy


def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is one of MindSpore's tensors."""
    return isinstance(obj, Tensor)


def manual_seed(seed: int) -> Any:
    """Start the common generator anew from ``seed``, and return it."""
    return torch.manual_seed(seed)


def seed() -> int:
    """Start the common generator anew from a number that the system draws, and return that."""
    return int(torch.seed())


def initial_seed() -> int:
    """The number that the common generator last began with."""
    return int(torch.initial_seed())


def get_rng_state() -> Tensor:
    """The state of the common generator, bytes."""
    result: Tensor = t.get_rng_state()
    return result


def set_rng_state(state: Any) -> None:
    """Put the common generator into a state of :func:`get_rng_state`."""
    torch.set_rng_state(torch.from_numpy(state.asnumpy()))


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """``input_data``: what a compiled call may find changed. Every argument may be here.

    Raises:
        TypeError: ``dynamic_len`` for what has no length.
    """
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError("For mutable(dynamic_len=True), input_data must be a tuple or a list")
    return input_data


def _as_it_is(fn: Callable[..., Any] | None, again: Callable[..., Any]) -> Any:
    return again if fn is None else fn


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """The decorated ``__init__`` of a cell; a hint for a compiler that inlines, which has no
    meaning where calls are captured; ``attrs`` and ``policy`` say to it how."""
    return _as_it_is(fn, lazy_inline)


def no_inline(fn: Any = None) -> Any:
    """The decorated function, see :func:`lazy_inline`."""
    return _as_it_is(fn, no_inline)


def constexpr(
    fn: Any = None, get_instance: bool = True, name: str | None = None,
    reuse_result: bool = True, check: bool = True,
) -> Any:  # fmt: skip
    """A function that is computed in Python while a call is captured: as all are.

    ``get_instance``, ``name``, ``reuse_result`` and ``check`` describe the primitive that MindSpore
    makes of it; here it stays a function.
    """
    return _as_it_is(fn, constexpr)


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Let calls of Python nest ``recursion_limit`` deep, or deeper where that is so already."""
    if not isinstance(recursion_limit, int) or recursion_limit < 1:
        raise ValueError(f"recursion_limit must be a positive int, but got {recursion_limit!r}")
    sys.setrecursionlimit(max(recursion_limit, sys.getrecursionlimit()))


def set_deterministic(deterministic: bool) -> None:
    """Whether ops must give the same bits every time. They do: there is nothing to change.

    Args:
        deterministic: accepted either way.

    Raises:
        TypeError: not a bool.
    """
    if not isinstance(deterministic, bool):
        raise TypeError(
            f"The parameter 'deterministic' must be <class 'bool'>, but got {type(deterministic)}"
        )


class JitConfig:
    """Settings of a compiler, kept and checked; there is one way to compile (see ``jit``).

    Args:
        jit_level: "", "O0", "O1" or "O2".
        exc_mode, jit_syntax_level, debug_level, infer_boost: kept in ``jit_config_dict``, as are
            further ones.

    Raises:
        ValueError: no such level.
    """

    def __init__(
        self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "",
        debug_level: str = "RELEASE", infer_boost: str = "off", **kwargs: Any,
    ) -> None:  # fmt: skip
        if jit_level not in ("", "O0", "O1", "O2"):
            raise ValueError(
                "For 'JitConfig', the input 'jit_level' must be one of ['O0', 'O1', 'O2'], but "
                f"got {jit_level!r}."
            )
        self.jit_config_dict = {
            "jit_level": jit_level, "exc_mode": exc_mode, "debug_level": debug_level,
            "jit_syntax_level": jit_syntax_level, "infer_boost": infer_boost, **kwargs,
        }  # fmt: skip


def run_check() -> None:
    """Print the version, and whether a product of two tensors is right."""
    print(f"MindSpore version:  {__version__}")
    right = bool((Tensor([2.0, 3.0]) * Tensor([4.0, 5.0]) == Tensor([8.0, 15.0])).all())
    words = "is correct" if right else "is wrong"
    print(f"The result of multiplication calculation {words}, on platform [CPU].")
