"""`mindtorch serve DIR`: serve the models of a folder."""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from mindtorch._distribution import install_extra

from .cli_types import count, count_or_none, size

__all__ = ["DESCRIPTION", "add_arguments", "main"]

DESCRIPTION = """In MindSpore Serving's protocols and KServe's. DIR/NAME/VERSION holds a model
file, DIR/NAME/servable_config.py its methods. New versions are taken up while the server runs. Exit
status 0: ended in order, by Ctrl+C or SIGTERM; 2: wrong arguments, or nothing to serve."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command.

    Args:
        parser: gets them.
    """
    add = parser.add_argument
    add("directory", type=Path, metavar="DIR", help="the folder that holds servables")
    add("--grpc", default="127.0.0.1:5500", metavar="ADDRESS",
        help="HOST:PORT or unix:PATH; none: no gRPC (%(default)s)")
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
    add("--max-wait-ms", type=count_or_none, default=0,
        help="how long a request may wait for a fuller batch (%(default)s)")
    add("--grace", type=size, default=10.0, metavar="SECONDS",
        help="how long what waits may still take at the end (%(default)s)")
    add("--request-log", type=Path, metavar="FILE", help="a line of JSON for each request")
    add("--certificate", type=Path, metavar="PEM", help="TLS: the server's certificate")
    add("--key", type=Path, metavar="PEM", help="TLS: its key")
    add("--client-authority", type=Path, metavar="PEM",
        help="TLS: only clients with a certificate of this authority")  # fmt: skip


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
    if (options.certificate is None) != (options.key is None):
        print("mindtorch serve: --certificate and --key go together", file=sys.stderr)
        return 2
    try:
        from mindtorch.serving.front import hosting
    except ImportError as error:
        print(f"mindtorch serve: {error.name} is missing: {install_extra('serving')}",
              file=sys.stderr)  # fmt: skip
        return 2
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    host = hosting.Host(
        hosting.Limits(options.max_requests, options.timeout, options.batch_timeout,
                       options.max_wait_ms, options.grace),
        options.request_log,
    )  # fmt: skip
    try:
        status = _start(host, options, hosting)
        if status == 0:
            gc.collect()
            gc.freeze()  # what is loaded stays
            ended.wait()
            print("mindtorch serve: ending", flush=True)
    finally:
        host.stop()
    return status


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
    try:
        if options.grpc != "none":
            host.start_grpc(options.grpc, options.max_message_mb, tls)
            print(f"gRPC at {options.grpc}")
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
