"""Functions of functions, limits on gradients, and writes to parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.autograd import api, inplace
from mindtorch.engine.optim.multi_tensor import fits, global_norm
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn.utils.clip_grad import get_total_norm
from mindtorch.torch.optim.optimizer import Rate
from mindtorch.transforms import GradOperation

from ..common.tensor import as_tensor, t

__all__ = [
    "GradOperation", "HyperMap", "Map", "MultitypeFuncGraph", "assign", "assign_add", "assign_sub",
    "clip_by_global_norm", "clip_by_norm", "clip_by_value", "partial",
]  # fmt: skip


class HyperMap:
    """``HyperMap()(function, *sequences)``, or ``HyperMap(function)(*sequences)``: calls the
    function with the elements at each place of the sequences, which may be nested.

    Args:
        ops: the function.
        reverse: call it for the last place first.
    """

    nested = True

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise TypeError(f"For '{type(self).__name__}', {ops!r} is not a function")
        self.function, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        function, sequences = self.function, args
        if function is None:
            if not args:
                raise TypeError(f"'{type(self).__name__}' needs a function and its arguments")
            function, sequences = args[0], args[1:]
        return self._map(function, sequences)

    def _map(self, function: Callable[..., Any], sequences: tuple[Any, ...]) -> Any:
        first = sequences[0]
        if not isinstance(first, (tuple, list)):
            return function(*sequences)
        lengths = {len(s) for s in sequences}
        if len(lengths) != 1:
            raise ValueError(
                f"For '{type(self).__name__}', the sequences should have one length, but got "
                f"{sorted(lengths)}"
            )
        rows = list(zip(*sequences, strict=True))
        inner = self._map if self.nested else (lambda f, row: f(*row))
        mapped = [inner(function, row) for row in (reversed(rows) if self.reverse else rows)]
        if self.reverse:
            mapped.reverse()
        return mapped if isinstance(first, list) else tuple(mapped)


class Map(HyperMap):
    """:class:`HyperMap` that looks at one level of the sequences only.

    Args:
        ops: the function for each; None where it is given in the call.
        reverse: begin with the last ones.
    """

    nested = False


def partial(func: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """``func`` with its first arguments given."""
    if not callable(func):
        raise TypeError(f"For 'partial', {func!r} is not a function")
    return functools.partial(func, *args)


_KINDS = {
    "Number": (bool, int, float, complex), "Bool": (bool,), "Int": (int,), "Float": (float,),
    "Int32": (int,), "Int64": (int,), "Float32": (float,), "Float64": (float,),
    "String": (str,), "Tuple": (tuple,), "List": (list,), "Dictionary": (dict,), "None": (),
}  # fmt: skip


class MultitypeFuncGraph:
    """A function with a body for each kind of arguments: ``@graph.register("Tensor", "Number")``.

    Kinds: Tensor, RowTensor, COOTensor, CSRTensor, Parameter, Number, Bool, Int, Float, String,
    Tuple, List, Dictionary, Function.

    Args:
        name: for error messages.
        read_value, doc_url: of no effect.
    """

    def __init__(self, name: str, read_value: bool = False, doc_url: str = "") -> None:
        self.name = name
        self.entries: list[tuple[tuple[str, ...], Callable[..., Any]]] = []

    def register(self, *type_names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator: the body for arguments of these kinds."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((type_names, function))
            return function

        return add

    def __call__(self, *args: Any) -> Any:
        for kinds, function in self.entries:
            if len(kinds) == len(args) and all(map(_is_kind, args, kinds)):
                return function(*args)
        given = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"For 'MultitypeFuncGraph', {self.name!r} has no body for ({given})")


def _is_kind(value: Any, kind: str) -> bool:
    if kind in ("Tensor", "Parameter", "Ref"):
        return isinstance(value, EngineTensor)
    if kind.endswith("Tensor"):
        return type(value).__name__ == kind  # of sparse ones
    if kind == "Function":
        return callable(value)
    if kind not in _KINDS:
        raise TypeError(f"For 'MultitypeFuncGraph', the kind {kind!r} is not known")
    return isinstance(value, _KINDS[kind]) if kind != "None" else value is None


# --- writes ------------------------------------------------------------------------------------


def assign(variable: Any, value: Any) -> Any:
    """Overwrite ``variable``, a parameter or a rate of an optimizer's group; returns it.

    Args:
        value: a tensor or number of its shape.
    """
    if isinstance(variable, Rate):
        exact = isinstance(value, (int, float))
        return variable.assign(float(value if exact else as_tensor(value).item()))
    _check_variable("assign", variable)
    with api.grad_mode(False):
        inplace.copy_(variable, as_tensor(value))
    return variable


def assign_add(variable: Any, value: Any) -> Any:
    """Add ``value`` to ``variable`` in place; returns it."""
    if isinstance(variable, Rate):
        return variable.assign(variable + float(as_tensor(value).item()))
    _check_variable("assign_add", variable)
    with api.grad_mode(False):
        inplace.copy_(variable, t.add(variable.detach(), as_tensor(value)))
    return variable


def assign_sub(variable: Any, value: Any) -> Any:
    """Subtract ``value`` from ``variable`` in place; returns it."""
    if isinstance(variable, Rate):
        return variable.assign(variable - float(as_tensor(value).item()))
    _check_variable("assign_sub", variable)
    with api.grad_mode(False):
        inplace.copy_(variable, t.sub(variable.detach(), as_tensor(value)))
    return variable


def _check_variable(name: str, variable: Any) -> None:
    if not isinstance(variable, EngineTensor):
        raise TypeError(
            f"For '{name}', the 'variable' must be a Parameter or Tensor, but got "
            f"{type(variable).__name__}"
        )


# --- limits ------------------------------------------------------------------------------------


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Elements held between the limits; of one tensor, or of each in a tuple or list.

    Args:
        clip_value_min, clip_value_max: the limits, numbers or tensors; None for none.

    Raises:
        ValueError: no limit is given.
    """
    if clip_value_min is None and clip_value_max is None:
        raise ValueError(
            "For 'clip_by_value', at least one of 'clip_value_min' or 'clip_value_max' must not be "
            "None"
        )
    if isinstance(x, (tuple, list)):
        return type(x)([clip_by_value(each, clip_value_min, clip_value_max) for each in x])
    result = x
    if clip_value_min is not None:
        low = as_tensor(clip_value_min)
        result = t.maximum(result, low.to(x.dtype))
    if clip_value_max is not None:
        result = t.minimum(result, as_tensor(clip_value_max).to(x.dtype))
    return result


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: Any = None) -> Any:
    """``x_i clip_norm / max(norm, clip_norm)``, the norm that of all elements of all tensors.

    Args:
        use_norm: not supported, as in MindSpore.

    Raises:
        ValueError: ``use_norm`` is given.
    """
    if use_norm is not None:
        raise ValueError(
            "For 'clip_by_global_norm', the input of use_norm is not supported, it must be None."
        )
    gradients = tuple(x)
    if not gradients:
        return ()
    limit = float(clip_norm)
    if limit <= 0:
        raise ValueError(f"For 'clip_by_global_norm', 'clip_norm' must be > 0, but got {clip_norm}")
    if fits(gradients) and not any(g._node is not None for g in gradients):
        factor: Any = limit / _larger(global_norm(gradients), limit)
    else:
        squares = sum(t.sum(t.square(g.float())) for g in gradients)
        factor = limit / t.clamp(t.sqrt(squares), min=limit)
    return tuple((g * factor).to(g.dtype) for g in gradients)


def _larger(a: float, b: float) -> float:
    """max(a, b), NaN when a is one."""
    return b if a <= b else a


def clip_by_norm(
    x: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Any:
    """Tensors scaled so that their common norm is at most ``max_norm``:
    ``x_i min(1, max_norm / (norm + 1e-6))``. A tensor gives a tensor, a list a list.

    Args:
        norm_type: the order of the norm.
        error_if_nonfinite: RuntimeError where it is no finite number.
    """
    gradients = [x] if isinstance(x, EngineTensor) else list(x)
    if not gradients:
        return x
    total = get_total_norm([g.float() for g in gradients], norm_type, error_if_nonfinite)
    factor = t.clamp(float(max_norm) / (total + 1e-6), max=1.0)
    clipped = [(g * factor).to(g.dtype) for g in gradients]
    return clipped[0] if isinstance(x, EngineTensor) else type(x)(clipped)
