"""Methods that overwrite a tensor which others derive from: values and gradients are torch's."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as ours

CHAINS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clamp_min_, then others": lambda x, y, lib: x.clamp_min_(0.5).div_(-2).exp_(),
    "clamp_max_": lambda x, y, lib: x.clamp_max_(0.5).mul_(y),
    "addcmul_": lambda x, y, lib: x.addcmul_(y, y, value=0.5).mul_(2),
    "lerp_": lambda x, y, lib: x.lerp_(y, y.detach()).neg_(),
    "addmm_": lambda x, y, lib: x.addmm_(y, y.t() @ y).mul_(3),
    "fill_diagonal_": lambda x, y, lib: x.fill_diagonal_(2.0).mul(y),
    "fill_diagonal_, wrapped": lambda x, y, lib: x.fill_diagonal_(2.0, wrap=True),
    "a comparison": lambda x, y, lib: x.ge_(0.5).mul(y),
    "a comparison of a part": lambda x, y, lib: (x[1:].gt_(y[1:].detach()), x)[1],
    "nan_to_num_": lambda x, y, lib: x.nan_to_num_().mul_(y),
    "masked_scatter_": lambda x, y, lib: x.masked_scatter_(x.detach() > 0.5, y).square_(),
    "index_add_": lambda x, y, lib: x.index_add_(0, lib.tensor([0, 2]), y[:2]).mul_(y),
    "cumprod_": lambda x, y, lib: x.cumprod_(0).mul(y),
}


def slopes(lib: Any, chain: Callable[[Any, Any, Any], Any]) -> list[Any]:
    lib.manual_seed(3)
    x, y = (lib.rand(4, 3).mul_(0.8).add_(0.1).requires_grad_() for _ in range(2))
    result = chain(x * 1, y, lib)
    (result * lib.arange(1.0, 13).reshape(4, 3)).sum().backward()
    return [None if t is None else t.tolist() for t in (result.detach(), x.grad, y.grad)]


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_overwritten_keeps_torchs_gradient(name: str) -> None:
    """The elements that a rule needs are about to change; others have a gradient of 0."""
    for mine, theirs in zip(slopes(ours, CHAINS[name]), slopes(torch, CHAINS[name]), strict=True):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            torch.testing.assert_close(torch.tensor(mine), torch.tensor(theirs), rtol=2e-6, atol=0)


def test_squeeze_takes_axes_in_a_row() -> None:
    """As torch's method does."""
    found, wanted = (t.zeros(1, 2, 1, 3).squeeze(0, 2).shape for t in (ours, torch))
    assert tuple(found) == tuple(wanted)
    with pytest.raises(TypeError):
        ours.zeros(1, 2, 1).squeeze(0, dim=2)  # type: ignore[call-overload]
