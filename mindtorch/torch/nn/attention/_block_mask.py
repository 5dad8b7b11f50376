"""Masks of attention that say which blocks of scores are needed at all."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch.torch as _namespace

torch: Any = _namespace
DEFAULT_BLOCK = 128
# torch's size of the one block of calls that give no mask
WHOLE = 1 << 30


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """True: nothing is masked."""
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def sliced(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """The function of a part of a mask, whose indices are no longer those of the whole."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. If you sliced a BlockMask, make sure to "
        "assign a new mask_mod to it: the old one was given indices from the whole mask."
    )


def over_indices(function: Callable[..., Any], scored: bool) -> Callable[..., Any]:
    """``function([score,] b, h, q, kv)`` of numbers, as one of ranges and (b, h, q, kv) scores."""
    prefix = (0,) if scored else ()
    for place in (3, 2, 1, 0):
        places = tuple(0 if i == place else None for i in range(4))
        function = torch.vmap(function, in_dims=prefix + places)
    return function


def _dense(counts: Any, indices: Any) -> Any:
    """(..., rows, columns) of 0 and 1: the first ``counts`` of each row of ``indices`` are set."""
    columns = indices.shape[-1]
    wanted = torch.arange(columns, device=indices.device) < counts.unsqueeze(-1)
    made = torch.zeros(indices.shape, dtype=torch.int32, device=indices.device)
    return made.scatter_add(-1, indices.long(), wanted.to(torch.int32)).clamp(max=1)


def ordered_blocks(dense: Any) -> tuple[Any, Any]:
    """(how many of each row are set, the columns with those that are set first)."""
    dense = dense.to(torch.int32)
    order = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(dim=-1).to(torch.int32), order.to(torch.int32)


def _transposed(counts: Any, indices: Any) -> tuple[Any, Any]:
    if counts is None:
        return None, None
    return ordered_blocks(_dense(counts, indices).transpose(-2, -1))


def _cropped(counts: Any, indices: Any, rows: int, columns: int) -> tuple[Any, Any]:
    if counts is None:
        return None, None
    indices, counts = indices[:, :, :rows, :columns], counts[:, :, :rows].clamp(max=columns)
    return (indices < counts[..., None]).sum(dim=-1).to(torch.int32), indices


_PARTS = (
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
    "q_indices", "full_q_num_blocks", "full_q_indices",
)  # fmt: skip


class BlockMask:
    """Which blocks of (b, h, q, kv) scores are computed, and the mask within them.

    Attributes:
        seq_lengths: (q, kv).
        kv_num_blocks, kv_indices: for each row of blocks, how many have to be masked, and which.
        full_kv_num_blocks, full_kv_indices: those that need no mask, or None.
        q_num_blocks, ...: the same by columns, or None.
        BLOCK_SIZE: (q, kv).
        mask_mod: a function of (b, h, q, kv) that says whether a score is wanted.
    """

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Any, kv_indices: Any,
        full_kv_num_blocks: Any, full_kv_indices: Any, q_num_blocks: Any, q_indices: Any,
        full_q_num_blocks: Any, full_q_indices: Any,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK, DEFAULT_BLOCK),
        mask_mod: Callable[..., Any] = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for name, counts, indices in (
            ("kv", full_kv_num_blocks, full_kv_indices), ("q", full_q_num_blocks, full_q_indices)
        ):  # fmt: skip
            if (counts is None) != (indices is None):
                raise AssertionError(
                    f"full_{name}_num_blocks and full_{name}_indices must be both provided or "
                    "omitted"
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Any, kv_indices: Any, full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,
        mask_mod: Callable[..., Any] | None = None, seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> Any:  # fmt: skip
        """A mask from its rows, (b, h, rows) counts and (b, h, rows, columns) indices; its columns
        are derived unless ``compute_q_blocks`` is False."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both provided or omitted"
            )
        columns: tuple[Any, ...] = (None,) * 4
        if compute_q_blocks:
            columns = (
                *_transposed(kv_num_blocks, kv_indices),
                *_transposed(full_kv_num_blocks, full_kv_indices),
            )
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        rows = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        parts = dict(zip(_PARTS, (*rows, *columns), strict=True))
        return cls(seq_lengths, **parts, BLOCK_SIZE=size, mask_mod=mask_mod or noop_mask)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All parts, the lengths first and the function last."""
        parts = tuple(getattr(self, name) for name in _PARTS)
        if flatten:
            return (*self.seq_lengths, *parts, *self.BLOCK_SIZE, self.mask_mod)
        return (self.seq_lengths, *parts, self.BLOCK_SIZE, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many scores there are, masked ones too."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of scores in blocks that are left out."""
        computed = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            computed += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - computed * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Any:
        """(b, h, rows, columns): 1 for each block that is computed."""
        partial = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return partial
        return partial | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def wanted(self, sizes: Sequence[int], device: Any) -> Any:
        """(b or 1, h or 1, q, kv) of bool: the scores that count, for ``sizes`` (b, h, q, kv)."""
        ranges = [torch.arange(n, device=device) for n in sizes]
        inside = over_indices(self.mask_mod, False)(*ranges)
        if self.BLOCK_SIZE[0] >= WHOLE:
            return inside
        full = self.full_kv_num_blocks is not None
        blocks = self._scores(_dense(self.kv_num_blocks, self.kv_indices), sizes) & inside
        if not full:
            return blocks
        return blocks | self._scores(_dense(self.full_kv_num_blocks, self.full_kv_indices), sizes)

    def _scores(self, dense: Any, sizes: Sequence[int]) -> Any:
        rows, columns = self.BLOCK_SIZE
        spread = dense.bool().repeat_interleave(rows, -2).repeat_interleave(columns, -1)
        return spread[..., : sizes[2], : sizes[3]]

    def __getitem__(self, index: Any) -> Any:
        """The mask of some of the batch, the heads and the rows of blocks; axes are kept."""
        given = index if isinstance(index, tuple) else (index,)
        padded = (*given, slice(None), slice(None), slice(None))[:3]
        places = tuple(
            (slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1)) if isinstance(i, int)
            else i
            for i, n in zip(padded, self.kv_num_blocks.shape[:3], strict=True)
        )  # fmt: skip
        full = self.full_kv_num_blocks is not None
        return BlockMask.from_kv_blocks(
            self.kv_num_blocks[places], self.kv_indices[places],
            self.full_kv_num_blocks[places] if full else None,
            self.full_kv_indices[places] if full else None,
            self.BLOCK_SIZE, sliced, self.seq_lengths, self.q_indices is not None,
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int) -> Any:
        rows, columns = (
            -(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        )
        return BlockMask.from_kv_blocks(
            *_cropped(self.kv_num_blocks, self.kv_indices, rows, columns),
            *_cropped(self.full_kv_num_blocks, self.full_kv_indices, rows, columns),
            self.BLOCK_SIZE, self.mask_mod, (new_q_len, new_kv_len), self.q_indices is not None,
        )  # fmt: skip

    def to(self, device: Any) -> Any:
        """The mask with its tensors on ``device``."""
        held = {name: getattr(self, name) for name in _PARTS}
        parts = {name: None if p is None else p.to(device) for name, p in held.items()}
        return BlockMask(
            self.seq_lengths, **parts, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod
        )

    def __str__(self) -> str:
        drawn = self.to_string().strip()
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{drawn}\n)"

    def __repr__(self) -> str:
        lines = []
        for name in _PARTS:
            part = getattr(self, name)
            lines.append(f"    {name}={None if part is None else part.shape},\n")
        function = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (
            f"BlockMask(\n{''.join(lines)}    BLOCK_SIZE={self.BLOCK_SIZE},\n"
            f"    shape={self.shape},\n    sparsity={self.sparsity():.2f}%,\n"
            f"    mask_mod={function}\n)"
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A drawing: two characters for each block, or for a square of blocks where there are more
        than ``grid_size``; of the first ``limit`` batches and heads."""
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [max(1, -(-n // m)) for n, m in zip((rows, columns), most, strict=True)]
        drawn = []
        for number, place in enumerate(itertools.product(*(range(n) for n in batch))):
            if number == limit:
                drawn += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or "
                    "head",
                ]
                break
            one = dense[place]
            lines = [
                "".join(
                    _shade(one[r : r + steps[0], c : c + steps[1]])
                    for c in range(0, columns, steps[1])
                )
                for r in range(0, rows, steps[0])
            ]
            drawn.append(f"{place}\n" + "".join(f"{line}\n" for line in lines))
        return "\n".join(drawn)


def _shade(blocks: Any) -> str:
    share = blocks.float().mean().item()
    return "██" if share == 1 else "  " if share == 0 else "░░"


def _combined(masks: tuple[Any, ...], name: str) -> Callable[..., Any]:
    if not all(callable(mask) for mask in masks):
        raise RuntimeError(f"All inputs should be callable mask_mods: {masks}")
    both = name == "and"

    def combined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        start = (b.new_ones if both else b.new_zeros)((), dtype=torch.bool)
        rows = (mask(b, h, q_idx, kv_idx) for mask in masks)
        return functools.reduce(lambda x, y: x & y if both else x | y, rows, start)

    combined.__name__ = f"{name}_mask"
    return combined


def or_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is true where one of the given ones is."""
    return _combined(mask_mods, "or")


def and_masks(*mask_mods: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is true where all of the given ones are."""
    return _combined(mask_mods, "and")
