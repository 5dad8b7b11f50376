"""Torch's functions under MindSpore's keywords."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..common.tensor import adopting

_KEYWORDS = {
    "axis": "dim", "keepdims": "keepdim", "keep_dims": "keepdim", "x": "input", "input_x": "input",
}  # fmt: skip


def named(function: Callable[..., Any], **keywords: str) -> Callable[..., Any]:
    """``function`` of torch's that also knows MindSpore's keywords: ``axis`` for ``dim``,
    ``keepdims`` for ``keepdim``, ``x`` for ``input``, and those of ``keywords``."""
    words = {**_KEYWORDS, **keywords}
    adopted = adopting(function)

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return adopted(*args, **{words.get(name, name): value for name, value in kwargs.items()})

    return call
