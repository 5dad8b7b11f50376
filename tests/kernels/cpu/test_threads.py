"""Kernels that share their work out to threads compute the same on one thread and on two."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from mindtorch import torch
from mindtorch.kernels.cpu.threads.thread_pool import get_num_threads, parallel_for, set_num_threads

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
    "maxima and products": (
        lambda x: x.amax(1) * x.prod(1) + x.norm(dim=1) + x.amax(0).amin() + x.amax(), ((600, 500),)
    ),
    "rows by index": (lambda x: x[torch.arange(900) * 7 % 600], ((600, 300),)),
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


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("batch", [19, 40])
@pytest.mark.parametrize("packed", [False, True])
def test_sequences_are_shared_out(kind: str, batch: int, packed: bool) -> None:
    """Steps of few sequences by BLAS, many in parts; lengths that end in another thread's part."""
    found = []
    lengths = torch.arange(batch, 0, -1).clamp(max=7)
    for count in (1, 3):
        set_num_threads(count)
        torch.manual_seed(0)
        net = getattr(torch.nn, kind)(5, 64, bidirectional=True, dtype=torch.float64)
        x = torch.randn(7, batch, 5, dtype=torch.float64, requires_grad=True)
        given = torch.nn.utils.rnn.pack_padded_sequence(x, lengths) if packed else x
        y, states = net(given)
        y = y.data if packed else y
        last = states if kind != "LSTM" else states[0] + states[1]
        (y.square().sum() + last.exp().sum()).backward()
        found.append([y.detach(), last.detach(), x.grad, *[p.grad for p in net.parameters()]])
    for one, three in zip(*found, strict=True):
        torch.testing.assert_close(one, three, rtol=1e-11, atol=1e-11)


def _pieces(size: int, act: Any) -> list[tuple[int, int]]:
    seen: list[tuple[int, int]] = []

    def part(first: int, last: int) -> None:
        seen.append((first, last))
        act(first)

    parallel_for(size, part)
    return sorted(seen)


def test_each_thread_has_a_piece() -> None:
    """Also where threads have slept meanwhile, and where a piece takes longer than others look."""
    set_num_threads(3)
    expected = [(0, 2), (2, 4), (4, 7)]
    for pause in (0.0, 0.0, 0.01, 0.0):
        time.sleep(pause)
        assert _pieces(7, lambda first: None) == expected
    for slow in (0, 2, 4):
        assert _pieces(7, lambda first, slow=slow: time.sleep(0.01 * (first == slow))) == expected


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_a_piece_raises_comes_when_all_have_ended(place: int) -> None:
    set_num_threads(3)
    ended: list[int] = []

    def part(first: int, last: int) -> None:
        if first == place:
            raise KeyError(first)
        time.sleep(0.005)
        ended.append(first)

    with pytest.raises(KeyError, match=str(place)):
        parallel_for(3, part)
    assert sorted([*ended, place]) == [0, 1, 2]
    assert _pieces(3, lambda first: None) == [(0, 1), (1, 2), (2, 3)]


def test_loops_of_several_threads_and_loops_within_pieces() -> None:
    """The workers serve one loop at a time; another thread's runs where it is, as inner ones do."""
    set_num_threads(2)
    totals = [0] * 4

    def count(number: int) -> None:
        for _ in range(200):
            for first, last in _pieces(5, lambda first: _pieces(3, lambda inner: None)):
                totals[number] += last - first

    users = [threading.Thread(target=count, args=(i,)) for i in range(4)]
    for each in users:
        each.start()
    for each in users:
        each.join()
    assert totals == [1000] * 4


def test_an_interrupt_leaves_no_piece_at_work() -> None:
    """Ctrl-C while the caller waits for a slow piece: raised when the piece has ended."""
    set_num_threads(2)
    ended: list[int] = []

    def part(first: int, last: int) -> None:
        if first == 0:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.05)
        ended.append(first)

    with pytest.raises(KeyboardInterrupt):
        parallel_for(2, part)
    assert sorted(ended)[:1] == [0]
    assert _pieces(2, lambda first: None) == [(0, 1), (1, 2)]


def test_a_forked_child_has_workers_of_its_own() -> None:
    set_num_threads(2)
    _pieces(2, lambda first: None)
    child = os.fork()
    if child == 0:
        os._exit(_pieces(2, lambda first: None) != [(0, 1), (1, 2)])
    assert os.waitpid(child, 0)[1] == 0
