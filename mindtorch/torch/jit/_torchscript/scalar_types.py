"""Numbers that stand for element types, layouts and orders of memory in TorchScript's code."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import DType

from ..._tensor import size_and_formats

__all__ = [
    "code_of_dtype", "code_of_layout", "dtype_of_code", "layout_of_code", "memory_format_of_code",
]  # fmt: skip

# c10::ScalarType, which files keep as numbers.
_CODES = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32",
    7: "float64", 8: "complex32", 9: "complex64", 10: "complex128", 11: "bool_", 15: "bfloat16",
    23: "float8_e5m2", 24: "float8_e4m3fn", 25: "float8_e5m2fnuz", 26: "float8_e4m3fnuz",
    27: "uint16", 28: "uint32", 29: "uint64", 44: "float8_e8m0fnu",
}  # fmt: skip
_DTYPES: dict[int, DType] = {
    code: getattr(dtypes, name) for code, name in _CODES.items() if hasattr(dtypes, name)
}
_CODE_OF = {dtype: code for code, dtype in _DTYPES.items()}
_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr",
            "sparse_bsc", "jagged")  # fmt: skip
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


def dtype_of_code(code: int) -> DType:
    """The element type of a number.

    Raises:
        RuntimeError: there is no such type here.
    """
    if code not in _DTYPES:
        raise RuntimeError(f"TorchScript's element type number {code} is not among ours")
    return _DTYPES[code]


def code_of_dtype(dtype: DType) -> int:
    """The number of an element type."""
    return _CODE_OF[dtype]


def _named(names: tuple[str, ...], number: int, what: str) -> Any:
    if not 0 <= number < len(names):
        raise RuntimeError(f"TorchScript's {what} number {number} is not known")
    return getattr(size_and_formats, names[number])


def layout_of_code(number: int) -> Any:
    """The layout of a number."""
    return _named(_LAYOUTS, number, "layout")


def code_of_layout(layout: Any) -> int:
    """The number of a layout."""
    return _LAYOUTS.index(str(layout).removeprefix("torch."))


def memory_format_of_code(number: int) -> Any:
    """The order of memory of a number."""
    return _named(_MEMORY_FORMATS, number, "memory format")
