"""Adaptive softmax and fractional max pooling against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")


def numbers(*shape: int) -> Any:
    return np.random.RandomState(0).standard_normal(shape)


def close(actual: list[Any], expected: list[Any]) -> None:
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype and a.shape == e.shape
        np.testing.assert_allclose(a, e, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("target", [[0, 3, 12, 7, 19, 4], [1, 2, 0, 1, 2, 0]])
@pytest.mark.parametrize("options", [{}, {"head_bias": True, "div_value": 2.0}])
def test_adaptive_softmax_is_torchs(options: Any, target: Any) -> None:
    """Outputs, loss, gradients, all log probabilities and predictions; clusters may be unused."""

    def run(namespace: Any) -> list[Any]:
        namespace.manual_seed(0)
        module = namespace.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10], dtype=namespace.float64,
                                                         **options)  # fmt: skip
        x = namespace.tensor(4 * numbers(6, 16), requires_grad=True)
        found = module(x, namespace.tensor(target))
        found.loss.backward()
        single = module(x.detach()[1], namespace.tensor(target[1]))
        gradients = [p.grad for p in module.parameters() if p.grad is not None]
        results = [*found, x.grad, *gradients, *single, module.log_prob(x), module.predict(x)]
        return [v.detach().numpy() for v in results]

    close(run(ours), run(torch))


ADAPTIVE_ERRORS: list[Any] = [
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, []),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4, 4]),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4, 10]),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [0, 4]),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2.5]),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(n.zeros(2, 8), n.tensor([1, 10])),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(n.zeros(2, 8), n.tensor([1])),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(n.zeros(2, 8), n.tensor([[1]])),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(n.zeros(2, 8), n.tensor(1)),
    lambda n: n.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4])(n.zeros(8), n.zeros(8).long()),
]


def check_error(call: Any) -> None:
    with pytest.raises(Exception) as expected:
        call(torch)
    with pytest.raises(type(expected.value)) as found:
        call(ours)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("call", ADAPTIVE_ERRORS, ids=range(len(ADAPTIVE_ERRORS)))
def test_adaptive_softmax_refuses_what_torch_refuses(call: Any) -> None:
    """Cutoffs and targets that make no sense, in torch's words."""
    check_error(call)


POOLS: list[tuple[str, Any, Any]] = [
    ("FractionalMaxPool2d", (2, 3, 9, 11), {"kernel_size": 3, "output_size": (4, 5)}),
    ("FractionalMaxPool2d", (3, 9, 11), {"kernel_size": (2, 3), "output_ratio": 0.5}),
    ("FractionalMaxPool2d", (2, 3, 9, 11), {"kernel_size": 2, "output_size": 1}),
    ("FractionalMaxPool3d", (2, 3, 6, 9, 11), {"kernel_size": 2, "output_size": (3, 4, 5)}),
    ("FractionalMaxPool3d", (3, 6, 9, 11), {"kernel_size": (2, 3, 2), "output_ratio": 0.4}),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "shape", "options"), POOLS, ids=range(len(POOLS)))
def test_fractional_pooling_is_torchs(name: str, shape: Any, options: Any, dtype: str) -> None:
    """The same seed draws the same windows: maxima, their places and the gradient are equal."""

    def run(namespace: Any) -> list[Any]:
        namespace.manual_seed(5)
        x = namespace.tensor(numbers(*shape).astype(dtype), requires_grad=True)
        out, places = getattr(namespace.nn, name)(**options, return_indices=True)(x)
        plain = getattr(namespace.nn, name)(**options)(x)
        (out.sin().sum() + plain.sum()).backward()
        return [v.detach().numpy() for v in (out, places, plain, x.grad)]

    actual, expected = run(ours), run(torch)
    for a, e in zip(actual[:3], expected[:3], strict=True):
        np.testing.assert_array_equal(a, e)
    np.testing.assert_allclose(actual[3], expected[3], rtol=1e-6 if dtype == "float32" else 1e-14)


POOL_ERRORS: list[Any] = [
    lambda n, f, x: f(x, 7, output_size=3), lambda n, f, x: f(x, (3, 2), output_size=(3, 7)),
    lambda n, f, x: f(x, 2), lambda n, f, x: f(x, 2, output_size=(3, 3, 3)),
    lambda n, f, x: f(x, 2, output_size=3, _random_samples=n.rand(1, 2, 3)),
    lambda n, f, x: f(x, 2, output_size=3, _random_samples=n.rand(1, 3, 2)),
    lambda n, f, x: f(x, 2, output_size=3, _random_samples=n.rand(1, 2, 2).double()),
    lambda n, f, x: f(x[:, :0], 2, output_size=3),
    lambda n, f, x: n.nn.FractionalMaxPool2d(2), lambda n, f, x: n.nn.FractionalMaxPool3d(2),
    lambda n, f, x: n.nn.FractionalMaxPool2d(2, 3, 0.5),
    lambda n, f, x: n.nn.FractionalMaxPool2d(2, output_ratio=1.5),
    lambda n, f, x: n.nn.FractionalMaxPool3d(0, 3),
    lambda n, f, x: n.nn.functional.fractional_max_pool3d(x, 3, output_size=3),
]  # fmt: skip


@pytest.mark.parametrize("call", POOL_ERRORS, ids=range(len(POOL_ERRORS)))
def test_fractional_pooling_refuses_what_torch_refuses(call: Any) -> None:
    """Windows that do not fit and samples of a wrong shape or type, in torch's words."""
    check_error(
        lambda n: call(n, n.nn.functional.fractional_max_pool2d, n.zeros(1, 2, 6, 6))
    )
