"""torch._foreach_*: every function, out of place and in place, against PyTorch."""

from __future__ import annotations

import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import check

PREPARE = """
torch.manual_seed(0)
xs = [torch.rand(3) * 0.8 + 0.1, torch.rand(2, 2) * 0.8 + 0.1]
ys = [torch.rand(3) + 0.5, torch.rand(2, 2) + 0.5]; zs = [y + 1 for y in ys]
"""
UNARY = sorted(
    name for name in dir(torch)
    if name.startswith("_foreach_")
    and name.strip("_").removeprefix("foreach_") not in (
        "add", "addcdiv", "addcmul", "clamp_max", "clamp_min", "copy", "div", "lerp", "maximum",
        "minimum", "mm", "mul", "pow", "sub",
    )
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "clamp_max", "clamp_min", "maximum", "minimum", "pow")
OTHERS = [
    "torch._foreach_add(xs, ys, alpha=3)", "torch._foreach_add_(xs, ys, alpha=2)",
    "torch._foreach_sub(xs, ys, alpha=0.5)", "torch._foreach_add(xs, torch.tensor(2.0))",
    "torch._foreach_mul_(xs, torch.tensor(2.0))", "torch._foreach_div(xs, torch.tensor(2.0))",
    "torch._foreach_add(xs, torch.ones(2))", "torch._foreach_pow(2.0, xs)",
    "torch._foreach_addcmul(xs, ys, zs)", "torch._foreach_addcmul(xs, ys, zs, 2.0)",
    "torch._foreach_addcmul(xs, ys, zs, [1, 2.0])",
    "torch._foreach_addcmul_(xs, ys, zs, torch.tensor([1, 2.0]))",
    "torch._foreach_addcdiv(xs, ys, zs, 0.1)", "torch._foreach_addcdiv_(xs, ys, zs, [0.1, 2])",
    "torch._foreach_addcmul(xs, ys, zs, torch.ones(3))", "torch._foreach_addcmul(xs, ys[:1], zs)",
    "torch._foreach_lerp(xs, ys, 0.3)", "torch._foreach_lerp_(xs, ys, [0.3, 0.6])",
    "torch._foreach_lerp(xs, ys, zs)", "torch._foreach_copy_(xs, ys)",
    "torch._foreach_copy_(xs, [ys[0], torch.ones(1)])", "torch._foreach_norm(xs, 1)",
    "torch._foreach_norm(xs, float('inf'))", "torch._foreach_norm(xs, dtype=torch.float64)",
    "torch._foreach_powsum(xs, 3.0)", "torch._foreach_mm([xs[1]], [ys[1]])",
    "torch._foreach_add(xs, ys[:1])", "torch._foreach_add(xs, [1, 2, 3])",
    "torch._foreach_sqrt([])", "torch._foreach_div(xs, [])", "torch._foreach_mul(xs, True)",
    "torch._foreach_mul([torch.ones(2, dtype=torch.int32)], 1.5)",
    "torch._foreach_mul_([torch.ones(2, dtype=torch.int32)], 1.5)",
    "torch._foreach_add_(xs, 1) is xs",
]  # fmt: skip


def _exists(name: str) -> None:
    assert hasattr(ours, name), name


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_list_are_torchs(name: str) -> None:
    """Values, containers, and that in-place forms return the list itself."""
    _exists(name)
    check(f"torch.{name}(xs)", PREPARE, rtol=5e-6)
    if name.endswith("_"):
        check(f"torch.{name}(xs) is xs", PREPARE)


@pytest.mark.parametrize("other", ["2", "0.5", "[1, 0.25]", "ys"])
@pytest.mark.parametrize("name", [*BINARY, *(name + "_" for name in BINARY)])
def test_functions_of_two_take_numbers_and_lists(name: str, other: str) -> None:
    """A number, a list of numbers and a list of tensors."""
    _exists(f"_foreach_{name}")
    check(f"torch._foreach_{name}(xs, {other})", PREPARE, rtol=5e-6)


@pytest.mark.parametrize("code", OTHERS)
def test_the_others_are_torchs(code: str) -> None:
    """Factors, interpolation, copies, norms, and errors of lists that do not fit."""
    check(code, PREPARE, rtol=5e-6)


def test_gradients_go_through_lists() -> None:
    """The functions are compositions of ops."""
    check(
        "torch.autograd.grad(sum(t.sum() for t in torch._foreach_addcmul("
        "torch._foreach_exp(xs), xs, ys, 2.0)), xs)",
        PREPARE + "[x.requires_grad_() for x in xs]",
        rtol=5e-6,
    )


def test_in_place_writes_are_seen_by_autograd() -> None:
    """Overwriting what backward needs is an error, as for single tensors."""
    x = ours.ones(2, requires_grad=True)
    y = (x * 1).exp()
    z = y * y
    ours._foreach_mul_([y], 2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
