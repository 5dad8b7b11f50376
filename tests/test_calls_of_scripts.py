"""Calls that other people's training scripts make, found by migration_examples."""

import pytest

from tests.surface import check


@pytest.mark.parametrize(
    ("prepare", "code"),
    [
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), x, only_inputs=True)"),
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), {'a': x}, only_inputs=False)"),
        ("x.requires_grad_()", "torch.autograd.grad((x * x).sum(), [])"),
        (
            "import types; x.requires_grad_()",
            "torch.autograd.grad((x * x).sum(), types.MappingProxyType({'a': x}))",
        ),
    ],
)  # fmt: skip
def test_gradients_are_asked_for_as_in_torch(prepare: str, code: str) -> None:
    """Deprecated and newer arguments of ``autograd.grad``: WGAN-GP scripts pass ``only_inputs``."""
    check(code, prepare)
