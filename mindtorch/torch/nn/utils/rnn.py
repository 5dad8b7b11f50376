"""Sequences of several lengths in one batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.autograd import tape
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from ..._api.arguments import require_tensor, require_tensors
from ..._api.invalid_arguments import type_name

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(_Fields):
    """The elements of sequences sorted by length, step by step.

    Attributes:
        data: (total steps, *).
        batch_sizes: how many sequences are still going at each step.
    """

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> Any:  # fmt: skip
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence "
                "and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """The data moved or cast."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data: Any) -> Any:
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def cuda(self, *args: Any, **kwargs: Any) -> Any:
        """The data on a GPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self, *args: Any, **kwargs: Any) -> Any:
        """The data on the CPU."""
        return self._with(self.data.cpu(*args, **kwargs))

    def pin_memory(self) -> Any:
        """The data in pinned memory."""
        return self._with(self.data.pin_memory())

    def double(self) -> Any:
        """The data as float64."""
        return self._with(self.data.double())

    def float(self) -> Any:
        """The data as float32."""
        return self._with(self.data.float())

    def half(self) -> Any:
        """The data as float16."""
        return self._with(self.data.half())

    def long(self) -> Any:
        """The data as int64."""
        return self._with(self.data.long())

    def int(self) -> Any:
        """The data as int32."""
        return self._with(self.data.int())

    def short(self) -> Any:
        """The data as int16."""
        return self._with(self.data.short())

    def char(self) -> Any:
        """The data as int8."""
        return self._with(self.data.char())

    def byte(self) -> Any:
        """The data as uint8."""
        return self._with(self.data.byte())

    @property
    def is_cuda(self) -> bool:
        """Whether the data are on a GPU."""
        return bool(self.data.is_cuda)

    def is_pinned(self) -> bool:
        """Whether the data are in pinned memory."""
        return bool(self.data.is_pinned())


def invert_permutation(permutation: Any) -> Any:
    """The places at which a permutation has put 0, 1, ..."""
    if permutation is None:
        return None
    return from_array(np.argsort(permutation.array()).astype(np.int64), permutation.aval.device)


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True  # noqa: A002
) -> Any:
    """Pack padded sequences (T, N, *) of these lengths."""
    if not isinstance(lengths, EngineTensor):
        lengths = torch.as_tensor(lengths, dtype=torch.int64)
    require_tensor(input, "_pack_padded_sequence", "input", 1)
    order, batch = None, input.size(0 if batch_first else 1)
    lengths = lengths.to(torch.int64)
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cpu "
            "Long tensor"
        )
    sizes = lengths.array()
    if not input.aval.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={batch})"
        )
    if not enforce_sorted:
        places = np.argsort(-sizes, kind="stable")
        order = from_array(places.astype(np.int64), input.aval.device)
        sizes = sizes[places]
        input = input.index_select(0 if batch_first else 1, order)  # noqa: A001
    elif (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes.size and sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    x = input.transpose(0, 1) if batch_first else input
    counts = [int((sizes > t).sum()) for t in range(int(sizes[0]))]
    data = tape.named(
        torch.cat([x[t, :n] for t, n in enumerate(counts[: len(x)])]), "PackPaddedSequenceBackward0"
    )
    return PackedSequence(data, from_array(np.array(counts, np.int64)), order, None)


def pad_packed_sequence(
    sequence: Any, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> Any:  # fmt: skip
    """The padded sequences (T, N, *) and their lengths."""
    counts = sequence.batch_sizes.tolist()
    steps = len(counts)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    batch = counts[0]
    parts = sequence.data.split(counts)
    tail = tuple(sequence.data.shape[1:])
    rows = []
    for t in range(steps):
        n = counts[t] if t < len(counts) else 0
        filler = sequence.data.new_full((batch - n, *tail), padding_value)
        rows.append(torch.cat([parts[t], filler]) if 0 < n < batch else parts[t] if n else filler)
    padded = torch.stack(rows)
    if batch_first:
        padded = padded.transpose(0, 1)
    lengths = from_array(
        np.array([sum(c > i for c in counts) for i in range(batch)], np.int64)
    )
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:  # fmt: skip
    """Sequences (L_i, *) side by side, padded to the longest."""
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    if not len(sequences):
        raise RuntimeError("received an empty list of sequences")
    require_tensors(sequences)
    for position, name, value, kind in (
        (2, "batch_first", batch_first, bool), (3, "padding_value", padding_value, (int, float)),
    ):  # fmt: skip
        if not isinstance(value, kind):
            word = "bool" if kind is bool else "float"
            raise TypeError(
                f"pad_sequence(): argument '{name}' (position {position}) must be {word}, not "
                f"{type_name(value)}"
            )
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    if any(not s.dim() for s in sequences[:1]):
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest = max(s.size(0) for s in sequences)
    inner = sequences[0].shape[1:]
    rows = []
    for s in sequences:
        if s.shape[1:] != inner:
            s = sequences[0].new_empty((s.size(0), *inner)).copy_(s)
        missing = longest - s.shape[0]
        if missing:
            filler = s.new_full((missing, *s.shape[1:]), padding_value)
            s = torch.cat([s, filler] if padding_side == "right" else [filler, s])
        rows.append(s)
    return torch.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The list of sequences without their padding.

    Without ``batch_first`` the axes of ``padded_sequences`` stay exchanged, as in torch.
    """
    x = padded_sequences if batch_first else padded_sequences.transpose_(0, 1)
    places = torch.arange(x.shape[1], device=lengths.device)
    return [row[places < n] for row, n in zip(x, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> Any:
    """Pack a list of sequences."""
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: Any) -> list[Any]:
    """The list of sequences that were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
