"""The record of a public function and the one wrapper that is made from it."""

from __future__ import annotations

import functools
import inspect
import operator
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as mt
import mindtorch.torch.nn.functional as F  # noqa: N812
from mindtorch.torch._api.public import Public
from mindtorch.torch._api.publish import FUNCTIONAL, FUNCTIONS, METHODS, answered
from tests.support.paths import ROOT

_REGISTRIES = {"torch": FUNCTIONS, "torch.nn.functional": FUNCTIONAL, "torch.Tensor": METHODS}
_COUNT = """
import mindtorch.torch, mindtorch.torch.nn.functional
from mindtorch.torch._api import publish
for registry in (publish.FUNCTIONS, publish.FUNCTIONAL, publish.METHODS):
    for name, function in registry.items():
        body = getattr(function, "__wrapped__", function)
        assert not hasattr(body, "__wrapped__"), name
        assert getattr(function, "public", None) is None or function.__code__.co_name == name or (
            function.__code__.co_name in publish.FUNCTIONS), name
"""


def test_a_function_has_one_wrapper_with_its_own_name() -> None:
    """In a process of its own: tensors of other classes are asked in front of it."""
    done = subprocess.run([sys.executable, "-c", _COUNT], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("call", [
    lambda x: mt.tensor_split(x, 0), lambda x: mt.bmm(x, x), lambda x: mt.cdist(x, x[0]),
    lambda x: x.tensor_split(0), lambda x: x.unique_consecutive(dim=5), lambda x: x.cumsum_(7),
    lambda x: F.conv2d(x, x, None, -1), lambda x: F.adaptive_max_pool2d_with_indices(x, (0, -1)),
])  # fmt: skip
def test_a_failing_call_shows_one_wrapper(call: Callable[[Any], Any]) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as caught:
        call(mt.ones(2, 3))
    places = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert sum("/_api/public.py" in place for place in places) <= 1
    assert not any(place.endswith(("signatures.py", "call_cache.py")) for place in places)


def _parameters(function: Any) -> list[str]:
    return [each.name for each in inspect.signature(function).parameters.values()]


def test_signatures_tell_out() -> None:
    assert _parameters(mt.sum)[-1] == "out"
    assert _parameters(mt.linalg.inv) == ["A", "out"]
    assert _parameters(mt.relu) == ["input", "out"]
    assert _parameters(mt.atan2) == ["input", "other", "out"]
    assert "out" not in _parameters(METHODS["sum"])
    assert str(inspect.signature(F.softshrink)).endswith("*, out=None) -> 'Any'")


@pytest.mark.parametrize("path", [
    "abs", "bmm", "argwhere", "cumsum_", "Tensor.cumsum_", "Tensor.argwhere", "Tensor.clip",
    "linalg.solve", "fft.fft", "nn.functional.conv2d", "nn.functional.cross_entropy",
    "nn.functional.gelu",
])  # fmt: skip
def test_pickle_finds_functions_where_they_are_public(path: str) -> None:
    function = operator.attrgetter(path)(mt)
    assert pickle.loads(pickle.dumps(function)) is function


def test_out_is_written_where_autocast_casts() -> None:
    x, out = mt.ones(2, 2), mt.zeros(2, 2)
    with mt.autocast("cpu"):
        assert mt.addmm(x, x, x).dtype is mt.bfloat16
        found = mt.addmm(x, x, x, out=out)
    assert found is out
    assert out.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_the_last_answer_is_asked_first() -> None:
    asked: list[str] = []

    def answer(name: str, found: Any) -> Any:
        def give(args: Any, kwargs: Any) -> Any:
            asked.append(name)
            return found

        return give

    first = answered(lambda x: x + 1, answer("first", NotImplemented))
    second = answered(first, answer("second", NotImplemented))
    assert second is first
    assert second(1) == 2
    assert asked == ["second", "first"]
    assert answered(first, answer("third", 7))(1) == 7


def test_answers_are_a_stage_of_the_wrapper() -> None:
    """But for cacheable functions: their cache would take a sparse tensor for a dense one."""

    def body(input: Any) -> Any:  # noqa: A002
        return input + 1

    def answer(args: Any, kwargs: Any) -> Any:
        return "answered" if args == ("asked",) else NotImplemented

    plain: Any = Public("increased", body, out=True).as_function("increased")
    made = answered(plain, answer)
    assert made.__wrapped__ is body
    assert made("asked") == "answered"
    out = mt.empty(())
    assert made(mt.ones(()), out=out) is out
    assert out == 2
    cached: Any = Public("increased", body, cacheable=True).as_function("increased")
    assert answered(cached, answer).__wrapped__ is cached


@pytest.mark.parametrize("registry", _REGISTRIES)
def test_records_say_what_their_wrappers_are(registry: str) -> None:
    function: Any
    for name, function in _REGISTRIES[registry].items():
        public = getattr(function, "public", None)
        if public is not None and not hasattr(function, "answers"):
            assert vars(function)["__wrapped__"] is public.body, name
            assert public.body.__code__.co_name != "call", name


def test_a_users_wrapper_stays_where_another_class_answers() -> None:
    """``functools.wraps`` copies the record with the rest of the function's dictionary."""
    seen, add = [], mt.add

    @functools.wraps(add)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        seen.append(len(args))
        return add(*args, **kwargs)

    vars(wrapper).pop("answers", None)  # where a sparse tensor was made before
    record = vars(wrapper)["public"]
    assert isinstance(record, Public) and not record.cacheable
    x = mt.ones(2)
    assert answered(wrapper, lambda args, kwargs: NotImplemented)(x, x).tolist() == [2.0, 2.0]
    assert seen == [2]
