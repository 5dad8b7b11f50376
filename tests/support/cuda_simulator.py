"""numba's CUDA simulator without its polling: threads of a block tell when they wait or have ended.

numba's block manager asks all threads of a block again and again whether they have reached a
barrier, and takes the interpreter from the very threads it waits for. With a count of those that
are still to come it waits without being woken; what kernels compute is the same.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba.core import config

__name__ = "numba.simulator_of_tests"  # a part of numba to captures, which look into users' code


class _Meeting:
    """A barrier for as many threads as are alive."""

    def __init__(self, threads: int) -> None:
        self.alive, self.waiting, self.round = threads, 0, 0
        self.failed: BaseException | None = None
        self.changed = threading.Condition()

    def wait(self) -> None:
        with self.changed:
            now = self.round
            self.waiting += 1
            self._open_if_complete()
            while self.round == now and self.failed is None:
                self.changed.wait()
            if self.failed is not None:
                raise RuntimeError("another thread of the block has failed")

    def leave(self, failed: BaseException | None) -> None:
        with self.changed:
            self.alive -= 1
            self.failed = self.failed or failed
            self._open_if_complete()
            if failed is not None:
                self.changed.notify_all()

    def _open_if_complete(self) -> None:
        if self.waiting == self.alive:
            self.waiting, self.round = 0, self.round + 1
            self.changed.notify_all()


def install() -> None:
    """Make the simulator, where it is in use, run blocks so."""
    if not config.ENABLE_CUDASIM:  # type: ignore[attr-defined]
        return
    from numba.cuda.simulator import kernel

    class Thread(kernel.BlockThread):
        def run(self) -> None:
            super().run()
            self._manager.meeting.leave(self.exception and self.exception[0])

        def syncthreads(self) -> None:
            self._manager.meeting.wait()

    def run(self: Any, grid_point: Any, *args: Any) -> None:
        threads = [
            Thread(lambda: self._f(*args), self, grid_point, point, self._debug)
            for point in np.ndindex(*self._block_dim)
        ]
        self.meeting = _Meeting(len(threads))
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        failed = [each.exception for each in threads if each.exception]
        if failed:
            first = next((e for e in failed if e[0] is self.meeting.failed), failed[0])
            raise first[0].with_traceback(first[1])

    kernel.BlockManager.run = run  # type: ignore[method-assign]
