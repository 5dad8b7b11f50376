"""MPI's process manager, played by the store: MPI starts in processes that mpiexec did not start.

MPICH asks its process manager over a descriptor, in the text protocol PMI-1: who am I, who else is
there, keep this for the others. A thread of the process itself answers from the job's store, so
that any processes that can find each other can also use MPI, with nothing listening anywhere.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

from ._store import PrefixStore, Store

_CONSTANT = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0",
    "get_appnum": "cmd=appnum appnum=0 rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}
_VARIABLES = ("PMI_FD", "PMI_RANK", "PMI_SIZE")


class ProcessManager:
    """Answers this process's MPI until it is closed; use it in ``with`` around MPI_Init.

    Args:
        store: where all processes of the job write, for no other purpose.
        job: a name that no other job on these machines has: MPI names its shared memory by it.
        rank, size: of this process.
        hosts: the name of every process's machine.
    """

    def __init__(self, store: Store, job: str, rank: int, size: int, hosts: list[str]) -> None:
        self._store = PrefixStore("mpi", store)
        self._job = job
        self._rank = rank
        self._size = size
        self._mapping = host_mapping(hosts)
        self._barriers = 0

    def __enter__(self) -> ProcessManager:
        self._ours, self._mpis = socket.socketpair()
        self._mpis.set_inheritable(False)
        values = (self._mpis.detach(), self._rank, self._size)
        os.environ.update({n: str(v) for n, v in zip(_VARIABLES, values, strict=True)})
        threading.Thread(target=self._serve, name="mpi process manager", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        """Children must not take themselves for this process; MPI has read the variables."""
        for name in _VARIABLES:
            os.environ.pop(name, None)

    def _serve(self) -> None:
        with self._ours, self._ours.makefile("rw", newline="\n") as file:
            for line in file:
                command = dict(part.split("=", 1) for part in line.split() if "=" in part)
                file.write(self._answer(command) + "\n")
                file.flush()
                if command["cmd"] == "finalize":
                    return

    def _answer(self, command: dict[str, Any]) -> str:
        name = command["cmd"]
        if name in _CONSTANT:
            return _CONSTANT[name]
        if name == "get_my_kvsname":
            return f"cmd=my_kvsname kvsname={self._job} rc=0"
        if name == "put":
            self._store.set(command["key"], command["value"])
            return "cmd=put_result rc=0 msg=success"
        if name == "get":
            found = self._value(command["key"])
            if found is None:
                return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            return f"cmd=get_result rc=0 msg=success value={found}"
        if name == "barrier_in":
            self._wait_for_all()
            return "cmd=barrier_out rc=0"
        return f"cmd={name}_result rc=-1 msg=not_available"

    def _value(self, key: str) -> str | None:
        if key == "PMI_process_mapping":
            return self._mapping
        return self._store.get(key).decode() if self._store.check([key]) else None

    def _wait_for_all(self) -> None:
        self._barriers += 1
        name = f"barrier{self._barriers}"
        if self._store.add(name, 1) == self._size:
            self._store.set(f"{name}/passed", "1")
        self._store.wait([f"{name}/passed"])


def host_mapping(hosts: list[str]) -> str:
    """Which processes share a machine, as MPICH reads it: "(vector,(node,1,processes),...)"."""
    nodes = list(dict.fromkeys(hosts))
    runs: list[list[int]] = []
    for host in hosts:
        node = nodes.index(host)
        if runs and runs[-1][0] == node:
            runs[-1][1] += 1
        else:
            runs.append([node, 1])
    return "(vector," + ",".join(f"({node},1,{count})" for node, count in runs) + ")"
