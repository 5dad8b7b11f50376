"""torchrun as a call: a function, or a program, in several processes."""

from __future__ import annotations

import multiprocessing.spawn
import pickle
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from .. import run as torchrun
from .._launch import Failure
from ..elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

__all__ = ["LaunchConfig", "elastic_launch"]


@dataclass
class LaunchConfig:
    """How processes are started; each is the option of torchrun by that name.

    Args:
        min_nodes, max_nodes: how many machines.
        nproc_per_node: processes on this one.
        run_id, role, rdzv_endpoint, max_restarts, monitor_interval, local_addr: as there.
        rdzv_backend: "c10d" or "static"; of one machine any.
        rdzv_configs: what torchrun has as ``--rdzv-conf``.
        rdzv_timeout: seconds in which machines have to come; -1 for the default.
        start_method: "spawn": processes are new programs.
        logs_specs: None: output goes to the console.

    Raises:
        NotImplementedError: another ``start_method``, or ``logs_specs``.
    """

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "c10d"
    rdzv_configs: dict[str, Any] = field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    local_addr: str | None = None

    def __post_init__(self) -> None:
        if self.start_method != "spawn":
            raise NotImplementedError(
                f"LaunchConfig(start_method={self.start_method!r}): processes are new programs"
            )
        if self.logs_specs is not None:
            raise NotImplementedError("LaunchConfig(logs_specs=...) is not available")
        if self.rdzv_timeout != -1:
            self.rdzv_configs["timeout"] = self.rdzv_timeout

    def options(self) -> list[str]:
        """The same as torchrun's options."""
        settings = ",".join(f"{k}={v}" for k, v in self.rdzv_configs.items())
        given = {
            "nnodes": f"{self.min_nodes}:{self.max_nodes}", "nproc-per-node": self.nproc_per_node,
            "rdzv-id": self.run_id or "none", "role": self.role, "rdzv-conf": settings,
            "rdzv-endpoint": self.rdzv_endpoint, "max-restarts": self.max_restarts,
            "monitor-interval": self.monitor_interval,
        }  # fmt: skip
        if self.max_nodes > 1:
            given["rdzv-backend"] = self.rdzv_backend
        if self.local_addr is not None:
            given["local-addr"] = self.local_addr
        return [f"--{name}={value}" for name, value in given.items()]


class elastic_launch:  # noqa: N801
    """``elastic_launch(config, function)(*arguments)``: what it gives, by rank.

    Args:
        config: how processes are started.
        entrypoint: a function that can be pickled, as for ``multiprocessing``; or a program, which
            gets the arguments as words, and gives nothing.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str) -> None:
        self._config, self._entrypoint = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        """The results of this machine's processes, by rank.

        Raises:
            ChildFailedError: processes failed, as often as ``max_restarts`` allows.
            RuntimeError: the job ended for another reason, which was printed.
        """
        if isinstance(self._entrypoint, str):
            self._start([self._entrypoint, *map(str, args)])
            return {}
        with tempfile.TemporaryDirectory(prefix="torchrun_") as folder:
            name = getattr(self._entrypoint, "__qualname__", "function")
            about = multiprocessing.spawn.get_preparation_data(name)
            del about["authkey"]  # of queues, which there are none of
            call = ForkingPickler.dumps((self._entrypoint, args))
            Path(folder, "call").write_bytes(pickle.dumps((about, bytes(call))))
            module = f"{__package__}._entry"
            self._start([sys.executable, "-u", "-m", module, folder], name)
            found = {int(p.suffix[1:]): p.read_bytes() for p in Path(folder).glob("result.*")}
        return {rank: pickle.loads(found[rank]) for rank in sorted(found)}

    def _start(self, command: list[str], name: str = "") -> None:
        options = torchrun.parse_args([*self._config.options(), "--no-python", *command])
        if torchrun.run(options) == 0:
            return
        failures: list[Failure] = getattr(options, "failures", [])
        if not failures:
            raise RuntimeError("the job failed; see what was printed")
        raise ChildFailedError(name or command[0], {f.rank: _as_public(f) for f in failures})


def _as_public(failure: Failure) -> ProcessFailure:
    made = ProcessFailure(failure.local, failure.pid, failure.code, "")
    if failure.text:
        made.message, made.timestamp = failure.text, int(failure.time)
    return made
