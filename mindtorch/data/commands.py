"""What `mindtorch cache` does, and what it prints: MindSpore's words where it has them."""

from __future__ import annotations

import sys
from typing import Any

from .admin import CacheServerError, Remote, ServerOptions, start
from .places import address, private_folder

__all__ = ["run"]


def run(command: str, options: Any) -> int:
    """Do what a command says; the exit status.

    Args:
        command: "start", "stop", "generate_session", "destroy_session", "list_sessions" or
            "server_info".
        options: of the command line, see `mindtorch.tools.cache`.
    """
    try:
        host, port = address(options.hostname, options.port)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        _COMMANDS[command](options, host, port)
    except (CacheServerError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _start(options: Any, host: str, port: int) -> None:
    process = start(ServerOptions(
        host, port, options.workers, options.spilldir, options.loglevel, options.memory_cap_ratio
    ))  # fmt: skip
    print(
        "Cache server startup completed successfully!\n"
        f"The cache server daemon has been created as process id {process} and listening on port "
        f"{port}.\n\nRecommendation:\nSince the server is detached into its own daemon process, "
        f"monitor the server logs (under {private_folder()}) for any issues that may happen after "
        "startup"
    )


def _stop(options: Any, host: str, port: int) -> None:
    with Remote(host, port) as server:
        try:
            server.stop()
        except CacheServerError as error:
            if "unreachable" not in str(error):
                raise
            raise CacheServerError(
                f"Server on port {port} is not reachable or has been shutdown already."
            ) from None
    print(f"Cache server on port {port} has been stopped successfully.")


def _generate(options: Any, host: str, port: int) -> None:
    with Remote(host, port) as server:
        print(f"Session created for server on port {port}: {server.generate_session()}")


def _destroy(options: Any, host: str, port: int) -> None:
    with Remote(host, port) as server:
        server.destroy_session(options.session)
    print(f"Drop session {options.session} successfully for server on port {port}")


def _list(options: Any, host: str, port: int) -> None:
    print(f"Listing sessions for server on port {port}\n")
    with Remote(host, port) as server:
        lines = server.caches()
    if not lines:
        print("No active sessions.")
        return
    form = "{:>12}{:>12}{:>12}{:>12}{:>16}{:>10}"
    print(form.format("Session", "Cache Id", "Mem cached", "Disk cached", "Avg cache size",
                      "Numa hit"))  # fmt: skip
    for line in lines:
        rows = line.in_memory + line.on_disk
        counts = (line.in_memory, line.on_disk, line.bytes // max(rows, 1))
        cache = line.cache if line.has_cache else "n/a"
        print(form.format(line.session, cache, *(count or "n/a" for count in counts), "n/a"))
    for line in lines:
        if line.full:
            print(f"{line.session} {line.cache}: {line.full}")


def _info(options: Any, host: str, port: int) -> None:
    with Remote(host, port) as server:
        info = server.info()
    facts = {
        "hostname": info.hostname, "port": info.port, "number of workers": info.workers,
        "log level": info.log_level, "spill dir": info.spill_folder or "None",
        "process": info.process, "version": info.version,
        "memory limit": f"{info.memory_limit >> 20} MiB",
        "memory used": f"{-(-info.memory_used >> 20)} MiB", "clients": info.clients,
    }  # fmt: skip
    line = "-" * 70
    print(f"Cache Server Configuration: \n{line}\n{'config name':20}{'value':50}\n{line}")
    for name, value in facts.items():
        print(f"{name:20}{value!s:50}")
    print(f"{line}\nActive sessions: ")
    if info.sessions:
        print("".join(f"{number}  " for number in info.sessions))
        print("(Please use 'dataset-cache --list_sessions' to get detailed info of sessions.)")
    else:
        print("No active sessions.")


_COMMANDS = {
    "start": _start, "stop": _stop, "generate_session": _generate, "destroy_session": _destroy,
    "list_sessions": _list, "server_info": _info,
}  # fmt: skip
