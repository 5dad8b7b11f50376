"""Nested tensors: PyTorch's results, printed forms, errors; gradients of the parts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nested

import mindtorch.torch as ours
import mindtorch.torch.nested as our_nested
from tests.support.surface import quiet

PREPARE = """
F = torch.nn.functional
n = torch.nested.nested_tensor([torch.arange(6.).reshape(2, 3) - 2, torch.ones(1, 3)])
m = torch.nested.nested_tensor([torch.ones(2, 3) * 2, torch.ones(1, 3) / 2])
torch.manual_seed(0)
linear = torch.nn.Linear(3, 2)
"""
CASES = [
    "n", "n.is_nested, n.dim(), n.numel(), n.size(0), n.size(-1), n.layout, n.dtype, n.device",
    "n.size(1)", "n.shape", "n.size()", "n.stride()", "len(n)", "list(n)", "n.numpy()",
    "n.tolist()", "n.unbind()", "n.unbind(1)", "n[0]", "n[-1]", "n[0, 1]", "n.values()",
    "n.to_padded_tensor(0)", "torch.nested.to_padded_tensor(n, -1., (3, 3, 3))",
    "torch.nested.to_padded_tensor(n, -1., (2, 1, 3))", "n * 2", "n + 1", "n / 2", "-n", "n + m",
    "n - m", "n * m", "n / m", "n * torch.ones(3)", "torch.ones(2, 2, 3) * n", "n.relu()",
    "torch.relu(n)", "F.relu(n)", "n.sin()", "n.abs()", "n.tanh()", "F.softmax(n, -1)",
    "torch.softmax(n, 0)", "n.sum(-1, keepdim=True)", "n.sum()", "n.mean()", "n.exp()", "n.max()",
    "F.dropout(n, 0.0)", "n.transpose(1, 2)", "n.clone()", "n.detach()", "n.contiguous()",
    "n.double()", "n.int()", "n.to(torch.float64)", "n.fill_(2)", "n.zero_()",
    "n.is_contiguous()", "torch.bmm(n, n.transpose(1, 2))", "n @ n.transpose(1, 2)",
    "n @ torch.ones(3, 2)", "torch.cat([n, m])", "torch.nested.nested_tensor([])",
    "torch.nested.nested_tensor([1., 2.])", "torch.nested.nested_tensor([[1., 2.], [3.]])",
    "torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)])",
    "torch.nested.nested_tensor([torch.ones(2), torch.ones(2).double()])",
    "torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3)])",
    "torch.nested.as_nested_tensor(torch.ones(2, 3))", "torch.nested.nested_tensor(3)",
    "torch.nested.nested_tensor([torch.ones(2)], requires_grad=True)",
    "linear(n).to_padded_tensor(0.).detach().sum((0, 1))", "n.requires_grad, n.is_leaf",
]  # fmt: skip


def _outcome(library: Any, code: str) -> Any:
    names: dict[str, Any] = {"torch": library}
    exec(PREPARE, names)
    try:
        found = eval(code, names)
        return "value", repr(found)
    except Exception as error:
        text = str(error).partition("\n")[0]
        return type(error).__name__, "" if "Could not run" in text else text


@pytest.mark.parametrize("code", CASES)
def test_nested_tensors_are_those_of_pytorch(code: str) -> None:
    """The printed form shows values, types and structure."""
    assert our_nested.__all__
    with quiet():
        mine, theirs = (_outcome(library, code) for library in (ours, torch))
    assert mine == theirs


def test_gradients_reach_the_parts() -> None:
    """Through padding, as in PyTorch; the leaf's gradient is nested, too."""
    found = []
    for library in (ours, torch):
        with quiet():
            leaf = library.nested.nested_tensor(
                [library.arange(4.0).reshape(2, 2), library.ones(1, 2)], requires_grad=True
            )
            ((leaf * leaf).to_padded_tensor(0.0) * 3).sum().backward()
        assert leaf.grad is not None
        found.append(repr(leaf.grad))
    assert found[0] == found[1]


def test_dense_functions_are_unharmed() -> None:
    """What torch.nested puts into the namespace passes dense tensors on."""
    x = ours.tensor([[-1.0, 2.0]])
    assert ours.relu(x).tolist() == [[0.0, 2.0]]
    assert ours.cat([x, x]).shape == (2, 2)
    assert ours.nn.functional.softmax(x, 1).sum().item() == pytest.approx(1.0)
