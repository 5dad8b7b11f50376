"""One line of code run in PyTorch and in mindtorch, and what came out of both compared."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
import torch

import mindtorch.torch as ours

_PREPARE = "torch.manual_seed(0); x = torch.randn(3, 4); v = torch.randn(5)"


def outcome(namespace: Any, code: str, prepare: str = "") -> Any:
    """("value", its parts) or ("error", type, text) of an expression, with its warnings."""
    names: dict[str, Any] = {"torch": namespace, "F": namespace.nn.functional, "np": np}
    exec(_PREPARE, names)
    exec(prepare, names)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Any = ("value", plain(eval(code, names)))
        except Exception as error:
            found = ("error", type(error).__name__, str(error).partition("\nException raised")[0])
    told = [(w.category.__name__, str(w.message).partition(" (Triggered")[0]) for w in caught]
    return found, told


def plain(value: Any) -> Any:
    """A value in words that both libraries share."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        array = value.detach()
        low = str(value.dtype) == "torch.bfloat16"
        array = (array.float() if low else array).numpy()
        return ("tensor", str(value.dtype), tuple(value.shape), value.requires_grad, array)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return [plain(v) for v in value]
    if isinstance(value, (bool, int, float, str, complex, type(None))):
        return value
    return repr(value)


def assert_same(mine: Any, theirs: Any, rtol: float) -> None:
    """Equal in structure; arrays within ``rtol`` of the largest element."""
    if isinstance(theirs, np.ndarray):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0)) if theirs.size else 0
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol * scale)
    elif isinstance(theirs, (list, tuple)):
        assert type(mine) is type(theirs) and len(mine) == len(theirs), (mine, theirs)
        for m, t in zip(mine, theirs, strict=True):
            assert_same(m, t, rtol)
    elif isinstance(theirs, dict):
        assert mine.keys() == theirs.keys()
        for key in theirs:
            assert_same(mine[key], theirs[key], rtol)
    else:
        assert mine == theirs


def check(code: str, prepare: str = "", rtol: float = 2e-6) -> None:
    """Assert that ``code`` does in mindtorch what it does in PyTorch, errors and warnings too."""
    mine, theirs = outcome(ours, code, prepare), outcome(torch, code, prepare)
    assert_same(mine, theirs, rtol)


@contextlib.contextmanager
def quiet() -> Any:
    """Warnings that are not what a test is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
