"""Operators that run subgraphs, and those of sequences and optional values."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch import torch

from .errors import ONNXError
from .registry import Numbers, operator
from .values import number, numbers, tensor, torch_type


@operator("If")
def _if(condition: Numbers, *, then_branch: Any, else_branch: Any, graph: Any) -> Any:
    return tuple(graph(then_branch if bool(number(condition)) else else_branch, []))


@operator("Loop")
def _loop(
    most: Numbers = None, goes_on: Numbers = None, *carried: Any, body: Any, graph: Any
) -> Any:
    limit = None if most is None else number(most)
    going = True if goes_on is None else bool(number(goes_on))
    scanned: list[list[Any]] | None = None
    state, i = list(carried), 0
    while going and (limit is None or i < limit):
        made = graph(body, [np.array(i, np.int64), np.array(True), *state])
        going = bool(number(made[0]))
        state, rows = made[1 : 1 + len(state)], made[1 + len(state) :]
        scanned = [[] for _ in rows] if scanned is None else scanned
        for kept, row in zip(scanned, rows, strict=True):
            kept.append(tensor(row))
        i += 1
    rest = len(body.graph.outputs) - 1 - len(carried)
    if scanned is None:
        return (*state, *[torch.zeros(0)] * rest)
    return (*state, *[torch.stack(rows) for rows in scanned])


@operator("Scan", 9)
def _scan(
    *values: Any, body: Any, num_scan_inputs: int, scan_input_axes: Any = None,
    scan_input_directions: Any = None, scan_output_axes: Any = None,
    scan_output_directions: Any = None, graph: Any,
) -> Any:  # fmt: skip
    first = len(values) - num_scan_inputs
    state, given = list(values[:first]), values[first:]
    axes = scan_input_axes or [0] * num_scan_inputs
    turned = scan_input_directions or [0] * num_scan_inputs
    steps = given[0].shape[axes[0]]
    rows: list[list[Any]] = []
    for i in range(steps):
        parts = [
            torch.select(x, axis, steps - 1 - i if back else i)
            for x, axis, back in zip(given, axes, turned, strict=True)
        ]
        made = graph(body, [*state, *parts])
        state = made[:first]
        rows.append([tensor(each) for each in made[first:]])
    columns = list(zip(*rows, strict=True))
    out_axes = scan_output_axes or [0] * len(columns)
    backwards = scan_output_directions or [0] * len(columns)
    stacked = [
        torch.stack(list(reversed(column)) if back else list(column), axis)
        for column, axis, back in zip(columns, out_axes, backwards, strict=True)
    ]
    return (*state, *stacked)


# --- sequences ------------------------------------------------------------------------------------


@operator("SequenceConstruct")
def _sequence_construct(*values: Any) -> Any:
    return list(values)


@operator("SequenceEmpty")
def _sequence_empty(*, dtype: int = 1) -> Any:
    torch_type(dtype)
    return []


@operator("SequenceAt")
def _sequence_at(values: Numbers, place: Numbers) -> Any:
    return values[number(place)]


@operator("SequenceLength")
def _sequence_length(values: Numbers) -> Any:
    return np.array(len(values), np.int64)


@operator("SequenceInsert")
def _sequence_insert(values: Numbers, x: Any, place: Numbers = None) -> Any:
    made = list(values)
    at = len(made) if place is None else number(place)
    if not -len(made) <= at <= len(made):
        raise ONNXError(f"SequenceInsert at {at} of {len(made)}")
    made.insert(at, x)
    return made


@operator("SequenceErase")
def _sequence_erase(values: Numbers, place: Numbers = None) -> Any:
    made = list(values)
    made.pop(-1 if place is None else number(place))
    return made


@operator("SequenceMap")
def _sequence_map(values: Numbers, *others: Any, body: Any, graph: Any) -> Any:
    rows = []
    for i, each in enumerate(values):
        further = [other[i] if isinstance(other, list) else other for other in others]
        rows.append(graph(body, [each, *further]))
    return tuple(list(column) for column in zip(*rows, strict=True))


@operator("ConcatFromSequence")
def _concat_from_sequence(values: Numbers, *, axis: int, new_axis: int = 0) -> Any:
    parts = [tensor(each) for each in values]
    return torch.stack(parts, axis) if new_axis else torch.cat(parts, axis)


@operator("SplitToSequence")
def _split_to_sequence(x: Any, given: Numbers = None, *, axis: int = 0, keepdims: int = 1) -> Any:
    if given is None:
        parts = list(torch.split(x, 1, axis))
        return parts if keepdims else [torch.squeeze(each, axis) for each in parts]
    sizes = numbers(given)
    whole = sizes[0] if not np.ndim(given) and len(sizes) == 1 else sizes
    return list(torch.split(x, whole, axis))


# --- optional values ------------------------------------------------------------------------------


@operator("Optional")
def _optional(x: Numbers = None, *, type: Any = None) -> Any:  # noqa: A002
    return x


@operator("OptionalHasElement")
def _optional_has_element(x: Numbers = None) -> Any:
    return np.array(x is not None)


@operator("OptionalGetElement")
def _optional_get_element(x: Numbers) -> Any:
    if x is None:
        raise ONNXError("OptionalGetElement of an optional value without an element")
    return x


