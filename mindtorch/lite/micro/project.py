"""The files of a C project: header, code, weights, an example and what builds them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mindtorch.exporting.errors import ExportError
from mindtorch.kernels.support.atomic_file import replacing

from .buffers import CTYPES, Step, View, ctype_of, place, resolved
from .templates import CMAKE, CODE, EXAMPLE, HEADER, WEIGHTS, WEIGHTS_HEADER
from .writer import Program, Writer, identifier, literal, without_comments

__all__ = [
    "CFunction", "Parameter", "Report", "input_parameters", "output_parameters", "texts_of",
    "write",
]  # fmt: skip

_SIZES = {"float": 4, "int32_t": 4, "uint8_t": 1, "int8_t": 1}
_MATH = re.compile(
    r"\b(?:(?:exp|log|log1p|fabs|erf|tanh?|sinh?|cosh?|asinh?|acosh?|atanh?|pow|sqrt|floor|ceil"
    r"|nearbyint|fmod)f?|isinf|pow)\("
)  # fmt: skip
_CONSTANTS = re.compile(r"\b(?:NAN|INFINITY)\b")


@dataclass
class Parameter:
    """What a C function takes: an address of elements.

    Attributes:
        name, ctype, shape: of the elements.
        constant: it is read alone.
        meaning: for the header.
    """

    name: str
    ctype: str
    shape: tuple[int, ...]
    constant: bool
    meaning: str = ""

    @property
    def size(self) -> int:
        return View.dense(None, self.shape).size  # type: ignore[arg-type]

    @property
    def declaration(self) -> str:
        return f"{'const ' if self.constant else ''}{self.ctype} *{self.name}"


@dataclass
class CFunction:
    """A public C function.

    Attributes:
        name: without the program's prefix.
        meaning: the comment in the header.
        parameters: what it takes.
        steps: its statements.
        outputs: by the number of a buffer, the parameter that it is.
    """

    name: str
    meaning: str
    parameters: list[Parameter]
    steps: list[Step]
    outputs: dict[int, str]


@dataclass
class Report:
    """What was written.

    Attributes:
        folder, files: where.
        arena_bytes: the memory for what is computed on the way.
        weight_bytes: constants.
        state_bytes: parameters and optimizer states that training changes.
    """

    folder: str
    files: list[str]
    arena_bytes: int
    weight_bytes: int
    state_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.folder}: {', '.join(self.files)}; arena {self.arena_bytes} bytes, "
            f"constants {self.weight_bytes} bytes, changing {self.state_bytes} bytes"
        )


def texts_of(names: Sequence[str], base: str) -> list[str]:
    """C names of inputs or outputs: ``base`` for one alone, else with a name of its own."""
    if len(names) == 1:
        return [base]
    made: list[str] = []
    for i, name in enumerate(names):
        text = f"{base}_{identifier(name) if name else i}"
        made.append(text if text not in made else f"{text}_{i}")
    return made


def input_parameters(w: Writer, names: Sequence[str], texts: Sequence[str]) -> list[Parameter]:
    """Let the graph's inputs be parameters of the C function, called ``texts``."""
    made = []
    for value, name, text in zip(w.graph.inputs, names, texts, strict=True):
        ctype, shape = ctype_of(value.aval.dtype), tuple(int(n) for n in value.aval.shape)
        buffer = w.program.buffer(ctype, value.aval.size, text, True)
        w.values[value.number] = View.dense(buffer, shape)
        made.append(Parameter(text, ctype, shape, True, name))
    return made


def output_parameters(
    w: Writer, values: Sequence[Any], names: Sequence[str], texts: Sequence[str]
) -> tuple[list[Parameter], dict[int, str]]:
    """Let values be written to parameters of the C function: the last steps write there, and what
    is no array of its own is copied."""
    made: list[Parameter] = []
    taken: dict[int, str] = {}
    for value, name, text in zip(values, names, texts, strict=True):
        view = w.of(value)
        made.append(Parameter(text, view.buffer.ctype, view.shape, False, name))
        if view.is_whole and view.buffer.text is None and view.buffer.number not in taken:
            taken[view.buffer.number] = text
        else:
            buffer = w.program.buffer(view.buffer.ctype, view.size, text)
            w.copied(view, View.dense(buffer, view.shape))
    return made, taken


def _shown(parameter: Parameter) -> str:
    lengths = "".join(f"[{n}]" for n in parameter.shape) or "one number"
    meaning = f" ({parameter.meaning})" if parameter.meaning else ""
    return f" *   {parameter.name}: {parameter.ctype} {lengths}{meaning}"


def _named(text: str, outputs: dict[int, str]) -> str:
    """Statements in which buffers that are outputs have their names."""
    return re.sub(r"@(\d+)@", lambda found: outputs.get(int(found[1]), found[0]), text)


def _body(function: CFunction, program: Program, places: dict[int, int]) -> str:
    lines: list[str] = []
    for step in function.steps:
        text = resolved(_named(step.text, function.outputs), program.buffers, places)
        if step.comment and (not lines or lines[-1] != f"    /* {step.comment} */"):
            lines.append(f"    /* {step.comment.replace('*/', '* /')} */")
        lines += [f"    {line}" for line in text.split("\n")]
    return "\n".join(lines)


def _planned(program: Program, functions: Sequence[CFunction]) -> tuple[list[str], dict[str, int]]:
    """The bodies of the functions, which share one arena, and its sizes."""
    bodies, sizes = [], dict.fromkeys(CTYPES, 0)
    for function in functions:
        inside = [
            Step(_named(step.text, function.outputs), step.comment, step.in_place)
            for step in function.steps
        ]
        places, own = place(inside, program.buffers)
        bodies.append(_body(function, program, places))
        sizes = {ctype: max(n, own.get(ctype, 0)) for ctype, n in sizes.items()}
    return bodies, {ctype: n for ctype, n in sizes.items() if n}


def _array(name: str, ctype: str, array: Any, constant: bool) -> str:
    head = f"{'const ' if constant else ''}{ctype} {name}[{max(array.size, 1)}]"
    if not constant and not array.any():
        return f"{head};\n"
    numbers = [literal(x, ctype) for x in array.reshape(-1).tolist()] or ["0"]
    lines = [", ".join(numbers[i : i + 8]) for i in range(0, len(numbers), 8)]
    return f"{head} = {{\n    " + ",\n    ".join(lines) + "\n};\n"


def write(
    program: Program, functions: Sequence[CFunction], folder: str | os.PathLike[str], *,
    title: str, macros: Sequence[tuple[str, int, str]], declared: str = "", defined: str = "",
    example: str = "",
) -> Report:  # fmt: skip
    """Write the project.

    Args:
        title: what the header says of the model.
        macros: (name without prefix, number, meaning).
        declared, defined: more of the header and of the code.
        example: the statements of the example's loop.
    """
    prefix, upper = program.prefix, program.prefix.upper()
    bodies, sizes = _planned(program, functions)
    widest = max((_SIZES[ctype] for ctype in sizes), default=1)
    arena = -(-sum(n * _SIZES[ctype] for ctype, n in sizes.items()) // widest) * widest
    pairs = zip(functions, bodies, strict=True)
    codes = [f"{_head(f, prefix)}\n{{\n{body}\n}}" for f, body in pairs]
    declarations = [
        f"/* {f.meaning}\n" + "\n".join(_shown(p) for p in f.parameters) + "\n */\n"
        f"{_head(f, prefix)};"
        for f in functions
    ]
    helpers = "\n".join(program.function_texts())
    text = "\n\n".join([defined, *codes])
    code = without_comments(helpers + text)
    math = _MATH.search(code)
    constants = math or _CONSTANTS.search(code)
    values = {"name": prefix, "NAME": upper, "title": title}
    externs = [
        f"extern {'const ' if held[2] else ''}{held[0]} {name}[{max(held[1].size, 1)}];"
        for name, held in program.arrays.items()
    ]
    arrays = "\n".join(_array(name, *held) for name, held in program.arrays.items())
    defines = [(*each[:2], each[2]) for each in (
        *macros, ("BUFFER_SIZE", arena, f"bytes of the arena, which {prefix}.c holds"))]
    files = {
        f"{prefix}.h": HEADER.substitute(
            values, declared=declared, declarations="\n\n".join(declarations),
            defines="\n".join(f"#define {upper}_{n} {v} /* {m} */" for n, v, m in defines),
        ),
        f"{prefix}.c": CODE.substitute(
            values, math="#include <math.h>\n" if constants else "", helpers=helpers,
            arena=_arena(prefix, sizes) if sizes else "",
            code=text.strip(),
        ),
        f"{prefix}_weights.h": WEIGHTS_HEADER.substitute(values, externs="\n".join(externs)),
        f"{prefix}_weights.c": WEIGHTS.substitute(
            values, arrays=arrays,
            math="#include <math.h>\n" if _CONSTANTS.search(arrays) else "",
        ),
        "main.c": EXAMPLE.substitute(values, example=example),
        "CMakeLists.txt": CMAKE.substitute(values, math=" m" if math else ""),
    }  # fmt: skip
    _save(os.fspath(folder), files)
    weights, state = (_bytes(program, constant) for constant in (True, False))
    return Report(os.fspath(folder), list(files), arena, weights, state)


def _head(function: CFunction, prefix: str) -> str:
    given = ", ".join(p.declaration for p in function.parameters)
    return f"void {prefix}_{function.name}({given})"


def _arena(prefix: str, sizes: dict[str, int]) -> str:
    """The definition of the arena, and a check that the header tells its size."""
    members = "".join(f"    {ctype} {CTYPES[ctype]}[{n}];\n" for ctype, n in sizes.items())
    return (
        f"static struct {{\n{members}}} arena;\n\ntypedef char {prefix}_buffer_size_"
        f"is_right[sizeof arena == {prefix.upper()}_BUFFER_SIZE ? 1 : -1];\n"
    )


def _bytes(program: Program, constant: bool) -> int:
    """Of the arrays that are constant, or that are not."""
    return sum(
        array.size * _SIZES[ctype] for ctype, array, held in program.arrays.values()
        if held == constant
    )  # fmt: skip


def _save(folder: str, files: dict[str, str]) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError:
        raise ExportError(f"{folder} is a file, the C code needs a folder") from None
    for name, text in files.items():
        with replacing(os.path.join(folder, name)) as file:
            file.write(text.encode())
