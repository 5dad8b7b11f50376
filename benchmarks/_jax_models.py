"""The benchmark's models as JAX programs: one jitted, donating training step each.

The same layers, sizes and update rules as ``tests/support/models.py``; the numbers drawn are
others. They
serve to compare times, with an interpreter that has ``jax`` (``--jax-python``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn, random

Step = Callable[[], float]


def _uniform(key: Any, shape: tuple[int, ...], fan_in: int) -> Any:
    bound = 1 / math.sqrt(fan_in)
    return random.uniform(key, shape, jnp.float32, -bound, bound)


class Keys:
    """Endless keys."""

    def __init__(self) -> None:
        self.key = random.key(0)

    def __call__(self) -> Any:
        self.key, one = random.split(self.key)
        return one


def _linear(keys: Keys, n: int, m: int, bias: bool = True) -> dict[str, Any]:
    made = {"w": _uniform(keys(), (n, m), n)}
    if bias:
        made["b"] = _uniform(keys(), (m,), n)
    return made


def _apply(p: Any, x: Any) -> Any:
    y = x @ p["w"]
    return y + p["b"] if "b" in p else y


def _cross_entropy(logits: Any, y: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(logits), y[..., None], -1).mean()


def _drop(key: Any, x: Any, p: float) -> Any:
    return jnp.where(random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0)


def _sgd(rate: float, decay: float = 0.0) -> tuple[Any, Any]:
    def start(p: Any) -> Any:
        return jax.tree.map(jnp.zeros_like, p)

    def update(p: Any, g: Any, moved: Any) -> Any:
        moved = jax.tree.map(lambda m, g, p: 0.9 * m + g + decay * p, moved, g, p)
        return jax.tree.map(lambda p, m: p - rate * m, p, moved), moved

    return start, update


def _adam(rate: float, decay: float = 0.0) -> tuple[Any, Any]:
    def start(p: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, p)
        return zeros, jax.tree.map(jnp.zeros_like, p), jnp.zeros(())

    def update(p: Any, g: Any, held: Any) -> Any:
        first, second, t = held
        t = t + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, g)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, g)
        a, b = 1 - 0.9**t, 1 - 0.999**t

        def moved(p: Any, m: Any, v: Any) -> Any:
            return p * (1 - rate * decay) - rate * (m / a) / (jnp.sqrt(v / b) + 1e-8)

        return jax.tree.map(moved, p, first, second), (first, second, t)

    return start, update


def _mlp(batch: int = 64, sizes: Any = (784, 512, 512, 10), adam: bool = False) -> Any:
    keys = Keys()
    p = [_linear(keys, n, m) for n, m in itertools.pairwise(sizes)]
    x = random.normal(keys(), (batch, sizes[0]))
    y = random.randint(keys(), (batch,), 0, sizes[-1])

    def loss(p: Any, key: Any) -> Any:
        h = x
        for layer in p[:-1]:
            h = nn.relu(_apply(layer, h))
        return _cross_entropy(_apply(p[-1], h), y)

    return p, loss, _adam(1e-3) if adam else _sgd(0.1)


def _convolution(w: Any, x: Any, stride: int = 1, pad: int = 0) -> Any:
    return lax.conv_general_dilated(
        x, w, (stride, stride), [(pad, pad)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW")
    )


def _pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def _lenet(batch: int = 64) -> Any:
    keys = Keys()
    p = {
        "c1": _uniform(keys(), (6, 1, 5, 5), 25), "c2": _uniform(keys(), (16, 6, 5, 5), 150),
        "b1": _uniform(keys(), (6, 1, 1), 25), "b2": _uniform(keys(), (16, 1, 1), 150),
        "f1": _linear(keys, 400, 120), "f2": _linear(keys, 120, 84), "f3": _linear(keys, 84, 10),
    }  # fmt: skip
    x = random.normal(keys(), (batch, 1, 28, 28))
    y = random.randint(keys(), (batch,), 0, 10)

    def loss(p: Any, key: Any) -> Any:
        h = _pool(nn.relu(_convolution(p["c1"], x, pad=2) + p["b1"]))
        h = _pool(nn.relu(_convolution(p["c2"], h) + p["b2"])).reshape(batch, -1)
        h = _drop(key, nn.relu(_apply(p["f1"], h)), 0.25)
        return _cross_entropy(_apply(p["f3"], nn.relu(_apply(p["f2"], h))), y)

    return p, loss, _sgd(0.05, 5e-4)


def _batch_norm(p: Any, x: Any) -> Any:
    mean = x.mean((0, 2, 3), keepdims=True)
    spread = ((x - mean) ** 2).mean((0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(spread + 1e-5) * p["g"] + p["b"]


def _resnet18(batch: int = 32, width: int = 64, side: int = 32) -> Any:
    keys = Keys()

    def unit(n: int, m: int, size: int) -> dict[str, Any]:
        return {
            "w": _uniform(keys(), (m, n, size, size), n * size * size),
            "g": jnp.ones((m, 1, 1)), "b": jnp.zeros((m, 1, 1)),
        }  # fmt: skip

    blocks, n = [], width
    for i in range(4):
        m = width * 2**i
        for _ in range(2):
            blocks.append({"a": unit(n, m, 3), "b": unit(m, m, 3)})
            if n != m:
                blocks[-1]["down"] = unit(n, m, 1)
            n = m
    p = {"stem": unit(3, width, 3), "blocks": blocks, "fc": _linear(keys, n, 10)}
    x = random.normal(keys(), (batch, 3, side, side))
    y = random.randint(keys(), (batch,), 0, 10)

    def normed(p: Any, x: Any, stride: int, pad: int) -> Any:
        return _batch_norm(p, _convolution(p["w"], x, stride, pad))

    def loss(p: Any, key: Any) -> Any:
        h = nn.relu(normed(p["stem"], x, 1, 1))
        for block in p["blocks"]:
            stride = 2 if "down" in block else 1
            kept = normed(block["down"], h, 2, 0) if "down" in block else h
            h = nn.relu(normed(block["a"], h, stride, 1))
            h = nn.relu(normed(block["b"], h, 1, 1) + kept)
        return _cross_entropy(_apply(p["fc"], h.mean((2, 3))), y)

    return p, loss, _sgd(0.01, 5e-4)


def _layer_norm(p: Any, x: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    spread = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(spread + 1e-5) * p["g"] + p["b"]


def _gpt(
    batch: int = 4, length: int = 32, layers: int = 2, width: int = 64, heads: int = 4,
    words: int = 65, dropout: float = 0.1,
) -> Any:  # fmt: skip
    keys = Keys()

    def norm() -> dict[str, Any]:
        return {"g": jnp.ones(width), "b": jnp.zeros(width)}

    p = {
        "words": random.normal(keys(), (words, width)),
        "places": random.normal(keys(), (length, width)),
        "layers": [
            {
                "n1": norm(), "n2": norm(), "qkv": _linear(keys, width, 3 * width),
                "proj": _linear(keys, width, width), "up": _linear(keys, width, 4 * width),
                "down": _linear(keys, 4 * width, width),
            }
            for _ in range(layers)
        ],
        "norm": norm(), "head": _linear(keys, width, words, bias=False),
    }  # fmt: skip
    tokens = random.randint(keys(), (batch, length + 1), 0, words)
    mask = jnp.tril(jnp.ones((length, length), bool))

    def attention(p: Any, x: Any, key: Any) -> Any:
        q, k, v = jnp.split(_apply(p["qkv"], x), 3, -1)
        q, k, v = (
            a.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for a in (q, k, v)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        weights = nn.softmax(jnp.where(mask, scores, -jnp.inf))
        one, two = random.split(key)
        y = (_drop(one, weights, dropout) @ v).transpose(0, 2, 1, 3).reshape(x.shape)
        return _drop(two, _apply(p["proj"], y), dropout)

    def loss(p: Any, key: Any) -> Any:
        keys = iter(random.split(key, 1 + 2 * layers))
        h = _drop(next(keys), p["words"][tokens[:, :-1]] + p["places"], dropout)
        for layer in p["layers"]:
            h = h + attention(layer, _layer_norm(layer["n1"], h), next(keys))
            inner = nn.gelu(_apply(layer["up"], _layer_norm(layer["n2"], h)), approximate=False)
            h = h + _drop(next(keys), _apply(layer["down"], inner), dropout)
        return _cross_entropy(_apply(p["head"], _layer_norm(p["norm"], h)), tokens[:, 1:])

    return p, loss, _adam(1e-3, 0.1)


_MODELS = {"mlp": _mlp, "lenet": _lenet, "resnet18": _resnet18, "gpt": _gpt}


def build(name: str, **sizes: Any) -> Step:
    """``step()``: one training step on fixed data; its loss as a float.

    Raises:
        KeyError: there is no such model here.
    """
    p, loss, (start, update) = _MODELS[name](**sizes)
    held = [p, start(p), random.key(1)]

    @partial(jax.jit, donate_argnums=(0, 1))
    def train(p: Any, state: Any, key: Any) -> Any:
        key, one = random.split(key)
        value, g = jax.value_and_grad(loss)(p, one)
        p, state = update(p, g, state)
        return p, state, key, value

    def step() -> float:
        held[0], held[1], held[2], value = train(*held)
        return float(value)

    return step
