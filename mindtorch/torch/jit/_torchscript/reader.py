"""Archives of TorchScript: their code, constants and the module that they hold.

Nothing of a file is executed by Python. Its pickles are read by the machine that `torch.load` has
for files nobody trusts, which here knows the program's own classes too.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

from ..._serialization.safe_unpickler import RestrictedUnpickler, python3_name, safe_global
from ..._serialization.storage_refs import Reading
from ..._serialization.zip_archive import ArchiveReader
from ...serialization import StorageRecords
from .script_modules import RecursiveScriptModule, ScriptObject
from .source import Program, ScriptClass
from .translation import translate

__all__ = ["read_module"]


def _typed(value: Any, *_kind: Any) -> Any:
    return value


# Functions that TorchScript's pickles call: they say what a list or dictionary holds.
_TYPE_TAGS = dict.fromkeys(
    ("restore_type_tag", "build_intlist", "build_tensorlist", "build_doublelist", "build_boollist"),
    _typed,
)


class _Unpickler(RestrictedUnpickler):
    """A `RestrictedUnpickler` that makes objects of a program's classes."""

    def __init__(self, file: Any, persistent_load: Callable[[Any], Any], program: Program) -> None:
        super().__init__(file, persistent_load)
        self._program = program

    def _global(self) -> None:
        module, name = python3_name(self._line(), self._line())
        if module == "__torch__" or module.startswith("__torch__."):
            self._stack.append(self._class(f"{module}.{name}"))
        elif module == "torch.jit._pickle" and name in _TYPE_TAGS:
            self._stack.append(_TYPE_TAGS[name])
        else:
            self._calling = True
            self._stack.append(safe_global(module, name))
            self._calling = False

    def _class(self, name: str) -> ScriptClass:
        found = self._program.classes.get(name)
        if found is None:
            raise pickle.UnpicklingError(f"the archive's code does not define {name}")
        return found

    def _reduce(self) -> None:
        args, function = self._stack[-1:], self._stack[-2:-1]
        own = function[0] if function else None
        if isinstance(own, ScriptClass):
            if own.base not in ("Enum", "NamedTuple"):
                raise pickle.UnpicklingError(f"{own.name} is called, and is no enumeration")
            given = args[0] if type(args[0]) is tuple else args
            del self._stack[-2:]
            self._stack.append(self._call(own.python_class(), *given))
        elif own is _typed and type(args[0]) is tuple and args[0]:
            del self._stack[-2:]
            self._stack.append(args[0][0])
        else:
            super()._reduce()

    def _new_object(self) -> None:
        if len(self._stack) < 2 or not isinstance(self._stack[-2], ScriptClass):
            super()._new_object()
            return
        self._pop()
        own = self._pop()
        if own.base == "Module":
            self._stack.append(RecursiveScriptModule._of(own))
        else:
            self._stack.append(ScriptObject(own))

    def _build(self) -> None:
        target = self._stack[-2] if len(self._stack) > 1 else None
        if isinstance(target, (RecursiveScriptModule, ScriptObject)):
            state = self._pop()
            if not isinstance(state, dict) and "__setstate__" not in target._script_class.methods:
                raise pickle.UnpicklingError(f"the state of {target._script_class.name} is no dict")
            self._call(target._set_state, state)
        else:
            super()._build()


# the machine looks its steps up by opcode: those of this class
_Unpickler.steps = {
    **RestrictedUnpickler.steps,
    pickle.GLOBAL[0]: _Unpickler._global,
    pickle.REDUCE[0]: _Unpickler._reduce,
    pickle.NEWOBJ[0]: _Unpickler._new_object,
    pickle.BUILD[0]: _Unpickler._build,
}


def read_module(
    archive: ArchiveReader, map_location: Any, extra_files: dict[str, Any] | None
) -> RecursiveScriptModule:
    """The module of an archive.

    Args:
        archive: of TorchScript.
        map_location: as of `torch.load`.
        extra_files: gets the archive's texts of these names.

    Raises:
        RuntimeError, pickle.UnpicklingError: the archive is damaged, or holds what is not known.
    """
    texts = {}
    for name in archive.names():
        if name.startswith("code/") and name.endswith(".py"):
            try:
                texts[name.removeprefix("code/")] = archive.read(name).decode("utf-8")
            except UnicodeDecodeError:
                raise RuntimeError(f"torch.jit.load: {name} is no text") from None
    program = Program(texts, translate)
    program.version = archive.version
    program.check()
    reading = Reading(True, pickle, {"encoding": "utf-8"}, map_location)
    constants = _unpickled(archive, "constants", reading, program)
    if not isinstance(constants, tuple):
        raise RuntimeError("torch.jit.load: the archive's constants are no tuple")
    program.constants = constants
    module = _unpickled(archive, "data", reading, program)
    if not isinstance(module, RecursiveScriptModule):
        raise RuntimeError("torch.jit.load: the archive does not hold a module")
    for name in extra_files if extra_files is not None else ():
        if f"extra/{name}" in archive:
            extra_files[name] = archive.read(f"extra/{name}")  # type: ignore[index]
    return module


def _unpickled(archive: ArchiveReader, name: str, reading: Reading, program: Program) -> Any:
    if f"{name}.pkl" not in archive:
        return ()
    records = StorageRecords(archive, reading, None, folder=name)
    data = io.BytesIO(archive.read(f"{name}.pkl"))
    return _Unpickler(data, records.persistent_load, program).load()
