"""Options of ECharts' charts, and what of long series they are given.

Names that come from files are values in these dicts and never keys: NiceGUI takes a key that begins
with a colon for JavaScript. Tooltips are drawn as text, not as HTML.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "PALETTE", "Line", "bands", "bars", "base", "heatmap", "lines", "parallel", "smoothed",
    "thinned",
]  # fmt: skip

# Okabe and Ito's, which colour-blind people tell apart; black is no good on dark pages
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#7f7f7f")
_SCALE = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")

_SHORT = "v => v && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential(1) : String(v)"


class Line(NamedTuple):
    """A series; `faint` ones are drawn thin and are not in the tooltip."""

    name: str
    color: str
    x: Any
    y: Any
    faint: bool = False


def thinned(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """At most about `most` points that keep each stretch's extremes, and the ends."""
    if len(x) <= most:
        return x, y
    keep = {0, len(x) - 1}
    held = np.where(np.isfinite(y), y, np.nan)
    for part in np.array_split(np.arange(len(x)), max(most // 2, 1)):
        values = held[part]
        if np.isnan(values).all():
            keep.add(int(part[0]))
            continue
        keep |= {int(part[np.nanargmin(values)]), int(part[np.nanargmax(values)])}
    order = sorted(keep)
    return x[order], y[order]


def smoothed(y: np.ndarray, weight: float) -> np.ndarray:
    """Exponential means: each value is (1 - weight) of the new one and weight of those before,
    divided by the sum of all weights so far. What is not finite is passed over."""
    result, mean, total = np.empty_like(y, dtype=float), 0.0, 0.0
    for at, value in enumerate(y):
        if math.isfinite(value):
            mean = weight * mean + (1 - weight) * value
            total = weight * total + (1 - weight)
            result[at] = mean / total
        else:
            result[at] = value
    return result


def number(value: float) -> float | None:
    """For JSON, which has neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


def base(dark: bool) -> dict[str, Any]:
    """What all charts have in common."""
    return {
        "backgroundColor": "transparent",
        "animation": False,
        "color": list(PALETTE),
        "textStyle": {"color": ink(dark), "fontSize": 12},
        "aria": {"enabled": True},
        "grid": {"left": 64, "right": 20, "top": 16, "bottom": 36},
        "tooltip": {"renderMode": "richText", "confine": True, "trigger": "axis"},
    }


def ink(dark: bool) -> str:
    """The colour of text."""
    return "#e0e0e0" if dark else "#333333"


def _axis(dark: bool, kind: str = "value", **more: Any) -> dict[str, Any]:
    line = {"lineStyle": {"color": "#555" if dark else "#ddd"}}
    label = {"color": ink(dark)} | ({":formatter": _SHORT} if kind in ("value", "log") else {})
    return {"type": kind, "axisLabel": label, "splitLine": line,
            "nameTextStyle": {"color": ink(dark)}, **more}  # fmt: skip


def lines(
    given: Sequence[Line], dark: bool, x_name: str = "step", log: bool = False, when: bool = False
) -> dict[str, Any]:
    """A chart of lines; `when`: x is milliseconds since 1970."""
    options = base(dark)
    options["xAxis"] = _axis(dark, "time" if when else "value", name=x_name, nameGap=22,
                             nameLocation="middle", min="dataMin", max="dataMax")  # fmt: skip
    options["yAxis"] = _axis(dark, "log" if log else "value", scale=True)
    options["series"] = [
        {
            "type": "line", "name": each.name, "showSymbol": len(each.x) == 1, "symbolSize": 6,
            "data": [[number(x), number(y)] for x, y in zip(each.x, each.y, strict=True)],
            "lineStyle": {"width": 1 if each.faint else 2, "opacity": 0.25 if each.faint else 1},
            "itemStyle": {"color": each.color}, "silent": each.faint,
            **({"tooltip": {"show": False}} if each.faint else {}),
        }
        for each in given
    ]  # fmt: skip
    return options


def bands(
    steps: Sequence[int], rows: Sequence[Sequence[float]], names: Sequence[str], dark: bool,
    color: str,
) -> dict[str, Any]:  # fmt: skip
    """Quantiles over steps: `rows` from the lowest to the highest, the middle one drawn thick."""
    middle = len(rows) // 2
    given = [Line(name, color, steps, row) for name, row in zip(names, rows, strict=True)]
    options = lines(given, dark)
    for at, series in enumerate(options["series"]):
        apart = abs(at - middle) / max(middle, 1)
        series["lineStyle"] = {"width": 2 if at == middle else 1, "opacity": 1 - 0.7 * apart}
    return options


def heatmap(
    columns: Sequence[Any], rows: Sequence[Any], cells: Sequence[Sequence[Any]], dark: bool,
    x_name: str = "step", words: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Cells (column, row, value) in colours."""
    options = base(dark)
    values = [each[2] for each in cells if each[2] is not None]
    options["tooltip"]["trigger"] = "item"
    options["grid"] |= {"left": 220 if any(isinstance(x, str) for x in rows) else 72, "right": 96}
    options["xAxis"] = _axis(dark, "category", data=list(columns), name=x_name, nameGap=22,
                             nameLocation="middle")  # fmt: skip
    options["yAxis"] = _axis(dark, "category", data=list(rows))
    options["yAxis"]["axisLabel"] |= {"width": 200, "overflow": "truncate"}
    options["visualMap"] = {
        "min": min(values, default=0), "max": max(values, default=1), "calculable": True,
        "right": 0, "top": 16, "textStyle": {"color": ink(dark)}, "precision": 2,
        "inRange": {"color": list(_SCALE)}, "text": [words, ""],
    }  # fmt: skip
    options["series"] = [{"type": "heatmap", "data": [list(each) for each in cells],
                          "progressive": 0, "name": words}]  # fmt: skip
    return options


def bars(
    labels: Sequence[Any], stacks: Sequence[tuple[str, Sequence[float]]], dark: bool,
    across: bool = False, unit: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Stacked bars over labels; `across`: they lie, the first label on top."""
    options = base(dark)
    options["legend"] = {"textStyle": {"color": ink(dark)}, "top": 0}
    options["grid"] |= {"top": 40, "left": 190 if across else 64}
    names = _axis(dark, "category", data=list(labels), inverse=across)
    names["axisLabel"] |= {"width": 170, "overflow": "truncate"}
    values = _axis(dark, name=unit, nameLocation="middle", nameGap=24 if across else 48)
    options["xAxis"], options["yAxis"] = (values, names) if across else (names, values)
    options["series"] = [
        {"type": "bar", "stack": "all", "name": name, "data": [number(x) for x in row],
         "barMaxWidth": 24}
        for name, row in stacks
    ]  # fmt: skip
    return options


def _spans_decades(values: Sequence[Any]) -> bool:
    held = [x for x in values if x is not None]
    return bool(held) and min(held) > 0 and max(held) / min(held) >= 50


def parallel(
    names: Sequence[str], rows: Sequence[Sequence[Any]], labels: Sequence[str],
    colors: Sequence[str], dark: bool,
) -> dict[str, Any]:  # fmt: skip
    """Parallel coordinates: an axis for each name, a line for each row; texts make categories."""
    options = base(dark)
    axes = []
    for at, name in enumerate(names):
        held = [row[at] for row in rows]
        axis: dict[str, Any] = {"dim": at, "name": name if len(name) < 25 else f"{name[:24]}…"}
        if any(isinstance(value, str) for value in held):
            axis |= {"type": "category", "data": sorted({str(x) for x in held if x is not None})}
        else:
            axis |= {"type": "log" if _spans_decades(held) else "value", "scale": True}
        axes.append(axis)
    options["parallelAxis"] = axes
    options["parallel"] = {
        "left": 60, "right": 90, "top": 40, "bottom": 30,
        "parallelAxisDefault": {
            "nameTextStyle": {"color": ink(dark)},
            "axisLabel": {"color": ink(dark), "width": 90, "overflow": "truncate"},
            "axisLine": {"lineStyle": {"color": ink(dark)}},
        },
    }  # fmt: skip
    options["tooltip"]["trigger"] = "item"
    options["series"] = [{
        "type": "parallel", "smooth": False, "inactiveOpacity": 0.05, "activeOpacity": 1,
        "data": [
            {"name": label, "value": ["-" if x is None else x for x in row],
             "lineStyle": {"color": color, "width": 2, "opacity": 0.8}}
            for row, label, color in zip(rows, labels, colors, strict=True)
        ],
    }]  # fmt: skip
    return options
