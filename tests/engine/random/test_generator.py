"""The random stream equals PyTorch's: recorded vectors, and real torch where it is installed."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import warnings
import zlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mindtorch.engine.random.generator import Generator
from tests.support.paths import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "rng.json").read_text())
NAMES = {
    "uniform_": "uniform",
    "normal_": "normal",
    "bernoulli_scalar_": "bernoulli",
    "exponential_": "exponential",
    "geometric_": "geometric",
    "log_normal_": "log_normal",
    "cauchy_": "cauchy",
    "random_": "random",
    "randperm": "permutation",
}


def dtype_of(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def sha(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:24]


def state_sha(generator: Generator) -> str:
    return sha(generator.get_state())


def seed64(generator: Generator) -> int:
    return generator.random_u64() & (2**63 - 1)


def order(generator: Generator, n: int) -> list[int]:
    return generator.permutation(np.empty(n, np.int64), n).tolist()


@pytest.mark.parametrize("case", GOLDEN["fill"] + GOLDEN["layout"], ids=lambda c: c.get("id", "l"))
def test_fills_equal_the_recorded_bytes_and_states(case: Any) -> None:
    """Every sampler, type, size and layout; the state must agree after each step."""
    generator = Generator().manual_seed(case["seed"])
    for step in case["steps"]:
        array = np.empty(step.get("base", step["shape"]), dtype_of(step["dtype"]))
        if "perm" in step:
            array = array.transpose(step["perm"])
        getattr(generator, NAMES[step["op"]])(array, *step["args"])
        assert (sha(array), state_sha(generator)) == (step["sha"], step["state"]), step


@pytest.mark.parametrize("case", GOLDEN["multinomial"])
def test_multinomial_equals_the_recorded_draws(case: Any) -> None:
    """With and without replacement, one draw or several."""
    generator = Generator().manual_seed(case["seed"])
    weights = generator.uniform(np.empty(case["pshape"], case["pdtype"]))
    for step in case["steps"]:
        out = generator.multinomial(np.empty(step["shape"], np.int64), weights, step["args"][1])
        assert (sha(out), state_sha(generator)) == (step["sha"], step["state"]), step


@pytest.mark.parametrize("case", GOLDEN["dropout"])
def test_dropout_noise_equals_the_recorded_masks(case: Any) -> None:
    """Element, channel, alpha and channels_last dropout of ones."""
    generator = Generator().manual_seed(case["seed"])
    for step in case["steps"]:
        p = step["args"][0]
        shape = tuple(step["shape"])
        if step["op"] == "dropout":
            out = generator.dropout_noise(np.empty(shape, np.float32), p)
        elif step["op"] == "dropout2d":
            noise = generator.dropout_noise(np.empty((*shape[:2], 1, 1), np.float32), p)
            out = np.broadcast_to(noise, shape)
        elif step["op"] == "alpha_dropout":
            alpha = 1.7580993408473766
            a = 1 / math.sqrt((alpha**2 * p + 1) * (1 - p))
            kept = generator.bernoulli(np.empty(shape, np.float32), 1 - p)
            f = np.float32
            out = kept * f(a) + ((kept - f(1)) * f(alpha * a) + f(alpha * a * p))
        else:
            n, c, h, w = shape
            out = np.empty((n, h, w, c), np.float32).transpose(0, 3, 1, 2)
            generator.dropout_noise(out, p)
        assert (sha(out), state_sha(generator)) == (step["sha"], step["state"]), step


def fans(shape: list[int]) -> tuple[int, int]:
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def xavier_bound(shape: list[int], gain: float = 1.0) -> float:
    return math.sqrt(3.0) * (gain * math.sqrt(2.0 / sum(fans(shape))))


def truncated(generator: Generator, shape: Any, std: float, low: float, high: float) -> Any:
    f = np.float32
    new = lambda: np.empty(shape, np.float32)  # noqa: E731
    if low <= 0:
        out = generator.normal(new(), 0.0, std)
        while (bad := (out < f(low)) | (out > f(high))).any():
            out = np.where(bad, generator.normal(new(), 0.0, std), out)
        return out
    peak = f(-0.5 * low**2)

    def rejected(values: Any) -> Any:
        chance = generator.uniform(new())
        with np.errstate(divide="ignore"):
            return np.log(chance) > np.square(values) * f(-0.5) - peak

    out = generator.uniform(new(), low, high)
    pending = rejected(out)
    while pending.any():
        candidate = generator.uniform(new(), low, high)
        out = np.where(pending, candidate, out)
        pending &= rejected(candidate)
    return out


@pytest.mark.parametrize("case", GOLDEN["init"], ids=lambda c: f"{c['op']}{c['shape']}")
def test_initialisers_equal_the_recorded_weights(case: Any) -> None:
    """The draws of nn.init on plain arrays."""
    generator = Generator().manual_seed(case["seed"])
    shape, name = case["shape"], case["op"]
    array = np.empty(shape, np.float32)
    he = math.sqrt(2.0) / math.sqrt(fans(shape)[0])
    if name == "kaiming_uniform_":
        generator.uniform(array, -math.sqrt(3.0) * he, math.sqrt(3.0) * he)
    elif name == "kaiming_normal_":
        generator.normal(array, 0.0, math.sqrt(2.0) / math.sqrt(fans(shape)[1]))
    elif name == "xavier_uniform_":
        bound = xavier_bound(shape, 5.0 / 3)
        generator.uniform(array, -bound, bound)
    elif name == "xavier_normal_":
        generator.normal(array, 0.0, math.sqrt(2.0 / sum(fans(shape))))
    else:
        bounds = {"002": (0.02, -2, 2), "11": (1.0, -1, 1), "tail": (1.0, 1.5, 3)}
        array = truncated(generator, shape, *bounds[name.rsplit("_", 1)[1]])
    assert (sha(array), state_sha(generator)) == (case["sha"], case["state"])


class Modules:
    """The draws of default module initialisation, on arrays by parameter name."""

    def __init__(self, generator: Generator, shapes: dict[str, list[int]]) -> None:
        self.generator = generator
        self.values = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}

    def bounded(self, name: str, bound: float) -> None:
        self.generator.uniform(self.values[name], -bound, bound)

    def weighted(self, prefix: str = "") -> None:
        """A linear or convolution layer: weight, then bias if there is one."""
        fan = fans(list(self.values[prefix + "weight"].shape))[0]
        std = math.sqrt(2.0 / (1 + math.sqrt(5) ** 2)) / math.sqrt(fan)
        self.bounded(prefix + "weight", math.sqrt(3.0) * std)
        if prefix + "bias" in self.values:
            self.bounded(prefix + "bias", 1 / math.sqrt(fan))

    def attention(self, prefix: str = "") -> None:
        self.weighted(prefix + "out_proj.")
        self.values[prefix + "out_proj.bias"][...] = 0
        for name in ("in_proj", "q_proj", "k_proj", "v_proj"):
            key = f"{prefix}{name}_weight"
            if key in self.values:
                self.bounded(key, xavier_bound(list(self.values[key].shape)))
        for key in (prefix + "bias_k", prefix + "bias_v"):
            if key in self.values:
                std = math.sqrt(2.0 / sum(fans(list(self.values[key].shape))))
                self.generator.normal(self.values[key], 0.0, std)

    def layer(self, prefix: str, decoder: bool) -> None:
        self.attention(prefix + "self_attn.")
        if decoder:
            self.attention(prefix + "multihead_attn.")
        self.weighted(prefix + "linear1.")
        self.weighted(prefix + "linear2.")

    def norms(self) -> None:
        for name, value in self.values.items():
            if "norm" in name and name.endswith("weight"):
                value[...] = 1

    def transformer(self) -> None:
        for side, decoder in (("encoder", False), ("decoder", True)):
            first = f"{side}.layers.0."
            self.layer(first, decoder)
            for name in self.values:
                parts = name.split(".")
                if name.startswith(f"{side}.layers.") and parts[2] != "0":
                    self.values[name][...] = self.values[first + ".".join(parts[3:])]
        for name, value in self.values.items():
            if value.ndim > 1:
                self.bounded(name, xavier_bound(list(value.shape)))

    def build(self, name: str) -> None:
        kind = name.split("(")[0]
        if kind in ("LSTM", "GRU", "LSTMCell", "Bilinear"):
            width = 4 if kind == "Bilinear" else 7
            for key in self.values:
                self.bounded(key, 1 / math.sqrt(width))
        elif kind == "Embedding":
            self.generator.normal(self.values["weight"])
            if "padding_idx=2" in name:
                self.values["weight"][2] = 0
        elif kind == "MultiheadAttention":
            self.attention()
        elif kind == "Transformer":
            self.transformer()
        elif kind.startswith("Transformer"):
            self.layer("", "Decoder" in kind)
        else:
            self.weighted()
        self.norms()


@pytest.mark.parametrize("case", GOLDEN["modules"], ids=lambda c: c["name"])
def test_module_draw_orders_give_the_recorded_parameters(case: Any) -> None:
    """Which parameter is drawn when, and in what range, for each kind of module."""
    generator = Generator().manual_seed(case["seed"])
    modules = Modules(generator, {p["name"]: p["shape"] for p in case["params"]})
    modules.build(case["name"])
    for parameter in case["params"]:
        assert sha(modules.values[parameter["name"]]) == parameter["sha"], parameter["name"]
    assert state_sha(generator) == case["state"]


@pytest.mark.parametrize("case", GOLDEN["state_blobs"], ids=lambda c: c["what"])
def test_recorded_states_are_restored_and_written_back(case: Any) -> None:
    """A torch state loads, is written back byte for byte, and continues torch's stream."""
    blob = np.frombuffer(zlib.decompress(base64.b64decode(case["zlib_b64"])), np.uint8)
    generator = Generator().set_state(blob)
    assert generator.initial_seed() == case["initial_seed"]
    assert generator.get_state().tobytes() == blob.tobytes()
    normals = generator.normal(np.empty(3, np.float32))
    uniforms = generator.uniform(np.empty(4, np.float32))
    assert [x.tobytes()[::-1].hex() for x in normals] == case["next_randn3"]
    assert [x.tobytes()[::-1].hex() for x in uniforms] == case["next_rand4"]


@pytest.mark.parametrize("case", GOLDEN["dataloader"])
def test_loader_draws_equal_the_recorded_epochs(case: Any) -> None:
    """Base seed, then the sampler's seed or permutation, then the extra permutation."""
    default = Generator().manual_seed(case["default_seed"])
    own = case["generator_seed"]
    passed = None if own is None else Generator().manual_seed(own)
    n, size = case["n"], case["batch_size"]
    for epoch, base in zip(case["epochs"], case["base_seeds"], strict=True):
        assert str(seed64(passed or default)) == base
        sampler = passed or Generator().manual_seed(seed64(default))
        indices = order(sampler, n)
        order(sampler, n)
        batches = [indices[i : i + size] for i in range(0, n, size)]
        if case["drop_last"]:
            batches = [batch for batch in batches if len(batch) == size]
        assert batches == epoch
    assert state_sha(default) == case["state"]
    assert passed is None or state_sha(passed) == case["gen_state"]


def test_sampler_draws_equal_the_recorded_indices() -> None:
    """Splits and samplers as integer draws, in sequence from one generator."""
    record = GOLDEN["samplers"]
    generator = Generator().manual_seed(record["seed"])
    split = order(generator, 103)
    found: list[Any] = [[split[:83], split[83:93], split[93:]]]
    own = Generator().manual_seed(seed64(generator))
    found.append([int(i) for k in (32, 8) for i in own.random(np.empty(k, np.int64), 0, 5)])
    own = Generator().manual_seed(seed64(generator))
    found.append(order(own, 5) + order(own, 5) + order(own, 5)[:2])
    weights = np.array([0.1, 0.9, 0.4, 0.7, 3.0, 0.6])
    for replacement in (True, False):
        drawn = generator.multinomial(np.empty(5, np.int64), weights, replacement)
        found.append(drawn.tolist())
    found.append([[7, 8, 9, 11][i] for i in order(generator, 4)])
    assert found == [indices for _, indices in record["steps"]]
    assert state_sha(generator) == record["state"]
    for case in record["distributed"]:
        indices = order(Generator().manual_seed(case["seed"] + case["epoch"]), case["n"])
        world, n = case["world"], case["n"]
        total = (n // world if case["drop_last"] else -(-n // world)) * world
        indices = (indices + indices)[:total]
        assert indices[case["rank"] :: world] == case["idx"]


def test_torch_calls_in_random_sequence_leave_equal_states() -> None:
    """Sixty mixed calls, value and state compared after each with real torch."""
    torch = pytest.importorskip("torch")
    choices = np.random.default_rng(5)
    generator = Generator().manual_seed(11)
    torch.manual_seed(11)
    calls: list[tuple[str, tuple[Any, ...]]] = [
        ("uniform", (-1.0, 2.0)), ("normal", (0.5, 2.0)), ("bernoulli", (0.3,)),
        ("exponential", (1.5,)), ("geometric", (0.2,)), ("cauchy", (0.1, 2.0)),
        ("log_normal", (0.1, 0.5)), ("random", (-3, 90)), ("random", (0, 2**40)),
        ("random", (-(2**63), None)), ("random", ()),
    ]  # fmt: skip
    for _ in range(60):
        name, args = calls[choices.integers(len(calls))]
        kind = ("float32", "float64")[choices.integers(2)]
        shape = (int(choices.integers(0, 9)), int(choices.integers(1, 90)))
        theirs = torch.empty(shape, dtype=getattr(torch, kind))
        ours = np.empty(shape, kind)
        if choices.integers(2):
            theirs, ours = theirs.t(), ours.T
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(theirs, name + "_")(*args)
        getattr(generator, name)(ours, *args)
        assert ours.tobytes() == theirs.contiguous().numpy().tobytes(), (name, kind, shape)
        assert generator.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()
    torch.set_rng_state(torch.from_numpy(generator.get_state().copy()))
    assert torch.rand(5).numpy().tobytes() == generator.uniform(np.empty(5, "f4")).tobytes()


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_variates_equal_torch(kind: str) -> None:
    """Poisson, gamma, binomial and randomised leaky slopes draw as torch does."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    generator = Generator().manual_seed(3)
    x = torch.rand(400, dtype=getattr(torch, kind))
    chance = generator.uniform(np.empty(400, kind))
    out = np.empty(400, kind)
    pairs = [
        (lambda: generator.poisson(out, chance * 40), lambda: torch.poisson(x * 40)),
        (lambda: generator.standard_gamma(out, chance * 3), lambda: torch._standard_gamma(x * 3)),
        (
            lambda: generator.binomial(out, np.floor(chance * 99), chance),
            lambda: torch.binomial((x * 99).floor(), x),
        ),
        (
            lambda: (
                (chance - out.dtype.type(0.5))
                * generator.rrelu_noise(out, chance - out.dtype.type(0.5), 0.1, 0.3)
            ),
            lambda: torch.rrelu(x - 0.5, 0.1, 0.3, True),
        ),
        (
            lambda: generator.bernoulli_from(out, chance),
            lambda: torch.bernoulli(x),
        ),
    ]
    for ours, theirs in pairs:
        assert ours().tobytes() == theirs().numpy().tobytes()
        assert generator.get_state().tobytes() == torch.get_rng_state().numpy().tobytes()


@pytest.mark.parametrize(
    ("name", "args"),
    [("uniform", (2, 1)), ("normal", (0, -1)), ("log_normal", (0, -1)), ("exponential", (-1.5,)),
     ("geometric", (1.5,)), ("cauchy", (0, -2)), ("bernoulli", (1.5,)), ("random", (5, 5)),
     ("random", (2**30, None))],
)  # fmt: skip
def test_bad_arguments_raise_as_torch(name: str, args: tuple[Any, ...]) -> None:
    """Type and text of the error are torch's."""
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:
        getattr(torch.empty(20), name + "_")(*args)
    with pytest.raises(type(theirs.value)) as ours:
        getattr(Generator(), name)(np.empty(20, np.float32), *args)
    assert str(ours.value) == str(theirs.value)
