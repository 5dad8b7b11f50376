"""Time matrix products of the workloads: ours, OpenBLAS's and PyTorch's (MKL's), in one process.

The three take turns; printed are GFLOP/s of the smallest times. On one thread these are
times of the processor, which a busy machine disturbs less; on several, the wall's. The core's peak
is that of a register tile whose operands stay in the first cache.

    python benchmarks/products.py [--rounds 15] [--threads 1 2] [--only "GPT"] [--dtype float64]
    python benchmarks/products.py --precision high  # float32 as compiled functions have it
    python benchmarks/products.py --tune  # measures kernels/cpu/matrix_products/product_table.py

On a processor that has AVX-512, AVX2's tables are measured with ``--tune --vector 32`` and, in the
environment, ``NUMBA_CPU_NAME=haswell MINDTORCH_BLAS_CORE=Haswell``.

Tuning takes some minutes on one core. A form of ours is written where it is 3 % faster than
OpenBLAS's product; where PyTorch's sums have the order of our tiles' on AMD's processors, if it is
not 3 % slower, or 10 % where OpenBLAS's sums have another.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from mindtorch.kernels.codegen.jit import entry_point, kernel  # noqa: E402
from mindtorch.kernels.cpu import matmul, processor  # noqa: E402
from mindtorch.kernels.cpu.amx_products import BFLOAT16  # noqa: E402
from mindtorch.kernels.cpu.matrix_products import (  # noqa: E402
    product_shapes,
    product_table,
    products,
)
from mindtorch.kernels.cpu.matrix_products.product_tile import (  # noqa: E402
    address_of,
    tile_shape,
    tiles_of,
)
from mindtorch.kernels.cpu.threads import thread_pool  # noqa: E402
from mindtorch.kernels.cpu.vectors import simd  # noqa: E402
from mindtorch.kernels.support import precision  # noqa: E402

Run = Callable[[], Any]
PAGE = ROOT / "docs" / "performance.md"
MAKERS = {"GenuineIntel": "Intel", "AuthenticAMD": "AMD"}  # of processors that have a table there
TABLE = ROOT / "kernels" / "cpu" / "product_table.py"
ORDERS = ("nn", "nt", "tn", "tt")
# a size of each class of the table
SIZES = ((2, 8, 16, 32, 64, 128, 768), (2, 10, 16, 32, 64, 128, 1024), (8, 32, 128, 512, 2048))


class Shape(NamedTuple):
    """A product: rows and columns of the result, terms of a sum; "t" for a transposed operand."""

    name: str
    m: int
    n: int
    k: int
    order: str
    batch: int = 1


SHAPES = (
    Shape("MLP, first layer", 64, 512, 784, "nt"),
    Shape("MLP, second layer", 64, 512, 512, "nt"),
    Shape("MLP, last layer", 64, 10, 512, "nt"),
    Shape("MLP, last layer, input gradient", 64, 512, 10, "nn"),
    Shape("MLP, second layer, input gradient", 64, 512, 512, "nn"),
    Shape("MLP, first layer, weight gradient", 512, 784, 64, "tn"),
    Shape("MLP, second layer, weight gradient", 512, 512, 64, "tn"),
    Shape("MLP, last layer, weight gradient", 10, 512, 64, "tn"),
    Shape("LeNet, first linear layer", 64, 120, 400, "nt"),
    Shape("LeNet, first linear layer, input gradient", 64, 400, 120, "nn"),
    Shape("LeNet, first linear layer, weight gradient", 120, 400, 64, "tn"),
    Shape("GPT, queries, keys and values", 2048, 384, 128, "nt"),
    Shape("GPT, wide layer", 2048, 512, 128, "nt"),
    Shape("GPT, narrow layer", 2048, 128, 512, "nt"),
    Shape("GPT, wide layer, input gradient", 2048, 128, 512, "nn"),
    Shape("GPT, wide layer, weight gradient", 512, 128, 2048, "tn"),
    Shape("GPT, narrow layer, weight gradient", 128, 512, 2048, "tn"),
    Shape("GPT, head", 2048, 65, 128, "nt"),
    Shape("GPT, scores", 128, 128, 32, "nt", 64),
    Shape("GPT, values", 128, 32, 128, "nn", 64),
    Shape("ResNet-18 im2col, 64 channels", 64, 1024, 576, "nn"),
    Shape("ResNet-18 im2col, 128 channels", 128, 256, 1152, "nn"),
    Shape("ResNet-18 im2col, 256 channels", 256, 64, 2304, "nn"),
    Shape("ResNet-18 im2col, 512 channels", 512, 16, 4608, "nn"),
    Shape("ResNet-18 im2col, weight gradient", 64, 576, 1024, "nt"),
    Shape("ResNet-18 im2col, input gradient", 1152, 256, 128, "tn"),
    Shape("ViT, queries, keys and values", 1576, 1152, 384, "nt"),
    Shape("ViT, narrow layer", 1576, 384, 1536, "nt"),
    Shape("ViT, wide layer, weight gradient", 1536, 384, 1576, "tn"),
    Shape("BERT, wide layer", 512, 3072, 768, "nt"),
    Shape("BERT, narrow layer", 512, 768, 3072, "nt"),
    Shape("BERT, wide layer, input gradient", 512, 768, 3072, "nn"),
    Shape("BERT, wide layer, weight gradient", 3072, 768, 512, "tn"),
    Shape("LSTM, one step", 20, 1600, 400, "nt"),
    Shape("LSTM, all steps", 700, 1600, 400, "nt"),
    Shape("LSTM, weight gradient", 1600, 400, 700, "tn"),
    Shape("DLRM, second layer", 2048, 256, 512, "nt"),
    Shape("DLRM, interaction", 27, 27, 64, "nt", 128),
    Shape("GPT-2, 16 positions", 16, 3072, 768, "nt"),
    Shape("1,024 cubed", 1024, 1024, 1024, "nn"),
)


class Operands:
    """Two operands of a product and its result, in memory as the order says."""

    def __init__(self, shape: Shape, dtype: str) -> None:
        rng = np.random.default_rng(0)
        _, m, n, k, order, batch = shape
        lead = (batch,) if batch > 1 else ()

        def made(rows: int, columns: int, turned: bool) -> Any:
            size = (*lead, columns, rows) if turned else (*lead, rows, columns)
            array = rng.standard_normal(size).astype(dtype)
            return array.swapaxes(-1, -2) if turned else array

        self.a, self.b = made(m, k, order[0] == "t"), made(k, n, order[1] == "t")
        self.out = np.empty((*lead, m, n), dtype)
        self.work = 2 * m * n * k * batch

    def plan(self) -> Run:
        """The product as an op runs it now."""
        matmul._bound.cache_clear()
        layouts = [(x.shape, x.strides, x.dtype) for x in (self.out, self.a, self.b)]
        run: Any = matmul._bound(matmul.matmul, *layouts)
        if run is None:  # through float32
            return lambda: matmul.matmul(self.out, self.a, self.b)
        flat = self._flat()
        return lambda: run(*flat)

    def _flat(self) -> tuple[Any, ...]:
        return self.out.reshape(-1), *(self._based(x).reshape(-1) for x in (self.a, self.b))

    @staticmethod
    def _based(array: Any) -> Any:
        return array if array.flags.c_contiguous else array.swapaxes(-1, -2)

    def by_blas(self) -> Run:
        """The product through OpenBLAS."""
        os.environ["MINDTORCH_PRODUCTS"] = "0"
        try:
            return self.plan()
        finally:
            del os.environ["MINDTORCH_PRODUCTS"]

    def by_form(self, letter: str) -> Run:
        """The product in one form."""
        steps = [
            product_shapes.Matrix(*(s // x.itemsize for s in x.strides[-2:]))
            for x in (self.a, self.b)
        ]
        (m, n), k = self.out.shape[-2:], self.a.shape[-1]
        run: Any = products.plan(self.out.dtype, (m, n, k), *steps, letter=letter)
        flat = self._flat()
        return lambda: run(*flat)

    def by_torch(self, torch: Any) -> Run:
        """The product by PyTorch."""
        given = (self.out, self.a, self.b)
        if self.out.dtype == BFLOAT16:
            out, a, b = (torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) for x in given)
        else:
            out, a, b = map(torch.from_numpy, given)
        return lambda: torch.matmul(a, b, out=out)


def fastest(runs: dict[str, Run], work: float, rounds: int, clock: Any) -> dict[str, float]:
    """Seconds of the smallest of some batches of calls that take turns."""
    count = max(min(int(4e7 / work), 2000), 1)
    best = dict.fromkeys(runs, math.inf)
    for run in runs.values():
        run()
    for _ in range(rounds):
        for name, run in runs.items():
            began = clock()
            for _ in range(count):
                run()
            best[name] = min(best[name], (clock() - began) / count)
    return best


def peak(dtype: str) -> float:
    """GFLOP/s of the largest tile over operands that stay in the first cache."""
    (rows, vectors), width, count = tile_shape(simd.vector_bytes()), simd.lanes(dtype), 100
    tile, columns = tiles_of(rows, vectors, width, np.dtype(dtype)), vectors * width

    @kernel
    def run(out: Any, a: Any, b: Any, start: Any, repeated: int) -> None:
        places = address_of(out), address_of(a), address_of(b), address_of(start)
        for _ in range(repeated):
            tile(rows, vectors, count, places[1], 1, rows, places[2], columns, places[0], columns,
                 columns, places[3], 0, places[1], 0, places[1], 0, out.dtype.type(1))

    arrays = [np.zeros(size, dtype) for size in (rows * columns, rows * count, count * columns,
                                                  columns)]  # fmt: skip
    call = entry_point(run, f"void({', '.join([f'{dtype}[::1]'] * 4)}, int64)")
    work = 2 * rows * columns * count * 500
    best = fastest({"": lambda: call(*arrays, 500)}, work, 40, time.thread_time)
    return work / best[""] / 1e9


def compare(arguments: Any) -> list[str]:
    """The table of all shapes."""
    import torch

    short = arguments.dtype == "bfloat16"
    precision.tf32 = arguments.precision != "highest"
    top = peak("float32" if short else arguments.dtype)
    lines = [
        f"Peak of a core{' in float32' * short}, measured: {top:.0f} GFLOP/s.", "",
        "| product | rows x columns x terms | threads | ours | OpenBLAS | torch | ours / OpenBLAS "
        "| ours / torch |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    shapes = [s for s in SHAPES if not arguments.only or arguments.only in s.name]
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        thread_pool.set_num_threads(threads)
        clock = time.thread_time if threads == 1 else time.perf_counter
        ratios: list[tuple[float, float]] = []
        for shape in shapes:
            given = Operands(shape, arguments.dtype)
            runs = {"ours": given.plan(), "blas": given.by_blas(), "torch": given.by_torch(torch)}
            best = fastest(runs, given.work, arguments.rounds, clock)
            rates = {name: given.work / seconds / 1e9 for name, seconds in best.items()}
            ratios.append((rates["ours"] / rates["blas"], rates["ours"] / rates["torch"]))
            size = f"{shape.m} x {shape.n} x {shape.k} {shape.order}"
            size = f"{shape.batch} of {size}" if shape.batch > 1 else size
            lines.append(
                f"| {shape.name} | {size} | {threads} | {rates['ours']:.0f} | {rates['blas']:.0f} "
                f"| {rates['torch']:.0f} | {ratios[-1][0]:.2f} | {ratios[-1][1]:.2f} |"
            )
            print(lines[-1], flush=True)
        blas, mkl = (statistics.geometric_mean(column) for column in zip(*ratios, strict=True))
        lines.append(f"| geometric mean | | {threads} | | | | **{blas:.2f}** | **{mkl:.2f}** |")
        print(lines[-1], flush=True)
    return lines


def letter_for(size: tuple[int, int, int], order: str, dtype: str, rounds: int) -> str:
    """The fastest form of a product, OpenBLAS's included."""
    m, n, k = size
    given = Operands(Shape("", m, n, k, order), dtype)
    letters = "p" + "r" * (order[1] == "n") + "d" * (order == "nt")
    letters += letters.upper() * (order[0] == "t")
    runs = {"b": given.by_blas(), **{letter: given.by_form(letter) for letter in letters}}
    best = fastest(runs, given.work, rounds, time.thread_time)
    # the sums of tiles have PyTorch's order where neither operand is thin, those of lanes have not,
    # OpenBLAS's only up to one block
    like_torch = m > 3 and n > 11
    weights = {"b": 1.0, "d": 1.15 if like_torch else 1.03}
    kept = 0.9 if products.block_of(k) < k and products.longest_block() == 192 else 0.97
    weights |= dict.fromkeys("prPR", kept if like_torch else 1.03)
    return min(best, key=lambda letter: best[letter] * weights[letter])


def tune(rounds: int, dtypes: Any, orders: Any) -> None:
    """Measure the table for this processor's instruction set, and write it."""
    thread_pool.set_num_threads(1)
    forms = dict(product_table.FORMS)
    for dtype, order in itertools.product(dtypes, orders):
        lines = []
        for m in SIZES[0]:
            lines.append(" ".join(
                "".join(letter_for((m, n, k), order, dtype, rounds) for k in SIZES[2])
                for n in SIZES[1]
            ))  # fmt: skip
            print(dtype, order, m, lines[-1], flush=True)
        forms[f"{products.instruction_set()} {dtype} {order}"] = tuple(lines)
    head = TABLE.read_text().split("FORMS: dict")[0]
    text = [f"{head}FORMS: dict[str, tuple[str, ...]] = {{"]
    for key, rows in sorted(forms.items()):
        text += [f'    "{key}": (', *(f'        "{row}",' for row in rows), "    ),"]
    TABLE.write_text("\n".join([*text, "}", ""]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--only", help="shapes whose name has this in it")
    parser.add_argument("--dtype", choices=("float32", "float64", "bfloat16"), nargs="+",
                        default=["float32"])  # fmt: skip
    parser.add_argument("--precision", choices=("highest", "high"), default="highest",
                        help="as of torch.set_float32_matmul_precision")  # fmt: skip
    parser.add_argument("--tune", action="store_true", help="write the table of forms")
    parser.add_argument("--orders", choices=ORDERS, nargs="+", default=ORDERS, help="to tune")
    parser.add_argument("--vector", type=int, choices=(16, 32, 64), help="bytes of a vector")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    arguments = parser.parse_args()
    if arguments.vector:
        simd.vector_bytes = lambda: arguments.vector
    if arguments.tune:
        tune(arguments.rounds, arguments.dtype, arguments.orders)
        return
    arguments.dtype = arguments.dtype[0]
    lines = compare(arguments)
    if arguments.write:
        maker = MAKERS[processor.vendor()]
        begin, end = f"<!-- products measured, {maker} -->", f"<!-- products end, {maker} -->"
        page = PAGE.read_text()
        before, after = page.split(begin)[0], page.split(end)[1]
        PAGE.write_text("\n".join([f"{before}{begin}", *lines, f"{end}{after}"]))


if __name__ == "__main__":
    main()
