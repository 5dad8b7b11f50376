"""torch.ao.nn.quantized.dynamic: quantised weights, and numbers that are put on levels at each
call."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from .linear import Linear
from .rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "Linear", "RNNCell"]

_own_names(globals())
