"""Arguments for an overload: those of ``op_db``'s samples, and others by the parameters' types."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from tests.support.spellings.forms import Form, Parameter

Values = dict[str, Any]
SAMPLES, ATTEMPTS = 3, 60
_SHAPES = (3, 3), (4,), (2, 3, 4), (2, 3, 6, 6), (), (2, 3, 4, 4, 4)
_DTYPES = torch.float32, torch.int64, torch.bool, torch.complex64, torch.uint8
_NUMBERS = re.compile(
    "^p$|eps|alpha|beta|lambd|margin|threshold|momentum|gain|^std$|mean$|^[ab]$|val$"
)
_SCALES = ("alpha", "beta", "value")
_PLACES = re.compile("index|indices|target|sorted_sequence$|offsets|dims?$")


@functools.cache
def _samples_by_name() -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for info in op_db:
        names = {info.name, *(alias.name for alias in info.aliases)}
        for name in names:
            found.setdefault(name.rpartition(".")[2], []).append(info)
    return found


@functools.cache
def samples(name: str) -> list[tuple[tuple[Any, ...], Values]]:
    """(args, kwargs) of the samples of the entries of a name, the smaller ones first."""
    made: list[tuple[tuple[Any, ...], Values]] = []
    for info in _samples_by_name().get(name.rstrip("_"), ())[:4]:
        if not info.dtypes:
            continue
        dtype = torch.float32 if torch.float32 in info.dtypes else sorted(info.dtypes, key=str)[0]
        torch.manual_seed(0)
        try:
            each = list(itertools.islice(info.sample_inputs("cpu", dtype), 24))
        except Exception:  # an entry that cannot be sampled alone
            continue
        made += [((s.input, *s.args), dict(s.kwargs)) for s in each]
    small = [s for s in made if _elements(s) < 5000]
    return small


def _elements(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return value.numel() if value.layout is torch.strided else 10**9
    if isinstance(value, dict):
        value = tuple(value.values())
    return sum(map(_elements, value)) if isinstance(value, (tuple, list)) else 0


# functions whose arguments have to fit each other: with others torch writes where it must not
_WRITTEN: dict[str, Callable[[], Values]] = {
    "embedding_bag": lambda: {
        "weight": torch.arange(12.0).reshape(4, 3), "indices": torch.tensor([1, 0, 3]),
        "offsets": torch.tensor([0, 2]),
    },
}  # fmt: skip


def candidates(form: Form) -> Iterator[Values]:
    """Arguments by name, likely ones first; PyTorch says which of them it takes."""
    names = {p.name for p in form.parameters}
    if form.name in _WRITTEN:
        yield {k: v for k, v in _WRITTEN[form.name]().items() if k in names}
    yield from _of_samples(form)
    for i in range(ATTEMPTS):
        chosen = random.Random(f"{form} {i}")
        yield _by_types(form, i, chosen)


def _of_samples(form: Form) -> Iterator[Values]:
    names = {p.name for p in form.parameters}
    required = {p.name for p in form.parameters if p.required}
    own = names if form.parser else set()
    for args, kwargs in samples(form.name):
        positional = [p for p in form.parameters if not p.keyword_only]
        if form.parser and positional and positional[0].kind in ("int", "Scalar") and (
            len(positional) > 1 and positional[1].name == "input"
        ):
            positional[:2] = positional[1::-1]  # as op_db has the arguments of polygamma
        scaled = [p.name for p in positional if p.required and p.name in _SCALES]
        positional = [p for p in positional if p.name not in scaled]
        kwargs = {**dict.fromkeys(scaled, 2), **kwargs}  # an older form, with factors in front
        given = {p.name: v for p, v in zip(positional, args, strict=False)}
        if len(args) > len(positional) or given.keys() & kwargs.keys():
            continue
        values = given | kwargs
        if required <= values.keys() <= (own or names) | {"dtype"}:
            yield {k: v for k, v in values.items() if k in names}


def _by_types(form: Form, attempt: int, chosen: random.Random) -> Values:
    dtype = _DTYPES[attempt // len(_SHAPES) % len(_DTYPES)]
    shape = _SHAPES[attempt % len(_SHAPES)]
    torch.manual_seed(attempt)
    values: Values = {}
    for each in form.parameters:
        if each.required:
            values[each.name] = value_of(each, shape, dtype, attempt, chosen)
    return values


def tensor_of(name: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor that is likely to suit an argument of the name."""
    if _PLACES.search(name):
        return torch.randint(0, 2, shape)
    if re.search("mask|condition", name):
        return torch.rand(shape) > 0.5
    if dtype is torch.bool:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point and not dtype.is_complex:
        return torch.randint(1, 4, shape, dtype=dtype)
    return torch.rand(shape, dtype=dtype)


_WORDS = {
    "reduce": ("sum", "amax"), "mode": ("reduced", "mean", "complete"), "indexing": ("ij",),
    "rounding_mode": ("floor",), "ord": ("fro",), "side": ("right",), "UPLO": ("L",),
    "equation": ("ij,jk",), "approximate": ("tanh",), "norm": ("ortho",), "driver": ("gelsd",),
    "reduction": ("sum",), "distribution": ("normal",), "nonlinearity": ("relu",),
}  # fmt: skip


def value_of(
    each: Parameter, shape: tuple[int, ...], dtype: torch.dtype, attempt: int, chosen: random.Random
) -> Any:
    """A value for a parameter by its type and name."""
    kind, name = each.kind.rstrip("?"), each.name
    if not kind:
        kind = _kind_by_name(each)
    if kind == "Tensor":
        return tensor_of(name, shape, dtype)
    if kind.startswith("Tensor"):
        return [tensor_of(name, shape, dtype) for _ in range(2)]
    if kind.startswith("int["):
        some = ((2,), (1, 1), (0,), (0, 1), (2, 2), (3, 3), (1, 1, 1), (2, 2, 2))
        return some[attempt % len(some)] if attempt < len(some) else chosen.choice(some)
    if kind == "str":
        return chosen.choice(_WORDS.get(name, ("sum",)))
    simple = {
        "int": (1, 0, 2, 3), "Scalar": (2, 0.5, 1), "float": (0.5, 1.0), "bool": (False, True),
        "ScalarType": (torch.float64,), "Scalar[]": ((1.0, 2.0),), "float[]": ((1.0, 2.0),),
        "Device": (torch.device("cpu"),), "Generator": (torch.Generator(),),
        "MemoryFormat": (torch.contiguous_format,), "Layout": (torch.strided,),
    }  # fmt: skip
    return chosen.choice(simple.get(kind, (1,)))


def _kind_by_name(each: Parameter) -> str:
    """The type of a parameter of a Python function, guessed by its name."""
    if isinstance(each.default, bool):
        return "bool"
    if re.search("dim|^n$|^k$|size|stride|padding|groups|num|count|chunks|shift", each.name):
        return "int"
    if _NUMBERS.search(each.name):
        return "float"
    if each.name in ("tensors", "arrays", "matrices", "operands"):
        return "Tensor[]"
    if each.name in _WORDS:
        return "str"
    return "Tensor"
