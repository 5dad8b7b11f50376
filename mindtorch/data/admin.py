"""What the commands do: start a server, and ask one over gRPC."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from .control_messages import CALLS, MESSAGES, SERVICE, TOKEN_HEADER
from .places import server_file
from .server.lifetime import wait_until_gone

__all__ = ["CacheServerError", "Remote", "ServerOptions", "start"]

_START_SECONDS, _CALL_SECONDS, _STOP_SECONDS = 60.0, 10.0, 30.0


class CacheServerError(RuntimeError):
    """A server could not be started, reached, or did not do what was asked."""


@dataclass(frozen=True)
class ServerOptions:
    """What a server is started with.

    Args:
        workers: threads for control calls, and clients whose rows are stored at once.
        spill_folder: an absolute path; None for no rows on disk.
        log_level: 0 debug to 4 critical.
        memory_share: of the machine's memory that rows may take.
    """

    host: str
    port: int
    workers: int = 1
    spill_folder: str | None = None
    log_level: int = 1
    memory_share: float = 0.8


def start(options: ServerOptions) -> int:
    """Start a server as a process of its own; the number of the process.

    Raises:
        CacheServerError: it did not start.
    """
    read, write = os.pipe()
    log = server_file(options.port, "log")
    settings = json.dumps({**vars(options), "ready": write})
    with os.fdopen(read) as answers, log.open("ab") as output:
        log.chmod(0o600)
        process = subprocess.Popen(
            [sys.executable, "-m", "mindtorch.data.server", settings],
            pass_fds=[write], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, cwd="/",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(_search_path())},
        )  # fmt: skip
        os.close(write)
        process.wait()  # the server is its child, which nobody has to wait for
        came = select.select([answers], [], [], _START_SECONDS)[0]
        text = answers.read() if came else ""
    answer: dict[str, Any] = json.loads(text) if text else {}
    if "process" not in answer:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise CacheServerError(answer.get("error") or f"the server did not start: {' '.join(last)}")
    return int(answer["process"])


def _search_path() -> list[str]:
    """This process's, without relative paths."""
    return [os.path.abspath(path) for path in sys.path]


class Remote:
    """Calls of a server's control service.

    Args:
        token: unless given ``MINDTORCH_DATA_CACHE_TOKEN``, or that of this user's server.
    """

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self.port = port
        self._token = token or _token_of(server_file(port, "token"))
        self._channel = grpc.insecure_channel(
            f"{host}:{port}", options=[("grpc.enable_http_proxy", 0)]
        )

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def _call(self, name: str, **fields: Any) -> Any:
        request, answer = CALLS[name]
        call = self._channel.unary_unary(
            f"/{SERVICE}/{name}",
            request_serializer=MESSAGES[request].SerializeToString,
            response_deserializer=MESSAGES[answer].FromString,
        )
        try:
            return call(
                MESSAGES[request](**fields), timeout=_CALL_SECONDS,
                metadata=((TOKEN_HEADER, self._token),),
            )  # fmt: skip
        except grpc.RpcError as error:
            raise CacheServerError(self._text_of(error)) from None

    def _text_of(self, error: Any) -> str:
        if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            return (
                f"Network error. Cache server with port {self.port} is unreachable. Make sure the "
                "server is running or started under the same user as the client. GRPC Code "
                f"{error.code().value[0]}"
            )
        if error.code() == grpc.StatusCode.NOT_FOUND:
            return f"Unexpected error. {error.details()}"
        return f"{error.code().name}: {error.details()}"

    def generate_session(self) -> int:
        """A new session's number."""
        return int(self._call("GenerateSession").number)

    def destroy_session(self, number: int) -> None:
        """Let go of a session and its rows."""
        self._call("DestroySession", number=number)

    def caches(self) -> list[Any]:
        """A line for each cache, and for each session without one."""
        return list(self._call("ListSessions").caches)

    def info(self) -> Any:
        """What the server was started with, and what it holds."""
        return self._call("Info")

    def stop(self) -> None:
        """End the server, and wait until it has ended.

        Raises:
            CacheServerError: it cannot be reached, or did not end.
        """
        self._call("Stop")
        if not wait_until_gone(self.port, _STOP_SECONDS):
            raise CacheServerError(
                f"Cache server on port {self.port} has not ended after {_STOP_SECONDS:.0f} seconds"
            )


def _token_of(path: Path) -> str:
    given = os.environ.get("MINDTORCH_DATA_CACHE_TOKEN")
    if given:
        return given
    return path.read_text().strip() if path.exists() else ""
