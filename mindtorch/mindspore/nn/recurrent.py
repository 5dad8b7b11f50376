"""Recurrent layers: torch's, with MindSpore's parameters and arguments."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.torch.nn.modules import rnn
from mindtorch.torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..common.initializer import Uniform, initializer
from ..common.parameter import Parameter
from ..common.tensor import adopting
from .cell import Cell

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


def _kind(name: str) -> str:
    return "_".join(name.split("_")[:2])


class _OfTorch(Cell):
    """Holds the parameters of a module of torch's, which computes with them."""

    def __init__(self, engine: Any, hidden_size: int, dtype: Any) -> None:
        super().__init__()
        object.__setattr__(self, "_engine", engine)
        uniform = Uniform(1 / math.sqrt(hidden_size))
        kinds = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]  # one kind after the other
        for name in sorted(engine._parameters, key=lambda name: kinds.index(_kind(name))):
            parameter = engine._parameters[name]
            if parameter is not None:
                made = initializer(uniform, parameter.aval.shape, dtype)
                setattr(self, name, Parameter(made, name))

    def _run(self, *inputs: Any) -> Any:
        names = list(self._parameters)
        current = [getattr(self, name) for name in names]
        engine = self._engine
        engine.training = self.training

        def forward(weights: list[Any], *args: Any) -> Any:
            engine._parameters.update(zip(names, weights, strict=True))
            return _forward(engine, *args)

        return adopting(forward)(current, *inputs)


def _forward(engine: Any, x: Any, hx: Any, lengths: Any = None) -> Any:
    if lengths is None:
        return engine.forward(x, hx)
    first = engine.batch_first
    packed = pack_padded_sequence(x, lengths.long(), batch_first=first, enforce_sorted=False)
    result, state = engine.forward(packed, hx)
    size = x.aval.shape[1 if first else 0]
    return pad_packed_sequence(result, batch_first=first, total_length=size)[0], state


class _Layers(_OfTorch):
    kind: Any = None

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        dtype: Any = dtypes.float32, **options: Any,
    ) -> None:  # fmt: skip
        if not 0 <= dropout < 1:
            raise ValueError(
                f"For '{type(self).__name__}', the 'dropout' must be in [0, 1), but got {dropout}."
            )
        engine = type(self).kind(
            input_size, hidden_size, num_layers, bias=has_bias, batch_first=batch_first,
            dropout=dropout, bidirectional=bidirectional, **options,
        )  # fmt: skip
        super().__init__(engine, hidden_size, dtype)
        self.batch_first, self.hidden_size, self.num_layers = batch_first, hidden_size, num_layers

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        return self._run(x, hx, seq_length)


class LSTM(_Layers):
    """Long short-term memory: ``output, (h, c) = lstm(x, (h0, c0))``.

    Args:
        seq_length: of ``construct``: how long each sequence of the batch is; the rest is zeros.
    """

    kind = rnn.LSTM


class GRU(_Layers):
    """Gated recurrent units: ``output, h = gru(x, h0)``."""

    kind = rnn.GRU


class RNN(_Layers):
    """Elman's recurrent layers: ``output, h = rnn(x, h0)``; ``nonlinearity`` "tanh" or "relu"."""

    kind = rnn.RNN

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        has_bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"For 'RNN', 'nonlinearity' must be tanh or relu: {nonlinearity!r}")
        super().__init__(
            input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional,
            dtype, nonlinearity=nonlinearity,
        )  # fmt: skip


class LSTMCell(_OfTorch):
    """One step of an LSTM: ``h, c = cell(x, (h, c))``."""

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(rnn.LSTMCell(input_size, hidden_size, has_bias), hidden_size, dtype)

    def construct(self, x: Any, hx: Any) -> Any:
        return self._run(x, hx)


class GRUCell(_OfTorch):
    """One step of gated recurrent units: ``h = cell(x, h)``."""

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(rnn.GRUCell(input_size, hidden_size, has_bias), hidden_size, dtype)

    def construct(self, x: Any, hx: Any) -> Any:
        return self._run(x, hx)


class RNNCell(_OfTorch):
    """One step of Elman's layer: ``h = cell(x, h)``."""

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh",
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        engine = rnn.RNNCell(input_size, hidden_size, has_bias, nonlinearity)
        super().__init__(engine, hidden_size, dtype)

    def construct(self, x: Any, hx: Any) -> Any:
        return self._run(x, hx)
