"""Element types and torch's promotion between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np

BOOL, INTEGER, FLOAT, COMPLEX = range(4)


class DType:
    """An element type. Printed and compared as torch's ``torch.dtype``; one object for each
    type.

    Args:
        name: as it is printed.
        numpy_type: what numpy stores elements as.
        category: BOOL, INTEGER, FLOAT or COMPLEX.
    """

    __slots__ = ("category", "itemsize", "name", "np")

    def __new__(cls, *args: Any) -> DType:
        if len(args) != 3:
            raise TypeError("cannot create 'torch.dtype' instances")
        return super().__new__(cls)

    def __init__(self, name: str, numpy_type: Any, category: int) -> None:
        self.name = name
        self.np: np.dtype[Any] = np.dtype(numpy_type)
        self.category = category
        self.itemsize = self.np.itemsize

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        if self.name == "float8_e8m0fnu":
            return False
        return self.category >= FLOAT or self.name.startswith(("int", "qint"))

    @property
    def abbr(self) -> str:
        """The name in short: f32 for float32."""
        return _SHORT.get(self.name, self.name)

    def to_real(self) -> DType:
        """The type of the real part."""
        return _REAL.get(self, self)

    def to_complex(self) -> DType:
        """The complex type whose parts have this type."""
        return _COMPLEX.get(self, self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'", name=name, obj=self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return (by_name, (self.name,))

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: Any) -> DType:
        return self


_SHORT = {
    "bool": "b8", "bfloat16": "bf16", "float4_e2m1fn_x2": "f4e2m1fnx2",
    **{f"{kind}{bits}": f"{kind[:1]}{bits}"
       for kind in ("float", "int", "uint", "complex") for bits in (8, 16, 32, 64, 128)},
    **{f"float8_{kind}": f"f8{kind}"
       for kind in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu")},
}  # fmt: skip
bool_ = DType("bool", np.bool_, BOOL)
uint8 = DType("uint8", np.uint8, INTEGER)
int8 = DType("int8", np.int8, INTEGER)
int16 = DType("int16", np.int16, INTEGER)
int32 = DType("int32", np.int32, INTEGER)
int64 = DType("int64", np.int64, INTEGER)
uint16 = DType("uint16", np.uint16, INTEGER)
uint32 = DType("uint32", np.uint32, INTEGER)
uint64 = DType("uint64", np.uint64, INTEGER)
float16 = DType("float16", np.float16, FLOAT)
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, FLOAT)
float32 = DType("float32", np.float32, FLOAT)
float64 = DType("float64", np.float64, FLOAT)
complex64 = DType("complex64", np.complex64, COMPLEX)
complex128 = DType("complex128", np.complex128, COMPLEX)

ALL = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
# Stored, moved and converted, as in torch; little is computed in them (stored_types.py).
float8_e4m3fn = DType("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT)
float8_e4m3fnuz = DType("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, FLOAT)
float8_e5m2 = DType("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT)
float8_e5m2fnuz = DType("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, FLOAT)
float8_e8m0fnu = DType("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, FLOAT)
complex32 = DType("complex32", [("real", np.float16), ("imag", np.float16)], COMPLEX)
FLOATS_OF_8_BITS = (
    float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu,
)  # fmt: skip
STORED = (*FLOATS_OF_8_BITS, complex32)
# Levels of quantised tensors, by the type that stores them: tensors of their own class have them.
qint8 = DType("qint8", np.int8, INTEGER)
quint8 = DType("quint8", np.uint8, INTEGER)
qint32 = DType("qint32", np.int32, INTEGER)
QUANTIZED = (qint8, quint8, qint32)
# Known by name, for libraries that mention them; there are no plain tensors of these types.
NAMES_ONLY = (
    *QUANTIZED,
    DType("bits16", "V2", INTEGER),
    DType("float4_e2m1fn_x2", "V1", FLOAT),
    *(
        DType(name, "V1", INTEGER)
        for name in ("quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2",
                     "bits8", *(f"{kind}{n}" for kind in ("int", "uint") for n in range(1, 8)))
    ),
)  # fmt: skip
_BY_NAME = {dtype.name: dtype for dtype in (*ALL, *STORED, *NAMES_ONLY)}
_BY_NUMPY = {dtype.np: dtype for dtype in (*ALL, *STORED)}
_REAL = {complex64: float32, complex128: float64, complex32: float16}
_COMPLEX = {float32: complex64, float64: complex128, float16: complex32, bfloat16: complex64}

default: DType = float32


def by_name(name: str) -> DType:
    return _BY_NAME[name]


def from_numpy(dtype: Any) -> DType:
    """The element type of a numpy dtype; TypeError with torch's text when there is none."""
    try:
        return _BY_NUMPY[dtype]
    except (KeyError, TypeError):
        pass
    try:
        return _BY_NUMPY[np.dtype(dtype)]
    except (KeyError, TypeError):
        native = np.dtype(dtype).newbyteorder("=")
        if native in _BY_NUMPY and np.dtype(dtype).byteorder in "=|":
            return _BY_NUMPY[native]
        kind = np.dtype(dtype).type
        raise TypeError(
            f"can't convert np.ndarray of type {kind.__module__}.{kind.__name__}. The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, int32, "
            "int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None


# called after the default type has changed
when_default_changes: list[Callable[[], None]] = []


def set_default(dtype: DType) -> None:
    """Make ``dtype`` the type of new floating-point tensors."""
    global default
    if dtype.category != FLOAT:
        raise TypeError("only floating-point types are supported as the default type")
    if dtype in STORED:
        raise TypeError(f"couldn't find storage object {scalar_type_name(dtype)}Storage")
    default = dtype
    for callback in when_default_changes:
        callback()


_SIGNED = [int8, int16, int32, int64]
_FLOATS = [bfloat16, float16, float32, float64]


def promote(a: DType, b: DType) -> DType:
    """The smallest type that holds both, by torch's table."""
    if a is b:
        return a
    if a in FLOATS_OF_8_BITS or b in FLOATS_OF_8_BITS:
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{scalar_type_name(a)} and {scalar_type_name(b)}"
        )
    if a.category < b.category:
        a, b = b, a
    if a.category == COMPLEX:
        real = promote(a.to_real(), b.to_real()) if b.category >= FLOAT else a.to_real()
        if real is float16:
            return complex32
        return complex128 if real is float64 else complex64
    if a.category == FLOAT:
        if b.category < FLOAT:
            return a
        if {a, b} == {float16, bfloat16}:
            return float32
        return a if a.itemsize >= b.itemsize else b
    if b.category == BOOL:
        return a
    return _promote_integers(a, b)


def _promote_integers(a: DType, b: DType) -> DType:
    if a.is_signed == b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if unsigned is not uint8:
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{scalar_type_name(a)} and {scalar_type_name(b)}"
        )
    if signed.itemsize > unsigned.itemsize:
        return signed
    return next(dtype for dtype in _SIGNED if dtype.itemsize > unsigned.itemsize)


def result_type(avals: Iterable[Any]) -> DType:
    """torch's result type: tensors of one or more dimensions outrank 0-d ones, then numbers.

    A lower rank only counts where its category is higher than that of the ranks above.
    """
    ranks: list[DType | None] = [None, None, None]
    for aval in avals:
        rank = 2 if aval.weak else (1 if not aval.shape else 0)
        held = ranks[rank]
        ranks[rank] = aval.dtype if held is None else promote(held, aval.dtype)
    if ranks[2] is not None:
        ranks[2] = _of_number(ranks[2])
    result: DType | None = None
    for dtype in ranks:
        if dtype is None:
            continue
        if result is None:
            result = dtype
        elif dtype.category > result.category:
            result = _raise_category(result, dtype)
    assert result is not None
    return result


def _of_number(dtype: DType) -> DType:
    if dtype.category == FLOAT:
        return default
    return default.to_complex() if dtype.category == COMPLEX else dtype


def _raise_category(kept: DType, higher: DType) -> DType:
    if higher.category == COMPLEX and kept.category == FLOAT:
        return kept.to_complex()
    return higher


_SCALAR_TYPE_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "float16": "Half", "bfloat16": "BFloat16", "float32": "Float",
    "float64": "Double", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "complex32": "ComplexHalf",
    "qint8": "QInt8", "quint8": "QUInt8", "qint32": "QInt32",
    **{dtype.name: dtype.name.capitalize() for dtype in FLOATS_OF_8_BITS},
}  # fmt: skip


def scalar_type_name(dtype: DType) -> str:
    """The name torch's error messages use: Float, Long, Bool."""
    return _SCALAR_TYPE_NAMES[dtype.name]


_LEGACY_TENSORS = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
)  # fmt: skip


def tensor_type_name(dtype: DType) -> str:
    """What torch's C code calls CPU tensors of a type: torch.FloatTensor, CPUBFloat16Type."""
    name = scalar_type_name(dtype)
    return f"torch.{name}Tensor" if dtype.name in _LEGACY_TENSORS else f"CPU{name}Type"


_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int",
    "int32": "int", "int64": "long int", "uint16": "short unsigned int", "uint32": "unsigned int",
    "uint64": "long unsigned int", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
    "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>", "complex32": "c10::complex<c10::Half>",
    **{dtype.name: f"c10::{dtype.name.capitalize()}" for dtype in FLOATS_OF_8_BITS},
}  # fmt: skip


def c_name(dtype: DType) -> str:
    """The C++ name that some of torch's error messages use: float, long int."""
    return _C_NAMES[dtype.name]


def can_cast(source: DType, target: DType) -> bool:
    """Whether an in-place result of type ``source`` may be stored as ``target``."""
    return source.category <= target.category
