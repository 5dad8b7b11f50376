"""Convolutions of bfloat16 as products of pairs, and their gradients, against float64's sums of the
same numbers. Where a processor has no such instruction, other kernels are tested so."""

from typing import Any

import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine.op import forget_plans
from mindtorch.kernels.cpu.convolutions import bfloat16_convolution
from mindtorch.kernels.cpu.matrix_products import bfloat16_tile
from mindtorch.kernels.cpu.threads import thread_pool

# images, channels, rows, columns, filters, window, stride, padding, dilation, whether with a bias
CASES = [
    (2, 16, 8, 8, 24, 3, 1, 1, 1, True), (3, 16, 4, 4, 32, 3, 1, 1, 1, False),
    (2, 8, 9, 7, 16, 3, 2, 1, 1, True), (2, 32, 32, 32, 16, 3, 1, 1, 1, False),
    (2, 32, 8, 8, 64, 1, 2, 0, 1, False), (2, 32, 9, 9, 64, 1, 1, 0, 1, True),
    (1, 3, 32, 32, 16, 7, 2, 3, 1, False), (2, 16, 11, 13, 9, 3, 1, 2, 2, True),
    (2, 176, 5, 5, 24, 3, 1, 0, 1, True), (1, 3, 64, 64, 16, 16, 16, 0, 1, True),
    (1, 16, 40, 70, 16, 3, 3, 1, 1, False), (40, 16, 3, 3, 16, 3, 1, 1, 1, True),
]  # fmt: skip


def results(library: Any, case: Any, kind: str) -> list[Any]:
    """The result and both gradients."""
    n, c, h, w, o, k, stride, padding, dilation, biased = case
    random = np.random.default_rng(0)

    def tensor(*shape: int) -> Any:
        values = library.tensor(random.standard_normal(shape).astype(np.float32))
        return values.to(library.bfloat16).to(getattr(library, kind))

    x, weight = tensor(n, c, h, w).requires_grad_(), tensor(o, c, k, k).requires_grad_()
    bias = tensor(o) if biased else None
    y = library.nn.functional.conv2d(x, weight, bias, stride, padding, dilation)
    y.backward(tensor(*y.shape))
    return [v.detach().to(library.float64).numpy() for v in (y, x.grad, weight.grad)]


def made(monkeypatch: Any) -> list[Any]:
    """Whether each plan that is made from now on is one of these."""
    forget_plans()
    seen: list[Any] = []
    for name in ("convolution", "input_gradient", "weight_gradient"):
        own = getattr(bfloat16_convolution, name)

        def plan(*given: Any, own: Any = own, **params: Any) -> Any:
            run = own(*given, **params)
            seen.append(run is not None)
            return run

        monkeypatch.setattr(bfloat16_convolution, name, plan)
    return seen


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients(case: Any, count: int, monkeypatch: Any) -> None:
    seen = made(monkeypatch)
    before = thread_pool.get_num_threads()
    thread_pool.set_num_threads(count)
    try:
        found = results(torch, case, "bfloat16")
    finally:
        thread_pool.set_num_threads(before)
    for a, exact in zip(found, results(reference, case, "float64"), strict=True):
        np.testing.assert_allclose(a, exact, rtol=2.0**-8, atol=2.0**-9 * np.abs(exact).max())
    assert len(seen) >= 3 and any(seen) == bfloat16_tile.available()


def test_what_other_kernels_do(monkeypatch: Any) -> None:
    """Groups, images with channels last, and all convolutions where the switch is off."""
    x, weight = torch.randn(2, 16, 8, 8).bfloat16(), torch.randn(16, 16, 3, 3).bfloat16()
    call = torch.nn.functional.conv2d
    expected = call(x, weight, padding=1)
    seen = made(monkeypatch)
    last = call(x.contiguous(memory_format=torch.channels_last), weight, padding=1)
    call(x, torch.randn(16, 8, 3, 3).bfloat16(), padding=1, groups=2)
    assert not any(seen)
    found = last.float().numpy()
    np.testing.assert_allclose(found, expected.float().numpy(), rtol=2.0**-7, atol=2.0**-5)
    monkeypatch.setenv("MINDTORCH_PRODUCTS", "0")
    call(torch.randn(2, 16, 9, 9).bfloat16(), weight)
    assert len(seen) >= 2 and not any(seen)
