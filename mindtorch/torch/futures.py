"""Futures: results that come later, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")


class Future(Generic[T]):
    """A result that some thread sets once and others wait for.

    Args:
        devices: None, or devices of tensors that are waited for; of no effect.
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._done.is_set()

    def wait(self) -> T:
        """The result, waited for; raises the exception that was set."""
        self._done.wait()
        return self.value()

    def value(self) -> T:
        """The result, which must be there already."""
        if not self._done.is_set():
            raise RuntimeError("the Future is not completed yet: call wait() first")
        if self._error is not None:
            raise self._error
        return self._result

    def set_result(self, result: T) -> None:
        """Complete with a result; only once."""
        self._complete(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Complete with an exception, which waiting raises."""
        assert isinstance(result, Exception), (
            f"{result} is of type {type(result)}, not an Exception."
        )
        self._complete(None, result)

    def _complete(self, result: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done.is_set():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._result, self._error = result, error
            self._done.set()
            waiting, self._callbacks = self._callbacks, []
        for callback in waiting:
            callback(self)

    def _when_done(self, callback: Callable[[Future[T]], Any]) -> None:
        with self._lock:
            if not self._done.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future of ``callback(self)``, called when this one is done."""
        following: Future[Any] = Future()

        def run(done: Future[T]) -> None:
            try:
                result = callback(done)
            except Exception as error:
                following.set_exception(error)
            else:
                following.set_result(result)

        self._when_done(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call ``callback(self)`` when this is done."""
        self._when_done(callback)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future of the whole list, done when all of them are."""
    combined: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one_done(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            combined.set_result(futures)

    if not futures:
        combined.set_result(futures)
    for future in futures:
        future.add_done_callback(one_done)
    return combined


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all; raises the first exception in their order."""
    return [future.wait() for future in collect_all(futures).wait()]
