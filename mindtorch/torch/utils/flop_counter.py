"""Counting floating-point operations: a mode that sees every call, which is not available."""

from __future__ import annotations

from mindtorch.torch._absent import absent_class, absent_function

__all__ = ["FlopCounterMode", "register_flop_formula"]

_WHY = "no mode sees the calls; torch.profiler times them"

FlopCounterMode = absent_class("torch.utils.flop_counter", "FlopCounterMode", _WHY)
register_flop_formula = absent_function("torch.utils.flop_counter", "register_flop_formula", _WHY)
