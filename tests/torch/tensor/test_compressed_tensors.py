"""Sparse tensors in blocks, in batches and with dense axes; shapes and products of others."""

from __future__ import annotations

import io

import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import assert_same, outcome, quiet

with quiet():  # PyTorch warns once that it does not check indices
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))

PREPARE = """
d = torch.arange(24.).reshape(4, 6); d[0:2, 2:4] = 0; d[3] = 0
b = d.to_sparse_bsr((2, 3)); q = d.to_sparse_bsr((2, 2)); s = d.to_sparse(); c = d.to_sparse_csr()
e = torch.stack([torch.eye(3), torch.eye(3).flip(0) * 2]); n = e.to_sparse_csr()
h = torch.sparse_coo_tensor([[0, 2]], torch.arange(12.).reshape(2, 3, 2), (4, 3, 2))
def shown(t):
    return repr(t), t.to_dense(), t._nnz(), t.sparse_dim(), t.dense_dim()
def parts(t):
    return shown(t), t.values(), t.layout
def slopes(f, *x):
    x = [t.clone().requires_grad_() for t in x]
    f(*x).to_dense().pow(2).sum().backward()
    return [t.grad.to_dense() for t in x]
"""
SHOWN = [
    "b", "d.to_sparse_bsc((2, 3))", "d.to_sparse_bsr(2)", "d.to_sparse_bsr((1, 6))", "b.t()",
    "d.to_sparse(layout=torch.sparse_bsr, blocksize=(4, 1))", "b.transpose(0, 1).t()",
    "b.to_sparse_bsc((2, 3))", "b.to_sparse_bsr((2, 3))", "c.to_sparse_bsr((2, 2))",
    "c.to_sparse_bsc((2, 1))", "s.to_sparse_bsr((2, 3))", "s.to_sparse_bsc((1, 2))",
    "torch.sin(b)", "b.clone()", "b * 2", "-b", "b.abs()", "b.double()",
    "torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2))",
    "torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 2), (4, 8))",
    "torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3))",
    "torch.sparse_compressed_tensor([0, 1, 2], [0, 1], torch.ones(2), layout=torch.sparse_csr)",
    "torch.sparse_csr_tensor([[0, 1], [0, 1]], [[0], [0]], [[1.], [2.]])",
    "torch.ones(4, 4, 2).to_sparse_csr(dense_dim=1)",
    "torch.ones(3, 2, 2).to_sparse_csc(dense_dim=1)", "n", "n.to_sparse_csc()",
    "n.transpose(1, 2)", "n * 3", "e.to_sparse_csc()", "e.to_sparse_bsr((3, 1))",
    "torch.stack([d, d]).to_sparse_bsr((2, 3))", "c + c", "c * c",
]  # fmt: skip
COO = [
    "b.to_sparse()", "b.to_sparse_coo()", "b.t().to_sparse()", "c.to_sparse_csc().to_sparse()",
    "n.to_sparse_csc().to_sparse()", "n.to_sparse()", "s.permute(1, 0)", "h.permute(0, 2, 1)",
    "torch.permute(s, (-1, 0))", "s.narrow_copy(0, 1, 2)", "s.narrow_copy(1, 2, 3)",
    "h.narrow_copy(1, 0, 2)", "s.sparse_resize_((6, 7), 2, 0)",
    "s.sparse_resize_and_clear_((2, 3), 1, 1)",
    "torch.sparse_coo_tensor((2, 3)).sparse_resize_((1, 1), 2, 0)", "torch.sparse.mm(s, s.t())",
]  # fmt: skip
VALUES = [
    "q @ torch.ones(6, 2)", "q @ torch.arange(6.)", "b.sum()", "b.crow_indices()",
    "b.col_indices()", "b.t().ccol_indices()", "b.t().row_indices()", "n.crow_indices()",
    "n.values()", "torch.nn.functional.linear(torch.ones(2, 6), q)",
    "c.is_sparse_csr, b.is_sparse_csr, b.is_sparse",
    "torch.nn.functional.linear(torch.ones(2, 5, 6), c, torch.ones(4))",
    "torch.bmm(e.to_sparse(), torch.arange(12.).reshape(2, 3, 2))", "torch.nn.Parameter(c)",
    "isinstance(torch.nn.Parameter(c), torch.nn.Parameter)",
    "torch.sparse.check_sparse_tensor_invariants.is_enabled()",
    "torch.empty_like(b).values().shape",
]  # fmt: skip
SLOPES = [
    "slopes(lambda x: x.to_sparse_bsr((2, 3)).to_dense(), d)",
    "slopes(lambda x: torch.sparse.mm(x, x.t()), s)",
    "slopes(lambda x: torch.bmm(e.to_sparse(), x), torch.ones(2, 3, 2))",
    "slopes(lambda x: x.permute(1, 0), s)", "slopes(lambda x: x.to_sparse_csc().to_dense(), c)",
    "slopes(lambda w: torch.nn.functional.linear(w, c), torch.ones(2, 6))",
]  # fmt: skip
ERRORS = [
    "d.to_sparse_bsr((3, 3))", "d.to_sparse_bsr((2,))", "d.to_sparse(layout=torch.sparse_bsr)",
    "d.to_sparse(layout=torch.sparse_csr, blocksize=(2, 2))",
    "torch.stack([torch.eye(3), torch.ones(3, 3)]).to_sparse_csr()", "b.to_sparse_csr()",
    "b.to_sparse_csc()", "b.to_sparse_bsr((1, 1))", "b.ccol_indices()", "b.indices()",
    "b.stride()", "b[0]", "b[0, 0]", "c.stride()",
    "torch.sparse_compressed_tensor([0, 1], [0], [1.])",
    "torch.sparse_bsr_tensor([0, 1, 2], [0, 1], torch.ones(2))", "n.transpose(0, 1)",
    "s.permute(0)", "s.permute(0, 0)", "h.permute(1, 0, 2)", "s.narrow_copy(0, 1, 9)",
    "s.sparse_resize_((6, 6), 2, 1)", "c - c",
]  # fmt: skip


@pytest.mark.parametrize("code", [*map("parts({})".format, SHOWN), *map("shown({})".format, COO),
                                  *VALUES, *SLOPES, *ERRORS])  # fmt: skip
def test_what_torch_has(code: str) -> None:
    """Prints, values, gradients and errors."""
    mine, theirs = outcome(ours, code, PREPARE), outcome(torch, code, PREPARE)
    assert_same(mine[0], theirs[0], 2e-6)


@pytest.mark.parametrize(
    "kind", ["b", "b.t()", "n", "torch.ones(4, 4, 2).to_sparse_csr(dense_dim=1)"]
)
def test_files_go_between_both_libraries(kind: str) -> None:
    """In blocks and in batches, too."""
    with quiet():
        for one, other in ((torch, ours), (ours, torch)):
            names = {"torch": one}
            exec(PREPARE, names)
            made = eval(kind, names)
            buffer = io.BytesIO()
            one.save(made, buffer)
            buffer.seek(0)
            assert repr(other.load(buffer)) == repr(made)


def test_shrinking_is_refused() -> None:
    """Only tensors without elements get any size."""
    made = ours.eye(4).to_sparse()
    with pytest.raises(
        RuntimeError, match=r"shrinking the size of sparse dimensions \(from \[4, 4"
    ):
        made.sparse_resize_((2, 2), 2, 0)
    with pytest.raises(RuntimeError, match="changing the number of sparse dimensions"):
        made.sparse_resize_((4, 4), 1, 1)
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        made[0, 0] = 1.0


def test_invariants_are_checked_where_asked() -> None:
    """By the switch, in a block, and by the argument; other faults are found always."""
    arguments = [0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)
    assert ours.sparse_csr_tensor(*arguments)._nnz() == 2
    with pytest.raises(RuntimeError, match="sorted and distinct"):
        ours.sparse_csr_tensor(*arguments, check_invariants=True)
    with ours.sparse.check_sparse_tensor_invariants():
        assert ours.sparse.check_sparse_tensor_invariants.is_enabled()
        with pytest.raises(RuntimeError, match="sorted and distinct"):
            ours.sparse_csr_tensor(*arguments)
    assert not ours.sparse.check_sparse_tensor_invariants.is_enabled()
    with pytest.raises(RuntimeError, match="== nnz` is not satisfied"):
        ours.sparse_csr_tensor([0, 1, 5], [0, 1], [1.0, 2.0], (2, 2))


def test_a_matrix_of_no_rows_and_columns() -> None:
    none = ours.zeros(0, dtype=ours.int64)
    made = ours.sparse_csr_tensor(ours.zeros(1, dtype=ours.int64), none, ours.zeros(0), (0, 0))
    assert made.to_dense().shape == (0, 0)
