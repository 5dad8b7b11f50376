"""Initial values: torch's numbers from the same seed, torch's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")

DRAWN: list[tuple[str, tuple[Any, ...]]] = [
    ("uniform_", (-1.0, 2.0)), ("normal_", (1.0, 2.0)), ("xavier_uniform_", (2.0,)),
    ("xavier_normal_", ()), ("kaiming_uniform_", (0.1, "fan_out")), ("kaiming_normal_", ()),
    ("trunc_normal_", ()), ("trunc_normal_", (0.0, 1.0, 1.5, 3.0)), ("sparse_", (0.3,)),
    ("ones_", ()), ("zeros_", ()), ("constant_", (0.3,)), ("eye_", ()),
]  # fmt: skip


@pytest.mark.parametrize("shape", [(7, 5), (20, 30)])
@pytest.mark.parametrize(("name", "arguments"), DRAWN)
def test_values_are_torchs(name: str, arguments: Any, shape: tuple[int, ...]) -> None:
    """A network starts from the same weights, bit for bit."""
    values = []
    for namespace in (ours, torch):
        namespace.manual_seed(5)
        made = getattr(namespace.nn.init, name)(namespace.empty(shape), *arguments)
        values.append((made.numpy(), namespace.get_rng_state().tolist()))
    np.testing.assert_array_equal(values[0][0], values[1][0])
    assert values[0][1] == values[1][1]


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (4, 3, 2, 2)])
def test_orthogonal_is_torchs_within_rounding(shape: tuple[int, ...]) -> None:
    """The QR decomposition is LAPACK's, so the last bits may differ."""
    values = []
    for namespace in (ours, torch):
        namespace.manual_seed(5)
        values.append(namespace.nn.init.orthogonal_(namespace.empty(shape), 2).numpy())
    np.testing.assert_allclose(values[0], values[1], atol=4e-6)


@pytest.mark.parametrize("change", [
    lambda t: t.nn.init.xavier_uniform_(t.empty(3)),
    lambda t: t.nn.init.kaiming_uniform_(t.empty(3, 2), mode="fan"),
    lambda t: t.nn.init.kaiming_normal_(t.empty(3, 2), nonlinearity="odd"),
    lambda t: t.nn.init.eye_(t.empty(3)),
    lambda t: t.nn.init.dirac_(t.empty(3)),
    lambda t: t.nn.init.dirac_(t.empty(3, 2, 2), 2),
    lambda t: t.nn.init.orthogonal_(t.empty(3)),
    lambda t: t.nn.init.sparse_(t.empty(3), 0.5),
    lambda t: t.nn.init.calculate_gain("leaky_relu", "x"),
])  # fmt: skip
def test_mistakes_have_torchs_errors(change: Any) -> None:
    """Type and text."""
    errors = []
    for namespace in (ours, torch):
        with pytest.raises(Exception) as caught:
            change(namespace)
        errors.append((caught.type.__name__, str(caught.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("name", ["linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu"])
def test_gains_are_torchs(name: str) -> None:
    """The factors of the bounds."""
    assert ours.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_is_torchs(groups: int) -> None:
    """The identity, in each group."""
    mine = ours.nn.init.dirac_(ours.empty(4, 3, 3, 3), groups).numpy()
    np.testing.assert_array_equal(
        mine, torch.nn.init.dirac_(torch.empty(4, 3, 3, 3), groups).numpy()
    )
