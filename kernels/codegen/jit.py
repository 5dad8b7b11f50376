"""Compile kernels with numba, once for each machine.

Every compiled function of the project goes through :func:`kernel`. It is numba's ``njit`` with a
cache of our own: one directory (``MINDTORCH_CACHE_DIR``), one file for each function and
signature, named by a digest of the function's byte code and of everything it refers to. A file is
written under a temporary name and renamed, so several processes may share the directory; where it
cannot be written, kernels are compiled in memory. Files of a second directory, which `mindtorch
warm --installed` fills for all who use an installation, are read and never written.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import platform
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..support.atomic_file import write_whole
from ..support.first_use_clock import clock as first_use
from ..support.fork_safe_lock import known, lock, reentrant_lock
from ..support.gc_pause import gc_paused
from .compile_lock import PATIENCE, Busy, Claim, Compiling
from .compile_message import message
from .signal_guard import held

with gc_paused():  # numba makes some fifty thousand objects, which all stay
    import llvmlite
    import llvmlite.binding
    import numba
    from numba.core import caching, compiler_lock, errors, registry, serialize

    from .cache_loader import rebuild, unpickled
    from .linkable import Linked
    from .numba_pipeline import Compiler, undisturbed
    from .target import target

logger = logging.getLogger("mindtorch.kernels")


class Statistics:
    """How many functions this process compiled, and how many it loaded from the cache.

    Attributes:
        unwritten: why one that was compiled could not be written to the cache; empty if all were.
    """

    def __init__(self) -> None:
        self.compiled = 0
        self.loaded = 0
        self.unwritten = ""

    def __repr__(self) -> str:
        return f"Statistics(compiled={self.compiled}, loaded={self.loaded})"


statistics = Statistics()
_FORMAT = 4  # of the files; 1 had symbols that were not unique, 2 and 3 slower calls


def cache_root() -> Path:
    """The directory of all compiled kernels."""
    root = os.environ.get("MINDTORCH_CACHE_DIR")
    if not root:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        root = os.path.join(base, "mindtorch")
    return Path(root)


def installed_root() -> Path | None:
    """The directory of the kernels that are part of this installation of Python, whether or not it
    is there; None where ``MINDTORCH_INSTALLED_KERNELS`` is 0. Else that variable may name it."""
    named = os.environ.get("MINDTORCH_INSTALLED_KERNELS")
    if named == "0":
        return None
    return Path(named) if named else Path(sys.prefix, "share", "mindtorch", "kernels")


def cache_directory() -> Path:
    """The directory of the kernels that this process compiles."""
    return cache_root() / kind_of_kernels()


def kind_of_kernels() -> str:
    """What kernels are for: these versions of Python and numba, and a processor."""
    chosen = target()
    processor = f"{chosen.name}-{hashlib.sha256(chosen.features.encode()).hexdigest()[:8]}"
    version = f"py{sys.version_info[0]}{sys.version_info[1]}-numba{numba.__version__}"
    return f"{version}-llvmlite{llvmlite.__version__}-{platform.machine()}-{processor}-{_FORMAT}"


_directories: tuple[Path, ...] = ()
_directory_lock = lock()


def _readable_directories() -> tuple[Path, ...]:
    """Where kernels are looked for: the cache directory, made if need be, is the first."""
    global _directories
    if not _directories:
        with _directory_lock:
            if not _directories:
                kind, installed = kind_of_kernels(), installed_root()
                others = () if installed is None else (installed / kind,)
                made = made_directory(cache_root() / kind)
                _directories = (made, *(each for each in others if each.is_dir()))
    return _directories


def made_directory(directory: Path) -> Path:
    """``directory``, which is made where it can be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK):
            raise PermissionError(directory)
    except OSError as error:
        logger.info("kernel cache %s is not writable: %s", directory, error)
    return directory


def digest(function: Callable[..., Any], extra: str = "") -> str:
    """A name for what ``function`` computes: its byte code and, in turn, all that it refers to."""
    state = hashlib.sha256(extra.encode())
    _digest_into(state, function, set())
    return state.hexdigest()[:40]


def _digest_into(state: Any, value: Any, seen: set[int]) -> None:
    if isinstance(value, Kernel) and value._options:
        state.update(_settled(value._options).encode())
    value = getattr(value, "py_func", value)
    value = getattr(value, "_defn", value)
    if id(value) in seen:
        return
    if isinstance(value, types.FunctionType):
        seen.add(id(value))
        if value.__module__ and value.__module__.startswith("numba.cuda"):
            state.update(value.__qualname__.encode())  # libdevice's have no code of their own
        _digest_code(state, value.__code__)
        state.update(repr((value.__defaults__, value.__kwdefaults__)).encode())
        for name, item in _references(value):
            state.update(name.encode())
            _digest_into(state, item, seen)
    elif isinstance(value, type) and value.__module__.startswith("mindtorch."):
        seen.add(id(value))
        for name, item in sorted(vars(value).items()):
            if isinstance(item, types.FunctionType):
                state.update(name.encode())
                _digest_into(state, item, seen)
    elif isinstance(value, np.ndarray):
        state.update(str((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, types.ModuleType):
        state.update(value.__name__.encode())
    elif isinstance(value, numba.types.Type):
        state.update(str(value).encode())
    elif isinstance(value, (tuple, list)):
        for item in value:
            _digest_into(state, item, seen)
    elif isinstance(value, dict) and all(isinstance(f, types.FunctionType) for f in value.values()):
        for name, item in value.items():  # a table of functions; others are state
            state.update(repr(name).encode())
            _digest_into(state, item, seen)
    elif isinstance(value, (int, float, complex, str, bytes, bool, type(None), np.generic)):
        state.update(repr(value).encode())
    else:
        state.update(getattr(value, "__qualname__", type(value).__qualname__).encode())


def _digest_code(state: Any, code: types.CodeType) -> None:
    state.update(code.co_code)
    state.update(repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _digest_code(state, constant)
        else:
            state.update(_settled(constant).encode())


def _settled(value: Any) -> str:
    """``repr`` with sets and dictionaries in order: that of strings in a set changes by process."""
    if isinstance(value, dict):
        items = [f"{key!r}: {_settled(item)}" for key, item in value.items()]
        return f"{{{', '.join(sorted(items))}}}"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_settled, value)))}}}"
    return repr(value)


def _references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals and closure cells that the code of ``function`` names."""
    names = set(_names(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, types.ModuleType) and value.__name__.startswith("mindtorch."):
            for attribute in sorted(names & vars(value).keys()):
                if callable(vars(value)[attribute]):  # not state, such as addresses
                    yield f"{name}.{attribute}", vars(value)[attribute]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


class DiskCache(caching._Cache):
    """numba's cache interface over one file for each function and signature."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._linked = bool(options.get("linked"))
        self._claims: list[Claim] = []
        self._extra = _settled(options) + function.__name__
        self._digest: str | None = None

    @property
    def cache_path(self) -> str:
        return str(self.folders()[0])

    def folders(self) -> tuple[Path, ...]:
        """Where files are read; they are written to the first."""
        return _readable_directories()

    def pack(self, compiled: Any) -> bytes:
        """What a file holds of a compiled function."""
        return cast("bytes", serialize.dumps(compiled._reduce()))

    def unpack(self, payload: bytes, target_context: Any) -> Any:
        """The compiled function of a file."""
        # not target_context.refresh(), which loads what only compiling needs: 0.6 s
        return rebuild(target_context, *unpickled(payload))

    def enable(self) -> None:
        """The cache is always on."""

    def disable(self) -> None:
        """The cache is always on."""

    def flush(self) -> None:
        """Files are named by content; none is ever stale."""

    def _name(self, signature: Any) -> str:
        if self._digest is None:
            self._digest = digest(self._function, self._extra)
        # a call from Python does not say what comes back, a kernel's entry point that nothing does
        kinds, result = numba.core.sigutils.normalize_signature(signature)
        given = str(kinds) if result in (None, numba.types.void) else f"{result}{kinds}"
        name = hashlib.sha256((self._digest + given).encode()).hexdigest()[:32]
        return f"{self._function.__name__[:48]}-{name}.nbc"

    def _path(self, signature: Any) -> Path:
        return self.folders()[0] / self._name(signature)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        result = self._loaded(sig, target_context)
        if result is not None:
            return result
        if Compiling.begins is not None and not self._linked:
            Compiling.begins()
        claim = Claim(
            self._path(sig), PATIENCE if self._linked else Compiling.patience, not self._linked
        )
        if claim.refused and Compiling.patience < PATIENCE:
            claim.release()
            raise Busy
        result = self._loaded(sig, target_context)  # another process may have been at it
        if result is not None:
            claim.release()
            return result
        self._claims.append(claim)
        message.begin(self._function.__name__)
        return None

    def release(self) -> None:
        """Let processes go on that wait for what was compiled here, or could not be."""
        while self._claims:
            self._claims.pop().release()
            message.end()

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        name = self._name(sig)
        for folder in self.folders():
            result = self._read(folder / name, target_context)
            if result is not None:
                return result
        return None

    def _read(self, path: Path, target_context: Any) -> Any:
        try:
            data = path.read_bytes()
        except OSError:
            return None
        checksum, payload = data[:32], data[32:]
        if hashlib.sha256(payload).digest() != checksum:
            return None
        try:
            result = self.unpack(payload, target_context)
        except Exception as error:  # whole, but written by something else: as if it were not there
            logger.info("%s is compiled anew, %s cannot be used: %r", path.stem, path, error)
            return None
        statistics.loaded += 1
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        statistics.compiled += 1
        if os.environ.get("MINDTORCH_DEBUG", "0") >= "4":
            logger.warning("compiled %s%s", self._function.__qualname__, sig)
        try:
            payload = self.pack(data)
        except (TypeError, pickle.PicklingError) as error:
            logger.warning("%s cannot be cached: %s", self._function.__qualname__, error)
            return
        try:
            write_whole(self._path(sig), hashlib.sha256(payload).digest() + payload)
        except OSError as error:  # the program goes on without
            statistics.unwritten = (
                f"no kernel can be written to {self.cache_path}: {error.strerror}"
            )


class _Dispatcher(registry.CPUDispatcher):
    """numba's part of a kernel: machine code for Python; for kernels that call it, code to link."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        # a wrapper for C callers, which there are none of, is a tenth of the time of compiling
        settings = {**_SETTINGS, **_known(options)}
        super().__init__(function, targetoptions=settings, pipeline_class=Compiler)
        _set_flags(self, options)
        self._cache = DiskCache(function, options)
        self._options = options

    @functools.cached_property
    def linked(self) -> Linked:
        """This function as kernels see it."""
        made = Linked(self.py_func, {**_SETTINGS, **_known(self._options)})
        _set_flags(made, self._options)
        made._cache = DiskCache(self.py_func, {**self._options, "linked": True})
        return made

    def compile(self, sig: Any) -> Any:
        """The machine code for a signature: from the cache, or compiled now."""
        try:
            with first_use, held(), undisturbed():
                return super().compile(sig)
        finally:
            self._cache.release()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.linked.get_call_template(args, kws)

    def get_overload(self, signature: Any) -> Any:
        return self.linked.get_overload(signature)


class Kernel:
    """A function that is compiled when it is called, by Python or by another kernel.

    A process uses a tenth of the kernels that its modules define, and numba's dispatchers take
    long to make: each is made when it is asked for.

    Args:
        function: the Python function.
        options: those of ``numba.njit``, and ``noalias``: no array is written that another one
            shares memory with, but for loops that read an element before they write it.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options = options
        self._entry_points: dict[Any, Callable[..., Any]] = {}

    @functools.cached_property
    def dispatcher(self) -> _Dispatcher:
        """What compiles the function."""
        return _Dispatcher(self.py_func, self._options)

    @property
    def targetoptions(self) -> dict[str, Any]:
        """numba's options, which it reads of what a kernel calls."""
        return {**_SETTINGS, **_known(self._options)}

    @property
    def _numba_type_(self) -> Any:
        return self.dispatcher._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self.dispatcher(*args)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """The options that numba has."""
    return {name: value for name, value in options.items() if name != "noalias"}


def _set_flags(dispatcher: Any, options: dict[str, Any]) -> None:
    if "noalias" in options:
        dispatcher._compiler._customize_flags = _without_aliases


def _without_aliases(flags: Any) -> Any:
    flags.noalias = True
    return flags


_SETTINGS = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """``numba.njit`` without the global interpreter lock, cached on disk.

    Args:
        function: the Python function. Use as ``@kernel`` or ``@kernel(fastmath={"contract"})``.
        **options: passed to ``numba.njit``. ``error_model`` is "numpy" unless given.

    Returns:
        It is compiled at its first call, or in :func:`entry_point`.
    """
    if function is None:
        return lambda later: kernel(later, **options)
    return Kernel(function, {"nogil": True, "error_model": "numpy", **options})


_compile_lock = reentrant_lock()
known(compiler_lock.global_compiler_lock._lock)


def entry_point(dispatcher: Any, signature: Any) -> Callable[..., Any]:
    """The compiled C function of ``dispatcher`` for ``signature``, called without type checks.

    It costs 0.13 us for three arrays. The caller guarantees positional arguments of exactly these
    types: a wrong number of dimensions is undefined behaviour.
    """
    known: dict[Any, Callable[..., Any]] = dispatcher._entry_points
    if signature not in known:
        known[signature] = _compiled(dispatcher, signature)
    return known[signature]


def _compiled(kernel: Kernel, signature: Any) -> Callable[..., Any]:
    name = kernel.py_func.__name__
    with _compile_lock:
        try:
            kernel.dispatcher.compile(signature)
        except errors.NumbaError:
            logger.error("kernel %s does not compile for %s", name, signature)
            raise
        except (NameError, NotImplementedError) as error:
            raise TypeError(
                f"kernel {name} cannot be compiled for {signature}: numba "
                "has no such type; 16-bit floats go through float32 (kernels/cpu/via_float32.py)"
            ) from error
        types_, _ = numba.core.sigutils.normalize_signature(signature)
        compiled: Callable[..., Any] = kernel.dispatcher.overloads[types_].entry_point
        return compiled


def bound(call: Callable[..., Any], compiled: Callable[..., Any], *constants: Any) -> Any:
    """``call``, which does nothing but ``compiled(*arrays, *constants)``: a list of calls that is
    run again and again (a compiled program) leaves it out."""
    call.direct = (compiled, constants)
    return call


def from_source(source: str, name: str, namespace: dict[str, Any], **options: Any) -> Any:
    """The dispatcher of function ``name`` defined by generated ``source``."""
    scope = {**namespace, "__name__": __name__}
    exec(compile(source, f"<mindtorch kernel {name}>", "exec"), scope)
    return kernel(scope[name], **options)
