"""Nested tensors: a list of tensors of one type and number of axes, as one tensor.

A nested tensor has no derivation of its own: its parts are ordinary tensors, with autodiff's
history, and everything is computed part by part.
"""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch.engine import dtypes
from mindtorch.engine.aval import unstrided
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_dtype
from .._tensor.size_and_formats import strided
from .._tensor.tensor import Tensor
from .._tensor.tensor_classes import by_its_method, implements, refuse_the_rest, torch
from .._tensor.tensor_classes import functional as F  # noqa: N812
from .._tensor_str import with_suffixes
from ..nn.functional import pad

_SIZES = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


def missing(name: str) -> NoReturn:
    """Raise for an op that nested tensors do not have."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend: "
        "mindtorch does not have it for nested tensors. Use to_padded_tensor() or unbind() first."
    )


def _operator(function: Any, reflected: bool = False) -> Any:
    return lambda self, other: self._with(function, other, reflected)


class NestedTensor(Tensor):
    """Several tensors of one number of axes, the parts, along a first axis.

    Attributes:
        parts: the tensors.
    """

    parts: list[Any]

    def __new__(cls, parts: list[Any]) -> NestedTensor:
        made: NestedTensor = object.__new__(cls)
        first = parts[0].aval if parts else unstrided((0,), dtypes.default)
        sizes = (len(parts), *(0 for _ in first.shape))
        made.aval = unstrided(sizes, first.dtype, first.device)
        made._node = None
        made.parts = parts
        return made

    def each(self, function: Any) -> NestedTensor:
        """``function`` of every part."""
        return NestedTensor([function(part) for part in self.parts])

    @property
    def flat(self) -> Any:
        missing("op")

    # --- description -------------------------------------------------------------------------

    dim, element_size, get_device = Tensor.dim, Tensor.element_size, Tensor.get_device
    is_floating_point, is_complex = Tensor.is_floating_point, Tensor.is_complex
    is_signed = Tensor.is_signed
    is_nested = True
    layout = strided

    @property
    def shape(self) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def size(self, dim: int | None = None) -> Any:
        """The length of an axis along which all parts are alike."""
        if dim is None:
            raise RuntimeError(_SIZES.format("sizes"))
        axis = dim + self.aval.ndim if dim < 0 else dim
        if axis == 0:
            return len(self.parts)
        lengths = {part.aval.shape[axis - 1] for part in self.parts}
        if len(lengths) != 1:
            raise RuntimeError(f"Given dimension {axis} is irregular and does not have a size.")
        return lengths.pop()

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(_SIZES.format("strides"))

    tolist = stride

    def __len__(self) -> int:
        raise RuntimeError(_SIZES.format("sizes"))

    def __iter__(self) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def numel(self) -> int:
        return sum(part.numel() for part in self.parts)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return all(part.is_contiguous() for part in self.parts)

    def unbind(self, dim: int = 0) -> Any:
        """The parts."""
        if dim not in (0, -self.aval.ndim):
            raise RuntimeError(
                f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
            )
        return tuple(self.parts)

    def __getitem__(self, index: Any) -> Any:
        """A part, or what the further indices choose from it."""
        first, *others = index if isinstance(index, tuple) else (index,)
        if not isinstance(first, int):
            missing("slice")
        part = self.parts[first]
        return part[tuple(others)] if others else part

    def values(self) -> Any:
        """The elements of all parts, one after another."""
        return torch.cat([part.reshape(-1) for part in self.parts])

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """(parts, longest lengths...), what is missing filled with ``padding``."""
        ndim = self.aval.ndim - 1
        longest = [max(p.aval.shape[i] for p in self.parts) for i in range(ndim)]
        target = longest if output_size is None else list(output_size)[1:]
        if any(t < n for t, n in zip(target, longest, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not "
                "supported."
            )

        def padded(part: Any) -> Any:
            widths = []
            for n, wanted in zip(reversed(part.aval.shape), reversed(target), strict=True):
                widths += [0, wanted - n]
            return pad(part, widths, value=padding)

        whole = torch.stack([padded(part) for part in self.parts])
        if output_size is None or output_size[0] == len(self.parts):
            return whole
        widths = [0, 0] * ndim + [0, output_size[0] - len(self.parts)]
        return pad(whole, widths, value=padding)

    # --- autodiff ----------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        return any(part.requires_grad for part in self.parts)

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        for part in self.parts:
            part.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return all(part.is_leaf for part in self.parts)

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradients of the parts."""
        if any(part.grad is None for part in self.parts):
            return None
        return self.each(lambda part: part.grad)

    @property
    def grad_fn(self) -> Any:
        return next((p.grad_fn for p in self.parts if p.grad_fn is not None), None)

    # --- arithmetic --------------------------------------------------------------------------

    def _with(self, function: Any, other: Any, swapped: bool = False) -> NestedTensor:
        """``function`` of every part and a number, or the part of another nested tensor."""

        def of_two(a: Any, b: Any) -> Any:
            return function(b, a) if swapped else function(a, b)

        if isinstance(other, EngineTensor) and other.aval.ndim:
            if not isinstance(other, NestedTensor):
                kinds = ("non-nested", "nested") if swapped else ("nested", "non-nested")
                raise RuntimeError(
                    f"Expected both self and other to be nested, but got a {kinds[0]} self and "
                    f"{kinds[1]} other"
                )
            pairs = zip(self.parts, other.parts, strict=True)
            return NestedTensor([of_two(a, b) for a, b in pairs])
        return self.each(lambda part: of_two(part, other))

    __add__, __radd__ = _operator(torch.add), _operator(torch.add, True)
    __sub__, __rsub__ = _operator(torch.sub), _operator(torch.sub, True)
    __mul__, __rmul__ = _operator(torch.mul), _operator(torch.mul, True)
    __truediv__, __rtruediv__ = _operator(torch.div), _operator(torch.div, True)

    def __neg__(self) -> NestedTensor:
        return self.each(lambda part: -part)

    def __hash__(self) -> int:
        return id(self)

    def matmul(self, other: Any) -> NestedTensor:
        """Part by part."""
        if not isinstance(other, NestedTensor):
            raise RuntimeError(
                "Expected both to be nested, but got a nested self and non-nested other"
            )
        return self._with(torch.matmul, other)

    bmm = __matmul__ = matmul  # type: ignore[assignment]

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Along the last axis, which stays with length 1."""
        if dim not in (-1, self.aval.ndim - 1) or not keepdim:
            missing("sum other than along the last axis with keepdim=True")
        return self.each(lambda part: part.sum(-1, keepdim=True, dtype=dtype))

    def transpose(self, dim0: int, dim1: int) -> NestedTensor:
        """Two axes of every part exchanged."""
        ndim = self.aval.ndim
        first, second = (d + ndim if d < 0 else d for d in (dim0, dim1))
        if 0 in (first, second):
            raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
        return self.each(lambda part: part.transpose(first - 1, second - 1))

    def softmax(self, dim: int, dtype: Any = None) -> NestedTensor:
        """Over an axis of every part."""
        axis = dim + self.aval.ndim if dim < 0 else dim
        if axis == 0:
            raise RuntimeError("Cannot apply softmax across nested dimension 0")
        return self.each(lambda part: part.softmax(axis - 1, dtype))

    def to(self, *args: Any, **kwargs: Any) -> NestedTensor:
        return self.each(lambda part: part.to(*args, **kwargs))

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        found = self.each(lambda part: part.detach().clone().requires_grad_(part.requires_grad))
        memo[id(self)] = found
        return found

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        texts = [repr(p if p.is_leaf else p.detach()) for p in self.parts]
        lines = ",\n".join("\n".join(f"  {line}" for line in t.split("\n")) for t in texts)
        suffixes = []
        if self.grad_fn is not None:
            suffixes.append(f"grad_fn=<{self.grad_fn.name().rpartition(':')[2]}>")
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        prefix = "nested_tensor("
        return with_suffixes(f"{prefix}[\n{lines}\n]", suffixes, len(prefix))


@implements(
    NestedTensor,
    torch.abs, torch.relu, torch.sin, torch.cos, torch.neg, torch.tanh, torch.sgn, torch.isnan,
    torch.isinf, torch.logical_not, torch.clone, Tensor.detach, Tensor.contiguous, Tensor.float,
    Tensor.double, Tensor.half, Tensor.bfloat16, Tensor.int, Tensor.long, Tensor.bool, Tensor.cpu,
)  # fmt: skip
def _by_the_parts_method(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    return input.each(lambda part: getattr(part, function.__name__)(*args, **kwargs))


@implements(NestedTensor, Tensor.fill_, Tensor.zero_, Tensor.relu_, Tensor.neg_, Tensor.abs_)
def _in_place(function: Any, self: Any, *args: Any) -> Any:
    for part in self.parts:
        function(part, *args)
    return self


@implements(NestedTensor, torch.add, torch.sub, torch.mul, torch.div)
def _of_two(function: Any, input: Any, other: Any) -> Any:  # noqa: A002
    swapped = not isinstance(input, NestedTensor)
    return other._with(function, input, True) if swapped else input._with(function, other)


implements(NestedTensor, torch.bmm, torch.matmul, torch.transpose, torch.softmax, torch.sum)(
    by_its_method
)


@implements(
    NestedTensor, F.relu, F.tanh, F.gelu, F.silu, F.dropout, F.linear, F.layer_norm
)
def _part_by_part(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    if not isinstance(input, NestedTensor):
        return NotImplemented
    return input.each(lambda part: function(part, *args, **kwargs))


@implements(NestedTensor, F.softmax)
def _softmax(
    function: Any, input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None  # noqa: A002
) -> Any:
    return input.softmax(dim, dtype)


@implements(NestedTensor, torch.cat)
def _joined(function: Any, tensors: Any, dim: int = 0) -> Any:
    if dim != 0 or not all(isinstance(x, NestedTensor) for x in tensors):
        missing("cat of other than nested tensors along axis 0")
    return NestedTensor([part for x in tensors for part in x.parts])


refuse_the_rest(NestedTensor, missing, "__eq__", "__lt__", "__gt__", "__setitem__")


def made_of(given: Any, name: str, dtype: Any, device: Any, copied: bool) -> NestedTensor:
    """A nested tensor of tensors, or of (nested lists of) numbers."""
    if not isinstance(given, (list, tuple)) or (name == "nested_tensor" and not (
        isinstance(given, list)
    )):
        raise TypeError(
            f"Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in {name}"
        )
    parts: list[Any] = []
    for x in given:
        part = x if isinstance(x, EngineTensor) else torch.tensor(x)
        parts.append(part.detach().clone() if copied and part is x else part)
    for i, part in enumerate(parts):
        if part.aval.ndim != parts[0].aval.ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{part.aval.ndim} for Tensor at index {i} and dimension {parts[0].aval.ndim} for "
                "Tensor at index 0."
            )
    if parts:
        kind = parts[0].aval.dtype if dtype is None else as_dtype(dtype)
        place = cpu if device is None else device
        parts = [part.to(device=place, dtype=kind) for part in parts]
    return NestedTensor(parts)
