"""The table of gaps is free of rows for what exists, quoted in errors, and shown in the docs."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import mindtorch.engine.ops as engine_ops
from mindtorch.engine.op import OPS, find_kernel
from mindtorch.known_gaps import GAPS, as_markdown
from mindtorch.tools.docs.cuda_coverage import functions, table
from tests.support.paths import ROOT

# what the kernels of CUDA share among themselves
SHARED = {"arrays", "attention_products", "block_reduce", "cublas", "cudnn", "device_math",
          "driver", "driver_errors", "driver_launch", "errors", "fast_division", "gemm", "graphs",
          "issue", "kernel_cache", "launch", "library_calls", "memory",
          "merge_sort", "nccl", "philox", "row_statistics", "shared_library",
          "streams", "toolkit"}  # fmt: skip


def test_no_row_for_a_kernel_that_exists() -> None:
    """A gap that was filled leaves the table."""
    for gap in GAPS:
        if gap.kind in ("kernel", "host") and "." in gap.name:
            module, _, name = gap.name.partition(".")
            assert name not in functions(module), gap


def test_every_row_of_the_host_is_met() -> None:
    """A row says of some op that it runs on the host, or does so without cupy."""
    reasons = {row.kernel.partition(".")[0] for row in table()
               if row.where in ("host", "library")}  # fmt: skip
    for gap in GAPS:
        if gap.kind == "host" and "." in gap.name:
            assert gap.name.partition(".")[0] in reasons, gap


def test_cuda_files_have_cpu_namesakes() -> None:
    """Same file, same name per device."""
    names = {path.stem for path in (ROOT / "kernels" / "cpu").rglob("*.py")}
    for path in (ROOT / "kernels" / "cuda").glob("[!_]*.py"):
        assert path.stem in names | SHARED


def test_the_error_quotes_the_reason() -> None:
    """A user who meets a gap reads why."""
    for module in pkgutil.iter_modules(engine_ops.__path__):
        importlib.import_module(f"mindtorch.engine.ops.{module.name}")
    op: Any = OPS["linalg_eig"]
    with pytest.raises(NotImplementedError, match=r"'cuda' device.*vendor"):
        find_kernel(op, "cuda")


def test_the_page_is_current() -> None:
    """docs/gaps.md is what the table says now."""
    assert (ROOT / "docs" / "gaps.md").read_text() == as_markdown()
