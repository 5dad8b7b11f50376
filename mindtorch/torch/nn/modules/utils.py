"""Small helpers of the modules: numbers repeated for each spatial axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval

from ..._api.arguments import as_device, as_dtype, as_shape
from ..._api.invalid_arguments import type_name
from ...functions.creation import new_empty
from ..parameter import Parameter, check_place


def ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: Any) -> tuple[Any, ...]:
        if isinstance(x, Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_ntuple = ntuple
_single = ntuple(1, "_single")
_pair = ntuple(2, "_pair")
_triple = ntuple(3, "_triple")
_quadruple = ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each element, last first, ``n`` times: conv's padding as ``F.pad`` wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    if isinstance(out_size, (int,)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [v if v is not None else d for v, d in zip(out_size, last, strict=False)]


def empty_parameter(shape: Any, device: Any = None, dtype: Any = None) -> Any:
    """A parameter of this shape whose values are yet to be drawn."""
    if not isinstance(shape, (tuple, list)) and not hasattr(shape, "__index__"):
        raise TypeError(
            f"empty(): argument 'size' (position 1) must be tuple of ints, not {type_name(shape)}"
        )
    shape = as_shape((shape,), "empty")
    check_place(device, dtype)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    return Parameter(new_empty(aval(tuple(shape), chosen, None, as_device(device))))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take ``prefix`` from the front of the keys that begin with it, and of the metadata's.

    The dictionary is changed; "module." is what DataParallel puts in front.
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in [key for key in metadata if key]:
        # "module" is the wrapper itself and "module.conv" a part of it
        if key == prefix.removesuffix("."):
            metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
