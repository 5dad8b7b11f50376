"""The ways in which a step can run compiled, and how what it leaves is compared with eager."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import mindtorch.torch as ours
from mindtorch.engine.compile.jit import jit
from mindtorch.engine.compile.lazy import script_mode

KINDS = ("captured", "replayed", "script")


def wrapped(kind: str) -> Callable[[Any], Any]:
    """What a function or module is wrapped in: torch.compile, a replay, or nothing."""
    if kind == "captured":
        return ours.compile
    return replayed if kind == "replayed" else lambda function: function


def replayed(function: Any) -> Any:
    """``function`` as it runs after something refused its capture."""
    call = jit(function)
    call.eager = "asked for"
    return call


@contextmanager
def running(kind: str) -> Iterator[None]:
    """Around all steps: a script's ops wait and run compiled, as under MINDTORCH_GRAPH=1."""
    if kind != "script":
        yield
        return
    script_mode.begin()
    try:
        yield
    finally:
        script_mode.end()


def calls_of(monkeypatch: Any, owner: Any, *names: str) -> set[str]:
    """The names of those classes of ``owner`` whose objects are called from now on."""
    seen: set[str] = set()

    def noted(name: str) -> Any:
        own = getattr(owner, name).__call__

        def call(*given: Any) -> Any:
            seen.add(name)
            return own(*given)

        return call

    for name in names:
        monkeypatch.setattr(getattr(owner, name), "__call__", noted(name))
    return seen


def result_and_gradients(call: Any, model: Any, x: Any) -> list[Any]:
    """A result, and the gradients for the input and the parameters."""
    model.zero_grad()
    x.grad = None
    y = call(x)
    y.sin().sum().backward()
    return [v.detach().numpy().copy() for v in (y, x.grad, *[p.grad for p in model.parameters()])]


def check_beside_eager(kind: str, model: Any, x: Any, seen: Any, limit: float) -> None:
    """A model gives what it gives eagerly, where ``seen`` stays empty: within ``limit`` of the
    largest number where it is captured, bit for bit in a script."""
    eager = result_and_gradients(model, model, x)
    assert not seen
    with running(kind):
        call = wrapped(kind)(model)
        for _ in range(4):
            found = result_and_gradients(call, model, x)
    for a, b in zip(found, eager, strict=True):
        most = limit * np.abs(b).max() if kind == "captured" else 0
        np.testing.assert_allclose(a, b, rtol=0, atol=most)


def arrays(value: Any) -> list[Any]:
    """The elements of the tensors in a structure, in order; other values as they are."""
    tensor: type[Any] = ours.Tensor
    if isinstance(value, tensor):
        if value.layout is not ours.strided:
            parts = (value._indices(), value._values()) if value.layout is ours.sparse_coo else (
                value.values(),
            )
            return [str(value.layout), *(found for part in parts for found in arrays(part))]
        plain = value.detach().resolve_conj().resolve_neg()
        if plain.dtype is ours.bfloat16:
            plain = plain.contiguous().view(ours.int16)
        return [(str(value.dtype), value.requires_grad), plain.numpy().copy()]
    if isinstance(value, dict):
        return [found for each in value.values() for found in arrays(each)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(found for each in value for found in arrays(each))]
    return [value]


def first_difference(expected: list[Any], found: list[Any]) -> str:
    """Where two lists of :func:`arrays` are not the same bit for bit; "" when they are."""
    if len(expected) != len(found):
        return f"{len(found)} values, eager {len(expected)}"
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        if not isinstance(a, np.ndarray):
            if a != b and not (a != a and b != b):
                return f"value {i}: {b!r}, eager {a!r}"
        elif not isinstance(b, np.ndarray) or (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"value {i}: {getattr(b, 'shape', b)}, eager {a.dtype} {a.shape}"
        elif not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            worst = np.abs(a.astype(np.complex128) - b.astype(np.complex128))
            return f"value {i}: {int((a != b).sum())} of {a.size} differ, by {np.nanmax(worst):.3g}"
    return ""
