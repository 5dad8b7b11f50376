"""Recurrent networks."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import recurrent
from mindtorch.engine.transforms import autocast as casts

from ..._api.torch_function import as_operator
from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .utils import empty_parameter

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def lstm_step(gates: Any, c: Any) -> tuple[Any, Any]:
    """h and c after one step from the sums of the four gates (input, forget, cell, output)."""
    i, f, g, o = gates.chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(from_input: Any, from_hidden: Any, h: Any) -> Any:
    """h after one step: reset and update gates, then the new state."""
    ir, iz, cand = from_input.chunk(3, -1)
    hr, hz, hn = from_hidden.chunk(3, -1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    new = (cand + r * hn).tanh()
    return (h - new) * z + new


def _step(mode: str, x: Any, state: Any, w_hh: Any, b_hh: Any) -> Any:
    """One time step of a cell; ``x`` is the input's part of the gates."""
    if mode == "LSTM":
        return lstm_step(x + F.linear(state[0], w_hh, b_hh), state[1])
    if mode == "GRU":
        return (gru_step(x, F.linear(state[0], w_hh, b_hh), state[0]),)
    total = x + F.linear(state[0], w_hh, b_hh)
    return (total.tanh() if mode == "RNN_TANH" else total.relu(),)


def _run_projected(rows: Any, state: Any, weights: Any, reverse: bool, sizes: Any) -> Any:
    """An LSTM with projections, in ops; arguments as in :func:`_run`."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    batch = state[0].shape[0]
    counts = [batch] * (rows.shape[0] // max(batch, 1)) if sizes is None else sizes.tolist()
    outputs: list[Any] = [None] * len(counts)
    projected = F.linear(rows, w_ih, b_ih).split(counts)
    for t in range(len(counts) - 1, -1, -1) if reverse else range(len(counts)):
        part = tuple(s[: counts[t]] for s in state)
        h, c = lstm_step(projected[t] + F.linear(part[0], w_hh, b_hh), part[1])
        new: tuple[Any, ...] = (F.linear(h, w_hr), c)
        outputs[t] = new[0]
        if counts[t] < batch:
            new = tuple(torch.cat([n, s[counts[t] :]]) for n, s in zip(new, state, strict=True))
        state = new
    return torch.cat(outputs), state


def _run(mode: str, rows: Any, state: Any, weights: Any, reverse: bool, sizes: Any) -> Any:
    """A layer in one direction.

    Args:
        rows: the input, (rows of all times, features), time after time.
        state: the first states, (N, width) each.
        sizes: how many rows each time has, a tensor; None where that is always N. The states of
            samples that have ended are kept.

    Returns:
        The outputs, a row for each row of the input, and the last states.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    if w_hr is not None:
        return _run_projected(rows, state, weights, reverse, sizes)
    if mode == "GRU":
        parts = F.linear(rows, w_ih, b_ih)
        found = recurrent.gru(parts, *state, w_hh, b_hh, sizes, reverse=reverse)
        return found[0], found[1:2]
    parts = F.linear(rows, w_ih, None if b_ih is None else b_ih + b_hh)
    if mode == "LSTM":
        found = recurrent.lstm(parts, *state, w_hh, sizes, reverse=reverse)
        return found[0], found[1:3]
    kind = mode.removeprefix("RNN_").lower()
    found = recurrent.simple_recurrent(
        parts, *state, w_hh, sizes, reverse=reverse, nonlinearity=kind
    )
    return found[0], found[1:2]


def _check_axes(states: Any, count: int) -> None:
    """States have as many axes as the input."""
    if all(s.dim() == count for s in states):
        return
    found = ", ".join(f"{s.dim()}-D" for s in states)
    raise RuntimeError(
        f"For {'batched' if count == 3 else 'unbatched'} {count}-D input, "
        f"{'hx' if len(states) == 1 else 'hx and cx'} should also be {count}-D but got "
        + (f"{found} tensor" if len(states) == 1 else f"({found}) tensors")
    )


def _checked_sizes(packed: Any, width: int) -> tuple[Any, int]:
    """The sizes of a packed sequence's times up to one without rows, and their sum; torch's errors
    for such as make none."""
    counts, rows = packed.batch_sizes.tolist(), packed.data.shape[0]
    start, times = 0, 0
    for before, count in zip(counts[:1] + counts, counts, strict=False):
        if count < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        if start + count > rows:
            raise RuntimeError(
                f"start ({start}) + length ({count}) exceeds dimension size ({rows})."
            )
        if count > before:
            raise RuntimeError(
                f"output with shape [{before}, {width}] doesn't match the broadcast shape "
                f"[{count}, {width}]"
            )
        if not count:
            break
        start, times = start + count, times + 1
    whole = times == len(counts)
    return packed.batch_sizes if whole else packed.batch_sizes[:times], start


class RNNBase(Module):
    """Parameters and time loop that the recurrent networks share.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    mode: str

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_arguments(dropout)
        gates = _GATES[mode] * hidden_size
        size = proj_size if proj_size > 0 else hidden_size
        directions = 2 if bidirectional else 1
        self._all_weights = []
        for layer in range(num_layers):
            for direction in range(directions):
                width = input_size if layer == 0 else size * directions
                shapes = {"weight_ih": (gates, width), "weight_hh": (gates, size)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}  # type: ignore[dict-item]
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                end = f"_l{layer}" + ("_reverse" if direction else "")
                for name, shape in shapes.items():
                    setattr(self, name + end, empty_parameter(shape, device, dtype))
                self._all_weights.append([name + end for name in shapes])
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=3,
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int),
                           ("hidden_size", int)):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(
                    f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
                )
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        """All weights in order; what is assigned takes their places, parameters or not."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if name in self._parameters and not isinstance(weight, Parameter):
                del self._parameters[name]
            setattr(self, name, weight)

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """For GPUs; nothing is to be done here."""

    def reset_parameters(self) -> None:
        """Draw all parameters from [-1/sqrt(hidden), 1/sqrt(hidden))."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _weights(self, place: int) -> tuple[Any, ...]:
        named = dict.fromkeys(("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"))
        for name in self._all_weights[place]:
            named[name.split("_l")[0]] = getattr(self, name)
        return tuple(named.values())

    def _check_input(self, x: Any) -> None:
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if x.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({x.dtype}) does not match weight dtype ({dtype}). Convert "
                f"input: input.to({dtype}), or convert model: model.to({x.dtype})"
            )
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {x.size(-1)}"
            )

    def _initial(self, hx: Any, like: Any, batch: int, batched: bool) -> tuple[Any, ...]:
        """The states given (with a batch axis), or zeros."""
        directions = 2 if self.bidirectional else 1
        rows = self.num_layers * directions
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        widths = (size, self.hidden_size) if self.mode == "LSTM" else (size,)
        if hx is None:
            return tuple(like.new_zeros((rows, batch, w)) for w in widths)
        states = tuple(hx) if self.mode == "LSTM" else (hx,)
        names = ("hidden[0]", "hidden[1]") if self.mode == "LSTM" else ("hidden",)
        _check_axes(states, 3 if batched else 2)
        if not batched:
            states = tuple(s.unsqueeze(1) for s in states)
        for s, w, name in zip(states, widths, names, strict=True):
            if tuple(s.shape) != (rows, batch, w):
                raise RuntimeError(
                    f"Expected {name} size {(rows, batch, w)}, got {list(s.shape)}"
                )
        return states

    @functools.partial(casts.whole, casts.FULL, cuda=casts.LOWER)
    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """(L, N, input) or (L, input) or a packed sequence -> outputs of the last layer, states."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            name = self.mode.partition("_")[0]
            word = " tensor" if name == "RNN" else ""
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{word} instead"
            )
        self._check_input(input)
        batched = input.dim() == 3
        x = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        if x.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        states = self._initial(hx, input, x.shape[1], batched)
        made = self._as_operator(input if batched else x, states, batched and self.batch_first)
        if made is not None:
            output, states = made[0], tuple(made[1:])
            if not batched:
                output, states = output.squeeze(1), tuple(s.squeeze(1) for s in states)
            return output, states if self.mode == "LSTM" else states[0]
        rows, states = self._layers(x.reshape(-1, self.input_size), states, None)
        output = rows.reshape(x.shape[0], x.shape[1], rows.shape[1])
        one = self.mode == "LSTM" and output.aval.dtype is dtypes.float32  # one function in torch
        last = "CatBackward0" if self.bidirectional else (
            "MkldnnRnnLayerBackward0" if one else "StackBackward0"
        )  # fmt: skip
        output = tape.named(output, last)
        if not batched:
            output, states = output.squeeze(1), tuple(s.squeeze(1) for s in states)
        elif self.batch_first:
            output = tape.named(output.transpose(0, 1), f"TransposeBackward{int(not one)}")
        return output, states if self.mode == "LSTM" else states[0]

    def _as_operator(self, x: Any, states: Any, batch_first: bool) -> Any:
        """Output and states, where torch's operator of the whole network is asked for."""
        given = list(states) if self.mode == "LSTM" else states[0]
        return as_operator(self.mode.lower(), (
            x, given, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, batch_first,
        ))  # fmt: skip

    def _forward_packed(self, packed: Any, hx: Any) -> Any:
        self._check_input(packed.data)
        gates = 4 if self.mode == "LSTM" else 1
        sizes, total = _checked_sizes(packed, gates * self.hidden_size)
        states = self._initial(hx, packed.data, int(packed.batch_sizes[0]), True)
        if hx is not None and packed.sorted_indices is not None:
            states = tuple(s.index_select(1, packed.sorted_indices) for s in states)
        data = packed.data if total == packed.data.shape[0] else packed.data[:total]
        rows, states = self._layers(data, states, sizes)
        if packed.unsorted_indices is not None:
            states = tuple(s.index_select(1, packed.unsorted_indices) for s in states)
        result = PackedSequence(
            rows, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
        )
        return result, states if self.mode == "LSTM" else states[0]

    def _layers(self, rows: Any, states: Any, sizes: Any) -> tuple[Any, Any]:
        directions = 2 if self.bidirectional else 1
        firsts = list(zip(*[s.unbind(0) for s in states], strict=True))
        finals: list[Any] = []
        for layer in range(self.num_layers):
            sides = []
            for direction in range(directions):
                place = layer * directions + direction
                weights = self._weights(place)
                outputs, final = _run(
                    self.mode, rows, firsts[place], weights, bool(direction), sizes
                )
                sides.append(outputs)
                finals.append(final)
            rows = sides[0] if directions == 1 else torch.cat(sides, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                rows = F.dropout(rows, self.dropout)
        return rows, tuple(torch.stack(list(each)) for each in zip(*finals, strict=True))

    def extra_repr(self) -> str:
        """The arguments that are not the defaults."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


class RNN(RNNBase):
    """h' = tanh(W x + b + V h + c), or relu."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        args_ = list(args)
        self_nonlinearity = args_.pop(3) if len(args_) > 3 else kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{self_nonlinearity.upper()}", *args_, **kwargs)
        self.nonlinearity = self_nonlinearity


class LSTM(RNNBase):
    """Long short-term memory; states are the pair (h, c)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """Parameters of one step.

    Args:
        num_chunks: gates, 1, 3 or 4.
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = empty_parameter((rows, input_size), device, dtype)
        self.weight_hh = empty_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            made = empty_parameter((rows,), device, dtype) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters from [-1/sqrt(hidden), 1/sqrt(hidden))."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """The arguments."""
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        kind = getattr(self, "nonlinearity", "tanh")
        return text if kind == "tanh" else text + f", nonlinearity={kind}"

    def _check_sizes(self, x: Any, states: Any) -> None:
        if x.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {x.size(1)} expected {self.input_size}"
            )
        for i, s in enumerate(states):
            if s.shape[0] != x.shape[0]:
                raise RuntimeError(
                    f"Input batch size {x.size(0)} doesn't match hidden{i} batch size {s.size(0)}"
                )
            if s.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected "
                    f"{self.hidden_size}"
                )

    def _advance(self, mode: str, input: Any, hx: Any) -> Any:  # noqa: A002
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        batched = input.dim() == 2
        x = input if batched else input.unsqueeze(0)
        count = 2 if mode == "LSTM" else 1
        if hx is None:
            states = tuple(x.new_zeros((x.shape[0], self.hidden_size)) for _ in range(count))
        else:
            states = tuple(hx) if mode == "LSTM" else (hx,)
            for i, s in enumerate(states):
                if s.dim() not in (1, 2):
                    name = f"hx[{i}]" if mode == "LSTM" else "hidden"
                    raise ValueError(
                        f"{self._get_name()}: Expected {name} to be 1D or 2D, got {s.dim()}D "
                        "instead"
                    )
            if not batched:
                states = tuple(s.unsqueeze(0) for s in states)
        self._check_sizes(x, states)
        projected = F.linear(x, self.weight_ih, self.bias_ih)
        new = _step(mode, projected, states, self.weight_hh, self.bias_hh)
        return new if batched else tuple(s.squeeze(0) for s in new)


class RNNCell(RNNCellBase):
    """One step of :class:`RNN`."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """(N, input), (N, hidden) -> (N, hidden)."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._advance(f"RNN_{self.nonlinearity.upper()}", input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """(N, input), the pair (h, c) -> the new pair."""
        return self._advance("LSTM", input, hx)


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """(N, input), (N, hidden) -> (N, hidden)."""
        return self._advance("GRU", input, hx)[0]
