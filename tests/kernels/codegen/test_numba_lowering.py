"""Elements, ranges and references to arrays in kernels: what Python does, and nothing is kept."""

from typing import Any

import numpy as np
from numba.core import runtime

from mindtorch.kernels.codegen.jit import kernel


@kernel
def _elements(x: Any, table: Any, whole: Any, flags: Any) -> None:
    for i in range(len(whole)):
        x[i] = table[i, -1] + table[-1 - i, i] * x[np.uint8(i)] + x[-1]
        whole[i] += whole[-i]
        flags[i] = whole[i] > 3
        table[i, 0], table[-1, i] = table[i, 1] + 1, whole[i]


@kernel
def _ranges(out: Any, first: int, last: int, step: int) -> int:
    found = 0
    numbers = range(first, last, 3)
    for i in numbers:
        for j in numbers:
            found = found * 3 + i - j
        if i > 7:
            break
    else:
        found += 1000
    for i in range(last, first, -2):
        found = found * 7 + i
    for i in range(first, last, step):
        out[i] += i
        for j in range(i):
            out[j] += found
    for _ in range(last, first):
        found = 5
    return found + len(numbers)


@kernel
def _made(n: int) -> Any:
    return np.arange(n) * 1.0


@kernel
def _part(x: Any, n: int) -> Any:
    return x[n:]


@kernel
def _lends(x: Any, n: int) -> float:
    part = x[1:n]
    for i in range(3):
        part = part[: n - i]
    return part[0] + part[-1]


@kernel
def _owns(x: Any, n: int) -> float:
    total = 0.0
    for i in range(n):
        mine = _made(n + i)
        part = _part(mine, i)
        both = (part, x[i:])
        total += _lends(both[0], n) + both[1][0] + _part(x, i)[0]
    x[1:n] = x[: n - 1]  # overlaps
    return total + mine[-1]


def test_elements_are_read_and_written_as_in_python() -> None:
    for order in ("C", "F"):
        for stride in (1, 2):
            found, expected = (
                (
                    np.arange(5.0)[::1],
                    np.asarray(np.arange(50.0).reshape(5, 10), order=order)[:, ::stride],
                    np.arange(5)[::-1],
                    np.zeros(5, bool),
                )
                for _ in range(2)
            )
            _elements(*found)
            _elements.py_func(*expected)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_ranges_count_as_in_python() -> None:
    for first, last, step in ((0, 9, 2), (2, 12, 1), (3, 4, 5), (4, 4, 1), (6, 2, 1), (8, 0, -3)):
        out, expected = np.zeros(12, np.int64), np.zeros(12, np.int64)
        assert _ranges(out, first, last, step) == _ranges.py_func(expected, first, last, step)
        assert out.tolist() == expected.tolist()


def test_arrays_made_in_kernels_are_let_go_of_and_those_of_others_kept() -> None:
    counts: Any = runtime  # numba has no types for these
    counts._nrt_python.memsys_enable_stats()
    before = counts.rtsys.get_allocation_stats()
    x, expected = np.arange(8.0), np.arange(8.0)
    assert _owns(x, 6) == _owns.py_func(expected, 6)
    for each in (x, expected):
        assert each.tolist() == [0.0, 0, 1, 2, 3, 4, 6, 7]
    made, kept = _made(4), np.arange(5.0)
    part = _part(kept, 2)
    del kept
    assert (made.tolist(), part.tolist()) == ([0.0, 1, 2, 3], [2.0, 3, 4])
    del made, part
    after = counts.rtsys.get_allocation_stats()
    counts._nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 6
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free
