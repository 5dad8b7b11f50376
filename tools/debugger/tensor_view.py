"""One tensor as it is shown: values, statistics, a histogram, and how it differs from the step
before and from what real PyTorch had."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..compare.record_format import ArrayReader, Recorded, Step, load_steps
from ..compare.statistics import relative_difference
from ..watchpoints.tensor_statistics import statistics
from .records import Kept, Record, whole_array
from .session import Debugger

__all__ = ["MOST_VALUES", "Reference", "describe_statistics", "differences", "sliced", "view"]

MOST_VALUES = 1000
_BINS = 20
_PART = re.compile(r"\s*(-?\d+)?\s*(:)?\s*(-?\d+)?\s*(?::\s*(-?\d+)\s*)?")


def _number(value: float) -> float | str:
    """A number that JSON can hold; what is not finite as a word."""
    return value if math.isfinite(value) else str(value)


def sliced(array: np.ndarray, text: str) -> np.ndarray:
    """A part of an array: "[0, :, 2:5]", brackets or not.

    Raises:
        ValueError: the text is no slice of such an array.
    """
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    if not inner:
        return array
    parts: list[Any] = []
    for each in inner.split(","):
        if each.strip() == "...":
            parts.append(Ellipsis)
            continue
        found = _PART.fullmatch(each)
        if found is None or not each.strip():
            raise ValueError(f"{text!r} is no slice; write for example [0, :, 2:5]")
        first, colon, last, stride = found.groups()
        start, stop = (None if x is None else int(x) for x in (first, last))
        by = None if stride is None else int(stride)
        parts.append(slice(start, stop, by) if colon else start)
    try:
        return np.asarray(array[tuple(parts)])
    except IndexError as error:
        raise ValueError(f"{text}: {error}") from None


def describe_statistics(array: np.ndarray) -> dict[str, Any]:
    """The statistics of an array, for programs."""
    found = statistics(np.ravel(_numeric(array)))
    figures = {
        "min": found.least, "max": found.greatest, "mean": found.mean,
        "abs_mean": found.abs_mean, "std": found.deviation, "norm": found.norm,
    }  # fmt: skip
    return {
        "size": found.size, "zero": found.zero, "nan": found.nan,
        "inf": found.positive_infinite, "-inf": found.negative_infinite,
        **{name: _number(value) for name, value in figures.items()},
    }  # fmt: skip


def _numeric(array: np.ndarray) -> np.ndarray:
    return array.astype(np.uint8) if array.dtype == np.bool_ else array


def _histogram(array: np.ndarray) -> dict[str, Any]:
    array = _numeric(array)
    if np.iscomplexobj(array):
        array = np.abs(array)
    flat = np.ravel(array).astype(np.float64)
    finite = flat[np.isfinite(flat)]
    if not finite.size:
        return {"edges": [], "counts": []}
    counts, edges = np.histogram(finite, bins=min(_BINS, max(1, finite.size // 2)))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _values(array: np.ndarray) -> Any:
    if array.dtype == np.bool_ or array.dtype.kind in "iu":
        return array.tolist()
    if np.iscomplexobj(array):
        return [str(x) for x in array.tolist()] if array.ndim == 1 else str(array.tolist())
    wide = array.astype(np.float64)
    if np.isfinite(wide).all():
        return wide.tolist()
    return np.where(np.isfinite(wide), wide.astype(object), wide.astype(str)).tolist()


def differences(array: np.ndarray, other: np.ndarray) -> dict[str, Any]:
    """How an array differs from another: the greatest and the mean |difference|, the greatest
    beside the greatest magnitude, how many elements differ, and the cosine of both."""
    if array.shape != other.shape:
        return {"shape": list(other.shape)}
    wide, old = (_numeric(x).astype(np.float64).ravel() for x in (array, other))
    apart = np.abs(wide - old)
    finite = apart[np.isfinite(apart)]
    norms = float(np.linalg.norm(wide) * np.linalg.norm(old)) if wide.size else 0.0
    return {
        "max": _number(float(finite.max(initial=0.0))),
        "mean": _number(float(finite.mean()) if finite.size else 0.0),
        "relative": _number(relative_difference(wide, old)),
        "elements": int((wide != old).sum()),
        "cosine": _number(float(wide @ old) / norms if norms else math.nan),
    }


def view(
    session: Debugger, name: str, tensor: Any, part: str, reference: Reference | None
) -> dict[str, Any]:
    """A tensor for programs.

    Args:
        name: as it is listed, `kind:path`.
        part: a slice.

    Raises:
        ValueError: the part is no slice of it.
    """
    found: dict[str, Any] = {}
    if isinstance(tensor, Kept):
        found |= {"shape": list(tensor.shape), "dtype": tensor.dtype}
        if tensor.tensor is None:
            return found | {"note": "not kept: there was no room for all outputs of this step"}
        if tensor.written_after:
            found["note"] = "written to after this call: these are the values of now"
        tensor = tensor.tensor
    array = np.asarray(whole_array(tensor))
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    chosen = sliced(array, part)
    found |= {"shape": list(array.shape), "dtype": str(tensor.dtype)}
    found["statistics"] = describe_statistics(array)
    found["histogram"] = _histogram(array)
    found["part"] = part or "[...]"
    found["part_shape"] = list(chosen.shape)
    if chosen.size > MOST_VALUES:
        found["values_left_out"] = chosen.size - MOST_VALUES
        found["values"] = _values(np.ravel(chosen)[:MOST_VALUES])
    else:
        found["values"] = _values(chosen)
    before = _before(session, name)
    if before is not None:
        found["before"] = differences(array, before.reshape(array.shape)) | {
            "statistics": describe_statistics(before)
        }
    if reference is not None:
        found["torch"] = reference.compared(session, name, array)
    return found


def _before(session: Debugger, name: str) -> np.ndarray | None:
    """What a tensor was in the step before, where that is kept."""
    kind, _, path = name.partition(":")
    if kind == "weights":
        return session.weights_before.get(path)
    if kind == "gradients":
        return session.gradients_before.get(path)
    kept = _in_record(session.before, kind, path)
    if kept is None or kept.tensor is None or kept.written_after:
        return None
    return np.asarray(whole_array(kept.tensor))


def _in_record(record: Record, kind: str, path: str) -> Kept | None:
    found = re.fullmatch(r"(.*?)(?:\[(\d+)\])?", path)
    node = record.nodes.get(found[1]) if found else None
    if node is None or found is None:
        return None
    position = int(found[2] or 0)
    if kind == "output_gradients":
        return node.gradients.get(position)
    of_kind = {"inputs": node.inputs, "outputs": node.outputs}.get(kind, [])
    return of_kind[position] if position < len(of_kind) else None


class Reference:
    """What real PyTorch had, as `mindtorch compare --keep DIR` left it.

    Args:
        folder: DIR, or its folder `torch`.

    Raises:
        FileNotFoundError: nothing was recorded there.
    """

    def __init__(self, folder: Path) -> None:
        inner = folder / "torch"
        self.folder = inner if inner.is_dir() else folder
        if not (self.folder / "steps.jsonl").is_file():
            raise FileNotFoundError(f"no record of PyTorch in {str(folder)!r}")
        self.arrays = ArrayReader(self.folder)
        self._step: Step | None = None

    def close(self) -> None:
        """Let go of the record's files."""
        self.arrays.close()

    def _at(self, number: int) -> Step | None:
        """The step of a number, counted from 0."""
        if self._step is None or self._step.number != number:
            found = (x for x in load_steps(self.folder) if x.number == number)
            self._step = next(found, None)
        return self._step

    def compared(self, session: Debugger, name: str, array: np.ndarray) -> dict[str, Any]:
        """How a tensor differs from PyTorch's in the same step."""
        ended = session.step_has_ended
        step = self._at(session.step - 1 - ended)
        if step is None:
            return {"note": "PyTorch's run has no such step"}
        recorded = self._recorded(step, name, ended)
        if recorded is None:
            return {"note": "not recorded of PyTorch's run"}
        if recorded.stored:
            return differences(array, self.arrays[recorded])
        found = statistics(np.ravel(array))
        return {
            "note": "only its statistics were recorded",
            "norm": _number(recorded.norm), "norm_here": _number(found.norm),
            "largest": _number(recorded.largest),
        }  # fmt: skip

    def _recorded(self, step: Step, name: str, ended: bool) -> Recorded | None:
        kind, _, path = name.partition(":")
        if kind == "weights":
            return (step.after if ended else step.before).get(path)
        if kind == "gradients":
            return step.gradients.get(path)
        found = re.fullmatch(r"(.*?)(?:#(\d+))?(?:\[(\d+)\])?", path)
        if found is None or kind not in ("inputs", "outputs", "output_gradients"):
            return None
        call, position = int(found[2] or 1) - 1, int(found[3] or 0)
        for event in step.events:
            if event.kind == "module" and event.path == found[1] and event.call == call:
                parts = {"inputs": event.inputs, "outputs": event.outputs}
                own = parts.get(kind, event.gradients)
                return own[position] if position < len(own) else None
        return None
