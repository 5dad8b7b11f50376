"""Launches by the driver's function: what lies in the buffer of arguments, for a stand-in."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from typing import Any

import numpy as np
import pytest
from numba.core import types

from mindtorch.kernels.cuda import driver_launch
from mindtorch.kernels.support.errors import AcceleratorError

KINDS = (types.int64, types.Array(types.float32, 1, "C"), types.uint32, types.float64)
GRID, BLOCK = (7, 1, 1), (256, 1, 1)


class Driver:
    """Notes the arguments of each launch, read through the pointers as the driver does."""

    def __init__(self, status: int = 0, wait: float = 0.0) -> None:
        self.status = status
        self.wait = wait
        self.launched: list[Any] = []

    def __call__(self, handle: int, *rest: Any) -> int:
        *sizes, shared, stream, parameters, extra = rest
        time.sleep(self.wait)
        places = (ctypes.c_void_p * 10).from_address(parameters)
        forms = ("q", "q", "q", "q", "q", "Q", "q", "q", "I", "d")
        found = [struct.unpack(f, ctypes.string_at(p, struct.calcsize(f)))[0]
                 for f, p in zip(forms, places, strict=True)]  # fmt: skip
        self.launched.append((handle, tuple(sizes), shared, stream, found, extra))
        return self.status


def test_arguments_lie_as_numbas_code_expects() -> None:
    driver = Driver()
    prepared = driver_launch.Prepared(KINDS, 99, driver)
    prepared(GRID, BLOCK, 5, [-3, 10, 4, 1 << 40, 10, 4, np.uint32(8), 0.5])
    expected = [-3, 0, 0, 10, 4, 1 << 40, 10, 4, 8, 0.5]
    assert driver.launched == [(99, (*GRID, *BLOCK), 0, 5, expected, None)]


def test_a_number_that_does_not_fit_is_not_launched() -> None:
    driver = Driver()
    prepared = driver_launch.Prepared(KINDS, 99, driver)
    with pytest.raises(struct.error):
        prepared(GRID, BLOCK, 0, [1 << 63, 10, 4, 0, 10, 4, 8, 0.5])
    assert driver.launched == []


def test_types_without_a_form_are_left_to_numba() -> None:
    for kind in (types.complex64, types.Array(types.float32, 2, "C"), types.boolean):
        with pytest.raises(TypeError, match="an argument of type"):
            driver_launch.Prepared((types.int64, kind), 99, Driver())


def test_an_error_of_the_driver_is_torchs() -> None:
    prepared = driver_launch.Prepared(KINDS, 99, Driver(status=700))
    with pytest.raises(AcceleratorError, match="an illegal memory access was encountered"):
        prepared(GRID, BLOCK, 0, [1, 10, 4, 0, 10, 4, 8, 0.5])


def test_threads_do_not_write_into_each_others_arguments() -> None:
    driver = Driver(wait=0.005)
    prepared = driver_launch.Prepared(KINDS, 99, driver)

    def work(k: int) -> None:
        for _ in range(4):
            prepared(GRID, BLOCK, k, [k, 10, 4, k, 10, 4, k, float(k)])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(driver.launched) == 16
    for _, _, _, stream, found, _ in driver.launched:
        assert (found[0], found[5], found[8], found[9]) == (stream,) * 4


def test_sizes_of_grids_have_three_axes() -> None:
    assert driver_launch.three(4) == (4, 1, 1)
    assert driver_launch.three((4, 2)) == (4, 2, 1)
    assert driver_launch.three((4, 2, 3)) == (4, 2, 3)
