"""Recurrent networks of numbers with quantised weights."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import quantize_per_tensor
from mindtorch.torch._quantized._half import HalfLinear
from mindtorch.torch._quantized._products import PackedLinear
from mindtorch.torch.nn.utils.rnn import PackedSequence

from .._shared import quantize_weight, weight_observer

__all__ = ["GRU", "LSTM", "GRUCell", "LSTMCell", "RNNCell"]


def _lstm_step(given: Any, state: Any, hidden: Any) -> Any:
    h, c = state
    i, f, g, o = (given + hidden(h)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_step(given: Any, state: Any, hidden: Any) -> Any:
    (h,) = state
    (ir, iz, inew), (hr, hz, hnew) = given.chunk(3, -1), hidden(h).chunk(3, -1)
    reset, update = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    new = (inew + reset * hnew).tanh()
    return ((h - new) * update + new,)


class CellParameters:
    """The two products of a layer: of what comes in, and of the state.

    Attributes:
        of_input, of_state: packed.
    """

    def __init__(self, of_input: Any, of_state: Any) -> None:
        self.of_input, self.of_state = of_input, of_state

    def given(self, x: Any) -> Any:
        """The product of what comes in."""
        return self.of_input.run_on_numbers(x, False, True)

    def hidden(self, h: Any) -> Any:
        """The product of the state."""
        return self.of_state.run_on_numbers(h, False, True)


def _random(weight: Any, bias: Any, dtype: Any, scale: float) -> Any:
    """Parameters before others are known."""
    if dtype == torch.float16:
        return HalfLinear(weight, bias)
    return PackedLinear(quantize_per_tensor(weight, scale, 0, torch.qint8), bias)


def _packed(weight: Any, bias: Any, observer: Any) -> Any:
    if observer.dtype == torch.float16:
        return HalfLinear(weight.float(), bias)
    if observer.dtype != torch.qint8:
        raise RuntimeError(
            f"Unsupported dtype for dynamic RNN quantization: {observer.dtype}"
        )
    observer(weight)
    return PackedLinear(quantize_weight(weight.float(), observer), bias)


class PackedParameter(nn.Module):
    """Holds the parameters of a layer.

    Args:
        param: they.
    """

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        self.param = state_dict.pop(prefix + "param")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)


class RNNBase(nn.Module):
    """What both networks have in common.

    Args:
        mode: "LSTM" or "GRU".
        input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional: as those of
            torch.nn have them.
        dtype: of weights, torch.qint8 or torch.float16.
    """

    _version = 2
    _FLOAT_MODULE: Any = nn.RNNBase
    _STEP: Any = None
    _STATES = 1

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, dtype: Any = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__()
        if mode not in ("LSTM", "GRU"):
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.dtype = float(dropout), bidirectional, dtype
        self.training = False
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}",
                stacklevel=2,
            )
        rows = (4 if mode == "LSTM" else 3) * hidden_size
        made = []
        for layer in range(num_layers):
            length = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            for _ in range(1 + bidirectional):
                weights = [torch.randn(rows, n) for n in (length, hidden_size)]
                parts = [_random(w, torch.randn(rows), dtype, 0.1) for w in weights]
                made.append(PackedParameter(CellParameters(*parts)))
        self._all_weight_values = nn.ModuleList(made)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
            ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _check(self, x: Any, batch: int, states: Any, packed: bool) -> None:
        wanted = 2 if packed else 3
        if x.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {x.dim()}")
        if x.size(-1) != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {x.size(-1)}"
            )
        shape = (self.num_layers * (1 + self.bidirectional), batch, self.hidden_size)
        for state in states:
            if tuple(state.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(state.shape)}")

    def _run_layer(self, index: int, x: Any, sizes: list[int], state: Any) -> Any:
        """One direction of a layer over rows of time steps, ``sizes`` of each."""
        cell = self._all_weight_values[index].param
        steps = cell.given(x).split(sizes)
        made: list[Any] = [None] * len(sizes)
        order = range(len(sizes))
        backward = self.bidirectional and index % 2
        step = type(self)._STEP
        for t in reversed(order) if backward else order:
            count = sizes[t]
            new = step(steps[t], tuple(s[:count] for s in state), cell.hidden)
            state = tuple(
                n if count == len(s) else torch.cat([n, s[count:]])
                for n, s in zip(new, state, strict=True)
            )
            made[t] = new[0]
        return torch.cat(made), state

    def _run(self, x: Any, sizes: list[int], states: Any) -> Any:
        directions = 1 + self.bidirectional
        last: list[Any] = []
        for layer in range(self.num_layers):
            parts = []
            for direction in range(directions):
                index = layer * directions + direction
                made, state = self._run_layer(
                    index, x, sizes, tuple(s[index] for s in states)
                )
                parts.append(made)
                last.append(state)
            x = torch.cat(parts, -1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = nn.functional.dropout(x, self.dropout, True)
        return x, tuple(torch.stack(each) for each in zip(*last, strict=True))

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        """What the layers give, and their last states.

        Args:
            input: (steps, batch, input_size), batch first with ``batch_first``; or packed.
            hx: the first states; zeros when None.
        """
        with torch.no_grad():
            return self._forward(input, hx)

    def _forward(self, given: Any, hx: Any) -> Any:
        packed = isinstance(given, PackedSequence)
        if packed:
            x, sizes, order, back = given
            lengths, batch = sizes.tolist(), int(sizes[0])
        else:
            moved = given.transpose(0, 1) if self.batch_first else given
            x, order, back = given, None, None
            lengths, batch = [moved.size(1)] * moved.size(0), moved.size(1)
        states = (hx,) if self._STATES == 1 and hx is not None else hx
        if states is None:
            shape = (self.num_layers * (1 + self.bidirectional), batch, self.hidden_size)
            states = (torch.zeros(shape),) * self._STATES
        elif order is not None:
            states = tuple(s.index_select(1, order) for s in states)
        self._check(x, batch, states, packed)
        rows = x if packed else moved.flatten(0, 1)
        made, last = self._run(rows, lengths, states)
        if back is not None:
            last = tuple(s.index_select(1, back) for s in last)
        if packed:
            made = PackedSequence(made, sizes, order, back)
        else:
            made = made.unflatten(0, moved.shape[:2])
            made = made.transpose(0, 1) if self.batch_first else made
        return made, last if self._STATES == 2 else last[0]

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        for index, held in enumerate(self._all_weight_values):
            layer, direction = divmod(index, 1 + self.bidirectional)
            suffix = f"_l{layer}{'_reverse' * direction}"
            for name, part in (("ih", held.param.of_input), ("hh", held.param.of_state)):
                weight, bias = part.unpack()
                found["weight"][f"weight_{name}{suffix}"] = weight
                found["bias"][f"bias_{name}{suffix}"] = bias
        return found

    def get_weight(self) -> dict[str, Any]:
        """Weights by their names in torch.nn."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """Biases by their names in torch.nn."""
        return self._weight_bias()["bias"]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for one of torch.nn.

        Args:
            mod: an LSTM or a GRU with a ``qconfig``.

        Raises:
            AssertionError: another class, or there is no ``qconfig``.
        """
        if type(mod) not in (nn.LSTM, nn.GRU):
            raise AssertionError(
                "nn.quantized.dynamic.RNNBase.from_float only works for nn.LSTM and nn.GRU"
            )
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made = (LSTM if mod.mode == "LSTM" else GRU)(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first,
            mod.dropout, mod.bidirectional, weight_observer(mod).dtype,
        )  # fmt: skip
        for index, held in enumerate(made._all_weight_values):
            layer, direction = divmod(index, 1 + mod.bidirectional)
            suffix = f"_l{layer}{'_reverse' * direction}"
            parts = [
                _packed(
                    getattr(mod, f"weight_{part}{suffix}"), getattr(mod, f"bias_{part}{suffix}"),
                    weight_observer(mod),
                )
                for part in ("ih", "hh")
            ]  # fmt: skip
            held.param = CellParameters(*parts)
        return made


class LSTM(RNNBase):
    """An LSTM with quantised weights.

    Args:
        args, kwargs: as torch.nn.LSTM has them, and ``dtype``, that of weights.
    """

    _FLOAT_MODULE = nn.LSTM
    _STEP = staticmethod(_lstm_step)
    _STATES = 2

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """A GRU with quantised weights.

    Args:
        args, kwargs: as torch.nn.GRU has them, and ``dtype``, that of weights.
    """

    _FLOAT_MODULE = nn.GRU
    _STEP = staticmethod(_gru_step)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(nn.Module):
    """What cells have in common.

    Args:
        input_size, hidden_size, bias: as those of torch.nn have them.
        num_chunks: how many gates.
        dtype: of weights, torch.qint8 or torch.float16.
    """

    _GATES = 1
    _FLOAT: Any = nn.RNNCell

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_dtype = dtype
        rows = self._GATES * hidden_size
        weights = [torch.randn(rows, n) for n in (input_size, hidden_size)]
        parts = [_random(w, torch.randn(rows) if bias else None, dtype, 1.0) for w in weights]
        self._cell = CellParameters(*parts)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else f"{text}, bias={self.bias}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._cell.of_input
        destination[prefix + "_packed_weight_hh"] = self._cell.of_state

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        names = ("_packed_weight_ih", "_packed_weight_hh")
        self._cell = CellParameters(*[state_dict.pop(prefix + name) for name in names])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    def _first(self, x: Any, state: Any) -> Any:
        if x.size(1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {x.size(1)}, expected {self.input_size}"
            )
        return torch.zeros(x.size(0), self.hidden_size) if state is None else state

    def get_weight(self) -> dict[str, Any]:
        """Weights by their names in torch.nn."""
        parts = self._cell.of_input, self._cell.of_state
        return {f"weight_{n}": p.weight for n, p in zip(("ih", "hh"), parts, strict=True)}

    def get_bias(self) -> dict[str, Any]:
        """Biases by their names in torch.nn."""
        parts = self._cell.of_input, self._cell.of_state
        return {f"bias_{n}": p.bias for n, p in zip(("ih", "hh"), parts, strict=True)}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a cell of torch.nn.

        Args:
            mod: with a ``qconfig``.

        Raises:
            AssertionError: another class, or there is no ``qconfig``.
        """
        if type(mod) is not cls._FLOAT:
            raise AssertionError(
                "nn.quantized.dynamic.RNNCellBase.from_float only works for "
                f"{cls._FLOAT.__name__}"
            )
        options = {"nonlinearity": mod.nonlinearity} if cls is RNNCell else {}
        made = cls(mod.input_size, mod.hidden_size, mod.bias, dtype=weight_observer(mod).dtype,
                   **options)  # fmt: skip
        made._cell = CellParameters(
            _packed(mod.weight_ih, mod.bias_ih, weight_observer(mod)),
            _packed(mod.weight_hh, mod.bias_hh, weight_observer(mod)),
        )
        return made


class RNNCell(RNNCellBase):
    """An Elman cell with quantised weights.

    Args:
        input_size, hidden_size, bias, nonlinearity: as torch.nn.RNNCell has them.
        dtype: of weights.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        dtype: Any = torch.qint8,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        with torch.no_grad():
            made = self._cell.given(input) + self._cell.hidden(self._first(input, hx))
            return getattr(made, self.nonlinearity)()


class LSTMCell(RNNCellBase):
    """An LSTM's cell with quantised weights.

    Args:
        input_size, hidden_size, bias: as torch.nn.LSTMCell has them.
        dtype: of weights.
    """

    _GATES = 4
    _FLOAT = nn.LSTMCell

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        with torch.no_grad():
            states = hx or (self._first(input, None),) * 2
            return _lstm_step(self._cell.given(input), states, self._cell.hidden)


class GRUCell(RNNCellBase):
    """A GRU's cell with quantised weights.

    Args:
        input_size, hidden_size, bias: as torch.nn.GRUCell has them.
        dtype: of weights.
    """

    _GATES = 3
    _FLOAT = nn.GRUCell

    def forward(self, input: Any, hx: Any = None) -> Any:  # noqa: A002
        with torch.no_grad():
            state = self._first(input, hx)
            return _gru_step(self._cell.given(input), (state,), self._cell.hidden)[0]
