"""Making compressed tensors of their parts: CSR, CSC, BSR and BSC."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine.tensor import from_array

from .._api.arguments import as_shape
from .._tensor.size_and_formats import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ._compressed import FORMS
from ._creation import NO_PINNED, check_bounds, finished, places_of, values_of
from ._invariants import checked
from ._tensor import SparseTensor


def _check_values(starts: Any, plain: Any, held: Any, blocks: int) -> int:
    """How many axes are a batch's."""
    batch = starts.aval.ndim - 1
    if starts.aval.ndim < 1 or plain.aval.ndim != starts.aval.ndim:
        raise RuntimeError(
            "crow_indices and col_indices dimensionalities must be equal but got "
            f"{starts.aval.ndim} and {plain.aval.ndim}, respectively"
        )
    if held.aval.ndim < batch + blocks + 1:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={batch} + {blocks}) but got {held.aval.ndim}"
        )
    if plain.aval.shape[-1] != held.aval.shape[batch]:
        raise RuntimeError(
            f"number of specified elements must be {plain.aval.shape[-1]}, but got "
            f"{held.aval.shape[batch]}"
        )
    return batch


def _check_lines(form: Any, starts: Any, others: Any, check: bool) -> None:
    """The lists of one matrix: that they rise from 0 to nnz, and within lines where asked."""
    first, second = form.names
    counts = np.diff(starts)
    if starts[0] != 0:
        raise RuntimeError(f"`{first}_indices[..., 0] == 0` is not satisfied.")
    if starts[-1] != len(others):
        raise RuntimeError(f"`{first}_indices[..., -1] == nnz` is not satisfied.")
    if (counts < 0).any():
        lines = "nrows" if form.by_row else "ncols"
        raise RuntimeError(
            f"`0 <= {first}_indices[..., 1:] - {first}_indices[..., :-1] <= "
            f"{'ncols' if form.by_row else 'nrows'}` is not satisfied for {lines}."
        )
    line = np.repeat(np.arange(len(counts)), counts)
    if check and ((np.diff(others) <= 0) & (np.diff(line) == 0)).any():
        raise RuntimeError(
            f"`{second}_indices[..., {first}_indices[..., i - 1]:{first}_indices[..., i]] for all "
            f"i = 1, ..., {'nrows' if form.by_row else 'ncols'} are sorted and distinct along the "
            "last dimension values` is not satisfied."
        )


def _shape_of(form: Any, lead: int, others: Any, held: Any, batch: int) -> tuple[int, ...]:
    """Just large enough."""
    across = int(others.max()) + 1 if others.size else 0
    rows, columns = (lead, across) if form.by_row else (across, lead)
    inner = held.aval.shape[batch + 1 :]
    if form.blocks:
        rows, columns, inner = rows * inner[0], columns * inner[1], inner[2:]
    return (*held.aval.shape[:batch], rows, columns, *inner)


def _made(
    kind: Any, starts: Any, plain: Any, values: Any, size: Any, dtype: Any, device: Any,
    pin_memory: bool, requires_grad: bool, check_invariants: bool | None,
) -> SparseTensor:  # fmt: skip
    looks = checked(check_invariants)
    if pin_memory:
        raise RuntimeError(NO_PINNED)
    form = FORMS[kind]
    begins, others, held = places_of(starts), places_of(plain), values_of(values, dtype)
    batch = _check_values(begins, others, held, 2 * form.blocks)
    first, second = begins.array(), others.array()
    lead = first.shape[-1] - 1
    if size is None:
        shape = _shape_of(form, lead, second, held, batch)
    else:
        shape = as_shape((size,))
    inner = held.aval.shape[batch + 1 :]
    rows, columns = shape[batch : batch + 2] if len(shape) > batch + 1 else (-1, -1)
    if form.blocks and rows >= 0:
        rows, columns = rows // inner[0], columns // inner[1]
    if (rows if form.by_row else columns) != lead:
        name = "rows" if form.by_row else "columns"
        raise RuntimeError(
            f"{form.names[0]}_indices.shape[-1] must be equal to the number of {name} + 1 = "
            f"{(rows if form.by_row else columns) + 1}, but got {lead + 1}"
        )
    matrices = math.prod(first.shape[:-1])
    lists = first.reshape((matrices, lead + 1)), second.reshape((matrices, second.shape[-1]))
    for one, other in zip(*lists, strict=True):
        _check_lines(form, one, other, looks)
    spread = [np.repeat(np.arange(lead), np.diff(each)) for each in lists[0]]
    lines = np.array(spread, np.int64).reshape(second.shape)
    both = np.stack([lines, second] if form.by_row else [second, lines])
    check_bounds(both.reshape((2, -1)), (rows, columns))
    made = SparseTensor(from_array(both), held, shape, True, kind, begins)
    return finished(made, device, requires_grad)


def sparse_compressed_tensor(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A tensor of a compressed ``layout`` from its lists of indices and its values.

    Args:
        compressed_indices: (B..., lines + 1), where each line begins in the values, and the end.
        plain_indices: (B..., nnz), the index of each value in its line.
        values: (B..., nnz, D...), or (B..., nnz, rows, columns, D...) of blocks.
        size: just large enough when None.
        layout: CSR, CSC, BSR or BSC.

    Raises:
        RuntimeError: the parts do not fit. (torch looks at the indices only where
            ``check_invariants`` says so; here bounds are always checked, order where it does.)
    """
    if layout not in FORMS:
        raise RuntimeError(
            "sparse_compressed_tensor expected sparse compressed tensor layout but got "
            f"{'none' if layout is None else layout._name.title().replace('_', '')}"
        )
    return _made(layout, compressed_indices, plain_indices, values, size, dtype, device,
                 pin_memory, requires_grad, check_invariants)  # fmt: skip


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by rows: row ``r`` has ``values[crow[r]:crow[r + 1]]`` in those columns."""
    return _made(sparse_csr, crow_indices, col_indices, values, size, dtype, device, pin_memory,
                 requires_grad, check_invariants)  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by columns: column ``c`` has ``values[ccol[c]:ccol[c + 1]]`` in those rows."""
    return _made(sparse_csc, ccol_indices, row_indices, values, size, dtype, device, pin_memory,
                 requires_grad, check_invariants)  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix of blocks (nnz, r, c), by rows of blocks."""
    return _made(sparse_bsr, crow_indices, col_indices, values, size, dtype, device, pin_memory,
                 requires_grad, check_invariants)  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix of blocks (nnz, r, c), by columns of blocks."""
    return _made(sparse_bsc, ccol_indices, row_indices, values, size, dtype, device, pin_memory,
                 requires_grad, check_invariants)  # fmt: skip
