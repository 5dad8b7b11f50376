"""Products of vectors and matrices, einsum, and the older names of linear algebra."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtype_support
from mindtorch.engine.autograd import tape
from mindtorch.engine.autograd.tape import named
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import AUTOCAST, state
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.dtypes import (
    BOOL,
    FLOAT,
    bfloat16,
    bool_,
    c_name,
    float16,
    float32,
    int8,
    int32,
    promote,
    scalar_type_name,
    uint8,
)
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.complex import conj
from mindtorch.engine.ops.reduction import sum_
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms import autocast
from mindtorch.engine.transforms.autocast import FULL, LOWER, PLAIN, WIDEST

from .. import linalg
from .._api.arguments import check_value, normalize_axis, require_tensor
from .._api.out_rules import EXACT, INPUT_DTYPE, OF_TENSORDOT, Out
from .._api.publish import FUNCTIONS, METHODS, function
from .._api.shown_signature import ShownSignature
from .._api.signatures import arguments_of, unbound
from .._api.warn_caller import warn_caller
from ._old_forms import old_sum
from .einsum import einsum as _einsum

matrix_norm = linalg.matrix_norm


def _row(x: Any) -> Any:
    return movement.unsqueeze(x, axis=0)


def _column(x: Any) -> Any:
    return movement.unsqueeze(x, axis=x.aval.ndim)


def _drop(x: Any, axis: int) -> Any:
    return movement.squeeze(x, axes=(axis,))


@function(out=Out(INPUT_DTYPE))
def matmul(input: Any, other: Any) -> Any:  # noqa: A002
    """The product of matrices (the last two axes), vectors and batches of them."""
    if not (isinstance(input, EngineTensor) and isinstance(other, EngineTensor)):
        require_tensor(input, "matmul", "input", 1)
        require_tensor(other, "matmul", "other", 2)
    if input.aval.ndim == 2 and other.aval.ndim == 2:
        return ops.matmul(input, other)
    return _by_rank(input, other)


@cached
def _by_rank(input: Any, other: Any) -> Any:  # noqa: A002
    """:func:`matmul` of what is not two matrices."""
    m, n = input.aval.ndim, other.aval.ndim
    if m == 0 or n == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D"
        )
    if state.mode & AUTOCAST:
        input, other = autocast.as_cast(ops.matmul, input, other)  # noqa: A001
    if m == 1 and n == 1:
        return dot(input, other)
    if n == 1:
        if m == 2:
            return mv(input, other)
        _check_vector(input, other)
        product = movement.reshape(matmul(input, _column(other)), input.aval.shape[:-1])
        return tape.named(product, "UnsafeViewBackward0")
    if m == 1:
        if input.aval.shape[0] != other.aval.shape[-2]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied (1x{input.aval.shape[0]} and "
                f"{other.aval.shape[-2]}x{other.aval.shape[-1]})"
            )
        product = _drop(ops.matmul(_row(input), other), n - 2)
        return tape.named(product, "SqueezeBackward4" if n == 2 else "UnsafeViewBackward0")
    if n == 2:
        return _folded(input, other)
    return tape.named(ops.matmul(input, other), "UnsafeViewBackward0")


def _check_vector(x: Any, y: Any) -> None:
    if x.aval.shape[-1] != y.aval.shape[0]:
        rows = x.aval.size // max(x.aval.shape[-1], 1)
        raise RuntimeError(
            f"size mismatch, got input ({rows}), mat ({rows}x{x.aval.shape[-1]}), vec "
            f"({y.aval.shape[0]})"
        )


def _folded(x: Any, y: Any) -> Any:
    """A batch of matrices by one matrix: all their rows at once."""
    shape = x.aval.shape
    rows = 1
    for length in shape[:-1]:
        rows *= length
    product = ops.matmul(movement.reshape(x, (rows, shape[-1])), y)
    whole = movement.reshape(product, (*shape[:-1], y.aval.shape[1]))
    return tape.named(whole, "UnsafeViewBackward0")


@function(out=Out(EXACT))
def mm(input: Any, mat2: Any) -> Any:  # noqa: A002
    """The product of two matrices."""
    if input.aval.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.aval.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    return ops.matmul(input, mat2)


@function(method=False, out=True)
def _int_mm(self: Any, mat2: Any) -> Any:
    """The int32 product of matrices of int8 (the first may be of uint8).

    Args:
        mat2: of int8, with as many rows as ``self`` has columns.
    """
    x, y = self.aval, mat2.aval
    for name, each in (("self", x), ("mat2", y)):
        if each.ndim != 2:
            raise RuntimeError(
                f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {each.ndim}"
            )
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            "int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got "
            f"{x.shape[1]} and {y.shape[0]}"
        )
    if x.dtype not in (int8, uint8):
        kind = c_name(x.dtype)
        raise RuntimeError(
            f"int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got {kind}"
        )
    if y.dtype is not int8:
        kind = c_name(y.dtype)
        raise RuntimeError(f"int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got {kind}")
    return ops.matmul(movement.cast(self, dtype=int32), movement.cast(mat2, dtype=int32))


@function(out=Out(EXACT))
def bmm(input: Any, mat2: Any) -> Any:  # noqa: A002
    """The products of matrices in two batches."""
    if input.aval.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.aval.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    a, b = input.aval.shape, mat2.aval.shape
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )
    return ops.matmul(input, mat2)


def _check_axes(added: int, matrix: Any, vector: Any) -> None:
    """torch's error for operands of a product with a vector, to which one is added."""
    if added > 1 or matrix.aval.ndim != 2 or vector.aval.ndim != 1:
        got = f"{added}, {matrix.aval.ndim}, {vector.aval.ndim}"
        raise RuntimeError(f"vector + matrix @ vector expected, got {got}")


@function(
    out=Out("addmv input tensors must have the same dtype, but got {out}, {result}, and {result}"),
    cacheable=True, autocast=PLAIN, autocast_cuda=LOWER,
)  # fmt: skip
def mv(input: Any, vec: Any) -> Any:  # noqa: A002
    """The product of a matrix and a vector.

    Args:
        vec: as long as the matrix has columns.
    """
    if not input.aval.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    _check_axes(1, input, vec)
    if input.aval.dtype is not vec.aval.dtype:
        one, other = (scalar_type_name(x.aval.dtype) for x in (vec, input))
        kinds = f"{one}, {other}, and {one}"
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {kinds}")
    if input.aval.shape[1] != vec.aval.shape[0]:
        m, n = input.aval.shape
        raise RuntimeError(
            f"size mismatch, got input ({m}), mat ({m}x{n}), vec ({vec.aval.shape[0]})"
        )
    return tape.named(_drop(ops.matmul(input, _column(vec)), 1), "MvBackward0")


@function(out=Out(INPUT_DTYPE), cacheable=True, autocast=PLAIN, autocast_cuda=WIDEST)
def dot(input: Any, tensor: Any) -> Any:  # noqa: A002
    """The sum of products of two vectors."""
    if input.aval.ndim != 1 or tensor.aval.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {input.aval.ndim}D and {tensor.aval.ndim}D tensors"
        )
    if input.aval.dtype is not tensor.aval.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{scalar_type_name(input.aval.dtype)} and {scalar_type_name(tensor.aval.dtype)}"
        )
    if input.aval.size != tensor.aval.size:
        raise RuntimeError(
            "inconsistent tensor size, expected tensor "
            f"[{input.aval.size}] and src [{tensor.aval.size}] to have the same number of "
            f"elements, but got {input.aval.size} and {tensor.aval.size} elements respectively"
        )
    if input.aval.dtype is bool_:
        dtype_support.refuse("dot", bool_)
    product = ops.matmul(_row(input), _column(tensor))
    return tape.named(movement.reshape(product, ()), "DotBackward0")


@function(out=Out(INPUT_DTYPE), cacheable=True, autocast=PLAIN, autocast_cuda=WIDEST)
def vdot(input: Any, other: Any) -> Any:  # noqa: A002
    """:func:`dot` with the first vector conjugated."""
    return tape.named(dot(conj(input), other), "VdotBackward0")


@function(out=Out(OF_TENSORDOT, recorded=True), cacheable=True)
def inner(input: Any, other: Any) -> Any:  # noqa: A002
    """The sums of products over the last axes."""
    if not input.aval.ndim or not other.aval.ndim:
        return el.multiply(input, other)
    if input.aval.shape[-1] != other.aval.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.aval.shape)} and {list(other.aval.shape)}"
        )
    if input.aval.ndim == other.aval.ndim == 1:
        product = FUNCTIONS["dot"](input, other)
        return tape.named(product, "ViewBackward0")
    return tensordot(input, other, ([-1], [-1]))


@function(out=Out(shown="mul"), aliases=("ger",), cacheable=True)
def outer(input: Any, vec2: Any) -> Any:  # noqa: A002
    """The products of all pairs of elements of two vectors."""
    for name, x in (("self", input), ("vec2", vec2)):
        if x.aval.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {x.aval.ndim}-D"
            )
    return el.multiply(_column(input), vec2)


def _rounded_once(
    body: Callable[..., Any], /, *tensors: Any, beta: Any = 1, alpha: Any = 1, **named: Any
) -> Any:
    """A sum, computed in float32 where all tensors are of one half type."""
    if len(tensors) > 3:
        first, second = arguments_of(body)[1:3]
        tensors, beta, alpha = old_sum(body.__name__, (first, second), tensors)
    given = [*tensors, *named.values()]
    kind = given[0].aval.dtype if given and isinstance(given[0], EngineTensor) else None
    if kind not in (float16, bfloat16) or any(x.aval.dtype is not kind for x in given[1:]):
        return body(*tensors, beta=beta, alpha=alpha, **named)
    tensors = tuple(movement.cast(x, dtype=float32) for x in tensors)
    named = {name: movement.cast(x, dtype=float32) for name, x in named.items()}
    return movement.cast(body(*tensors, beta=beta, alpha=alpha, **named), dtype=kind)


def require_one_type(first: Any, second: Any) -> None:
    """torch's error where a kernel of one type meets another."""
    kinds = [scalar_type_name(x.aval.dtype) for x in (first, second)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")


def _require_same(start: str, *tensors: Any) -> None:
    """torch's error where the types of tensors differ."""
    if any(x.aval.dtype is not tensors[0].aval.dtype for x in tensors):
        *names, last = [scalar_type_name(x.aval.dtype) for x in tensors]
        listed = f"{', '.join(names)}{',' * (len(names) > 1)} and {last}"
        raise RuntimeError(f"{start} have the same dtype, but got {listed}")


def _combined(base: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """``beta * base + alpha * product``; a beta of 0 leaves out ``base``, nan and all.

    Beside whole numbers, ``beta`` and ``alpha`` are cut to whole numbers, as torch does.
    """
    if base.aval.shape != product.aval.shape:
        base = base.expand(product.aval.shape)
    beta, alpha = (x.item() if isinstance(x, EngineTensor) else x for x in (beta, alpha))
    for factor in (beta, alpha):
        if isinstance(factor, complex):
            check_value(factor, product.aval.dtype, filling=False)
    if product.aval.dtype.category < FLOAT and base.aval.dtype.category < FLOAT:
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = el.multiply(product, constant(alpha))
    if beta == 0:
        return product
    if beta != 1:
        base = el.multiply(base, constant(beta))
    return el.add(base, product)


def _in_rows(base: Any) -> Any:
    """What is added to a product, whose order it does not decide; rows that repeat decide none."""
    return base if 0 in base.aval.strides else movement.contiguous(base)


@function(
    out=Out(EXACT),
    in_place=True, cacheable=True, autocast=LOWER, autocast_cuda=LOWER, autocast_in_place=PLAIN,
    around=_rounded_once,
)  # fmt: skip
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * mat1 @ mat2``."""
    _require_same("self and mat2 must", input, mat2)
    _require_same("mat1 and mat2 must", mat1, mat2)
    for name, each in (("mat1", mat1), ("mat2", mat2)):
        if each.aval.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {each.aval.ndim}-D tensor")
    product = mm(mat1, mat2)
    return named(_combined(_in_rows(input), product, beta, alpha), "AddmmBackward0")


@function(
    out=Out(EXACT),
    in_place=True, cacheable=True, autocast=PLAIN, autocast_cuda=LOWER, autocast_in_place=PLAIN,
    around=_rounded_once,
)  # fmt: skip
def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * mat @ vec``."""
    _check_axes(input.aval.ndim, mat, vec)
    _require_same("addmv input tensors must", input, mat, vec)
    product = mv(mat, vec)
    m, n = mat.aval.shape
    if input.aval.size not in (1, m):
        raise RuntimeError(
            f"size mismatch, got input ({input.aval.shape[0]}), mat ({m}x{n}), vec ({n})"
        )
    return tape.named(_combined(input, product, beta, alpha), "AddmvBackward0")


@function(
    out=True, in_place=True, cacheable=True, autocast_cuda=LOWER,
    around=_rounded_once,
)  # fmt: skip
def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * outer(vec1, vec2)``."""
    for name, x in (("vec1", vec1), ("vec2", vec2)):
        if x.aval.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {x.aval.ndim}-D")
    product = outer(vec1, vec2)
    kind = promote(input.aval.dtype, product.aval.dtype)
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and kind.category != BOOL:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(value, (float, complex)) and kind.category < FLOAT:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    result = _combined(movement.cast(input, dtype=kind), product, beta, alpha)
    if input.aval.dtype.category == product.aval.dtype.category == BOOL:
        return tape.named(movement.cast(result, dtype=input.aval.dtype), "AddrBackward0")
    return tape.named(result, "AddrBackward0")


def _check_batches(places: tuple[int, ...], batch1: Any, batch2: Any) -> None:
    """torch's errors for batches without the axes that the result's sizes are read from."""
    for place, x in (*((place, batch1) for place in places), (2, batch2)):
        if not x.aval.ndim:
            raise IndexError(f"Dimension specified as {place} but tensor has no dimensions")
        normalize_axis(place, x.aval.ndim)


@function(
    out=Out(EXACT),
    in_place=True, cacheable=True, autocast=LOWER, autocast_cuda=LOWER, autocast_in_place=PLAIN,
    around=_rounded_once,
)  # fmt: skip
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * bmm(batch1, batch2)``."""
    _check_batches((0, 1), batch1, batch2)
    product = bmm(batch1, batch2)
    if input.aval.dtype is not product.aval.dtype:
        kinds = [c_name(x.aval.dtype) for x in (input, batch1, batch2)]
        raise RuntimeError(
            "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*kinds)
        )
    return named(_combined(_in_rows(input), product, beta, alpha), "BaddbmmBackward0")


@function(
    out=Out("self and mat2 must have the same dtype, but got {out} and {result}"),
    in_place=True, cacheable=True, autocast=LOWER, autocast_cuda=LOWER, autocast_in_place=PLAIN,
    around=_rounded_once,
)  # fmt: skip
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha *`` the sum of the batch's products."""
    _check_batches((1,), batch1, batch2)
    products = bmm(batch1, batch2)
    total = products.sum(0, dtype=products.dtype)  # of ints too, whose sums are else of int64
    _require_same("self and mat2 must", input, batch2)
    return tape.named(_combined(_in_rows(input), total, beta, alpha), "AddbmmBackward0")


_addbmm_ = METHODS["addbmm_"]


def _addbmm_over(*tensors: Any, **named: Any) -> Any:
    """:func:`addbmm` written over the tensor, which gets the result's shape, as in torch.

    Args:
        tensors, named: the tensor, ``batch1``, ``batch2``, ``beta`` and ``alpha``, in any of
            torch's forms.
    """
    if (bare := unbound("addbmm_", tensors)) is not None:
        raise bare
    self, *args = tensors
    given = [*args, *(named[each] for each in ("batch1", "batch2") if each in named)]
    batches = [x.aval for x in given if isinstance(x, EngineTensor) and x.aval.ndim == 3]
    if len(batches) == 2:
        shape = (batches[0].shape[1], batches[1].shape[2])
        if self.aval.shape != shape:
            wider = self.expand(shape).clone()
            self.resize_(shape).copy_(wider)
    return _addbmm_(self, *args, **named)


_addbmm_over.__name__, _addbmm_over.__qualname__ = "addbmm_", "Tensor.addbmm_"
_addbmm_over.__signature__ = ShownSignature(  # type: ignore[attr-defined]
    lambda self, batch1, batch2, *, beta=1, alpha=1: None
)
METHODS["addbmm_"] = _addbmm_over


@function(method=False, cacheable=True, autocast_cuda=LOWER, home="functional")
def einsum(equation: Any = None, *operands: Any) -> Any:
    """Sums of products of elements, described by letters for axes.

    Args:
        equation: such as "ij,jk->ik".
        operands: tensors, one by one or as a list.
    """
    return _einsum(equation, *operands)


def _contracted(a: Any, b: Any, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, EngineTensor):
        dims = dims.tolist() if dims.aval.size > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.aval.ndim, b.aval.ndim):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}"
            )
        return list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    left, right = dims
    for name, place, axes in (("dims_self", 3, left), ("dims_other", 4, right)):
        if not isinstance(axes, (tuple, list)):
            raise TypeError(
                f"tensordot(): argument '{name}' (position {place}) must be tuple of ints, not "
                f"{type(axes).__name__}"
            )
    return [operator.index(d) for d in left], [operator.index(d) for d in right]


@function(
    out=Out(OF_TENSORDOT, recorded=True), method=False, cacheable=True, autocast_cuda=WIDEST,
    home="functional",
)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """The sums of products over pairs of axes: ``dims`` last and first ones, or two lists.

    Args:
        b: the second tensor.
    """
    require_tensor(a, "tensordot", "input", 1)
    require_tensor(b, "tensordot", "other", 2)
    given = _contracted(a, b, dims)
    if a.aval.dtype is not b.aval.dtype:
        raise RuntimeError("both inputs should have same dtype")
    left = [normalize_axis(d, a.aval.ndim) for d in given[0]]
    right = [normalize_axis(d, b.aval.ndim) for d in given[1]]
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    for d, e, *shown in zip(left, right, *given, strict=True):
        if a.aval.shape[d] == 1:
            b = b.sum(e, keepdim=True, dtype=b.aval.dtype)
        elif b.aval.shape[e] == 1:
            a = a.sum(d, keepdim=True, dtype=a.aval.dtype)
        elif a.aval.shape[d] != b.aval.shape[e]:
            raise RuntimeError(
                "contracted dimensions need to match, but first has size "
                f"{a.aval.shape[d]} in dim {shown[0]} and second has size {b.aval.shape[e]} in dim "
                f"{shown[1]}"
            )
    keep_a = [i for i in range(a.aval.ndim) if i not in left]
    keep_b = [i for i in range(b.aval.ndim) if i not in right]
    inner_size = 1
    for d in left:
        inner_size *= a.aval.shape[d]
    shape_a = tuple(a.aval.shape[i] for i in keep_a)
    shape_b = tuple(b.aval.shape[i] for i in keep_b)
    rows = movement.reshape(
        movement.permute(a, axes=(*keep_a, *left)), (_size(shape_a), inner_size)
    )
    columns = movement.reshape(
        movement.permute(b, axes=(*right, *keep_b)), (inner_size, _size(shape_b))
    )
    return movement.reshape(ops.matmul(rows, columns), (*shape_a, *shape_b))


def _size(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


@function(out=Out(shown="mul"), cacheable=True)
def kron(input: Any, other: Any) -> Any:  # noqa: A002
    """The Kronecker product."""
    ndim = max(input.aval.ndim, other.aval.ndim)
    a = (1,) * (ndim - input.aval.ndim) + input.aval.shape
    b = (1,) * (ndim - other.aval.ndim) + other.aval.shape
    left = movement.reshape(input, tuple(n for m in a for n in (m, 1)))
    right = movement.reshape(other, tuple(n for m in b for n in (1, m)))
    shape = tuple(m * n for m, n in zip(a, b, strict=True))
    whole = movement.reshape(el.multiply(left, right), shape)
    return tape.named(whole, "UnsafeViewBackward0")


@function(out=Out(EXACT, shown="linalg_cross"), cacheable=True, autocast_cuda=WIDEST)
def cross(input: Any, other: Any, dim: int | None = None) -> Any:  # noqa: A002
    """The vector product along an axis of length 3 (the first such axis by default)."""
    if dim is None:
        warn_caller(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release.",
        )
        dim = next((i for i, n in enumerate(input.aval.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    refuse_kinds("cross", input.aval, "bool")
    require_one_type(input, other)
    return linalg.cross(input, other, dim=dim)


@function(cacheable=True, autocast=FULL)
def trace(input: Any) -> Any:  # noqa: A002
    """The sum of the main diagonal."""
    if input.aval.ndim != 2:
        raise RuntimeError("trace: expected a matrix, but got tensor with dim " + str(
            input.aval.ndim
        ))
    refuse_kinds("trace", input.aval, "bool")
    main = movement.diagonal(input, offset=0, first=0, second=1)
    return named(sum_(main, axis=(0,), keepdims=False), "TraceBackward0")


@function(out=True, autocast_cuda=LOWER, home="functional")
def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices in the cheapest order."""
    warn_caller(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
    )
    for each in matrices:
        if each.aval.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {each.aval.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return linalg.multi_dot(list(matrices)) if len(matrices) > 1 else matrices[0]
