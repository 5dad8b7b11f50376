"""Checks of programs for CUDA: elements that are taken several at a time, places that are told
apart without a division, and folds of a block; on a GPU or in numba's simulator.
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from numba import float64

import mindtorch.torch
from mindtorch.kernels.cuda import block_reduce, elementwise, launch, memory
from mindtorch.kernels.cuda.fast_division import divisor, over
from mindtorch.kernels.cuda.launch import FOLDING, cuda

torch: Any = mindtorch.torch
TYPES = ("float32", "float64", "bfloat16", "float16", "int64", "uint8", "bool", "complex64")


def _made(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    torch.manual_seed(seed)
    return torch.randint(0, 5, shape).to(getattr(torch, dtype))


def several_elements_at_a_time_are_as_one_at_a_time() -> None:
    """Ends of all lengths, beginnings that are no multiple of a vector's bytes, all widths."""
    taken = set()
    own: Any = elementwise._Loop
    made = own.__init__

    def noted(self: Any, *arguments: Any) -> None:
        taken.add(arguments[-1])
        made(self, *arguments)

    own.__init__ = noted
    try:
        for kind in TYPES:
            for size, start in ((1, 0), (7, 0), (8, 0), (9, 0), (13, 1), (12, 4), (11, 2)):
                x, y = (_made((size + start,), kind, seed) for seed in (size, size + 1))
                here, there = x[start:], x.cuda()[start:]
                assert (there * y.cuda()[:size]).cpu().equal(here * y[:size]), (kind, size, start)
                assert (there == y.cuda()[start:]).cpu().equal(here == y[start:])
                assert there.float().cpu().equal(here.float()) or kind == "complex64"
    finally:
        own.__init__ = made
    assert taken == {1, 2, 4, 8}


def rows_and_columns_are_broadcast_in_groups() -> None:
    """Biases, factors of rows, exchanged axes and slices of rows, in place and into others."""
    for kind in ("float32", "bfloat16", "float64"):
        for width in (4, 6, 8, 9):
            x, bias, factor = (_made(shape, kind, width) for shape in ((3, 2, width), (width,),
                                                                      (3, 1, 1)))  # fmt: skip
            far = [t.cuda() for t in (x, bias, factor)]
            for op in (lambda a, b, c: a + b, lambda a, b, c: (a + b) * c,
                       lambda a, b, c: a.transpose(0, 1) - a.transpose(0, 1) * b,
                       lambda a, b, c: a[:, :, 2:].mul(c), lambda a, b, c: a[:, 1].add_(b),
                       lambda a, b, c: a.transpose(1, 2).contiguous() + 1):  # fmt: skip
                assert op(*far).cpu().equal(op(x, bias, factor)), (kind, width)
            assert far[0].cpu().equal(x)


def quotients_are_exact() -> None:
    """Products and shifts give what divisions do, to the ends of their range."""
    top = (1 << 31) - 1
    rng = np.random.default_rng(0)
    numbers = [1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537, 1 << 30, (1 << 30) + 1, top - 1, top]
    numbers += [int(n) for n in rng.integers(1, top, 200, endpoint=True)]
    for n in numbers:
        by = divisor(n, 1 << 31)
        own = divisor(n, top)
        assert isinstance(own, np.uint64) and by == n
        whole = (top // n) * n
        places = [0, 1, n - 1, n, n + 1, whole - 1, whole, top - 1, top]
        places += [int(i) for i in rng.integers(0, top, 20)]
        for i in places:
            if 0 <= i <= top:
                low, high = int(own) & 0xFFFFFFFF, int(own) >> 32
                assert i * low >> high == i // n and i * low < 1 << 63, (i, n)
    if launch.SIMULATED:
        assert over(99, divisor(7, 100)) == 14
        assert over(1 << 40, divisor(3, 1 << 41)) == (1 << 40) // 3


@launch.kernel
def _folded(out: Any) -> None:
    lanes = cuda.shared.array(FOLDING, float64)
    t = cuda.threadIdx.x
    found = 0.0
    for k in range(5):
        found += block_reduce.total(lanes, t, t + k)
    out[cuda.blockIdx.x * FOLDING + t] = found


@contextlib.contextmanager
def _slowly() -> Iterator[None]:
    """The simulator's threads come late with arrays, and give modules back late."""
    if not launch.SIMULATED:
        yield
        return
    simulator: Any = importlib.import_module("numba.cuda.simulator.kernel")
    made, lent = np.empty, simulator.swapped_cuda_module

    @contextlib.contextmanager
    def late(function: Any, module: Any) -> Iterator[None]:
        with lent(function, module):
            yield
            time.sleep(1e-3)

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(1e-3)
        return made(*arguments, **options)

    both = mock.patch.object(simulator, "swapped_cuda_module", late)
    with both, mock.patch.object(np, "empty", slow):
        yield


def folds_meet_in_one_memory() -> None:
    """All threads of a block get the sum of what each gave."""
    out = memory.empty(2 * FOLDING, "f8")
    with _slowly():
        launch.rows(_folded, 2, out)
    one = FOLDING * (FOLDING - 1) / 2
    assert set(out.to_host()) == {sum(one + k * FOLDING for k in range(5))}


VECTORS = [folds_meet_in_one_memory, several_elements_at_a_time_are_as_one_at_a_time,
           rows_and_columns_are_broadcast_in_groups, quotients_are_exact]  # fmt: skip
