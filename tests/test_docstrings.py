"""What a user may call says what it computes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import mindtorch.torch as torch

PLACES: dict[str, Any] = {
    "torch": torch, "torch.Tensor": torch.Tensor, "torch.nn": torch.nn, "torch.fft": torch.fft,
    "torch.nn.functional": torch.nn.functional, "torch.optim": torch.optim,
    "torch.linalg": torch.linalg, "torch.special": torch.special,
    "torch.distributions": torch.distributions,
}  # fmt: skip
TYPING = {"Any", "Callable", "Call"}


@pytest.mark.parametrize("place", PLACES)
def test_public_functions_have_docstrings(place: str) -> None:
    """Also those that are made in loops, which have no place to write one at."""
    space = PLACES[place]
    public = [name for name in dir(space) if not name.startswith("_") and name not in TYPING]
    bare = [
        name for name in public
        if callable(getattr(space, name)) and not inspect.getdoc(getattr(space, name))
    ]  # fmt: skip
    assert not bare
