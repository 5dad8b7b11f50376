"""``python -m mindtorch.tools.docs`` writes anew what is made from ops, functions and gaps."""

from __future__ import annotations

from pathlib import Path

from mindtorch import known_gaps

from . import cuda_coverage, op_list, stubs

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Write the pages cuda-ops and gaps, the list in engine/ops/__init__.py, and the stubs."""
    (ROOT / "docs" / "cuda-ops.md").write_text(cuda_coverage.as_markdown())
    (ROOT / "docs" / "gaps.md").write_text(known_gaps.as_markdown())
    op_list.PAGE.write_text(op_list.with_list(op_list.PAGE.read_text()))
    for path, text in stubs.stubs().items():
        path.write_text(text)


if __name__ == "__main__":
    main()
