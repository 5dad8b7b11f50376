"""The table of gaps is complete for kernels, free of rows for what exists, and shown in the
docs."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import mindtorch.engine.ops as engine_ops
import mindtorch.kernels.cpu as cpu
from mindtorch.engine.core import OPS, find_kernel
from mindtorch.engine.gaps import GAPS, as_markdown, reason_for

ROOT = Path(__file__).resolve().parent.parent


def _has_cuda_module(name: str) -> bool:
    return (ROOT / "kernels" / "cuda" / f"{name}.py").exists()


def test_every_kernel_has_a_cuda_file_or_a_row() -> None:
    """Otherwise an op would fail on a device without a reason."""
    for module in pkgutil.iter_modules(engine_ops.__path__):
        importlib.import_module(f"mindtorch.engine.ops.{module.name}")
    families = {op.kernel.partition(".")[0] for op in OPS.values() if op.kernel}
    missing = {f for f in families if not _has_cuda_module(f) and not reason_for(f + ".x", "cuda")}
    assert missing == set()


def test_no_row_for_a_kernel_that_exists() -> None:
    """A gap that was filled leaves the table."""
    for gap in GAPS:
        if gap.kind == "kernel":
            assert not _has_cuda_module(gap.name.partition(".")[0]), gap


def test_cuda_files_have_cpu_namesakes() -> None:
    """Same file, same name per device."""
    names = {m.name for m in pkgutil.iter_modules(cpu.__path__)}
    for path in (ROOT / "kernels" / "cuda").glob("[!_]*.py"):
        assert path.stem in names


def test_the_error_quotes_the_reason() -> None:
    """A user who meets a gap reads why."""
    importlib.import_module("mindtorch.engine.ops.convolution")
    op: Any = OPS["convolution"]
    with pytest.raises(NotImplementedError, match=r"'cuda' device.*vendor"):
        find_kernel(op, "cuda")


def test_the_page_is_current() -> None:
    """docs/gaps.md is what the table says now."""
    assert (ROOT / "docs" / "gaps.md").read_text() == as_markdown()
