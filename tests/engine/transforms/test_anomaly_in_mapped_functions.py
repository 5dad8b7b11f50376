"""Anomaly mode looks at the gradients of mapped functions, too."""

from __future__ import annotations

import pytest

import mindtorch.torch as torch


def test_gradients_of_mapped_functions_are_looked_at() -> None:
    x = torch.arange(4.0).view(2, 2)
    with torch.autograd.set_detect_anomaly(True):
        found = torch.func.vmap(torch.func.grad(lambda x: (x**2).sum()))(x)
        assert torch.equal(found, 2 * x)
        square = torch.func.jacrev(lambda x: x**2)(x[1])
        assert torch.equal(square, torch.diag(2 * x[1]))
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan values"),
        ):
            torch.func.vmap(torch.func.grad(lambda x: (x.sqrt() * 0).sum()))(x)
