"""Unpickling that executes nothing a file asks for: a small machine with closed lists.

What a file may name is in `_SAFE` (and what the user adds), what it may call in `_CALLABLE`.
"""

from __future__ import annotations

import _compat_pickle
import pickle
import struct
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

from mindtorch.engine.devices.device import Device

from .. import _utils
from .._tensor.size_and_formats import Size
from .pickle_names import BY_FULL_NAME, get_layout, resolve, torch_name

_FOREIGN_TYPES = (
    "float4_e2m1fn_x2", "quint4x2", "quint2x4",
    "bits1x8", "bits2x4", "bits4x2", "bits8", "bits16",
    *(f"{kind}{width}" for kind in ("int", "uint") for width in range(1, 8)),
)  # fmt: skip

UNSAFE_MESSAGE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` "
    "from `False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will "
    "likely succeed, but it can result in arbitrary code execution. Do it only if you got the file "
    "from a trusted source."
)
marked_safe: set[Any] = set()
_BLOCKED_MODULES = ("sys", "os", "posix", "nt")


def _user_allowed() -> dict[str, Any]:
    """Full name -> object of what `add_safe_globals` was given."""
    result: dict[str, Any] = {}
    for entry in marked_safe:
        if isinstance(entry, tuple):
            if len(entry) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple "
                    f"of length: {len(entry)}"
                )
            thing, name = entry
            if type(name) is not str:
                raise TypeError(
                    "Expected second item in tuple to be str of callable full path, but got: "
                    f"{type(name)}"
                )
            result[name] = thing
        else:
            result[f"{entry.__module__}.{entry.__qualname__}"] = entry
            known = torch_name(entry)
            if known is not None:
                result[".".join(known)] = entry
    return result


def _bytearray(*args: Any) -> bytearray:
    if any(isinstance(arg, int) for arg in args[:1]):
        raise TypeError("bytearray of a given length")
    return bytearray(*args)


def _encode(*args: Any) -> bytes:
    text, encoding = args
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"unexpected encoding {encoding!r}")
    return str(text).encode("latin-1")


class _Encode:
    """Stands for ``_codecs.encode``, of which files need only the way to latin-1."""


# What a file may name without further permission: full name -> object, and names to be looked up.
_SAFE: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.complex": complex,
    "builtins.bytearray": bytearray,
    "_codecs.encode": _Encode,
    **{name: thing for name, thing in BY_FULL_NAME.items() if name != "torch.dtype"},
}
_SAFE_BY_NAME = {"torch.Tensor", "torch.nn.parameter.Parameter"}

# What may be called: object -> the function that is called for it.
_CALLABLE: dict[Any, Callable[..., Any]] = {
    OrderedDict: OrderedDict,
    Counter: Counter,
    set: set,
    complex: complex,
    bytearray: _bytearray,
    _Encode: _encode,
    get_layout: get_layout,
    Device: Device,
    Size: Size,
    _utils._rebuild_from_type_v2: _utils._rebuild_from_type_v2,
    **{function: function for function in _utils.REBUILDERS.values()},
}


def is_safe_name(full_name: str) -> bool:
    """Whether a restricted load accepts this global now."""
    return full_name in _SAFE or full_name in _SAFE_BY_NAME or full_name in _user_allowed()


def safe_global(module: str, name: str) -> Any:
    """The object a restricted load gives for a name; UnpicklingError with torch's text if none."""
    full = f"{module}.{name}"
    if module in _BLOCKED_MODULES:
        raise pickle.UnpicklingError(
            f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked."
        )
    if full in _SAFE:
        return _SAFE[full]
    if full in _SAFE_BY_NAME:
        return resolve(module, name)
    allowed = _user_allowed()
    if full in allowed:
        return allowed[full]
    if module == "torch" and name in _FOREIGN_TYPES:
        raise NotImplementedError(f"mindtorch has no element type torch.{name}")
    shown = full.removeprefix("builtins.")
    raise pickle.UnpicklingError(
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{shown}])` or the "
        f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
        "if you trust this class/function."
    )


def python3_name(module: str, name: str) -> tuple[str, str]:
    """Protocol 2 writes Python 2's names (``__builtin__``); today's name for one."""
    renamed = _compat_pickle.NAME_MAPPING.get((module, name))
    if renamed is not None:
        return renamed[0], renamed[1]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


class RestrictedUnpickler:
    """Reads a pickle of tensors and plain containers; everything else is refused.

    Only the opcodes of protocol 2 that such pickles need exist here. A name must be known
    (`safe_global`), only known functions are called, and only known containers are filled.

    Args:
        file: has ``read`` and ``readline``.
        persistent_load: gives the storage for a persistent id.
        encoding: how byte strings of Python 2 become text; ``"bytes"`` leaves them.

    Raises:
        EOFError: the file ends where an instruction should begin.
        pickle.UnpicklingError: something else is wrong with it, or it asks for too much.
    """

    steps: dict[int, Callable[[Any], None]]  # opcode -> what it does

    def __init__(
        self, file: Any, persistent_load: Callable[[Any], Any], encoding: str = "utf-8"
    ) -> None:
        self._file = file
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []
        self._calling = False
        self.protocol = -1

    def load(self) -> Any:
        while True:
            code = self._file.read(1)
            if not code:
                raise EOFError("Ran out of input")
            if code == pickle.STOP:
                return self._pop()
            step = self.steps.get(code[0])
            if step is None:
                raise pickle.UnpicklingError(f"Unsupported operand {code[0]}")
            try:
                step(self)
            except _FORM_ERRORS as error:
                if self._calling:
                    raise
                raise pickle.UnpicklingError(
                    f"malformed pickle: {type(error).__name__}: {error}"
                ) from error

    def _read(self, count: int) -> bytes:
        data: bytes = self._file.read(count)
        if len(data) != count:
            raise pickle.UnpicklingError("pickle data was truncated")
        return data

    def _line(self) -> str:
        line: bytes = self._file.readline()
        if line[-1:] != b"\n":
            raise pickle.UnpicklingError("pickle data was truncated")
        return line[:-1].decode("utf-8")

    def _number(self, form: str) -> int:
        return int(struct.unpack(form, self._read(struct.calcsize(form)))[0])

    def _pop(self) -> Any:
        if not self._stack:
            raise pickle.UnpicklingError("unexpected end of the pickle's stack")
        return self._stack.pop()

    def _pop_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._outer.pop()
        return items

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call out of the machine: errors from there are not about the pickle's form."""
        self._calling = True
        result = function(*args)
        self._calling = False
        return result

    def _global(self) -> None:
        module, name = python3_name(self._line(), self._line())
        self._calling = True
        self._stack.append(safe_global(module, name))
        self._calling = False

    def _reduce(self) -> None:
        args, function = self._pop(), self._pop()
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"Arguments must be a tuple, but got {type(args)}")
        target = _caller(function)
        if target is None:
            raise pickle.UnpicklingError(
                f"Trying to call reduce for unrecognized function {function}"
            )
        ours = _CALLABLE.get(function) is target and target not in _CALLS_USER_CODE
        self._stack.append(target(*args) if ours else self._call(target, *args))

    def _new_object(self) -> None:
        args, cls = self._pop(), self._pop()
        empty = cls is OrderedDict or cls is Counter
        if not empty and not (isinstance(cls, type) and _is_user_allowed(cls)):
            raise pickle.UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {cls}"
            )
        self._stack.append(cls() if empty else self._call(cls.__new__, cls, *args))

    def _build(self) -> None:
        state, target = self._pop(), self._stack[-1]
        cls = type(target)
        if cls is OrderedDict or cls is Counter:
            target.__dict__.update(state)
        elif _is_user_allowed(cls):
            self._call(_set_object_state, target, state)
        else:
            raise pickle.UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {cls}"
            )

    def _append(self) -> None:
        self._extend("append to", [self._pop()])

    def _appends(self) -> None:
        self._extend("extend", self._pop_mark())

    def _extend(self, action: str, items: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            raise pickle.UnpicklingError(
                f"Can only {action} lists, but got {type(self._stack[-1])}"
            )
        self._stack[-1].extend(items)

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._update("SETITEM", [key, value])

    def _set_items(self) -> None:
        self._update("SETITEMS", self._pop_mark())

    def _update(self, opcode: str, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise pickle.UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but "
                f"got {type(target)}"
            )
        for i in range(0, len(items), 2):
            target[items[i]] = items[i + 1]

    def _mark(self) -> None:
        self._outer.append(self._stack)
        self._stack = []

    def _tuple(self) -> None:
        items = tuple(self._pop_mark())
        self._stack.append(items)

    def _short_tuple(self, count: int) -> None:
        items = tuple(self._pop() for _ in range(count))
        self._stack.append(items[::-1])

    def _text(self) -> None:
        self._stack.append(str(self._read(self._number("<I")), "utf-8", "surrogatepass"))

    def _byte_string(self) -> None:
        data = self._read(self._number("B"))
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _persistent(self) -> None:
        saved_id = self._pop()
        if type(saved_id) is not tuple:
            raise pickle.UnpicklingError(
                f"persistent_load id must be tuple or int, but got {type(saved_id)}"
            )
        if not saved_id or saved_id[0] not in ("storage", b"storage"):
            kind = type(saved_id[0]) if saved_id else None
            raise pickle.UnpicklingError(
                f"Only persistent_load of storage is allowed, but got {kind}"
            )
        self._stack.append(self._call(self._persistent_load, saved_id))

    def _get(self, form: str) -> None:
        index = self._number(form)
        if index not in self._memo:
            raise pickle.UnpicklingError(f"Memo value not found at index {index}")
        self._stack.append(self._memo[index])

    def _put(self, form: str) -> None:
        self._memo[self._number(form)] = self._stack[-1]

    def _long(self) -> None:
        self._stack.append(pickle.decode_long(self._read(self._number("B"))))

    def _proto(self) -> None:
        self.protocol = self._number("B")
        if self.protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {self.protocol} in the checkpoint, which was not the "
                "default pickle protocol used by `torch.load` (2). The weights_only Unpickler "
                "might not support all instructions implemented by this protocol, please file an "
                "issue for adding support if you encounter this.",
                stacklevel=2,
            )


_FORM_ERRORS = (AttributeError, LookupError, TypeError, ValueError, OverflowError, struct.error)
_CALLS_USER_CODE = (_utils._rebuild_from_type_v2,)  # a subclass' __setstate__


def _caller(function: Any) -> Callable[..., Any] | None:
    """What to call where a pickle calls ``function``; None when it may not."""
    try:
        known = _CALLABLE.get(function)
    except TypeError:
        return None
    if known is not None:
        return known
    if _is_user_allowed(function):
        allowed: Callable[..., Any] = function
        return allowed
    return None


def _is_user_allowed(thing: Any) -> bool:
    return any(thing is allowed for allowed in _user_allowed().values())


def _set_object_state(target: Any, state: Any) -> None:
    """What pickle does with an object's state."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _push(value: Callable[[], Any]) -> Callable[[RestrictedUnpickler], None]:
    return lambda machine: machine._stack.append(value())


def _push_number(form: str) -> Callable[[RestrictedUnpickler], None]:
    return lambda machine: machine._stack.append(machine._number(form))


def _push_float(machine: RestrictedUnpickler) -> None:
    machine._stack.append(struct.unpack(">d", machine._read(8))[0])


_Machine = RestrictedUnpickler
RestrictedUnpickler.steps = {
    code[0]: step
    for code, step in (
        (pickle.GLOBAL, _Machine._global),
        (pickle.REDUCE, _Machine._reduce),
        (pickle.NEWOBJ, _Machine._new_object),
        (pickle.BUILD, _Machine._build),
        (pickle.BINPERSID, _Machine._persistent),
        (pickle.APPEND, _Machine._append),
        (pickle.APPENDS, _Machine._appends),
        (pickle.SETITEM, _Machine._set_item),
        (pickle.SETITEMS, _Machine._set_items),
        (pickle.MARK, _Machine._mark),
        (pickle.TUPLE, _Machine._tuple),
        (pickle.TUPLE1, lambda machine: machine._short_tuple(1)),
        (pickle.TUPLE2, lambda machine: machine._short_tuple(2)),
        (pickle.TUPLE3, lambda machine: machine._short_tuple(3)),
        (pickle.NONE, _push(lambda: None)),
        (pickle.NEWTRUE, _push(lambda: True)),
        (pickle.NEWFALSE, _push(lambda: False)),
        (pickle.EMPTY_TUPLE, _push(tuple)),
        (pickle.EMPTY_LIST, _push(list)),
        (pickle.EMPTY_DICT, _push(dict)),
        (pickle.EMPTY_SET, _push(set)),
        (pickle.BININT, _push_number("<i")),
        (pickle.BININT1, _push_number("B")),
        (pickle.BININT2, _push_number("<H")),
        (pickle.BINFLOAT, _push_float),
        (pickle.LONG1, _Machine._long),
        (pickle.BINUNICODE, _Machine._text),
        (pickle.SHORT_BINSTRING, _Machine._byte_string),
        (pickle.BINGET, lambda machine: machine._get("B")),
        (pickle.LONG_BINGET, lambda machine: machine._get("<I")),
        (pickle.BINPUT, lambda machine: machine._put("B")),
        (pickle.LONG_BINPUT, lambda machine: machine._put("<I")),
        (pickle.PROTO, _Machine._proto),
    )
}
