"""From a module, a loss and an optimizer to C code of a training step on the device."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.arguments import Arguments
from mindtorch.exporting.errors import ExportError, ExportWarning
from mindtorch.exporting.inference_graph import InferenceGraph, trace
from mindtorch.torch.nn import Module

from .buffers import Step, View
from .inference import example_main, forward_function, prefix_of, size_macros, title_of
from .optimizers import formula_of
from .project import CFunction, Report, input_parameters, output_parameters, texts_of, write
from .writer import Program, Writer, literal

__all__ = ["generate_training"]


class _Step(Module):
    """The loss, the gradients and what buffers hold afterwards."""

    def __init__(self, model: Module, loss: Callable[..., Any], trained: list[Any]) -> None:
        super().__init__()
        self.model = model
        self._loss, self._trained = loss, trained
        self._kept = [b for b in model.buffers() if b.aval.dtype is dtypes.float32]

    def forward(self, *given: Any) -> Any:
        *inputs, target = given
        with torch.enable_grad():
            loss = self._loss(self.model(*inputs), target)
        if loss.ndim:
            raise ExportError(f"the loss has the shape {list(loss.shape)}, not one number")
        gradients = torch.autograd.grad(loss, self._trained, allow_unused=True)
        self.has_gradient = [g is not None for g in gradients]
        return loss, *[g for g in gradients if g is not None], *self._kept


class _Training:
    """A training step under way.

    Args:
        program, model, loss, optimizer: see :func:`generate_training`.
    """

    def __init__(self, program: Program, model: Module, loss: Any, optimizer: Any) -> None:
        self.program, self.model, self.optimizer = program, model, optimizer
        self.names = {id(p): name for name, p in model.named_parameters()}
        groups = [(p, i) for i, g in enumerate(optimizer.param_groups) for p in g["params"]]
        if any(id(p) not in self.names for p, _ in groups):
            raise ExportError("the optimizer has parameters that the model has not")
        self.trained = [(p, i) for p, i in groups if p.requires_grad]
        if not self.trained:
            raise ExportError("no parameter of the optimizer requires a gradient")
        self.step = _Step(model, loss, [p for p, _ in self.trained])
        self.steps_done = 0

    def trace(self, inputs: tuple[Any, ...], target: Any) -> tuple[InferenceGraph, list[str]]:
        """The graph of the step, in the mode that the modules are in, and its inputs' names."""
        given = Arguments(self.step.forward, (*inputs, target), {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)  # writes to buffers are results here
            graph = trace(self.step, given, [{} for _ in given.tensors], None)
        graph.weights = {n: name.removeprefix("model.") for n, name in graph.weights.items()}
        self.trained = [
            each for each, has in zip(self.trained, self.step.has_gradient, strict=True) if has
        ]
        names = [str(i) for i in range(len(given.names) - 1)]
        return graph, names

    def changing(self, graph: InferenceGraph) -> set[str]:
        """The names of the parameters and buffers that the step changes."""
        names = {self.names[id(p)] for p, _ in self.trained}
        kept = [n for n, b in self.model.named_buffers() if b.aval.dtype is dtypes.float32]
        values = graph.outputs[len(graph.outputs) - len(kept) :] if kept else []
        moved = {
            name for name, value in zip(kept, values, strict=True)
            if graph.weights.get(value.number) != name
        }  # fmt: skip
        return names | moved

    def function(self, graph: InferenceGraph, names: list[str], changing: set[str]) -> CFunction:
        """The C function of the step."""
        mutable = mutable_numbers(graph, changing)
        held = {n: graph.constants.pop(n) for n in mutable}
        graph.fold_constants()
        graph.constants.update(held)
        w = Writer(self.program, graph, mutable)
        prefix = self.program.prefix
        w.step(f"++{prefix}_steps;")
        texts = [*texts_of(names, "train_input"), "target"]
        taken = input_parameters(w, [*names, "target"], texts)
        w.run()
        made, outputs = output_parameters(w, graph.outputs[:1], ["loss"], ["loss"])
        for (parameter, place), value in zip(self.trained, graph.outputs[1:], strict=False):
            self._update(w, parameter, place, value)
        self._keep_buffers(w, changing)
        meaning = (
            "One training step: the loss of a batch, its gradients, and the optimizer's change of\n"
            f" * the arrays in {prefix}_state. The rate is {prefix}_learning_rate."
        )
        return CFunction("train_step", meaning, [*taken, *made], w.steps, outputs)

    def _update(self, w: Writer, parameter: Any, place: int, value: Any) -> None:
        """The optimizer's formula, as soon as nothing needs the old parameter any more."""
        prefix, name = self.program.prefix, self.names[id(parameter)]
        formula, room = formula_of(self.optimizer, self.optimizer.param_groups[place])
        array = self.program.array(name, parameter.detach().array(), "float", False)
        gradient = w.dense(value)
        states = [self._state(parameter, name, state).text for state in formula.states]
        states += ["NULL"] * (room - len(states))
        self.program.use(formula.function)
        options = ", ".join(f".{key} = {value}" for key, value in formula.options.items())
        text = (
            "{\n"
            f"    static const struct {formula.function}_options options = {{\n"
            f"        {options}\n    }};\n"
            f"    {formula.function}({array}, {gradient.pointer}, {', '.join(map(str, states))},\n"
            f"        {array.size}, {prefix}_learning_rate[{place}], {prefix}_steps, &options);\n}}"
        )
        uses = re.compile(rf"\b{array}\b|@{gradient.buffer.number}@")
        last = max(i for i, step in enumerate(w.steps) if uses.search(step.text))
        kind = type(self.optimizer).__name__
        w.steps.insert(last + 1, Step(text, f"{kind} of {name}"))

    def _state(self, parameter: Any, name: str, state: str) -> Any:
        """The array of an optimizer's state, which begins as it stands."""
        held = self.optimizer.state.get(parameter, {})
        now = held.get(state)
        if now is None:
            now = np.zeros(parameter.shape, np.float32)
        else:
            self.steps_done = max(self.steps_done, int(held.get("step", 1)))
            now = now.detach().array()
        return self.program.array(f"{name}.{state}", np.array(now), "float", False)

    def _keep_buffers(self, w: Writer, changing: set[str]) -> None:
        kept = [n for n, b in self.model.named_buffers() if b.aval.dtype is dtypes.float32]
        held = dict(self.model.named_buffers())
        values = w.graph.outputs[len(w.graph.outputs) - len(kept) :] if kept else []
        for name, value in zip(kept, values, strict=True):
            if name in changing:
                array = self.program.array(name, held[name].array(), "float", False)
                w.copied(w.of(value), View.dense(array, value.aval.shape))

    # --- what the project has beside the functions ------------------------------------------------

    def declared(self) -> str:
        """The header's lines of state."""
        prefix, upper = self.program.prefix, self.program.prefix.upper()
        count = sum(not held[2] for held in self.program.arrays.values())
        return (
            f"/* What training changes, to be kept or brought back: save these arrays and "
            f"{prefix}_steps. */\n"
            f"struct {prefix}_array {{ const char *name; float *numbers; int count; }};\n"
            f"#define {upper}_STATE_COUNT {count}\n"
            f"extern const struct {prefix}_array {prefix}_state[{upper}_STATE_COUNT];\n"
            f"extern uint32_t {prefix}_steps; /* training steps done */\n"
            f"extern float {prefix}_learning_rate[{len(self.optimizer.param_groups)}]; "
            "/* one for each group of the optimizer */\n\n"
            "/* Forget the optimizer's running means; parameters stay. */\n"
            f"void {prefix}_reset_optimizer(void);\n\n"
        )

    def defined(self) -> str:
        """The code of what the header declares."""
        prefix = self.program.prefix
        state = [(name, held[1].size) for name, held in self.program.arrays.items() if not held[2]]
        rows = "".join(f'    {{"{n[len(prefix) + 1 :]}", {n}, {size}}},\n' for n, size in state)
        rates = ", ".join(literal(float(g["lr"]), "float") for g in self.optimizer.param_groups)
        own = {f"{prefix}_{each}" for each in self._state_names()}
        clears = "".join(
            f"    for (int i = 0; i < {size}; ++i) {{\n        {n}[i] = 0.0f;\n    }}\n"
            for n, size in state if n in own
        )  # fmt: skip
        return (
            f"const struct {prefix}_array {prefix}_state[] = {{\n{rows}}};\n"
            f"uint32_t {prefix}_steps = {self.steps_done};\n"
            f"float {prefix}_learning_rate[] = {{{rates}}};\n\n"
            f"void {prefix}_reset_optimizer(void)\n{{\n{clears}    {prefix}_steps = 0;\n}}"
        )

    def _state_names(self) -> set[str]:
        found = set()
        for parameter, place in self.trained:
            formula, _ = formula_of(self.optimizer, self.optimizer.param_groups[place])
            for state in formula.states:
                found.add(re.sub(r"\W", "_", f"{self.names[id(parameter)]}.{state}"))
        return found


def mutable_numbers(graph: InferenceGraph, changing: set[str]) -> frozenset[int]:
    """The numbers of the constants that are these parameters and buffers."""
    return frozenset(n for n, name in graph.weights.items() if name in changing)


def generate_training(
    model: Module, loss: Callable[[Any, Any], Any], example_inputs: Any, example_target: Tensor,
    optimizer: Any, folder: str | os.PathLike[str], name: str = "model", predict_inputs: Any = None,
) -> Report:  # fmt: skip
    """Write a C99 project that trains a model on the device, in float32.

    ``NAME_train_step`` computes the loss of one batch and its gradients and changes the parameters
    by the optimizer's formula; ``NAME_run`` computes the model in evaluation with the parameters as
    they are by then. Parameters begin as the model has them, the optimizer's states as it has them.

    Args:
        model: a module; the step is traced in the mode that its modules are in.
        loss: a function of the model's result and the target, to one number.
        example_inputs, example_target: a batch, whose shapes the code is for.
        optimizer: SGD, Adam or AdamW of the model's parameters.
        folder, name: as :func:`~mindtorch.lite.micro.generate` has them.
        predict_inputs: what ``NAME_run`` takes; if None, the first of each batch.

    Returns:
        what was written, with the bytes of memory that it needs.

    Raises:
        UnsupportedOperatorError: an op of the forward or backward has no writer.
        ExportError: the step cannot be traced, or the optimizer has no formula here.
    """
    program = Program(prefix_of(name))
    inputs = example_inputs if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    training = _Training(program, model, loss, optimizer)
    graph, names = training.trace(tuple(inputs), example_target)
    changing = training.changing(graph)
    step = training.function(graph, names, changing)
    if predict_inputs is None:
        predict_inputs = tuple(x[:1] for x in inputs)
    elif not isinstance(predict_inputs, (tuple, list)):
        predict_inputs = (predict_inputs,)
    given = Arguments(model.forward, tuple(predict_inputs), {})
    forward = trace(model, given, [{} for _ in given.tensors])
    run = forward_function(
        program, forward, given.names, "run", mutable_numbers(forward, changing)
    )
    macros = {each[0]: each for f in (run, step) for each in size_macros(f.parameters)}
    return write(
        program, [run, step], folder, title=f"{title_of(model)}, with a training step",
        macros=list(macros.values()), declared=training.declared(), defined=training.defined(),
        example=example_main(program, step),
    )  # fmt: skip
