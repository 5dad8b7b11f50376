"""What is counted, for Prometheus and for the page; and the log of requests."""

from __future__ import annotations

import logging
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import orjson
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from .requests import Answer, Request

__all__ = ["Metrics", "RequestLog", "VersionMetrics"]

logger = logging.getLogger("mindtorch.serving")

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SPAN = 60.0  # seconds that the page looks back


class Metrics:
    """The counters of a server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("servable", "version")
        prefix = "mindtorch_serving"
        self._answered: dict[tuple[Any, ...], Any] = {}
        self.requests = Counter(
            f"{prefix}_requests", "Requests by how they ended.",
            ("servable", "version", "method", "protocol", "status"), registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            f"{prefix}_request_seconds", "From arrival to answer.", labels, buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self.queued = Histogram(
            f"{prefix}_queue_seconds", "From arrival until a worker had it.", labels,
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.rows = Histogram(
            f"{prefix}_batch_rows", "Instances of a batch.", labels, buckets=ROWS,
            registry=self.registry,
        )  # fmt: skip
        self.batches = Histogram(
            f"{prefix}_batch_seconds", "How long a worker took for a batch.", labels,
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.restarts = Counter(
            f"{prefix}_worker_restarts", "Workers that were started again.", labels,
            registry=self.registry,
        )  # fmt: skip
        self.pending = Gauge(
            f"{prefix}_pending_requests", "Requests that wait or run.", labels,
            registry=self.registry,
        )  # fmt: skip
        self.workers = Gauge(
            f"{prefix}_workers", "Workers that are ready.", labels, registry=self.registry
        )

    def answered(self, *ended: Any) -> None:
        """Count a request of a version that is there.

        Args:
            *ended: its servable, version, method and protocol, and how it ended.
        """
        counter = self._answered.get(ended)
        if counter is None:
            counter = self._answered[ended] = self.requests.labels(*map(str, ended))
        counter.inc()

    def of_version(self, name: str, number: int) -> VersionMetrics:
        """Those of one version.

        Args:
            name: the servable.
            number: its version.
        """
        return VersionMetrics(self, name, str(number))

    def text(self) -> bytes:
        """All of them, in Prometheus' format."""
        return generate_latest(self.registry)


class VersionMetrics:
    """The counters of one version."""

    def __init__(self, metrics: Metrics, name: str, number: str) -> None:
        self._seconds = metrics.seconds.labels(name, number)
        self._queued = metrics.queued.labels(name, number)
        self._rows = metrics.rows.labels(name, number)
        self._batches = metrics.batches.labels(name, number)
        self.restarts = metrics.restarts.labels(name, number)
        self.pending = metrics.pending.labels(name, number)
        self.workers = metrics.workers.labels(name, number)
        self._recent: deque[tuple[float, float, int]] = deque(maxlen=4096)

    def answered(self, request: Request, answer: Answer) -> None:
        """Count a request that has its answer."""
        now = time.perf_counter()
        seconds = now - request.arrived
        self._seconds.observe(seconds)
        self._queued.observe(request.seconds_queued)
        self._recent.append((now, seconds, answer.rows))
        answer.queued, answer.batch = request.seconds_queued, request.largest_batch

    def batch(self, rows: int, seconds: float) -> None:
        """Count a batch."""
        self._rows.observe(rows)
        self._batches.observe(seconds)

    def summary(self) -> dict[str, float]:
        """Load and latency of the last minute."""
        now = time.perf_counter()
        recent = [each for each in self._recent if now - each[0] < SPAN]
        if not recent:
            return {"requests_per_second": 0.0, "instances_per_second": 0.0,
                    "median_ms": 0.0, "p99_ms": 0.0}  # fmt: skip
        span = max(now - recent[0][0], 1.0)
        ordered = sorted(seconds for _, seconds, _ in recent)
        return {
            "requests_per_second": len(recent) / span,
            "instances_per_second": sum(rows for _, _, rows in recent) / span,
            "median_ms": 1000 * ordered[len(ordered) // 2],
            "p99_ms": 1000 * ordered[int(len(ordered) * 0.99)],
        }


class RequestLog:
    """One line of JSON for each request. Where it cannot be written any more, that is said once,
    and requests go on without it.

    Args:
        file: where; None: nowhere.
    """

    def __init__(self, file: Path | None) -> None:
        self._path = file
        self._file: IO[bytes] | None = None if file is None else file.open("ab", buffering=1 << 16)

    def write(self, **entry: Any) -> None:
        """Add a request.

        Args:
            **entry: what is to be said of it.
        """
        if self._file is not None:
            entry["time"] = datetime.now(UTC).isoformat(timespec="milliseconds")
            line = orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE)
            try:
                self._file.write(line)
            except OSError as error:
                self._give_up(error)

    def flush(self) -> None:
        """Bring what was written to the file."""
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        logger.error("the log of requests %s cannot be written: %s", self._path, error)
        self._file = None

    @property
    def is_on(self) -> bool:
        """Whether anything is written."""
        return self._file is not None

    def close(self) -> None:
        """Close the file."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None
