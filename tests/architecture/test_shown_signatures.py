"""``inspect.signature`` shows what a public function takes, ``out=`` included."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch._api import publish
from mindtorch.torch._api.signatures import forms_of

PLACES = ("torch", "Tensor", "nn.functional", "linalg", "fft", "special")
# star arguments that say what they are: sizes, tensors, and data of any kind
STARS = {
    "axes", "data", "dim", "dims", "matrices", "operands", "shape", "shapes", "size", "sizes",
    "tensors",
}  # fmt: skip
# ``to`` has four forms, which share no argument, recurrent networks two; others take any
OPEN = {
    "Tensor.to", "torch.critical", "torch.debug", "torch.error", "torch.fork_rng", "torch.gru",
    "torch.info", "torch.load", "torch.lstm", "torch.rnn_relu", "torch.rnn_tanh", "torch.sym_sum",
    "torch.warning",
}  # fmt: skip


def public(place: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a namespace, by their names."""
    home: Any = {"torch": torch, "Tensor": torch.Tensor}.get(place)
    home = home or importlib.import_module(f"mindtorch.torch.{place}")
    for name in dir(home):
        value = inspect.getattr_static(home, name, None) or getattr(home, name, None)
        ours = name in publish.__all__  # a decorator of the module's own
        if name[0] != "_" and isinstance(value, types.FunctionType) and not ours:
            yield name, value


def taken(function: Any) -> set[str] | None:
    """The names that a function takes by its code and that of what it wraps; None for any."""
    record, names = getattr(function, "public", None), set()
    if record is not None and record.out is not None and "Tensor." not in function.__qualname__:
        names.add("out")
    code = inspect.unwrap(function).__code__
    names |= {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    return None if code.co_flags & inspect.CO_VARKEYWORDS else names


def named(signature: inspect.Signature) -> set[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name for p in signature.parameters.values() if p.kind in kinds}


@pytest.mark.parametrize("place", PLACES)
def test_no_argument_is_left_open(place: str) -> None:
    """No ``**kwargs``, and no default that stands for none."""
    found = []
    for name, function in public(place):
        for each in inspect.signature(function).parameters.values():
            starred = each.kind is each.VAR_POSITIONAL and each.name not in STARS
            if starred or each.kind is each.VAR_KEYWORD or type(each.default) is object:
                found.append(f"{place}.{name}: {each}")
    found = [text for text in found if text.partition(":")[0] not in OPEN]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("place", PLACES)
def test_what_is_shown_is_taken(place: str) -> None:
    """Each name that a signature shows is one of the function's code, and the other way round."""
    wrong = []
    for name, function in public(place):
        shown, code = named(inspect.signature(function)), taken(function)
        if code is not None and not shown <= code:
            wrong.append(f"{place}.{name} does not take {shown - code}")
        for form in forms_of(name, place == "Tensor")[0]:
            torchs = {p.name for p in form.parameters} & (code or set())
            if not torchs <= shown:
                wrong.append(f"{place}.{name} takes {torchs - shown}, too")
    assert not wrong, "\n".join(wrong)


def test_bound_methods_and_aliases() -> None:
    """A method of an object lacks the first argument; wrappers have the signature of what they
    wrap."""
    x = torch.ones(2)
    assert str(inspect.signature(torch.add)).endswith("alpha: 'Any' = 1, out=None) -> 'Any'")
    assert [*inspect.signature(x.sum).parameters] == ["dim", "keepdim", "dtype"]
    assert not inspect.signature(x.relu).parameters  # torch's method takes no out=
    assert [*inspect.signature(x.unsqueeze_).parameters] == ["dim"]
    assert [*inspect.signature(torch.squeeze_copy).parameters] == ["input", "dim", "out"]
    assert str(inspect.signature(x.bernoulli_)).startswith("(p=0.5, *, generator")
    inspect.signature(torch.zeros).bind(2, 3, out=x, dtype=torch.float32)
    with pytest.raises(TypeError):
        inspect.signature(torch.relu).bind(x, inplace=True)
