"""What sparse tensors have of torch's functions."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.ops.embedding import sparse_makers
from mindtorch.engine.tensor import from_array

from .._api.arguments import normalize_axis
from .._tensor.size_and_formats import strided
from .._tensor.tensor import Tensor
from .._tensor.tensor_classes import by_its_method, implements, refuse_the_rest, torch
from .._tensor.tensor_classes import functional as F  # noqa: N812
from ._base import missing
from ._compressed import title_of
from ._inplace import replace
from ._products import batched, matmul
from ._tensor import SparseTensor

_OTHER_LAYOUT = (
    "empty_like with different sparse layout is not supported (self is {} but you requested {})"
)

sparse_makers.append(SparseTensor)


def _write_over(name: str, x: SparseTensor, found: SparseTensor) -> SparseTensor:
    if x.is_sparse and not x.unique:
        raise RuntimeError(f"{name} requires coalesced input")
    return replace(x, found)


def _summed_up(x: SparseTensor) -> SparseTensor:
    """The tensor with each place once; CSR and CSC have no other."""
    return x.coalesce() if x.is_sparse else x


# --- functions of each element that keep 0 --------------------------------------------------------


@implements(
    SparseTensor,
    torch.abs, torch.asin, torch.asinh, torch.atan, torch.atanh, torch.ceil, torch.deg2rad,
    torch.erf, torch.erfinv, torch.expm1, torch.floor, torch.frac, torch.log1p, torch.rad2deg,
    torch.relu, torch.round, torch.sgn, torch.sign, torch.sin, torch.sinh, torch.sqrt, torch.tan,
    torch.tanh, torch.trunc,
    in_place=_write_over,
)  # fmt: skip
def _of_values(function: Any, input: Any) -> Any:  # noqa: A002
    source = _summed_up(input)
    return source.like(getattr(source.held, function.__name__)())


implements(SparseTensor, torch.isinf, torch.isnan, torch.isneginf, torch.isposinf, torch.signbit)(
    _of_values
)


@implements(SparseTensor, torch.conj_physical, in_place=_write_over)
def _of_repeated_values(function: Any, input: Any) -> Any:  # noqa: A002
    """Of a sum it is the sum: places may be there more than once."""
    return input.like(getattr(input.held, function.__name__)())


implements(SparseTensor, torch.conj, torch.positive)(_of_repeated_values)


@implements(SparseTensor, torch.angle)
def _of_compressed(function: Any, input: Any) -> Any:  # noqa: A002
    return missing(function.__name__) if input.is_sparse else _of_values(function, input)


@implements(SparseTensor, torch.nan_to_num, torch.square)
def _of_coo(function: Any, input: Any) -> Any:  # noqa: A002
    return _of_values(function, input) if input.is_sparse else missing(function.__name__)


@implements(
    SparseTensor,
    Tensor.float, Tensor.double, Tensor.half, Tensor.bfloat16, Tensor.int, Tensor.long,
    Tensor.short, Tensor.char, Tensor.byte, Tensor.bool, Tensor.cfloat, Tensor.cdouble,
)  # fmt: skip
def _cast(function: Any, input: Any, memory_format: Any = None) -> Any:  # noqa: A002
    held = getattr(input.held, function.__name__)()
    return input if held is input.held else input.like(held)


@implements(SparseTensor, F.relu)
def _relu(function: Any, input: Any, inplace: bool = False) -> Any:  # noqa: A002
    return input.relu_() if inplace else input.relu()


# --- functions that the class writes as methods ---------------------------------------------------

implements(
    SparseTensor,
    torch.clone, torch.index_select, torch.neg, torch.norm, torch.sum, torch.t, torch.transpose,
    torch.unsqueeze, torch.any, torch.permute, torch.narrow_copy,
)(by_its_method)  # fmt: skip


@implements(SparseTensor, torch.add, torch.sub)
def _sum_of_two(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """Of a dense tensor and a sparse one the sum is dense."""
    if isinstance(input, SparseTensor):
        return by_its_method(function, input, *args, **kwargs)
    return function(input, *map(_dense, args), **{k: _dense(x) for k, x in kwargs.items()})


def _dense(x: Any) -> Any:
    return x.to_dense() if isinstance(x, SparseTensor) else x


@implements(SparseTensor, torch.mul)
def _times(function: Any, input: Any, other: Any) -> Any:  # noqa: A002
    return input.mul(other) if isinstance(input, SparseTensor) else other.mul(input)


@implements(SparseTensor, torch.div, torch.floor_divide)
def _quotient(function: Any, input: Any, other: Any, **options: Any) -> Any:  # noqa: A002
    if isinstance(input, SparseTensor):
        return by_its_method(function, input, other, **options)
    words = "floor division" if function is torch.floor_divide else "division"
    raise RuntimeError(
        f"Sparse {words} requires a scalar or zero-dim dense tensor divisor (got shape "
        f"{list(other.aval.shape)} for divisor)"
    )


@implements(SparseTensor, torch.pow)
def _power(function: Any, input: Any, exponent: Any) -> Any:  # noqa: A002
    if not isinstance(input, SparseTensor) or isinstance(exponent, SparseTensor):
        missing("pow with a sparse exponent")
    return input.pow(exponent)


@implements(SparseTensor, torch.matmul, torch.mm, torch.mv)
def _product(function: Any, *operands: Any, out: Any = None, **named: Any) -> Any:
    if out is not None:
        missing("products with out=")
    return matmul(*operands, *named.values())


@implements(SparseTensor, torch.bmm)
def _batched_product(function: Any, input: Any, mat2: Any, *, out: Any = None) -> Any:  # noqa: A002
    if out is not None:
        missing("bmm with out=")
    return batched(input, mat2)


@implements(SparseTensor, F.linear)
def _linear(function: Any, input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    """``input @ weight.T + bias``, the weight being a sparse matrix."""
    if isinstance(input, SparseTensor):
        missing("linear of sparse input")
    rows = input.reshape(-1, input.aval.shape[-1])
    found = matmul(rows, weight.t()).reshape((*input.aval.shape[:-1], weight.aval.shape[0]))
    return found if bias is None else found + bias


@implements(SparseTensor, Tensor.add_, Tensor.__iadd__)
def _add_to_dense(function: Any, self: Any, other: Any, *, alpha: Any = 1) -> Any:
    """Only the rows stored are touched."""
    if self.aval.shape != other.aval.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(self.aval.shape)} while other has size {list(other.aval.shape)} (FYI: "
            "dense-sparse addition does not currently support broadcasting)"
        )
    values = other.held if alpha == 1 else other.held * alpha
    places = tuple(other.places.unbind(0))
    return self.index_put_(places, values.to(self.aval.dtype), accumulate=True)


@implements(SparseTensor, Tensor.sub_, Tensor.__isub__)
def _subtract_from_dense(function: Any, self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _add_to_dense(function, self, other, alpha=-alpha)


# --- joining --------------------------------------------------------------------------------------


@implements(SparseTensor, torch.cat)
def _concatenated(function: Any, tensors: Any, dim: int = 0) -> Any:
    _check_sparse(tensors)
    return _joined(list(tensors), dim)


@implements(SparseTensor, torch.stack)
def _stacked(function: Any, tensors: Any, dim: int = 0) -> Any:
    _check_sparse(tensors)
    return _joined([x.unsqueeze(dim) for x in tensors], dim)


def _check_sparse(tensors: Any) -> None:
    for i, x in enumerate(tensors):
        if not isinstance(x, SparseTensor):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
            )


def _check_joined(parts: list[SparseTensor], dim: int) -> None:
    """torch's errors for tensors that do not fit one another."""
    first = parts[0]
    split, axis = (first.sparse_dim(), first.dense_dim()), normalize_axis(dim, first.aval.ndim)
    for i, x in enumerate(parts):
        if (x.sparse_dim(), x.dense_dim()) != split:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {split[0]}, {split[1]}, "
                f"but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        pairs = zip(x.aval.shape, first.aval.shape, strict=True)
        if any(a != b for d, (a, b) in enumerate(pairs) if d != axis):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.aval.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(x.aval.shape)} at position {i}."
            )


def _joined(parts: list[SparseTensor], dim: int) -> SparseTensor:
    """Tensors one after another along a sparse axis."""
    _check_joined(parts, dim)
    axis = normalize_axis(dim, parts[0].aval.ndim)
    if axis >= parts[0].sparse_dim():
        missing("cat along dense axes")
    moved: list[Any] = []
    begin = 0
    for part in parts:
        places = part.places.array().copy()
        places[axis] += begin
        begin += part.aval.shape[axis]
        moved.append(from_array(places))
    shape = list(parts[0].aval.shape)
    shape[axis] = begin
    return SparseTensor(torch.cat(moved, 1), torch.cat([p.held for p in parts]), shape)


# --- new tensors ----------------------------------------------------------------------------------


@implements(SparseTensor, torch.zeros_like)
def _zeros_like(
    function: Any, input: Any, *, layout: Any = None, dtype: Any = None, **options: Any  # noqa: A002
) -> Any:
    kind = layout or input.layout
    if kind is strided:
        if not input.is_sparse:
            raise RuntimeError(_OTHER_LAYOUT.format(title_of(input), "Strided"))
        return function(input.to_dense(), dtype=dtype, **options)
    made = input.nothing_stored()
    if dtype is not None:
        made = made.to(dtype)
    return made if kind is made.layout else made.to_sparse(layout=kind)


@implements(SparseTensor, torch.empty_like, torch.full_like, torch.ones_like, torch.randn_like)
def _stored_like(
    function: Any, input: Any, *args: Any, layout: Any = None, **options: Any  # noqa: A002
) -> Any:
    """New values at the places that a matrix in CSR or CSC stores; COO tensors refuse."""
    if input.is_sparse:
        missing(function.__name__)
    kind = layout or input.layout
    if kind is not input.layout:
        wanted = kind._name.title().replace("_", "")
        raise RuntimeError(_OTHER_LAYOUT.format(title_of(input), wanted))
    return input.like(function(input.held.detach(), *args, **options))


@implements(SparseTensor, torch.rand_like)
def _refused(function: Any, *args: Any, **options: Any) -> Any:
    """Random numbers of CSR and CSC are normal ones."""
    missing("rand_like")


refuse_the_rest(
    SparseTensor, missing, "__eq__", "__ne__", "__lt__", "__gt__", "__le__", "__ge__"
)
