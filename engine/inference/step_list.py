"""Steps with their operands, and the memory that these share by liveness."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mindtorch.kernels.cpu.inference import inference_steps

from ..compile.runtime.executable import lowest_places

__all__ = ["External", "Memory", "Step", "StepList"]

ARENA, ABSOLUTE, EXTERNAL = range(3)  # regions; from the last one on what each call brings
LINE = 64  # bytes of a cache line, at which operands begin
INFINITE = float("inf")


@dataclass(eq=False)
class Memory:
    """Bytes in the arena, from the first step that uses them to the last one.

    Attributes:
        front: how many there are before the operand, for the pixel that stands for outside.
    """

    size: int
    front: int
    first: int = -1
    last: int = -1
    start: int = 0


@dataclass(frozen=True)
class External:
    """An input or output of each call."""

    number: int


Operand = Memory | External | int | None  # a number: an address that stays


@dataclass
class Step:
    """One of them; ``numbers`` by their places in a row (:mod:`mindtorch.kernels.cpu`).

    Attributes:
        operands: the places of two numbers each, and what they stand for.
        floats: the least and the greatest result, the inverse of a scale, and a zero point.
        work: about how many multiplications, by which threads share it or not.
        function: of a MAP, the scalar function.
    """

    kind: int
    units: int
    numbers: dict[int, int] = field(default_factory=dict)
    operands: dict[int, Operand] = field(default_factory=dict)
    floats: tuple[float, float, float, float] = (-INFINITE, INFINITE, 1.0, 0.0)
    work: int = 0
    function: str = ""


class StepList:
    """Steps as they are made; :meth:`finish` lays out their memory.

    Attributes:
        kept: arrays whose addresses are in steps.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.kept: list[np.ndarray] = []
        self._memory: list[Memory] = []

    def memory(self, size: int, front: int = 0) -> Memory:
        """So many bytes, and some before them."""
        front = -(-front // LINE) * LINE
        made = Memory(front + size, front)
        self._memory.append(made)
        return made

    def address(self, array: np.ndarray) -> int:
        """Where an array lies, which is kept."""
        self.kept.append(array)
        return int(array.ctypes.data)

    def add(self, step: Step) -> None:
        number = len(self.steps)
        for operand in step.operands.values():
            if isinstance(operand, Memory):
                operand.first = number if operand.first < 0 else operand.first
                operand.last = number
        self.steps.append(step)

    def finish(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The tables of whole numbers and of floats, and the bytes of the arena."""
        used = [m for m in self._memory if m.first >= 0]
        starts, total = lowest_places([(m.size, m.first, m.last) for m in used])
        for memory, start in zip(used, starts, strict=True):
            memory.start = start
        table = np.zeros((len(self.steps), inference_steps.WIDTH), np.int64)
        floats = np.zeros((len(self.steps), 4), np.float32)
        for row, line, step in zip(table, floats, self.steps, strict=True):
            row[0], row[1], line[:] = step.kind, step.units, step.floats
            for place, number in step.numbers.items():
                row[place] = number
            for place, operand in step.operands.items():
                row[place : place + 2] = _pair(operand)
        return table, floats, total


def _pair(operand: Operand) -> tuple[int, int]:
    if operand is None:
        return -1, 0
    if isinstance(operand, Memory):
        return ARENA, operand.start + operand.front
    if isinstance(operand, External):
        return EXTERNAL + operand.number, 0
    return ABSOLUTE, operand
