"""Rounding of each element, and its fraction."""

from __future__ import annotations

from ..dtype_support import without
from .base import Elementwise, refuse_complex
from .elementwise import no_slope

floor = Elementwise(
    "floor", (no_slope,), refuses=refuse_complex("floor"), dtypes=without("bool", "floor_vml_cpu")
)
ceil = Elementwise(
    "ceil", (no_slope,), refuses=refuse_complex("ceil"), dtypes=without("bool", "ceil_vml_cpu")
)
round_ = Elementwise(
    "round", (no_slope,), scalar="round_", dtypes=without("bool complex", "round_vml_cpu")
)
trunc = Elementwise(
    "trunc", (no_slope,), refuses=refuse_complex("trunc"), dtypes=without("bool", "trunc_vml_cpu")
)
frac = Elementwise("frac", (lambda g: g,), dtypes=without("whole complex", "frac_cpu"))
