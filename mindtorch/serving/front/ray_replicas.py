"""Replicas on a Ray cluster, through Ray Serve: each is a front with its workers, behind Ray's
HTTP proxies, which share requests out. Needs the extra `ray`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from fastapi import FastAPI
from ray import serve

from .metrics import Metrics, RequestLog
from .rest_app import make_app
from .servables import Servables
from .service import Service
from .version import Limits
from .worker import WorkerStartError

__all__ = ["APPLICATION", "Limits", "Replicas", "application", "deploy", "end"]

APPLICATION = "mindtorch"


@dataclass(frozen=True)
class Replicas:
    """What runs on a cluster.

    Attributes:
        directory: the folder that holds servables, on every machine under this path.
        count: how many replicas.
        workers: the processes of each version in each replica; as many cores are asked of Ray.
        all_versions: whether all versions run, or the newest of each servable.
        poll: seconds between looks at the folder; 0: it is looked at once.
        max_megabytes: how large the body of a request may be.
        limits: what is allowed in each replica.
    """

    directory: Path
    count: int = 1
    workers: int = 1
    all_versions: bool = False
    poll: float = 2.0
    max_megabytes: int = 100
    limits: Limits = field(default_factory=Limits)


def _app_of(replicas: Replicas) -> Callable[[], FastAPI]:
    """What makes the application within a replica, whose start and end are those of its workers."""

    def build() -> FastAPI:
        metrics = Metrics()
        servables = Servables(replicas.limits, metrics)
        given = replicas.directory, replicas.workers, replicas.all_versions

        @contextlib.asynccontextmanager
        async def running(app: FastAPI) -> AsyncIterator[None]:
            await servables.follow(*given)
            if not servables.running:
                told = "; ".join(text for _, text in servables.failed.values())
                raise WorkerStartError(f"nothing in {replicas.directory} can be served: {told}")
            again = asyncio.create_task(servables.watch(*given, replicas.poll))
            yield
            again.cancel()
            await servables.stop()

        service = Service(servables, metrics, RequestLog(None))
        return make_app(service, replicas.max_megabytes << 20, running)

    return build


def application(replicas: Replicas) -> Any:
    """The application, for `ray.serve.run` or beside others in a configuration of Ray Serve's.

    Args:
        replicas: what runs.
    """
    made = serve.deployment(
        serve.ingress(_app_of(replicas))(), name="servables", num_replicas=replicas.count,
        max_ongoing_requests=replicas.limits.max_enqueued_requests,
        graceful_shutdown_timeout_s=replicas.limits.grace_seconds + 5,
        ray_actor_options={"num_cpus": replicas.workers},
    )  # fmt: skip
    return made.bind()


def deploy(replicas: Replicas, host: str, port: int, address: str | None = None) -> None:
    """Run on a cluster; returns when all replicas are ready.

    Args:
        replicas: what runs.
        host: where Ray Serve's proxies listen.
        port: at which port.
        address: of the cluster; None: as `ray.init` finds or starts one.

    Raises:
        RuntimeError: a replica could not start.
    """
    ray.init(address=address, log_to_driver=False, ignore_reinit_error=True)
    serve.start(http_options={"host": host, "port": port})
    serve.run(application(replicas), name=APPLICATION, route_prefix="/")


def end() -> None:
    """End the replicas, and Ray where it was started for them."""
    serve.delete(APPLICATION)
    if not serve.status().applications:
        serve.shutdown()
    ray.shutdown()
