"""Every module against torch: the same seed gives the same module and the same training step."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours
from mindtorch.kernels.cpu.vectors.simd import lanes

torch = pytest.importorskip("torch")


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def positive(*shape: int) -> Any:
    return np.abs(np.tanh(numbers(*shape, seed=1)))


def signs(*shape: int) -> Any:
    return np.sign(numbers(*shape, seed=2))


CLASSES = np.array([1, 2, 3, 4])
IMAGE, LINE, BLOCK = numbers(2, 4, 9, 9), numbers(2, 4, 9), numbers(2, 4, 5, 5, 5)
A, B = numbers(4, 5), numbers(4, 5, seed=3)

# (class, arguments, inputs)
ROWS: list[tuple[str, Any, list[Any]]] = [
    ("Linear", (5, 3), [A]),
    ("Linear", {"in_features": 5, "out_features": 3, "bias": False}, [A]),
    ("Bilinear", (5, 5, 3), [A, B]),
    ("Conv1d", (4, 6, 3), [LINE]),
    ("Conv2d", (4, 6, 3, 2, 1), [IMAGE]),
    ("Conv2d", {"in_channels": 4, "out_channels": 6, "kernel_size": 4, "padding": "same",
                "padding_mode": "reflect"}, [IMAGE]),
    ("Conv2d", {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "groups": 2,
                "dilation": 2}, [IMAGE]),
    ("Conv3d", (4, 3, 3), [BLOCK]),
    ("ConvTranspose1d", (4, 6, 3, 2, 1, 1), [LINE]),
    ("ConvTranspose2d", (4, 6, 3, 2, 1, 1), [IMAGE]),
    ("ConvTranspose3d", (4, 6, 3, 2, 1, 1), [BLOCK]),
    ("MaxPool1d", (3, 2, 1), [LINE]), ("MaxPool2d", (3, 2, 1), [IMAGE]),
    ("MaxPool3d", (2,), [BLOCK]),
    ("AvgPool1d", (3, 2, 1), [LINE]), ("AvgPool2d", (3, 2, 1, True, False), [IMAGE]),
    ("AvgPool3d", (2,), [BLOCK]), ("LPPool1d", (2, 3), [LINE]), ("LPPool2d", (2, 3), [IMAGE]),
    ("AdaptiveAvgPool1d", (3,), [LINE]), ("AdaptiveAvgPool2d", ((3, None),), [IMAGE]),
    ("AdaptiveAvgPool3d", (3,), [BLOCK]), ("AdaptiveMaxPool1d", (3,), [LINE]),
    ("AdaptiveMaxPool2d", (3,), [IMAGE]), ("AdaptiveMaxPool3d", (3,), [BLOCK]),
    ("BatchNorm1d", (5,), [A]), ("BatchNorm2d", (4,), [IMAGE]), ("BatchNorm3d", (4,), [BLOCK]),
    ("BatchNorm2d", {"num_features": 4, "momentum": None, "affine": False}, [IMAGE]),
    ("InstanceNorm1d", {"num_features": 4, "affine": True, "track_running_stats": True}, [LINE]),
    ("InstanceNorm2d", (4,), [IMAGE]), ("InstanceNorm3d", (4,), [BLOCK]),
    ("LayerNorm", ((4, 9),), [LINE]), ("GroupNorm", (2, 4), [LINE]), ("RMSNorm", (5,), [A]),
    ("LocalResponseNorm", (2,), [LINE]),
    ("Dropout", (0.3,), [A]), ("Dropout1d", (0.3,), [LINE]), ("Dropout2d", (0.3,), [IMAGE]),
    ("Dropout3d", (0.3,), [BLOCK]), ("AlphaDropout", (0.3,), [A]),
    ("FeatureAlphaDropout", (0.3,), [LINE]),
    ("Embedding", (10, 4, 2), [CLASSES]), ("EmbeddingBag", (10, 4), [CLASSES.reshape(2, 2)]),
    ("GELU", {"approximate": "tanh"}, [A]), ("Threshold", (0.1, 2), [A]),
    ("Softmax2d", (), [IMAGE]), ("Softmax", (1,), [A]), ("LogSoftmax", (0,), [A]),
    ("Softmin", (1,), [A]), ("GLU", (), [numbers(3, 4)]), ("PReLU", (5,), [A]),
    ("CrossEntropyLoss", (), [A, CLASSES]),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 2}, [A, CLASSES]),
    ("CrossEntropyLoss", {"reduction": "none"}, [A, positive(4, 5)]),
    ("NLLLoss", (), [A, CLASSES]), ("KLDivLoss", {"reduction": "batchmean"}, [A, positive(4, 5)]),
    ("BCELoss", (), [positive(4, 5), positive(4, 5)]),
    ("MarginRankingLoss", (), [A, B, signs(4, 5)]),
    ("GaussianNLLLoss", (), [A, B, positive(4, 5)]), ("HingeEmbeddingLoss", (), [A, signs(4, 5)]),
    ("CosineEmbeddingLoss", (), [A, B, signs(4)]), ("MultiMarginLoss", (), [A, CLASSES]),
    ("TripletMarginLoss", (), [A, B, numbers(4, 5, seed=5)]),
    ("MultiLabelMarginLoss", (), [A[:2, :4], np.array([[1, 2, -1, 0], [3, -1, 1, 1]])]),
    ("MultiLabelSoftMarginLoss", (), [A, np.abs(signs(4, 5))]),
    ("PixelShuffle", (2,), [IMAGE]), ("PixelUnshuffle", (3,), [IMAGE]),
    ("ChannelShuffle", (2,), [IMAGE]), ("Unfold", (2,), [IMAGE]),
    ("Fold", ((4, 4), 2), [numbers(1, 8, 9)]), ("Unflatten", (1, (2, 2)), [LINE]),
    ("Upsample", {"scale_factor": 2}, [IMAGE]),
    ("Upsample", {"scale_factor": 2, "mode": "bilinear"}, [IMAGE]),
    ("Upsample", {"size": 7, "mode": "bicubic"}, [IMAGE]),
    ("Upsample", {"size": 7, "mode": "linear", "align_corners": True}, [LINE]),
    ("ReflectionPad2d", (1,), [IMAGE]), ("ReplicationPad2d", (1,), [IMAGE]),
    ("CircularPad2d", (1,), [IMAGE]), ("ZeroPad2d", (1,), [IMAGE]),
    ("ConstantPad1d", (1, 2.0), [LINE]),
    ("CosineSimilarity", (), [A, B]), ("PairwiseDistance", (), [A, B]),
    ("RNNCell", (5, 3), [A]), ("GRUCell", (5, 3), [A]),
    ("TransformerEncoderLayer", (8, 2, 16), [numbers(5, 3, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16), [numbers(5, 3, 8), numbers(4, 3, 8)]),
    ("Transformer", (8, 2, 1, 1, 16), [numbers(5, 3, 8), numbers(4, 3, 8)]),
    *[(name, (), [A]) for name in (
        "ReLU", "RReLU", "Hardtanh", "ReLU6", "Sigmoid", "Hardsigmoid", "Tanh", "SiLU", "Mish",
        "Hardswish", "ELU", "CELU", "SELU", "GELU", "Hardshrink", "LeakyReLU", "LogSigmoid",
        "Softplus", "Softshrink", "Softsign", "Tanhshrink", "Identity", "Flatten",
    )],
    *[(name, (), [A, B]) for name in (
        "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss", "PoissonNLLLoss",
        "SoftMarginLoss",
    )],
]  # fmt: skip


def build(namespace: Any, name: str, arguments: Any) -> Any:
    namespace.manual_seed(3)
    cls = getattr(namespace.nn, name)
    return cls(**arguments) if isinstance(arguments, dict) else cls(*arguments)


def step(namespace: Any, module: Any, inputs: list[Any]) -> list[Any]:
    """Result, gradients, buffers, and the result in evaluation mode."""
    given = [namespace.from_numpy(x.copy()) for x in inputs]
    if given[0].is_floating_point():
        given[0].requires_grad_()
    result = module(*given)
    values = [result.detach().numpy().copy()]
    if result.requires_grad:
        weights = np.cos(np.arange(values[0].size)).reshape(values[0].shape).astype(np.float32)
        (result * namespace.from_numpy(weights)).sum().backward()
        gradients = [given[0].grad, *[p.grad for p in module.parameters()]]
        values += [None if g is None else g.numpy() for g in gradients]
    values += [b.numpy() for b in module.buffers()]
    return [*values, module.eval()(*given).detach().numpy()]


def assert_close(actual: list[Any], expected: list[Any], epsilons: float = 32) -> None:
    """Equal within rounding, relative to each array's largest value."""
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert (a is None) == (e is None)
        if e is None:
            continue
        assert a.shape == e.shape
        assert a.dtype == e.dtype
        limit = epsilons * np.finfo(np.float32).eps * max(1.0, float(np.abs(e).max()))
        assert float(np.abs(a.astype(np.float64) - e).max()) <= limit


def check_module(name: str, arguments: Any, inputs: list[Any]) -> None:
    """The whole of a module: text, initial values, training step, evaluation, state both ways."""
    expected, actual = build(torch, name, arguments), build(ours, name, arguments)
    assert repr(actual) == repr(expected)
    state, reference = actual.state_dict(), expected.state_dict()
    assert list(state) == list(reference)
    assert dict(state._metadata) == dict(reference._metadata)
    for key, value in reference.items():
        np.testing.assert_array_equal(state[key].numpy(), value.numpy(), err_msg=key)
    assert ours.initial_seed() == torch.initial_seed()
    assert_close(step(ours, actual, inputs), step(torch, expected, inputs))
    assert ours.get_rng_state().tolist() == torch.get_rng_state().tolist()
    there = {k: torch.from_numpy(v.numpy().copy()) for k, v in actual.state_dict().items()}
    assert repr(build(torch, name, arguments).load_state_dict(there)) == (
        "<All keys matched successfully>"
    )
    again = pickle.loads(pickle.dumps(copy.deepcopy(actual)))
    for key, value in actual.state_dict().items():
        np.testing.assert_array_equal(again.state_dict()[key].numpy(), value.numpy())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("name", "arguments", "inputs"), ROWS, ids=[f"{r[0]}-{i}" for i, r in enumerate(ROWS)]
)
def test_module_is_torchs(name: str, arguments: Any, inputs: list[Any]) -> None:
    """Same seed, same weights, same loss curve: module by module."""
    check_module(name, arguments, inputs)


OPTIONS: list[dict[str, Any]] = [
    {}, {"num_layers": 2, "bidirectional": True, "dropout": 0.4}, {"batch_first": True},
]  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=["one", "deep", "batch_first"])
@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_recurrent_networks_are_torchs(name: str, options: dict[str, Any], packed: bool) -> None:
    """Layers, directions, dropout between layers and packed sequences, with all gradients."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(1)
        module = getattr(namespace.nn, name)(4, 6, **options)
        x = namespace.from_numpy(numbers(5, 5, 4)).requires_grad_()
        rnn = namespace.nn.utils.rnn
        lengths, first = namespace.tensor([3, 5, 2, 4, 1]), options.get("batch_first", False)
        given = rnn.pack_padded_sequence(x, lengths, first, enforce_sorted=False) if packed else x
        out, state = module(given)
        if packed:
            out, _ = rnn.pad_packed_sequence(out, first)
        states = state if isinstance(state, tuple) else (state,)
        (out.sin().sum() + sum((s * s).sum() for s in states)).backward()
        gradients = [x.grad, *[p.grad for p in module.parameters()]]
        return repr(module), [v.detach().numpy() for v in (out, *states, *gradients)]

    (text, actual), (expected_text, expected) = run(ours), run(torch)
    assert text == expected_text
    assert_close(actual, expected)


def test_hooks_see_and_change_what_passes() -> None:
    """Forward, forward-pre and full backward hooks run in torch's order with torch's values."""

    def run(namespace: Any) -> Any:
        namespace.manual_seed(0)
        module = namespace.nn.Linear(3, 2)
        seen: list[Any] = []
        module.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
        module.register_forward_hook(lambda m, args, out: seen.append(out.shape) or out + 1)  # type: ignore[func-returns-value]
        module.register_full_backward_pre_hook(lambda m, g: (g[0] * 3,))
        module.register_full_backward_hook(
            lambda m, gi, go: seen.append([gi[0].tolist(), go[0].tolist()]) or (gi[0] * 2,)  # type: ignore[func-returns-value]
        )
        x = namespace.ones(1, 3, requires_grad=True)
        module(x).sum().backward()
        return [list(seen[0]), seen[1], x.grad.tolist(), module.weight.grad.tolist()]

    actual, expected = run(ours), run(torch)
    assert actual[0] == expected[0]
    for a, e in zip(actual[1:], expected[1:], strict=True):
        np.testing.assert_allclose(np.concatenate([np.ravel(v) for v in a]),
                                   np.concatenate([np.ravel(v) for v in e]), rtol=1e-6)  # fmt: skip


@pytest.mark.parametrize("change", [
    lambda t, m: m.load_state_dict({"weight": t.ones(2, 2), "odd": t.ones(1)}),
    lambda t, m: setattr(m, "weight", t.ones(2, 3)),
    lambda t, m: m.register_buffer("weight", t.ones(1)),
    lambda t, m: m.register_buffer("a.b", t.ones(1)),
    lambda t, m: m.register_parameter("p", 3),
    lambda t, m: m.add_module("x", 3),
    lambda t, m: m.missing,
    lambda t, m: m.get_submodule("nothing"),
    lambda t, m: m.get_parameter("nothing"),
    lambda t, m: m.to(t.int64),
    lambda t, m: m.train(1),
    lambda t, m: t.nn.Module()(1),
])  # fmt: skip
def test_mistakes_have_torchs_errors(change: Any) -> None:
    """Type and text of what Module raises."""
    errors = []
    for namespace in (ours, torch):
        with pytest.raises(Exception) as caught:
            change(namespace, namespace.nn.Linear(3, 2))
        errors.append((caught.type.__name__, str(caught.value)))
    assert errors[0] == errors[1]


LAZY_NORMS = [
    ("BatchNorm1d", (4, 3)), ("BatchNorm2d", (4, 3, 5, 5)), ("BatchNorm3d", (2, 3, 2, 2, 2)),
    ("InstanceNorm1d", (4, 3, 5)), ("InstanceNorm2d", (4, 3, 5, 5)),
    ("InstanceNorm3d", (2, 3, 2, 2, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), LAZY_NORMS)
def test_lazy_norms_take_their_size_from_the_first_input(
    name: str, shape: tuple[int, ...]
) -> None:
    """Afterwards they are what they became, with torch's state; from a file, too."""
    seen = []
    for library in (torch, ours):
        file = io.BytesIO()
        library.save(getattr(library.nn, "Lazy" + name)(), file)
        file.seek(0)
        module = library.load(file, weights_only=False)
        before = repr(module)
        result = module(library.tensor(numbers(*shape)))
        seen.append((before, repr(module), list(module.state_dict()), result.detach().numpy()))
    assert seen[0][:3] == seen[1][:3]
    np.testing.assert_allclose(seen[1][3], seen[0][3], rtol=1e-5, atol=1e-6)


def test_sync_batch_norm_of_one_process_is_a_batch_norm() -> None:
    """Models are converted before it is known how many processes there will be."""
    results = []
    for library in (torch, ours):
        library.manual_seed(0)
        nn = library.nn
        net = nn.SyncBatchNorm.convert_sync_batchnorm(
            nn.Sequential(nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3)))
        results.append((repr(net), net(library.tensor(IMAGE)).detach().numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[1][1], results[0][1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["BatchNorm1d", "BatchNorm2d"])
def test_statistics_of_batches_have_torchs_bits(kind: str) -> None:
    """Sums, variances and running averages are rounded where torch's kernels round them; the order
    of sums depends on how long vectors are: bit for bit where torch's and ours hold eight."""
    shape = (24, 16) if kind == "BatchNorm1d" else (6, 16, 7, 9)
    found = []
    for library in (torch, ours):
        threads = library.get_num_threads()
        library.set_num_threads(1)
        module = getattr(library.nn, kind)(16)
        for step in range(4):
            x = library.tensor(numbers(*shape, seed=step) * (step + 1)).requires_grad_()
            out = module(x)
            out.backward(library.tensor(numbers(*shape, seed=9)))
        made = (out, x.grad, module.weight.grad, module.running_mean, module.running_var)
        found.append([v.detach().numpy() for v in made] + [module.eval()(x).detach().numpy()])
        library.set_num_threads(threads)
    exact = torch.backends.cpu.get_cpu_capability() == "AVX2" and lanes(np.float32) == 8
    for theirs, mine in zip(*found, strict=True):
        limit = 0 if exact else 1e-6 * max(np.abs(theirs).max(), 1)
        assert np.abs(theirs - mine).max() <= limit
