"""torch's functions by subject; each registers what it defines (see :mod:`.._api.publish`)."""

from __future__ import annotations

import importlib

SUBJECTS = (
    "creation", "from_data", "sequences", "shape", "parts", "copies", "indexing", "random",
    "gathering", "pointwise", "combinations", "activations", "complex_numbers", "comparison",
    "reduction", "order_statistics", "sorting", "histogram", "scan", "linear_algebra", "distances",
    "factors", "operators", "queries", "foreach", "statistics", "windows", "spectral", "stacking",
    "segments", "fake_quantization", "quantized_tensors", "rare_methods",
)  # fmt: skip


def load() -> None:
    """Import every subject, so that the registry is complete."""
    for subject in SUBJECTS:
        try:
            importlib.import_module(f"{__name__}.{subject}")
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(f"{__name__}.{subject}"):
                raise
