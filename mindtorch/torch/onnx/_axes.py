"""Which axes of a model's inputs may have other lengths than those of the example."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor
from mindtorch.torch.export import Dim, ExportedProgram

__all__ = ["ExportedProgram", "axes_of", "program_axes"]


def _name(mark: Any, source: str, axis: int) -> str | None:
    """What an axis is called that is marked as open; None for one that is not."""
    if mark is None or mark == Dim.STATIC or type(mark) is int:
        return None
    if mark == Dim.AUTO or mark == Dim.DYNAMIC:
        return f"{source}_dim_{axis}"
    found = mark if isinstance(mark, str) else getattr(mark, "__name__", None)
    if not isinstance(found, str) or not found:
        raise TypeError(f"dynamic_shapes: {mark!r} is no name of a length")
    return found


def _marks(marks: Any, rank: int, source: str) -> dict[int, str]:
    pairs = marks.items() if isinstance(marks, dict) else enumerate(marks or ())
    found = {}
    for axis, mark in pairs:
        if not -rank <= axis < rank:
            raise IndexError(f"{source} has no axis {axis}: it has {rank}")
        name = _name(mark, source, axis % rank)
        if name is not None:
            found[axis % rank] = name
    return found


def _by_argument(value: Any, marks: Any, names: list[str]) -> list[dict[int, str]]:
    """Of one argument, a tensor or a container of tensors that ``marks`` is like."""
    if isinstance(value, Tensor):
        return [_marks(marks, value.aval.ndim, names.pop(0))]
    if isinstance(value, dict):
        each = [(v, None if marks is None else marks.get(k)) for k, v in value.items()]
    elif isinstance(value, (tuple, list)):
        each = list(zip(value, marks or [None] * len(value), strict=True))
    else:
        return []
    return [found for v, m in each for found in _by_argument(v, m, names)]


def axes_of(
    given: Any, names: list[str], dynamic_shapes: Any, dynamic_axes: Any
) -> list[dict[int, str]]:
    """For each tensor of the arguments its open axes and what their lengths are called.

    Raises:
        ValueError: a name that no input has.
        TypeError: a mark that is no name.
    """
    if dynamic_shapes is not None:
        arguments = given.arguments
        if isinstance(dynamic_shapes, dict):
            unknown = dynamic_shapes.keys() - arguments.keys()
            if unknown:
                raise ValueError(f"dynamic_shapes: no argument is called {sorted(unknown)}")
            marks = dynamic_shapes
        else:
            marks = dict(zip(arguments, dynamic_shapes, strict=True))
        left = list(names)
        return [
            found for name, value in arguments.items()
            for found in _by_argument(value, marks.get(name), left)
        ]  # fmt: skip
    found: list[dict[int, str]] = [{} for _ in names]
    for name, marks in (dynamic_axes or {}).items():
        if name not in names:
            continue  # an output's: its lengths follow
        place = names.index(name)
        rank = given.tensors[place].aval.ndim
        if not isinstance(marks, dict):
            marks = {axis: f"{name}_dynamic_axes_{i + 1}" for i, axis in enumerate(marks)}
        found[place] = _marks(marks, rank, name)
    return found


def program_axes(program: ExportedProgram) -> tuple[list[str], list[dict[int, str]]]:
    """The names of an exported program's arguments that are tensors, and their open axes."""
    signature, opened = program.graph_signature, program.open_axes()
    names = [name for name in opened if name in signature.user_inputs]
    return names, [opened[name] for name in names]
