"""A model over the rows of a batch: rows of one form are stacked, split and padded to the model's
batch size, and run; a row that makes it fail is found, so that the others have their results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.serving.errors import FAILED, INVALID, ServingError

from .model_inputs import InputInfo
from .models import LoadedModel

__all__ = ["BatchedModel"]

Array = np.ndarray[Any, Any]


class BatchedModel:
    """Runs a model for many instances.

    Args:
        model: the model.
        name: what errors call it.
    """

    def __init__(self, model: LoadedModel, name: str) -> None:
        self.model = model
        self.name = name
        self.output_forms: list[tuple[str, tuple[int, ...]]] = []  # known after a warm-up

    def warm_up(self) -> None:
        """Run once for each size of batch, where the inputs' shapes are known, so that kernels are
        compiled before a request comes."""
        infos = self.model.inputs
        if not infos or any(i.shape is None or min(i.shape, default=0) < 0 for i in infos):
            return
        size = 1 if not self.model.with_batch_dim else self.model.batch_size
        sizes = {self._padded(each) for each in range(1, size + 1)}
        for rows in sorted(sizes):
            inputs = [np.zeros((rows, *(i.shape or ())), i.dtype or "float32") for i in infos]
            outputs = self._run(inputs, rows)
            self.output_forms = [(each.dtype.name, each.shape[1:]) for each in outputs]

    def call(self, instances: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """The outputs of each instance, for `Model.call`.

        Args:
            instances: the inputs of each.

        Raises:
            RuntimeError: an instance fails.
        """
        if not instances:
            return []
        columns: list[Any] = [list(column) for column in zip(*instances, strict=True)]
        outputs, errors = self.rows(columns, len(instances))
        if errors:
            raise min(errors.items())[1]
        return list(zip(*outputs, strict=True))

    def rows(self, columns: Sequence[Any], count: int) -> tuple[list[Any], dict[int, ServingError]]:
        """The outputs of all rows that do not fail.

        Args:
            columns: for each input an array (rows, ...) or a list of arrays.
            count: the rows.

        Returns:
            For each output an array or a list, without the rows that failed; and their errors.
        """
        infos = self.model.inputs
        if infos and len(columns) != len(infos):
            text = f"{self.name}: takes {len(infos)} inputs, {len(columns)} given"
            return [], dict.fromkeys(range(count), ServingError(FAILED, text))
        errors: dict[int, ServingError] = {}
        groups = self._groups(columns, count, errors)
        results: dict[int, tuple[Any, ...]] = {}
        for positions, arrays in groups:
            parts = self._group(positions, arrays, results, errors)
            if len(groups) == 1 and not errors and parts:
                return _joined([outputs for _, outputs in parts]), errors
            for chosen, outputs in parts:  # 64 instances are as many tuples of arrays
                results.update(zip(chosen, zip(*outputs, strict=True), strict=True))
        if not results:
            return [], errors
        kept = [results[position] for position in sorted(results)]
        return [list(column) for column in zip(*kept, strict=True)], errors

    # -- rows of one form

    def _groups(
        self, columns: Sequence[Any], count: int, errors: dict[int, ServingError]
    ) -> list[tuple[list[int], list[Array]]]:
        """The rows by their form: (positions, an array for each input)."""
        if all(isinstance(column, np.ndarray) for column in columns):
            try:
                arrays = [self._checked(i, column, 1) for i, column in enumerate(columns)]
            except ServingError as error:
                errors.update(dict.fromkeys(range(count), error))
                return []
            if not self.model.unbatched:
                return [(list(range(count)), arrays)]
            columns = arrays
        found: dict[Any, list[tuple[int, list[Array]]]] = {}
        for position in range(count):
            try:
                row = [self._checked(i, np.asarray(_plain(column[position])), 0)
                       for i, column in enumerate(columns)]  # fmt: skip
            except ServingError as error:
                errors[position] = error
                continue
            form = tuple(
                (x.dtype.str, x.shape, x.tobytes() if i in self.model.unbatched else b"")
                for i, x in enumerate(row)
            )
            found.setdefault(form, []).append((position, row))
        return [
            ([position for position, _ in rows],
             [np.stack(column) for column in zip(*(row for _, row in rows), strict=True)])
            for rows in found.values()
        ]  # fmt: skip

    def _checked(self, number: int, array: Array, skipped: int) -> Array:
        """An input, in the model's type; its first `skipped` axes are not the instance's."""
        info = self.model.inputs[number] if self.model.inputs else InputInfo(f"input {number}")
        if array.dtype.kind not in "biuf":
            raise ServingError(INVALID, f"{self.name}: {info.name} is {array.dtype}, not numbers")
        if info.dtype is not None and array.dtype != info.dtype:
            if not np.can_cast(array.dtype, info.dtype, "same_kind"):
                raise ServingError(
                    INVALID, f"{self.name}: {info.name} is {array.dtype}, expected {info.dtype}"
                )
            array = array.astype(info.dtype)
        shape = array.shape[skipped:]
        if info.shape is not None and (
            len(shape) != len(info.shape)
            or any(w not in (-1, s) for s, w in zip(shape, info.shape, strict=True))
        ):
            raise ServingError(
                INVALID,
                f"{self.name}: {info.name} has shape {list(shape)}, expected {list(info.shape)}",
            )
        return array

    # -- batches

    def _group(
        self,
        positions: list[int],
        arrays: list[Array],
        results: dict[int, tuple[Any, ...]],
        errors: dict[int, ServingError],
    ) -> list[tuple[list[int], list[Array]]]:
        """Run rows of one form, batch by batch: those that are whole as (positions, outputs), of
        others what each row gives in ``results`` and ``errors``."""
        size = self.model.batch_size if self.model.with_batch_dim else 1
        parts: list[tuple[list[int], list[Array]]] = []
        for start in range(0, len(positions), size):
            chosen = positions[start : start + size]
            batch = [array[start : start + size] for array in arrays]
            try:
                parts.append((chosen, self._run(batch, len(chosen))))
            except Exception as error:
                if len(chosen) == 1:
                    errors[chosen[0]] = self._failure(error)
                else:
                    self._one_by_one(chosen, batch, results, errors)
        return parts

    def _one_by_one(
        self,
        positions: list[int],
        batch: list[Array],
        results: dict[int, tuple[Any, ...]],
        errors: dict[int, ServingError],
    ) -> None:
        for i, position in enumerate(positions):
            try:
                outputs = self._run([array[i : i + 1] for array in batch], 1)
                results[position] = tuple(output[0] for output in outputs)
            except Exception as error:
                errors[position] = self._failure(error)

    def _failure(self, error: Exception) -> ServingError:
        if isinstance(error, ServingError):
            return error
        return ServingError(FAILED, f"{self.name}: {type(error).__name__}: {error}")

    def _padded(self, rows: int) -> int:
        """How many rows a run has: the file's number, else the next power of two."""
        if self.model.fixed or not self.model.with_batch_dim:
            return self.model.batch_size if self.model.with_batch_dim else 1
        return min(1 << (rows - 1).bit_length(), self.model.batch_size)

    def _run(self, batch: list[Array], rows: int) -> list[Array]:
        model = self.model
        if not model.with_batch_dim:
            return [output[None] for output in model.run([array[0] for array in batch])]
        padded = self._padded(rows)
        given = [
            array[0] if number in model.unbatched else _pad(array, padded)
            for number, array in enumerate(batch)
        ]
        outputs = model.run(given)
        for number, output in enumerate(outputs):
            if output.ndim == 0 or output.shape[0] != padded:
                raise ServingError(
                    FAILED,
                    f"{self.name}: output {number} has shape {list(output.shape)}, its first axis "
                    f"should count the {padded} instances; declare with_batch_dim=False if it does "
                    "not",
                )
        return [output[:rows] for output in outputs]


def _joined(parts: list[list[Array]]) -> list[Array]:
    """The outputs of several batches, one after another."""
    return [np.concatenate(column) if len(column) > 1 else column[0]
            for column in zip(*parts, strict=True)]  # fmt: skip


def _pad(array: Array, rows: int) -> Array:
    """The array with its last row repeated."""
    missing = rows - len(array)
    return array if missing == 0 else np.concatenate([array, array[-1:].repeat(missing, 0)])


def _plain(value: Any) -> Any:
    return value.asnumpy() if hasattr(value, "asnumpy") else value
