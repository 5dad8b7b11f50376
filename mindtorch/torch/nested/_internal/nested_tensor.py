"""Nested tensors in the jagged layout: one dense tensor of values, and where each part begins.

The values are an ordinary tensor with autodiff's history; what is computed of a nested tensor is
computed of them (:mod:`.ops`). The axis along which parts differ is the ragged one: axis
``_ragged_idx`` of the nested tensor, and one less of the values.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any, NoReturn, Self

from mindtorch.engine.aval import unstrided
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..._tensor.size_and_formats import Size, jagged
from ..._tensor.tensor import Tensor
from ..._tensor.tensor_classes import torch
from ..._tensor.wrapper import HeldTensor

__all__ = ["NestedInt", "NestedTensor", "missing", "nested_from_parts"]

_numbers = itertools.count(1)


def missing(name: str) -> NoReturn:
    """Raise for what nested tensors of the jagged layout do not have."""
    raise NotImplementedError(
        f"aten.{name}: mindtorch does not have it for jagged nested tensors. Use unbind(), "
        "values() or to_padded_tensor() first."
    )


class NestedInt:
    """The length of a ragged axis: equal to itself alone, and at least 2."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"j{self.number}"

    def __ge__(self, other: Any) -> bool:
        return other is self or (isinstance(other, int) and other <= 2) or self._unknown()

    def __gt__(self, other: Any) -> bool:
        return other is not self and ((isinstance(other, int) and other < 2) or self._unknown())

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __int__(self) -> int:
        raise RuntimeError(f"{self} stands for lengths that differ: it is no number")

    __index__ = __int__

    def _unknown(self) -> NoReturn:
        raise ValueError(f"nested int {self} cannot be compared")


class NestedTensor(HeldTensor):
    """Tensors that differ along one axis, packed one after another.

    Args:
        values: the elements of all parts.
        offsets: where each part begins along the ragged axis of the values, and the end.
        lengths: of the parts where there are gaps between them; None where there are none.
        _ragged_idx: the ragged axis.
    """

    _offsets: Any
    _lengths: Any
    _ragged_idx: int
    extremes: tuple[int | None, int | None]
    layout = jagged
    is_nested = True
    dim, element_size, get_device = Tensor.dim, Tensor.element_size, Tensor.get_device
    is_floating_point, is_complex = Tensor.is_floating_point, Tensor.is_complex
    is_signed = Tensor.is_signed

    def __new__(
        cls, values: Any, offsets: Any, *, lengths: Any = None, _ragged_idx: int = 1, **options: Any
    ) -> Any:
        made = object.__new__(cls)
        count = offsets.aval.shape[0] - 1
        axis = _ragged_idx - 1
        inner = values.aval.shape
        sizes = (count, *inner[:axis], 0, *inner[axis + 1 :])
        made.aval = unstrided(sizes, values.aval.dtype, values.aval.device)
        made._node = None
        made.held, made._offsets, made._lengths = values, offsets, lengths
        made._ragged_idx = _ragged_idx
        made.extremes = options.get("min_seqlen"), options.get("max_seqlen")
        return made

    def like(self, values: Any, ragged: int | None = None) -> NestedTensor:
        """Other values in the same places."""
        return NestedTensor(
            values, self._offsets, lengths=self._lengths,
            _ragged_idx=self._ragged_idx if ragged is None else ragged,
        )  # fmt: skip

    @property
    def flat(self) -> Any:
        missing("op")

    # --- description -------------------------------------------------------------------------

    @property
    def nested_int(self) -> NestedInt:
        """The length of the ragged axis, one for all tensors of the same offsets."""
        found: NestedInt | None = self._offsets.__dict__.get("_nested_int")
        if found is None:
            found = self._offsets._nested_int = NestedInt()
        return found

    @property
    def shape(self) -> Any:
        sizes: list[Any] = list(self.aval.shape)
        sizes[self._ragged_idx] = self.nested_int
        return tuple.__new__(Size, sizes)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return sum(self.part_lengths()) * (
            self.held.aval.size // max(self.held.aval.shape[self._ragged_idx - 1], 1)
        )

    def values(self) -> Any:
        """The elements of all parts, packed."""
        return self.held

    def offsets(self) -> Any:
        """Where each part begins along the ragged axis of the values, and the end."""
        return self._offsets

    def lengths(self) -> Any:
        """The parts' lengths, where there are gaps between them; else None."""
        return self._lengths

    def part_lengths(self) -> list[int]:
        """How long each part is along the ragged axis."""
        if self._lengths is not None:
            return list(self._lengths.tolist())
        ends = self._offsets.tolist()
        return [b - a for a, b in itertools.pairwise(ends)]

    def _get_min_seqlen(self) -> int:
        return self.extremes[0] or min(self.part_lengths(), default=0)

    def _get_max_seqlen(self) -> int:
        return self.extremes[1] or max(self.part_lengths(), default=0)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return self._lengths is None and self._ragged_idx == 1 and self.held.is_contiguous()

    def __len__(self) -> int:
        return self.aval.shape[0]

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __hash__(self) -> int:
        return id(self)

    # --- parts -------------------------------------------------------------------------------

    def unbind(self, dim: int = 0) -> Any:
        """The parts, which are views of the values."""
        if dim not in (0, -self.aval.ndim):
            raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
        starts = self._offsets.tolist()[:-1]
        return tuple(
            self.held.narrow(self._ragged_idx - 1, start, length)
            for start, length in zip(starts, self.part_lengths(), strict=True)
        )

    def __getitem__(self, index: Any) -> Any:
        """A part, or what the further indices choose from it."""
        first, *others = index if isinstance(index, tuple) else (index,)
        if not isinstance(first, int):
            missing("slice")
        part = self.unbind()[first]
        return part[tuple(others)] if others else part

    def contiguous(self, memory_format: Any = None) -> NestedTensor:
        """Without gaps, the ragged axis first among the values'."""
        if self.is_contiguous():
            return self
        if self._lengths is None and self._ragged_idx == 1:
            return self.like(self.held.contiguous())
        return nested_from_parts(list(self.unbind()), self._ragged_idx)

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """All parts in one dense tensor, what is missing filled with ``padding``."""
        if self._lengths is not None or self._ragged_idx != 1:
            if self._ragged_idx != 1:
                missing("to_padded_tensor of a transposed tensor")
            return self.contiguous().to_padded_tensor(padding, output_size)
        count, longest = len(self), self._get_max_seqlen()
        if output_size is not None:
            given = list(output_size)
            if given[1] < longest or given[0] != count:
                raise RuntimeError(
                    "Value in output_size is less than NestedTensor padded size. Truncation is "
                    "not supported."
                )
            longest = given[1]
        rest = self.held.aval.shape[1:]
        whole = self.held.new_full((count * longest, *rest), padding)
        return whole.index_copy(0, self.places(longest), self.held).reshape(count, longest, *rest)

    def places(self, length: int) -> Any:
        """Which row of (parts * ``length``) rows each row of the values is."""
        lengths = self.part_lengths()
        within = [row * length + i for row, n in enumerate(lengths) for i in range(n)]
        return torch.tensor(within, dtype=self._offsets.aval.dtype).to(torch_int64())

    def rows(self) -> Any:
        """Which part each row of the values is of."""
        lengths = self.part_lengths()
        of = [row for row, n in enumerate(lengths) for _ in range(n)]
        return torch.tensor(of, dtype=torch_int64())

    # --- autodiff ----------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradient of the values, in the same places."""
        return None if self.held.grad is None else self.like(self.held.grad)

    def retain_grad(self) -> None:
        self.held.retain_grad()

    def register_hook(self, hook: Any) -> Any:
        return self.held.register_hook(lambda g: _values_of(hook(self.like(g))))

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        self.held.backward(_values_of(gradient), *args, **kwargs)

    def detach(self) -> NestedTensor:
        return self.like(self.held.detach())

    @property  # type: ignore[misc]
    def data(self) -> NestedTensor:
        return self.like(self.held.data)

    def __deepcopy__(self, memo: Any) -> Self:
        made = self.like(copy.deepcopy(self.held, memo))
        memo[id(self)] = made
        return made  # type: ignore[return-value]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self.held, self._offsets, self._lengths, self._ragged_idx)

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        followed = ""
        if self.held.grad_fn is not None:
            followed = f", grad_fn={self.held.grad_fn}"
        elif self.held.requires_grad:
            followed = ", requires_grad=True"
        sizes = ", ".join(map(str, self.shape))
        return (
            f"NestedTensor(size=({sizes}), offsets={self._offsets}{followed}, "
            f"contiguous={self._lengths is None})"
        )


def torch_int64() -> Any:
    """The type of places."""
    return torch.tensor([0]).dtype


def _values_of(x: Any) -> Any:
    return x.held if isinstance(x, NestedTensor) else x


def _rebuilt(values: Any, offsets: Any, lengths: Any, ragged: int) -> NestedTensor:
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=ragged)


def nested_from_parts(parts: list[Any], ragged: int | None = None) -> NestedTensor:
    """The parts, packed along the axis where they differ (the first, where none does)."""
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for part in parts:
        if not isinstance(part, EngineTensor) or part.aval.ndim != parts[0].aval.ndim:
            raise RuntimeError(
                "When constructing a nested tensor, all tensors in list must have the same dim"
            )
    if ragged is None:
        shapes = [part.aval.shape for part in parts]
        differing = [i for i, n in enumerate(zip(*shapes, strict=True)) if len(set(n)) > 1]
        if len(differing) > 1:
            raise RuntimeError(
                "Cannot represent given tensor list as a nested tensor with the jagged layout. "
                "Note that the jagged layout only represents shapes of the form (B, *_0, *_1, ..., "
                "ragged, *_D, *_{D+1}, ...): one axis may differ."
            )
        ragged = 1 + (differing[0] if differing else 0)
    ends = [0, *itertools.accumulate(part.aval.shape[ragged - 1] for part in parts)]
    offsets = torch.tensor(ends, dtype=torch_int64())
    return NestedTensor(torch.cat(parts, dim=ragged - 1), offsets, _ragged_idx=ragged)
