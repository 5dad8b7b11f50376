"""The process of a cache server: `python -m mindtorch.data.server SETTINGS`.

SETTINGS is JSON: host, port, workers, spill_folder, log_level, memory_share, and "ready", the
descriptor of a pipe that is told in one line of JSON whether the server runs.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import secrets
import signal
import sys
import threading
from typing import Any

import mindtorch

from ..places import server_file
from .connections import Connections
from .control import Control, Settings
from .lifetime import PortLock, clear_leftovers, write_private
from .store import Refused, Store

_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
_log = logging.getLogger("mindtorch.data.server")


def serve(settings: dict[str, Any], ended: threading.Event, ready: Any) -> None:
    """Serve until ``ended`` is set.

    Args:
        ready: is called when clients can come.

    Raises:
        BlockingIOError: the port has a server.
        OSError: the port is taken, the folder of sockets cannot be used.
        Refused: the folder for rows on disk cannot be used.
    """
    port = settings["port"]
    with contextlib.ExitStack() as held:
        for each in clear_leftovers():
            _log.info("removed what a server on port %d, which was killed, had left", each)
        lock = PortLock(port)
        held.callback(lock.release)
        store = Store(settings["memory_share"], settings["spill_folder"])
        held.callback(store.close)
        state = {
            "process": os.getpid(), "version": mindtorch.__version__,
            "spill_folder": store.spill_folder and os.fspath(store.spill_folder),
        }  # fmt: skip
        token = secrets.token_hex(32)
        for kind, text in (("state", json.dumps(state)), ("token", token)):
            path = server_file(port, kind)
            held.callback(path.unlink, missing_ok=True)
            write_private(path, text)
        connections = Connections(
            store, server_file(port, "socket"), secrets.token_hex(8), settings["workers"]
        )
        held.callback(connections.close)
        facts = Settings(settings["host"], port, settings["workers"], settings["log_level"])
        control = Control(facts, store, connections, token, os.getpid(), ended)
        held.callback(control.close)
        _log.info("serving on port %d, at most %d bytes of memory", port, store.budget.limit)
        ready()
        ended.wait()
        _log.info("ending")


def main() -> int:
    """The process: settings from the command line, until SIGTERM or a call of the service."""
    settings = json.loads(sys.argv[1])
    if os.fork():  # before any thread: what started us waits for us, not for the server
        os._exit(0)
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(message)s", level=_LEVELS[settings["log_level"]]
    )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pipe = os.fdopen(settings["ready"], "w")

    def tell(**answer: Any) -> None:
        with pipe, contextlib.suppress(BrokenPipeError):
            json.dump(answer, pipe)

    try:
        serve(settings, ended, lambda: tell(process=os.getpid()))
    except BlockingIOError:
        tell(error="Cache server is already up and running")
        return 1
    except (Refused, OSError) as error:
        _log.error("%s", error)
        tell(error=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
