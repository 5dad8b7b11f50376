"""An OpenBLAS of our own, with the kernel set that suits the processor, callable from kernels.

The library picks its kernels when it is loaded, so the choice (``MINDTORCH_BLAS_CORE``, else by
the processor's flags), and how long its idle threads stay awake, are put into its environment just
for that moment. Compiled kernels call it by
symbol name, which leaves them cacheable.
"""

from __future__ import annotations

import contextlib
import ctypes
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

from mindtorch.kernels.support import fork_safe_lock

from ..processor import has_avx512
from ..threads.thread_pool import get_num_threads

_LOADED = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0)
_lock = fork_safe_lock.lock()
_library: Any = None


def chosen_core() -> str | None:
    """The kernel set to ask for; None leaves the choice to the library."""
    given = os.environ.get("MINDTORCH_BLAS_CORE")
    if given:
        return given
    return "SKYLAKEX" if has_avx512() else None


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
    """The loaded library; its products are known to compiled code from then on."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _load()
    return _library


# its idle threads look for work for so many cycles, as a power of two, before they sleep: 40 us. By
# default 20 ms, on cores that other kernels need: a LeNet's step on two threads took 1.4 times as
# long
_PATIENCE = "17"


@contextlib.contextmanager
def _environment(**settings: str | None) -> Iterator[None]:
    """A block in which the environment has these settings; None leaves one as it is."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update({name: value for name, value in settings.items() if value is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _load() -> Any:
    patience = os.environ.get("OPENBLAS_THREAD_TIMEOUT", _PATIENCE)
    with _environment(OPENBLAS_CORETYPE=chosen_core(), OPENBLAS_THREAD_TIMEOUT=patience):
        loaded = ctypes.CDLL(str(_library_path()))
    loaded.scipy_openblas_get_corename.restype = ctypes.c_char_p
    loaded.scipy_openblas_get_config.restype = ctypes.c_char_p
    for name in ("sgemm", "dgemm", "sgemv", "dgemv"):
        function = getattr(loaded, f"scipy_cblas_{name}")
        address = ctypes.cast(function, ctypes.c_void_p).value
        llvmlite.binding.add_symbol(f"mindtorch_{name}", address)
    loaded.scipy_openblas_set_num_threads(1)  # our own threads share a product out
    return loaded


def core_name() -> str:
    """The kernel set in use."""
    name: bytes = library().scipy_openblas_get_corename()
    return name.decode()


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
def together() -> Iterator[None]:
    """A block in which a call of BLAS may use as many threads as kernels do."""
    loaded, count = library(), get_num_threads()
    if count > 1:
        loaded.scipy_openblas_set_num_threads(count)
    try:
        yield
    finally:
        if count > 1:
            loaded.scipy_openblas_set_num_threads(1)


class _Call:
    """Code that passes a kernel's arguments on to a function of BLAS, as the C types it takes."""

    def __init__(self, context: Any, builder: Any, kinds: Any, values: Any, single: bool) -> None:
        self.context, self.builder = context, builder
        self.kinds, self.values = kinds, values
        self.word = ir.IntType(32)
        self.real = ir.FloatType() if single else ir.DoubleType()
        self.letter, self.kind = ("s", types.float32) if single else ("d", types.float64)

    def integer(self, place: int) -> Any:
        value = self.values[place]
        return self.builder.trunc(value, self.word) if value.type.width > 32 else value

    def flag(self, place: int) -> Any:
        """CBLAS's word for a transposed operand or one as it is."""
        value = self.values[place]
        is_set = self.builder.icmp_signed("!=", value, ir.Constant(value.type, 0))
        return self.builder.select(
            is_set, ir.Constant(self.word, 112), ir.Constant(self.word, 111)
        )

    def number(self, place: int) -> Any:
        return self.context.cast(
            self.builder, self.values[place], self.kinds[place], self.kind
        )

    def data(self, place: int) -> Any:
        array = self.context.make_array(self.kinds[place])
        pointer = array(self.context, self.builder, self.values[place]).data
        return self.builder.bitcast(pointer, self.real.as_pointer())

    def row_major(self, name: str, arguments: list[Any]) -> Any:
        """Call the function for matrices whose rows lie one after another."""
        given = [ir.Constant(self.word, 101), *arguments]
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        function = cgutils.get_or_insert_function(
            self.builder.module, kind, f"mindtorch_{self.letter}{name}"
        )
        self.builder.call(function, given)
        return self.context.get_dummy_value()


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
        of = _Call(context, builder, signature.args, arguments, single)
        return of.row_major("gemm", [
            of.flag(0), of.flag(1), of.integer(2), of.integer(3), of.integer(4), of.number(5),
            of.data(6), of.integer(7), of.data(8), of.integer(9), of.number(10), of.data(11),
            of.integer(12),
        ])  # fmt: skip

    signature = types.void(
        transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
    )
    return signature, generate


@intrinsic
def gemv(
    context: Any, transpose: Any, rows: Any, columns: Any, a: Any, lda: Any, x: Any, step_x: Any,
    y: Any, step_y: Any,
) -> Any:  # fmt: skip
    """``y += op(a) @ x`` for ``a`` of rows x columns in memory, transposed where its flag is not 0.

    The elements of ``x`` and ``y`` are ``step_x`` and ``step_y`` apart.
    """
    single = a.dtype == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of = _Call(context, builder, signature.args, arguments, single)
        one = ir.Constant(of.real, 1.0)
        return of.row_major("gemv", [
            of.flag(0), of.integer(1), of.integer(2), one, of.data(3), of.integer(4), of.data(5),
            of.integer(6), one, of.data(7), of.integer(8),
        ])  # fmt: skip

    return types.void(transpose, rows, columns, a, lda, x, step_x, y, step_y), generate
