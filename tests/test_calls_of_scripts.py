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


OPTIMIZERS = """
class Old(torch.optim.Optimizer):
    def __init__(self, params): super().__init__(params, {})
    def step(self, closure=None):
        loss = closure() if closure else None
        for p in self.param_groups[0]["params"]: p.data.add_(p.grad, alpha=-0.1)
        return loss
class Around(torch.optim.Optimizer):
    def __init__(self, inner): self.inner, self.param_groups = inner, inner.param_groups
    def step(self, closure=None): return self.inner.step(closure), torch.is_grad_enabled()
x.requires_grad_()
def closure():
    x.grad = None
    loss = (x * x).sum()
    loss.backward()
    return loss
closure()
calls = []
old = Old([x]); sgd = torch.optim.SGD([x], 0.1)
old.register_step_post_hook(lambda *each: calls.append(len(each)))
"""


@pytest.mark.parametrize(
    "code",
    [
        "old.step(closure), x, calls", "old.step(), x", "Around(old).step(closure)",
        "Around(sgd).step(closure)", "Around(sgd).step()", "sgd.step(closure), x",
    ],
)  # fmt: skip
def test_the_step_of_an_optimizer_of_ones_own_is_left_as_it_is(code: str) -> None:
    """Gradients stay recorded in it, also in a closure; without ``__init__`` there are no hooks."""
    check(code, OPTIMIZERS)
