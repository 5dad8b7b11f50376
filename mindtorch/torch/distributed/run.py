"""torchrun: ``python -m mindtorch.torch.distributed.run [options] script.py [arguments]``.

Starts the processes of a job, gives them rank, size and meeting place by environment variables,
and ends all of them when one fails, saying which and with what traceback. Several machines whose
launchers meet at one endpoint start again with those that are there. Scripts find mindtorch where
they import torch.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from . import _launch
from ._elastic import Closed, Meeting, Timing
from ._errors import DistNetworkError, DistStoreError
from ._store import PrefixStore, TCPStore

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of torchrun's options; a default may stand in the environment as PET_<NAME>."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Start a job's processes.")

    def option(*names: str, default: Any = None, **kwargs: Any) -> None:
        variable = "PET_" + names[-1].lstrip("-").replace("-", "_").upper()
        parser.add_argument(*names, default=os.environ.get(variable, default), **kwargs)

    option("--nnodes", default="1", help="number of machines; <smallest>:<largest> with c10d")
    option("--nproc-per-node", default="1", help="processes on this machine; cpu, gpu or auto")
    option("--rdzv-backend", default="static", choices=["static", "c10d"],
           help="static: --node-rank and --master-addr; c10d: machines meet at --rdzv-endpoint")
    option("--rdzv-endpoint", default="", help="host:port of the meeting place")
    option("--rdzv-id", default="none", help="name of the job")
    option("--rdzv-conf", default="", help="join_timeout=<seconds>,last_call_timeout=<seconds>,"
           "keep_alive_interval=<seconds>,keep_alive_max_attempt=<number>,is_host=<0 or 1>")
    parser.add_argument("--standalone", action="store_true", help="one machine, a free port")
    option("--max-restarts", type=int, default=0, help="how often to start all processes again")
    option("--monitor-interval", type=float, default=0.1, help="seconds between two looks")
    option("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"],
           help="accepted: processes are started as new programs")
    option("--role", default="default", help="told to the processes as ROLE_NAME")
    parser.add_argument("-m", "--module", action="store_true", help="the script is a module")
    parser.add_argument("--no-python", action="store_true", help="the script is a program")
    parser.add_argument("--run-path", action="store_true", help="as without it")
    option("--log-dir", help="folder of the files for --redirects and --tee")
    option("-r", "--redirects", default="0", help="1 stdout, 2 stderr, 3 both; or <rank>:<kind>,..")
    option("-t", "--tee", default="0", help="as --redirects, and also to the console")
    option("--local-ranks-filter", default="", help="ranks of this machine that use the console")
    option("--node-rank", type=int, default=0, help="number of this machine")
    option("--master-addr", default="127.0.0.1", help="address of machine 0")
    option("--master-port", type=int, default=0, help="a port there; on one machine a free one")
    option("--local-addr", help="address of this machine")
    parser.add_argument("training_script", help="what every process runs")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser  # fmt: skip


def parse_args(
    args: list[str] | None, parser: argparse.ArgumentParser | None = None
) -> argparse.Namespace:
    """Parse options; ``--nproc_per_node`` and ``--nproc-per-node`` are the same.

    Args:
        args: the command line's, without the program; None for this process's.
        parser: one with more options.
    """
    parser = parser or get_args_parser()
    given = list(sys.argv[1:] if args is None else args)
    known = set(parser._option_string_actions)
    for i, text in enumerate(given):
        name, sign, value = text.partition("=")
        if name.startswith("--") and name.replace("_", "-") in known:
            given[i] = name.replace("_", "-") + sign + value
        elif not name.startswith("-") and (i == 0 or not _takes_value(parser, given[i - 1])):
            break
    return parser.parse_args(given)


def _takes_value(parser: argparse.ArgumentParser, text: str) -> bool:
    action = parser._option_string_actions.get(text)
    return action is not None and action.nargs is None


def _number_of_processes(text: str) -> int:
    if text in ("cpu", "auto"):
        return os.cpu_count() or 1
    if text == "gpu":
        raise ValueError("Cuda is not available.")
    try:
        count = int(text)
    except ValueError:
        raise ValueError(f"Unsupported nproc_per_node value: {text}") from None
    if count < 1:
        raise ValueError(f"nproc_per_node must be positive, not {count}")
    return count


def _number_of_nodes(text: str) -> tuple[int, int]:
    """The smallest and the largest number of machines."""
    smallest, _, largest = str(text).partition(":")
    try:
        found = int(smallest), int(largest or smallest)
    except ValueError:
        raise ValueError(f"--nnodes={text} is not a number, nor <smallest>:<largest>") from None
    if not 1 <= found[0] <= found[1]:
        raise ValueError(f"--nnodes={text}: 1 <= smallest <= largest")
    return found


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])


def _meet(options: argparse.Namespace, nodes: int, count: int) -> _launch.Place:
    """This machine's place in a job of a fixed size, from the options."""
    if nodes == 1:
        address = "127.0.0.1" if options.standalone else options.master_addr
        return _launch.Place(0, [count], address, options.master_port)
    if not 0 <= options.node_rank < nodes:
        raise ValueError(f"--node-rank={options.node_rank} is not in [0, {nodes})")
    address, _, port = options.rdzv_endpoint.partition(":")
    return _launch.Place(
        options.node_rank, [count] * nodes, address or options.master_addr,
        options.master_port or int(port or 29500),
    )  # fmt: skip


def _command(options: argparse.Namespace) -> list[str]:
    if options.no_python:
        return [options.training_script, *options.training_script_args]
    kind = ["--module"] if options.module else []
    debugged = os.environ.get("ENABLE_MS_DEBUGGER", "").lower() in ("1", "true", "on")
    worker = "debugged_worker" if debugged else "distributed_worker"
    start = [sys.executable, "-u", "-m", f"mindtorch.tools.{worker}", *kind]
    rank = [] if getattr(options, "use_env", True) else [_launch.LOCAL_RANK]  # as launch.py does
    return [*start, options.training_script, *rank, *options.training_script_args]


def _job(options: argparse.Namespace, place: _launch.Place, name: str) -> _launch.Job:
    count = place.counts[place.node]
    output = _launch.Output.parse(
        options.redirects, options.tee, options.log_dir, options.local_ranks_filter, count
    )
    return _launch.Job(
        command=_command(options), place=place, role=options.role, pause=options.monitor_interval,
        name=name, restarts=options.max_restarts, output=output,
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Start the job and wait for it; 0, or 1 when a process has failed in the last attempt."""
    smallest, largest = _number_of_nodes(options.nnodes)
    count = _number_of_processes(str(options.nproc_per_node))
    if largest > 1 and not options.standalone and options.rdzv_backend == "c10d":
        return _in_rounds(options, smallest, largest, count)
    if options.standalone:
        smallest = largest = 1
    if smallest < largest:
        raise ValueError(f"--nnodes={options.nnodes} needs --rdzv-backend=c10d")
    if options.max_restarts and largest > 1:
        raise ValueError("--max-restarts of several machines needs --rdzv-backend=c10d")
    place = _meet(options, largest, count)
    name = options.rdzv_id if options.rdzv_id != "none" else uuid.uuid4().hex[:8]
    job = _job(options, place, name)
    for attempt in range(options.max_restarts + 1):
        port = place.port or _free_port()
        failures = job.attempt(attempt, port)
        if not failures:
            return 0
        again = attempt < options.max_restarts
        sys.stderr.write(_launch.report(failures, options.training_script, again))
    _give_up(options, failures)
    return 1


def _give_up(options: argparse.Namespace, failures: list[_launch.Failure]) -> None:
    """Leave the failures of the last attempt to whoever started this launcher."""
    options.failures = failures
    _launch.leave_report(failures)


def _in_rounds(options: argparse.Namespace, smallest: int, largest: int, count: int) -> int:
    """A job whose machines meet at the endpoint, again and again while they come and go."""
    timing = Timing.parse(options.rdzv_conf)
    host, _, port = options.rdzv_endpoint.partition(":")
    if not host:
        raise ValueError("--rdzv-backend=c10d needs --rdzv-endpoint=<host>:<port>")
    limit = timedelta(seconds=timing.join)
    store = _store_at(host, int(port or 29400), limit, timing.host)
    jobs = PrefixStore(f"torchrun/{options.rdzv_id}", store)
    jobs.set_timeout(timedelta(seconds=timing.patience))
    meeting = Meeting(jobs, smallest, largest, count, timing, options.max_restarts)
    try:
        while True:
            _round(options, meeting, options.local_addr or store.own_address)
    except Closed as end:
        if not end.succeeded:
            sys.stderr.write(f"torchrun: {end}\n")
        return 0 if end.succeeded else 1
    except DistNetworkError as error:
        sys.stderr.write(f"torchrun: {error}\n")
        return 1
    finally:
        meeting.leave(store.is_master)
        store.close()


def _store_at(host: str, port: int, limit: timedelta, keeps: bool | None) -> TCPStore:
    """The store at the endpoint, which this launcher keeps if it is to, or if it can."""
    if keeps is not False:
        try:
            return TCPStore(host, port, None, is_master=True, timeout=limit)
        except OSError:
            if keeps:
                raise
    return TCPStore(host, port, None, is_master=False, timeout=limit)


def _round(options: argparse.Namespace, meeting: Meeting, address: str) -> None:
    """Start this machine's processes once more, and watch them and the other machines."""
    found = meeting.join()
    try:
        place = meeting.place(address, options.master_port or _free_port())
        job = _job(options, place, options.rdzv_id)
        failures = job.attempt(
            found.restarts, place.port, meeting.changed, f"round_{found.number}"
        )  # fmt: skip
    except (_launch.Interrupted, DistStoreError) as reason:
        sys.stderr.write(f"torchrun: {reason}; all processes are started again\n")
        meeting.open_next(failed=isinstance(reason, DistStoreError))
        return
    if not failures:
        meeting.finish()
        return
    again = found.restarts < options.max_restarts
    sys.stderr.write(_launch.report(failures, options.training_script, again))
    if not again:
        _give_up(options, failures)
    meeting.open_next(failed=True)


def exit_status(program: str, start: Callable[[], int]) -> int:
    """What ``start`` gives; 2, and the reason on the terminal, for options that are wrong."""
    try:
        return start()
    except ValueError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2


def main(args: list[str] | None = None) -> int:
    """The exit status: 0, 1 when a process failed, 2 for options that are not understood."""
    return exit_status("torchrun", lambda: run(parse_args(args)))


if __name__ == "__main__":
    sys.exit(main())
