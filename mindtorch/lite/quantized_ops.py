"""Ops on quantised tensors."""

from __future__ import annotations

from typing import Any

__all__ = ["QUANTIZED_OPS"]

QUANTIZED_OPS: dict[str, Any] = {}
