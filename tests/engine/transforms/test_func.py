"""torch.func against real torch: values, shapes, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional

import mindtorch.torch as ours
from mindtorch.engine.transforms.vmap import Vmap
from tests.support.func_cases import Case, assert_alike, quiet, source

__all__ = ["quiet"]  # a fixture of every test here


def _mlp(t: Any, p: Any, x: Any) -> Any:
    return t.tanh(x @ p["w1"] + p["b1"]) @ p["w2"]


def _parameters(make: Any) -> Any:
    return {"w1": make(3, 5), "b1": make(5), "w2": make(5, 2)}


def _loss(t: Any, p: Any, x: Any, y: Any) -> Any:
    return t.nn.functional.cross_entropy(_mlp(t, p, x.unsqueeze(0)), y.unsqueeze(0))


def _conv_loss(t: Any, w: Any, v: Any, x: Any) -> Any:
    h = t.nn.functional.max_pool2d(t.relu(t.nn.functional.conv2d(x.unsqueeze(0), w, padding=1)), 2)
    return (h.flatten(1) @ v).pow(2).sum()


def _transformer_loss(t: Any, p: Any, x: Any) -> Any:
    f = t.nn.functional
    h = f.layer_norm(x.unsqueeze(0), (4,), p["g"], p["b"])
    q, k, v = (h @ p["qkv"]).reshape(1, 3, 3, 2, 2).unbind(2)
    a = f.scaled_dot_product_attention(*[z.transpose(1, 2) for z in (q, k, v)])
    return (f.gelu(a.transpose(1, 2).reshape(1, 3, 4)) ** 2).mean()


CASES: dict[str, Case] = {
    "dims": lambda t, m: t.func.vmap(lambda a, b: a @ b.T + a, (0, 1), 1)(m(3, 3, 3), m(3, 3, 3)),
    "negative dims": lambda t, m: t.func.vmap(lambda a, b: a @ b, (-1, None), -1)(m(2, 3), m(2, 4)),
    "trees": lambda t, m: t.func.vmap(
        lambda d, z: {"s": d["a"] + z[0], "p": (d["a"] * d["k"], z[1])}, ({"a": 0, "k": None}, 1)
    )({"a": m(2, 3), "k": 2.0}, [m(3, 2), m(3, 2)]),
    "out trees": lambda t, m: t.vmap(lambda a: (a, [a + 1, a.sum()]), 1, (0, [1, 0]))(m(3, 4)),
    "shared result": lambda t, m: t.vmap(lambda a: (a, t.ones(2)), out_dims=0)(m(3)),
    "no batch out": lambda t, m: t.vmap(lambda a: (a, 7), out_dims=(0, None))(m(3)),
    "nested": lambda t, m: t.vmap(t.vmap(t.dot, (None, 0)), (0, None))(m(3, 4), m(5, 4)),
    "nested out": lambda t, m: t.vmap(t.vmap(lambda a, b: a * b, (0, None), 1), 1, -1)(
        m(2, 3, 4), m(4, 3)
    ),
    "chunks": lambda t, m: t.vmap(lambda a: (a * 2, a.sum()), chunk_size=2, out_dims=(1, 0))(
        m(5, 3)
    ),
    "in place": lambda t, m: t.vmap(lambda a: t.zeros_like(a).add_(a).mul_(3)[1:])(m(3, 4)),
    "write to views": lambda t, m: t.vmap(lambda a: _written(t, a))(m(3, 4)),
    "per sample gradients": lambda t, m: t.vmap(
        t.func.grad(lambda p, x, y: _loss(t, p, x, y)), (None, 0, 0)
    )(_parameters(m), m(6, 3), t.tensor([0, 1, 1, 0, 1, 0])),
    "per sample gradients of a CNN": lambda t, m: t.vmap(
        t.func.grad(lambda w, v, x: _conv_loss(t, w, v, x), (0, 1)), (None, None, 0)
    )(m(2, 3, 3, 3), m(18, 2), m(4, 3, 6, 6)),
    "per sample gradients of attention": lambda t, m: t.vmap(
        t.func.grad_and_value(lambda p, x: _transformer_loss(t, p, x)), (None, 0)
    )({"g": m(4), "b": m(4), "qkv": m(4, 12)}, m(3, 3, 4)),
    "gradient through a map": lambda t, m: t.func.grad(
        lambda w: t.vmap(lambda x: t.sin(x @ w).sum())(m(4, 3)).pow(2).sum()
    )(m(3, 2)),
    "gradient of per sample gradients": lambda t, m: t.func.grad(
        lambda x: t.vmap(t.func.grad(lambda v: (v**3).prod()))(x).pow(2).sum()
    )(m(4, 3)),
    "grad": lambda t, m: t.func.grad(lambda a, b: (a * b["x"]).sum().sin(), (0, 1))(
        m(3), {"x": m(3)}
    ),
    "grad of the last": lambda t, m: t.func.grad(lambda a, b: (a * b * b).sum(), -1)(m(3), m(3)),
    "one in a tuple": lambda t, m: t.func.grad(lambda a: a.pow(3).sum(), (0,))(m(3)),
    "aux": lambda t, m: t.func.grad_and_value(lambda a: (a.sum(), a * 2), has_aux=True)(m(3)),
    "third derivative": lambda t, m: t.func.grad(t.func.grad(t.func.grad(lambda a: a.sin() * a)))(
        m()
    ),
    "grad in grad": lambda t, m: t.func.grad(
        lambda x: t.func.grad(lambda y: x * y * y)(x * 2) * x
    )(m()),
    "vjp": lambda t, m: t.func.vjp(lambda a: (a.sin(), {"s": a.sum()}), m(3))[1](
        (m(3), {"s": m()})
    ),
    "vjp of one": lambda t, m: t.func.vjp(t.exp, m(3))[1](m(3)),
    "vjp aux": lambda t, m: t.func.vjp(lambda a: (a * a, [a]), m(2), has_aux=True)[2],
    "mapped vjp": lambda t, m: t.vmap(t.func.vjp(lambda a: t.tanh(a @ a.T), m(3, 2))[1])(
        m(4, 3, 3)
    ),
    "jvp": lambda t, m: t.func.jvp(
        lambda a, b: {"p": a @ b, "q": a.exp()}, (m(2, 3), m(3)), (m(2, 3), m(3))
    ),
    "jvp aux": lambda t, m: t.func.jvp(lambda a: (a**2, a), (m(3),), (m(3),), has_aux=True),
    "jvp of a constant": lambda t, m: t.func.jvp(lambda a: t.ones(2), (m(3),), (m(3),)),
    "mapped jvp": lambda t, m: t.vmap(
        lambda v: t.func.jvp(lambda a: t.softmax(a, 0), (m(0, 4).sum(0) + 0.3,), (v,))[1]
    )(m(5, 4)),
    "jvp of grad": lambda t, m: t.func.jvp(
        t.func.grad(lambda a: (a.sin() ** 2).prod()), (m(4),), (m(4),)
    ),
    "linearize": lambda t, m: _linearized(t, m),
    "jacrev": lambda t, m: t.func.jacrev(lambda a: a.sin().outer(a))(m(3)),
    "jacrev argnums": lambda t, m: t.func.jacrev(
        lambda a, b: (a @ b, {"s": b.sum()}), argnums=(1, 0)
    )(m(2, 3), m(3)),
    "jacrev tree": lambda t, m: t.func.jacrev(lambda p, x: _mlp(t, p, x))(_parameters(m), m(3)),
    "jacrev aux": lambda t, m: t.func.jacrev(lambda a: (a.exp(), a), has_aux=True)(m(3)),
    "jacrev chunks": lambda t, m: t.func.jacrev(lambda a: a.cumsum(0).cos(), chunk_size=2)(m(5)),
    "jacfwd": lambda t, m: t.func.jacfwd(lambda a, b: (a @ b).tanh(), 1)(m(4, 3), m(3)),
    "jacfwd argnums": lambda t, m: t.func.jacfwd(
        lambda a, b: {"p": a * b, "s": b.sum()}, (0, 1)
    )(m(2, 3), m(3)),
    "jacfwd aux": lambda t, m: t.func.jacfwd(lambda a: (a.exp(), a.sum()), has_aux=True)(m(2, 2)),
    "mapped jacobian": lambda t, m: t.vmap(t.func.jacrev(lambda a: a.sin() * a.sum()))(m(4, 3)),
    "mapped jacfwd": lambda t, m: t.vmap(t.func.jacfwd(lambda a: a.sin() * a.sum()))(m(4, 3)),
    "hessian": lambda t, m: t.func.hessian(lambda a: (a.sin() @ a).exp())(m(4)),
    "hessian of an MLP": lambda t, m: t.func.hessian(
        lambda p, x: _mlp(t, p, x).pow(2).sum()
    )(_parameters(m), m(4, 3)),
    "hessian argnums": lambda t, m: t.func.hessian(lambda a, b: (a * b).prod(), (0, 1))(m(2), m(2)),
    "mapped hessian": lambda t, m: t.vmap(t.func.hessian(lambda a: a.prod().sin()))(m(3, 3)),
    "writes to what it made": lambda t, m: [
        d(lambda a: _made_and_written(t, a))(m(3))
        for d in (t.func.jacfwd, lambda f: t.func.jacfwd(t.func.jacfwd(f)))
    ],
    "without gradients inside": lambda t, m: [
        t.func.jvp(t.no_grad()(lambda a: a.sin() * a), (m(3),), (m(3),)),
        t.func.jacfwd(t.no_grad()(lambda a: a.sin()))(m(3)),
        t.func.grad(t.no_grad()(lambda a: a.sum()))(m(3)),
    ],
    "without gradients around a pull": lambda t, m: t.no_grad()(
        t.func.vjp(t.sin, m(3).requires_grad_())[1]
    )(m(3)),
    "writes to an argument that is none of the primals": lambda t, m: t.func.jacfwd(
        lambda a, b: b.copy_(a)
    )(m(3), m(3)),
    "writes to what is pushed": lambda t, m: t.func.jvp(
        lambda a: a.mul_(a.sum()), (m(3),), (m(3),)
    ),
    "pushed by the user's jvp": lambda t, m: t.func.jvp(_pushing(t), (m(3),), (m(3),)),
    "jacobian of jacobian": lambda t, m: t.func.jacfwd(t.func.jacrev(lambda a: a.pow(3)))(m(3)),
}  # fmt: skip


def _written(t: Any, a: Any) -> Any:
    b = a.clone()
    b[1:3] *= 2
    b[0] = a.sum()
    b.view(2, 2)[1] += a[:2]
    return b


def _made_and_written(t: Any, a: Any) -> Any:
    """Writes to new tensors and to views of them, made before and after the first write."""
    z = t.zeros(2, 3, dtype=a.dtype)
    early = z[0]
    z[1].copy_(a)
    early.add_(a * a)
    w = z.t()
    return (w * z.t()).sum(1) + early


def _pushing(t: Any) -> Callable[..., Any]:
    class Tripled(t.autograd.Function):
        """Whose jvp is not what its backward says."""

        generate_vmap_rule = True

        @staticmethod
        def forward(a: Any) -> Any:
            return a * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 3

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent * 5

    return lambda a: Tripled.apply(a.sin())


def _linearized(t: Any, m: Any) -> Any:
    value, push = t.func.linearize(lambda a, b: (a * b).sin(), m(3), m(3))
    return value, push(m(3), m(3)), push(m(3), m(3))


@pytest.mark.parametrize("name", CASES)
def test_transformations_are_torchs(name: str) -> None:
    """Values, shapes, types and the structure of the results; no op of these runs in a loop."""
    Vmap.fallbacks.clear()
    mine = CASES[name](ours, source(ours))
    assert not Vmap.fallbacks
    assert_alike(mine, CASES[name](torch, source(torch)))


def _writing(t: Any, captured: Any, body: Callable[..., Any]) -> Any:
    """The gradient of a function that writes to what it closes over."""
    return t.func.grad(lambda a: (body(captured, a), a.sum())[1])(captured.detach() * 2)


def _squaring(t: Any, separate: bool) -> Callable[..., Any]:
    """A user's function, with or without ``setup_context``."""

    class Square(t.autograd.Function):
        @staticmethod
        def forward(*args: Any) -> Any:
            return args[-1] ** 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    if separate:
        Square.setup_context = staticmethod(lambda ctx, inputs, output: None)
    return lambda a: Square.apply(a).sum()


def _raise_in(t: Any, value: Any) -> Any:
    if value.sum() > 0:
        return value
    return -value


ERRORS: dict[str, Case] = {
    "dims out of range": lambda t, m: t.vmap(lambda v: v, 5)(m(2, 3)),
    "list of dims": lambda t, m: t.vmap(abs, [0])(m(2)),
    "float dim": lambda t, m: t.vmap(abs, (0.5,))(m(2)),
    "dim of a number": lambda t, m: t.vmap(abs, (0, 0))(m(2), 3.0),
    "too many dims": lambda t, m: t.vmap(abs, (0, 0, 0))(m(2), m(2)),
    "nested dims": lambda t, m: t.vmap(abs, ({"a": 0},))({"b": m(2)}),
    "no inputs": lambda t, m: t.vmap(abs)(),
    "nothing mapped": lambda t, m: t.vmap(abs, None)(m(2)) if t else None,
    "sizes": lambda t, m: t.vmap(lambda a, b: a + b)(m(2, 3), m(3)),
    "out dims": lambda t, m: t.vmap(abs, out_dims="x")(m(2)),
    "number of out dims": lambda t, m: t.vmap(lambda a: (a, a), out_dims=(0, 0, 0))(m(2)),
    "result": lambda t, m: t.vmap(lambda a: 3)(m(2)),
    "batched without axis": lambda t, m: t.vmap(abs, out_dims=None)(m(2)),
    "randomness": lambda t, m: t.vmap(abs, randomness="some"),
    "chunk size": lambda t, m: t.vmap(abs, chunk_size=0),
    "draws": lambda t, m: t.vmap(lambda a: a + t.rand(2))(m(3, 2)),
    "drops": lambda t, m: t.vmap(lambda a: t.nn.functional.dropout(a))(m(3, 2)),
    "same of many": lambda t, m: t.vmap(t.bernoulli, randomness="same")(m(3).sigmoid()),
    "different of one": lambda t, m: t.vmap(
        lambda a: a + t.zeros(2).normal_(), randomness="different"
    )(m(3, 2)),
    "branches": lambda t, m: t.vmap(lambda a: _raise_in(t, a))(m(3, 2)),
    "item": lambda t, m: t.vmap(lambda a: a * a.sum().item())(m(3, 2)),
    "numpy": lambda t, m: t.vmap(lambda a: a.numpy())(m(3, 2)),
    "nonzero": lambda t, m: t.vmap(t.nonzero)(m(3, 2)),
    "unique": lambda t, m: t.vmap(t.unique)(m(3, 2)),
    "write to the unbatched": lambda t, m: t.vmap(lambda a: t.zeros(2).copy_(a))(m(3, 2)),
    "write to the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.add_(a)),
    "assign to the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.__setitem__(0, 1.0)),
    "view of the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.detach()[1:].pow_(2)),
    "relu of the captured": lambda t, m: _writing(t, m(3), lambda c, a: t.relu_(c)),
    "bound of the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.clamp_max_(1.0)),
    "sign of the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.copysign_(1.0)),
    "xlogy of the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.xlogy_(2.0)),
    "comparison of the captured": lambda t, m: _writing(t, m(3), lambda c, a: c.eq_(2.0)),
    "dropout of the captured": lambda t, m: _writing(
        t, m(3), lambda c, a: t.nn.functional.dropout(c, inplace=True)
    ),
    "captured leaf": lambda t, m: _writing(t, m(3).requires_grad_(), lambda c, a: c.zero_()),
    "batch norm's count": lambda t, m: t.func.grad(
        lambda a: t.nn.BatchNorm1d(3)(a).sum() + t.nn.BatchNorm1d(3)(a).sum()
    )(m(2, 3).float()) and _writing(t, m(2, 3), t.nn.BatchNorm1d(3).double()),
    "retain_grad": lambda t, m: t.func.grad(lambda a: a.sin().retain_grad())(m(1)),
    "hook of a tangent": lambda t, m: t.func.jvp(
        lambda a: a.sin().register_hook(abs), (m(1),), (m(1),)
    ),
    "saved tensor hooks": lambda t, m: t.func.grad(
        lambda a: t.utils.checkpoint.checkpoint(t.sum, a, use_reentrant=False)
    )(m(1)),
    "a function without setup_context": lambda t, m: t.func.grad(_squaring(t, False))(m(1)),
    "a function without jvp": lambda t, m: t.func.jvp(_squaring(t, True), (m(1),), (m(1),)),
    "requires_grad_": lambda t, m: t.vmap(lambda a: a.requires_grad_())(m(3)),
    "backward": lambda t, m: t.vmap(lambda a: (a * 2).sum().backward())(m(3).requires_grad_()),
    "vector grad": lambda t, m: t.func.grad(lambda a: a)(m(2)),
    "grad of no tensor": lambda t, m: t.func.grad(lambda a: 1.0)(m(2)),
    "grad argnum": lambda t, m: t.func.grad(lambda a: a.sum(), 2)(m(2)),
    "grad argnums twice": lambda t, m: t.func.grad(lambda a: a.sum(), (0, 0))(m(2)),
    "no argnums": lambda t, m: t.func.grad(lambda a: a.sum(), ())(m(2)),
    "grad without aux": lambda t, m: t.func.grad(lambda a: a.sum(), has_aux=True)(m(2)),
    "aux that is no tensor": lambda t, m: t.func.vjp(lambda a: (a.sum(), 1), m(2), has_aux=True),
    "one argument twice": lambda t, m: t.func.grad(t.mul, (0, -2))(m(2), m(2)),
    "vjp of integers": lambda t, m: t.func.vjp(lambda a: a.long(), m(2)),
    "vjp of nothing": lambda t, m: t.func.vjp(lambda a: (), m(2)),
    "cotangents": lambda t, m: t.func.vjp(lambda a: (a, a), m(2))[1](m(2)),
    "primals": lambda t, m: t.func.jvp(t.sin, m(2), m(2)),
    "tangents": lambda t, m: t.func.jvp(t.sin, (m(2),), (m(2), m(2))),
    "number as primal": lambda t, m: t.func.jvp(t.sin, (2.0,), (1.0,)),
    "jacrev chunk": lambda t, m: t.func.jacrev(t.sin, chunk_size=0),
    "complex jacobian": lambda t, m: t.func.jacrev(t.sin)(t.complex(m(2), m(2))),
    "linearized structure": lambda t, m: t.func.linearize(t.sin, m(2))[1](m(2), m(2)),
    "linearized shape": lambda t, m: t.func.linearize(t.sin, m(2))[1](m(3)),
    "no models": lambda t, m: t.func.stack_module_state([]),
    "modes": lambda t, m: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.Linear(1, 1).eval()]),
    "classes": lambda t, m: t.func.stack_module_state([t.nn.Linear(1, 1), t.nn.ReLU()]),
    "given twice": lambda t, m: t.func.functional_call(
        t.nn.Linear(1, 1), [{"bias": m(1)}, {"bias": m(1)}], m(1)
    ),
    "no dicts": lambda t, m: t.func.functional_call(t.nn.Linear(1, 1), 3, m(1)),
    "strict": lambda t, m: t.func.functional_call(
        t.nn.Linear(1, 1, bias=False), {"other": m(1)}, m(1), strict=True
    ),
    "batched weights": lambda t, m: t.autograd.grad(
        m(3).requires_grad_() * 2, m(3), m(2, 2), is_grads_batched=True
    ),
    "v of a vector": lambda t, m: t.autograd.functional.vjp(t.sin, m(2)),
    "v of another size": lambda t, m: t.autograd.functional.jvp(t.sin, m(2), m(3)),
    "inputs of no tensor": lambda t, m: t.autograd.functional.jacobian(t.sin, 3.0),
    "strict jacobian": lambda t, m: t.autograd.functional.jacobian(
        lambda a: t.ones(2), m(2), strict=True
    ),
    "strict and vectorized": lambda t, m: t.autograd.functional.jacobian(
        t.sin, m(2), strict=True, vectorize=True
    ),
    "strategy": lambda t, m: t.autograd.functional.jacobian(t.sin, m(2), strategy="x"),
    "hessian of a vector": lambda t, m: t.autograd.functional.hessian(t.sin, m(2)),
    "strict hessian": lambda t, m: t.autograd.functional.hessian(
        lambda a: a.sum(), m(2), strict=True
    ),
}  # fmt: skip


def _error_of(case: Case, namespace: Any) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:
        case(namespace, source(namespace))
    text = str(caught.value).replace("mindtorch.torch", "torch").strip()
    return type(caught.value), " ".join(text.split())


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_torchs(name: str) -> None:
    """The exception's type and text."""
    assert _error_of(ERRORS[name], ours) == _error_of(ERRORS[name], torch)


@pytest.mark.parametrize("randomness", ["same", "different"])
@pytest.mark.parametrize(
    "draw",
    [
        lambda t, x: x + t.rand(4),
        lambda t, x: x + t.randn(3, 4).sum(0),
        lambda t, x: t.nn.functional.dropout(x),
        lambda t, x: x.clone().normal_(),
        lambda t, x: x + t.randperm(4),
        lambda t, x: t.randint(0, 9, (4,)) + x,
        lambda t, x: x * t.zeros_like(x).bernoulli_(0.5),
    ],
    ids=["rand", "randn", "dropout", "normal_", "randperm", "randint", "bernoulli_"],
)
def test_draws_are_torchs(draw: Any, randomness: str) -> None:
    """The same numbers from the same seed: one draw for all examples, or one for each."""

    def drawn(t: Any, chunk_size: int | None) -> Any:
        t.manual_seed(3)
        run = t.vmap(lambda x: draw(t, x), randomness=randomness, chunk_size=chunk_size)
        return run(source(t)(5, 4, dtype="f4"))

    for chunk_size in (None, 2):
        assert_alike(drawn(ours, chunk_size), drawn(torch, chunk_size), 1e-6)


@pytest.mark.parametrize(
    "draw", ["bernoulli", "multinomial", "normal", "poisson"]
)
def test_draws_from_mapped_parameters_are_torchs(draw: str) -> None:
    """Probabilities, weights, means and rates of each example."""
    calls: dict[str, Any] = {
        "bernoulli": lambda t, x: t.bernoulli(x),
        "multinomial": lambda t, x: t.multinomial(x, 3),
        "normal": lambda t, x: t.normal(x, 2.0),
        "poisson": lambda t, x: t.poisson(x),
    }

    def drawn(t: Any) -> Any:
        t.manual_seed(3)
        x = t.sigmoid(source(t)(5, 4, dtype="f4"))
        return t.vmap(lambda v: calls[draw](t, v), randomness="different")(x)

    assert_alike(drawn(ours), drawn(torch), 1e-6)


def _ensemble(t: Any) -> Any:
    make = source(t)
    models = [
        t.nn.Sequential(t.nn.Conv2d(2, 3, 3), t.nn.BatchNorm2d(3), t.nn.ReLU(), t.nn.Flatten(),
                        t.nn.Linear(12, 4), t.nn.LayerNorm(4)).double().eval()
        for _ in range(3)
    ]  # fmt: skip
    for model in models:
        for p in (*model.parameters(), *model.buffers()):
            if p.is_floating_point():
                p.data.copy_(make(*p.shape) ** 2 + 0.1)
    parameters, buffers = t.func.stack_module_state(models)
    x = make(5, 2, 4, 4)

    def run(p: Any, b: Any) -> Any:
        return t.func.functional_call(models[0], (p, b), (x,))

    result = t.vmap(run)(parameters, buffers)
    return result, t.autograd.grad(result.pow(2).sum(), list(parameters.values()))


def test_an_ensemble_is_torchs() -> None:
    """stack_module_state, functional_call and vmap: outputs and gradients, without a loop."""
    Vmap.fallbacks.clear()
    mine = _ensemble(ours)
    assert not Vmap.fallbacks
    assert_alike(mine, _ensemble(torch), 1e-10)


def test_gradients_reach_tensors_that_are_closed_over() -> None:
    """func.grad's result can be differentiated by a parameter that it did not take."""

    def gradient(t: Any) -> Any:
        make = source(t)
        w, x = make(3).requires_grad_(), make(3)
        inner = t.func.grad(lambda v: (v * w).sin().sum())(x)
        mapped = t.vmap(t.func.grad(lambda v: (v * w).cos().prod()))(make(2, 3))
        return t.autograd.grad(inner.sum() + mapped.sum(), w)

    assert_alike(gradient(ours), gradient(torch))


def _functions(t: Any) -> tuple[Any, Any, Any]:
    """Functions with a wrong gradient on purpose: generated rule, own rule, none."""

    class Generated(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x * w, x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, w = ctx.saved_tensors
            return 3 * g * w + h * x.cos(), 5 * g * x

    class Own(t.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any) -> Any:
            return x * w

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w = ctx.saved_tensors
            return 3 * g * w, 5 * g * x

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, w: Any) -> Any:
            assert info.batch_size == 4
            x = x if in_dims[0] is None else x.movedim(in_dims[0], -1)
            w = w.unsqueeze(-1) if in_dims[1] is None else w.movedim(in_dims[1], -1)
            return Own.apply(x, w), -1

    class Neither(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Nothing is saved."""

    return Generated, Own, Neither


@pytest.mark.parametrize("which", [0, 1], ids=["generated", "own"])
def test_user_functions_keep_their_gradient_in_vmap(which: int) -> None:
    """Inside of the mapped function, around it, and with one argument for all examples."""

    def results(t: Any) -> Any:
        function, make = _functions(t)[which], source(t)
        x, w = make(4, 3).requires_grad_(), make(3).requires_grad_()

        def first(a: Any, b: Any) -> Any:
            found = function.apply(a, b)
            return sum(found) if which == 0 else found

        value = t.vmap(first, (0, None))(x, w)
        around = t.autograd.grad(value.pow(2).sum(), [x, w], create_graph=True)
        inside = t.vmap(t.func.grad(lambda a, b: first(a, b).pow(2).sum(), (0, 1)), (0, None))(x, w)
        second = t.autograd.grad(around[0].sum() + inside[1].sum(), [x, w])
        return value, around, inside, second

    assert_alike(results(ours), results(torch))


def test_user_functions_without_a_rule_are_refused() -> None:
    """torch's error, instead of a gradient that is not the user's."""

    def case(t: Any, m: Any) -> Any:
        return t.vmap(_functions(t)[2].apply)(m(3))

    assert _error_of(case, ours) == _error_of(case, torch)


def test_mapped_tensors_print_all_examples() -> None:
    """Printing is how people look into a mapped function."""

    def printed(t: Any) -> list[str]:
        texts: list[str] = []

        def noted(x: Any) -> Any:
            texts.append(repr(x))
            return x

        t.vmap(t.vmap(noted))(t.zeros(2, 1, 1))
        t.vmap(noted)(t.ones(2, requires_grad=True))
        return texts

    assert printed(ours) == printed(torch)


def test_results_without_outer_history_do_not_require_grad() -> None:
    """The tape of a transformation is not seen outside of it."""
    x = ours.ones(3)
    gradient, value = ours.func.grad_and_value(lambda v: (v**2).sum())(x)
    assert not (gradient.requires_grad or value.requires_grad or x.requires_grad)
    assert not ours.vmap(ours.func.grad(lambda v: v**2))(x).requires_grad
    assert ours.vmap(lambda v: v * 2)(x.requires_grad_()).requires_grad


def test_backward_of_what_returns_more_than_tensors() -> None:
    """It has one gradient for each result, None for the others; defaults are inputs like others."""

    def run(t: Any) -> Any:
        class Row(t.autograd.Function):
            @staticmethod
            def forward(x: Any, index: tuple[int, ...] = (1,)) -> Any:
                return x[index].clone(), index, x.sum()

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.shape, ctx.index = inputs[0].shape, inputs[1]

            @staticmethod
            def backward(ctx: Any, g: Any, nothing: Any, h: Any) -> Any:
                made = g.new_zeros(ctx.shape) + h
                made[ctx.index] += g
                return made if nothing is None else None, None

        x = t.arange(6.0).reshape(3, 2).requires_grad_()
        row, index, total = Row.apply(x)
        (row.sum() * 2 + total * 3).backward()
        return row.tolist(), index, x.grad.tolist()

    assert run(ours) == run(torch)


def test_writes_are_refused_where_methods_were_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a recording that began before the first function was differentiated."""

    def refused() -> None:
        captured = ours.ones(3)
        with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
            ours.func.grad(lambda a: (captured.add_(a), a.sum())[1])(ours.ones(3))

    refused()
    monkeypatch.setattr(ours.Tensor, "add_", vars(ours.Tensor)["add_"].__wrapped__)
    refused()
