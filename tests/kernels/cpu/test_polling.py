"""Another library's operations are asked until they are done."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.threads.polling import DONE, WAITING, poll

TEST = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
)


def polled(answers: Any, requests: list[int], busy: float, limit: float) -> tuple[int, list[int]]:
    """What poll gives where MPI_Test gives ``answers(request, number of the question)``, an error
    and whether it is done; and which requests were asked."""
    asked: list[int] = []

    def test(request: int, flag: Any, status: int) -> int:
        asked.append(request)
        code, flag[0] = answers(request, len(asked))
        return int(code)

    function = TEST(test)
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    return poll(address, np.array(requests), 0.0, busy, limit), asked


def test_it_asks_until_all_are_done() -> None:
    """All requests each time, without pauses and with them."""
    for busy in (0.0, 10.0):
        found, asked = polled(lambda x, count: (0, count > 4 or x == 8), [8, 16], busy, 60)
        assert found == DONE and asked == [8, 16, 8, 16, 8, 16]


def test_it_gives_up_after_its_time() -> None:
    found, asked = polled(lambda request, count: (0, 0), [8], 0.0, 0.01)
    assert found == WAITING and 2 < len(asked) < 5000


def test_an_error_ends_it() -> None:
    """MPI's number, whatever the others do."""
    found, asked = polled(lambda request, count: (17 * (count == 3), 0), [8, 16], 0.0, 60)
    assert found == 17 and asked == [8, 16, 8]
