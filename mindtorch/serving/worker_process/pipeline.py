"""The stages of a method, run for the rows of a batch. A row that fails leaves the batch with its
error; the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mindtorch.serving.columns import Column, column_of_rows, rows_of
from mindtorch.serving.errors import FAILED, ServingError
from mindtorch.serving.server.register.definition import Method, Source, Stage
from mindtorch.serving.server.register.model import Model

__all__ = ["run_method"]


class _Rows:
    """The values that stages have given so far, of the rows that have not failed."""

    def __init__(self, inputs: Sequence[Any], count: int) -> None:
        self.alive = list(range(count))
        self.errors: dict[int, ServingError] = {}
        self.values: dict[Source, Any] = {(0, i): rows for i, rows in enumerate(inputs)}

    def drop(self, errors: Mapping[int, ServingError]) -> None:
        """Take out the rows at these positions among those alive."""
        if not errors:
            return
        self.errors.update((self.alive[position], error) for position, error in errors.items())
        kept = [i for i in range(len(self.alive)) if i not in errors]
        for source, rows in self.values.items():
            whole = isinstance(rows, np.ndarray)
            self.values[source] = rows[kept] if whole else [rows[i] for i in kept]
        self.alive = [self.alive[i] for i in kept]


def run_method(
    method: Method, columns: Mapping[str, Column], count: int
) -> tuple[dict[str, Column], dict[int, ServingError]]:
    """The outputs of a method.

    Args:
        method: the method.
        columns: its inputs, by name.
        count: how many rows they have.

    Returns:
        Its outputs by name, without the rows that failed; and the errors of those, by row.
    """
    rows = _Rows([rows_of(columns[name]) for name in method.inputs], count)
    for number, stage in enumerate(method.stages, 1):
        if not rows.alive:
            break
        given = [rows.values[source] for source in stage.sources]
        outputs, errors = _run_stage(stage, given, len(rows.alive))
        rows.drop(errors)
        if rows.alive:
            rows.values.update(((number, i), each) for i, each in enumerate(outputs))
    if not rows.alive:
        return {}, rows.errors
    found = {}
    for name, source in zip(method.outputs, method.returned, strict=True):
        try:
            found[name] = column_of_rows(rows.values[source], name)
        except TypeError as error:
            text = f"method {method.name}: output {error}"
            return {}, dict.fromkeys(range(count), ServingError(FAILED, text))
    return found, rows.errors


def _run_stage(
    stage: Stage, given: list[Any], count: int
) -> tuple[list[Any], dict[int, ServingError]]:
    if isinstance(stage.target, Model):
        outputs, errors = stage.target.runner.rows(given, count)
        if len(errors) < count and len(outputs) != stage.outputs_count:
            text = f"{stage.tag}: gives {len(outputs)} outputs, {stage.outputs_count} registered"
            return [], dict.fromkeys(range(count), ServingError(FAILED, text))
        return outputs, errors
    results: dict[int, tuple[Any, ...]] = {}
    errors = {}
    rows = list(zip(*given, strict=True))
    if stage.batch_size is None:
        for position, row in enumerate(rows):
            try:
                results[position] = _outputs(stage, stage.target(*row))
            except Exception as error:
                errors[position] = _failure(stage, error)
    else:
        size = stage.batch_size or count
        for start in range(0, count, size):
            _run_together(stage, rows[start : start + size], start, results, errors)
    kept = [results[position] for position in sorted(results)]
    return [list(column) for column in zip(*kept, strict=True)], errors


def _run_together(
    stage: Stage,
    rows: list[Any],
    start: int,
    results: dict[int, tuple[Any, ...]],
    errors: dict[int, ServingError],
) -> None:
    """A function that takes several rows. Where it raises after some results, the row whose result
    was due fails, and the function goes on with those after it."""
    function: Callable[[list[Any]], Iterable[Any]] = stage.target
    done = 0
    while done < len(rows):
        first = done
        try:
            for result in function(rows[first:]):
                if done == len(rows):
                    raise ValueError(f"more than {len(rows) - first} results for as many instances")
                results[start + done] = _outputs(stage, result)
                done += 1
            if done < len(rows):
                raise ValueError(f"{done - first} results for {len(rows) - first} instances")
        except Exception as error:
            done = min(done, len(rows) - 1)
            results.pop(start + done, None)
            errors[start + done] = _failure(stage, error)
            done += 1


def _outputs(stage: Stage, result: Any) -> tuple[Any, ...]:
    outputs = tuple(result) if isinstance(result, tuple | list) else (result,)
    if len(outputs) != stage.outputs_count:
        raise ValueError(f"gives {len(outputs)} outputs, {stage.outputs_count} are registered")
    return outputs


def _failure(stage: Stage, error: Exception) -> ServingError:
    if isinstance(error, ServingError):
        return error
    return ServingError(FAILED, f"{stage.tag}: {type(error).__name__}: {error}")
