"""TorchScript's settings of fusion: kept and given back. The compiler decides what is fused."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

__all__ = ["enable_onednn_fusion", "onednn_fusion_enabled", "set_fusion_strategy", "strict_fusion"]

_KINDS = ("STATIC", "DYNAMIC")


class _Settings:
    """What was set last; at first what torch begins with."""

    strategy: Sequence[tuple[str, int]] = (("STATIC", 2), ("DYNAMIC", 10))
    onednn = False


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keep how often TorchScript would specialise; gives what was set before.

    Args:
        strategy: pairs of "STATIC" or "DYNAMIC" and a number. The compiler here makes a kernel for
            known sizes first and one for all sizes afterwards, whatever is set.

    Raises:
        TypeError: no sequence of pairs of a string and a whole number.
        ValueError: another string.
    """
    if isinstance(strategy, str) or not all(
        isinstance(each, (tuple, list)) and len(each) == 2 and isinstance(each[0], str)
        and isinstance(each[1], int) for each in strategy
    ):  # fmt: skip
        raise TypeError("_jit_set_fusion_strategy(): incompatible function arguments.")
    if any(kind not in _KINDS for kind, _ in strategy):
        wrong = next(kind for kind, _ in strategy if kind not in _KINDS)
        raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {wrong}")
    before, _Settings.strategy = list(_Settings.strategy), [(k, n) for k, n in strategy]
    return before


def enable_onednn_fusion(enabled: bool) -> None:
    """Keep whether oneDNN's fusion is ``enabled``; there is no oneDNN here."""
    _Settings.onednn = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What :func:`enable_onednn_fusion` was told last; False at first."""
    return _Settings.onednn


class strict_fusion:  # noqa: N801
    """A block of a script in which all is to be fused; outside of scripts it warns, as torch's."""

    def __init__(self) -> None:
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        pass
