"""torch.cuda.jiterator: elementwise functions written in CUDA C++."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Any]:
    """A function for the last template in ``code_string``; calling it needs a CUDA device."""
    return _create_multi_output_jit_fn(code_string, 1, **kwargs)


def _create_multi_output_jit_fn(
    code_string: str, num_outputs: int, **kwargs: Any
) -> Callable[..., Any]:
    """:func:`_create_jit_fn` of a template that writes several results by reference."""
    if not re.search(r"template\s*<[^>]+>\s*\w+\s+\w+\s*\([^)]*\)\s*\{", code_string):
        raise Exception(f"Couldn't parse code, please check correctness:\n {code_string}")

    def function(*tensors: Any, **overrides: Any) -> Any:
        raise AssertionError(
            "Jiterator is only supported on CUDA and ROCm GPUs, none are available."
        )

    return function
