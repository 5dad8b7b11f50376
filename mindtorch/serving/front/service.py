"""What all protocols call: a request for a method of a servable, its count, its line in the log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from mindtorch.serving.columns import Column
from mindtorch.serving.errors import ServingError

from .metrics import Metrics, RequestLog
from .requests import Answer
from .servables import Servables
from .version import MethodInfo, Version

__all__ = ["Call", "Service"]


@dataclass(frozen=True)
class Call:
    """Who calls what.

    Attributes:
        protocol: "mindspore-grpc", "mindspore-rest", "kserve-grpc" or "kserve-rest".
        peer: the client's address.
        servable: the servable's name.
        version: its version; 0: the newest.
        method: the method; empty: the first.
        seconds: how long the client waits; None: it does not say.
    """

    protocol: str
    peer: str
    servable: str
    version: int = 0
    method: str = ""
    seconds: float | None = None


class Service:
    """Answers requests of all protocols.

    Args:
        servables: what runs.
        metrics: where is counted.
        log: where requests are written.
    """

    def __init__(self, servables: Servables, metrics: Metrics, log: RequestLog) -> None:
        self.servables = servables
        self.metrics = metrics
        self.log = log

    def find(self, call: Call) -> tuple[Version, MethodInfo]:
        """The version and method that a call is for.

        Args:
            call: the call.

        Raises:
            ServingError: there are none.
        """
        version = self.servables.resolve(call.servable, call.version)
        return version, version.method(call.method)

    async def infer(self, call: Call, columns: Mapping[str, Column], rows: int) -> Answer:
        """The answer to a call.

        Args:
            call: who calls what.
            columns: the inputs, by name.
            rows: how many instances there are.

        Raises:
            ServingError: it cannot be answered.
        """
        began = time.perf_counter()
        version, method = self.find(call)
        answer = await version.run(method, columns, rows, call.seconds)
        failed = next(iter(answer.errors.values())).kind.name if answer.errors else "ok"
        self.metrics.answered(
            call.servable, version.config.number, method.name, call.protocol, failed
        )
        if self.log.is_on:
            self.log.write(
                protocol=call.protocol, peer=call.peer, servable=call.servable,
                version=version.config.number, method=method.name, instances=rows, status=failed,
                failed=len(answer.errors), batch=answer.batch,
                ms=round(1000 * (time.perf_counter() - began), 3),
                queue_ms=round(1000 * answer.queued, 3),
            )  # fmt: skip
        return answer

    def refused(self, call: Call, error: ServingError) -> None:
        """Count and log a call that has no answer.

        Args:
            call: the call.
            error: why.
        """
        known = call.servable in self.servables.running  # else anybody could make labels
        name = call.servable if known else "unknown"
        self.metrics.requests.labels(name, "", "", call.protocol, error.kind.name).inc()
        if self.log.is_on:
            self.log.write(
                protocol=call.protocol, peer=call.peer, servable=call.servable[:100],
                version=call.version, method=call.method[:100], status=error.kind.name,
                error=str(error)[:500],
            )  # fmt: skip
