"""Context parallel: sequences cut over processes, and attention over all of their parts.

Keys and values go round, or are gathered at once; what each block of them gives is combined by the
logarithms of its sums (Liu et al. 2023, "Ring Attention with Blockwise Transformers").
"""

from __future__ import annotations

import contextlib
import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.autograd import Function
from mindtorch.torch.autograd.function import once_differentiable
from mindtorch.torch.nn import functional

from ... import distributed_c10d as c10d

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]


class _RotateMethod(enum.Enum):
    ALL_TO_ALL = 1
    ALL_GATHER = 2


class _Options:
    """How sequences are cut, and keys and values exchanged.

    Attributes:
        enable_load_balance: whether a process has one chunk from the front and one from the end,
            so that all have as many pairs under a causal mask.
        rotate_method: all at once, or one block after another.
    """

    enable_load_balance = True
    rotate_method = _RotateMethod.ALL_GATHER


_cp_options = _Options()


def set_rotate_method(rotate_method: str) -> None:
    """How keys and values come to the queries.

    Args:
        rotate_method: "allgather", all at once; or "alltoall", round the processes, so that none
            has more than two blocks at a time.

    Raises:
        NotImplementedError: another one.
    """
    names = {"allgather": _RotateMethod.ALL_GATHER, "alltoall": _RotateMethod.ALL_TO_ALL}
    if rotate_method not in names:
        raise NotImplementedError(
            f"Context Parallel does not support using {rotate_method} for kv shards rotation"
        )
    _cp_options.rotate_method = names[rotate_method]


def _rows(length: int, rank: int, size: int, balanced: bool) -> Any:
    """The places in the whole sequence of a process's part.

    Raises:
        ValueError: the sequence is not divided.
    """
    chunks = 2 * size if balanced else size
    if length % chunks:
        raise ValueError(
            f"a sequence of {length} cannot be cut into {chunks} chunks for {size} processes"
        )
    each = length // chunks
    own = (rank, chunks - 1 - rank) if balanced else (rank,)
    return torch.cat([torch.arange(k * each, (k + 1) * each) for k in own])


@dataclass
class _Ring:
    """The processes that have parts of the sequence.

    Args:
        group: the processes.
        causal: whether a query sees the keys up to its own place.
        scale: of the scores.
        balanced, method: as in :class:`_Options` when forward ran.
    """

    group: Any
    causal: bool
    scale: float
    balanced: bool
    method: _RotateMethod

    def __post_init__(self) -> None:
        self.size, self.rank = c10d.get_world_size(self.group), c10d.get_rank(self.group)

    def passed_on(self, tensors: list[Any]) -> list[Any]:
        """Send to the next process; what the one before sends."""
        there = c10d.get_global_rank(self.group, (self.rank + 1) % self.size)
        back = c10d.get_global_rank(self.group, (self.rank - 1) % self.size)
        received = [torch.empty_like(x) for x in tensors]
        calls = [c10d.P2POp(c10d.isend, x, there, self.group) for x in tensors]
        calls += [c10d.P2POp(c10d.irecv, x, back, self.group) for x in received]
        for work in c10d.batch_isend_irecv(calls):
            work.wait()
        return received

    def gathered(self, x: Any) -> list[Any]:
        """Of all processes."""
        parts = [torch.empty_like(x) for _ in range(self.size)]
        c10d.all_gather(parts, x, group=self.group)
        return parts

    def scores(self, query: Any, key: Any, owner: int) -> Any:
        """Of the own queries and the keys of ``owner``; None where no query may look at any."""
        found = query.matmul(key.transpose(-1, -2)) * self.scale
        if not self.causal:
            return found
        length = query.size(-2) * self.size
        own = _rows(length, self.rank, self.size, self.balanced)
        theirs = _rows(length, owner, self.size, self.balanced)
        barred = own[:, None] < theirs[None, :]
        return None if bool(barred.all()) else found.masked_fill(barred, -math.inf)

    def forward_blocks(self, key: Any, value: Any) -> Iterator[tuple[int, Any, Any]]:
        """(owner, keys, values) of all processes, the own ones first."""
        if self.method is _RotateMethod.ALL_GATHER:
            keys, values = self.gathered(key), self.gathered(value)
            for step in range(self.size):
                owner = (self.rank - step) % self.size
                yield owner, keys[owner], values[owner]
            return
        block = [key, value]
        for step in range(self.size):
            yield (self.rank - step) % self.size, *block
            if step < self.size - 1:
                block = self.passed_on(block)


class _RingAttention(Function):
    @staticmethod
    def forward(ctx: Any, ring: _Ring, query: Any, key: Any, value: Any) -> Any:
        result = sums = None
        for owner, keys, values in ring.forward_blocks(key, value):
            scores = ring.scores(query, keys, owner)
            if scores is None:
                continue
            own = scores.logsumexp(-1, keepdim=True)
            after = own if sums is None else torch.logaddexp(sums, own)
            part = (scores - after).exp().matmul(values)
            result = part if result is None else result * (sums - after).exp() + part
            sums = after
        ctx.ring = ring
        ctx.save_for_backward(query, key, value, result, sums)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Any) -> Any:
        query, key, value, result, sums = ctx.saved_tensors
        ring = ctx.ring
        rest = (gradient * result).sum(-1, keepdim=True)
        of_query = torch.zeros_like(query)

        def of_block(keys: Any, values: Any, owner: int) -> tuple[Any, Any]:
            scores = ring.scores(query, keys, owner)
            if scores is None:
                return torch.zeros_like(keys), torch.zeros_like(values)
            weights = (scores - sums).exp()
            slopes = weights * (gradient.matmul(values.transpose(-1, -2)) - rest) * ring.scale
            of_query.add_(slopes.matmul(keys))
            return (slopes.transpose(-1, -2).matmul(query),
                    weights.transpose(-1, -2).matmul(gradient))  # fmt: skip

        found = _gradients_of_blocks(ring, key, value, of_block)
        return None, of_query, *found


def _gradients_of_blocks(ring: _Ring, key: Any, value: Any, of_block: Any) -> list[Any]:
    """The sums over all processes of what they find for this one's keys and values."""
    if ring.method is _RotateMethod.ALL_GATHER:
        keys, values = ring.gathered(key), ring.gathered(value)
        pairs = [of_block(keys[n], values[n], n) for n in range(ring.size)]
        sums = []
        for place, own in enumerate((key, value)):
            total = torch.empty_like(own)
            c10d.reduce_scatter(total, [pair[place] for pair in pairs], group=ring.group)
            sums.append(total)
        return sums
    block = [key, value, torch.zeros_like(key), torch.zeros_like(value)]
    for step in range(ring.size):
        found = of_block(block[0], block[1], (ring.rank - step) % ring.size)
        block = [*block[:2], *(x + y for x, y in zip(block[2:], found, strict=True))]
        block = ring.passed_on(block)
    return block[2:]  # after a whole round they are home


@contextlib.contextmanager
def _over_all_parts(group: Any) -> Iterator[None]:
    """Have the public function of attention look at the parts of all processes."""
    names = "scaled_dot_product_attention", "multi_head_attention_forward"
    before = {name: getattr(functional, name) for name in names}

    def attention(*args: Any, **kwargs: Any) -> Any:
        return _attention(group, *args, **kwargs)

    functional.scaled_dot_product_attention = attention
    functional.multi_head_attention_forward = _refused
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(functional, name, function)


def _refused(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        "context_parallel: nn.MultiheadAttention would look at its own part of the sequence; use "
        "torch.nn.functional.scaled_dot_product_attention"
    )


def _attention(
    group: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """``scaled_dot_product_attention`` over all parts of the sequence."""
    if attn_mask is not None or dropout_p:
        raise NotImplementedError(
            "context_parallel: attention with attn_mask or dropout_p; is_causal is available"
        )
    if is_causal and query.size(-2) != key.size(-2):
        raise ValueError(
            f"context_parallel: is_causal of {query.size(-2)} queries and {key.size(-2)} keys"
        )
    if enable_gqa:
        count = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(count, -3), value.repeat_interleave(count, -3)
    kind = query.dtype
    if kind in (torch.float16, torch.bfloat16):
        query, key, value = query.float(), key.float(), value.float()
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else float(scale)
    options = _cp_options
    ring = _Ring(group, bool(is_causal), factor, options.enable_load_balance, options.rotate_method)
    parts = (x.contiguous() for x in (query, key, value))
    return _RingAttention.apply(ring, *parts).to(kind)


def _check(mesh: Any, buffers: list[Any], seq_dims: list[int]) -> Any:
    if mesh.ndim != 1:
        raise NotImplementedError(f"context_parallel: a mesh of {mesh.ndim} axes; give one of them")
    if len(seq_dims) != len(buffers):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    return mesh.get_group()


@contextlib.contextmanager
def context_parallel(
    mesh: Any, *, buffers: list[Any] | None = None, buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[Any] | None = None,
) -> Iterator[None]:  # fmt: skip
    """A block in which sequences are cut over processes.

    ``F.scaled_dot_product_attention`` is exchanged for one over the parts of all processes; what
    was called within is so in backward, too. ``nn.MultiheadAttention`` raises.

    Args:
        mesh: one axis of processes.
        buffers: tensors with a sequence's axis, the same in all processes: they become this
            process's parts, and are whole again at the end.
        buffer_seq_dims: the axis of each.
        no_restore_buffers: those that stay cut.

    Raises:
        NotImplementedError: a mesh of several axes; within, attn_mask and dropout_p.
        ValueError: a sequence that the processes do not divide, not as many axes as buffers, or
            ``no_restore_buffers`` that are none of them.
    """
    cut, dims = list(buffers or []), list(buffer_seq_dims or [])
    group = _check(mesh, cut, dims)
    kept = {id(x) for x in no_restore_buffers or ()}
    if kept - {id(x) for x in cut}:
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    size, rank, balanced = mesh.size(), mesh.get_local_rank(), _cp_options.enable_load_balance
    parts = [
        x.detach().index_select(dim, _rows(x.size(dim), rank, size, balanced))
        for x, dim in zip(cut, dims, strict=True)
    ]
    wholes = [x.detach() for x in cut]
    for x, part in zip(cut, parts, strict=True):
        x.data = part
    try:
        with _over_all_parts(group):
            yield
    finally:
        for x, whole in zip(cut, wholes, strict=True):
            if id(x) not in kept:
                x.data = whole


def context_parallel_unshard(
    mesh: Any, buffers: list[Any], seq_dims: list[int], load_balancer: Any = None
) -> list[Any]:
    """The whole tensors whose parts ``context_parallel`` gave the processes; without gradients.

    Args:
        mesh, seq_dims: as of :func:`context_parallel`.
        buffers: this process's parts.
        load_balancer: None; the cut is what ``_cp_options`` says.

    Raises:
        NotImplementedError: a ``load_balancer``.
        ValueError: not as many axes as buffers.
    """
    if load_balancer is not None:
        raise NotImplementedError("context_parallel_unshard(load_balancer=...) is not available")
    group, size = _check(mesh, buffers, seq_dims), mesh.size()
    wholes = []
    for x, dim in zip(buffers, seq_dims, strict=True):
        own = x.detach().contiguous()
        parts = [torch.empty_like(own) for _ in range(size)]
        c10d.all_gather(parts, own, group=group)
        length = own.size(dim) * size
        order = [_rows(length, n, size, _cp_options.enable_load_balance) for n in range(size)]
        wholes.append(torch.cat(parts, dim).index_select(dim, torch.cat(order).argsort()))
    return wholes
