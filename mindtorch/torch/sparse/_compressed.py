"""Matrices compressed along rows or columns: CSR and CSC, of blocks BSR and BSC, and batches.

A tensor has batch axes B, nnz elements in each matrix, blocks of r x c, and dense axes D. `places`
is (2, B..., nnz), rows before columns and counted in blocks; `compressed` is (B..., lines + 1);
`held` is (B..., nnz, [r, c], D...).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mindtorch.engine.tensor import from_array

from .._api.arguments import normalize_axis
from .._tensor.size_and_formats import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr


class Form(NamedTuple):
    """Of a compressed layout: its name in torch's messages, and what a line and an element are."""

    title: str
    by_row: bool
    blocks: bool

    @property
    def names(self) -> tuple[str, str]:
        """Of the two lists of indices, the compressed one first."""
        return ("crow", "col") if self.by_row else ("ccol", "row")


FORMS = {
    sparse_csr: Form("SparseCsr", True, False), sparse_csc: Form("SparseCsc", False, False),
    sparse_bsr: Form("SparseBsr", True, True), sparse_bsc: Form("SparseBsc", False, True),
}  # fmt: skip
EXCHANGED = {
    sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr,
    sparse_coo: sparse_coo,
}  # fmt: skip


def title_of(x: Any) -> str:
    """The layout as torch's messages have it: ``SparseCsr``."""
    return FORMS[x.layout].title if x.layout in FORMS else "Sparse"


def _indices(array: Any) -> Any:
    return from_array(np.ascontiguousarray(array, np.int64))


def _starts(lines: Any, count: int) -> Any:
    """Where each of ``count`` lines begins among elements that are ordered by line, and the end."""
    return np.concatenate([[0], np.cumsum(np.bincount(lines, minlength=count))])


def from_dense(
    x: Any, kind: Any, blocksize: tuple[int, int] | None, dense_dim: int, stored: Any = None
) -> tuple[Any, Any, Any]:
    """(places, held, compressed) of a dense tensor (B..., rows, columns, D...).

    Args:
        blocksize: of BSR and BSC.
        dense_dim: how many of the last axes are kept whole.
        stored: a bool array (B..., lines of blocks...) of what is stored; None: what is not 0.

    Raises:
        RuntimeError: the matrices of a batch differ in the number of elements.
    """
    shape = x.aval.shape
    count = len(shape) - dense_dim
    batch, (rows, columns), dense = shape[: count - 2], shape[count - 2 : count], shape[count:]
    if blocksize is not None:
        r, c = blocksize
        rows, columns = rows // r, columns // c
        b, n = len(batch), len(shape)
        x = x.reshape((*batch, rows, r, columns, c, *dense)).permute(
            (*range(b), b, b + 2, b + 1, b + 3, *range(b + 4, n + 2))
        )
    if stored is None:
        filled = x.detach().array() != 0
        stored = filled.any(tuple(range(len(batch) + 2, filled.ndim)))
    by_row = FORMS[kind].by_row
    flat = stored.reshape((-1, rows, columns))
    found = [np.nonzero(each if by_row else each.T) for each in flat]
    if len({len(lines) for lines, _ in found}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    nnz = len(found[0][0]) if found else 0
    pairs = np.array(found, np.int64).reshape((*batch, 2, nnz))
    lines, others = np.moveaxis(pairs, -2, 0)
    places = np.stack([lines, others] if by_row else [others, lines])
    starts = np.array([_starts(line, rows if by_row else columns) for line, _ in found], np.int64)
    outer = np.ix_(*(np.arange(size) for size in batch)) if batch else ()
    at = tuple(_indices(np.broadcast_to(o[..., None], lines.shape)) for o in outer)
    both = _indices(places)
    held = x[(*at, both[0], both[1])]
    return both, held, _indices(starts.reshape((*batch, -1)))


def expanded(x: Any) -> Any:
    """A compressed tensor as COO, in the order stored: each element of a block has a place."""
    rows, columns = x.places.array()
    form, batch = FORMS[x.layout], x.places.aval.shape[1:-1]
    if form.blocks:
        r, c = x.blocksize
        rows = rows[..., None, None] * r + np.arange(r)[:, None]
        columns = columns[..., None, None] * c + np.arange(c)
        rows, columns = np.broadcast_arrays(rows, columns)
    outer = np.ix_(*(np.arange(size) for size in batch)) if batch else ()
    more = (None,) * (rows.ndim - len(batch))
    at = [np.broadcast_to(o[(..., *more)], rows.shape) for o in outer]
    flat = np.stack([each.reshape(-1) for each in (*at, rows, columns)])
    held = x.held.reshape((-1, *x.held.aval.shape[rows.ndim :]))
    return type(x)(_indices(flat), held, x.aval.shape, form.by_row and not form.blocks)


def compress(x: Any, kind: Any, blocksize: Any = None) -> Any:
    """A sparse tensor in the compressed layout ``kind``, with the same elements stored.

    Raises:
        RuntimeError: a conversion that torch does not have either.
    """
    form = FORMS[kind]
    _check_conversion(x, kind, blocksize)
    if kind is x.layout:
        return x
    batched = x.layout is not sparse_coo and x.places.aval.ndim > 2
    if batched or (x.layout is sparse_coo and x.aval.ndim - x.dense_dim() != 2):
        return _compress_batch(x, kind, blocksize)
    source = (x if x.layout is sparse_coo else expanded(x)).coalesce()
    rows, columns = source.places.array()
    sizes, held = source.aval.shape[:2], source.held
    if form.blocks:
        r, c = blocksize
        sizes = sizes[0] // r, sizes[1] // c
        keys, inverse = np.unique(rows // r * sizes[1] + columns // c, return_inverse=True)
        at = inverse.reshape(-1), rows % r, columns % c
        zeros = held.new_zeros((len(keys), r, c, *held.aval.shape[1:]))
        held = zeros.index_put(tuple(map(_indices, at)), held)
        rows, columns = np.divmod(keys, max(sizes[1], 1))
    lead, length = (rows, sizes[0]) if form.by_row else (columns, sizes[1])
    order = np.lexsort((columns, rows) if form.by_row else (rows, columns))
    places = _indices(np.stack([rows, columns])[:, order])
    starts = _indices(_starts(lead, length))
    return type(x)(places, held[_indices(order)], x.aval.shape, True, kind, starts)


def _compress_batch(x: Any, kind: Any, blocksize: Any) -> Any:
    """Through the dense tensor: with which elements are stored, not which are not 0."""
    if x.layout is sparse_coo:
        raise RuntimeError(
            f"coo_to_sparse_{FORMS[kind].title[-3:].lower()}: conversion from Sparse to "
            f"{FORMS[kind].title} for input tensors with sparse_dim()!=2 is not supported"
        )
    ones = x.like(x.held.detach().new_ones(x.held.aval.shape)).to_dense().array() != 0
    dense = x.dense_dim()
    stored = ones.any(tuple(range(ones.ndim - dense, ones.ndim)))
    if blocksize is not None:
        (r, c), (*batch, rows, columns) = blocksize, stored.shape
        stored = stored.reshape((*batch, rows // r, r, columns // c, c)).any((-3, -1))
    parts = from_dense(x.to_dense(), kind, blocksize, dense, stored)
    return type(x)(parts[0], parts[1], x.aval.shape, True, kind, parts[2])


def _check_conversion(x: Any, kind: Any, blocksize: Any) -> None:
    form, own = FORMS[kind], FORMS.get(x.layout)
    name = form.title[-3:].lower()
    if form.blocks:
        check_blocks("to_sparse_" + name, x, blocksize, x.dense_dim())
        if own is not None and own.blocks and tuple(blocksize) != x.blocksize:
            raise RuntimeError(
                f"to_sparse_{name}: conversion from {own.title} to {form.title} with blocksize "
                f"changed from {list(x.blocksize)} to {list(blocksize)} is not supported"
            )
    elif own is not None and own.blocks:
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{name}: expected SparseCsr or SparseCsc layout but got "
            f"{own.title}"
        )


def check_blocks(name: str, x: Any, blocksize: Any, dense_dim: int) -> None:
    """Raise torch's errors where blocks do not cut the matrix of ``x`` evenly.

    Args:
        name: of the conversion, which torch's text begins with.
        dense_dim: how many axes follow those of the matrix.
    """
    if len(blocksize) != 2:
        raise RuntimeError(
            f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}"
        )
    if min(blocksize) < 1:
        raise RuntimeError(
            f"{name}: blocksize needs to be positive, but got {list(blocksize)}"
        )
    count = x.aval.ndim - dense_dim
    rows, columns = x.aval.shape[count - 2 : count]
    if rows % blocksize[0] or columns % blocksize[1]:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({blocksize[0]},{blocksize[1]})"
        )


def transposed(x: Any, dim0: int, dim1: int) -> Any:
    """Rows and columns, or two batch axes, exchanged; CSR becomes CSC, BSR BSC."""
    first, second = sorted(normalize_axis(d, x.aval.ndim) for d in (dim0, dim1))
    if first == second:
        return x
    batch = x.places.aval.ndim - 2
    kinds = ["Batch" if d < batch else "Sparse" if d < batch + 2 else "Dense"
             for d in (first, second)]  # fmt: skip
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), "
            f"got {first}({kinds[0]}) and {second}({kinds[1]})"
        )
    shape = list(x.aval.shape)
    shape[first], shape[second] = shape[second], shape[first]
    places, held, starts, kind = x.places, x.held, x.compressed, x.layout
    blocks = 2 * FORMS[kind].blocks
    if kinds[0] == "Batch":
        places, held = places.transpose(first + 1, second + 1), held.transpose(first, second)
        starts = starts.transpose(first, second)
    elif kinds[0] == "Sparse":
        places, kind = places.flip(0), EXCHANGED[kind]
        held = held.transpose(batch + 1, batch + 2) if blocks else held
    else:
        inner = batch + 1 + blocks - (batch + 2)
        held = held.transpose(first + inner, second + inner)
    return type(x)(places, held, shape, True, kind, starts)
