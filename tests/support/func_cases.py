"""What tests of torch.func share: the same tensors for both namespaces, and their comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mindtorch.torch.utils._pytree import tree_leaves

Case = Callable[[Any, Callable[..., Any]], Any]


def source(namespace: Any) -> Callable[..., Any]:
    """``make(*shape)`` draws the same float64 tensors in both namespaces."""
    rng = np.random.default_rng(5)

    def make(*shape: int, dtype: str = "f8") -> Any:
        return namespace.from_numpy(np.asarray(rng.standard_normal(shape)).astype(dtype))

    return make


def assert_alike(mine: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    a, b = tree_leaves(mine), torch.utils._pytree.tree_leaves(theirs)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        if not isinstance(y, torch.Tensor):
            assert x == y
            continue
        assert (tuple(x.shape), str(x.dtype)[6:]) == (tuple(y.shape), str(y.dtype)[6:])
        np.testing.assert_allclose(
            x.detach().numpy(), y.detach().numpy(), rtol=tolerance, atol=tolerance
        )


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """torch's forward mode warns of its own deprecated scripts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch")
        warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*torch.jit")
        warnings.filterwarnings("ignore", message="There is a performance drop because")
        yield
