"""docs/gpu.md from the results of ``benchmarks/cuda.py``."""

from __future__ import annotations

from typing import Any

from benchmarks.cuda_side import SIDES

HEADER = """# CUDA on a GPU

Written by `python benchmarks/cuda.py`; the raw results are in the .json file beside it.
"""
Results = dict[str, Any]
_OF_RUNS = ("done", "seconds", "complete")  # of how a stage ran, not of what it found


def _cell(value: Any, most: int = 220) -> str:
    """Text that keeps to one cell of a table."""
    return " ".join(str(value).replace("|", "/").split())[:most]


def _facts(title: str, found: Results) -> list[str]:
    lines = [f"## {title}", "", "| what | value |", "|---|---|"]
    given = {name: value for name, value in found.items() if name not in _OF_RUNS}
    return [*lines, *[f"| {name} | {_cell(value)} |" for name, value in given.items()], ""]


def _right(results: Results) -> list[str]:
    lines = ["## Right", "", "| part | result |", "|---|---|"]
    table, tensors = results.get("table"), results.get("tensors")
    if table is not None:
        said = f"{table.get('count', 0)} comparisons of {table.get('rows', 0)} rows, "
        said += f"{len(table.get('different', {}))} differ, {table.get('left', '?')} not reached"
        lines.append(f"| op table | {_cell(table.get('error', said))} |")
    if tensors is not None:
        failed = sorted(tensors.get("failed", {}))
        said = f"{tensors.get('checks', 0)} checks, failed: {', '.join(failed) or 'none'}"
        lines.append(f"| tensors | {_cell(said + _error(tensors))} |")
    for name, found in results.get("models", {}).items():
        if name not in _OF_RUNS:
            lines.append(f"| model {name} | {_cell(found)} |")
    lines.append("")
    differ = (table or {}).get("different", {})
    failures = (tensors or {}).get("failed", {})
    lines += [f"- `{name}`: {_cell(said)}" for name, said in differ.items()]
    lines += [f"- {name}: {_cell(said[-300:], 300)}" for name, said in failures.items()]
    return [*lines, ""]


def _error(found: Results) -> str:
    return f"; {found['error']}" if "error" in found else ""


def _times(found: Results) -> list[str]:
    lines = ["## Times", "", "Median of turns, by device events. Rate: of the bytes or operations "
             "that the work cannot avoid. First: compiling and the first calls, ours / torch's.",
             "", "| side | version |", "|---|---|"]  # fmt: skip
    lines += [f"| {side} | {_cell(said)} |" for side, said in found.get("sides", {}).items()]
    lines += ["", "| work | ms | torch ms | ratio | rate | first, s |", "|---|---|---|---|---|---|"]
    lines += [_row(name, each) for name, each in found.get("works", {}).items()]
    if found.get("not reached"):
        lines += ["", f"Not reached in time: {', '.join(found['not reached'])}."]
    return [*lines, *(["", _cell(found["error"])] if "error" in found else []), ""]


def _row(name: str, found: Results) -> str:
    errors = found.get("errors", {})
    mine, theirs = (found.get(side) for side in SIDES)
    cells = [f"{ms:.4f}" if ms is not None else _cell(errors.get(side, ""), 120)
             for side, ms in zip(SIDES, (mine, theirs), strict=True)]  # fmt: skip
    ratio = f"{mine / theirs:.2f}" if mine and theirs else ""
    moved, done = found.get("facts") or (0, 0)
    rate = ""
    if mine and (moved or done):
        rate = f"{moved / mine / 1e6:.0f} GB/s" if moved else f"{done / mine / 1e9:.1f} TFLOP/s"
    first = [found.get("first", {}).get(side) for side in SIDES]
    waited = " / ".join("-" if s is None else f"{s:.1f}" for s in first)
    return f"| {_cell(name)} | {cells[0]} | {cells[1]} | {ratio} | {rate} | {waited} |"


def page(results: Results) -> str:
    """The page; stages that have not run are named as such."""
    lines = [HEADER]
    if "machine" in results:
        lines += _facts("Machine", results["machine"])
    if results.keys() & {"table", "tensors", "models"}:
        lines += _right(results)
    if "ceilings" in results:
        lines += _facts("Ceilings", results["ceilings"])
    if "times" in results:
        lines += _times(results["times"])
    if "sanitizer" in results:
        lines += _facts("compute-sanitizer", results["sanitizer"])
    known = ("machine", "table", "tensors", "models", "ceilings", "times", "sanitizer")
    missing = [stage for stage in known if stage not in results]
    if missing:
        lines.append(f"Not run: {', '.join(missing)}.")
    begun = [s for s in known if results.get(s, {}).get("complete") is False]
    if begun:
        lines.append(f"Not done, the same command goes on with it: {', '.join(begun)}.")
    return "\n".join(lines).rstrip() + "\n"
