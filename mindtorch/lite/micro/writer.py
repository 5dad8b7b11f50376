"""What writers of ops write with: where values lie, C statements, constants, helper functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.exporting.errors import UnsupportedOperatorError
from mindtorch.exporting.writers import Writers

from .buffers import Buffer, Step, View, ctype_of

__all__ = [
    "SYSTEM", "WRITERS", "Program", "Writer", "function", "identifier", "literal",
    "without_comments", "writes",
]  # fmt: skip

SYSTEM = "C code for devices (mindtorch.lite.micro)"  # in errors
WRITERS = Writers()
writes = WRITERS.writes

_FUNCTIONS: dict[str, str] = {}  # C functions that generated code may call, by name


def function(text: str) -> str:
    """Register a C function, to be written out where it is called; its name.

    It may call other registered functions.
    """
    text = text.strip("\n") + "\n"
    found = re.search(r"(\w+)\s*\([^()]*\)\s*\{", text)
    assert found is not None, text
    _FUNCTIONS[found[1]] = text
    return found[1]


def identifier(name: str) -> str:
    """A C identifier for a parameter's or module's name."""
    made = re.sub(r"\W", "_", name)
    return f"_{made}" if not made or made[0].isdigit() else made


def without_comments(text: str) -> str:
    """C code alone."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def literal(number: Any, ctype: str) -> str:
    """A number as a C constant of this type."""
    if ctype != "float":
        whole = int(number)
        if not -(2**31) <= whole < 2**31:
            raise UnsupportedOperatorError(f"{whole} does not fit a 32-bit number")
        return "(-2147483647 - 1)" if whole == -(2**31) else str(whole)
    value = float(np.float32(number))
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = f"{np.float32(number):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


class Program:
    """What the C functions of one model have in common.

    Args:
        prefix: what public names begin with.

    Attributes:
        buffers: by their numbers.
        arrays: by their C names, the constants and parameters as (C type, elements, const).
        functions: the names of the registered functions that are called, in an order in which
            each stands behind those that it calls.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.buffers: dict[int, Buffer] = {}
        self.arrays: dict[str, tuple[str, Any, bool]] = {}
        self.functions: list[str] = []

    def buffer(self, ctype: str, size: int, text: str | None = None, constant: bool = False) -> Any:
        """A new buffer, in the arena unless ``text`` says where."""
        made = Buffer(ctype, size, text, constant)
        self.buffers[made.number] = made
        return made

    def array(self, name: str, array: Any, ctype: str, constant: bool = True) -> Buffer:
        """The buffer of an array in the file of weights; the same for the same name and elements.

        Args:
            name: the array's; a number is added where another has it.
        """
        base = made = f"{self.prefix}_{identifier(name)}"
        array, count = np.asarray(array), 1
        while made in self.arrays:
            held = self.arrays[made]
            same = held[0] == ctype and held[1].shape == array.shape and held[2] == constant
            if same and np.array_equal(held[1], array, equal_nan=array.dtype.kind == "f"):
                break
            count += 1
            made = f"{base}_{count}"
        self.arrays.setdefault(made, (ctype, array, constant))
        return Buffer(ctype, array.size, made, constant)

    def use(self, name: str) -> str:
        """Have a registered function written out, and those that it calls; its name."""
        if name not in self.functions:
            for other in re.findall(r"(\w+)\s*\(", without_comments(_FUNCTIONS[name])):
                if other != name and other in _FUNCTIONS:
                    self.use(other)
            self.functions.append(name)
        return name

    def function_texts(self) -> list[str]:
        """The functions that are called."""
        return [_FUNCTIONS[name] for name in self.functions]


class Writer:
    """The statements of one C function under way.

    Args:
        program: what it belongs to.
        graph: what it computes.
        mutable: the numbers of constants that other functions of the program write to.

    Attributes:
        values: by the numbers of the graph's values, where they lie.
        steps: the statements.
        needed: the numbers of the values that something reads.
    """

    def __init__(self, program: Program, graph: Any, mutable: frozenset[int] = frozenset()):
        self.program = program
        self.graph = graph
        self.mutable = mutable
        self.values: dict[int, View] = {}
        self.steps: list[Step] = []
        self.needed: set[int] = graph.used()
        self._comment = ""

    def run(self) -> None:
        """Write all nodes.

        Raises:
            UnsupportedOperatorError: an op has no writer; the op and the user's line are named.
        """
        for node in self.graph.nodes:
            self._comment = node.op.name + (f" at {node.line}" if node.line else "")
            made = WRITERS.write(self, node, SYSTEM)
            for value, view in zip(node.outputs, made, strict=True):
                if view is not None:
                    self.values[value.number] = view

    # --- values -----------------------------------------------------------------------------------

    def known(self, value: Any) -> Any:
        """The elements of a value that is a constant and stays one, else None."""
        if value is None or value.number in self.mutable:
            return None
        tensor = self.graph.constants.get(value.number)
        return None if tensor is None else tensor.array()

    def number(self, value: Any) -> float:
        """The only element of a value that must be a constant."""
        array = self.known(value)
        if array is None or array.size != 1:
            raise UnsupportedOperatorError("a number that must be known is computed")
        return float(array.reshape(()))

    def of(self, value: Any) -> View:
        """Where a value of the graph lies."""
        found = self.values.get(value.number)
        if found is None:
            tensor = self.graph.constants[value.number]
            ctype = ctype_of(tensor.aval.dtype)
            name = self.graph.weights.get(value.number) or "constant"
            constant = value.number not in self.mutable
            buffer = self.program.array(name, tensor.array(), ctype, constant)
            found = self.values[value.number] = View.dense(buffer, tensor.aval.shape)
        return found

    def dense(self, value: Any) -> View:
        """A value in C order without gaps, copied where it does not lie so."""
        view = value if isinstance(value, View) else self.of(value)
        return view if view.is_dense else self.copied(view)

    def pointer(self, value: Any) -> str:
        """The C expression of the address of a value in C order, NULL for one that is absent."""
        return "NULL" if value is None else self.dense(value).pointer

    def copied(self, view: View, target: View | None = None) -> View:
        """A copy of a view, into ``target`` if there is one."""
        if target is None:
            buffer = self.program.buffer(view.buffer.ctype, view.size)
            target = View.dense(buffer, view.shape)
        self.loop(target, [view], lambda y, x: f"{y} = {x};")
        return target

    def made(self, value: Any, ctype: str | None = None) -> View:
        """Room in the arena for a result."""
        shape = tuple(int(n) for n in value.aval.shape)
        ctype = ctype or ctype_of(value.aval.dtype)
        return View.dense(self.program.buffer(ctype, max(math.prod(shape), 1)), shape)

    def scratch(self, size: int, ctype: str = "float") -> View:
        """Room in the arena for one step's own use."""
        return View.dense(self.program.buffer(ctype, size), (size,))

    def wants(self, value: Any) -> bool:
        """Whether something reads the value."""
        return value.number in self.needed

    # --- statements -------------------------------------------------------------------------------

    def step(self, text: str, in_place: Sequence[tuple[Buffer, Buffer]] = ()) -> None:
        """Append statements."""
        self.steps.append(Step(text, self._comment, list(in_place)))

    def call(self, name: str, *arguments: Any, struct: Any = "", **shape: int) -> None:
        """Call a registered function.

        Args:
            name: what :func:`function` gave.
            arguments: views are passed as addresses, whole numbers as they are.
            struct: another name than ``NAME_shape`` of the struct that is passed last.
            shape: its members.
        """
        self.program.use(name)
        given = [a.pointer if isinstance(a, View) else str(a) for a in arguments]
        if not shape:
            self.step(f"{name}({', '.join(given)});")
            return
        members = _wrapped([f".{key} = {value}" for key, value in shape.items()], 8)
        self.step(
            "{\n"
            f"    static const struct {struct or name + '_shape'} shape = {{\n{members}\n    }};\n"
            f"    {name}({', '.join([*given, '&shape'])});\n"
            "}"
        )

    def loop(
        self, target: View, given: Sequence[View], body: Callable[..., str],
        in_place: Sequence[tuple[Buffer, Buffer]] = (),
    ) -> None:  # fmt: skip
        """Append a loop over a shape: ``body(element of target, *elements of given)``.

        Args:
            given: views that are broadcast to the target's shape.
        """
        views = [target, *[broadcast(v, target.shape) for v in given]]
        lengths, strides = _merged(target.shape, [v.strides for v in views])
        texts, names, shown = [], [], {}
        for i, view in enumerate(views):
            name = "y" if i == 0 else f"x{i - 1}" if len(given) > 1 else "x"
            constness = "" if i == 0 else "const "
            texts.append(f"    {constness}{view.buffer.ctype} *{name} = {view.pointer};")
            names.append(name)
            shown[i] = _index(strides[i])
        elements = [f"{name}[{shown[i]}]" for i, name in enumerate(names)]
        lines = body(*elements).split("\n")
        indent = "    "
        for axis, n in enumerate(lengths):
            texts.append(f"{indent}for (int i{axis} = 0; i{axis} < {n}; ++i{axis}) {{")
            indent += "    "
        texts += [indent + line for line in lines]
        for _ in lengths:
            indent = indent[:-4]
            texts.append(f"{indent}}}")
        self.step("{\n" + "\n".join(texts) + "\n}", in_place)


def _wrapped(parts: Sequence[str], indent: int) -> str:
    """Parts joined by commas in lines of at most 96 characters."""
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) + 2 + indent > 96:
            lines.append(line)
            line = ""
        line += f"{part}, " if part is not parts[-1] else f"{part},"
    return "\n".join(" " * indent + each.rstrip() for each in [*lines, line])


def broadcast(view: View, shape: Sequence[int]) -> View:
    """A view with stride 0 along axes that are repeated."""
    missing = len(shape) - len(view.shape)
    strides = [
        0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True)
    ]
    return View(view.buffer, tuple(shape), (*[0] * missing, *strides), view.offset)


def _merged(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """The fewest loops over a shape: neighbouring axes are one where all operands allow it."""
    lengths: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, n in enumerate(shape):
        if n == 1:
            continue
        own = [s[axis] for s in strides]
        if lengths and all(row[-1] == s * n for row, s in zip(steps, own, strict=True)):
            lengths[-1] *= n
            for row, s in zip(steps, own, strict=True):
                row[-1] = s
            continue
        lengths.append(n)
        for row, s in zip(steps, own, strict=True):
            row.append(s)
    return lengths, steps


def _index(strides: Sequence[int]) -> str:
    """The place of an element, as a C expression of loop variables."""
    parts = [
        f"i{axis}" if s == 1 else f"{s} * i{axis}" for axis, s in enumerate(strides) if s
    ]
    return " + ".join(parts) or "0"
