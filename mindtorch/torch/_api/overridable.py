"""The functions that classes of tensors may answer for, with stand-ins of their signatures."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from .namespace import NAMESPACE
from .signatures import every_form_of
from .torch_function import are_asking

__all__ = ["every_function", "ignored", "stand_ins"]

# where they stand, with the beginning of the names that torch's signatures have there
_PLACES = {
    "": "", "functional": "", "nn.functional": "", "nn.init": "", "Tensor": "",
    "linalg": "linalg_", "fft": "fft_", "special": "special_",
}  # fmt: skip
# parameters of functions written in Python that are tensors, or sequences of them
_TENSORS = {
    "A", "a", "anchor", "boxes", "indices", "input", "input1", "inputs", "log_probs", "mat",
    "mat1", "matrices", "operands", "query", "self", "tensor", "tensors", "theta", "weight", "x",
    "x1",
}  # fmt: skip
# methods that answer for a class, or without asking one
_NOT_ASKED = {
    "__class__", "__delitem__", "__init__", "__init_subclass__", "__new__", "__subclasshook__",
    "__torch_dispatch__", "__torch_function__", "as_subclass", "is_storage", "is_tensor", "new",
}  # fmt: skip


def _public_names(holder: Any) -> list[str]:
    if holder is NAMESPACE:
        return list(holder.__all__)
    return list(getattr(holder, "__all__", ())) or dir(holder)


def _takes_tensors(function: Any, name: str, place: str) -> bool:
    """Whether an argument of a call may be a tensor, by torch's signatures or the names."""
    if place == "Tensor":
        return name not in _NOT_ASKED and (name[0] != "_" or name.startswith("__"))
    forms = every_form_of(_PLACES[place] + name, False)
    if forms:
        return any("Tensor" in each.kind and each.name != "out" for form in forms
                   for each in form.parameters)  # fmt: skip
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return bool(names.keys() & _TENSORS)


def _walk() -> Iterator[tuple[Any, str, str, Any, bool]]:
    """(holder, its name, attribute's name, attribute, whether classes are asked), of all."""
    for place in _PLACES:
        holder: Any = NAMESPACE.Tensor if place == "Tensor" else NAMESPACE
        if place and place != "Tensor":
            holder = importlib.import_module(f"{NAMESPACE.__name__}.{place}")
        for name in _public_names(holder):
            found = inspect.getattr_static(holder, name, None) if place == "Tensor" else None
            if not isinstance(found, property):
                found = getattr(holder, name, None)
            if found is None or isinstance(found, types.ModuleType):
                continue
            own = getattr(object, name, None) is not found
            if place == "Tensor" and (not own or name == "__weakref__"):
                continue
            hidden = place != "Tensor" and (
                name.startswith("_") or name.endswith("_") or not name[0].islower()
            )
            plain = callable(found) and not isinstance(found, type)
            if isinstance(found, property) or plain:
                asked = not hidden and _takes_tensors(found, name, place)
                yield holder, place, name, found, asked

def every_function() -> dict[Any, list[Any]]:
    """By module or class, or by property, the functions that classes are asked for."""
    return _every_function(are_asking())


@functools.cache
def _every_function(asking: bool) -> dict[Any, list[Any]]:
    """The same; where classes are asked, others stand in the functions' place."""
    found: dict[Any, list[Any]] = {}
    for holder, _, _, value, asked in _walk():
        if asked and isinstance(value, property):
            found.setdefault(value, []).append(value.__get__)
        elif asked:
            found.setdefault(holder, []).append(value)
    return found


def ignored() -> set[Any]:
    """The public functions that no class is asked for."""
    every = {value for _, _, name, value, asked in _walk()
             if not asked and not isinstance(value, property) and not name.startswith("_")}
    return every - {each for several in every_function().values() for each in several}


def stand_ins() -> dict[Any, Callable[..., Any]]:
    """For each function one that takes the same arguments and returns -1."""
    return {each: _stand_in(each) for several in every_function().values() for each in several}


def _stand_in(function: Any) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> int:
        return -1

    if getattr(function, "__name__", "") == "__get__":
        shown = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])
    else:
        try:
            shown = inspect.signature(function)
        except (TypeError, ValueError):
            return stand_in
    stand_in.__signature__ = shown  # type: ignore[attr-defined]
    return stand_in
