"""Normalisation over neighbouring channels: PyTorch's values, and the derivative of them."""

from __future__ import annotations

import pytest
import torch

import mindtorch.torch as ours


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_values_are_those_of_pytorch(channels: int, size: int) -> None:
    """Odd windows, even ones, and those wider than the channels."""
    found = []
    for library in (ours, torch):
        x = library.arange(channels * 8.0).reshape(2, channels, 2, 2) / 3 - 2
        found.append(library.nn.CrossMapLRN2d(size, alpha=0.5, k=2.0)(x).flatten().tolist())
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_the_gradient_is_the_derivative() -> None:
    """PyTorch's is not (docs/gaps.md)."""
    x = ours.linspace(-2, 2, 28, dtype=ours.float64).reshape(1, 7, 2, 2).requires_grad_()
    assert ours.autograd.gradcheck(ours.nn.CrossMapLRN2d(3, alpha=0.5), (x,))


def test_text_and_errors_are_torchs() -> None:
    """repr, and inputs of other than four axes."""
    assert repr(ours.nn.CrossMapLRN2d(3)) == repr(torch.nn.CrossMapLRN2d(3))
    with pytest.raises(ValueError, match="Expected input to be 4D, got 2D instead"):
        ours.nn.CrossMapLRN2d(3)(ours.ones(2, 2))
