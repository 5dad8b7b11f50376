"""`mindtorch serve DIR`: serve the models of a folder."""

from __future__ import annotations

import argparse
import atexit
import faulthandler
import gc
import importlib
import logging
import signal
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mindtorch._distribution import install_extra
from mindtorch.serving.signals import Signals

from .cli_types import count, count_or_none, size

__all__ = ["DESCRIPTION", "add_arguments", "main"]

_ENDING = (signal.SIGINT, signal.SIGTERM)
_LATE = 30.0  # seconds that an end may take beyond what waiting requests are given

DESCRIPTION = """In MindSpore Serving's protocols and KServe's. DIR/NAME/VERSION holds a model
file, DIR/NAME/servable_config.py its methods. New versions are taken up while the server runs. Exit
status 0: ended in order, by Ctrl+C or SIGTERM; 2: wrong arguments, or nothing to serve."""


GRPC = "127.0.0.1:5500"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add("directory", type=Path, metavar="DIR", help="the folder that holds servables")
    add("--grpc", metavar="ADDRESS", help=f"HOST:PORT or unix:PATH; none: no gRPC ({GRPC})")
    add("--rest", default="127.0.0.1:1500", metavar="ADDRESS",
        help="HOST:PORT, the page is there, too; none: no REST (%(default)s)")
    add("--workers", type=count, default=1, help="processes of each version (%(default)s)")
    add("--versions", choices=["newest", "all"], default="newest",
        help="which versions of each servable run (%(default)s)")
    add("--poll", type=float, default=2.0, metavar="SECONDS",
        help="how often the folder is looked at; 0: once (%(default)s)")
    add("--max-message-mb", type=count, default=100, help="size of a request (%(default)s)")
    add("--max-requests", type=count, default=10_000,
        help="requests of a version that may wait or run (%(default)s)")
    add("--timeout", type=size, default=60.0, metavar="SECONDS",
        help="how long a request may take (%(default)s)")
    add("--batch-timeout", type=size, default=60.0, metavar="SECONDS",
        help="how long a worker may run a batch, before it is killed (%(default)s)")
    add("--load-timeout", type=size, default=600.0, metavar="SECONDS",
        help="how long a version may load (%(default)s)")
    add("--max-wait-ms", type=count_or_none, default=0,
        help="how long a request may wait for a fuller batch (%(default)s)")
    add("--grace", type=size, default=10.0, metavar="SECONDS",
        help="how long what waits may still take at the end (%(default)s)")
    add("--request-log", type=Path, metavar="FILE", help="a line of JSON for each request")
    add("--certificate", type=Path, metavar="PEM", help="TLS: the server's certificate")
    add("--key", type=Path, metavar="PEM", help="TLS: its key")
    add("--client-authority", type=Path, metavar="PEM",
        help="TLS: only clients with a certificate of this authority")  # fmt: skip
    add("--ray", nargs="?", const="", metavar="CLUSTER",
        help="replicas on a Ray cluster, over REST: its address, or as RAY_ADDRESS says")
    add("--replicas", type=count, help="with --ray: how many (1)")


def main(options: argparse.Namespace) -> int:
    """Serve until a signal comes.

    Args:
        options: of the command line.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    if not options.directory.is_dir():
        print(f"mindtorch serve: there is no folder {options.directory}", file=sys.stderr)
        return 2
    wrong = _wrong(options)
    if wrong:
        print(f"mindtorch serve: {wrong}", file=sys.stderr)
        return 2
    if options.ray is not None:
        return _on_ray(options)
    if options.replicas is not None:
        print("mindtorch serve: --replicas goes with --ray", file=sys.stderr)
        return 2
    waiting = _Waiting()  # from now on signals end it in order; the next line takes a second
    hosting = _module("hosting", "serving")
    if hosting is None:
        return 2
    host = hosting.Host(_limits(options, hosting.Limits), options.request_log)
    try:
        status = _until_a_signal(host, options, hosting, waiting)
        # an end that is stuck says where, and ends; the interpreter's own end as well
        faulthandler.dump_traceback_later(options.grace + _LATE, exit=True, file=2)
        atexit.register(faulthandler.dump_traceback_later, _LATE, exit=True, file=2)
        if status == 0:
            print("mindtorch serve: ending", flush=True)
    finally:
        host.stop()
        faulthandler.cancel_dump_traceback_later()
    return status


def _wrong(options: argparse.Namespace) -> str:
    """What does not go together, is no address or no file; "" where all is well."""
    if (options.certificate is None) != (options.key is None):
        return "--certificate and --key go together"
    for file in (options.certificate, options.key, options.client_authority):
        if file is not None and not file.is_file():
            return f"there is no file {file}"
    if options.grpc == options.rest == "none":
        return "neither --grpc nor --rest is to be served"
    for name, given in (("--grpc", options.grpc or GRPC), ("--rest", options.rest)):
        port = given.rpartition(":")[2]
        is_socket = name == "--grpc" and given.startswith("unix:")
        if given != "none" and not is_socket and not (
            ":" in given and port.isdecimal() and int(port) < 1 << 16
        ):
            return f"{name} {given} is not HOST:PORT"
    return ""


def _until_a_signal(host: Any, options: argparse.Namespace, hosting: Any, waiting: _Waiting) -> int:
    """Serve; a signal ends that also while servables are loaded, which a thread does."""
    started: Future[int] = Future()

    def start() -> None:
        try:
            started.set_result(_start(host, options, hosting))
        except BaseException as error:
            started.set_exception(error)
        waiting.started()

    threading.Thread(target=start, name="starting", daemon=True).start()
    if not waiting.wait():
        status = started.result()
        if status:
            return status
        gc.collect()
        gc.freeze()  # what is loaded stays
        waiting.wait()
    return 0


def _module(name: str, extra: str) -> Any:
    """A module of the front's; None, and a message, where an extra is not installed."""
    try:
        return importlib.import_module(f"mindtorch.serving.front.{name}")
    except ImportError as error:
        print(f"mindtorch serve: {error.name} is missing: {install_extra(extra)}", file=sys.stderr)
    return None


class _Waiting:
    """What the main thread waits for: a signal, or that all is started."""

    def __init__(self) -> None:
        self._come: SimpleQueue[int] = SimpleQueue()  # which a handler may interrupt
        self._due = True
        for number in _ENDING:
            signal.signal(number, self._take)
        self._signals = Signals(_ENDING, lambda: self._due)

    def _take(self, number: int, frame: object) -> None:
        self._due = False
        self._come.put(number)

    def started(self) -> None:
        """Wake the main thread without a signal."""
        self._come.put(0)

    def wait(self) -> bool:
        """Wait; gives back whether a signal has come."""
        return self._come.get() != 0


def _limits(options: argparse.Namespace, kind: Any) -> Any:
    return kind(options.max_requests, options.timeout, options.batch_timeout,
                options.max_wait_ms, options.grace, options.load_timeout)  # fmt: skip


def _on_ray(options: argparse.Namespace) -> int:
    """Serve by replicas on a Ray cluster until a signal comes."""
    refused = {
        "--grpc": options.grpc not in (None, "none"), "--rest none": options.rest == "none",
        "--certificate": options.certificate, "--client-authority": options.client_authority,
        "--request-log": options.request_log,
    }  # fmt: skip
    for name, given in refused.items():
        if given:
            print(f"mindtorch serve: {name} does not go with --ray (docs/serving.md)",
                  file=sys.stderr)  # fmt: skip
            return 2
    replicas = _module("ray_replicas", "serving,ray")
    if replicas is None:
        return 2
    host, _, port = options.rest.rpartition(":")
    wanted = replicas.Replicas(
        options.directory.resolve(), options.replicas or 1, options.workers,
        options.versions == "all", options.poll, options.max_message_mb,
        _limits(options, replicas.Limits),
    )  # fmt: skip
    try:
        replicas.deploy(wanted, host, int(port), options.ray or None)
        waiting = _Waiting()  # Ray has handlers of its own
        print(f"{wanted.count} replicas on Ray, REST and the page at http://{options.rest}/",
              flush=True)  # fmt: skip
        waiting.wait()
        print("mindtorch serve: ending", flush=True)
    except (RuntimeError, ConnectionError, ValueError) as error:
        print(f"mindtorch serve: {error}", file=sys.stderr)
        return 2
    finally:
        replicas.end()
    return 0


def _start(host: Any, options: argparse.Namespace, hosting: Any) -> int:
    tls = None
    if options.certificate is not None:
        authority = options.client_authority
        tls = hosting.TLS(str(options.certificate), str(options.key),
                          None if authority is None else str(authority))  # fmt: skip
    directory = options.directory.resolve()
    host.follow(directory, options.workers, options.versions == "all", options.poll)
    for (name, number), (_, text) in host.servables.failed.items():
        print(f"mindtorch serve: {name} version {number}: {text}", file=sys.stderr)
    if not host.servables.running and not options.poll:
        print(f"mindtorch serve: nothing in {directory} can be served", file=sys.stderr)
        return 2
    if not host.servables.running and not host.servables.failed:
        print(f"mindtorch serve: there is no servable in {directory} yet: DIR/NAME/1/model.mindir",
              file=sys.stderr)  # fmt: skip
    try:
        grpc = options.grpc or GRPC
        if grpc != "none":
            port = host.start_grpc(grpc, options.max_message_mb, tls)
            is_socket = grpc.startswith("unix:")
            print(f"gRPC at {grpc}" if is_socket else f"gRPC at {grpc.rpartition(':')[0]}:{port}")
        if options.rest != "none":
            port = host.start_rest(options.rest, options.max_message_mb, tls)
            scheme = "http" if tls is None else "https"
            place = f"{options.rest.rpartition(':')[0]}:{port}"
            print(f"REST and the page at {scheme}://{place}/")
    except RuntimeError as error:
        print(f"mindtorch serve: {error}", file=sys.stderr)
        return 2
    for version in host.servables.all():
        methods = ", ".join(version.methods)
        print(f"{version.config.name} version {version.config.number}: {methods}")
    sys.stdout.flush()
    return 0
