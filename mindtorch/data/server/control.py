"""The control service over gRPC: on the loopback interface, for who knows the server's token."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc

import mindtorch

from ..control_messages import CALLS, MESSAGES, SERVICE, TOKEN_HEADER
from ..layout import PROTOCOL
from .connections import Connections
from .store import Refused, Store

__all__ = ["Control", "Settings"]


@dataclass(frozen=True)
class Settings:
    """What a server was started with."""

    host: str
    port: int
    workers: int
    log_level: int


class Control:
    """Answers the calls of :data:`CALLS`.

    Args:
        ended: is set when somebody asks the server to end.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self, settings: Settings, store: Store, connections: Connections, token: str,
        process: int, ended: threading.Event,
    ) -> None:  # fmt: skip
        self.settings, self.store, self.connections = settings, store, connections
        self.process, self._token, self._ended = process, token, ended
        self._started = time.time()
        self._server = grpc.server(
            ThreadPoolExecutor(settings.workers, "control"), options=[("grpc.so_reuseport", 0)]
        )
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(
                self._checked(getattr(self, f"_{_snake(name)}")),
                request_deserializer=MESSAGES[request].FromString,
                response_serializer=MESSAGES[answer].SerializeToString,
            )
            for name, (request, answer) in CALLS.items()
        }
        self._server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler(SERVICE, handlers)]
        )
        address = f"{settings.host}:{settings.port}"
        try:
            bound = self._server.add_insecure_port(address)
        except RuntimeError:
            bound = 0
        if not bound:
            raise OSError(f"{address} is taken by another program")
        self._server.start()

    def close(self) -> None:
        """End the service after the calls that run."""
        self._server.stop(grace=1.0).wait()

    def _checked(self, answer: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def call(request: Any, context: Any) -> Any:
            given = dict(context.invocation_metadata()).get(TOKEN_HEADER, "")
            if not hmac.compare_digest(str(given).encode(), self._token.encode()):
                context.abort(
                    grpc.StatusCode.UNAUTHENTICATED,
                    "the cache server belongs to another user, or the token is wrong",
                )
            try:
                return answer(request)
            except Refused as error:
                context.abort(grpc.StatusCode.NOT_FOUND, error.text)

        return call

    def _generate_session(self, request: Any) -> Any:
        return MESSAGES["Session"](number=self.store.new_session())

    def _destroy_session(self, request: Any) -> Any:
        try:
            self.store.destroy_session(request.number)
        except Refused as error:
            raise Refused(error.kind, f"Session id {request.number} not found in server on port "
                          f"{self.settings.port}.") from None  # fmt: skip
        return MESSAGES["Empty"]()

    def _list_sessions(self, request: Any) -> Any:
        answer = MESSAGES["CacheList"]()
        for session, cache in self.store.caches():
            if cache is None:
                answer.caches.add(session=session)
                continue
            counts = cache.counts
            answer.caches.add(
                session=session, has_cache=True, cache=cache.number, in_memory=counts.in_memory,
                on_disk=counts.on_disk, bytes=counts.bytes, full=cache.full,
            )  # fmt: skip
        return answer

    def _info(self, request: Any) -> Any:
        settings, store = self.settings, self.store
        return MESSAGES["ServerInfo"](
            hostname=settings.host, port=settings.port, workers=settings.workers,
            log_level=settings.log_level, spill_folder=store.spill_root or "",
            sessions=list(store.sessions), version=mindtorch.__version__, process=self.process,
            memory_limit=store.budget.limit, memory_used=store.budget.used,
            clients=self.connections.count(), started=self._started, protocol=PROTOCOL,
        )  # fmt: skip

    def _stop(self, request: Any) -> Any:
        self._ended.set()
        return MESSAGES["Empty"]()


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
