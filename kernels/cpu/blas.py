"""An OpenBLAS of our own, with the kernel set that suits the processor, callable from kernels.

The library picks its kernels when it is loaded, so the choice (``MINDTORCH_BLAS_CORE``, else by
the processor's flags) is put into its environment just for that moment. Compiled kernels call it by
symbol name, which leaves them cacheable.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mindtorch.kernels import locks

from .threads import get_num_threads

_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
_LOADED = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0)
_lock = locks.lock()
_library: Any = None


def _processor_flags() -> set[str]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return set(line.partition(":")[2].split())


def chosen_core() -> str | None:
    """The kernel set to ask for; None leaves the choice to the library."""
    given = os.environ.get("MINDTORCH_BLAS_CORE")
    if given:
        return given
    return "SKYLAKEX" if _processor_flags() >= _AVX512 else None


def _library_path() -> Path:
    """The package's library; scipy's own copy of it where the package is not installed."""
    found = importlib.util.find_spec("scipy_openblas32")
    if found is not None and found.origin is not None:
        folder = Path(found.origin).parent / "lib"
    else:
        scipy = importlib.util.find_spec("scipy")
        folder = Path(str(scipy and scipy.origin)).parent.parent / "scipy.libs"
    libraries = sorted(folder.iterdir()) if folder.is_dir() else []
    path = next((p for p in libraries if p.name.startswith("libscipy_openblas")), None)
    if path is None:
        raise ImportError("mindtorch needs the package scipy-openblas32")
    return path


def library() -> Any:
    """The loaded library; its GEMM functions are known to compiled code from then on."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _load()
    return _library


def _load() -> Any:
    before = os.environ.get("OPENBLAS_CORETYPE")
    core = chosen_core()
    if core is not None:
        os.environ["OPENBLAS_CORETYPE"] = core
    try:
        loaded = ctypes.CDLL(str(_library_path()))
    finally:
        if before is None:
            os.environ.pop("OPENBLAS_CORETYPE", None)
        else:
            os.environ["OPENBLAS_CORETYPE"] = before
    loaded.scipy_openblas_get_corename.restype = ctypes.c_char_p
    loaded.scipy_openblas_get_config.restype = ctypes.c_char_p
    for letter in "sd":
        function = getattr(loaded, f"scipy_cblas_{letter}gemm")
        address = ctypes.cast(function, ctypes.c_void_p).value
        llvmlite.binding.add_symbol(f"mindtorch_{letter}gemm", address)
    loaded.scipy_openblas_set_num_threads(get_num_threads())
    return loaded


def core_name() -> str:
    """The kernel set in use."""
    name: bytes = library().scipy_openblas_get_corename()
    return name.decode()


def set_threads(count: int) -> None:
    """Let BLAS use ``count`` threads; before it is loaded the setting waits."""
    if _library is not None:
        _library.scipy_openblas_set_num_threads(count)


def set_threads_of_packages(count: int) -> None:
    """Let the OpenBLAS of numpy's and scipy's wheels, where they are loaded, use ``count`` threads:
    what has no kernel of ours but theirs would spin on all cores otherwise."""
    for package in ("numpy", "scipy"):
        module = sys.modules.get(package)
        folder = Path(str(module and module.__file__)).parent.parent / f"{package}.libs"
        for path in folder.glob("libscipy_openblas*"):
            with contextlib.suppress(OSError, AttributeError):  # not loaded, or without the name
                loaded = ctypes.CDLL(str(path), mode=_LOADED)
                suffix = "64_" if "openblas64" in path.name else ""
                getattr(loaded, f"scipy_openblas_set_num_threads{suffix}")(count)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """A block in which each call of BLAS stays in the thread that makes it."""
    count = get_num_threads()
    if count > 1:
        set_threads(1)
    try:
        yield
    finally:
        if count > 1:
            set_threads(count)


@functools.cache
def _function_type(single: bool) -> Any:
    word, real = ir.IntType(32), ir.FloatType() if single else ir.DoubleType()
    pointer = real.as_pointer()
    return ir.FunctionType(
        ir.VoidType(),
        [word] * 6 + [real, pointer, word, pointer, word, real, pointer, word],
    )


@intrinsic
def gemm(
    context: Any, transpose_a: Any, transpose_b: Any, m: Any, n: Any, k: Any, alpha: Any, a: Any,
    lda: Any, b: Any, ldb: Any, beta: Any, c: Any, ldc: Any,
) -> Any:  # fmt: skip
    """``c = alpha * op(a) @ op(b) + beta * c``, row-major, from the arrays' first elements.

    ``op(a)`` is m x k and ``op(b)`` k x n; an operand is transposed where its flag is not 0.
    """
    single = a.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        real = ir.FloatType() if single else ir.DoubleType()
        ta, tb, m_, n_, k_, alpha_, a_, lda_, b_, ldb_, beta_, c_, ldc_ = arguments

        def integer(value: Any) -> Any:
            return builder.trunc(value, word) if value.type.width > 32 else value

        def flag(value: Any) -> Any:
            is_set = builder.icmp_signed("!=", value, ir.Constant(value.type, 0))
            return builder.select(is_set, ir.Constant(word, 112), ir.Constant(word, 111))

        def number(value: Any, kind: Any) -> Any:
            return context.cast(builder, value, kind, types.float32 if single else types.float64)

        def data(value: Any, kind: Any) -> Any:
            pointer = context.make_array(kind)(context, builder, value).data
            return builder.bitcast(pointer, real.as_pointer())

        kinds = signature.args
        function = cgutils.get_or_insert_function(
            builder.module, _function_type(single), f"mindtorch_{'s' if single else 'd'}gemm"
        )
        builder.call(
            function,
            [
                ir.Constant(word, 101), flag(ta), flag(tb), integer(m_), integer(n_), integer(k_),
                number(alpha_, kinds[5]), data(a_, kinds[6]), integer(lda_), data(b_, kinds[8]),
                integer(ldb_), number(beta_, kinds[10]), data(c_, kinds[11]), integer(ldc_),
            ],
        )  # fmt: skip
        return context.get_dummy_value()

    signature = types.void(
        transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
    )
    return signature, generate
