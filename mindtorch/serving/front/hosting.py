"""The front process' life: an event loop in a thread, the servers on it, and their end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc
import uvicorn
import uvloop

from mindtorch.serving.signals import Signals

from .grpc_services import Health, add_services
from .http_protocol import JoinedProtocol
from .metrics import Metrics, RequestLog
from .rest_app import DirectRoutes, make_app
from .servables import Servables
from .service import Service
from .version import Limits, VersionConfig

__all__ = ["TLS", "Host", "Limits"]

logger = logging.getLogger("mindtorch.serving")
T = TypeVar("T")

MEGABYTE = 1 << 20
HEARTBEAT = 0.5  # seconds between looks at health, and between writes of the log


@dataclass(frozen=True)
class TLS:
    """Files in PEM: the server's certificate and key, and the authority whose clients may come."""

    certificate: str
    key: str
    client_authority: str | None = None


class Host:
    """Runs servables and servers.

    Args:
        limits: what is allowed.
        request_log: where each request gets a line; None: nowhere.
        daemon: whether the process may end while it runs.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        request_log: Path | None = None,
        daemon: bool = True,
    ) -> None:
        self.metrics = Metrics()
        self.log = RequestLog(request_log)
        self.servables = Servables(limits or Limits(), self.metrics)
        self.service = Service(self.servables, self.metrics, self.log)
        self.accepting = True
        self._grpc: list[Any] = []
        self._health: list[Health] = []
        self._rest: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._calls: set[Future[Any]] = set()
        self._stopping = False
        self._signals: Signals | None = None
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="serving", daemon=daemon)
        _allow_many_connections()
        self._thread.start()
        self._call(self._begin())

    def _run(self) -> None:
        # threads started from here, gRPC's as well, do not take the signals of the main thread: one
        # that they take does not wake it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the loop, and wait.

        Raises:
            CancelledError: the end came first.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        if self._stopping:
            future.cancel()
        return future.result()

    def wake_main_thread(self, numbers: Iterable[int]) -> None:
        """Let signals reach the main thread until the end has begun.

        Args:
            numbers: the signals, whose handlers call :meth:`stop`.
        """
        self._signals = Signals(numbers, lambda: not self._stopping)

    async def _begin(self) -> None:
        self._tasks.append(asyncio.create_task(self._beat()))

    async def _beat(self) -> None:
        while True:
            for health in self._health:
                await health.update(self.accepting)
            self.log.flush()
            await asyncio.sleep(HEARTBEAT)

    # -- what is served

    def start(self, configs: Sequence[VersionConfig]) -> None:
        """Start versions; returns when they are ready.

        Args:
            configs: which.

        Raises:
            WorkerStartError: one cannot be loaded; then none is started.
        """
        self._call(self.servables.start(configs))

    def exchange(self, config: VersionConfig) -> None:
        """Start a version, and let it take the place of the others of its servable.

        Args:
            config: which.
        """
        self._call(self.servables.exchange(config))

    def remove(self, name: str, number: int) -> None:
        """End a version when it has answered what it has.

        Args:
            name: the servable.
            number: its version.
        """
        self._call(self.servables.remove(name, number))

    def follow(self, directory: Path, workers: int, all_versions: bool, seconds: float) -> None:
        """Serve what lies in a folder, and look again and again whether that has changed.

        Args:
            directory: the folder that holds servables.
            workers: the processes of each version.
            all_versions: whether all versions run, or the newest of each servable.
            seconds: between two looks; 0: look once.
        """
        self._call(self.servables.follow(directory, workers, all_versions))

        async def begin() -> None:
            watching = self.servables.watch(directory, workers, all_versions, seconds)
            self._tasks.append(asyncio.create_task(watching))

        self._call(begin())

    # -- servers

    def start_grpc(self, address: str, max_megabytes: int = 100, tls: TLS | None = None) -> int:
        """Start a gRPC server; gives back its port.

        Args:
            address: "HOST:PORT" or "unix:PATH"; port 0 is any that is free.
            max_megabytes: how large a message may be.
            tls: certificates; None: no encryption.

        Raises:
            RuntimeError: the address cannot be used.
        """
        return self._call(self._start_grpc(address, max_megabytes, tls))

    async def _start_grpc(self, address: str, max_megabytes: int, tls: TLS | None) -> int:
        server = grpc.aio.server(options=[
            ("grpc.max_receive_message_length", max_megabytes * MEGABYTE),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),  # a second server on one port is an error
        ])  # fmt: skip
        health = Health(self.service)
        add_services(server, self.service, health)
        try:
            if tls is None:
                port = server.add_insecure_port(address)
            else:
                port = server.add_secure_port(address, _credentials(tls))
        except OSError as error:
            raise RuntimeError(f"Serving gRPC server start failed: {error}") from None
        except RuntimeError:
            port = 0
        asked = "" if address.startswith("unix:") else address.rpartition(":")[2]
        if port == 0 or (asked.isdecimal() and int(asked) not in (0, port)):  # gRPC cuts it off
            await server.stop(None)
            raise RuntimeError(f"Serving gRPC server start failed: {address} cannot be used")
        await server.start()
        await health.update(self.accepting)
        self._grpc.append(server)
        self._health.append(health)
        return port

    def start_rest(self, address: str, max_megabytes: int = 100, tls: TLS | None = None) -> int:
        """Start a REST server; gives back its port.

        Args:
            address: "HOST:PORT"; port 0 is any that is free.
            max_megabytes: how large the body of a request may be.
            tls: certificates; None: no encryption.

        Raises:
            RuntimeError: the address cannot be used.
        """
        return self._call(self._start_rest(address, max_megabytes, tls))

    async def _start_rest(self, address: str, max_megabytes: int, tls: TLS | None) -> int:
        listening = _listen(address)
        secure: dict[str, Any] = {}
        if tls is not None:
            secure = {"ssl_certfile": tls.certificate, "ssl_keyfile": tls.key}
            if tls.client_authority is not None:
                secure |= {"ssl_ca_certs": tls.client_authority, "ssl_cert_reqs": ssl.CERT_REQUIRED}
        app = DirectRoutes(make_app(self.service, max_megabytes * MEGABYTE))
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, loop="none",
                                http=JoinedProtocol, backlog=2048, **secure)  # fmt: skip
        try:
            config.load()
        except (OSError, ssl.SSLError) as error:
            listening.close()
            raise RuntimeError(f"Serving RESTful server start failed: {error}") from None
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.005)
        self._rest.append((server, task))
        port: int = listening.getsockname()[1]
        return port

    # -- the end

    def stop(self) -> None:
        """Refuse new requests, answer those that wait, end the workers and the servers.

        What is being started is given up. Each step has its time; one that is late is left behind.
        """
        if not self._stopping:
            self._stopping = True
            for call in list(self._calls):
                call.cancel()
            asyncio.run_coroutine_threadsafe(self._stop(), self._loop)
        self._thread.join()
        self._loop.close()
        if self._signals is not None:
            self._signals.close()

    async def _stop(self) -> None:
        """The end, in the loop, which it stops whatever happens."""
        try:
            self.accepting = False
            await self._within("health", self._tell_watchers(), 1.0)
            for task in self._tasks:
                task.cancel()
            grace = self.servables.limits.grace_seconds
            await self._within("the workers", self.servables.stop(), grace + 10.0)
            for server, _ in self._rest:
                server.should_exit = True
            for grpc_server in self._grpc:
                await self._within("gRPC", grpc_server.stop(1.0), 5.0)
            for server, task in self._rest:
                await asyncio.wait([task], timeout=2.0)
                server.force_exit = True
                await asyncio.wait([task], timeout=2.0)
            self.log.close()
            rest = asyncio.all_tasks() - {asyncio.current_task()}
            for task in rest:
                task.cancel()
            await asyncio.wait(rest or [asyncio.create_task(asyncio.sleep(0))], timeout=5.0)
        except Exception:
            logger.exception("the end is not in order")
        finally:
            self._loop.stop()

    async def _tell_watchers(self) -> None:
        for health in self._health:
            await health.update(False)

    async def _within(self, what: str, step: Coroutine[Any, Any, Any], seconds: float) -> None:
        """A step of the end; it is left behind where it takes longer."""
        task = asyncio.create_task(step)
        _, late = await asyncio.wait([task], timeout=seconds)
        if late:
            logger.error("the end of %s takes more than %g seconds", what, seconds)
        elif not task.cancelled() and (error := task.exception()) is not None:
            logger.error("the end of %s is not in order", what, exc_info=error)


def _credentials(tls: TLS) -> Any:
    pair = (Path(tls.key).read_bytes(), Path(tls.certificate).read_bytes())
    authority = tls.client_authority and Path(tls.client_authority).read_bytes()
    return grpc.ssl_server_credentials([pair], authority, require_client_auth=bool(authority))


def _listen(address: str) -> socket.socket:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise RuntimeError(f"Serving RESTful server start failed: {address} is not HOST:PORT")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, int(port)), family=family, backlog=2048)
    except OSError as error:
        raise RuntimeError(f"Serving RESTful server start failed: {address}: {error}") from None
    # asyncio sets it for sockets that name their protocol, which these do not: head and body of an
    # answer would be 40 ms apart
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _allow_many_connections() -> None:
    """As many files as the system allows this process: each connection is one."""
    _, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))
