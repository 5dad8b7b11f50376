"""Anomaly mode: gradients of mapped functions are looked at, and errors name the forward call."""

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


def _refuse(gradient: torch.Tensor) -> int:
    return 3


def test_every_error_of_a_backward_pass_names_the_forward_call() -> None:
    """Of a function's own rule, of a graph that is used twice, and of a leaf's hook."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return "gradient"

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        leaf = torch.ones(2, requires_grad=True)
        leaf.register_hook(_refuse)
        used = x**2
        used.sum().backward()
        results = (
            ("WrongBackward", Wrong.apply(x)), ("PowBackward0", used), ("AccumulateGrad", leaf * 2),
        )  # fmt: skip
        for name, result in results:
            text = f"Error detected in .*{name}. Traceback of forward"
            with (
                pytest.warns(UserWarning, match=text),
                pytest.raises((RuntimeError, TypeError)),
            ):
                result.sum().backward()


def test_anomaly_mode_is_on_within_the_block_alone() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        block = torch.autograd.detect_anomaly()
    assert not torch.is_anomaly_enabled()
    with block:
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()
