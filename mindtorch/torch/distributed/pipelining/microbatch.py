"""A batch cut into microbatches, and what they give put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """Along which axis a tensor is cut, or parts are joined.

    Args:
        split_dim: the axis.
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __repr__(self) -> str:
        home = type(self).__module__.removeprefix("mindtorch.")
        return f"{home}.{type(self).__name__}({self.split_dim})"

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> tuple[TensorChunkSpec, ...]:
        """A spec for each positional argument.

        Args:
            chunk_dims: their axes, nested as the arguments are.
        """
        specs: tuple[TensorChunkSpec, ...] = tree_map(TensorChunkSpec, tuple(chunk_dims))
        return specs

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> dict[str, TensorChunkSpec]:
        """A spec for each keyword argument.

        Args:
            chunk_dims: their axes.
        """
        specs: dict[str, TensorChunkSpec] = tree_map(TensorChunkSpec, dict(chunk_dims))
        return specs


class _Replicate:
    """Every microbatch gets the same value."""


class _CustomReducer:
    """Parts are put together by a function.

    Args:
        init_value: what the first part is combined with.
        reduce_fn: gives the combination of two values.
    """

    def __init__(self, init_value: Any, reduce_fn: Callable[[Any, Any], Any]) -> None:
        self.init_value = init_value
        self.reduce_fn = reduce_fn


class _LossReducer(_CustomReducer):
    """:class:`_CustomReducer` for losses."""


sum_reducer = _LossReducer(torch.tensor(0.0), lambda total, part: total + part)


def split_tensor(tensor: Any, axis: int, count: int) -> Sequence[Any]:
    """``count`` parts of a tensor; their lengths differ by one at most.

    Raises:
        AssertionError: the axis is shorter than that.
    """
    if tensor.size(axis) < count:
        raise AssertionError(f"Tensor size {tensor.size(axis)} is smaller than num_chunks")
    parts: Sequence[Any] = torch.tensor_split(tensor, count, axis)
    if tensor.requires_grad and tensor.is_leaf:
        for part in parts:
            part.retain_grad()
    return parts


def _default(value: Any) -> Any:
    return TensorChunkSpec(0) if isinstance(value, EngineTensor) else _Replicate()


def _is_replicated(spec: Any) -> bool:
    return spec is _Replicate or isinstance(spec, _Replicate)


def _pieces(values: list[Any], specs: list[Any], chunks: int) -> list[list[Any]]:
    """For every value its parts, as many for all: fewer than ``chunks`` where an axis is shorter.

    Raises:
        ValueError: a value that is no tensor has the spec of one.
    """
    count = chunks
    for value, spec in zip(values, specs, strict=True):
        if _is_replicated(spec):
            continue
        if not (isinstance(value, EngineTensor) and isinstance(spec, TensorChunkSpec)):
            raise ValueError(f"Unsupported chunk spec: {spec} and value: {value} combination.")
        count = min(count, value.size(spec.split_dim))
    return [
        [value] * count
        if _is_replicated(spec)
        else list(split_tensor(value, spec.split_dim, count))
        for value, spec in zip(values, specs, strict=True)
    ]


def split_args_kwargs_into_chunks(
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    chunks: int,
    args_chunk_spec: Any = None,
    kwargs_chunk_spec: Any = None,
) -> tuple[list[tuple[Any, ...]], list[dict[str, Any]]]:
    """The arguments of each microbatch.

    Args:
        args, kwargs: those of the batch.
        chunks: how many microbatches; fewer are made where an axis is shorter.
        args_chunk_spec, kwargs_chunk_spec: a TensorChunkSpec, or ``_Replicate``, for each value,
            nested as the arguments are; None cuts tensors along axis 0 and repeats the rest.

    Raises:
        ValueError: a spec for a value that cannot be cut.
        AssertionError: there are not as many specs as arguments.
    """
    given = {"args": list(args), "kwargs": dict(kwargs or {})}
    specs = {
        "args": tree_map(_default, list(args)) if args_chunk_spec is None
        else list(args_chunk_spec),
        "kwargs": tree_map(_default, dict(kwargs or {})) if kwargs_chunk_spec is None
        else {k: kwargs_chunk_spec.get(k, None) for k in (kwargs or {})},
    }  # fmt: skip
    for name, value in given.items():
        own = {"args": args_chunk_spec, "kwargs": kwargs_chunk_spec}[name]
        if value and own is not None and len(own) != len(value):
            raise AssertionError(f"{name} = {value} {name}_chunk_spec = {own}")
    values, tree = tree_flatten(given)
    pieces = _pieces(values, tree_flatten(specs)[0], chunks)
    count = len(pieces[0]) if pieces else chunks
    made = [tree_unflatten([piece[i] for piece in pieces], tree) for i in range(count)]
    return [tuple(each["args"]) for each in made], [each["kwargs"] for each in made]


def merge_chunks(chunks: list[Any], chunk_spec: Any) -> Any:
    """One value of those of the microbatches.

    Args:
        chunks: a value, or nested values, of each microbatch.
        chunk_spec: for each value how it is put together: a TensorChunkSpec joins tensors, a
            reducer combines, anything else must be the same in all. None joins along axis 0.

    Raises:
        ValueError: a microbatch's values are not nested as the specs are.
        AssertionError: values that must be the same are not.
    """
    if chunk_spec is None:
        first, tree = tree_flatten(chunks[0])
        specs: list[Any] = [TensorChunkSpec(0)] * len(first)
    else:
        specs, tree = tree_flatten(chunk_spec)
    rows = [tree_flatten(chunk)[0] for chunk in chunks]
    for chunk, row in zip(chunks, rows, strict=True):
        if len(row) != len(specs):
            raise ValueError(f"Chunk {chunk} did not match chunk spec {chunk_spec}")
    merged = [_merged([row[i] for row in rows], spec) for i, spec in enumerate(specs)]
    return tree_unflatten(merged, tree)


def _merged(parts: list[Any], spec: Any) -> Any:
    if isinstance(spec, TensorChunkSpec):
        return torch.cat(parts, dim=spec.split_dim)
    if isinstance(spec, _CustomReducer):
        total = spec.init_value
        for part in parts:
            total = spec.reduce_fn(total, part)
        return total
    for part in parts[1:]:
        if part != parts[0]:
            raise AssertionError(f"Expected {parts[0]}, got {part}")
    return parts[0]
