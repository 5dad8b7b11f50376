"""Recurrent layers against torch: values, gradients, second derivatives, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"}),
]  # fmt: skip
SHAPES: list[dict[str, Any]] = [
    {},
    {"bidirectional": True, "num_layers": 2},
    {"batch_first": True, "bias": False},
    {"num_layers": 3, "dropout": 0.3},
]
LENGTHS = [2, 6, 3, 6, 1]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).standard_normal(shape)


def close(actual: Any, expected: Any, dtype: str) -> None:
    """Sums of a few dozen rounded products: some units in the last place of the largest."""
    unit = np.finfo(np.dtype(dtype)).eps
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype == np.dtype(dtype)
        np.testing.assert_allclose(a, e, rtol=32 * unit, atol=32 * unit * max(1, np.abs(e).max()))


def train(
    namespace: Any, kind: str, options: Any, dtype: str, packed: bool = False, batched: bool = True
) -> list[Any]:
    """Outputs, states and all gradients of one step, with given first states."""
    torch_dtype = getattr(namespace, dtype)
    namespace.manual_seed(3)
    module = getattr(namespace.nn, kind)(4, 7, dtype=torch_dtype, **options)
    first = options.get("batch_first", False)
    x = numbers(*((5, 6, 4) if first else (6, 5, 4)))
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    widths = [options.get("proj_size", 0) or 7, 7][: 2 if kind == "LSTM" else 1]
    firsts = [numbers(rows, 5, w, seed=w) for w in widths]
    if not batched:
        x, firsts = x[:, 0], [f[:, 0] for f in firsts]
    x = namespace.tensor(x, dtype=torch_dtype, requires_grad=True)
    firsts = [namespace.tensor(f, dtype=torch_dtype, requires_grad=True) for f in firsts]
    tools = namespace.nn.utils.rnn
    given = x
    if packed:
        lengths = namespace.tensor(LENGTHS)
        given = tools.pack_padded_sequence(x, lengths, first, enforce_sorted=False)
    out, state = module(given, tuple(firsts) if kind == "LSTM" else firsts[0])
    if packed:
        out, _ = tools.pad_packed_sequence(out, first)
    states = list(state) if kind == "LSTM" else [state]
    loss = out.sin().sum() + sum((s * s * (i + 1)).sum() for i, s in enumerate(states))
    loss.backward()
    gradients = [v.grad for v in (x, *firsts, *module.parameters())]
    return [v.detach().numpy() for v in (out, *states, *gradients)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("options", SHAPES, ids=["one", "deep", "bare", "dropout"])
@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=["LSTM", "GRU", "tanh", "relu"])
def test_values_and_gradients_are_torchs(
    kind: str, extra: Any, options: Any, packed: bool, dtype: str
) -> None:
    """One step through the kernels, packed or not, for every kind of network."""
    merged = {**options, **extra}
    actual, expected = (train(n, kind, merged, dtype, packed) for n in (ours, torch))
    close(actual, expected, dtype)


@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=["LSTM", "GRU", "tanh", "relu"])
def test_unbatched_inputs_are_torchs(kind: str, extra: Any) -> None:
    """A sequence without a batch axis, and states without one."""
    merged = {**extra, "bidirectional": True}
    actual, expected = (train(n, kind, merged, "float64", batched=False) for n in (ours, torch))
    close(actual, expected, "float64")


@pytest.mark.parametrize("packed", [False, True])
def test_projections_are_torchs(packed: bool) -> None:
    """proj_size takes another way than the kernel."""
    options = {"proj_size": 3, "num_layers": 2, "bidirectional": True}
    actual, expected = (train(n, "LSTM", options, "float64", packed) for n in (ours, torch))
    close(actual, expected, "float64")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_half_precision_stays_near_float32(kind: str, dtype: str) -> None:
    """16-bit networks compute in float32; only inputs and results are rounded."""

    def run(dtype_: Any) -> Any:
        ours.manual_seed(0)
        module = getattr(ours.nn, kind)(4, 8).to(dtype_)
        x = ours.tensor(numbers(5, 3, 4), dtype=dtype_, requires_grad=True)
        module(x)[0].sum().backward()
        assert module.weight_hh_l0.grad.dtype == dtype_
        return [v.float().numpy() for v in (x.grad, module.weight_hh_l0.grad)]

    unit = float(ours.finfo(getattr(ours, dtype)).eps)
    for a, e in zip(run(getattr(ours, dtype)), run(ours.float32), strict=True):
        assert np.abs(a - e).max() <= 8 * unit * max(1, np.abs(e).max())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("kind", "extra"), KINDS, ids=["LSTM", "GRU", "tanh", "relu"])
def test_second_derivatives_are_torchs(kind: str, extra: Any, packed: bool) -> None:
    """A gradient penalty: the gradient for the input, differentiated for all parameters."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(1)
        module = getattr(namespace.nn, kind)(3, 4, bidirectional=True, dtype=namespace.float64,
                                             **extra)  # fmt: skip
        leaf = namespace.tensor(numbers(6, 5, 3), requires_grad=True)
        x = leaf * leaf
        # the first state depends on the input: its part must not be counted twice
        first = x.mean((0, 2), keepdim=True).expand(2, 5, 4)
        given = x
        if packed:
            tools = namespace.nn.utils.rnn
            given = tools.pack_padded_sequence(
                x, namespace.tensor(LENGTHS), enforce_sorted=False
            )
        out, _ = module(given, (first, first * 2) if kind == "LSTM" else first)
        out = out.data if packed else out
        (g,) = namespace.autograd.grad(out.sin().sum(), leaf, create_graph=True)
        (g * g).sum().backward()
        return [v.detach().numpy() for v in (g, leaf.grad, *[p.grad for p in module.parameters()])]

    close(run(ours), run(torch), "float64")


def test_only_the_last_state_may_be_used() -> None:
    """Results that nobody uses send no gradient; the kernel takes them for zeros."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(0)
        module = namespace.nn.LSTM(3, 4, dtype=namespace.float64)
        _, (_, c) = module(namespace.tensor(numbers(5, 2, 3)))
        c.sum().backward()
        return [p.grad.numpy() for p in module.parameters()]

    close(run(ours), run(torch), "float64")


def test_frozen_weights_get_no_gradient() -> None:
    """Inputs that do not require a gradient get none, the others the right one."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(0)
        module = namespace.nn.GRU(3, 4, dtype=namespace.float64)
        module.weight_hh_l0.requires_grad_(False)
        module.bias_ih_l0.requires_grad_(False)
        module(namespace.tensor(numbers(5, 2, 3)))[0].sum().backward()
        assert module.weight_hh_l0.grad is None
        return [p.grad.numpy() for p in module.parameters() if p.grad is not None]

    close(run(ours), run(torch), "float64")


def test_empty_batches_give_zero_gradients() -> None:
    """No rows: empty results, and gradients of zeros for the parameters."""
    module = ours.nn.LSTM(3, 4)
    out, (h, c) = module(ours.zeros(5, 0, 3))
    assert tuple(out.shape) == (5, 0, 4) and tuple(h.shape) == tuple(c.shape) == (1, 0, 4)
    out.sum().backward()
    assert all(not p.grad.any() for p in module.parameters())


ERRORS: list[Any] = [
    lambda n: n.nn.LSTM(3, 4)(n.zeros(0, 2, 3)),
    lambda n: n.nn.GRU(3, 4)(n.zeros(2, 2, 3).double()),
    lambda n: n.nn.GRU(3, 4)(n.zeros(2, 2, 3), n.zeros(1, 2, 4).double()),
    lambda n: n.nn.RNN(3, 4)(n.zeros(2, 2, 3), n.zeros(1, 2, 4).double()),
    lambda n: n.nn.LSTM(3, 4)(n.zeros(2, 2, 3), (n.zeros(1, 1, 4), n.zeros(1, 2, 4))),
    lambda n: n.nn.LSTM(3, 4)(n.zeros(2, 3), (n.zeros(1, 1, 4), n.zeros(1, 4))),
    lambda n: n.nn.LSTM(3, 4)(n.zeros(2, 2, 3), (n.zeros(1, 4), n.zeros(1, 2, 4))),
    lambda n: n.nn.GRU(3, 4)(n.zeros(2, 3), n.zeros(1, 1, 4)),
    lambda n: n.nn.GRU(3, 4)(n.zeros(2, 2, 3), n.zeros(1, 1, 4)),
    lambda n: n.nn.GRU(3, 4)(n.zeros(2, 2, 2)),
    lambda n: n.nn.RNN(3, 4)(n.zeros(3)),
    lambda n: n.nn.GRU(3, 4)(n.nn.utils.rnn.pack_sequence([n.zeros(2, 2)])),
    lambda n: n.nn.GRUCell(3, 4)(n.zeros(2, 2)),
    lambda n: n.nn.GRUCell(3, 4)(n.zeros(2, 3), n.zeros(3, 4)),
    lambda n: n.nn.RNNCell(3, 4)(n.zeros(2, 3), n.zeros(2, 5)),
    lambda n: n.nn.RNNCell(3, 4)(n.zeros(2, 3), n.zeros(2, 5, 1)),
    lambda n: n.nn.LSTMCell(3, 4)(n.zeros(2, 3), (n.zeros(2, 4), n.zeros(3, 4))),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_errors_are_torchs(call: Any) -> None:
    """Wrong shapes and dtypes are refused in torch's words."""
    with pytest.raises(Exception) as expected:
        call(torch)
    with pytest.raises(type(expected.value)) as found:
        call(ours)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_training_stays_with_torch(kind: str) -> None:
    """Twenty steps of Adam: the loss curves stay together to 1e-4."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(0)
        module = getattr(namespace.nn, kind)(8, 16, num_layers=2, bidirectional=True)
        head = namespace.nn.Linear(32, 1)
        optimizer = namespace.optim.Adam([*module.parameters(), *head.parameters()], 0.01)
        x = namespace.tensor(numbers(12, 6, 8), dtype=namespace.float32)
        losses = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = (head(module(x)[0]).squeeze(-1) - x.sum(-1)).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    np.testing.assert_allclose(run(ours), run(torch), rtol=1e-4)
