"""Calls in all spellings, run in both libraries and compared; shares, and the worst kinds first."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

import mindtorch.torch as ours
from tests.support.parity import TooLongError, limited
from tests.support.parity_convert import MissingError, numpy_of, numpy_of_ours, to_ours
from tests.support.spellings.calls import Call, spellings
from tests.support.spellings.forms import Form, resolve
from tests.support.spellings.values import candidates

SECONDS = 20
_UNINITIALISED = re.compile(r"\bempty|new_empty|resize|\.Tensor\.set_|factor_out")


class Found(NamedTuple):
    """What became of one call: ``why`` is "" where both libraries agree."""

    form: Form
    call: Call
    why: str
    kind: str


def sweep(form: Form, most: int) -> Iterator[Found]:
    """All spellings of ``most`` calls of an overload that PyTorch accepts."""
    taken = 0
    for values in candidates(form):
        required = Call("", *_by_name(form, values))
        result = outcome(torch, form, required)
        if isinstance(result, Exception):
            continue
        taken += 1
        for call in spellings(form, values, result[0]):
            expected = outcome(torch, form, call)
            if not isinstance(expected, Exception):
                yield _compared(form, call, expected)
        if taken == most:
            return


def _by_name(form: Form, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for each in form.parameters:
        if each.name in values:
            if each.keyword_only or kwargs or not each.required:
                kwargs[each.name] = values[each.name]
            else:
                args.append(values[each.name])
    return tuple(args), kwargs


def outcome(library: Any, form: Form, call: Call) -> Any:
    """(result, out, first argument) of a call on copies, or the exception that it raises."""
    copied = _copies(call.args), _copies(call.kwargs)
    try:
        if library is not torch:
            copied = to_ours(copied)
        args, kwargs = copied
        function = resolve(form.path, library)
        library.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
    except (TooLongError, KeyboardInterrupt):
        raise
    except Exception as error:
        return error
    first = args[0] if args and form.name.endswith("_") else None
    return result, kwargs.get("out"), first


def _copies(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, torch.Generator):
        return value.clone_state()
    if type(value) in (list, tuple):
        return type(value)(map(_copies, value))
    if type(value) is dict:
        return {k: _copies(v) for k, v in value.items()}
    return value


def _compared(form: Form, call: Call, expected: Any) -> Found:
    try:
        with limited(SECONDS):
            found = outcome(ours, form, call)
    except TooLongError:
        found = TimeoutError("too long")
    if isinstance(found, Exception):
        text = str(found).partition("\n")[0]
        kind = "missing" if isinstance(found, (MissingError, AttributeError)) else _shape(text)
        return Found(form, call, f"{type(found).__name__}: {text}", kind)
    try:
        _check(form, expected, found)
    except AssertionError as error:
        return Found(form, call, str(error), _shape(str(error)))
    return Found(form, call, "", "")


def _shape(text: str) -> str:
    """An error's text without names and numbers, by which failures are counted."""
    text = re.sub(r"'[^']*'", "'...'", text)
    text = re.sub(r"^[\w.]+\(\):?|[\w.]+\(\)", "f()", text)
    return re.sub(r"-?\d+(\.\d+)?(e-?\d+)?", "N", text)[:90]


def _check(form: Form, expected: Any, found: Any) -> None:
    values = not _UNINITIALISED.search(form.path)
    (a, out_a, first_a), (b, out_b, first_b) = expected, found
    _check_value("result", a, b, values)
    if out_a is not None:
        assert (a is out_a) == (b is out_b), "the result is not out"
        _check_value("out", out_a, out_b, values)
    if isinstance(first_a, torch.Tensor):
        assert (a is first_a) == (b is first_b), "the result is not the first argument"
        _check_value("first argument", first_a, first_b, values)


def _check_value(what: str, a: Any, b: Any, values: bool) -> None:
    if isinstance(a, torch.Tensor):
        assert isinstance(b, ours.Tensor), f"{what}: {type(b).__name__} in place of a tensor"
        _check_tensor(what, a, b, values)
    elif isinstance(a, (tuple, list)):
        name, mine = type(a).__name__, type(b).__name__
        assert name == mine, f"{what}: type '{mine}' in place of '{name}'"
        assert len(a) == len(b), f"{what}: {len(b)} elements in place of {len(a)}"
        for x, y in zip(a, b, strict=True):
            _check_value(what, x, y, values)
    elif isinstance(a, (bool, int, float, complex, str, type(None))):
        assert type(a) is type(b), f"{what}: a {type(b).__name__} in place of {type(a).__name__}"
        second: Any = b
        near = isinstance(a, (float, complex)) and bool(np.isclose(a, second, equal_nan=True))
        close = a == b or near
        assert close, f"{what}: {b!r} in place of {a!r}"
    else:
        assert str(a) == str(b) or type(a).__name__ == type(b).__name__, f"{what}: {b!r} for {a!r}"


def _check_tensor(what: str, a: torch.Tensor, b: Any, values: bool) -> None:
    assert str(a.dtype) == str(b.dtype), f"{what}: dtype '{b.dtype}' in place of '{a.dtype}'"
    assert str(a.layout) == str(b.layout), f"{what}: layout '{b.layout}' for '{a.layout}'"
    shapes = tuple(a.shape), tuple(b.shape)
    assert shapes[0] == shapes[1], f"{what}: shape '{shapes[1]}' in place of '{shapes[0]}'"
    tracked = a.requires_grad, b.requires_grad
    assert tracked[0] == tracked[1], f"{what}: requires_grad '{tracked[1]}' in place"
    if not values or a.layout is not torch.strided or a.device.type == "meta":
        return
    x, y = numpy_of(a), numpy_of_ours(b)
    if x.dtype.kind in "biu":
        assert np.array_equal(x, y), f"{what}: other values"
        return
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    relative = 1e-2 if a.dtype.itemsize == 2 else 2e-4
    largest = np.abs(x[np.isfinite(x)]).max(initial=0)
    assert np.isclose(x, y, relative, relative * largest, equal_nan=True).all(), (
        f"{what}: other values"
    )


def report(every: Iterable[Found], show: int) -> str:
    """The shares of calls and of names without a failure, and the kinds of failures."""
    every = list(every)
    failed = [each for each in every if each.why]
    names = {each.form.path for each in every}
    wrong = {each.form.path for each in failed}
    lines = [
        f"calls: {len(every) - len(failed)} of {len(every)} as in PyTorch "
        f"({_share(len(every) - len(failed), len(every))}); names with all of them: "
        f"{len(names - wrong)} of {len(names)} ({_share(len(names - wrong), len(names))})"
    ]
    for kind, count in Counter(each.kind for each in failed).most_common():
        lines.append(f"\n{count:5d}  {kind}")
        shown: dict[str, Found] = {}
        for each in failed:
            if each.kind == kind:
                shown.setdefault(each.form.path, each)
        for each in list(shown.values())[:show]:
            args = ", ".join([*map(_brief, each.call.args),
                              *(f"{k}={_brief(v)}" for k, v in each.call.kwargs.items())])
            lines.append(f"       {each.form.path}({args})  [{each.call.kind}]: {each.why[:110]}")
        if len(shown) > show:
            lines.append(f"       ... and {len(shown) - show} more names")
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.2f} %"


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)) and any(isinstance(x, torch.Tensor) for x in value):
        return f"[{', '.join(map(_brief, value))}]"
    return repr(value)[:40]
