"""All passes, in the order in which they run over a graph between capture and binding to memory.

A pass is a function ``graph -> count`` that changes no bit of a result, unless its entry says so.
With ``MINDTORCH_VERIFY=1`` (as in our tests) and from ``MINDTORCH_DEBUG=3`` on, the verifier looks
at the graph after each of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...switches import debug, switches
from ..ir.ir import Graph, Value
from ..ir.verifier import check_graph
from .cleanup import dead_code, identities, separate_results
from .fusion import fuse
from .kernel_substitution import substitute_kernels
from .rectified_pooling import rectify_pooling

__all__ = ["PASSES", "Pass", "run_passes"]


class Pass(NamedTuple):
    """One entry of :data:`PASSES`.

    Attributes:
        name: as it is printed.
        run: changes the graph in place, and returns how many nodes it changed.
        switch: of :mod:`engine.switches`, for what a result can do without; "" for what cannot be
            left out. Graphs that run op by op are spared these, too.
        exact: whether each bit stays; others are left out where a graph must be exact.
        sized: whether it asks for plain sizes. Such passes run for each size, and after the others.
    """

    name: str
    run: Callable[[Graph], int]
    switch: str = ""
    exact: bool = True
    sized: bool = False


PASSES = (
    Pass("identities", identities),
    Pass("separate results", separate_results),
    Pass("rectified pooling", rectify_pooling, switch="fusion"),
    Pass("dead code", dead_code),
    Pass("fusion", fuse, switch="fusion"),
    Pass(
        "kernel substitution", substitute_kernels, switch="kernel_substitution", exact=False,
        sized=True,
    ),
)  # fmt: skip

_verify = os.environ.get("MINDTORCH_VERIFY", "") not in ("", "0")


def run_passes(
    graph: Graph, given: Iterable[Value] = (), *, sized: bool = False, exact: bool = True
) -> None:
    """Run the passes that ask for plain sizes (``sized``), or all others.

    Args:
        given: values that the graph is given, besides its own inputs.
        exact: whether each bit of a result must stay.
    """
    verify = _verify or debug.level >= 3
    if verify:
        given = list(given)
    if debug.level >= 3 and not sized:
        _say(f"graph before the passes\n{graph}")
    count = 0
    for each in PASSES:
        if each.sized is not sized or (exact and not each.exact):
            continue
        if each.switch and (graph.refused or not getattr(switches, each.switch)):
            continue
        changed = each.run(graph)
        count += changed
        if verify:
            check_graph(graph, given)
        if debug.level >= 3:
            _say(f"pass {each.name}: {changed}")
    if debug.level >= 3 and (count or not sized):
        _say(f"graph after the passes\n{graph}")


def _say(text: str) -> None:
    print(f"mindtorch: {text}", file=sys.stderr)
