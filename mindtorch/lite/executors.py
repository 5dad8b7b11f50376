"""`mindspore_lite.MultiModelRunner`: the models of one file, each with a call of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .context import Context
from .kinds import ModelType
from .model import Model
from .tensor import Tensor

__all__ = ["ModelExecutor", "MultiModelRunner"]


class ModelExecutor:
    """A model that a :class:`MultiModelRunner` gives.

    Args:
        model: what it runs; None: nothing.

    Raises:
        RuntimeError: of every method, without a model.
    """

    def __init__(self, model: Model | None = None) -> None:
        self._model = Model() if model is None else model

    def predict(
        self, inputs: Sequence[Tensor | np.ndarray], outputs: Sequence[Tensor] | None = None
    ) -> list[Tensor]:
        """The outputs for these inputs.

        Args:
            inputs: in the order of :meth:`get_inputs`, tensors or arrays.
            outputs: tensors that take the results as well.

        Raises:
            RuntimeError: an input has another type or shape than the model's.
        """
        return self._model.predict(inputs, outputs)

    def get_inputs(self) -> list[Tensor]:
        """The model's inputs."""
        return self._model.get_inputs()

    def get_outputs(self) -> list[Tensor]:
        """What the model gives: names, types and shapes; the elements are zeros."""
        return self._model.get_outputs()


class MultiModelRunner:
    """Loads a MindIR file, and gives what runs its models; a file that this package writes or reads
    has one.

    Raises:
        RuntimeError: of :meth:`get_runner_exec`, before a file is loaded.
    """

    def __init__(self) -> None:
        self._model = Model()

    def build_from_file(
        self, model_path: str | os.PathLike[str], model_type: ModelType,
        context: Context | None = None, config_path: str = "", config_dict: Any = None,
    ) -> None:  # fmt: skip
        """Load a file.

        Args:
            model_path: a MindIR file.
            model_type: MINDIR.
            context: where it runs.
            config_path, config_dict: none; there are no settings in files here.

        Raises:
            RuntimeError: there is no such file, or another type of file is named.
            TypeError, ValueError: as :meth:`Model.build_from_file`.
        """
        if isinstance(model_type, ModelType) and model_type is not ModelType.MINDIR:
            raise RuntimeError("build_from_file failed, model_type only support MINDIR!")
        self._model.build_from_file(model_path, model_type, context, config_path, config_dict)

    def get_runner_exec(self) -> list[ModelExecutor]:
        """What runs the file's models."""
        self._model.get_inputs()
        return [ModelExecutor(self._model)]
