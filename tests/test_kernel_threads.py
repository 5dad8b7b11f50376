"""Kernels that share their work out to threads compute the same on one thread and on two."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mindtorch import torch
from mindtorch.kernels.cpu.threads import get_num_threads, set_num_threads

F = torch.nn.functional


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Tests set the count; afterwards it is what it was."""
    before = get_num_threads()
    yield
    set_num_threads(before)


def _on(count: int, function: Callable[..., Any], *shapes: Any) -> list[Any]:
    """The result and the gradients for normal inputs."""
    set_num_threads(count)
    torch.manual_seed(3)
    inputs = [torch.randn(*shape, requires_grad=True) for shape in shapes]
    y = function(*inputs)
    y.backward(torch.randn_like(y))
    return [y.detach().numpy(), *[x.grad.numpy() for x in inputs]]


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "softmax": (lambda x: torch.softmax(x, -1), ((301, 999),)),
    "log_softmax of columns": (lambda x: torch.log_softmax(x, 1), ((37, 99, 65),)),
    "attention": (F.scaled_dot_product_attention, ((3, 5, 70, 16),) * 3),
    "max_pool": (lambda x: F.max_pool2d(x, 2), ((5, 7, 64, 66),)),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ((5, 7, 60, 66), (7,), (7,)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_two_threads_give_the_bits_of_one(name: str) -> None:
    """No sum is over two threads' parts."""
    function, shapes = CASES[name]
    for one, two in zip(_on(1, function, *shapes), _on(2, function, *shapes), strict=True):
        np.testing.assert_array_equal(one, two)


NORMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "layer": (lambda x, w, b: F.layer_norm(x, (513,), w, b), ((401, 513), (513,), (513,))),
    "group": (lambda x, w, b: F.group_norm(x, 3, w, b), ((5, 6, 70, 66), (6,), (6,))),
    "root mean square": (lambda x, w: F.rms_norm(x, (513,), w), ((401, 513), (513,))),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norms_parameters_are_summed_in_float64_over_threads(name: str) -> None:
    """The rows have the same bits; the parameters' gradients, a last place at most."""
    function, shapes = NORMS[name]
    one, two = _on(1, function, *shapes), _on(2, function, *shapes)
    for a, b in zip(one[:2], two[:2], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one[2:], two[2:], strict=True):
        np.testing.assert_array_max_ulp(a, b, 1)


def test_the_blas_of_numpy_and_scipy_follows_the_number_of_threads() -> None:
    """Decompositions run in theirs; with one thread asked for, a second would spin beside it."""
    def counts() -> list[int]:
        found = []
        for package, suffix in ((np, "64_"), (scipy, "")):
            folder = Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"
            (path,) = folder.glob("libscipy_openblas*")
            library = ctypes.CDLL(str(path))
            found.append(getattr(library, f"scipy_openblas_get_num_threads{suffix}")())
        return found

    set_num_threads(get_num_threads() + 1)
    for count in (1, 2):
        set_num_threads(count)
        assert counts() == [count, count]
