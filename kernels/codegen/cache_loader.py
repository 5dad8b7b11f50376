"""Compiled kernels from the cache, without what only compiling needs.

numba's own way parses the intermediate code of every kernel it loads, in case that another one will
be linked with it, and lists all of its symbols: two thirds of the time of loading.
"""

from __future__ import annotations

import functools
import io
import pickle
import sys
from typing import Any

import llvmlite.binding
from numba.core import codegen, compiler
from numba.core.environment import Environment, _rebuild_env, lookup_environment
from numba.core.runtime import _nrt_python

from .linkable import LinkedLibrary, key


class LoadedLibrary(codegen.JITCodeLibrary):
    """Machine code from the cache.

    Args:
        owner: numba's code generator.
        name: what the library is called.
        code: an object file.
        intermediate: LLVM's bitcode of the same. It is parsed when a kernel that this process
            compiles calls this one.
        symbols: names that may be asked for; those that the object file lacks are left out.
    """

    def __init__(
        self, owner: Any, name: str, code: bytes, intermediate: bytes, symbols: set[str]
    ) -> None:
        super().__init__(owner, name)
        self._intermediate = intermediate
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        found = {each for each in symbols if each.encode() + b"\0" in code}
        owner._engine._defined_symbols.update(found)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvmlite.binding.parse_bitcode(self._intermediate)
            self._codegen._engine._load_defined_symbols(self._shared_module)
        return self._shared_module


def _environment(module: str, constants: Any, name: str) -> Any:
    """An environment with the globals of its module, if that is there: code in nopython mode reads
    none, and numba's own modules take 20 ms to import."""
    found = lookup_environment(name)
    if found is None:
        loaded = sys.modules.get(module)
        found = Environment({"__name__": module} if loaded is None else vars(loaded))
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def unpickled(payload: bytes) -> Any:
    """What ``CompileResult._reduce`` took apart, from a file."""
    return _Unpickler(io.BytesIO(payload)).load()


@functools.cache
def _name_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are that machine code calls.

    ``rtsys.initialize`` compiles those that compiling links with, too, which takes 20 ms.
    """
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _machine_code(
    target: Any, name: str, code: bytes, intermediate: bytes, described: Any, environments: Any
) -> LoadedLibrary:
    symbols = {described.llvm_func_name, described.llvm_cpython_wrapper_name,
               described.llvm_cfunc_wrapper_name, described.env_name,
               *[each.env_name for each in environments]}  # fmt: skip
    return LoadedLibrary(target.codegen(), name, code, intermediate, symbols)


def rebuild(
    target: Any, library: Any, described: Any, environment: Any, signature: Any, objectmode: Any,
    lifted: Any, annotation: Any, prepare: Any, environments: Any,
) -> Any:
    """What ``CompileResult._reduce`` took apart, as a compiled function again.

    Args:
        target: numba's target.
        library: name, kind, and a pair of an object file and its bitcode, or bitcode alone.
        described: the function's names.
        environment: its globals and constants; ``environments`` are those it refers to.
        signature, objectmode, lifted, annotation: as in ``CompileResult``.
        prepare: functions to call before the code may run.
    """
    for each in prepare or ():
        each()
    name, kind, made = library
    if kind == "bitcode":
        loaded: Any = LinkedLibrary(target.codegen(), name, made)
        call = key()
    else:
        _name_runtime()
        loaded = _machine_code(target, name, *made, described, environments)
        call = target.get_executable(loaded, described, environment)
        for each in environments:
            loaded.codegen.set_env(each.env_name, each)
    return compiler.CompileResult(
        target_context=target, typing_context=target.typing_context, library=loaded,
        environment=environment, entry_point=call, fndesc=described, type_annotation=annotation,
        signature=signature, objectmode=objectmode, lifted=lifted, typing_error=None,
        call_helper=None, metadata=None, reload_init=prepare, referenced_envs=environments,
    )  # fmt: skip
