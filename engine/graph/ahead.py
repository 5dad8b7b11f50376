"""The kernels of a first run, compiled by several processes.

A graph names all its kernels before the first of them runs. When this process comes to compile the
second one, it forks others that take the graph's nodes from the end, each on zeros of its own, so
that what they compile lies in the cache before it is needed here. They end with the first run.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from typing import Any

import numpy as np

from mindtorch.kernels.claims import PATIENCE, Busy, Compiling
from mindtorch.kernels.cpu import threads

from ..core import VIEW
from ..device import cpu
from .ir import Graph, Node

_MOST = 4  # processes at work on one graph: each takes some 200 MB


def processes() -> int:
    """How many processes compile a graph: ``MINDTORCH_COMPILE_PROCESSES``, else one for each core
    but no more than four."""
    given = os.environ.get("MINDTORCH_COMPILE_PROCESSES", "")
    return int(given) if given.isdigit() else min(threads.available_cores(), _MOST)


class Helpers:
    """Processes that compile a graph's kernels, from when they are first missed to :meth:`leave`.

    There are none where a process may not be forked: where MPI is in use, or nowhere at all.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._missed = 0
        self._children: list[int] = []
        Compiling.begins = self._begin

    def _begin(self) -> None:
        self._missed += 1
        if self._missed < 2:
            return
        Compiling.begins = None
        count, parent = processes() - 1, os.getpid()
        if count < 1 or not hasattr(os, "fork") or "mpi4py.MPI" in sys.modules:
            return
        nodes = _distinct(self._graph)[::-1]
        with warnings.catch_warnings():
            # Python warns of threads: of ours, the child needs none, and locks are open in it
            warnings.simplefilter("ignore", DeprecationWarning)
            for number in range(count):
                try:
                    child = os.fork()
                except OSError:  # no more processes or memory: this one goes on by itself
                    return
                if child == 0:
                    _help(nodes[number::count], parent)
                self._children.append(child)

    def leave(self) -> None:
        """End the processes."""
        Compiling.begins = None
        for child in self._children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        self._children.clear()


def _distinct(graph: Graph) -> list[Node]:
    """Nodes with kernels of ours on the CPU, one of each kind."""
    found: dict[Any, Node] = {}
    for node in graph.nodes:
        values = [*node.outputs, *[v for v in node.inputs if v is not None]]
        if not isinstance(getattr(node.op, "kernel", None), str):
            continue
        if all(v.aval.device is cpu for v in values):
            params = repr(sorted(node.params.items(), key=lambda item: item[0]))
            key = (id(node.op), repr([v.aval for v in values]), params)
            found.setdefault(key, node)
    return list(found.values())


def _help(nodes: list[Node], parent: int) -> None:
    """A child's life."""
    try:
        _alone()
        for patience in (0.0, PATIENCE):  # what another process is at is left for later
            Compiling.patience = patience
            nodes = [node for node in nodes if os.getppid() == parent and not _tried(node)]
    finally:
        os._exit(0)


def _alone() -> None:
    """Say nothing, take no signals that are meant for the parent, leave it the cores, and
    collect no garbage: it all goes with this process, at most 60 MB."""
    gc.disable()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.nice(5)
    threads.set_num_threads(1)


def _tried(node: Node) -> bool:
    """Run a node on zeros; False if another process is compiling its kernel."""
    try:
        plan = node.plan()
        if plan.kind == VIEW:
            return True
        values = [None if v is None else v.aval for v in (*node.outputs, *node.inputs)]
        plan.run(*[None if a is None else np.zeros(a.extent, a.dtype.np) for a in values])
    except Busy:
        return False
    except Exception:  # the parent will come to it, and say so
        return True
    return True
