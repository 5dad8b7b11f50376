"""`mindspore_lite.lite_infer.LiteInfer`: a network of MindSpore's that runs as a Lite model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch import mindspore

from .context import Context
from .converter import finished
from .importing import from_model
from .model import Model
from .tensor import Tensor

__all__ = ["LiteInfer"]


class LiteInfer:
    """A network that is traced, folded and fused as the converter does it.

    Args:
        model_or_net: a Cell, or a Model of `mindspore.train`, whose network is taken.
        net_inputs: examples of its inputs.
        context: where it runs.
        model_group_id, config: none.

    Raises:
        ValueError: it is neither, or ``model_group_id`` or ``config`` is given.
        ConvertError: the network depends on data.
    """

    def __init__(
        self, model_or_net: Any, *net_inputs: Any, context: Context | None = None,
        model_group_id: int | None = None, config: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if model_group_id is not None or config:
            raise ValueError("model_group_id and config: networks have no settings here")
        net = getattr(model_or_net, "predict_network", model_or_net)
        if not isinstance(net, mindspore.nn.Cell):
            raise ValueError(
                "For LiteInfer, input model_or_net should be ms.train.Model or ms.nn.Cell, but "
                f"got {type(model_or_net)}."
            )
        self._model = Model()
        self._model.build_from_graph(finished(from_model(net, net_inputs)), context)

    def get_inputs(self) -> list[Tensor]:
        """As :meth:`Model.get_inputs`."""
        return self._model.get_inputs()

    def get_outputs(self) -> list[Tensor]:
        """As :meth:`Model.get_outputs`."""
        return self._model.get_outputs()

    def predict(self, inputs: Sequence[Tensor | np.ndarray]) -> list[Tensor]:
        """As :meth:`Model.predict`.

        Args:
            inputs: in the order of :meth:`get_inputs`, tensors or arrays.
        """
        return self._model.predict(inputs)

    def resize(self, inputs: Sequence[Tensor], dims: Sequence[Sequence[int]]) -> None:
        """As :meth:`Model.resize`.

        Args:
            inputs: in the order of :meth:`get_inputs`.
            dims: their shapes.
        """
        self._model.resize(inputs, dims)
