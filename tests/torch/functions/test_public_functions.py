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
from mindtorch.torch._api.publish import FUNCTIONAL, FUNCTIONS, METHODS
from mindtorch.torch._tensor import tensor_classes
from tests.support.paths import ROOT

_REGISTRIES = {"torch": FUNCTIONS, "torch.nn.functional": FUNCTIONAL, "torch.Tensor": METHODS}
_COUNT = """
import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.torch._api import publish
def all_of_them():
    return {**vars(torch), **vars(torch.nn.functional), **vars(torch.Tensor)}
before = all_of_them()
import mindtorch.torch.masked, mindtorch.torch.nested, mindtorch.torch.sparse
after = all_of_them()
assert [name for name in before if after[name] is not before[name]] == []
for registry in (publish.FUNCTIONS, publish.FUNCTIONAL, publish.METHODS):
    for name, function in registry.items():
        body = getattr(function, "__wrapped__", function)
        assert not hasattr(body, "__wrapped__"), name
        assert getattr(function, "public", None) is None or function.__code__.co_name == name or (
            function.__code__.co_name in {*publish.FUNCTIONS, *publish.METHODS}), name
"""


def test_a_function_has_one_wrapper_with_its_own_name() -> None:
    """In a process of its own: also after classes with implementations are loaded, which exchange
    nothing."""
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
    assert not any(place.endswith("signatures.py") for place in places)


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


class _Pair:
    """Stands for a class of tensors that is made of others."""

    def __init__(self, first: Any, second: Any) -> None:
        self.parts = first, second


@pytest.mark.parametrize("facts", [
    {}, {"out": True}, {"cacheable": True}, {"checked": True}, {"explained": False, "out": True},
    {"explained": False, "cacheable": True},
])  # fmt: skip
def test_implementations_are_a_stage_of_the_wrapper(facts: dict[str, Any]) -> None:
    def body(input: Any, added: Any = 1) -> Any:  # noqa: A002
        return input + added

    plain: Any = Public("increased", body, **facts).as_function("increased")

    @tensor_classes.implements(_Pair, plain)
    def of_pairs(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        if not isinstance(input, _Pair):
            return NotImplemented
        return [function(x, *args, **kwargs) for x in input.parts]

    pair = _Pair(mt.ones(2), mt.zeros(1))
    assert plain.__wrapped__ is body
    for _ in range(3):
        assert [x.tolist() for x in plain(pair)] == [[2.0, 2.0], [1.0]]
        assert [x.tolist() for x in plain(input=pair, added=2)] == [[3.0, 3.0], [2.0]]
        assert plain(mt.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(TypeError):
        plain(mt.ones(2), pair)


def test_the_call_cache_takes_no_sparse_tensor_for_a_dense_one() -> None:
    """A sparse tensor has no strides, nor has a dense one that is expanded, or without axes."""
    stored = mt.ones(()).to_sparse(), mt.ones(2, 3).to_sparse(), mt.ones(2, 3).to_sparse_csr()
    dense = mt.full((), 2.0), mt.full((), 2.0).expand(2, 3), mt.full((), 2.0).expand(2, 3)
    for sparse, plain in zip(stored, dense, strict=True):
        assert sparse.aval != plain.aval
        for _ in range(3):
            assert mt.sum(plain) == 2 * plain.numel()
            assert mt.sum(sparse) == sparse.numel()
            assert mt.relu(sparse).layout is sparse.layout
            assert mt.relu(plain).layout is mt.strided


def test_only_functions_that_there_are_can_be_implemented() -> None:
    with pytest.raises(AttributeError, match="torch has no function 'no_such_function'"):
        tensor_classes.implements(_Pair, tensor_classes.torch.no_such_function)
    assert tensor_classes.functional.relu is FUNCTIONAL["relu"]


@pytest.mark.parametrize("registry", _REGISTRIES)
def test_records_say_what_their_wrappers_are(registry: str) -> None:
    function: Any
    for name, function in _REGISTRIES[registry].items():
        public = getattr(function, "public", None)
        if public is not None and function is not public.body:
            assert vars(function)["__wrapped__"] is public.body, name
            assert public.body.__code__.co_name != "call", name


def test_a_users_wrapper_stays_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, add = [], mt.add

    @functools.wraps(add)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        seen.append(len(args))
        return add(*args, **kwargs)

    monkeypatch.setattr(mt, "add", wrapper)
    x = mt.eye(2).to_sparse()
    assert mt.add(x, x).to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert seen == [2]
    assert mt.add is wrapper
