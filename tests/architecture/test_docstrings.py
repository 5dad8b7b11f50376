"""What a user may call says what it computes, and what each of its arguments means."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from mindtorch._docstrings import ArgumentTexts

PLACES = """
    torch torch.Tensor torch.amp torch.autograd torch.compiler torch.cuda torch.distributed
    torch.distributions torch.fft torch.func torch.fx torch.hub torch.jit torch.library
    torch.linalg torch.masked torch.multiprocessing torch.nested torch.nn torch.nn.functional
    torch.nn.init torch.nn.utils torch.optim torch.optim.lr_scheduler torch.signal.windows
    torch.sparse torch.special torch.testing torch.utils.data functional transforms mixed_precision
    resume mindspore mindspore.amp mindspore.communication mindspore.dataset mindspore.mint
    mindspore.nn mindspore.numpy mindspore.ops mindspore.train serving.client serving.server
    serving.server.register
""".split()
TYPING = {"Any", "Callable", "Call", "Iterator"}
# what comes to a place from elsewhere: numpy's, Python's, and helpers of functions
FOREIGN = ("mindtorch.engine.", "mindtorch.torch._api.arguments", "mindtorch.torch._api.publish",
           "mindtorch.torch._compat.unsupported_names",
           "mindtorch.torch._compat.unavailable_device")  # fmt: skip
UNNAMED = {"self", "cls", "args", "kwargs", "kwds"}  # kwds: of enum.Enum


def space_of(place: str) -> Any:
    if place == "torch.Tensor":
        return importlib.import_module("mindtorch.torch").Tensor
    return importlib.import_module(f"mindtorch.{place}")


def public(place: str) -> Iterator[tuple[str, Any]]:
    """(name, function or class) of all that ``place`` offers and is ours."""
    space = space_of(place)
    for name in getattr(space, "__all__", None) or dir(space):
        value = getattr(space, name)
        if name.startswith("_") or name in TYPING or isinstance(value, (ModuleType, property)):
            continue
        module = getattr(value, "__module__", None) or ""
        if callable(value) and module.startswith("mindtorch.") and not module.startswith(FOREIGN):
            yield name, value


def arguments(value: Any) -> list[str]:
    called = getattr(value, "__init__") if isinstance(value, type) else value  # noqa: B009
    if not inspect.isroutine(called):  # an object whose class says what a call does
        return []
    try:
        names = list(inspect.signature(called).parameters)
    except (TypeError, ValueError):  # made in C
        return []
    return [n for n in names if n not in UNNAMED and not n.startswith("_")]


@pytest.mark.parametrize("place", PLACES)
def test_public_functions_have_docstrings(place: str) -> None:
    """Also those that are made in loops, which have no place to write one at."""
    assert not [name for name, value in public(place) if not inspect.getdoc(value)]


@pytest.mark.parametrize("place", PLACES)
def test_docstrings_name_every_argument(place: str) -> None:
    """Arguments that mean the same in many functions get their text from a table."""
    silent = {}
    for name, value in public(place):
        docstring = inspect.getdoc(value) or ""
        if isinstance(value, type) and "__init__" in vars(value):
            docstring += inspect.getdoc(vars(value)["__init__"]) or ""
        missing = [a for a in arguments(value) if not re.search(rf"\b{a}\b", docstring)]
        if missing:
            silent[name] = missing
    assert not silent


def test_a_text_is_added_where_a_docstring_does_not_name_the_argument() -> None:
    """The table of the innermost module counts; what stands there already stays as it is."""

    def described(a: int, b: int, c: int, d: int) -> None:
        """A sum of ``a``.

        Args:
            b: its own text.

        Raises:
            ValueError: never.
        """

    described.__module__ = "mindtorch.x.y"
    outer = "a, b: not this\nc: outer\nd: outer,\n    continued"
    texts = ArgumentTexts({"x": outer, "x.y": "c: inner"})
    texts.add_to([described])
    assert inspect.getdoc(described) == (
        "A sum of ``a``.\n\nArgs:\n    b: its own text.\n    c: inner\n    d: outer,\n"
        "        continued\n\nRaises:\n    ValueError: never."
    )
