"""The base of metrics, and of means over all batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = ["Mean", "Metric", "two"]


class Metric:
    """Base of metrics: ``clear()``, then ``update(...)`` for each batch, then ``eval()``."""

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which of the network's outputs ``update`` gets; None for all."""
        return self._indexes

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Choose the outputs that ``update`` gets."""
        self._indexes = list(indexes)
        return self

    def _convert_data(self, data: Any) -> Any:
        """The array of a tensor, a list or an array."""
        return data.asnumpy() if isinstance(data, EngineTensor) else np.asarray(data)

    def clear(self) -> None:
        """Begin anew."""
        raise NotImplementedError

    def update(self, *inputs: Any) -> None:
        """Take a batch in."""
        raise NotImplementedError

    def eval(self) -> Any:
        """The figure of all batches since ``clear``."""
        raise NotImplementedError


def two(name: str, inputs: tuple[Any, ...]) -> Any:
    if len(inputs) != 2:
        raise ValueError(
            f"For '{name}.update', it needs 2 inputs (predicted value, true value), but got "
            f"{len(inputs)}"
        )
    return inputs


class Mean(Metric):
    """A sum over all batches, by a count."""

    _called = ""  # its name in errors, where that is not the class's

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum, self._total = 0.0, 0

    def eval(self) -> float:
        if self._total == 0:
            raise RuntimeError(
                f"'{self._called or type(self).__name__}' can not be calculated, because the "
                "number of samples is 0."
            )
        return float(self._sum / self._total)
