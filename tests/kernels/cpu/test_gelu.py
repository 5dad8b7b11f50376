"""gelu and its gradient are approximated as a whole; they must be as accurate as PyTorch's."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erf

from mindtorch import torch
from mindtorch.engine.ops.activations import gelu_gradient

X = np.linspace(-9, 9, 1_000_001, dtype=np.float32)
WIDE = X.astype(np.float64)
PHI = 0.5 + 0.5 * erf(WIDE / math.sqrt(2))


def test_gelu_is_nearer_to_the_truth_than_pytorch_is() -> None:
    """The largest error relative to |x|: 2.3e-7, PyTorch's 2.7e-7."""
    y = torch.nn.functional.gelu(torch.tensor(X)).numpy()
    error = np.abs(y - WIDE * PHI) / np.maximum(np.abs(WIDE), 1e-3)
    assert error.max() <= 2.5e-7


def test_the_gradient_is_nearer_to_the_truth_than_pytorch_is() -> None:
    """The largest error: 2.6e-7, PyTorch's 3.1e-7."""
    x = torch.tensor(X)
    slope = gelu_gradient(torch.ones_like(x), x).numpy()
    density = np.exp(WIDE * WIDE / -2) / math.sqrt(2 * math.pi)
    assert np.abs(slope - (PHI + WIDE * density)).max() <= 3e-7


def test_the_ends_are_pytorchs() -> None:
    """Infinities, NaN, zeros and what lies beyond the fitted range, as PyTorch has them with AVX2;
    with AVX-512 its library has nan at infinity and infinity at 3e38."""
    values = [math.inf, -math.inf, math.nan, 0.0, -100.0, 100.0, 1e-40, 3e38, -3e38]
    x = torch.tensor(values, requires_grad=True)
    y = torch.nn.functional.gelu(x)
    y.backward(torch.ones_like(y))
    expected = [math.inf, math.nan, math.nan, 0, 0, 100, np.float32(1e-40) / 2, 3e38, 0]
    slopes = [math.nan, math.nan, math.nan, 0.5, 0, 1, 0.5, 1, 0]
    for mine, theirs in ((y.detach(), expected), (x.grad, slopes)):
        np.testing.assert_array_equal(mine.numpy(), np.array(theirs, np.float32))
