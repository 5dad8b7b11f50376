"""torch.autograd.forward_ad: tensors with tangents, against derivatives that are known."""

from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch.autograd import forward_ad, gradcheck
from mindtorch.torch.func import functional_call


def test_a_tangent_goes_through_what_is_computed() -> None:
    """x^2 + y has the tangent 2 x t, also under no_grad, in place, and through a module."""
    x, t = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 5.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        assert forward_ad.unpack_dual(dual).tangent is t
        result = dual**2 + torch.ones(2)
        found = forward_ad.unpack_dual(result)
        assert found.tangent.tolist() == [6.0, -20.0] and not found.tangent.requires_grad
        assert found.primal.tolist() == [2.0, 5.0] and not found.primal.requires_grad
        with torch.no_grad():
            assert forward_ad.unpack_dual(dual * 2).tangent.tolist() == [6.0, 10.0]
        written = torch.zeros(2)
        written.copy_(dual * dual)
        assert forward_ad.unpack_dual(written).tangent.tolist() == [6.0, -20.0]
        assert forward_ad.unpack_dual(dual.detach()).tangent is None
        assert repr(dual) == "tensor([ 1., -2.], tangent=tensor([3., 5.]))"
        layer = torch.nn.Linear(2, 1)
        assert layer.weight.requires_grad and layer.weight.is_leaf
        pushed = forward_ad.unpack_dual(layer(dual)).tangent
    assert torch.allclose(pushed, layer.weight @ t)
    assert forward_ad.unpack_dual(result).tangent is None


def test_dual_tensors_may_be_written_to() -> None:
    """The tangent is that of what is there after the write, of views too; of a primal that requires
    gradients it is refused."""
    x, t = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        view = dual[1:]
        view.mul_(dual[:2].clone())
        dual[0] = 5.0
        assert forward_ad.unpack_dual(dual).tangent.tolist() == [0.0, 4.0, 12.0]
        assert forward_ad.unpack_dual(view * 2).tangent.tolist() == [8.0, 24.0]
        assert x.tolist() == [5.0, 2.0, 6.0]
        dual = forward_ad.make_dual(x.clone().requires_grad_() * 1, t)
        dual[0] = 5.0
        with pytest.raises(NotImplementedError, match="make the dual tensor of a clone"):
            forward_ad.unpack_dual(dual * 2)


def test_parameters_are_made_dual_and_tangents_are_differentiated() -> None:
    """The tangent of w^3 is 3 w^2 t, whose derivative for w is 6 w t."""
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    with forward_ad.dual_level():
        made = forward_ad.make_dual(w, torch.tensor([1.0, 10.0])) ** 3
        tangent = forward_ad.unpack_dual(made).tangent
        tangent.sum().backward()
    assert tangent.tolist() == [12.0, 270.0]
    assert w.grad.tolist() == [12.0, 180.0]
    layer, x = torch.nn.Linear(3, 2), torch.randn(4, 3)
    parameters = dict(layer.named_parameters())
    directions = {k: torch.rand_like(p) for k, p in parameters.items()}
    with forward_ad.dual_level():
        duals = {k: forward_ad.make_dual(p, directions[k]) for k, p in parameters.items()}
        pushed = forward_ad.unpack_dual(functional_call(layer, duals, (x,))).tangent
    expected = x @ directions["weight"].T + directions["bias"]
    assert torch.allclose(pushed, expected)


class Exponential(torch.autograd.Function):
    """A function with a ``jvp`` only, which gives up what it has used."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.result = x.exp()
        return ctx.result

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        result = tangent * ctx.result
        del ctx.result
        return result


class Sine(torch.autograd.Function):
    """A function whose ``jvp`` has the wrong sign, and whose backward is right."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * x.cos()

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        (x,) = ctx.saved_tensors
        return -tangent * x.cos()


def test_functions_with_a_jvp_are_pushed_through_it() -> None:
    """gradcheck notices a wrong jvp in forward mode only; the jvp alone is enough to check."""
    x = torch.randn(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(Exponential.apply, (x,), check_forward_ad=True, check_backward_ad=False,
                     check_undefined_grad=False)  # fmt: skip
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        assert torch.allclose(forward_ad.unpack_dual(Exponential.apply(dual)).tangent, x.exp())
    assert gradcheck(Sine.apply, (x,))
    with pytest.raises(RuntimeError, match="computed with forward mode mismatch for output 0"):
        gradcheck(Sine.apply, (x,), check_forward_ad=True)
    c = torch.randn(2, dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z.conj() * z, (c,), check_forward_ad=True)


def test_what_forward_mode_refuses() -> None:
    """PyTorch's errors: no level, a second level or tangent, another shape, whole numbers."""
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        forward_ad.make_dual(x, x)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        forward_ad.exit_dual_level()
    with forward_ad.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            forward_ad.enter_dual_level()
        with pytest.raises(RuntimeError, match=r"Tensor is of size \[3\] while .* size \[2\]"):
            forward_ad.make_dual(x, torch.ones(2))
        with pytest.raises(ValueError, match="Expected primal to be floating point"):
            forward_ad.make_dual(torch.arange(3), x)
        dual = forward_ad.make_dual(x, x)
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            forward_ad.make_dual(dual, x)

        class Plain(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

        with pytest.raises(NotImplementedError, match="must implement the jvp function"):
            Plain.apply(dual)
