"""``__torch_function__`` of our own functions: classes of tensors that answer for them.

Functions are called directly until a program defines a class of tensors that is not ours, or a
:class:`TorchFunctionMode`. Then they are wrapped: each call looks for such arguments. Where calls
are only written down for a while (:func:`asking_for_a_while`) they are put back afterwards.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch._module_names import is_ours
from mindtorch.engine.compile.guards.global_state import intercepting
from mindtorch.kernels.support.fork_safe_lock import reentrant_lock

from .._tensor.conversion import Conversions
from .._tensor.inplace import Writing
from .._tensor.operators import Operators
from .._tensor.tensor import Tensor
from .namespace import NAMESPACE
from .public import record_of
from .torch_function_mode import DisableTorchFunctionSubclass as Disabled
from .torch_function_mode import disabled_torch_function_impl

__all__ = [
    "TorchFunctionMode", "as_operator", "asking_for_a_while", "handler_of", "install", "wrap_plain",
]  # fmt: skip

# compiled calls run op by op where there is one
modes: list[TorchFunctionMode] = intercepting
# what calls functions where ``__torch_dispatch__`` is to see them, once there is such a class
dispatching: list[Any] = []
_installed = False  # for good
_borrowers = 0  # blocks in which they ask
_borrowed, _OFTEN = 0, 100  # how many there were; behind so many they ask for good
_exchanging = reentrant_lock()
_handlers: dict[type, Any] = {}
_ASKED_FOR = (list, tuple)
# methods that are no functions of tensors, or that calls themselves need
_LEFT_ALONE = {
    "_make_subclass", "as_subclass", "is_storage", "is_tensor", "share_memory_", "storage",
}  # fmt: skip
_SPECIAL = {
    "__getitem__", "__setitem__", "__repr__", "__format__", "__deepcopy__", "__array__",
    "__len__", "__contains__",
}  # fmt: skip
# the methods that torch says are called, where they are not those of the operator's name
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__iadd__": "add_", "__sub__": "sub", "__isub__": "sub_",
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "mul_", "__truediv__": "div",
    "__itruediv__": "div_", "__neg__": "neg", "__abs__": "abs", "__matmul__": "matmul",
    "__mod__": "remainder", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
    "__ne__": "ne", "__pow__": "pow", "__invert__": "bitwise_not",
}  # fmt: skip
_DIVISION = {"__rtruediv__": "__rdiv__"}
_DESCRIBING = {
    "data_ptr", "dim", "is_complex", "is_contiguous", "is_floating_point", "numel",
    "requires_grad_", "size", "stride",
}  # fmt: skip
_PROPERTIES = ("data", "T", "H", "mT", "mH", "real", "imag")


class _Place:
    """An attribute that has a function which asks, for a while or for good.

    Args:
        owner: a module or class.
        plain, made: the function that is there else, and the one that asks.
    """

    __slots__ = ("inherited", "made", "name", "owner", "plain")

    def __init__(self, owner: Any, name: str, plain: Any, made: Any) -> None:
        self.owner, self.name, self.plain, self.made = owner, name, plain, made
        self.inherited = name not in vars(owner)  # or loaded when it is asked for

    def exchange(self, asks: bool) -> None:
        """Set the one or the other, unless somebody else has set the attribute meanwhile."""
        now = vars(self.owner).get(self.name)
        if asks and (now is self.plain or (now is None and self.inherited)):
            setattr(self.owner, self.name, self.made)
        elif not asks and now is self.made:
            if self.inherited:
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, self.plain)

    def wrap(self, wrapper: Callable[[Any], Any]) -> None:
        """Put ``wrapper(plain)`` in the place of what is called where nobody answers."""
        if self.made.__wrapped__ is self.plain:  # else this was done for another name
            self.made.__wrapped__ = wrapper(self.plain)
        self.plain, self.inherited = self.made.__wrapped__, False
        asking[self.plain] = self.made
        if getattr(self.owner, self.name) is not self.made:
            setattr(self.owner, self.name, self.plain)


_Names = list[tuple[Any, tuple[str, str], tuple[str, str]]]
_places: list[_Place] = []
_renamed: _Names = []  # functions with their module and name, before and after


def handler_of(kind: type) -> Any:
    """The class's ``__torch_function__``; None where it is one of ours, or has none."""
    if kind not in _handlers:
        found = getattr(kind, "__torch_function__", None)
        known = kind is Tensor or is_ours(kind.__module__) or _of_real_torch(found)
        if found is disabled_torch_function_impl or known:
            found = None
        _handlers[kind] = found
    return _handlers[kind]


def _of_real_torch(found: Any) -> bool:
    """Whether a handler is that of real PyTorch's own tensors, which knows their functions only."""
    function = getattr(found, "__func__", None)
    code = getattr(function, "__code__", None)
    own = function is vars(Tensor)["__torch_function__"].__func__
    return code is not None and not own and code.co_filename.endswith(f"torch{os.sep}_tensor.py")


def _relevant(args: Any, kwargs: Any) -> list[Any]:
    """Arguments whose classes answer, one of each class, subclasses before their bases."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        for each in value if type(value) in _ASKED_FOR else (value,):
            if handler_of(type(each)) is None or any(type(each) is type(x) for x in found):
                continue
            places = (n for n, x in enumerate(found) if issubclass(type(each), type(x)))
            found.insert(next(places, len(found)), each)
    return found


def _answer(public: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """What the mode or the arguments' classes say; the function itself if nobody is to say."""
    found = _relevant(args, kwargs)
    types = tuple(type(x) for x in found)
    if modes:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(public, types, args, kwargs)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    if not found:
        return function(*args, **kwargs)
    for each in found:
        handler = type(each).__torch_function__
        known = public
        if str(handler.__module__).startswith("torchvision."):  # which was loaded before install
            known = public.__wrapped__
        result = handler(known, types, args, kwargs)
        if result is not NotImplemented:
            return result
    lines = "".join(f"\n\n  - tensor subclass {kind}" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for 'torch.{public.__name__}'; all __torch_function__ handlers "
        f"returned NotImplemented:{lines}\n\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def _asking(function: Any, name: str, public: Any = None, place: str = "") -> Callable[..., Any]:
    """``function``, which asks first: handlers are given ``public``, or the result itself.

    Args:
        place: of the name, with a dot at its end; "" for torch itself.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not Disabled.depth and (modes or _relevant(args, kwargs)):
            return _answer(public or made, made.__wrapped__, args, kwargs)
        if dispatching and dispatching[0].needed(args, kwargs):
            return dispatching[0].call(place, name, made.__wrapped__, args, kwargs)
        return made.__wrapped__(*args, **kwargs)

    made: Any = call
    made.__name__ = name
    return made


def as_operator(name: str, args: Any) -> Any:
    """What a layer gives that is one operator in torch, where the calls of operators are written
    down; else None."""
    if dispatching and dispatching[0].is_written_down():
        return dispatching[0].call("", name, None, args, {})
    return None


def _leave_to_file(function: Any, names: _Names) -> None:
    """Let pickle find a function that layers hold, and whose public name another has from now on,
    in the file that defines it."""
    public = record_of(function)
    body: Any = function if public is None else public.body
    home: str = getattr(body, "__globals__", {}).get("__name__", "")
    name: str = function.__name__
    found: Any = vars(sys.modules[home]).get(name) if home in sys.modules else None
    if found is not None and found is function:
        names.append((found, (found.__module__, found.__qualname__), (home, name)))


def _wrap_namespaces() -> None:
    torch: Any = NAMESPACE
    places = {"nn.functional": "F.", "linalg": "linalg.", "special": "special.", "fft": "fft."}
    modules = [torch, *(importlib.import_module(f"mindtorch.torch.{place}") for place in places)]
    prefixes = dict(zip(modules, ("", *places.values()), strict=True))

    def ask_first(module: Any, name: str, function: Any) -> None:
        made = asking.get(function)
        if made is None:
            made = asking[function] = _asking(function, name, place=prefixes[module])
            if module in modules[:2]:  # where pickle finds it
                made.__module__, made.__qualname__ = module.__name__, name
            if module is modules[1]:
                _leave_to_file(function, _renamed)
        _places.append(_Place(module, name, function, made))

    names = [*torch.FUNCTIONS, *torch._LAZY_NAMES]
    for name in names:
        found = getattr(torch, name)
        if callable(found) and not isinstance(found, type) and name not in _LEFT_ALONE:
            ask_first(torch, name, found)
    for module in modules[1:]:
        for name, found in list(vars(module).items()):
            if callable(found) and not isinstance(found, type) and not name.startswith("_"):
                ask_first(module, name, found)


def _wrap_methods() -> None:
    torch: Any = NAMESPACE
    names = {*torch.METHODS, "backward", "detach", "new_empty_strided"}
    for part in (Conversions, Writing, Operators):
        names |= {n for n, f in vars(part).items() if callable(f)}
    every = names - _LEFT_ALONE | _SPECIAL | _DESCRIBING
    methods: dict[str, Any] = {}
    for name in sorted(every, key=_OPERATORS.__contains__):
        found = getattr(Tensor, name, None)
        private = name.startswith("_") and not name.startswith("__")
        if found is not None and not private and not isinstance(found, type):
            if name in _OPERATORS:
                name_ = _OPERATORS[name]
                made = _asking(found, name_, methods[name_], "Tensor.")
                made.__name__ = name
            else:
                made = _asking(found, _DIVISION.get(name, name), place="Tensor.")
            methods[name] = made
            asking.setdefault(found, made)
            _places.append(_Place(Tensor, name, found, made))
    for name in _PROPERTIES:
        found = getattr(Tensor, name)
        getter = _asking(found.fget, name, place="Tensor.")
        getter.__name__ = "__get__"
        asks = property(getter, found.fset, found.fdel, found.__doc__)
        _places.append(_Place(Tensor, name, found, asks))


# what has taken a function's public name; others may hold the function itself
asking: dict[Any, Any] = {}


def wrap_plain(owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
    """Put ``wrapper(function)`` in the place of a function: below the one that asks, so that
    handlers are given what the attribute holds.

    Args:
        owner: a module or class that has the attribute ``name``.
    """
    now = getattr(owner, name)
    for place in _places:  # somebody else may have set the attribute meanwhile
        if place.owner is owner and place.name == name and now in (place.plain, place.made):
            place.wrap(wrapper)
            return
    setattr(owner, name, wrapper(now))


def needed_by(kind: type) -> None:
    """Note that there are objects of ``kind``, a class of tensors."""
    if not _installed and handler_of(kind) is not None:
        install()


def install() -> None:
    """Let functions and methods ask their arguments' classes from now on."""
    global _installed
    with _exchanging:
        if not _installed:
            _installed = True
            _exchange(True)


def are_asking() -> bool:
    """Whether functions ask their arguments' classes now."""
    return _installed or _borrowers > 0


def begin_asking() -> None:
    """Let them ask until :func:`end_asking` is called as often. Behind it they do not, unless
    :func:`install` was called: what others took meanwhile asks on."""
    global _borrowers, _borrowed
    with _exchanging:
        _borrowed += 1
        if _borrowed > _OFTEN:  # an exchange takes a millisecond
            install()
        _borrowers += 1
        if _borrowers == 1 and not _installed:
            _exchange(True)


def end_asking() -> None:
    """The end of what :func:`begin_asking` began."""
    global _borrowers
    with _exchanging:
        _borrowers -= 1
        if not (_borrowers or _installed):
            _exchange(False)


@contextlib.contextmanager
def asking_for_a_while() -> Iterator[None]:
    """A block in which functions and methods ask."""
    begin_asking()
    try:
        yield
    finally:
        end_asking()


def _exchange(asks: bool) -> None:
    """Put functions that ask in the place of those that do not, or the other way round."""
    if not _places:
        _wrap_namespaces()
        _wrap_methods()
    for place in _places:
        place.exchange(asks)
    for function, before, after in _renamed:
        function.__module__, function.__qualname__ = after if asks else before


def answer_for(*kinds: Any) -> None:
    """Ask these classes of ours as well, from now on."""
    for kind in kinds:
        _handlers[kind] = kind.__torch_function__
    install()


class TorchFunctionMode:
    """In a ``with`` block every call of a function of torch goes to ``__torch_function__``.

    ``__torch_function__(self, func, types, args=(), kwargs=None)`` is to give the result; calls
    that it makes itself go to the mode around it.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not is_ours(cls.__module__):
            install()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        modes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        modes.pop()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func(*args, **(kwargs or {}))

