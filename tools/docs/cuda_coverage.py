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

from mindtorch.engine import kernel_gaps, ops
from mindtorch.engine.op import OPS, Op
from mindtorch.engine.ops.base import Elementwise, LibraryElementwise

from .op_list import OF_PLACEMENTS

_FOLDER = Path(__file__).resolve().parents[2] / "kernels" / "cuda"


class Support(NamedTuple):
    """How an op runs on CUDA.

    Attributes:
        op, kernel: names.
        where: "device", "library" (cupy's function, the CPU's kernel on copies without cupy),
            "view" (no kernel is needed), "host" (the CPU's kernel on copies) or "missing".
        reason: the gap's, where it is "library", "host" or "missing".
    """

    op: str
    kernel: str
    where: str
    reason: str


@functools.cache
def functions(module: str) -> dict[str, str]:
    """The functions that a module of ``kernels/cuda`` defines at its top, and where they run."""
    path = _FOLDER / f"{module}.py"
    names: dict[str, str] = {}
    if not path.exists():
        return names
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = "device"
        elif isinstance(node, ast.Assign):
            where = "library" if "through_library(" in ast.unparse(node.value) else "device"
            named = (n for target in node.targets for n in ast.walk(target))
            names.update({n.id: where for n in named if isinstance(n, ast.Name)})
    return names


def support_of(op: Op) -> Support:
    """How ``op`` runs on tensors on CUDA."""
    if op.view is not None:
        return Support(op.name, "", "view", "")
    if isinstance(op, LibraryElementwise):
        kernel = f"scipy_special.{op.scalar}"
    elif isinstance(op, Elementwise):
        kernel = "elementwise.plan"
    else:
        kernel = op.kernel or "elementwise.copy"
    module, _, function = kernel.partition(".")
    host, where = kernel_gaps.on_host(kernel), functions(module).get(function)
    if where:
        return Support(op.name, kernel, where, (host or "") if where == "library" else "")
    if host:
        return Support(op.name, kernel, "host", host)
    return Support(op.name, kernel, "missing", kernel_gaps.reason_for(kernel, "cuda") or "")


def table() -> list[Support]:
    """All ops with kernels, by name."""
    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"{ops.__name__}.{module.name}")
    return sorted(support_of(op) for name, op in OPS.items() if name not in OF_PLACEMENTS)


def as_markdown() -> str:
    """The table as docs/cuda-ops.md holds it."""
    rows = table()
    counts = {where: sum(r.where == where for r in rows)
              for where in ("device", "library", "view", "host", "missing")}  # fmt: skip
    lines = [
        "# Ops on CUDA", "",
        "Made by `python -m mindtorch.tools.docs.cuda_coverage`. *device*: a CUDA kernel; "
        "*library*: cuFFT "
        "or cuSOLVER through cupy, *host* without cupy; *view*: needs none; *host*: the CPU's "
        "kernel on copies, right and slow. Complex numbers have elementwise kernels, sums, "
        "products, copies and indexing; other ops compute them on the host.", "",
        ", ".join(f"{count} {where}" for where, count in counts.items()) + ".", "",
        "| op | kernel | where | reason |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += [f"| `{r.op}` | {f'`{r.kernel}`' if r.kernel else ''} | {r.where} | {r.reason} |"
              for r in rows]  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
