"""``python -m mindtorch.tools.docs`` writes what is made from the ops' declarations anew."""

from __future__ import annotations

from pathlib import Path

from . import cuda_coverage, op_list

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Write docs/cuda-ops.md, and the list in engine/ops/__init__.py."""
    (ROOT / "docs" / "cuda-ops.md").write_text(cuda_coverage.as_markdown())
    op_list.PAGE.write_text(op_list.with_list(op_list.PAGE.read_text()))


if __name__ == "__main__":
    main()
