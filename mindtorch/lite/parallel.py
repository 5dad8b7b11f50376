"""`mindspore_lite.ModelParallelRunner`: one file, for several threads at the same time."""

from __future__ import annotations

import os
import queue
from collections.abc import Sequence

from .context import Context
from .file import is_lite_file
from .kinds import ModelType
from .model import Model
from .tensor import Tensor

__all__ = ["ModelParallelRunner"]


class ModelParallelRunner:
    """Models of one file with memory of their own, whose weights are the same arrays. As many calls
    run at the same time as there are; further ones wait.

    Raises:
        RuntimeError: of every method but :meth:`build_from_file`, before that.
    """

    def __init__(self) -> None:
        self._inputs: list[Tensor] | None = None
        self._outputs: list[Tensor] = []
        self._free: queue.Queue[Model] = queue.Queue()
        self.model_path = ""

    def build_from_file(
        self, model_path: str | os.PathLike[str], context: Context | None = None
    ) -> None:
        """Load a file.

        Args:
            model_path: the file, MindIR or what the converter writes.
            context: where it runs; ``context.parallel.workers_num`` is the number of models, 0:
                one for each core that a model's threads leave.

        Raises:
            TypeError: ``context`` is none.
            RuntimeError: as :meth:`Model.build_from_file`.
        """
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context must be Context, but got {type(context)}.")
        context = context or Context()
        kind = ModelType.MINDIR_LITE
        if os.path.isfile(model_path):
            with open(model_path, "rb") as file:
                kind = kind if is_lite_file(file.read(8)) else ModelType.MINDIR
        first = Model()
        first.build_from_file(model_path, kind, context)
        cores = len(os.sched_getaffinity(0))
        count = context.parallel.workers_num or max(1, cores // max(1, context.cpu.thread_num))
        models = [first, *[first.sibling() for _ in range(count - 1)]]
        self._free = queue.Queue()
        for each in models:
            self._free.put(each)
        self._inputs, self._outputs = first.get_inputs(), first.get_outputs()
        self.model_path = os.fspath(model_path)

    def _built(self) -> list[Tensor]:
        if self._inputs is None:
            raise RuntimeError("the runner is not built: call build_from_file first")
        return self._inputs

    def get_inputs(self) -> list[Tensor]:
        """New tensors like the inputs of the file, each caller's own."""
        return [each.copied() for each in self._built()]

    def get_outputs(self) -> list[Tensor]:
        """What the model gives: names, types and shapes; the elements are zeros."""
        self._built()
        return [each.copied() for each in self._outputs]

    def predict(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor] | None = None
    ) -> list[Tensor]:
        """The outputs for these inputs, of whatever lengths the file leaves open.

        Args:
            inputs: in the order of :meth:`get_inputs`.
            outputs: tensors that take the results as well.

        Raises:
            TypeError: an input is no tensor.
            RuntimeError: an input has another type or shape than the model's.
        """
        self._built()
        for each in inputs:
            if not isinstance(each, Tensor):
                raise TypeError(f"inputs element must be Tensor, but got {type(each)}.")
        model = self._free.get()
        try:
            known = model.get_inputs()
            if len(known) == len(inputs):
                shapes = [x.shape for x in inputs]
                if shapes != [x.shape for x in known]:
                    try:
                        model.resize(known, shapes)
                    except ValueError as error:
                        raise RuntimeError(f"predict failed: {error}") from None
            return model.predict(inputs, outputs)
        finally:
            self._free.put(model)

    def __str__(self) -> str:
        return f"model_path: {self.model_path}."
