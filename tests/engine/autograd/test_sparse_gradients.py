"""Gradients of embeddings in COO form: how they add up, and what optimizers do with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import assert_same, outcome, quiet

with quiet():  # PyTorch warns once that it does not check indices
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))

PREPARE = """
nn = torch.nn
i = torch.tensor([[1, 2], [1, 0]])
w = torch.arange(8.).view(2, 2, 2) / 7
def made(**options):
    torch.manual_seed(0)
    return nn.Embedding(5, 2, sparse=True, **options)
def shown(t):
    if t is None or not t.is_sparse:
        return t
    return t.is_coalesced(), t._nnz(), t._indices(), t._values(), t.layout, t.requires_grad
def after(*losses, **options):
    e = made(**options)
    for loss in losses:
        loss(e).backward()
    return shown(e.weight.grad)
def uneven(e): return (e(i) * w).sum()
def even(e): return e(i).sum()
def dense(e): return (e.weight ** 2).sum()
def bags(mode, weights=None, **options):
    torch.manual_seed(0)
    b = nn.EmbeddingBag(5, 2, sparse=True, mode=mode, **options)
    offsets = torch.tensor([0, 3, 3])
    places = torch.tensor([1, 2, 1, 4, 4])
    y = b(places, offsets, per_sample_weights=weights)
    (y * torch.arange(6.).view(3, 2)).sum().backward()
    return shown(b.weight.grad), None if weights is None else weights.grad
def steps(name, count=3, **options):
    e = made()
    optimizer = getattr(torch.optim, name)(e.parameters(), **options)
    for k in range(count):
        optimizer.zero_grad(set_to_none=k != 1)
        (e(i) ** 2 * w).sum().backward()
        optimizer.step()
    return e.weight.detach()
def state(name, **options):
    e = made()
    optimizer = getattr(torch.optim, name)(e.parameters(), **options)
    uneven(e).backward()
    optimizer.step()
    held = optimizer.state_dict()["state"][0]
    held = {k: shown(v.clone()) if hasattr(v, "is_sparse") else v for k, v in held.items()}
    other = getattr(torch.optim, name)(e.parameters(), **options)
    other.load_state_dict(optimizer.state_dict())
    uneven(e).backward()
    other.step()
    return held, e.weight.data
def clipped(function, *args):
    e = made()
    even(e).backward()
    found = function([e.weight], *args)
    return found, shown(e.weight.grad)
def twice():
    e = made()
    g, = torch.autograd.grad(e(i).pow(2).sum(), e.weight, create_graph=True)
    return shown(g)[3], shown(torch.autograd.grad(g.to_dense().pow(2).sum(), e.weight)[0])
def hooked():
    e, seen = made(), []
    e.weight.register_hook(lambda g: seen.append(g.is_sparse))
    uneven(e).backward()
    return seen
def in_place(function):
    e = made()
    uneven(e).backward()
    g = e.weight.grad
    function(g)
    return shown(g)
"""
CASES = [
    "after(uneven)", "after(uneven, padding_idx=1)", "after(uneven, uneven)", "after(even)",
    "after(even, uneven)", "after(uneven, even, uneven)", "after(dense, uneven)",
    "after(uneven, dense)", "after(lambda e: even(e) + even(e))",
    "after(lambda e: even(e) + dense(e))", "after(even, even, even)",
    "after(uneven, scale_grad_by_freq=True)", "after(uneven, _freeze=False)", "hooked()",
    "bags('sum')", "bags('mean')", "bags('max')", "bags('mean', padding_idx=1)",
    "bags('sum', torch.arange(5.).requires_grad_())", "bags('sum', scale_grad_by_freq=True)",
    "bags('mean', include_last_offset=True)", "twice()",
    "F.embedding(torch.tensor([], dtype=torch.long), made().weight, sparse=True)",
    "clipped(nn.utils.clip_grad_norm_, 1.)", "clipped(nn.utils.clip_grad_norm_, 1., 1.)",
    "clipped(nn.utils.get_total_norm)", "clipped(nn.utils.clip_grad_value_, 1.)",
    "steps('SGD', lr=0.1)", "steps('SGD', lr=0.1, momentum=0.9)",
    "steps('SGD', lr=0.1, momentum=0.9, nesterov=True)", "steps('SGD', lr=0.1, maximize=True)",
    "steps('SGD', lr=0.1, momentum=0.9, dampening=0.1)", "steps('SGD', lr=0.1, weight_decay=0.1)",
    "steps('Adagrad', lr=0.1)", "steps('Adagrad', lr=0.1, lr_decay=0.1, eps=1e-3)",
    "steps('Adagrad', lr=0.1, weight_decay=0.1)", "steps('Adagrad', lr=0.1, maximize=True)",
    "steps('SparseAdam', lr=0.1)", "steps('SparseAdam', lr=0.1, betas=(0.5, 0.6), eps=1e-3)",
    "steps('SparseAdam', lr=0.1, maximize=True)", "state('SGD', lr=0.1, momentum=0.9)",
    "state('SparseAdam', lr=0.1)", "state('Adagrad', lr=0.1)",
    *(f"steps({name!r})" for name in (
        "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "RMSprop", "Adadelta",
        "Adafactor", "Muon",
    )),
    "in_place(lambda g: g.mul_(2))", "in_place(lambda g: g.div_(2))",
    "in_place(lambda g: g.neg_())",
    "in_place(lambda g: g.zero_())", "in_place(lambda g: g.detach_())",
    "in_place(lambda g: g.add_(g.coalesce()))", "in_place(lambda g: g.sub_(g.coalesce(), alpha=2))",
    "in_place(lambda g: g.copy_(g.coalesce()))", "in_place(lambda g: g.sqrt_())",
    "in_place(lambda g: g.clamp_(0, 1))",
]  # fmt: skip


def _cut(found: Any) -> Any:
    """An outcome with the first sentence of its error: PyTorch's goes on about the build."""
    if found[0] == "error":
        return found[1], found[2].partition(" This could be")[0].partition(": mindtorch")[0]
    return found


@pytest.mark.parametrize("code", CASES)
def test_sparse_gradients_are_those_of_pytorch(code: str) -> None:
    """Entry by entry, not only as dense values: coalescing is visible to users."""
    mine, theirs = (_cut(outcome(n, code, PREPARE)[0]) for n in (ours, torch))
    if theirs[0] == "NotImplementedError":
        assert mine[0] == theirs[0] and mine[1].partition("with")[0][:20] == theirs[1][:20]
    else:
        assert_same(mine, theirs, 2e-6)


def test_a_step_of_sgd_leaves_other_rows_alone() -> None:
    """The point of sparse gradients: work in proportion to the rows looked up."""
    table = ours.nn.Embedding(1000, 3, sparse=True)
    before = table.weight.detach().numpy().copy()
    table(ours.tensor([7, 7, 9])).sum().backward()
    assert table.weight.grad._nnz() == 3
    ours.optim.SGD(table.parameters(), lr=1.0).step()
    changed = np.flatnonzero((table.weight.detach().numpy() != before).any(1))
    assert changed.tolist() == [7, 9]


def test_a_grad_scaler_unscales_sparse_gradients() -> None:
    """Mixed precision scripts step SparseAdam through a scaler."""
    table = ours.nn.Embedding(5, 2, sparse=True)
    optimizer = ours.optim.SparseAdam(table.parameters())
    scaler = ours.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(table(ours.tensor([1, 2])).sum()).backward()
    scaler.unscale_(optimizer)
    assert table.weight.grad._values().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    scaler.step(optimizer)


def test_optimizers_refuse_sparse_parameters() -> None:
    """Their steps would leave them as they are."""
    with pytest.raises(NotImplementedError, match="do not update sparse tensors"):
        ours.optim.SGD([ours.eye(2).to_sparse().requires_grad_()], 0.1)
