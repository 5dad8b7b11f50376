"""Generated code that makes the node of an application, where the same inputs are tracked as
before: no loops over inputs and over what is kept."""

from __future__ import annotations

import functools
import linecache
import types
from collections.abc import Callable
from typing import Any

from ..tensor import Storage, captures, result_types
from .nodes import Node, ViewHistory, anomaly, sequence
from .saved_tensors import saved_tensor_hooks

_MOST = 8  # inputs and results
_HEAD = """\
def record(op, plan, inputs, params, results, keep, general):
    if saved_tensor_hooks or captures or anomaly.enabled:
        return general(op, plan, inputs, params, results)
    {inputs}, = inputs
    {results}, = results
{sources}
    if {others}:
        return general(op, plan, inputs, params, results)
    node = new(Node)
    node.op, node.plan, node.params, node.kept, node.hooks = op, plan, params, keep, None
    node.edges = [{edges}]
    node.sequence = next(sequence)
{kept}
{nodes}
    return node
"""
_SOURCE = """\
    n{i} = x{i}._node
    if n{i}.__class__ is ViewHistory:
        n{i} = n{i}.derive()
"""
# another tensor over the result's memory, without history
_RESULT = """\
    s{i} = r{i}._storage
    if s{i} is None:
        s{i} = r{i}._storage = new(Storage)
        s{i}.buffer, s{i}.device = r{i}.flat, r{i}.aval.device
        s{i}.version, s{i}.history, s{i}.resizable = 0, 0, True
    k{i} = new(result_types[0])
    k{i}.flat, k{i}.aval, k{i}._node, k{i}._storage = r{i}.flat, r{i}.aval, None, s{i}
    if r{i}._offset:
        k{i}._offset = r{i}._offset
"""
_NAMES = {
    "Node": Node, "Storage": Storage, "ViewHistory": ViewHistory, "anomaly": anomaly,
    "captures": captures, "new": object.__new__, "result_types": result_types,
    "saved_tensor_hooks": saved_tensor_hooks, "sequence": sequence,
}  # fmt: skip


@functools.cache
def _code(
    given: tuple[bool, ...], tracked: tuple[bool, ...], keep: tuple[tuple[str, int], ...],
    differentiable: tuple[bool, ...],
) -> Any:  # fmt: skip
    """The code for inputs of which some are not None, and some tracked, and what is kept."""
    places = range(len(given))
    nodes = [place for place in places if given[place]]
    tests = [f"x{i} is not None" for i in places if not given[i]]
    tests += [f"n{i} is {'None' if tracked[i] else 'not None'}" for i in nodes]
    saved, versions, made = [], [], []
    for kind, at in keep:
        if kind == "in":
            saved.append(f"x{at}")
            known = f"0 if (s := x{at}._storage) is None else s.kept_version"
            versions.append(known if given[at] else "0")
        else:
            saved.append(f"k{at}")
            versions.append(f"s{at}.kept_version")
            made.append(_RESULT.format(i=at))
    kept = ["    node.saved = ()\n"]
    if keep:
        kept = [
            *made, f"    node.saved = [{', '.join(saved)}]\n",
            f"    node.versions = ({', '.join([*versions, ''])})\n",
        ]
    if len(differentiable) == 1:
        ends = ["    if r0._node.__class__ is not ViewHistory:\n        r0._node = node"]
    else:
        ends = [
            f"    r{i}._node, r{i}._output_index = node, {i}"
            for i, each in enumerate(differentiable) if each
        ]
    text = _HEAD.format(
        inputs=", ".join(f"x{i}" for i in places),
        results=", ".join(f"r{i}" for i in range(len(differentiable))),
        sources="".join(_SOURCE.format(i=i) for i in nodes), others=" or ".join(tests),
        edges=", ".join(
            f"(n{i}, x{i}._output_index)" if tracked[i] else "None" for i in places
        ),
        kept="".join(kept), nodes="\n".join(ends),
    )  # fmt: skip
    file = f"{__file__} ({_code.cache_info().currsize})"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), {}, space)
    return space["record"].__code__


def recorder(
    plan: Any, inputs: Any, edges: list[Any], keep: tuple[tuple[str, int], ...],
    general: Callable[..., Any],
) -> Callable[..., Any] | None:  # fmt: skip
    """``record(op, plan, inputs, params, results)``, which is what ``general`` is; None where there
    is too much to write out.

    Args:
        inputs, edges: of an application; others are given to ``general``.
        keep: what the rules name that such inputs need.
    """
    if max(len(inputs), len(plan.avals)) > _MOST:
        return None
    given = tuple([x is not None for x in inputs])
    tracked = tuple([edge is not None for edge in edges])
    code = _code(given, tracked, keep, tuple(plan.differentiable))
    return types.FunctionType(code, _NAMES, "record", (keep, general))
