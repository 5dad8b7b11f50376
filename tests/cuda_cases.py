"""CUDA kernels against numpy on small sizes: run as a program, on a GPU or in numba's simulator.

Prints a JSON object: the largest error of each case, or what it raised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda

from mindtorch.kernels.cuda import elementwise, matmul, optimizer, reduction, softmax

rng = np.random.default_rng(0)


class Layout:
    """What a kernel may know of an array."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self.strides = tuple(s // array.itemsize for s in array.strides)


def _elementwise(name: str, out_dtype: Any, *ins: Any, compute: Any = np.float32) -> Any:
    shape = np.broadcast_shapes(*[x.shape for x in ins])
    out = np.zeros(shape, out_dtype)
    run = elementwise.plan(name, (Layout(out),), tuple(Layout(x) for x in ins), np.dtype(compute))
    target = cuda.to_device(out.reshape(-1))
    run(target, *[cuda.to_device(np.ravel(x, order="K")) for x in ins])
    return target.copy_to_host().reshape(shape)


def _reduce(name: str, x: Any, axis: tuple[int, ...], out_dtype: Any) -> Any:
    shape = tuple(n for i, n in enumerate(x.shape) if i not in axis)
    out = np.zeros(shape, out_dtype)
    run = reduction.plan(name, (Layout(out),), (Layout(x),), axis=axis, keepdims=False)
    target = cuda.to_device(out.reshape(-1))
    run(target, cuda.to_device(np.ravel(x, order="K")))
    return target.copy_to_host().reshape(shape)


def _call(function: Any, shape: Any, *ins: Any, **params: Any) -> Any:
    out = cuda.to_device(np.zeros(shape, np.float32))
    function(out, *[None if x is None else cuda.to_device(x) for x in ins], **params)
    return out.copy_to_host()


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cases() -> Iterator[tuple[str, Any, Any]]:
    """(name, found, expected)."""
    x, y = rng.standard_normal((3, 5)).astype("f4"), rng.standard_normal((5,)).astype("f4")
    number = np.array([2.0])
    yield "add, broadcast", _elementwise("add", "f4", x, y), x + y
    yield "multiply by a number", _elementwise("multiply", "f4", x, number[0:1]), x * 2
    yield "exp of a transposed", _elementwise("exp", "f4", x.T), np.exp(x.T)
    yield "sigmoid", _elementwise("sigmoid", "f4", x), 1 / (1 + np.exp(-x))
    yield "greater", _elementwise("gt", np.bool_, x, y), x > y
    yield "where", _elementwise("where", "f4", x > 0, x, y), np.where(x > 0, x, y)
    integers = np.array([7, -7, 5], np.int64)
    two = np.array([2, 2, -2], np.int64)
    divided = _elementwise("floor_divide", np.int64, integers, two, compute=np.int64)
    yield "floor_divide of integers", divided, integers // two
    z = rng.standard_normal((4, 3, 37)).astype("f4")
    for name, function in (("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min)):
        for axis in ((2,), (0, 2), (0, 1, 2)):
            yield f"{name} over {axis}", _reduce(name, z, axis, "f4"), function(z, axis)
    yield "any", _reduce("any", z > 2, (2,), np.bool_), (z > 2).any(2)
    a, b = (
        rng.standard_normal((2, 5, 19)).astype("f4"),
        rng.standard_normal((2, 19, 7)).astype("f4"),
    )
    yield "matmul", _call(matmul.matmul, (2, 5, 7), a, b), a @ b
    weight, bias = rng.standard_normal((7, 19)).astype("f4"), rng.standard_normal(7).astype("f4")
    rows = a.reshape(-1, 19)
    yield "linear", _call(matmul.linear, (10, 7), rows, weight, bias), rows @ weight.T + bias
    s, g = _softmax(z), rng.standard_normal(z.shape).astype("f4")
    yield "softmax", _call(softmax.softmax, z.shape, z, axis=2), s
    yield "log_softmax", _call(softmax.log_softmax, z.shape, z, axis=2), np.log(s)
    slope = s * (g - (g * s).sum(-1, keepdims=True))
    yield "softmax_gradient", _call(softmax.softmax_gradient, z.shape, g, s, axis=2), slope
    slope = g - s * g.sum(-1, keepdims=True)
    logs = np.log(s)
    found = _call(softmax.log_softmax_gradient, z.shape, g, logs, axis=2)
    yield "log_softmax_gradient", found, slope
    yield from _optimizers()


def _optimizers() -> Iterator[tuple[str, Any, Any]]:
    p, g, m, v = (rng.standard_normal(300).astype("f4") for _ in range(4))
    v = v * v
    held = [cuda.to_device(t.copy()) for t in (p, g, m, v)]
    settings = {"lr": 0.1, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.01,
                "nesterov": False, "maximize": False}  # fmt: skip
    optimizer.sgd(held[:1], held[1:2], held[2:3], [False], **settings)
    buffer = m * 0.9 + (g + 0.01 * p)
    yield "sgd", held[0].copy_to_host(), p - 0.1 * buffer
    held = [cuda.to_device(t.copy()) for t in (p, g, m, v)]
    optimizer.adam(*[[t] for t in held], 3, lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8,  # type: ignore[arg-type, call-arg]
                   weight_decay=0.01, decoupled=True, maximize=False)  # fmt: skip
    first, second = m + 0.1 * (g - m), v * 0.99 + 0.01 * g * g
    root = np.sqrt(second) / np.sqrt(1 - 0.99**3) + 1e-8
    yield "adamw", held[0].copy_to_host(), p * (1 - 0.001) - 0.1 / (1 - 0.9**3) * first / root


def main() -> None:
    errors = {}
    for name, found, expected in cases():
        wide = np.asarray(expected, np.float64)
        scale = max(float(np.abs(wide).max(initial=0)), 1.0)
        errors[name] = float(np.abs(np.asarray(found, np.float64) - wide).max(initial=0)) / scale
    print(json.dumps(errors))


if __name__ == "__main__":
    main()
