"""Chains of scalar functions as source text: what the loops of all devices have in common.

A driver writes the loop and says how operand ``i`` is read (``v<i> = ...``) and where results go;
the statements between are the same on each device. Elements of 16-bit floating-point types are
computed with as float32, by ``load_half``, ``store_half``, ... of the driver.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ..scalar.facts import facts_of
from .typed_scalar import TypedScalars, arithmetic_type, for_type, parts_type

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FLOAT16 = np.dtype(np.float16)
_BOOL = np.dtype(np.bool_)


class Step(NamedTuple):
    """A scalar function in a chain that becomes one loop.

    Attributes:
        function: a name of ``mindtorch.kernels.scalar.real``.
        operands: number i is input i, and number ``inputs + k`` the value of step k.
        compute: the type of the arithmetic; a ``where``'s condition keeps its own.
        stored: the type of the value.
    """

    function: str
    operands: tuple[int, ...]
    compute: np.dtype[Any]
    stored: np.dtype[Any]


Steps = tuple[Step, ...]


def load(dtype: np.dtype[Any], place: str) -> str:
    """The element at ``place``, in the type that kernels compute in."""
    if dtype == _FLOAT16:
        return f"load_half({place})"
    return f"load_bfloat16({place})" if dtype == _BFLOAT16 else place


def store(dtype: np.dtype[Any], value: str, compute: np.dtype[Any]) -> str:
    """``value``, computed in ``compute``, as an element of ``dtype``."""
    if compute.kind == "c" and dtype.kind not in "cb":
        return store(dtype, f"({value}).real", parts_type(compute))
    if dtype == _FLOAT16:
        return f"store_half(_F({value}))"
    if dtype == _BFLOAT16:
        return f"store_bfloat16(_F({value}))"
    if dtype == _BOOL:
        return f"({value}) != 0"
    if dtype.kind in "iu" and compute.kind == "f":
        # as processors do: to 32 bits, and what is out of their range to the least; then cut
        return f"_I({value})" if dtype.itemsize == 8 or dtype == np.uint32 else f"_I4({value})"
    return value


def rounded(function: str, place: int, mode: str, compute: np.dtype[Any]) -> bool:
    """Whether an operand of another type is first rounded to float16 or bfloat16."""
    if compute not in (_FLOAT16, _BFLOAT16):
        return False
    rounds = facts_of(function).rounds
    return rounds == "all" or (rounds == "tensors" and (place == 0 or mode != "s"))


def statements(
    steps: Steps, results: tuple[int, ...], in_types: Any, in_modes: str, places: list[str],
    typed_scalar: TypedScalars, space: dict[str, Any], kept: Any = None,
) -> list[str]:  # fmt: skip
    """The body of a loop over elements whose inputs ``v<i>`` have been read.

    Args:
        results: the steps whose values are written, and ``places`` where.
        in_modes: "s" for an input that is one number, for each input.
        space: gets the functions and types that the statements name.
        kept: a function of a type: what makes a step's value one of it that no compiler merges with
            the arithmetic after it; the type itself when None.
    """
    space.update({"_F": np.float32, "_I": np.int64, "_I4": np.int32, "np": np})
    values = [*in_types, *[step.stored for step in steps]]
    again = {j for step in steps for j in step.operands}
    lines: list[str] = []
    for k, step in enumerate(steps):
        arithmetic = arithmetic_type(step.compute)
        space[f"f{k}"] = typed_scalar(for_type(step.function, step.compute), arithmetic)
        space[f"_C{k}"] = arithmetic.type
        operands = [
            _operand(k, step, place, j, values[j], in_modes[j] if j < len(in_modes) else "c")
            for place, j in enumerate(step.operands)
        ]
        lines.append(f"r{k} = f{k}({', '.join(operands)})")
        number = len(in_modes) + k
        if number in again:
            stored = arithmetic_type(step.stored)
            space[f"_S{k}"] = stored.type if kept is None else kept(stored)
            value = store(step.stored, f"r{k}", arithmetic)
            if step.stored in (_FLOAT16, _BFLOAT16):
                value = load(step.stored, value)
            lines.append(f"v{number} = _S{k}({value})")
    for place, k in zip(places, results, strict=True):
        number = len(in_modes) + k
        value = f"v{number}" if number in again else f"r{k}"
        value = store(steps[k].stored, value, arithmetic_type(steps[k].compute))
        lines.append(f"{place} = {value}")
    return lines


def _operand(k: int, step: Step, place: int, j: int, dtype: Any, mode: str) -> str:
    """Operand ``place`` of step ``k``: value ``j``, in the type of the arithmetic."""
    arithmetic = arithmetic_type(step.compute)
    if step.function == "where" and place == 0:
        return f"v{j} != 0"
    value = f"v{j}" if arithmetic_type(dtype) == arithmetic else f"_C{k}(v{j})"
    if dtype != step.compute and rounded(step.function, place, mode, step.compute):
        return load(step.compute, store(step.compute, value, arithmetic))
    return value
