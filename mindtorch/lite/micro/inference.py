"""From a module to C code that computes its forward in float32."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from mindtorch.exporting.arguments import Arguments
from mindtorch.exporting.batch_norm import fold_batch_norm
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph, trace
from mindtorch.torch.nn import Module

from . import (  # noqa: F401  # writers register themselves
    writers_attention,
    writers_elementwise,
    writers_losses,
    writers_networks,
    writers_recurrent,
    writers_shapes,
    writers_training,
)
from .project import (
    CFunction,
    Parameter,
    Report,
    input_parameters,
    output_parameters,
    texts_of,
    write,
)
from .quantization import Quantized, calibrate
from .writer import Program, Writer, identifier
from .writers_int8 import Int8Writer

__all__ = ["example_main", "generate", "graph_of", "prefix_of", "size_macros", "title_of"]


def prefix_of(name: str) -> str:
    """What public C names begin with.

    Raises:
        ExportError: the name is no C identifier, or the example's.
    """
    if identifier(name) != name or name == "main":
        raise ExportError(f"name={name!r} cannot begin C names and files")
    return name


def title_of(model: Any) -> str:
    """What the header calls the model."""
    return f"{type(model).__name__ if isinstance(model, Module) else 'A function'}, in C"


def graph_of(model: Any, example_inputs: Any) -> tuple[InferenceGraph, list[str]]:
    """The inference graph of a module (or the graph that is given), and its inputs' names."""
    if isinstance(model, InferenceGraph):
        return model, model.input_names or [str(i) for i in range(len(model.inputs))]
    call = model.forward if isinstance(model, Module) else model
    inputs = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    given = Arguments(call, tuple(inputs), {})
    graph = trace(model, given, [{} for _ in given.tensors])
    graph.fold_constants()
    fold_batch_norm(graph)
    return graph, given.names


def size_macros(parameters: Sequence[Parameter]) -> list[tuple[str, int, str]]:
    """The header's numbers of elements."""
    return [
        (f"{p.name.upper()}_SIZE", p.size, "".join(f"[{n}]" for n in p.shape) or "a number")
        for p in parameters
    ]


def example_main(program: Program, function: CFunction) -> str:
    """The example's main: reads all inputs, calls, prints all outputs."""
    upper, arrays, reads, prints = program.prefix.upper(), [], [], []
    for p in function.parameters:
        size = f"{upper}_{p.name.upper()}_SIZE"
        arrays.append(f"static {p.ctype} {p.name}[{size}];")
        if p.constant:
            number = "(float)number" if p.ctype == "float" else f"({p.ctype})number"
            reads.append(
                f"        for (int i = 0; i < {size}; ++i) {{\n"
                "            double number;\n"
                '            if (scanf("%lf", &number) != 1) {\n'
                "                return 0;\n"
                "            }\n"
                f"            {p.name}[i] = {number};\n"
                "        }"
            )
        else:
            prints.append(
                f"        for (int i = 0; i < {size}; ++i) {{\n"
                f'            printf("%.9g ", (double){p.name}[i]);\n'
                "        }"
            )
    given = ", ".join(p.name for p in function.parameters)
    call = f"        {program.prefix}_{function.name}({given});"
    return "\n".join([
        *arrays, "", "int main(void)", "{", "    for (;;) {", *reads, call, *prints,
        '        printf("\\n");', "    }", "}", "",
    ])  # fmt: skip


def generate(
    model: Any, example_inputs: Any, folder: str | os.PathLike[str], name: str = "model",
    calibration: Iterable[Any] | None = None, title: str = "",
) -> Report:  # fmt: skip
    """Write a C99 project that computes a model's forward, in float32 or int8.

    It allocates nothing and needs nothing but, where a function is used, libm. Sums are accumulated
    in float in the order of plain loops; results differ from ours by rounding.

    Args:
        model: a module, which is traced in evaluation, a function of tensors, or an
            :class:`~mindtorch.exporting.inference_graph.InferenceGraph`.
        example_inputs: a tensor or a tuple of them, whose shapes the code is for.
        folder: where files are written, made if it is not there.
        name: what the files and public C names begin with.
        calibration: samples of the model's inputs (each as ``example_inputs``). The code is int8
            then: weights with a scale for each channel, activations with a scale and a zero point
            from the largest and smallest number that the samples give (MAX_MIN). Inputs and outputs
            stay float; ops that have no int8 form are computed in float in between.
        title: what the header says that the model is; the name of its class where it is empty.

    Returns:
        what was written, with the bytes of memory that it needs.

    Raises:
        UnsupportedOperatorError: an op has no writer; the op and the line that asked for it are
            named.
        ExportError: the model cannot be traced, or ``name`` is no C identifier.
    """
    program = Program(prefix_of(name))
    graph, names = graph_of(model, example_inputs)
    scales = None if calibration is None else calibrate(graph, calibration)
    function = forward_function(program, graph, names, scales=scales)
    return write(
        program, [function], folder, title=title or title_of(model),
        macros=size_macros(function.parameters), example=example_main(program, function),
    )  # fmt: skip


def forward_function(
    program: Program, graph: InferenceGraph, names: Sequence[str], name: str = "run",
    mutable: frozenset[int] = frozenset(), scales: dict[int, Quantized] | None = None,
) -> CFunction:  # fmt: skip
    """The C function of a graph.

    Args:
        mutable: the numbers of the constants that training changes.
        scales: how values are held as int8, if it is to compute so.
    """
    w = Writer(program, graph, mutable) if scales is None else Int8Writer(program, graph, scales)
    taken = input_parameters(w, names, texts_of(names, "input"))
    w.run()
    given = graph.output_names
    made, outputs = output_parameters(w, graph.outputs, given, texts_of(given, "output"))
    return CFunction(name, "Compute the model.", [*taken, *made], w.steps, outputs)
