"""The report as one page that needs no network: `page.html` with the result's data put into it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mindtorch.kernels.support.atomic_file import write_whole

from .findings import EventRow, StepRow, tolerance_at
from .statistics import ULP_EDGES
from .verdict import Outcome, plain_difference

__all__ = ["page", "write_page"]

MOST_STEPS = 4000


def step_data(row: StepRow) -> dict[str, Any]:
    return {key: value for key, value in asdict(row).items() if key != "epoch"}


def row_data(row: EventRow) -> dict[str, Any]:
    return asdict(row)


def page_data(outcome: Outcome) -> dict[str, Any]:
    """Everything that the page shows."""
    agreement, detail = outcome.agreement, outcome.detail
    stride = -(-len(agreement.steps) // MOST_STEPS) or 1
    return {
        "script": outcome.script,
        "names": outcome.names,
        "versions": outcome.versions,
        "model": outcome.model,
        "kind": outcome.kind,
        "words": outcome.words(),
        "phases": [
            {
                "phase": row.phase,
                "because": row.because,
                "difference": plain_difference(row.difference) if row.difference else None,
                "real": bool(row.difference and row.difference.is_real),
            }
            for row in outcome.phases()
        ],
        "tolerance": agreement.tolerance,
        "allowed": tolerance_at(detail.full_step, detail.tolerance),
        "full_step": detail.full_step,
        "edges": ULP_EDGES,
        "steps": [step_data(row) for row in agreement.steps[::stride]],
        "rows_left_out": str(detail.rows_left_out),
        "rows": [row_data(row) for row in detail.rows],
        "differences": [plain_difference(each) for each in outcome.differences[:200]],
        "counts": {
            name: asdict(getattr(agreement, name))
            for name in (
                "parameters",
                "buffers",
                "batches",
                "masks",
                "generators",
                "updates",
                "final",
            )
        },
    }


def without_odd_numbers(value: Any) -> Any:
    """JSON has no NaN and no infinity: NaN becomes null, infinity a number beyond all others."""
    if isinstance(value, float):
        if value != value:
            return None
        return max(-1e308, min(1e308, value))
    if isinstance(value, dict):
        return {key: without_odd_numbers(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_odd_numbers(each) for each in value]
    return value


def page(outcome: Outcome) -> str:
    """The page's text."""
    template = Path(__file__).with_name("report.html").read_text(encoding="utf-8")
    data = json.dumps(without_odd_numbers(page_data(outcome)), allow_nan=False)
    # Within a script element only "</" and "<!--" could end the data.
    return template.replace("@DATA@", data.replace("<", "\\u003c"))


def write_page(outcome: Outcome, path: Path) -> None:
    write_whole(path, page(outcome))
