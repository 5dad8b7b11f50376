"""The type that a leaf's gradient has, and what hooks after it may return, as in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as ours


def outcome(run: Callable[[Any], Any], library: Any) -> Any:
    """What ``run`` gives, in words that both libraries share."""
    try:
        return str(run(library))
    except Exception as error:
        return type(error).__name__, str(error)


def _cast(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.bfloat16
    for _ in range(2):
        (x * 3).sum().backward()
    return x.grad, x.grad_dtype


def _any_type(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = None
    x.grad = torch.ones(2, dtype=torch.float16)
    return x.grad, x.grad_dtype


def _back_to_its_own(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.float64
    x.grad_dtype = torch.float32
    (x * 3).sum().backward()
    return x.grad


def _other_gradient(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.grad_dtype = torch.bfloat16
    x.grad = torch.ones(2)


def _too_late(torch: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2)
    x.grad_dtype = torch.bfloat16


@pytest.mark.parametrize(
    "run", [_cast, _any_type, _back_to_its_own, _other_gradient, _too_late]
)
def test_types_of_gradients(run: Callable[[Any], Any]) -> None:
    assert outcome(run, ours) == outcome(run, torch)


def test_types_of_gradients_before_requires_grad() -> None:
    with pytest.raises(NotImplementedError, match="call requires_grad_"):
        ours.ones(2).grad_dtype = ours.bfloat16


@pytest.mark.parametrize("returned", [
    lambda torch, p: None, lambda torch, p: p, lambda torch, p: 5,
    lambda torch, p: torch.ones(1), lambda torch, p: torch.ones(2), lambda torch, p: (p, p),
], ids=["none", "itself", "number", "other shape", "other tensor", "tuple"])  # fmt: skip
def test_what_hooks_after_a_gradient_return(returned: Any) -> None:
    def run(torch: Any) -> Any:
        x = torch.ones(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: returned(torch, p))
        (x * 3).sum().backward()
        return x.grad

    assert outcome(run, ours) == outcome(run, torch)


def test_numbers_below_the_normal_ones_are_flushed_where_the_processor_can() -> None:
    try:
        flushed = ours.set_flush_denormal(True)
        small = float(ours.tensor([1e-38]) * 0.01)
    finally:
        ours.set_flush_denormal(False)
    assert (small == 0) == flushed
    assert float(ours.tensor([1e-38]) * 0.01) > 0


def test_the_default_device_is_one_that_there_is() -> None:
    def run(torch: Any) -> Any:
        try:
            torch.set_default_device("cuda")
            return torch.get_default_device()
        finally:
            torch.set_default_device(None)

    assert outcome(run, ours) == outcome(run, torch)
