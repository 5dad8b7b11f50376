"""The kernels of a first run, compiled by several processes.

A graph names all its kernels before the first of them runs. When this process comes to compile one
(of a small graph the second one), it forks others that run the graph's nodes on zeros of their own,
so that what they compile lies in the cache before it is needed here. They end with the first run.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.compile_lock import PATIENCE, Busy, Compiling
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.kernels.support.workspace import other_workspaces

from ...devices.device import cpu
from ...dispatch import VIEW
from ..ir.ir import DRAW, Graph, Node

_LARGE = 32  # nodes of a graph that hardly misses one kernel alone
_MOST_BYTES = 1 << 26  # of zeros that this process compiles a kernel with while it waits
_MOST = 4  # processes at work on one graph: each takes some 200 MB


def processes() -> int:
    """How many processes compile a graph: ``MINDTORCH_COMPILE_PROCESSES``, else one for each core
    but no more than four."""
    given = os.environ.get("MINDTORCH_COMPILE_PROCESSES", "")
    return int(given) if given.isdigit() else min(thread_pool.available_cores(), _MOST)


class CompileWorkers:
    """Processes that compile a graph's kernels, from when they are first missed to :meth:`stop`.

    There are none where a process may not be forked: where MPI is in use, or nowhere at all. This
    process compiles what comes later, too, while it would wait for one of them.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._missed = 0
        self._children: list[int] = []
        self._thread = threading.get_ident()
        self._later: list[Callable[[], Any]] = []
        Compiling.begins = self._begin

    def _begin(self) -> None:
        self._missed += 1
        if self._missed < 2 and len(self._graph.nodes) < _LARGE:
            return
        Compiling.begins = None
        count, parent = processes() - 1, os.getpid()
        if count < 1 or not hasattr(os, "fork") or "mpi4py.MPI" in sys.modules:
            return
        nodes = _distinct(self._graph)
        expected = list(Compiling.expected.values())
        Compiling.expected.clear()
        with warnings.catch_warnings():
            # Python warns of threads: of ours, the child needs none, and locks are open in it
            warnings.simplefilter("ignore", DeprecationWarning)
            for number in range(count):
                try:
                    child = os.fork()
                except OSError:  # no more processes or memory: this one goes on by itself
                    return
                if child == 0:
                    _work(nodes[number::count], expected if number == 0 else [], parent)
                self._children.append(child)
        self._later = [partial(_run, node) for node in nodes if _is_harmless(node)] + expected
        Compiling.waits = self._while_waiting

    def _while_waiting(self) -> bool:
        """Compile something of what comes later; False if there is nothing left."""
        if threading.get_ident() != self._thread or not self._later:
            return False
        Compiling.waits, Compiling.patience = None, 0.0
        try:
            with other_workspaces():  # the kernel that waits may have filled its own
                _tried(self._later.pop())
        finally:
            Compiling.waits, Compiling.patience = self._while_waiting, PATIENCE
        return True

    def stop(self) -> None:
        """End the processes."""
        Compiling.begins = Compiling.waits = None
        self._later = []
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
        if node.op is not DRAW and not isinstance(getattr(node.op, "kernel", None), str):
            continue
        if all(v.aval.device is cpu for v in values):
            params = repr(sorted(node.params.items(), key=lambda item: item[0]))
            key = (id(node.op), repr([v.aval for v in values]), params)
            found.setdefault(key, node)
    return list(found.values())


def _is_harmless(node: Node) -> bool:
    """Whether this process itself may run a node on zeros: they are few, and none is a place."""
    values = [v.aval for v in (*node.outputs, *node.inputs) if v is not None]
    return (
        node.op is not DRAW
        and all(v is None or v.aval.dtype.is_floating_point for v in node.inputs)
        and sum(a.extent * a.dtype.itemsize for a in values) <= _MOST_BYTES
    )


def _work(nodes: list[Node], expected: list[Callable[[], Any]], parent: int) -> None:
    """A child's life.

    The parent first binds all nodes to memory, where some kernels are chosen, and finds the others
    while it runs them. So these come first here, in its order, and then the former from the end.
    """
    try:
        _alone()
        Compiling.begins, Compiling.patience = _refuse, 0.0
        bound = [node for node in nodes if not _tried(node.plan)]
        Compiling.begins = None
        found = [node for node in nodes if node not in bound]  # while it runs
        remaining: list[Callable[[], Any]] = [partial(_run, node) for node in found + bound[::-1]]
        remaining += expected
        for patience in (0.0, PATIENCE):  # what another process is at is left for later
            Compiling.patience = patience
            remaining = [each for each in remaining if os.getppid() == parent and not _tried(each)]
    finally:
        os._exit(0)


def _refuse() -> None:
    raise Busy


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
    thread_pool.set_num_threads(1)


def _run(node: Node) -> None:
    """Run a node on zeros."""
    plan = node.plan()
    if plan.kind != VIEW:
        values = [None if v is None else v.aval for v in (*node.outputs, *node.inputs)]
        plan.run(*[None if a is None else np.zeros(a.extent, a.dtype.np) for a in values])


def _tried(compiles: Callable[[], Any]) -> bool:
    """Compile something; False if another process is at it."""
    try:
        compiles()
    except Busy:
        return False
    except Exception:  # the parent will come to it, and say so
        return True
    return True
