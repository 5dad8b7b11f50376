"""Gradients of gradients through normalisations and attention, as gradient penalties need them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.torch.nn import functional as mf

torch = pytest.importorskip("torch")

NORMS: dict[str, Callable[..., Any]] = {
    "batch": lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True, 0.1, 1e-3),
    "batch_eval": lambda t, x, w, b: t.nn.functional.batch_norm(
        x, t.arange(4).to(x.dtype), t.arange(4).to(x.dtype) + 0.5, w, b, False
    ),
    "instance": lambda t, x, w, b: t.nn.functional.instance_norm(x, None, None, w, b),
    "group": lambda t, x, w, b: t.nn.functional.group_norm(x, 2, w, b, 1e-3),
    "layer": lambda t, x, w, b: t.nn.functional.layer_norm(x.mT, (4,), w, b, 1e-3),
    "rms": lambda t, x, w, b: t.nn.functional.rms_norm(x.mT, (4,), w, 1e-3) + b,
}


def _inputs(namespace: Any, *arrays: Any) -> list[Any]:
    return [namespace.from_numpy(a.copy()).requires_grad_() for a in arrays]


def _slopes(call: Callable[..., Any], arrays: list[Any], create: bool) -> tuple[Any, Any]:
    inputs = _inputs(mt, *arrays)
    result = call(*inputs)
    weights = mt.linspace(0.5, 1.5, result.numel(), dtype=mt.float64).reshape(result.shape)
    total = (weights * result * result).sum()
    return inputs, mt.autograd.grad(total, inputs, create_graph=create)


def _assert_hessian_is_a_difference_quotient(call: Callable[..., Any], arrays: list[Any]) -> None:
    """H d = (gradient(x + e d) - gradient(x - e d)) / 2 e, for a random direction d."""
    rng = np.random.default_rng(9)
    directions = [rng.normal(size=a.shape) for a in arrays]
    inputs, slopes = _slopes(call, arrays, True)
    along = sum((s * mt.from_numpy(d)).sum() for s, d in zip(slopes, directions, strict=True))
    found = mt.autograd.grad(along, inputs)
    step = 1e-5
    ahead, behind = (
        _slopes(call, [a + e * d for a, d in zip(arrays, directions, strict=True)], False)[1]
        for e in (step, -step)
    )
    for h, a, b in zip(found, ahead, behind, strict=True):
        quotient = ((a - b) / (2 * step)).numpy()
        np.testing.assert_allclose(h.numpy(), quotient, rtol=1e-6, atol=1e-6)


def _norm_arrays(dtype: str = "float64") -> list[Any]:
    rng = np.random.default_rng(3)
    return [rng.normal(size=s).astype(dtype) for s in ((3, 4, 5), (4,), (4,))]


@pytest.mark.parametrize("name", NORMS)
def test_second_derivatives_of_norms_are_difference_quotients(name: str) -> None:
    """Finite differences know nothing of our formulas, nor of torch's."""
    _assert_hessian_is_a_difference_quotient(lambda *xs: NORMS[name](mt, *xs), _norm_arrays())


@pytest.mark.parametrize("absent", ["weight", "bias", "both"])
@pytest.mark.parametrize("name", ["batch", "instance", "group", "layer"])
def test_second_derivatives_of_norms_without_parameters(name: str, absent: str) -> None:
    """An absent weight or bias takes another way through the rule."""
    x, w, b = _norm_arrays()
    given = {"weight": [x, b], "bias": [x, w], "both": [x]}[absent]

    def call(x: Any, *parameters: Any) -> Any:
        chosen = {"weight": (None, *parameters), "bias": (*parameters, None), "both": (None, None)}
        return NORMS[name](mt, x, *chosen[absent])

    _assert_hessian_is_a_difference_quotient(call, given)


def _critic_gradients(namespace: Any, name: str) -> list[Any]:
    """WGAN-GP: the penalty (|grad| - 1)**2 of a critic with a norm inside, and its gradients."""
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=s) for s in ((3, 2, 9), (4, 2, 3), (4,), (4,), (28, 1))]
    x, kernel, w, b, last = _inputs(namespace, *arrays)
    hidden = namespace.nn.functional.conv1d(x, kernel)
    hidden = namespace.nn.functional.leaky_relu(NORMS[name](namespace, hidden, w, b), 0.2)
    score = hidden.flatten(1) @ last
    (slope,) = namespace.autograd.grad(score.sum(), x, create_graph=True)
    penalty = ((slope.flatten(1).norm(dim=1) - 1) ** 2).mean()
    penalty.backward()
    return [penalty.detach(), kernel.grad, w.grad, last.grad]


@pytest.mark.parametrize("name", NORMS)
def test_a_gradient_penalty_through_a_norm_is_torchs(name: str) -> None:
    """The use that second derivatives of norms exist for."""
    for mine, theirs in zip(
        _critic_gradients(mt, name), _critic_gradients(torch, name), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", NORMS)
def test_the_recorded_gradient_of_half_precision_is_computed_in_float32(name: str) -> None:
    """As the kernel's is: sums of float16 products would lose most digits."""
    found = []
    for create in (False, True):
        inputs = _inputs(mt, *_norm_arrays("float16"))
        result = NORMS[name](mt, *inputs)
        found.append(mt.autograd.grad((result * result).sum(), inputs, create_graph=create))
    for plain, recorded in zip(*found, strict=True):
        assert recorded.dtype is mt.float16
        np.testing.assert_allclose(
            recorded.detach().numpy(), plain.numpy(), rtol=8e-3, atol=8e-3
        )


def _layer_norm_of_ops(x: Any) -> Any:
    deviation = x - x.mean(1, keepdim=True)
    return deviation / (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def test_third_derivatives_of_a_norm_are_those_of_its_formula() -> None:
    """The composed gradient is made of ops, so it has derivatives of every order. (That of
    torch's own layer_norm is wrong, so torch is given the formula.)"""

    def third(namespace: Any) -> Any:
        (x,) = _inputs(namespace, np.random.default_rng(1).normal(size=(2, 6)))
        norm = _layer_norm_of_ops if namespace is torch else (lambda x: mf.layer_norm(x, (6,)))
        value = norm(x).pow(3).sum()
        for _ in range(3):
            (gradient,) = namespace.autograd.grad(value, x, create_graph=True)
            value = (gradient * gradient).sum()
        return gradient.detach().numpy()

    expected = third(torch)
    np.testing.assert_allclose(third(mt), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def _normal(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape)


BLIND = np.tril(np.ones((5, 6), bool), -1)
Q, K, V = _normal(2, 2, 5, 4), _normal(2, 2, 6, 4), _normal(2, 2, 6, 4) + 1
ATTENTION: dict[str, tuple[tuple[Any, Any, Any], Any, dict[str, Any]]] = {
    "plain": ((Q, K, V), None, {}),
    "narrow_values": ((Q, K, V[..., :3].copy()), None, {}),
    "causal": ((Q, K, V), None, {"is_causal": True}),
    "causal_with_few_keys": ((K, Q[:, :, :3].copy(), V[:, :, :3].copy()), None,
                             {"is_causal": True}),
    "float_mask": ((Q, K, V), _normal(5, 6), {}),
    "mask_of_a_batch": ((Q, K, V), _normal(2, 1, 5, 6), {}),
    "mask_of_keys": ((Q, K, V), _normal(2, 1, 1, 6), {}),
    "bool_mask": ((Q, K, V), _normal(5, 6) > -0.5, {}),
    "blind_query": ((Q, K, V), BLIND, {}),
    "scale": ((Q, K, V), None, {"scale": 0.3}),
    "negative_scale": ((Q, K, V), None, {"scale": -0.3}),
    "zero_scale": ((Q, K, V), None, {"scale": 0.0}),
    "shared_heads": ((_normal(2, 6, 5, 4), K, V), None, {"enable_gqa": True}),
    "unequal_shared_heads": ((_normal(2, 6, 5, 4), K, _normal(2, 3, 6, 4)), None,
                             {"enable_gqa": True}),
    "matrices": ((Q[0, 0], K[0, 0], V[0, 0]), _normal(5, 6), {}),
    "three_axes": ((Q[0], K[0], V[0]), _normal(2, 5, 6), {}),
    "broadcast_batches": ((_normal(2, 3, 5, 4), _normal(1, 3, 6, 4), _normal(3, 6, 4)), None, {}),
    "dropout": ((Q, K, V), None, {"dropout_p": 0.5}),
    "dropout_with_mask": ((Q, K, V), _normal(5, 6), {"dropout_p": 0.5}),
    "causal_dropout": ((Q, K, V), None, {"dropout_p": 0.5, "is_causal": True}),
    "no_queries": ((Q[:, :, :0], K, V), None, {}),
    "no_keys": ((Q, K[:, :, :0], V[:, :, :0]), None, {}),
}  # fmt: skip


def _attention(namespace: Any, name: str, order: int) -> list[Any]:
    arrays, mask, options = ATTENTION[name]
    leaves = _inputs(namespace, *arrays)
    given = None
    if mask is not None:
        given = namespace.from_numpy(mask.copy())
        if mask.dtype != bool:
            leaves.append(given.requires_grad_())
    namespace.manual_seed(3)
    call = namespace.nn.functional.scaled_dot_product_attention
    result = call(*leaves[:3], given, **options)
    if not order:
        return [result]
    total = (result * result).sum()
    gradients = namespace.autograd.grad(total, leaves, create_graph=order > 1)
    if order == 1:
        return list(gradients)
    return list(namespace.autograd.grad(sum((g * g).sum() for g in gradients), leaves,
                                        allow_unused=True))  # fmt: skip


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_and_its_gradients_are_torchs(name: str, order: int) -> None:
    """Masks (their gradients too), causality, scale, dropout and shared heads, each with the
    first and second derivative. torch's own fused kernel has no second one, so its plain one
    is asked."""
    mine = _attention(mt, name, order)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        theirs = _attention(torch, name, order)
    for a, b in zip(mine, theirs, strict=True):
        if a is None or b is None:
            assert a is b
            continue
        np.testing.assert_allclose(
            a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-11
        )


def test_attention_refuses_what_torch_refuses() -> None:
    """The fused kernel would read beyond keys that are too narrow or too few."""
    q, k, v = (mt.from_numpy(x) for x in (Q, K, V))
    call = mf.scaled_dot_product_attention
    with pytest.raises(RuntimeError, match=r"Expected size for first two dimensions"):
        call(q, k[..., :3], v)
    with pytest.raises(RuntimeError, match=r"Expected size for first two dimensions"):
        call(q, k, v[:, :, :5])
    with pytest.raises(RuntimeError, match="must divide the number of heads"):
        call(mt.zeros(2, 5, 5, 4, dtype=q.dtype), k, v, enable_gqa=True)
    with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal"):
        call(q, k, v, mt.zeros(5, 6, dtype=q.dtype), dropout_p=0.5, is_causal=True)
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float"):
        call(q, k, v, mt.zeros(5, 6, dtype=mt.int64))
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        call(q, k, v, dropout_p=math.pi)


def test_attention_takes_a_mask_beside_causality() -> None:
    """Where PyTorch's fused kernel does: four axes and no dropout."""
    mask = np.arange(25.0).reshape(5, 5) % 3
    for each in (mask, mask > 0):
        mine, theirs = (
            t.nn.functional.scaled_dot_product_attention(
                *(t.from_numpy(x[:, :, :5].copy()) for x in (Q, K, V)), t.from_numpy(each.copy()),
                is_causal=True,
            )
            for t in (mt, torch)
        )  # fmt: skip
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_second_derivatives_of_bessel_functions_at_zero_are_torchs(name: str) -> None:
    """The first derivative is a limit there; its formula divides by zero beside it."""
    found = []
    for library in (torch, mt):
        x = library.tensor([0.0, 1.0, -3.0], dtype=library.float64, requires_grad=True)
        total = getattr(library.special, name)(x).sum()
        (slope,) = library.autograd.grad(total, x, create_graph=True)
        found.append(library.autograd.grad(slope.sum(), x)[0].numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_the_tangent_of_logcumsumexp_is_torchs() -> None:
    """Its backward pass takes the logarithm of what comes in, which hides a derivative at 0."""
    found = []
    for library in (torch, mt):
        x, t = (library.tensor(v, dtype=library.float64) for v in ([1, 2, 0.5], [1, 0.5, 0.25]))
        found.append(library.func.jvp(lambda x: library.logcumsumexp(x, 0), (x,), (t,))[1].numpy())  # noqa: B023
        forward = library.autograd.forward_ad
        with forward.dual_level():
            moved = forward.unpack_dual(library.logcumsumexp(forward.make_dual(x, t), 0)).tangent
        np.testing.assert_allclose(moved.numpy(), found[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:var.*degrees of freedom")
@pytest.mark.parametrize("unbiased", [True, False])
def test_the_variance_of_one_number_has_a_gradient(unbiased: bool) -> None:
    """A tensor without axes: nan without a degree of freedom, else 0."""
    slopes = []
    for library in (torch, mt):
        x = library.tensor(1.5, dtype=library.float64, requires_grad=True)
        slopes.append(library.autograd.grad(library.var(x, unbiased=unbiased), x)[0].item())
    np.testing.assert_equal(slopes[1], slopes[0])
