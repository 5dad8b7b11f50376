"""What a compiled call reads through methods in C, caches, modules and other holders is watched."""

from __future__ import annotations

import collections
import functools
import types
import weakref
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch import nn


class Box:
    value = 2.0


class Other:
    value = 5.0


def _method() -> Any:
    held = {"k": 2.0}
    get = held.get
    return lambda x: x * get("k"), lambda: held.update(k=5.0)


def _length() -> Any:
    items = [1, 1]
    size = items.__len__
    return lambda x: x * size(), lambda: items.extend([1, 1, 1])


def _values() -> Any:
    held = {"k": 2.0}
    values = held.values()
    return lambda x: x * sum(values), lambda: held.update(k=5.0)


def _frozen() -> Any:
    held = {"k": 2.0}
    frozen = types.MappingProxyType(held)
    return lambda x: x * frozen["k"], lambda: held.update(k=5.0)


def _weak() -> Any:
    box = Box()
    found: Any = weakref.ref(box)
    return lambda x: x * found().value, lambda: setattr(box, "value", 5.0)


def _cached() -> Any:
    held = [2.0]

    @functools.lru_cache
    def factor(n: int) -> float:
        return held[0] * n

    factor(1)

    def change() -> None:
        held[0] = 5.0
        factor.cache_clear()

    return lambda x: x * factor(1), change


def _set_on_a_layer() -> Any:
    layer: Any = nn.Identity()
    layer.held = {"k": 2.0}
    return lambda x: layer(x) * layer.held["k"], lambda: layer.held.update(k=5.0)


def _module() -> Any:
    module: Any = types.ModuleType("settings")
    module.k = 2.0
    return lambda x: x * module.k, lambda: setattr(module, "k", 5.0)


def _module_held() -> Any:
    box: Any = Box()
    module: Any = types.ModuleType("settings")
    module.k = 2.0
    box.module = module
    return lambda x: x * box.module.k, lambda: setattr(module, "k", 5.0)


def _code() -> Any:
    def twice(x: Any) -> Any:
        return x * 2.0

    def other(x: Any) -> Any:
        return x * 5.0

    return lambda x: twice(x), lambda: setattr(twice, "__code__", other.__code__)


def _class() -> Any:
    box = Box()
    return lambda x: x * box.value, lambda: setattr(box, "__class__", Other)


def _builtin() -> Any:
    def double(x: Any) -> Any:
        return x * abs(-2.0)

    scope: dict[str, Any] = {"__builtins__": __builtins__}
    apart = types.FunctionType(double.__code__, scope)
    return apart, lambda: scope.update(abs=lambda value: 5.0)


@pytest.mark.parametrize(
    "make",
    [_method, _length, _values, _frozen, _weak, _cached, _set_on_a_layer, _module, _module_held,
     _code, _class, _builtin],
)  # fmt: skip
def test_a_change_is_seen(make: Any) -> None:
    """The factor is 2, then 5; the call was compiled or is replayed."""
    function, change = make()
    call, x = torch.compile(function), torch.tensor([1.0])
    assert [call(x).item() for _ in range(2)] == [2.0, 2.0]
    change()
    assert [call(x).item() for _ in range(3)] == [5.0, 5.0, 5.0]


def test_what_is_in_a_dictionary_of_another_class_is_seen() -> None:
    """It is an argument that is known again by its identity; numbers and tensors in it change."""
    call = torch.compile(lambda given: given["x"] * given["k"])
    given = collections.OrderedDict(x=torch.ones(1), k=2.0)
    found = [call(given).item(), call(given).item()]
    given["k"] = 5.0
    found.append(call(given).item())
    given["x"] = torch.ones(1) * 3
    assert [*found, call(given).item()] == [2.0, 2.0, 5.0, 15.0]


def test_the_rate_that_a_schedule_tells_is_read() -> None:
    """A schedule holds its optimizer, which is looked at, too."""
    parameter = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], 0.5)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    call = torch.compile(lambda x: x * schedule.get_last_lr()[0])
    found = []
    for _ in range(3):
        found.append(call(torch.ones(1)).item())
        optimizer.step()
        schedule.step()
    assert found == [0.5, 0.25, 0.125]


def test_the_id_of_an_argument_is_that_of_this_call() -> None:
    """What is kept by identity is found by the tensor that is given."""
    factors: dict[int, float] = {}
    call = torch.compile(lambda x: x * factors.get(id(x), 2.0))
    one, other = torch.ones(1), torch.ones(1)
    assert [call(one).item(), call(one).item()] == [2.0, 2.0]
    factors[id(other)] = 5.0
    assert [call(x).item() for x in (one, other, one, other)] == [2.0, 5.0, 2.0, 5.0]


def test_a_view_of_an_argument_grows() -> None:
    """It gets memory of its own, which the trace does not follow."""

    def grown(x: Any) -> Any:
        part = x.flatten()[1:] if x.dim() else x
        part.resize_(2)
        return part[:1] * x.sum()

    call = torch.compile(grown)
    assert [call(torch.tensor([1.0, 2.0])).tolist() for _ in range(3)] == [[6.0]] * 3
