"""Sparse tensors: making, converting, products, arithmetic, derivatives, files, refusals."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import assert_same, outcome, quiet

with quiet():  # PyTorch warns once that it does not check indices
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))

PREPARE = """
torch.manual_seed(0)
i = torch.tensor([[0, 1, 1], [2, 0, 2]]); v = torch.tensor([3., 4., 5.])
a = torch.sparse_coo_tensor(i, v, (2, 3))
u = torch.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [1., 2., 3.], (2, 3))
d = torch.arange(12.).reshape(3, 4); x = torch.tensor([[0, 1., 0], [2, 0, 3]])
c = x.to_sparse_csr()
def shown(t):
    return repr(t), t.to_dense()
"""
SHOWN = [
    "a", "u", "c", "u.coalesce()", "torch.sparse_coo_tensor(i, v)",
    "torch.sparse_coo_tensor((2, 3))",
    "torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.float64)", "a.t()", "a.T",
    "torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (4, 3))", "a.transpose(0, 1)",
    "torch.sparse.mm(a, a.t())", "a @ a.t()", "a + a", "a * 2", "a * a",
    "a / 2", "-a", "a - a", "a.mul(x)", "torch.sparse.sum(a, 0)", "torch.sparse.sum(a, 1)",
    "torch.sparse.softmax(a, 1)", "torch.sparse.log_softmax(a, 1)", "x.to_sparse()",
    "x.to_sparse(1)", "x.to_sparse_coo()", "x.to_sparse_csr()", "x.to_sparse_csc()",
    "c.to_sparse_coo()", "torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1., 2., 3.], (2, 3))",
    "torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], [1., 2., 3.])", "a.to_sparse_csr()",
    "torch.sparse_csc_tensor([0, 1, 2, 3], [1, 0, 1], [2., 1., 3.], (2, 3))", "a.double()",
    "a.to(torch.float64)", "a.clone()", "a.detach()", "a[0]", "a[-1]", "a.relu()", "a.sin()",
    "a.abs()", "a.pow(2)", "torch.zeros_like(a)", "torch.cat([a, a])", "torch.cat([a, u], 1)",
    "torch.stack([a, a])", "a.unsqueeze(0)", "x.sparse_mask(a.coalesce())",
    "torch.sparse.spdiags(torch.ones(1, 3), torch.tensor([0]), (3, 3))", "torch.add(a, a)",
    "a.index_select(0, torch.tensor([1]))", "c * 2", "torch.neg(a)", "torch.mul(a, 3)",
    "a.requires_grad_()", "torch.transpose(a, 0, 1)", "torch.mul(input=a, other=3)",
    "torch.sparse_coo_tensor(size=(2, 3))", "torch.rad2deg(a)", "c.erfinv()", "torch.signbit(-c)",
    "torch.nn.functional.relu(-a)", "a.sum(0)", "a.sum(0, keepdim=True)", "a.sum(-1)", "c * c",
    "c.sum(0, keepdim=True)", "c.sum((0, 1), keepdim=True)", "torch.zeros_like(c)",
    "torch.zeros_like(a, layout=torch.sparse_csc)", "torch.randn_like(c)", "torch.ones_like(c)",
    "x.to_sparse(1).unsqueeze(2)", "u.positive()", "torch.nan_to_num(a / 0)", "c.atanh_()",
    "a.index_select(0, torch.tensor([-1, 0]))", "torch.index_select(u, 1, torch.tensor([2, -1]))",
    "a // 2", "u.div(2, rounding_mode='floor')",
    "torch.sparse_coo_tensor(torch.empty(0, 2).long(), torch.ones(2).short(), ()).coalesce()",
    "a * torch.sparse_coo_tensor(torch.empty(0, 1).long(), torch.tensor([3]), ())",
    "torch.mul(x, a)", "x.mul(a)", "torch.absolute(-a)", "(-a).absolute()", "torch.negative(a)",
    "torch.swapaxes(a, 0, 1)", "torch.concat([a, u])", "torch.subtract(a, u)",
]  # fmt: skip
VALUES = [
    "[w := u.clone().requires_grad_(), (w.to_dense() ** 2).sum().backward(), w.grad.to_dense()][2]",
    "[w := u.clone().requires_grad_(), torch.autograd.grad(w.to_dense().sum(), w)][1]",
    "a.index_select(0, torch.tensor([2]))", "torch.cat([a, a.t()])", "torch.cat([a, x])",
    "a.char().add_(a)", "a.char().sub_(a)", "a.char().mul_(a)", "a.char().mul_(2.5)",
    "a.char().div_(2)", "a.char().coalesce().sin_()", "a.double().add_(a).to_dense()",
    "(u * 2).long().mul_(u.long()).to_dense()", "a.index_select(0, torch.tensor([[1]]))", "a / u",
    "torch.sparse_coo_tensor([[1], [1]], [1.], (2, 3)).is_coalesced()",
    "(a + u).to_dense(), (a - u).to_dense()", "(a * u).to_dense(), (u * a).to_dense()",
    "torch.add(a, u, alpha=2).to_dense()", "a.to_dense()", "u.to_dense()",
    "u.is_coalesced(), a.coalesce().is_coalesced()", "u.indices()",
    "u.values()", "u._indices(), u._values()", "a.coalesce().indices(), a.coalesce().values()",
    "a.shape, a.dtype, a.layout, a.is_sparse, a._nnz(), a.sparse_dim(), a.dense_dim()",
    "a.ndim, a.numel(), a.device, a.requires_grad, len(a), a.size(0), isinstance(a, torch.Tensor)",
    "c.layout, c._nnz(), c.is_sparse, c.is_sparse_csr, a.is_sparse_csr, x.is_sparse",
    "c.crow_indices(), c.col_indices(), c.values()", "c.to_sparse_csc().ccol_indices()",
    "torch.sparse.mm(a, d)", "torch.sparse.mm(u, d)", "a @ d", "torch.mm(a, d)",
    "torch.matmul(a, d)", "a.mm(d)", "a @ d[:, 0]", "torch.mv(a, d[:, 0])", "torch.add(x, other=a)",
    "d.t() @ a.t()", "c @ d", "torch.sparse.mm(c, d)", "x + a",
    "torch.sparse.addmm(torch.ones(2, 4), a, d)", "x.mm(a.t())",
    "a + x", "torch.sparse.sum(a)", "a.sum()", "a.norm()", "a[0, 1], a[1, 2]",
    "torch.sparse_coo_tensor(i, v[:2], (2, 3))", "a.numpy()", "a.item()", "a.storage()",
    "c.sum(0)", "torch.zeros_like(c, layout=torch.strided)", "a.sum((0, 1))",
    "a.sum((0, 1), keepdim=True)",
    "a.data_ptr()", "a.tolist()", "x.indices()", "x.coalesce()", "x.values()", "c.coalesce()",
    "a.to('cpu') is a, a.float() is a, a.to_sparse() is a", "a @ d.t()",
    "torch.sparse_coo_tensor(i, v, (2, 3), check_invariants=True).shape",
    "torch.sparse_coo_tensor(i, v, (2, 2), check_invariants=True)",
    "torch.sparse_coo_tensor(-i, v, (2, 3), check_invariants=True)",
    "torch.autograd.grad(torch.sparse.mm(torch.sparse_coo_tensor(i, v.requires_grad_(), (2, 3)),"
    " d.requires_grad_()).pow(2).sum(), [v, d])",
    "torch.autograd.grad(torch.sparse_coo_tensor(i, v.requires_grad_(), (2, 3)).to_dense().pow(3)"
    ".sum(), v)",
    "torch.autograd.grad((torch.sparse_coo_tensor([[0, 0], [1, 1]], v[:2].detach()"
    ".requires_grad_()).coalesce().values() ** 2).sum(), v, allow_unused=True)"
    " if v.requires_grad_() is v else 0",
    "torch.autograd.grad((x.requires_grad_().to_sparse().to_dense() * 2).sum(), x)",
    "torch.sub(x, a, alpha=2), x.add(a), x.sub(a)", "torch.div(x, a)", "torch.floor_divide(x, a)",
    "x.clone().add_(a, alpha=2), x.clone().sub_(a)", "x.clone().__iadd__(u)",
    "x.clone().__isub__(u)",
    "(lambda s: (torch.sparse.mm(s, d).sum().backward(), s.grad.to_dense()))"
    "(a.coalesce().detach().requires_grad_())[1]",
]  # fmt: skip


def _compare(code: str) -> None:
    mine, theirs = outcome(ours, code, PREPARE), outcome(torch, code, PREPARE)
    assert_same(mine[0], theirs[0], 2e-6)


@pytest.mark.parametrize("code", SHOWN)
def test_sparse_results_are_torchs(code: str) -> None:
    """Text (places, values, size, layout) and dense form."""
    _compare(f"shown({code})")


@pytest.mark.parametrize("code", VALUES)
def test_values_gradients_and_errors_are_torchs(code: str) -> None:
    """What comes out dense, derivatives in both factors, and errors."""
    _compare(code)


def test_large_products_are_those_of_dense_matrices() -> None:
    """Random places, repeated ones too: forward and both gradients, in double precision."""
    rng = np.random.default_rng(0)
    places = ours.from_numpy(rng.integers(0, 50, (2, 400)))
    values = ours.from_numpy(rng.standard_normal(400)).requires_grad_()
    dense = ours.from_numpy(rng.standard_normal((50, 20))).requires_grad_()
    sparse = ours.sparse_coo_tensor(places, values, (50, 50))
    weights = ours.from_numpy(rng.standard_normal((50, 20)))
    mine = ours.autograd.grad((ours.sparse.mm(sparse, dense) * weights).sum(), [values, dense])
    theirs = ours.autograd.grad(((sparse.to_dense() @ dense) * weights).sum(), [values, dense])
    for m, t in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(m.numpy(), t.numpy(), rtol=1e-12, atol=1e-12)


def test_second_derivatives_of_products() -> None:
    """The product's rule is made of differentiable functions itself."""
    values = ours.tensor([2.0, 3.0], dtype=ours.float64, requires_grad=True)
    dense = ours.ones(2, 2, dtype=ours.float64, requires_grad=True)
    sparse = ours.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2))
    (first,) = ours.autograd.grad((sparse @ dense).pow(2).sum(), values, create_graph=True)
    (second,) = ours.autograd.grad(first.sum(), values)
    assert first.tolist() == [8, 12] and second.tolist() == [4, 4]


def test_indices_outside_are_refused_always() -> None:
    """Where PyTorch reads foreign memory unless told to check, here is an error."""
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 1"):
        ours.sparse_coo_tensor([[0], [3]], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="found negative index -1 for dim 0"):
        ours.sparse_coo_tensor([[-1], [0]], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="crow_indices"):
        ours.sparse_csr_tensor([0, 1, 2], [1, 0, 2], [1.0, 2.0, 3.0], (2, 3))


@pytest.mark.parametrize("call", [
    lambda a: a.view(6), lambda a: a == a, lambda a: torch_like(a).exp(), lambda a: a.cos(),
    lambda a: ours.exp(a), lambda a: ours.ones_like(a), lambda a: a.clamp_(0), lambda a: a[0:1],
    lambda a: ours.where(a > 0, a, a),
])  # fmt: skip
def test_what_is_missing_says_so(call: Any) -> None:
    """No op takes a sparse tensor for a dense one."""
    a = ours.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    with pytest.raises(NotImplementedError, match="to_dense"):
        call(a)


def torch_like(a: Any) -> Any:
    return a.clone()


@pytest.mark.parametrize("kind", ["coo", "csr", "csc"])
def test_files_go_between_both_libraries(kind: str) -> None:
    """Saved here and loaded there, and the other way; copies are copies."""
    for source, target in ((ours, torch), (torch, ours), (ours, ours)):
        dense = source.tensor([[0, 1.0, 0], [2, 0, 3]])
        with quiet():
            sparse = getattr(dense, f"to_sparse_{kind}")()
            buffer = io.BytesIO()
            source.save({"s": sparse}, buffer)
            buffer.seek(0)
            found = target.load(buffer)["s"]
        assert repr(found) == repr(sparse)
        assert found.to_dense().tolist() == dense.tolist()
    twin = copy.deepcopy(sparse)
    twin.values().mul_(2)
    assert twin.to_dense().tolist() != sparse.to_dense().tolist()
