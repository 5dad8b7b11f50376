"""Masked tensors: PyTorch's results and printed forms, and gradients."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
import torch.masked

import mindtorch.torch as ours
import mindtorch.torch.masked as our_masked

PREPARE = """
masked = torch.masked
d = torch.arange(6.).reshape(2, 3)
m = torch.tensor([[True, False, True], [False, False, True]])
n = masked.masked_tensor(d, m)
"""
CASES = [
    "n", "n.get_data()", "n.get_mask()", "n.to_tensor(-1)", "n + n", "n * 2", "2 * n", "n - n",
    "n / 2", "n / n", "-n", "n ** 2", "n + d", "n == n", "n > 2", "n.sum()", "n.sum(1)",
    "n.sum(1, keepdim=True)", "n.sum(0)", "n.mean()", "n.mean(1)", "n.amax(1)", "n.amin()",
    "n.prod()", "n.std()", "n.var()", "n.sin()", "n.exp()", "n.log()", "n.abs()", "n.sqrt()",
    "n.softmax(-1)", "n.shape, n.dtype, n.layout, len(n), n.size(), n.dim(), n.requires_grad",
    "masked.is_masked_tensor(n), masked.is_masked_tensor(d)", "n[0]", "n[:, 1:]", "n.view(-1)",
    "n.transpose(0, 1)", "n.reshape(3, 2)", "n.unsqueeze(0)", "n.expand(2, 2, 3)", "n.clone()",
    "n.detach()", "n.contiguous()", "n.double()", "n.bool()", "n.float()", "torch.sum(n)",
    "torch.add(n, n)", "torch.sin(n)", "torch.sin(input=n)",
    "n + masked.masked_tensor(d, ~m)", "n.numpy()", "n.tolist()",
    "masked.masked_tensor(d, m.float())", "masked.masked_tensor(d, m[:1])",
    "masked.masked_tensor([1], m)", "masked.masked_tensor(d, [1])",
    "masked.masked_tensor(d.long(), m)", "masked.masked_tensor(d > 2, m)",
    "masked.masked_tensor(torch.tensor(3.), torch.tensor(False))",
    "masked.as_masked_tensor(d, m)", "masked.MaskedTensor(d, m)",
    "masked.masked_tensor(d, m, requires_grad=True).requires_grad",
]  # fmt: skip


def _outcome(library: Any, code: str) -> Any:
    names: dict[str, Any] = {"torch": library}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(PREPARE, names)
        try:
            return "value", repr(eval(code, names))
        except Exception as error:
            return type(error).__name__, str(error)


@pytest.mark.parametrize("code", CASES)
def test_masked_tensors_are_those_of_pytorch(code: str) -> None:
    """The printed form shows values, masks and structure."""
    assert _outcome(ours, code) == _outcome(torch, code)


def test_gradients_are_masked() -> None:
    """Elements that do not count get none."""
    found = []
    for library in (ours, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mask = library.tensor([True, False, True])
            leaf = library.masked.masked_tensor(library.arange(3.0) + 1, mask, requires_grad=True)
            (leaf * leaf).sum().backward()
            found.append(leaf.grad.to_tensor(0).tolist())
    assert found[0] == found[1] == [2.0, 0.0, 6.0]


def test_the_prototype_warns() -> None:
    """As in PyTorch."""
    with pytest.warns(UserWarning, match="prototype stage"):
        our_masked.masked_tensor(ours.ones(2), ours.ones(2).bool())


def test_what_is_missing_says_so() -> None:
    """Matrix products and writes in place."""
    with pytest.warns(UserWarning, match="prototype stage"):
        n = our_masked.masked_tensor(ours.ones(2, 2), ours.ones(2, 2).bool())
    with pytest.raises(TypeError, match="mindtorch does not have matmul for masked tensors"):
        n.matmul(ours.ones(2, 2))
    with pytest.raises(TypeError, match="add_ for masked tensors"):
        n.add_(1)
