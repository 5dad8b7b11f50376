"""Which ops have a kernel on CUDA: the table that docs/cuda-ops.md shows.

Made from the ops' declarations and the text of ``kernels/cuda``, so nothing of CUDA is imported.
"""

from __future__ import annotations

import ast
import functools
import importlib
import pkgutil
from pathlib import Path
from typing import NamedTuple

from . import gaps, ops
from .core import OPS, Op
from .ops.families import Elementwise, LibraryElementwise

_FOLDER = Path(__file__).resolve().parent.parent / "kernels" / "cuda"


class Support(NamedTuple):
    """How an op runs on CUDA.

    Attributes:
        op, kernel: names.
        where: "device", "view" (no kernel is needed), "host" (the CPU's kernel on copies) or
            "missing".
        reason: the gap's, where it is "host" or "missing".
    """

    op: str
    kernel: str
    where: str
    reason: str


@functools.cache
def functions(module: str) -> frozenset[str]:
    """The functions that a module of ``kernels/cuda`` defines at its top."""
    path = _FOLDER / f"{module}.py"
    if not path.exists():
        return frozenset()
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(t.id for t in node.targets if isinstance(t, ast.Name))
    return frozenset(names)


def support_of(op: Op) -> Support:
    """How ``op`` runs on tensors on CUDA."""
    if op.view is not None:
        return Support(op.name, "", "view", "")
    if isinstance(op, LibraryElementwise):
        kernel = f"special.{op.scalar}"
    elif isinstance(op, Elementwise):
        kernel = "elementwise.plan"
    else:
        kernel = op.kernel or "elementwise.copy"
    module, _, function = kernel.partition(".")
    host = gaps.on_host(kernel)
    if function in functions(module) and not (host and kernel != "elementwise.plan"):
        return Support(op.name, kernel, "device", "")
    if host:
        return Support(op.name, kernel, "host", host)
    return Support(op.name, kernel, "missing", gaps.reason_for(kernel, "cuda") or "")


def table() -> list[Support]:
    """All ops, by name."""
    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")
    return sorted(support_of(op) for op in OPS.values())


def as_markdown() -> str:
    """The table as docs/cuda-ops.md holds it."""
    rows = table()
    counts = {where: sum(r.where == where for r in rows)
              for where in ("device", "view", "host", "missing")}  # fmt: skip
    lines = [
        "# Ops on CUDA", "",
        "Made by `python -m mindtorch.engine.cuda_ops`. *device*: a CUDA kernel; *view*: needs "
        "none; *host*: the CPU's kernel on copies, right and slow. Complex numbers are computed on "
        "the host by all ops but copies.", "",
        ", ".join(f"{count} {where}" for where, count in counts.items()) + ".", "",
        "| op | kernel | where | reason |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [f"| `{r.op}` | {f'`{r.kernel}`' if r.kernel else ''} | {r.where} | {r.reason} |"
              for r in rows]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
