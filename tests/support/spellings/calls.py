"""One call in all spellings: arguments by place and by name, defaults left out or given, out=."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from tests.support.spellings.forms import NUMPY_NAMES, Form, Parameter

Values = dict[str, Any]


class Call(NamedTuple):
    """Arguments as they are written; ``kind`` says which spelling that is."""

    kind: str
    args: tuple[Any, ...]
    kwargs: Values


def spellings(form: Form, values: Values, result: Any) -> Iterator[Call]:
    """All ways to write a call with the given values; ``result`` is what it gives."""
    given = [p for p in form.parameters if p.name in values]
    yield from _places_and_names(form, given, values)
    base = _by_place(given, values)
    missing = [p for p in form.parameters if p.name not in values]
    for each in missing:
        yield Call(f"default {each.name}=", base.args, {**base.kwargs, each.name: each.default})
    if missing and not any(p.required for p in missing):
        everything = {**{p.name: p.default for p in missing}, **values}
        every = _by_place(list(form.parameters), everything)
        yield Call("all defaults by place", every.args, every.kwargs)
    for each in given:
        known = not isinstance(values[each.name], torch.Tensor)
        is_default = known and each.default == values[each.name]
        if not each.required and is_default and not each.keyword_only:
            left = _by_name_after(given, values, each)
            yield Call(f"{each.name} left out", left.args, left.kwargs)
    yield from _other_types(given, values, base)
    if form.out:
        yield from _outs(form, base, result)
    if form.options:
        yield from _options(form, base, result)


def _by_place(given: list[Parameter], values: Values, count: int | None = None) -> Call:
    """The first ``count`` arguments by place (all that can be, for None), others by name."""
    args: list[Any] = []
    kwargs: Values = {}
    for i, each in enumerate(given):
        if each.keyword_only or (count is not None and i >= count) or kwargs:
            kwargs[each.name] = values[each.name]
        else:
            args.append(values[each.name])
    return Call("", tuple(args), kwargs)


def _by_name_after(given: list[Parameter], values: Values, without: Parameter) -> Call:
    place = given.index(without)
    rest = [p for p in given if p is not without]
    return _by_place(rest, values, place)


def _places_and_names(form: Form, given: list[Parameter], values: Values) -> Iterator[Call]:
    positional = sum(not p.keyword_only for p in given)
    first = 1 if form.method else 0
    seen = set()
    for count in range(positional, first - 1, -1):
        call = _by_place(given, values, count)
        if len(call.args) in seen:
            continue
        seen.add(len(call.args))
        kind = "by place" if count == positional else "mixed" if count else "by name"
        yield Call(kind, call.args, call.kwargs)
        if form.parser:
            renamed = {NUMPY_NAMES.get(k, k): v for k, v in call.kwargs.items()}
            if renamed.keys() != call.kwargs.keys():
                yield Call(f"{kind}, numpy's names", call.args, renamed)
    if positional > first:
        backwards = dict(reversed(_by_place(given, values, first).kwargs.items()))
        yield Call("by name, backwards", _by_place(given, values, first).args, backwards)


def _other_types(given: list[Parameter], values: Values, base: Call) -> Iterator[Call]:
    """Sizes as lists, tuples, single numbers or a row of arguments."""
    names = [p.name for p in given if not p.keyword_only]
    for i, each in enumerate(names[: len(base.args)]):
        value = base.args[i]
        rest = base.args[i + 1 :]
        if isinstance(value, (tuple, list)) and value and isinstance(value[0], int):
            other = list(value) if isinstance(value, tuple) else tuple(value)
            kind = type(other).__name__
            yield Call(f"{kind} for {each}", (*base.args[:i], other, *rest), base.kwargs)
            yield Call(f"Size for {each}", (*base.args[:i], torch.Size(value), *rest), base.kwargs)
            yield Call(f"spread {each}", (*base.args[:i], *value, *rest), base.kwargs)
            if len(set(value)) == 1:
                yield Call(f"int for {each}", (*base.args[:i], value[0], *rest), base.kwargs)
        elif type(value) is int:
            yield Call(f"tuple for {each}", (*base.args[:i], (value,), *rest), base.kwargs)
            if i:
                tensor = torch.tensor(value)
                yield Call(f"tensor for {each}", (*base.args[:i], tensor, *rest), base.kwargs)


def _outs(form: Form, base: Call, result: Any) -> Iterator[Call]:
    parts = result if isinstance(result, (tuple, list)) else (result,)
    if not all(isinstance(x, torch.Tensor) for x in parts) or len(parts) != max(form.out, 1):
        if form.parser or not isinstance(result, tuple):
            return
    for kind, make in (
        ("out= of the shape", lambda x: torch.zeros(x.shape, dtype=x.dtype)),
        ("out= empty", lambda x: torch.empty(0, dtype=x.dtype)),
    ):
        made = tuple(make(x.detach()) for x in parts)
        for out in (made, list(made)) if isinstance(result, (tuple, list)) else (made[0],):
            yield Call(kind, base.args, {**base.kwargs, "out": out})
        if kind.endswith("shape") and not isinstance(result, (tuple, list)):
            yield Call("out= is None", base.args, {**base.kwargs, "out": None})


def _options(form: Form, base: Call, result: Any) -> Iterator[Call]:
    options: Values = {
        "dtype": torch.float64, "layout": torch.strided, "device": "cpu", "pin_memory": False,
        "requires_grad": True,
    }  # fmt: skip
    for name, value in options.items():
        if name not in base.kwargs:
            yield Call(f"{name}=", base.args, {**base.kwargs, name: value})
    yield Call("device=object", base.args, {**base.kwargs, "device": torch.device("cpu")})
    yield Call("every option", base.args, {**options, **base.kwargs})
    yield Call("options None", base.args, {**dict.fromkeys(options), **base.kwargs})
    if form.out and isinstance(result, torch.Tensor):
        out = torch.zeros(result.shape, dtype=result.dtype)
        for name, value in (*options.items(), ("dtype", result.dtype)):
            kwargs = {"out": out, **base.kwargs, name: value}
            yield Call(f"out= and {name}=", base.args, kwargs)
