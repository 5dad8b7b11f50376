"""The methods that the class of tensors gets from the registry.

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from mindtorch.engine.devices.device import Device as _Device
from mindtorch.engine.dtypes import DType as _DType
from mindtorch.engine.random.generator import Generator as _Generator
from mindtorch.torch import return_types as _return_types
from mindtorch.torch._tensor.size_and_formats import layout as _layout
from mindtorch.torch._tensor.size_and_formats import memory_format as _memory_format
from mindtorch.torch._tensor.tensor import Tensor as Tensor

class Methods:
    def __and__(self, other: _Any = None) -> Tensor: ...

    def __floordiv__(self, other: _Any = None) -> Tensor: ...

    def __getitem__(self, item: _Any) -> Tensor:
        """``x[item]``: a view for ints, slices, None and ..., a copy where tensors index."""

    def __iand__(self, other: _Any = None) -> Tensor: ...

    def __ifloordiv__(self, other: _Any = None) -> Tensor: ...

    def __ilshift__(self, other: _Any = None) -> Tensor: ...

    def __imatmul__(self, other: _Any) -> Tensor:
        """``self @= other``."""

    def __imod__(self, other: _Any = None) -> Tensor: ...

    def __invert__(self) -> Tensor:
        """``~self``."""

    def __ior__(self, other: _Any = None) -> Tensor: ...

    def __irshift__(self, other: _Any = None) -> Tensor: ...

    def __ixor__(self, other: _Any = None) -> Tensor: ...

    def __lshift__(self, other: _Any = None) -> Tensor: ...

    def __matmul__(self, other: _Any) -> Tensor:
        """``self @ other``."""

    def __mod__(self, other: _Any = None) -> Tensor: ...

    def __or__(self, other: _Any = None) -> Tensor: ...

    def __rand__(self, other: _Any = None) -> Tensor: ...

    def __rfloordiv__(self, other: _Any = None) -> Tensor: ...

    def __rlshift__(self, other: _Any = None) -> Tensor: ...

    def __rmatmul__(self, other: _Any = None) -> Tensor:
        """``other @ self``."""

    def __rmod__(self, other: _Any = None) -> Tensor: ...

    def __ror__(self, other: _Any = None) -> Tensor: ...

    def __rrshift__(self, other: _Any = None) -> Tensor: ...

    def __rshift__(self, other: _Any = None) -> Tensor: ...

    def __rxor__(self, other: _Any = None) -> Tensor: ...

    def __setitem__(self, item: _Any, value: _Any) -> None:
        """``x[item] = value``; of complex tensors the real part, where ``x`` is real."""

    def __xor__(self, other: _Any = None) -> Tensor: ...

    def abs(self) -> Tensor:
        """Of each element x: abs(x)."""

    def abs_(self) -> Tensor:
        """:func:`abs` of the tensor, written over it; its type stays."""

    def absolute(self) -> Tensor:
        """Of each element x: abs(x)."""

    def absolute_(self) -> Tensor:
        """:func:`absolute` of the tensor, written over it; its type stays."""

    def acos(self) -> Tensor:
        """Of each element x: the angle in [0, pi] whose cosine is x."""

    def acos_(self) -> Tensor:
        """:func:`acos` of the tensor, written over it; its type stays."""

    def acosh(self) -> Tensor:
        """Of each element x: log(x + sqrt(x * x - 1))."""

    def acosh_(self) -> Tensor:
        """:func:`acosh` of the tensor, written over it; its type stays."""

    def add(self, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1) -> Tensor:
        """``input + alpha * other``."""

    def add_(self, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1) -> Tensor:
        """``self += alpha * other``."""

    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha *`` the sum of the batch's products."""

    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """:func:`addbmm` written over the tensor, which gets the result's shape, as in torch."""

    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1) -> Tensor:
        """``input + value * tensor1 / tensor2``."""

    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1) -> Tensor:
        """:func:`addcdiv` over ``self``."""

    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1) -> Tensor:
        """``input + value * tensor1 * tensor2``."""

    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _float | _complex = 1) -> Tensor:
        """:func:`addcmul` over ``self``."""

    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * mat1 @ mat2``."""

    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * mat1 @ mat2``."""

    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * mat @ vec``."""

    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * mat @ vec``."""

    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""

    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * outer(vec1, vec2)``."""

    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two axes."""

    @_overload
    def all(self) -> Tensor:
        """Whether all of the elements along ``dim`` (of all by default) is not 0; bool."""
    @_overload
    def all(self, dim: _Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def all(self, dim: _int, keepdim: _bool = False) -> Tensor: ...

    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = False) -> _bool:
        """Whether :func:`isclose` holds everywhere."""

    def amax(self, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False) -> Tensor:
        """The greatest element over ``dim``."""

    def amin(self, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False) -> Tensor:
        """The least element over ``dim``."""

    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _return_types.aminmax:
        """The least and the greatest element."""

    def angle(self) -> Tensor:
        """The argument of a complex number."""

    @_overload
    def any(self) -> Tensor:
        """Whether any of the elements along ``dim`` (of all by default) is not 0; bool."""
    @_overload
    def any(self, dim: _Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def any(self, dim: _int, keepdim: _bool = False) -> Tensor: ...

    def arccos(self) -> Tensor:
        """Of each element x: the angle in [0, pi] whose cosine is x."""

    def arccos_(self) -> Tensor:
        """:func:`arccos` of the tensor, written over it; its type stays."""

    def arccosh(self) -> Tensor:
        """Of each element x: log(x + sqrt(x * x - 1))."""

    def arccosh_(self) -> Tensor:
        """:func:`arccosh` of the tensor, written over it; its type stays."""

    def arcsin(self) -> Tensor:
        """Of each element x: the angle in [-pi / 2, pi / 2] whose sine is x."""

    def arcsin_(self) -> Tensor:
        """:func:`arcsin` of the tensor, written over it; its type stays."""

    def arcsinh(self) -> Tensor:
        """Of each element x: log(x + sqrt(x * x + 1))."""

    def arcsinh_(self) -> Tensor:
        """:func:`arcsinh` of the tensor, written over it; its type stays."""

    def arctan(self) -> Tensor:
        """Of each element x: the angle in (-pi / 2, pi / 2) whose tangent is x."""

    def arctan2(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the angle in [-pi, pi] of the point with abscissa y and ordinate x."""

    def arctan2_(self, other: Tensor) -> Tensor:
        """:func:`arctan2` of the tensor and ``other``, written over it; its type stays."""

    def arctan_(self) -> Tensor:
        """:func:`arctan` of the tensor, written over it; its type stays."""

    def arctanh(self) -> Tensor:
        """Of each element x: log((1 + x) / (1 - x)) / 2."""

    def arctanh_(self) -> Tensor:
        """:func:`arctanh` of the tensor, written over it; its type stays."""

    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The first place of the maximum along ``dim``, int64; a nan counts as it."""

    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The first place of the minimum along ``dim``, int64; a nan counts as it."""

    @_overload
    def argsort(self, *, stable: _bool, dim: _int = -1, descending: _bool = False) -> Tensor:
        """The places that sort ``input`` along ``dim``; ``stable`` as in :func:`sort`."""
    @_overload
    def argsort(self, dim: _int = -1, descending: _bool = False) -> Tensor: ...

    def argwhere(self) -> _Any:
        """The coordinates of the elements that are not 0, one row each."""

    def as_strided(self, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view of the storage with the shape, strides and offset given."""

    def as_strided_(self, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Let ``input`` be what :func:`as_strided` gives of it; arguments: size, stride, storage_offset."""

    def as_strided_scatter(self, src: Tensor, size: _Sequence[_int], stride: _Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """``input`` with ``src`` in the place of a view with these strides."""

    def asin(self) -> Tensor:
        """Of each element x: the angle in [-pi / 2, pi / 2] whose sine is x."""

    def asin_(self) -> Tensor:
        """:func:`asin` of the tensor, written over it; its type stays."""

    def asinh(self) -> Tensor:
        """Of each element x: log(x + sqrt(x * x + 1))."""

    def asinh_(self) -> Tensor:
        """:func:`asinh` of the tensor, written over it; its type stays."""

    def atan(self) -> Tensor:
        """Of each element x: the angle in (-pi / 2, pi / 2) whose tangent is x."""

    def atan2(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the angle in [-pi, pi] of the point with abscissa y and ordinate x."""

    def atan2_(self, other: Tensor) -> Tensor:
        """:func:`atan2` of the tensor and ``other``, written over it; its type stays."""

    def atan_(self) -> Tensor:
        """:func:`atan` of the tensor, written over it; its type stays."""

    def atanh(self) -> Tensor:
        """Of each element x: log((1 + x) / (1 - x)) / 2."""

    def atanh_(self) -> Tensor:
        """:func:`atanh` of the tensor, written over it; its type stays."""

    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)``."""

    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> Tensor:
        """``beta * input + alpha * bmm(batch1, batch2)``."""

    @_overload
    def bernoulli(self, *, generator: _Generator | None = None) -> Tensor:
        """1 with the probability that each element of ``input`` (or ``p``) says, else 0."""
    @_overload
    def bernoulli(self, p: _float, *, generator: _Generator | None = None) -> Tensor: ...

    @_overload
    def bernoulli_(self, p: Tensor, *, generator: _Generator | None = None) -> Tensor:
        """Fill with 1 with probability ``p`` (a number or a tensor), else 0."""
    @_overload
    def bernoulli_(self, p: _float = 0.5, *, generator: _Generator | None = None) -> Tensor: ...

    def bfloat16(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.bfloat16, laid out in ``memory_format``."""

    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> _Any:
        """How often (with what total weight) each whole number occurs."""

    @_overload
    def bitwise_and(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x & y."""
    @_overload
    def bitwise_and(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_and_(self, other: Tensor) -> Tensor:
        """:func:`bitwise_and` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def bitwise_and_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_left_shift(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x << y."""
    @_overload
    def bitwise_left_shift(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_left_shift_(self, other: Tensor) -> Tensor:
        """:func:`bitwise_left_shift` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def bitwise_left_shift_(self, other: _float | _complex) -> Tensor: ...

    def bitwise_not(self) -> Tensor:
        """Of each element x: ~x."""

    def bitwise_not_(self) -> Tensor:
        """:func:`bitwise_not` of the tensor, written over it; its type stays."""

    @_overload
    def bitwise_or(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x | y."""
    @_overload
    def bitwise_or(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_or_(self, other: Tensor) -> Tensor:
        """:func:`bitwise_or` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def bitwise_or_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_right_shift(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x >> y."""
    @_overload
    def bitwise_right_shift(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_right_shift_(self, other: Tensor) -> Tensor:
        """:func:`bitwise_right_shift` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def bitwise_right_shift_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_xor(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x ^ y."""
    @_overload
    def bitwise_xor(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def bitwise_xor_(self, other: Tensor) -> Tensor:
        """:func:`bitwise_xor` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def bitwise_xor_(self, other: _float | _complex) -> Tensor: ...

    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of matrices in two batches."""

    def bool(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.bool, laid out in ``memory_format``."""

    @_overload
    def broadcast_to(self, size: _Sequence[_int]) -> Tensor:
        """``input`` with axes of length 1, and new ones in front, repeated to ``size``; a view."""
    @_overload
    def broadcast_to(self, *size: _int) -> Tensor: ...

    def byte(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.uint8, laid out in ``memory_format``."""

    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: _Generator | None = None) -> Tensor:
        """Fill with Cauchy numbers about ``median``, of the half width ``sigma``."""

    def ccol_indices(self) -> _Any:
        """Only of sparse tensors."""

    def cdist(self, x2: _Any, p: _float = ..., compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary') -> _Any:
        """The distance of order ``p`` between all pairs of rows of two (batches of) matrices."""

    def cdouble(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.complex128, laid out in ``memory_format``."""

    def ceil(self) -> Tensor:
        """Of each element x: the least integer not below x."""

    def ceil_(self) -> Tensor:
        """:func:`ceil` of the tensor, written over it; its type stays."""

    def cfloat(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.complex64, laid out in ``memory_format``."""

    def chain_matmul(self) -> _Any:
        """The product of several matrices in the cheapest order."""

    def chalf(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """``input`` as complex32."""

    def char(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int8, laid out in ``memory_format``."""

    def cholesky(self, upper: _bool = False) -> Tensor:
        """The Cholesky factor."""

    def cholesky_inverse(self, upper: _bool = False) -> _Any:
        """The inverse of the matrix whose Cholesky factor is ``L``."""

    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """``X`` with ``A X = input`` where ``L`` is the Cholesky factor of ``A``."""

    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most ``chunks`` pieces of one size along ``dim``."""

    @_overload
    def clamp(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """``input`` not below ``min`` and not above ``max``."""
    @_overload
    def clamp(self, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

    @_overload
    def clamp_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """:func:`clamp` over ``self``."""
    @_overload
    def clamp_(self, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

    @_overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """``input`` not above ``max``."""
    @_overload
    def clamp_max(self, max: _float | _complex) -> Tensor: ...

    @_overload
    def clamp_max_(self, max: Tensor) -> Tensor:
        """``input`` not above ``max``."""
    @_overload
    def clamp_max_(self, max: _float | _complex) -> Tensor: ...

    @_overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """``input`` not below ``min``."""
    @_overload
    def clamp_min(self, min: _float | _complex) -> Tensor: ...

    @_overload
    def clamp_min_(self, min: Tensor) -> Tensor:
        """``input`` not below ``min``."""
    @_overload
    def clamp_min_(self, min: _float | _complex) -> Tensor: ...

    @_overload
    def clip(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """``input`` not below ``min`` and not above ``max``."""
    @_overload
    def clip(self, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

    @_overload
    def clip_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """:func:`clamp` over ``self``."""
    @_overload
    def clip_(self, min: _float | _complex | None = None, max: _float | _complex | None = None) -> Tensor: ...

    def clone(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """A differentiable copy."""

    def coalesce(self) -> _Any:
        """Only of sparse tensors."""

    def col_indices(self) -> _Any:
        """Only of sparse tensors."""

    def conj(self) -> Tensor:
        """The complex conjugate."""

    def conj_physical(self) -> Tensor:
        """The complex conjugate."""

    def conj_physical_(self) -> Tensor:
        """The complex conjugate."""

    def const_data_ptr(self) -> _int:
        """:meth:`data_ptr`, for those who only read."""

    def contiguous(self, *, memory_format: _memory_format = ...) -> Tensor:
        """``self`` if it lies in that order already, else a copy that does."""

    @_overload
    def copysign(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: abs(x) with the sign of y."""
    @_overload
    def copysign(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def copysign_(self, other: Tensor) -> Tensor:
        """:func:`copysign` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def copysign_(self, other: _float | _complex) -> Tensor: ...

    def corrcoef(self) -> Tensor:
        """The covariances of the rows over the products of their standard deviations."""

    def cos(self) -> Tensor:
        """Of each element x: cos(x), x in radians."""

    def cos_(self) -> Tensor:
        """:func:`cos` of the tensor, written over it; its type stays."""

    def cosh(self) -> Tensor:
        """Of each element x: (e ** x + e ** -x) / 2."""

    def cosh_(self) -> Tensor:
        """:func:`cosh` of the tensor, written over it; its type stays."""

    @_overload
    def count_nonzero(self, dim: _int | None = None) -> Tensor:
        """How many elements are not 0."""
    @_overload
    def count_nonzero(self, dim: _Sequence[_int]) -> Tensor: ...
    @_overload
    def count_nonzero(self, *dim: _int) -> Tensor: ...

    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariances of the rows of ``input``, whose columns are observations."""

    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product along an axis of length 3 (the first such axis by default)."""

    def crow_indices(self) -> _Any:
        """Only of sparse tensors."""

    def cummax(self, dim: _int) -> _return_types.cummax:
        """The running maximum along ``dim`` and its place."""

    def cummin(self, dim: _int) -> _return_types.cummin:
        """The running minimum along ``dim`` and its place."""

    def cumprod(self, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
        """The running product along ``dim``."""

    def cumprod_(self, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
        """The running product along ``dim``."""

    def cumsum(self, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
        """The running sum along ``dim``."""

    def cumsum_(self, dim: _int, *, dtype: _DType | type | None = None) -> Tensor:
        """The running sum along ``dim``."""

    def deg2rad(self) -> Tensor:
        """Of each element x: x * pi / 180."""

    def deg2rad_(self) -> Tensor:
        """:func:`deg2rad` of the tensor, written over it; its type stays."""

    def dense_dim(self) -> _int:
        """How many axes are stored densely: all of a strided tensor's."""

    def dequantize(self) -> _Any:
        """The numbers that levels stand for; of a tensor that is not quantised, float32 of it."""

    def det(self) -> Tensor:
        """The determinant."""

    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector on a diagonal of a matrix; a matrix' diagonal as a vector."""

    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """The last axis on a diagonal of two new axes, zeros elsewhere."""

    def diagflat(self, offset: _int = 0) -> Tensor:
        """All elements, in one row, on a diagonal of a matrix."""

    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The diagonal of the axes ``dim1``, ``dim2``, as the last axis; a view."""

    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """``input`` with ``src`` in the place of a diagonal."""

    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The differences of neighbours along ``dim``, taken ``n`` times."""

    def digamma(self) -> Tensor:
        """Of each element x: the derivative of lgamma at x."""

    def digamma_(self) -> Tensor:
        """:func:`digamma` of the tensor, written over it; its type stays."""

    def dim(self) -> _int:
        """The number of axes."""

    def dim_order(self, *, ambiguity_check: _Any = False) -> _Any:
        """The axes from the largest stride to the smallest."""

    def dist(self, other: Tensor, p: _float | _complex = 2) -> Tensor:
        """The norm of ``input - other``."""

    @_overload
    def div(self, other: Tensor) -> Tensor:
        """``input / other``, rounded down ("floor") or towards zero ("trunc") on request."""
    @_overload
    def div(self, other: Tensor, *, rounding_mode: _str | None) -> Tensor: ...
    @_overload
    def div(self, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

    @_overload
    def div_(self, other: Tensor) -> Tensor:
        """``self /= other``."""
    @_overload
    def div_(self, other: Tensor, *, rounding_mode: _str | None) -> Tensor: ...
    @_overload
    def div_(self, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

    @_overload
    def divide(self, other: Tensor) -> Tensor:
        """``input / other``, rounded down ("floor") or towards zero ("trunc") on request."""
    @_overload
    def divide(self, other: Tensor, *, rounding_mode: _str | None) -> Tensor: ...
    @_overload
    def divide(self, other: _float | _complex) -> Tensor: ...
    @_overload
    def divide(self, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

    @_overload
    def divide_(self, other: Tensor) -> Tensor:
        """``self /= other``."""
    @_overload
    def divide_(self, other: Tensor, *, rounding_mode: _str | None) -> Tensor: ...
    @_overload
    def divide_(self, other: _float | _complex) -> Tensor: ...
    @_overload
    def divide_(self, other: _float | _complex, *, rounding_mode: _str | None) -> Tensor: ...

    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of products of two vectors."""

    def double(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float64, laid out in ``memory_format``."""

    @_overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """``input`` split along its third axis."""
    @_overload
    def dsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...
    @_overload
    def dsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...

    def eig(self, eigenvectors: _bool = False, *, e: _Any = None, v: _Any = None) -> _Any:
        """Removed from torch; raises RuntimeError that says what to call."""

    @_overload
    def eq(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x == y."""
    @_overload
    def eq(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def eq_(self, other: Tensor) -> Tensor:
        """:func:`eq` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def eq_(self, other: _float | _complex) -> Tensor: ...

    def equal(self, other: Tensor) -> _bool:
        """Whether both have the same shape and the same elements."""

    def erf(self) -> Tensor:
        """Of each element x: 2 / sqrt(pi) times the integral of e ** -t**2 from 0 to x."""

    def erf_(self) -> Tensor:
        """:func:`erf` of the tensor, written over it; its type stays."""

    def erfc(self) -> Tensor:
        """Of each element x: 1 - erf(x)."""

    def erfc_(self) -> Tensor:
        """:func:`erfc` of the tensor, written over it; its type stays."""

    def erfinv(self) -> Tensor:
        """Of each element x: y with erf(y) = x."""

    def erfinv_(self) -> Tensor:
        """:func:`erfinv` of the tensor, written over it; its type stays."""

    def exp(self) -> Tensor:
        """Of each element x: e ** x."""

    def exp2(self) -> Tensor:
        """Of each element x: 2 ** x."""

    def exp2_(self) -> Tensor:
        """:func:`exp2` of the tensor, written over it; its type stays."""

    def exp_(self) -> Tensor:
        """:func:`exp` of the tensor, written over it; its type stays."""

    @_overload
    def expand(self, size: _Sequence[_int], *, implicit: _bool = False) -> Tensor:
        """``self`` repeated along axes of length 1 without copying; -1 keeps a length."""
    @_overload
    def expand(self, *size: _int, implicit: _bool = False) -> Tensor: ...

    def expand_as(self, other: Tensor) -> Tensor:
        """The tensor expanded to the shape of ``other``; a view."""

    def expm1(self) -> Tensor:
        """Of each element x: e ** x - 1."""

    def expm1_(self) -> Tensor:
        """:func:`expm1` of the tensor, written over it; its type stays."""

    def exponential_(self, lambd: _float = 1, *, generator: _Generator | None = None) -> Tensor:
        """Fill with exponential numbers of rate ``lambd``."""

    def fill_diagonal_(self, fill_value: _float | _complex, wrap: _bool = False) -> Tensor:
        """Write ``fill_value`` on the main diagonal."""

    def fix(self) -> Tensor:
        """Of each element x: x without its fraction."""

    def fix_(self) -> Tensor:
        """:func:`fix` of the tensor, written over it; its type stays."""

    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Axes ``start_dim`` to ``end_dim`` made one."""

    @_overload
    def flip(self, dims: _Sequence[_int]) -> Tensor:
        """``input`` backwards along ``dims``."""
    @_overload
    def flip(self, *dims: _int) -> Tensor: ...

    def fliplr(self) -> Tensor:
        """``input`` with axis 1 reversed."""

    def flipud(self) -> Tensor:
        """``input`` with axis 0 reversed."""

    def float(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float32, laid out in ``memory_format``."""

    @_overload
    def float_power(self, exponent: Tensor) -> Tensor:
        """``input ** exponent`` in double precision."""
    @_overload
    def float_power(self, exponent: _float | _complex) -> Tensor: ...

    @_overload
    def float_power_(self, exponent: Tensor) -> Tensor:
        """``self`` to the power of ``exponent``, where ``self`` has double precision."""
    @_overload
    def float_power_(self, exponent: _float | _complex) -> Tensor: ...

    def floor(self) -> Tensor:
        """Of each element x: the greatest integer not above x."""

    def floor_(self) -> Tensor:
        """:func:`floor` of the tensor, written over it; its type stays."""

    @_overload
    def floor_divide(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: floor(x / y)."""
    @_overload
    def floor_divide(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def floor_divide_(self, other: Tensor) -> Tensor:
        """:func:`floor_divide` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def floor_divide_(self, other: _float | _complex) -> Tensor: ...

    def fmax(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the greater of both; nan only if both are."""

    def fmin(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the lesser of both; nan only if both are."""

    @_overload
    def fmod(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x - trunc(x / y) * y: the remainder with the sign of x."""
    @_overload
    def fmod(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def fmod_(self, other: Tensor) -> Tensor:
        """:func:`fmod` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def fmod_(self, other: _float | _complex) -> Tensor: ...

    def frac(self) -> Tensor:
        """Of each element x: x - trunc(x)."""

    def frac_(self) -> Tensor:
        """:func:`frac` of the tensor, written over it; its type stays."""

    def frexp(self) -> _return_types.frexp:
        """``input`` as ``mantissa * 2 ** exponent`` with the mantissa's size in [1/2, 1)."""

    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0."""

    def gcd(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the greatest common divisor of integers."""

    def gcd_(self, other: Tensor) -> Tensor:
        """:func:`gcd` of the tensor and ``other``, written over it; its type stays."""

    @_overload
    def ge(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x >= y."""
    @_overload
    def ge(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def ge_(self, other: Tensor) -> Tensor:
        """:func:`ge` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def ge_(self, other: _float | _complex) -> Tensor: ...

    def geometric_(self, p: _float, *, generator: _Generator | None = None) -> Tensor:
        """Fill with the number of trials until the first success, of probability ``p``."""

    def geqrf(self) -> _Any:
        """``R`` with the reflectors that make ``Q`` below its diagonal, and their factors."""

    def ger(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors."""

    @_overload
    def greater(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x > y."""
    @_overload
    def greater(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def greater_(self, other: Tensor) -> Tensor:
        """:func:`greater` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def greater_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def greater_equal(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x >= y."""
    @_overload
    def greater_equal(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def greater_equal_(self, other: Tensor) -> Tensor:
        """:func:`greater_equal` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def greater_equal_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def gt(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x > y."""
    @_overload
    def gt(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def gt_(self, other: Tensor) -> Tensor:
        """:func:`gt` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def gt_(self, other: _float | _complex) -> Tensor: ...

    def half(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.float16, laid out in ``memory_format``."""

    def hardshrink(self, lambd: _float | _complex = 0.5) -> Tensor:
        """``x`` outside of ``[-lambd, lambd]``, else 0."""

    @_overload
    def hash_tensor(self, dim: _Sequence[_int] | _int | None = None, *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """The exclusive or of the elements' bits as float64 or int64, as uint64."""
    @_overload
    def hash_tensor(self, *dim: _int, keepdim: _bool = False, mode: _int = 0) -> Tensor: ...

    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, ``values`` at zero."""

    def heaviside_(self, values: Tensor) -> Tensor:
        """0 below zero, 1 above, ``values`` at zero."""

    def histc(self, bins: _int = 100, min: _float | _complex = 0, max: _float | _complex = 0) -> Tensor:
        """How many elements fall into each of ``bins`` bins of equal width."""

    @_overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogram:
        """How many elements (or what ``weight``) lie in each bin, and the edges of the bins."""
    @_overload
    def histogram(self, bins: _int = 100, *, range: _Sequence[_float] | None = None, weight: Tensor | None = None, density: _bool = False) -> _return_types.histogram: ...

    @_overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """``input`` split along its second axis (its only one): into equal parts, or at places."""
    @_overload
    def hsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...
    @_overload
    def hsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...

    def hypot(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: sqrt(x * x + y * y)."""

    def hypot_(self, other: Tensor) -> Tensor:
        """:func:`hypot` of the tensor and ``other``, written over it; its type stays."""

    def i0(self) -> Tensor:
        """Of each element x: the modified Bessel function of the first kind of order 0 at x."""

    def i0_(self) -> Tensor:
        """:func:`i0` of the tensor, written over it; its type stays."""

    def igamma(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the regularised lower incomplete gamma function P(x, y)."""

    def igamma_(self, other: Tensor) -> Tensor:
        """:func:`igamma` of the tensor and ``other``, written over it; its type stays."""

    def igammac(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the regularised upper incomplete gamma function 1 - P(x, y)."""

    def igammac_(self, other: Tensor) -> Tensor:
        """:func:`igammac` of the tensor and ``other``, written over it; its type stays."""

    def index(self, positions: _Any, dims: _Any) -> _Any:
        """Elements by first-class dimensions, which there are none of: it raises."""

    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
        """``input`` with ``alpha * source`` added to the slices that ``index`` names."""

    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
        """``input`` with ``alpha * source`` added to the slices that ``index`` names."""

    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``input`` with ``source`` in place of the slices that ``index`` names."""

    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """``input`` with ``source`` in place of the slices that ``index`` names."""

    @_overload
    def index_fill(self, dim: _int, index: Tensor, value: Tensor) -> Tensor:
        """``input`` with ``value`` in the slices that ``index`` names."""
    @_overload
    def index_fill(self, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...

    @_overload
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor) -> Tensor:
        """``input`` with ``value`` in the slices that ``index`` names."""
    @_overload
    def index_fill_(self, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...

    def index_put(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` with ``values`` written (added) at ``indices``, a tuple of index tensors."""

    def index_put_(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` with ``values`` written (added) at ``indices``, a tuple of index tensors."""

    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """``input`` with the slices of ``source`` that meet at a slice folded by ``reduce``."""

    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """``input`` with the slices of ``source`` that meet at a slice folded by ``reduce``."""

    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of ``input`` that ``index`` names along ``dim``."""

    def indices(self) -> _Any:
        """Only of sparse tensors."""

    def inner(self, other: Tensor) -> Tensor:
        """The sums of products over the last axes."""

    def int(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int32, laid out in ``memory_format``."""

    def int_repr(self) -> _Any:
        """The levels of a quantised tensor, as int8, uint8 or int32."""

    def inverse(self) -> Tensor:
        """The inverse of square matrices; LinAlgError where one is singular."""

    def ipu(self, device: _Device | _str | _int | None = None, non_blocking: _bool = False, *, memory_format: _memory_format | None = None) -> _Any:
        """Raises RuntimeError: there is no such device. ``device``, ``non_blocking`` and ``memory_format`` have no effect."""

    def is_coalesced(self) -> _Any:
        """Only of sparse tensors."""

    def is_contiguous(self, *, memory_format: _memory_format = ...) -> _bool:
        """Whether the elements lie in that order without gaps."""

    def is_distributed(self) -> _bool:
        """False: no tensor lies on several devices."""

    def is_nonzero(self) -> _bool:
        """Whether the only element is not 0."""

    def is_same_size(self, other: Tensor) -> _bool:
        """Whether the shapes are equal."""

    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both have the same memory, shape and strides."""

    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = False) -> Tensor:
        """``abs(input - other) <= atol + rtol * abs(other)``, equal infinities included."""

    def isfinite(self) -> Tensor:
        """Of each element x: whether x is neither nan nor infinite."""

    def isinf(self) -> Tensor:
        """Of each element x: whether x is inf or -inf."""

    def isnan(self) -> Tensor:
        """Of each element x: whether x is nan."""

    def isneginf(self) -> Tensor:
        """Where ``input`` is -inf."""

    def isposinf(self) -> Tensor:
        """Where ``input`` is +inf."""

    def isreal(self) -> Tensor:
        """Where the imaginary part is 0."""

    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> _Any:
        """The signal of ``length`` points whose :func:`stft` is nearest to ``input``: the inverse"""

    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product."""

    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _return_types.kthvalue:
        """The ``k``-th least element along ``dim`` and its place."""

    def lcm(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the least common multiple of integers."""

    def lcm_(self, other: Tensor) -> Tensor:
        """:func:`lcm` of the tensor and ``other``, written over it; its type stays."""

    def ldexp(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``."""

    def ldexp_(self, other: Tensor) -> Tensor:
        """``input * 2 ** other``."""

    @_overload
    def le(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x <= y."""
    @_overload
    def le(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def le_(self, other: Tensor) -> Tensor:
        """:func:`le` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def le_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """``input + weight * (end - input)``."""
    @_overload
    def lerp(self, end: Tensor, weight: _float | _complex) -> Tensor: ...

    @_overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor:
        """:func:`lerp` over ``self``."""
    @_overload
    def lerp_(self, end: Tensor, weight: _float | _complex) -> Tensor: ...

    @_overload
    def less(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x < y."""
    @_overload
    def less(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def less_(self, other: Tensor) -> Tensor:
        """:func:`less` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def less_(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def less_equal(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x <= y."""
    @_overload
    def less_equal(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def less_equal_(self, other: Tensor) -> Tensor:
        """:func:`less_equal` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def less_equal_(self, other: _float | _complex) -> Tensor: ...

    def lgamma(self) -> Tensor:
        """Of each element x: log(abs(gamma(x)))."""

    def lgamma_(self) -> Tensor:
        """:func:`lgamma` of the tensor, written over it; its type stays."""

    def log(self) -> Tensor:
        """Of each element x: the logarithm of x to the base e."""

    def log10(self) -> Tensor:
        """Of each element x: the logarithm of x to the base 10."""

    def log10_(self) -> Tensor:
        """:func:`log10` of the tensor, written over it; its type stays."""

    def log1p(self) -> Tensor:
        """Of each element x: log(1 + x)."""

    def log1p_(self) -> Tensor:
        """:func:`log1p` of the tensor, written over it; its type stays."""

    def log2(self) -> Tensor:
        """Of each element x: the logarithm of x to the base 2."""

    def log2_(self) -> Tensor:
        """:func:`log2` of the tensor, written over it; its type stays."""

    def log_(self) -> Tensor:
        """:func:`log` of the tensor, written over it; its type stays."""

    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: _Generator | None = None) -> Tensor:
        """Fill with numbers whose logarithm is normal, of ``mean`` and ``std``."""

    def log_softmax(self, dim: _int, dtype: _DType | type | None = None) -> Tensor:
        """``x - log(sum(exp(x)))`` along ``dim``, of ``x`` cast to ``dtype``."""

    def logaddexp(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: log(e ** x + e ** y)."""

    def logaddexp2(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: log2(2 ** x + 2 ** y)."""

    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the running sum of exponentials along ``dim``."""

    def logdet(self) -> Tensor:
        """The logarithm of the determinant; nan where it is negative."""

    def logical_and(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: whether both are not 0."""

    def logical_and_(self, other: Tensor) -> Tensor:
        """:func:`logical_and` of the tensor and ``other``, written over it; its type stays."""

    def logical_not(self) -> Tensor:
        """Of each element x: whether x is 0."""

    def logical_not_(self) -> Tensor:
        """:func:`logical_not` of the tensor, written over it; its type stays."""

    def logical_or(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: whether one is not 0."""

    def logical_or_(self, other: Tensor) -> Tensor:
        """:func:`logical_or` of the tensor and ``other``, written over it; its type stays."""

    def logical_xor(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: whether just one is not 0."""

    def logical_xor_(self, other: Tensor) -> Tensor:
        """:func:`logical_xor` of the tensor and ``other``, written over it; its type stays."""

    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""

    def logit_(self, eps: _float | None = None) -> Tensor:
        """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""

    def logsumexp(self, dim: _Sequence[_int] | _int, keepdim: _bool = False) -> Tensor:
        """``log(sum(exp(input)))``."""

    def long(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int64, laid out in ``memory_format``."""

    def lstsq(self, A: _Any, *, out: Tensor | None = None) -> _Any:
        """Removed from torch; raises RuntimeError that says what to call."""

    @_overload
    def lt(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x < y."""
    @_overload
    def lt(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def lt_(self, other: Tensor) -> Tensor:
        """:func:`lt` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def lt_(self, other: _float | _complex) -> Tensor: ...

    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> _Any:
        """:func:`torch.lu` of the tensor; always a plain tuple."""

    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> _Any:
        """``X`` with ``A X = b`` from the factors of ``A``."""

    def map2_(self, x: Tensor, y: Tensor, callable: _Any) -> Tensor:
        """Replace each element ``a`` by ``callable(a, b, c)`` (slow)."""

    def map_(self, other: Tensor, callable: _Any) -> Tensor:
        """Replace each element ``a`` by ``callable(a, b)``, ``b`` that of ``tensor`` (slow)."""

    @_overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """``value`` where ``mask``, else ``input``."""
    @_overload
    def masked_fill(self, mask: Tensor, value: _float | _complex) -> Tensor: ...

    @_overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Tensor:
        """:func:`masked_fill` over ``self``."""
    @_overload
    def masked_fill_(self, mask: Tensor, value: _float | _complex) -> Tensor: ...

    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """``input`` with the elements of ``source``, in order, where ``mask``."""

    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """``input`` with the elements of ``source``, in order, where ``mask``."""

    def masked_select(self, mask: Tensor) -> _Any:
        """The elements where ``mask``, in one row."""

    def matmul(self, other: Tensor) -> Tensor:
        """The product of matrices (the last two axes), vectors and batches of them."""

    def matrix_exp(self) -> Tensor:
        """The exponential, by scaling and squaring of a Taylor polynomial of degree 18."""

    def matrix_power(self, n: _int) -> Tensor:
        """``A`` multiplied by itself ``n`` times; its inverse for negative ``n``."""

    @_overload
    def max(self) -> Tensor:
        """The maximum of all elements; with ``dim`` also its place; of two tensors' elements."""
    @_overload
    def max(self, other: Tensor) -> Tensor: ...
    @_overload
    def max(self, dim: _int, keepdim: _bool = False) -> _return_types.max: ...

    def maximum(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the greater of both; nan if one is nan."""

    @_overload
    def mean(self, *, dtype: _DType | type | None = None) -> Tensor:
        """The mean over ``dim`` (all axes by default)."""
    @_overload
    def mean(self, dim: _Sequence[_int] | _int | None, keepdim: _bool = False, *, dtype: _DType | type | None = None) -> Tensor: ...

    @_overload
    def median(self) -> Tensor:
        """The lower median of the elements: of all, or along ``dim`` with its place."""
    @_overload
    def median(self, dim: _int, keepdim: _bool = False) -> _return_types.median: ...

    @_overload
    def min(self) -> Tensor:
        """The minimum of all elements; with ``dim`` also its place; of two tensors' elements."""
    @_overload
    def min(self, other: Tensor) -> Tensor: ...
    @_overload
    def min(self, dim: _int, keepdim: _bool = False) -> _return_types.min: ...

    def minimum(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the lesser of both; nan if one is nan."""

    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""

    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _return_types.mode:
        """The commonest value along ``dim`` and its last place."""

    def module_load(self, other: _Any, assign: _bool = False) -> _Any:
        """What ``load_state_dict`` puts in place of this tensor: ``other``, detached."""

    @_overload
    def moveaxis(self, source: _int, destination: _int) -> Tensor:
        """Move axes ``source`` to the places ``destination``."""
    @_overload
    def moveaxis(self, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor: ...

    @_overload
    def movedim(self, source: _int, destination: _int) -> Tensor:
        """Move axes ``source`` to the places ``destination``."""
    @_overload
    def movedim(self, source: _Sequence[_int], destination: _Sequence[_int]) -> Tensor: ...

    def msort(self) -> Tensor:
        """``input`` sorted along its first axis."""

    def mtia(self, device: _Device | _str | _int | None = None, non_blocking: _bool = False, *, memory_format: _memory_format | None = None) -> _Any:
        """Raises AssertionError: there is no such device. ``device``, ``non_blocking`` and ``memory_format`` have no effect."""

    def mul(self, other: Tensor | _float | _complex) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x * y."""

    def mul_(self, other: Tensor | _float | _complex) -> Tensor:
        """:func:`mul` of the tensor and ``other``, written over it; its type stays."""

    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: _Generator | None = None) -> Tensor:
        """Indices drawn with the (unnormalised) probabilities in each row of ``input``."""

    @_overload
    def multiply(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x * y."""
    @_overload
    def multiply(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def multiply_(self, other: Tensor) -> Tensor:
        """:func:`multiply` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def multiply_(self, other: _float | _complex) -> Tensor: ...

    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""

    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""

    def mvlgamma_(self, p: _int) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension ``p``."""

    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """nan, inf and -inf replaced: by 0 and the type's limits unless given."""

    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """nan, inf and -inf replaced: by 0 and the type's limits unless given."""

    def nanmean(self, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _DType | type | None = None) -> Tensor:
        """The mean of the elements that are numbers."""

    @_overload
    def nanmedian(self) -> Tensor:
        """The lower median of the elements that are numbers: of all, or along ``dim`` with its place."""
    @_overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _return_types.nanmedian: ...

    @_overload
    def nanquantile(self, q: Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ...) -> Tensor:
        """The ``q``-th quantile of the elements that are numbers."""
    @_overload
    def nanquantile(self, q: _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ...) -> Tensor: ...

    def nansum(self, dim: _Sequence[_int] | _int | None = None, keepdim: _bool = False, *, dtype: _DType | type | None = None) -> Tensor:
        """The sum, nan counted as 0."""

    @_overload
    def narrow(self, dim: _int, start: Tensor, length: _int) -> Tensor:
        """``length`` places of axis ``dim`` from ``start``."""
    @_overload
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor: ...

    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """What ``narrow`` views, as a tensor of its own."""

    def ndimension(self) -> _int:
        """The number of axes."""

    @_overload
    def ne(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x != y."""
    @_overload
    def ne(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def ne_(self, other: Tensor) -> Tensor:
        """:func:`ne` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def ne_(self, other: _float | _complex) -> Tensor: ...

    def neg(self) -> Tensor:
        """Of each element x: -x."""

    def neg_(self) -> Tensor:
        """:func:`neg` of the tensor, written over it; its type stays."""

    def negative(self) -> Tensor:
        """Of each element x: -x."""

    def negative_(self) -> Tensor:
        """:func:`negative` of the tensor, written over it; its type stays."""

    def nelement(self) -> _int:
        """The number of elements."""

    @_overload
    def new(self, *, device: _Device | _str | _int | None = None) -> Tensor:
        """A tensor of this type: of a size, or of the data that is given."""
    @_overload
    def new(self, storage: _Any) -> Tensor: ...
    @_overload
    def new(self, other: Tensor) -> Tensor: ...
    @_overload
    def new(self, size: _Sequence[_int], *, device: _Device | _str | _int | None = None) -> Tensor: ...
    @_overload
    def new(self, *size: _int, device: _Device | _str | _int | None = None) -> Tensor: ...
    @_overload
    def new(self, data: _Any, *, device: _Device | _str | _int | None = None) -> Tensor: ...

    @_overload
    def new_empty(self, size: _Sequence[_int], *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Uninitialised memory in the shape ``size``, in the tensor's type and on its device."""
    @_overload
    def new_empty(self, *size: _int, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

    def new_empty_strided(self, size: _Sequence[_int], stride: _Sequence[_int], *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """An uninitialised tensor with this size and these strides, of this type."""

    def new_full(self, size: _Sequence[_int], fill_value: _float | _complex, *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """``fill_value`` in the shape ``size``, in the tensor's type and on its device unless given."""

    @_overload
    def new_ones(self, size: _Sequence[_int], *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Ones in the shape ``size``, in the tensor's type and on its device."""
    @_overload
    def new_ones(self, *size: _int, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

    def new_tensor(self, data: _Any, *, dtype: _DType | type | None = None, device: _Device | _str | _int | None = None, requires_grad: _bool = False) -> Tensor:
        """A copy of ``data``, in the tensor's type and on its device unless given."""

    @_overload
    def new_zeros(self, size: _Sequence[_int], *, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor:
        """Zeros in the shape ``size``, in the tensor's type and on its device."""
    @_overload
    def new_zeros(self, *size: _int, dtype: _DType | type | None = None, layout: _layout | None = None, device: _Device | _str | _int | None = None, pin_memory: _bool | None = False, requires_grad: _bool | None = False) -> Tensor: ...

    def nextafter(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: the number next to x towards y."""

    def nextafter_(self, other: Tensor) -> Tensor:
        """:func:`nextafter` of the tensor and ``other``, written over it; its type stays."""

    @_overload
    def nonzero(self) -> _Any:
        """The coordinates of the elements that are not 0: one row each, or a tuple by axis."""
    @_overload
    def nonzero(self, *, as_tuple: _bool) -> _Any: ...

    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first ``size`` rows of ``nonzero``, filled up with ``fill_value``."""

    def norm(self, p: _Any = 'fro', dim: _Any = None, keepdim: _bool = False, dtype: _Any = None) -> _Any:
        """The vector norm of order ``p`` over ``dim``; "nuc": the sum of singular values."""

    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: _Generator | None = None) -> Tensor:
        """Fill with normal numbers of the mean ``mean`` and the deviation ``std``."""

    @_overload
    def not_equal(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x != y."""
    @_overload
    def not_equal(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def not_equal_(self, other: Tensor) -> Tensor:
        """:func:`not_equal` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def not_equal_(self, other: _float | _complex) -> Tensor: ...

    def numel(self) -> _int:
        """The number of elements."""

    def orgqr(self, input2: Tensor) -> Tensor:
        """The first columns of ``H[0] H[1] ...`` with ``H[i] = 1 - tau[i] v[i] v[i]^H``, where"""

    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """``Q other`` (``other Q``), or with the adjoint of the ``Q`` that :func:`geqrf` encodes."""

    def outer(self, vec2: Tensor) -> Tensor:
        """The products of all pairs of elements of two vectors."""

    @_overload
    def permute(self, dims: _Sequence[_int]) -> Tensor:
        """``input`` with its axes in the order ``dims``."""
    @_overload
    def permute(self, *dims: _int) -> Tensor: ...

    def pinverse(self, rcond: _float = ...) -> Tensor:
        """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * the greatest)`` count"""

    def polygamma(self, n: _int) -> Tensor:
        """The ``n``-th derivative of digamma."""

    def polygamma_(self, n: _int) -> Tensor:
        """The ``n``-th derivative of digamma."""

    def positive(self) -> Tensor:
        """``+input``."""

    @_overload
    def pow(self, exponent: Tensor) -> Tensor:
        """``input ** exponent``."""
    @_overload
    def pow(self, exponent: _float | _complex) -> Tensor: ...

    @_overload
    def pow_(self, exponent: Tensor) -> Tensor:
        """``self **= exponent``."""
    @_overload
    def pow_(self, exponent: _float | _complex) -> Tensor: ...

    def prelu(self, weight: Tensor) -> Tensor:
        """x where x > 0, else weight * x; one weight, or one for each channel (axis 1)."""

    @_overload
    def prod(self, *, dtype: _DType | type | None = None) -> Tensor:
        """The product over one axis, or of all elements."""
    @_overload
    def prod(self, dim: _int, keepdim: _bool = False, *, dtype: _DType | type | None = None) -> Tensor: ...

    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` read as one row, with ``source`` written (added) at ``index``."""

    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``input`` read as one row, with ``source`` written (added) at ``index``."""

    def q_per_channel_axis(self) -> _int:
        """The axis by which a tensor was quantised."""

    def q_per_channel_scales(self) -> _Any:
        """The scale for each index of the axis by which a tensor was quantised."""

    def q_per_channel_zero_points(self) -> _Any:
        """The level that stands for 0, for each index of the axis by which a tensor was quantised."""

    def q_scale(self) -> _float:
        """What lies between two levels of a tensor that was quantised with one scale."""

    def q_zero_point(self) -> _int:
        """The level that stands for 0 in a tensor that was quantised with one scale."""

    def qr(self, some: _bool = True) -> _return_types.qr:
        """The QR factors."""

    def qscheme(self) -> _Any:
        """How a quantised tensor's numbers are put on levels."""

    @_overload
    def quantile(self, q: Tensor, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ...) -> Tensor:
        """The ``q``-th quantile along ``dim``; nan where one is met."""
    @_overload
    def quantile(self, q: _float, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = ...) -> Tensor: ...

    def rad2deg(self) -> Tensor:
        """Of each element x: x * 180 / pi."""

    def rad2deg_(self) -> Tensor:
        """:func:`rad2deg` of the tensor, written over it; its type stays."""

    @_overload
    def random_(self, *, generator: _Generator | None = None) -> Tensor:
        """Fill with integers from [0, ``to``), [``from``, ``to``), or the range of the type."""
    @_overload
    def random_(self, from_: _int, to: _int | None, *, generator: _Generator | None = None) -> Tensor: ...
    @_overload
    def random_(self, to: _int | None, *, generator: _Generator | None = None) -> Tensor: ...

    def ravel(self) -> Tensor:
        """The elements in C order along one axis, side by side; a view where they lie so."""

    def reciprocal(self) -> Tensor:
        """Of each element x: 1 / x."""

    def reciprocal_(self) -> Tensor:
        """:func:`reciprocal` of the tensor, written over it; its type stays."""

    def record_stream(self, s: _Any) -> None:
        """Keep a CUDA tensor's memory until the work that stream ``s`` has now is done."""

    def reinforce(self, reward: _Any) -> _Any:
        """Removed from torch: use ``torch.distributions``; ``reward`` has no effect."""

    def relu(self) -> Tensor:
        """Of each element x: max(x, 0)."""

    def relu_(self) -> Tensor:
        """:func:`relu` of the tensor, written over it; its type stays."""

    @_overload
    def remainder(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x - floor(x / y) * y: the remainder with the sign of y."""
    @_overload
    def remainder(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def remainder_(self, other: Tensor) -> Tensor:
        """:func:`remainder` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def remainder_(self, other: _float | _complex) -> Tensor: ...

    def renorm(self, p: _float | _complex, dim: _int, maxnorm: _float | _complex) -> Tensor:
        """``input`` with the slices along ``dim`` whose norm exceeds ``maxnorm`` scaled to it."""

    def renorm_(self, p: _float | _complex, dim: _int, maxnorm: _float | _complex) -> Tensor:
        """``input`` with the slices along ``dim`` whose norm exceeds ``maxnorm`` scaled to it."""

    @_overload
    def repeat(self, repeats: _Sequence[_int]) -> Tensor:
        """``self`` laid ``repeats`` times along each axis."""
    @_overload
    def repeat(self, *repeats: _int) -> Tensor: ...

    @_overload
    def repeat_interleave(self, repeats: Tensor, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each slice along ``dim`` repeated; over the flat tensor without ``dim``."""
    @_overload
    def repeat_interleave(self, repeats: _int, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor: ...

    @_overload
    def reshape(self, shape: _Sequence[_int]) -> Tensor:
        """The same elements with another shape; a view where the layout allows it."""
    @_overload
    def reshape(self, *shape: _int) -> Tensor: ...

    def reshape_as(self, other: Tensor) -> Tensor:
        """The tensor in the shape of ``other``; a view where the layout allows."""

    def resize(self, *sizes: _Any) -> _Any:
        """:meth:`view` (deprecated in torch, too)."""

    def resize_as(self, tensor: _Any) -> _Any:
        """A tensor of the same elements in the shape of ``tensor``, over this one's memory."""

    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Of sparse tensors, which have it themselves; it raises for others."""

    def resolve_conj(self) -> Tensor:
        """``input``: conjugation is never put off here."""

    def resolve_neg(self) -> Tensor:
        """``input``: negation is never put off here."""

    def roll(self, shifts: _Sequence[_int] | _int, dims: _Sequence[_int] | _int | None = None) -> Tensor:
        """``input`` shifted along ``dims``, wrapping round; over the flat tensor without dims."""

    def rot90(self, k: _int = 1, dims: _Sequence[_int] = ...) -> Tensor:
        """``input`` turned by 90 degrees ``k`` times in the plane of ``dims``."""

    @_overload
    def round(self) -> Tensor:
        """To the nearest number with ``decimals`` places, halves to the even one."""
    @_overload
    def round(self, *, decimals: _int) -> Tensor: ...

    @_overload
    def round_(self) -> Tensor:
        """:func:`round` over ``self``, to ``decimals`` places."""
    @_overload
    def round_(self, *, decimals: _int) -> Tensor: ...

    def row_indices(self) -> _Any:
        """Only of sparse tensors."""

    def rsqrt(self) -> Tensor:
        """Of each element x: 1 / sqrt(x)."""

    def rsqrt_(self) -> Tensor:
        """:func:`rsqrt` of the tensor, written over it; its type stays."""

    @_overload
    def rsub(self, other: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
        """``other - alpha * input``."""
    @_overload
    def rsub(self, other: _float | _complex, alpha: _float | _complex = 1) -> Tensor: ...

    @_overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with ``src`` (or ``value``) written at ``index`` along ``dim``."""
    @_overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor: ...
    @_overload
    def scatter(self, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...
    @_overload
    def scatter(self, dim: _int, index: Tensor, value: _float | _complex, *, reduce: _str) -> Tensor: ...

    @_overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with ``src`` (or ``value``) written at ``index`` along ``dim``."""
    @_overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Tensor: ...
    @_overload
    def scatter_(self, dim: _int, index: Tensor, value: _float | _complex) -> Tensor: ...
    @_overload
    def scatter_(self, dim: _int, index: Tensor, value: _float | _complex, *, reduce: _str) -> Tensor: ...

    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with ``src`` added at ``index`` along ``dim``."""

    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """``input`` with ``src`` added at ``index`` along ``dim``."""

    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """``input`` with the elements of ``src`` that meet at a place folded by ``reduce``."""

    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """``input`` with the elements of ``src`` that meet at a place folded by ``reduce``."""

    def select(self, dim: _int, index: _int) -> Tensor:
        """``input`` at ``index`` of axis ``dim``."""

    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """``input`` with ``src`` in the place of its slice ``index`` along ``dim``."""

    def sgn(self) -> Tensor:
        """Of each element x: x / abs(x), and 0 for 0."""

    def sgn_(self) -> Tensor:
        """:func:`sgn` of the tensor, written over it; its type stays."""

    def short(self, *, memory_format: _memory_format | None = None) -> Tensor:
        """The tensor as torch.int16, laid out in ``memory_format``."""

    def sigmoid(self) -> Tensor:
        """Of each element x: 1 / (1 + e ** -x)."""

    def sigmoid_(self) -> Tensor:
        """:func:`sigmoid` of the tensor, written over it; its type stays."""

    def sign(self) -> Tensor:
        """Of each element x: 1, 0 or -1: the sign of x."""

    def sign_(self) -> Tensor:
        """:func:`sign` of the tensor, written over it; its type stays."""

    def signbit(self) -> Tensor:
        """Of each element x: whether the sign bit of x is set."""

    def sin(self) -> Tensor:
        """Of each element x: sin(x), x in radians."""

    def sin_(self) -> Tensor:
        """:func:`sin` of the tensor, written over it; its type stays."""

    def sinc(self) -> Tensor:
        """Of each element x: sin(pi x) / (pi x), and 1 for 0."""

    def sinc_(self) -> Tensor:
        """:func:`sinc` of the tensor, written over it; its type stays."""

    def sinh(self) -> Tensor:
        """Of each element x: (e ** x - e ** -x) / 2."""

    def sinh_(self) -> Tensor:
        """:func:`sinh` of the tensor, written over it; its type stays."""

    def size(self, dim: _int | None = None) -> _Any:
        """The shape, or the length of axis ``dim``."""

    def slice_inverse(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A view of ``input``'s memory with the shape, strides and offset of ``src``."""

    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """``input`` with ``src`` in the place of ``input[start:end:step]`` along ``dim``."""

    def slogdet(self) -> _return_types.slogdet:
        """The determinant's sign and the logarithm of its size."""

    def smm(self, mat2: Tensor) -> _Any:
        """The product of a sparse and a dense matrix: sparse tensors have it, it raises for others."""

    def softmax(self, dim: _int, dtype: _DType | type | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along ``dim``, of ``x`` cast to ``dtype``."""

    def solve(self, A: _Any, *, out: Tensor | None = None) -> _Any:
        """Removed from torch; raises RuntimeError that says what to call."""

    @_overload
    def sort(self, *, stable: _bool | None, dim: _int = -1, descending: _bool = False) -> _return_types.sort:
        """Sorted values and their places along ``dim``."""
    @_overload
    def sort(self, dim: _int = -1, descending: _bool = False) -> _return_types.sort: ...

    def sparse_dim(self) -> _int:
        """How many axes are stored by index: none of a strided tensor's."""

    def sparse_mask(self, mask: Tensor) -> _Any:
        """The elements of this tensor at the places of a sparse one."""

    def sparse_resize_(self, size: _Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Only of sparse tensors: ``size``, ``sparse_dim`` and ``dense_dim`` anew."""

    def sparse_resize_and_clear_(self, size: _Sequence[_int], sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Only of sparse tensors: ``size``, ``sparse_dim`` and ``dense_dim`` anew."""

    def split(self, split_size_or_sections: _Any, dim: _int = 0) -> _Any:
        """Pieces along ``dim`` of one size (the last may be smaller), or of the sizes given."""

    def split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Parts of these lengths along ``dim``; views."""

    def sqrt(self) -> Tensor:
        """Of each element x: sqrt(x)."""

    def sqrt_(self) -> Tensor:
        """:func:`sqrt` of the tensor, written over it; its type stays."""

    def square(self) -> Tensor:
        """Of each element x: x * x."""

    def square_(self) -> Tensor:
        """:func:`square` of the tensor, written over it; its type stays."""

    @_overload
    def squeeze(self) -> Tensor:
        """``input`` without the axes that have length 1: all, or those named."""
    @_overload
    def squeeze(self, dim: _int) -> Tensor: ...
    @_overload
    def squeeze(self, dim: _Sequence[_int]) -> Tensor: ...
    @_overload
    def squeeze(self, *dim: _int) -> Tensor: ...

    @_overload
    def squeeze_(self) -> Tensor:
        """Let ``input`` be what :func:`squeeze` gives of it; arguments: axes, or dim."""
    @_overload
    def squeeze_(self, dim: _int) -> Tensor: ...
    @_overload
    def squeeze_(self, dim: _Sequence[_int]) -> Tensor: ...
    @_overload
    def squeeze_(self, *dim: _int) -> Tensor: ...

    def sspaddmm(self, mat1: Tensor, mat2: Tensor, *, beta: _float | _complex = 1, alpha: _float | _complex = 1) -> _Any:
        """A sum with a product: sparse tensors have it, it raises for others."""

    @_overload
    def std(self, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """The std over ``dim``, divided by the count minus ``correction``."""
    @_overload
    def std(self, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def std(self, *dim: _int, correction: _float | _complex | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def std(self, unbiased: _bool = True) -> Tensor: ...

    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: _Any = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> _Any:
        """The transforms of frames of ``n_fft`` points, ``hop_length`` apart, times ``window``."""

    def stride(self, dim: _int | None = None) -> _Any:
        """Strides in elements, or that of axis ``dim``."""

    def sub(self, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1) -> Tensor:
        """``input - alpha * other``."""

    def sub_(self, other: Tensor | _float | _complex, *, alpha: _float | _complex = 1) -> Tensor:
        """``self -= alpha * other``."""

    @_overload
    def subtract(self, other: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
        """``input - alpha * other``."""
    @_overload
    def subtract(self, other: _float | _complex, alpha: _float | _complex = 1) -> Tensor: ...

    @_overload
    def subtract_(self, other: Tensor, *, alpha: _float | _complex = 1) -> Tensor:
        """``self -= alpha * other``."""
    @_overload
    def subtract_(self, other: _float | _complex, alpha: _float | _complex = 1) -> Tensor: ...

    @_overload
    def sum(self, *, dtype: _DType | type | None = None) -> Tensor:
        """The sum over ``dim`` (all axes by default); integers are summed as int64."""
    @_overload
    def sum(self, dim: _Sequence[_int] | _int | None, keepdim: _bool = False, *, dtype: _DType | type | None = None) -> Tensor: ...

    @_overload
    def sum_to_size(self, size: _Sequence[_int]) -> Tensor:
        """Sum the axes that broadcasting from ``size`` would have made or stretched."""
    @_overload
    def sum_to_size(self, *size: _int) -> Tensor: ...

    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _return_types.svd:
        """The singular values and vectors; V, not its adjoint."""

    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """``input`` with two axes exchanged."""

    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """Let ``input`` be what :func:`swapaxes` gives of it; arguments: dim0, dim1."""

    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """``input`` with two axes exchanged."""

    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Let ``input`` be what :func:`swapdims` gives of it; arguments: dim0, dim1."""

    def symeig(self, eigenvectors: _bool = False, upper: _bool = True, *, out: Tensor | None = None) -> _Any:
        """Removed from torch; raises RuntimeError that says what to call."""

    def t(self) -> Tensor:
        """The transpose of a matrix; a vector or number as it is."""

    def t_(self) -> Tensor:
        """Let ``input`` be what :func:`t` gives of it; arguments: none."""

    def take(self, index: Tensor) -> Tensor:
        """``input`` read as one row, at ``index``."""

    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """:func:`gather` with broadcasting of the other axes; with ``dim`` from the end, too."""

    def tan(self) -> Tensor:
        """Of each element x: tan(x), x in radians."""

    def tan_(self) -> Tensor:
        """:func:`tan` of the tensor, written over it; its type stays."""

    def tanh(self) -> Tensor:
        """Of each element x: sinh(x) / cosh(x)."""

    def tanh_(self) -> Tensor:
        """:func:`tanh` of the tensor, written over it; its type stays."""

    @_overload
    def tensor_split(self, indices: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces along ``dim`` of sizes as equal as can be, or cut at the indices."""
    @_overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: _int = 0) -> tuple[Tensor, ...]: ...
    @_overload
    def tensor_split(self, sections: _int, dim: _int = 0) -> tuple[Tensor, ...]: ...

    @_overload
    def tile(self, dims: _Sequence[_int]) -> Tensor:
        """As :func:`repeat`, with missing counts taken as 1."""
    @_overload
    def tile(self, *dims: _int) -> Tensor: ...

    def to_dense(self, dtype: _DType | type | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """The tensor itself, cast to ``dtype``: it is dense."""

    def to_mkldnn(self, dtype: _DType | type | None = None) -> _Any:
        """oneDNN's layout, which there is none of: it raises."""

    def to_padded_tensor(self, padding: _float, output_size: _Sequence[_int] | None = None) -> _Any:
        """Of nested tensors, which have it themselves; it raises for others."""

    @_overload
    def to_sparse(self, *, layout: _layout | None = None, blocksize: _Sequence[_int] | _int | None = None, dense_dim: _int | None = None) -> _Any:
        """The elements that are not 0, as a sparse tensor."""
    @_overload
    def to_sparse(self, sparse_dim: _int) -> _Any: ...

    def to_sparse_bsc(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = None) -> _Any:
        """:meth:`to_sparse` with BSC's layout: blocks of ``blocksize``, those that are not all 0."""

    def to_sparse_bsr(self, blocksize: _Sequence[_int] | _int, dense_dim: _int | None = None) -> _Any:
        """:meth:`to_sparse` with BSR's layout: blocks of ``blocksize``, those that are not all 0."""

    def to_sparse_coo(self) -> _Any:
        """:meth:`to_sparse` with COO's layout."""

    def to_sparse_csc(self, dense_dim: _int | None = None) -> _Any:
        """:meth:`to_sparse` with CSC's layout."""

    def to_sparse_csr(self, dense_dim: _int | None = None) -> _Any:
        """:meth:`to_sparse` with CSR's layout."""

    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _return_types.topk:
        """The ``k`` greatest (least) elements along ``dim`` and their places, in order."""

    def trace(self) -> Tensor:
        """The sum of the main diagonal."""

    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """``input`` with two axes exchanged."""

    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Let ``input`` be what :func:`transpose` gives of it; arguments: dim0, dim1."""

    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _return_types.triangular_solve:
        """``(X, A)`` with ``A X = input``, ``A`` triangular."""

    def tril(self, diagonal: _int = 0) -> Tensor:
        """The elements on and below a diagonal, zeros above it."""

    def tril_(self, diagonal: _int = 0) -> Tensor:
        """The elements on and below a diagonal, zeros above it."""

    def triu(self, diagonal: _int = 0) -> Tensor:
        """The elements on and above a diagonal, zeros below it."""

    def triu_(self, diagonal: _int = 0) -> Tensor:
        """The elements on and above a diagonal, zeros below it."""

    @_overload
    def true_divide(self, other: Tensor) -> Tensor:
        """``input / other``."""
    @_overload
    def true_divide(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def true_divide_(self, other: Tensor) -> Tensor:
        """``input / other``."""
    @_overload
    def true_divide_(self, other: _float | _complex) -> Tensor: ...

    def trunc(self) -> Tensor:
        """Of each element x: x without its fraction."""

    def trunc_(self) -> Tensor:
        """:func:`trunc` of the tensor, written over it; its type stays."""

    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """All slices along axis ``dim``, as a tuple."""

    def unflatten(self, dim: _int, sizes: _Sequence[_int]) -> Tensor:
        """Axis ``dim`` split into the lengths ``sizes`` (one may be -1)."""

    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """All slices of length ``size`` along ``dimension``, ``step`` apart, as a new last axis."""

    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: _Generator | None = None) -> Tensor:
        """Fill with numbers spread evenly over [``from``, ``to``)."""

    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> _Any:
        """The distinct elements (slices along ``dim``) in ascending order."""

    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> _Any:
        """Runs of equal elements (slices along ``dim``) made one."""

    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """:func:`chunk`."""

    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """:func:`split`."""

    def unsafe_split_with_sizes(self, split_sizes: _Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """:func:`split_with_sizes`."""

    def unsqueeze(self, dim: _int) -> Tensor:
        """``input`` with an axis of length 1 put in at ``dim``."""

    def unsqueeze_(self, dim: _int) -> Tensor:
        """Let ``input`` be what :func:`unsqueeze` gives of it; arguments: dim."""

    def values(self) -> _Any:
        """Only of sparse tensors."""

    @_overload
    def var(self, dim: _Sequence[_int] | _int | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """The var over ``dim``, divided by the count minus ``correction``."""
    @_overload
    def var(self, dim: _Sequence[_int] | _int | None = None, *, correction: _float | _complex | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def var(self, *dim: _int, correction: _float | _complex | None = None, keepdim: _bool = False) -> Tensor: ...
    @_overload
    def var(self, unbiased: _bool = True) -> Tensor: ...

    def vdot(self, other: Tensor) -> Tensor:
        """:func:`dot` with the first vector conjugated."""

    @_overload
    def view(self, dtype: _DType | type) -> Tensor:
        """The same elements seen with another shape, or (``view(dtype)``) as another type."""
    @_overload
    def view(self, size: _Sequence[_int]) -> Tensor: ...
    @_overload
    def view(self, *size: _int) -> Tensor: ...

    def view_as(self, other: Tensor) -> Tensor:
        """A view in the shape of ``other``."""

    @_overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """``input`` split along its first axis."""
    @_overload
    def vsplit(self, indices: _Sequence[_int]) -> tuple[Tensor, ...]: ...
    @_overload
    def vsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...

    @_overload
    def where(self, condition: Tensor, other: Tensor) -> Tensor:
        """``self`` where ``condition``, else ``other``."""
    @_overload
    def where(self, condition: Tensor, other: _float | _complex) -> Tensor: ...

    @_overload
    def xlogy(self, other: Tensor) -> Tensor:
        """Of elements x of ``input`` and y of ``other``: x * log(y), and 0 where x is 0 and y no nan."""
    @_overload
    def xlogy(self, other: _float | _complex) -> Tensor: ...

    @_overload
    def xlogy_(self, other: Tensor) -> Tensor:
        """:func:`xlogy` of the tensor and ``other``, written over it; its type stays."""
    @_overload
    def xlogy_(self, other: _float | _complex) -> Tensor: ...

    def xpu(self, device: _Device | _str | _int | None = None, non_blocking: _bool = False, *, memory_format: _memory_format | None = None) -> _Any:
        """Raises AssertionError: there is no such device. ``device``, ``non_blocking`` and ``memory_format`` have no effect."""
