"""Steps that all processes take together; where one fails, all raise the same error."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from .. import _world
from .api import CheckpointException, failure_of


class _Failed:
    """Stands for a result in the messages of a process that has none."""

    def __init__(self, error: BaseException) -> None:
        self.failure = failure_of(error)


def _packed(result: Any) -> bytes:
    try:
        return pickle.dumps(result)
    except Exception as error:  # an error that cannot travel still has a text
        text = str(result.failure[0]) if isinstance(result, _Failed) else str(error)
        return pickle.dumps(_Failed(RuntimeError(text)))


class Steps:
    """The processes that save or load one checkpoint.

    Args:
        group: they; the default group when None.
        alone: this process by itself, whatever groups there are.
        coordinator: the number of the process that decides.
        lane: the side of the group that is used; those of threads are others than the program's.
    """

    def __init__(self, group: Any, alone: bool, coordinator: int = 0, lane: int = 1) -> None:
        # other operations of the group may be under way in its own thread
        self.group = None if alone else _world.side_of(_world.group_of(group), lane)
        self.coordinator = coordinator
        self.rank = 0 if self.group is None else self.group.rank()
        self.is_coordinator = self.group is None or self.rank == coordinator

    def _gather(self, result: Any) -> list[Any]:
        """The results of all processes, in the coordinator."""
        if self.group is None:
            return [result]
        found = self.group.gather_bytes(_packed(result), self.coordinator)
        return [pickle.loads(data) for data in found]

    @staticmethod
    def _run(step: Callable[..., Any], *args: Any) -> Any:
        try:
            return step(*args)
        except Exception as error:
            return _Failed(error)

    def _reduced(self, name: str, results: list[Any], reduce: Callable[[list[Any]], Any]) -> Any:
        failures = {n: r.failure for n, r in enumerate(results) if isinstance(r, _Failed)}
        if not failures:
            made = self._run(reduce, results)
            if not isinstance(made, _Failed):
                return made
            failures = {self.rank: made.failure}
        return CheckpointException(name, failures)

    def scatter_reduced(
        self, name: str, local: Callable[[], Any], reduce: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """``reduce`` of all processes' ``local()`` in the coordinator; each gets its part.

        Raises:
            CheckpointException: a process has failed, in all of them.
        """
        results = self._gather(self._run(local))
        parts = None
        if self.is_coordinator:
            made = self._reduced(name, results, reduce)
            count = 1 if self.group is None else self.group.size()
            parts = [made] * count if isinstance(made, CheckpointException) else made
        if self.group is None:
            assert parts is not None
            result = parts[0]
        else:
            packed = None if parts is None else [pickle.dumps(part) for part in parts]
            result = pickle.loads(self.group.scatter_bytes(packed, self.coordinator))
        if isinstance(result, CheckpointException):
            raise result
        return result

    def reduced(
        self, name: str, local: Callable[[], Any], reduce: Callable[[list[Any]], Any]
    ) -> Any:
        """``reduce`` of all processes' ``local()`` in the coordinator; all get what it gives.

        Raises:
            CheckpointException: a process has failed, in all of them.
        """
        results = self._gather(self._run(local))
        made = self._reduced(name, results, reduce) if self.is_coordinator else None
        if self.group is not None:
            packed = pickle.dumps(made) if self.is_coordinator else None
            made = pickle.loads(self.group.broadcast_bytes(packed, self.coordinator))
        if isinstance(made, CheckpointException):
            raise made
        return made

    def all(self, name: str, local: Callable[[], Any]) -> None:
        """``local()`` in all processes.

        Raises:
            CheckpointException: a process has failed, in all of them.
        """
        self.reduced(name, local, lambda results: None)

    def wait_for_all(self) -> None:
        """Return when all processes have come here."""
        self.all("barrier", lambda: None)
