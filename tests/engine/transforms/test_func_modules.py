"""torch.func with modules: calls with other parameters, and modules that vmap can take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours


class _Tied(ours.nn.Module):
    """Two layers with one weight, and a buffer that the call replaces."""

    calls: Any

    def __init__(self) -> None:
        super().__init__()
        self.first = ours.nn.Linear(2, 2, bias=False)
        self.second = ours.nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("calls", ours.zeros(()))

    def forward(self, x: Any) -> Any:
        self.calls = self.calls + 1
        return self.second(self.first(x))


def test_batch_norms_lose_their_running_statistics() -> None:
    """vmap cannot write one tensor for all examples; without statistics the layer can be mapped."""
    model = ours.nn.Sequential(ours.nn.Linear(3, 2), ours.nn.BatchNorm1d(2))
    x = ours.randn(4, 5, 3)
    with pytest.raises(RuntimeError, match="inplace arithmetic"):
        ours.vmap(model)(x)
    assert ours.func.replace_all_batch_norm_modules_(model) is model
    assert model[1].running_mean is None and model[1].track_running_stats is False
    mapped, looped = ours.vmap(model)(x), ours.stack([model(v) for v in x])
    np.testing.assert_allclose(mapped.detach(), looped.detach(), rtol=1e-5, atol=1e-5)


def test_functional_call_leaves_the_module_as_it_was() -> None:
    """Given tensors are used, for tied names too; a replaced buffer is replaced in the dict."""
    module = _Tied()
    held = module.first.weight
    given = {"first.weight": 2 * ours.eye(2), "calls": ours.zeros(())}
    result = ours.func.functional_call(module, given, ours.ones(1, 2))
    assert result.tolist() == [[4.0, 4.0]]
    assert given["calls"].item() == 1
    assert module.calls.item() == 0
    assert module.first.weight is held and module.second.weight is held
    with pytest.raises(ValueError, match=r"multiple values for keys \['first.weight', 'second"):
        ours.func.functional_call(
            module, {"first.weight": ours.eye(2), "second.weight": ours.ones(2, 2)}, ours.ones(1, 2)
        )
    apart = {"first.weight": ours.eye(2), "second.weight": 3 * ours.eye(2)}
    result = ours.func.functional_call(module, apart, (ours.ones(1, 2),), tie_weights=False)
    assert result.tolist() == [[3.0, 3.0]]


def test_a_failing_call_puts_the_parameters_back() -> None:
    """Otherwise an error would leave the module with somebody else's weights."""
    module = ours.nn.Linear(2, 2)
    held = dict(module.named_parameters())
    with pytest.raises(RuntimeError):
        ours.func.functional_call(module, {"weight": ours.ones(2, 2)}, ours.ones(1, 3))
    assert all(module.get_parameter(name) is tensor for name, tensor in held.items())
