"""`mindspore_lite.ModelGroup`: models that share memory."""

from __future__ import annotations

import enum
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine.compile.runtime.executable import SharedArena

from .context import Context
from .graph import LiteGraph
from .kinds import ModelType
from .model import SHARED, Model

__all__ = ["ModelGroup", "ModelGroupFlag"]


class ModelGroupFlag(enum.Enum):
    """What models share."""

    SHARE_WEIGHT = 1
    SHARE_WORKSPACE = 2
    SHARE_WEIGHT_WORKSPACE = 3


class _Memory:
    """What the models of a group have together.

    Args:
        flags: what they share.
    """

    def __init__(self, flags: ModelGroupFlag) -> None:
        self._shares_weights = flags is not ModelGroupFlag.SHARE_WORKSPACE
        self._arena = SharedArena() if flags is not ModelGroupFlag.SHARE_WEIGHT else None
        self._weights: dict[Any, np.ndarray] = {}

    def arena(self) -> SharedArena:
        """The memory of a model's intermediate results."""
        return self._arena or SharedArena()

    def share_weights(self, graph: LiteGraph) -> None:
        """Let a graph have the arrays of models before it where it has the same numbers."""
        for tensor in graph.tensors if self._shares_weights else ():
            data = tensor.data
            if data is not None and data.nbytes:
                content = hashlib.sha256(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)
                key = data.dtype.str, data.shape, content.digest()
                tensor.data = self._weights.setdefault(key, data)


class ModelGroup:
    """Models that share memory; each is built after the group has it.

    Those that share a workspace run one after another, also when several threads call them.

    Args:
        flags: what they share: intermediate results (the workspace), weights of equal numbers, or
            both.

    Raises:
        TypeError: ``flags`` is no ModelGroupFlag.
    """

    def __init__(self, flags: ModelGroupFlag = ModelGroupFlag.SHARE_WORKSPACE) -> None:
        if not isinstance(flags, ModelGroupFlag):
            raise TypeError(f"flags must be ModelGroupFlag, but got {type(flags)}.")
        self._flags = flags
        self._memory = _Memory(flags)
        self._paths: list[str] = []

    def add_model(self, models: Sequence[Any]) -> None:
        """Add models.

        Args:
            models: their files, which are built later, or models that are not yet built.

        Raises:
            TypeError: they are no list or tuple of one of the two.
            RuntimeError: there are none, or one is built already.
        """
        if not isinstance(models, (list, tuple)):
            raise TypeError(f"models must be list or tuple, but got {type(models)}.")
        if not models:
            raise RuntimeError("add_model failed: models is empty")
        if all(isinstance(each, Model) for each in models):
            for each in models:
                if each.is_built:
                    raise RuntimeError("add_model failed: a model is built already")
                each.shared = self._memory
        elif all(isinstance(each, (str, os.PathLike)) for each in models):
            for path in map(os.path.realpath, models):
                SHARED[path] = self._memory
                self._paths.append(path)
        else:
            raise TypeError("models must be all str or all Model.")

    def cal_max_size_of_workspace(self, model_type: ModelType, context: Context) -> None:
        """Make the workspace as large as the largest model needs it.

        Args:
            model_type: of the files that were added.
            context: where they run.

        Raises:
            TypeError: an argument has another type.
            RuntimeError: no workspace is shared, or a model cannot be built.
        """
        if not isinstance(model_type, ModelType):
            raise TypeError(f"model_type must be ModelType, but got {type(model_type)}.")
        if not isinstance(context, Context):
            raise TypeError(f"context must be Context, but got {type(context)}.")
        if self._flags is ModelGroupFlag.SHARE_WEIGHT:
            raise RuntimeError("cal_max_size_of_workspace failed: no workspace is shared")
        for path in self._paths:
            Model().build_from_file(path, model_type, context)
