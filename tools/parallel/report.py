"""Plans in a terminal, as a page that needs no network, and as JSON."""

from __future__ import annotations

import html
import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mindtorch.kernels.support.atomic_file import write_whole
from mindtorch.planning.costs import Plan, Planner

__all__ = ["as_json", "assumptions_of", "print_plans", "write_json", "write_page"]

_SHOWN = 8  # of those that fit, and of those that do not
_LAYERS = 8
_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem; text-align: left }
tr:nth-child(even) { background: #8881 } .bar { display: inline-block; height: .8rem;
background: #36c } .quiet { opacity: .75 }
"""


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _largest(parts: dict[str, float], words: Any) -> str:
    named = sorted(((v, k) for k, v in parts.items() if v), reverse=True)
    return ", ".join(f"{name} {words(value)}" for value, name in named[:2])


def _lines(planner: Planner) -> list[str]:
    """What was measured, in words."""
    facts, link = planner.facts, planner.link
    whole = facts.fixed + facts.each * facts.samples
    rate = facts.operations.get("", 0) / whole / 1e9 if whole else 0.0
    return [
        f"{planner.ranks} processes, {planner.batch} samples in a step of all of them",
        f"one process: {facts.samples} samples take {_time(whole)} forward and backward "
        f"({rate:.3g} GFLOP/s of products), {_time(facts.update)} in the optimizer",
        f"parameters {_bytes(facts.trained)}, optimizer {_bytes(facts.trained * facts.states)}, "
        f"kept for backward {_bytes(facts.saved)}",
        f"link ({link.origin}): all_reduce {_bytes(link.bandwidth['all_reduce'])}/s, "
        f"{_time(link.latency['all_reduce'])} a message",
        f"{len(planner.pairs)} pairs of linear layers can be cut, {len(planner.blocks)} blocks "
        "can be stages",
    ]


def assumptions_of(planner: Planner, each: int, speed: float) -> list[str]:
    """What a curve rests on, in lines.

    Args:
        planner: who predicts.
        each: samples for each process.
        speed: how many times as fast as here a process computes.
    """
    facts, link = planner.facts, planner.link
    limit = "any memory" if planner.limit is None else f"at most {_bytes(planner.limit)} of memory"
    return [
        f"{each} samples for each process; parameters {_bytes(facts.trained)}; {limit}",
        f"forward and backward {_time(facts.fixed)} + {_time(facts.each)} a sample "
        f"({speed:g} times as fast as measured)",
        f"any two processes: {_bytes(link.bandwidth['all_reduce'])}/s and "
        f"{_time(link.latency['all_reduce'])} a message ({link.origin}), exchanges as rings",
        f"{planner.overlap:.0%} of the exchange of gradients and parameters is hidden; no process "
        "is slower than another",
    ]


def _layers(planner: Planner) -> list[tuple[str, str, str, str]]:
    """The layers that compute most: path, operations, parameters, what they keep."""
    facts = planner.facts
    leaves = {call.path: call for call in facts.calls if not list(call.module.children())}
    order = sorted(leaves, key=lambda path: -facts.operations.get(path, 0))
    kept: dict[str, int] = {}
    for each in facts.slices:
        kept[each.path] = kept.get(each.path, 0) + each.saved
    return [
        (
            path or type(leaves[path].module).__name__,
            f"{facts.operations.get(path, 0) / 1e9:.3g}",
            _bytes(facts.parameters.get(path, 0)),
            _bytes(kept.get(path, 0)),
        )
        for path in order[:_LAYERS]
    ]


_COLUMNS = ("plan", "step", "samples/s", "memory", "most time", "most memory")


def _row(plan: Plan, planner: Planner) -> tuple[str, ...]:
    return (
        plan.name, _time(plan.seconds), f"{planner.batch / plan.seconds:.4g}", _bytes(plan.bytes),
        _largest(plan.times, _time), _largest(plan.memory, _bytes),
    )  # fmt: skip


def print_plans(planner: Planner, plans: list[Plan], everything: bool = False) -> None:
    """Print what was measured, the layers, and plans, best first.

    Args:
        planner: who made them.
        plans: in their order.
        everything: all of them, where there are many.
    """
    console = Console(highlight=False)
    for line in _lines(planner):
        console.print(line)
    layers = Table("layer", "GFLOP", "parameters", "kept", title="layers that compute most")
    for cells in _layers(planner):
        layers.add_row(*cells)
    console.print(layers)
    fitting = [p for p in plans if not p.reason]
    others = [p for p in plans if p.reason]
    table = Table(*_COLUMNS, title="plans, fastest first")
    for each in fitting if everything else fitting[:_SHOWN]:
        table.add_row(*_row(each, planner))
    console.print(table if fitting else "no plan fits")
    refused = Table("plan", "why not", title="others")
    for each in others if everything else others[:_SHOWN]:
        refused.add_row(each.name, each.reason)
    if others:
        console.print(refused)
    hidden = max(len(fitting) - _SHOWN, 0) + max(len(others) - _SHOWN, 0)
    if hidden and not everything:
        console.print(f"{hidden} more: --all shows them")


def as_json(planner: Planner, plans: list[Plan]) -> dict[str, Any]:
    """All numbers: seconds and bytes."""
    facts, link = planner.facts, planner.link
    return {
        "ranks": planner.ranks,
        "batch": planner.batch,
        "memory_limit": planner.limit,
        "overlap": planner.overlap,
        "one_process": {
            "samples": facts.samples, "seconds_fixed": facts.fixed,
            "seconds_per_sample": facts.each, "seconds_update": facts.update,
            "parameters": facts.trained, "optimizer": facts.trained * facts.states,
            "activations": facts.saved, "operations": facts.operations,
        },
        "link": {
            "origin": link.origin, "latency": link.latency, "bandwidth": link.bandwidth,
        },
        "plans": [
            {
                "name": p.name, "data": p.data, "tensor": p.cut, "stages": p.stages,
                "microbatches": p.microbatches, "sharded": p.sharded, "reason": p.reason,
                "seconds": p.seconds if p.times else None, "times": p.times,
                "bytes": p.bytes, "memory": p.memory,
            }
            for p in plans
        ],
    }  # fmt: skip


def write_json(path: Path, planner: Planner, plans: list[Plan]) -> None:
    """Write :func:`as_json` into a file."""
    write_whole(path, json.dumps(as_json(planner, plans), indent=1).encode())


def write_page(path: Path, title: str, planner: Planner, plans: list[Plan]) -> None:
    """Write the same as a page."""
    fitting = [p for p in plans if not p.reason]
    slowest = max((p.seconds for p in fitting), default=1.0)
    out = io.StringIO()
    out.write(f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title>")
    out.write(f"<style>{_STYLE}</style><h1>{html.escape(title)}</h1>")
    out.write("".join(f"<p class=quiet>{html.escape(line)}</p>" for line in _lines(planner)))
    heads = (*_COLUMNS, "")
    out.write("<table><tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>")
    for each in fitting:
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in _row(each, planner))
        width = 12 * each.seconds / slowest
        out.write(f"<tr>{cells}<td><span class=bar style='width:{width:.2f}rem'></span></td></tr>")
    out.write("</table><h2>Others</h2><table>")
    for each in plans:
        if each.reason:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in (each.name, each.reason))
            out.write(f"<tr>{cells}</tr>")
    out.write("</table>")
    write_whole(path, out.getvalue().encode())
