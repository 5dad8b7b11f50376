"""Products whose right operand was packed before, and the recurrent layers that use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as torch


def trained(api: Any, kind: str, element: str) -> list[Any]:
    """The states and all gradients of a layer whose weights are packed once for its steps."""
    api.manual_seed(0)
    layer = getattr(api.nn, kind)(9, 131, bidirectional=kind == "LSTM")
    layer = layer.to(getattr(api, element))
    x = ((api.arange(9 * 60 * 9) % 11).reshape(9, 60, 9) / 5 - 1).to(getattr(api, element))
    x.requires_grad_(True)
    states = layer(x)[0]
    states.square().sum().backward()
    return [states.detach().numpy(), *[t.grad.numpy() for t in (x, *layer.parameters())]]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_weights_packed_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained(real, kind, "float64")
    for switch in ("1", "0"):
        monkeypatch.setenv("MINDTORCH_PRODUCTS", switch)
        for ours, theirs in zip(trained(torch, kind, "float32"), expected, strict=True):
            assert np.abs(ours - theirs).max() <= 5e-6 * max(np.abs(theirs).max(), 1.0)
