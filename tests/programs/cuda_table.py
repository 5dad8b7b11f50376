"""The op table's small cases on CUDA against the CPU: run as a program, on a GPU or in numba's
simulator (``NUMBA_ENABLE_CUDASIM=1``).

    python tests/programs/cuda_table.py [--all | --kernels] [--float64] [--part i/n] [names...]
    python tests/programs/cuda_table.py --lines --after N ...

``--float64`` compares float32 with what the CPU computes from the same numbers in float64.

Prints a JSON object: how many comparisons were made, and what differs by row. ``--all`` takes every
case and type of a row and the second derivative, ``--kernels`` those rows that run kernels which no
other row runs; otherwise one case in float32 and its gradient. ``--lines`` tells of each row before
and after it is run, and ends where the device is lost; ``--after`` goes on behind a row.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
import traceback
import warnings
from typing import Any

import numpy as np

import mindtorch.torch as mt
from mindtorch.engine.op import OPS
from mindtorch.engine.ops.base import Elementwise, LibraryElementwise
from mindtorch.tools.docs.cuda_coverage import support_of
from tests.support import cuda_simulator
from tests.support.ops_running import (
    EPSILON,
    array_of,
    differentiable,
    gradient_of,
    outputs_of,
    tensor_of,
)
from tests.tables.ops_table import Row, all_rows

_FEW, _SHARE = 48, 8  # for --kernels: elements of a case, and one of so many elementwise rows
_MOST = {False: 150, True: 1000}  # elements of a case
# rows that --kernels leaves out: kernels of other rows, with masks or at more places
_SLOW = ("attention_with_mask", "cdist_differences")
# rows that look at bits, which are others in float64
_BITS = ("view_dtype",)
# rows whose results may differ from the CPU's, and why
OTHERWISE = {
    "empty_like": "uninitialised",
}


def run(row: Row, case: Any, dtype: str, device: str, order: int) -> list[Any]:
    """Results, gradients and (``order`` 2) second gradients of one case on a device."""
    mt.manual_seed(0)
    inputs = [tensor_of(mt, array, dtype).to(device) for array in case]
    leaves = []
    for position, x in enumerate(inputs):
        if order and x.is_floating_point():
            inputs[position] = x.detach().requires_grad_()
            leaves.append(inputs[position])
    mt.set_default_device(device)
    try:
        outputs = outputs_of(row.call(mt, *inputs))
        found = list(outputs)
        if order and leaves:
            tracked = differentiable(outputs)
            first = gradient_of(_Placed(device), tracked, leaves, order > 1)
            found += first
            again = [g for g in first if g is not None and g.requires_grad]
            if order > 1 and again:
                found += gradient_of(_Placed(device), again, leaves, False)
    finally:
        mt.set_default_device(None)
    return found


class _Placed:
    """The namespace with ``from_numpy`` on a device: weights of sums lie beside the results."""

    autograd = mt.autograd

    def __init__(self, device: str) -> None:
        self.device = device

    def from_numpy(self, array: Any) -> Any:
        return mt.from_numpy(array).to(self.device)


def compare(mine: Any, theirs: Any, tolerance: float, exact: bool) -> str:
    """What differs between two tensors; empty where they agree. ``exact``: of one type, too."""
    if mine is None or theirs is None:
        return "" if mine is theirs else "one is None"
    if (exact and mine.dtype is not theirs.dtype) or tuple(mine.shape) != tuple(theirs.shape):
        return f"{mine.dtype} {tuple(mine.shape)}, not {theirs.dtype} {tuple(theirs.shape)}"
    if mine.device.type != "cuda":
        return f"on {mine.device}"
    a, b = array_of(mine), array_of(theirs)
    if b.dtype.kind in "biu":
        return "" if np.array_equal(a, b) else f"{int((a != b).sum())} of {a.size} elements"
    epsilon = EPSILON.get(a.real.dtype.name, 2.0**-10)
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    scale = max(float(np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)), 1.0)
    close = np.isclose(a, b, tolerance * epsilon, tolerance * epsilon * scale, equal_nan=True)
    if close.all():
        return ""
    worst = float(np.nanmax(np.abs(np.where(close, 0, a - b))))
    return f"{worst / scale / epsilon:.1f} epsilons"


def check(row: Row, case: Any, dtype: str, everything: bool, wide: bool) -> tuple[int, str]:
    """(comparisons made, what differs); ``wide``: from the CPU's results in float64."""
    gradient = row.gradient and dtype in row.gradient_dtypes
    order = 0 if not gradient else 2 if everything and row.second else 1
    wide = wide and dtype == "float32" and row.name not in _BITS
    rounded = [a.astype(dtype).astype("f8") if wide and a.dtype.kind == "f" else a for a in case]
    expected = run(row, rounded, "float64" if wide else dtype, "cpu", order)
    found = run(row, case, dtype, "cuda", order)
    if len(found) != len(expected):
        return 1, f"{len(found)} results, not {len(expected)}"
    tolerance = max(row.second_tolerance or row.tolerance, row.tolerance)
    differences = [compare(m, t, tolerance, not wide) for m, t in zip(found, expected, strict=True)]
    return len(found), "; ".join(d for d in differences if d)


def elementwise(row: Row) -> bool:
    """Whether a row's ops are all elementwise, made by one generator."""
    ops = [OPS[name] for name in row.ops.split() if name in OPS]
    return all(isinstance(op, Elementwise) and not isinstance(op, LibraryElementwise) for op in ops)


def on_host(row: Row) -> bool:
    """Whether a row's first op has no kernel of ours."""
    names = [name for name in row.ops.split() if name in OPS]
    return bool(names) and support_of(OPS[names[0]]).where in ("host", "library")


def chosen(row: Row, everything: bool, most: int | None = None) -> list[tuple[Any, str]]:
    """The cases of a row that are run, with their types."""
    most = _MOST[everything] if most is None else most
    small = [c for c in row.cases if sum(a.size for a in c) <= most]
    small = small or [min(row.cases, key=lambda c: sum(a.size for a in c))]
    if everything:
        return [(case, dtype) for dtype in row.dtypes for case in small]
    largest = max(small, key=lambda c: sum(a.size for a in c))
    return [(largest, "float32" if "float32" in row.dtypes else row.dtypes[0])]


def options_of() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--after", type=int, default=-1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def selected(options: argparse.Namespace) -> list[tuple[int, Row]]:
    """The rows to run, with their numbers in the table."""
    part, parts = map(int, options.part.split("/"))
    rows = [r for r in all_rows() if not options.names or r.name in options.names]
    found = []
    for number, row in enumerate(rows):
        if number % parts != part or number <= options.after or row.name in OTHERWISE:
            continue
        if options.kernels and (
            row.name in _SLOW or (number % _SHARE if elementwise(row) else on_host(row))
        ):
            continue
        if not number // parts % options.every:
            found.append((number, row))
    return found


def run_row(row: Row, options: argparse.Namespace) -> tuple[int, dict[str, str]]:
    """(comparisons made, what differs by case)."""
    count, different = 0, {}
    for case, dtype in chosen(row, options.all, _FEW if options.kernels or options.few else None):
        label = f"{row.name} {dtype} {[a.shape for a in case]}"
        try:
            made, difference = check(row, case, dtype, options.all, options.float64)
        except Exception as error:
            made, difference = 1, f"{type(error).__name__}: {error}"[:300]
            if options.verbose:
                traceback.print_exc()
        count += made
        if difference:
            different[label] = difference
    return count, different


def lost() -> bool:
    """Whether the device does nothing more for this process."""
    try:
        return bool((mt.ones(1, device="cuda") + 1).item() != 2)
    except Exception:
        return True


def main() -> None:
    options = options_of()
    warnings.simplefilter("ignore")
    cuda_simulator.install()
    importlib.import_module("mindtorch.torch.nn.functional")
    mt.backends.cudnn.allow_tf32 = False
    rows = selected(options)
    count, different, times = 0, {}, {}
    for place, (number, row) in enumerate(rows):
        told = {"row": number, "name": row.name, "left": len(rows) - place}
        if options.lines:
            print(json.dumps(told), flush=True)
        start = time.perf_counter()
        made, found = run_row(row, options)
        count += made
        different.update(found)
        times[f"{number} {row.name}"] = time.perf_counter() - start
        if options.lines:
            told |= {"left": len(rows) - place - 1, "count": made, "different": found}
            print(json.dumps(told), flush=True)
            if found and lost():
                sys.exit("the device is lost")
    slowest = dict(sorted(times.items(), key=lambda item: -item[1])[:12])
    print(json.dumps({
        "count": count, "different": different, "slowest": slowest, "done": True,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
