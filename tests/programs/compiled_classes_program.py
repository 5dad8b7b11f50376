"""What a compiled call reads of classes and of objects that others hold is as in eager mode.

As in compiled_python_program.py each case yields what its calls gave, and changes such an object
between them.
"""

from __future__ import annotations

import enum
import logging
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from tests.support.eager_and_compiled import Compiler, case, main, x


@case
def what_is_set_on_classes_and_modules_later(c: Compiler) -> Iterator[Any]:
    class Plain:
        pass

    plain = Plain()
    call = c(lambda x: x * getattr(plain, "k", 2) * len(sys.argv))
    flag = c(lambda x: x * (2 if torch.backends.cudnn.benchmark else 3))
    before = torch.backends.cudnn.benchmark
    for i in range(6):
        if i == 2:
            Plain.k = 7  # type: ignore[attr-defined]
        if i == 4:
            sys.argv.append("--more")
        torch.backends.cudnn.benchmark = i % 4 == 3
        yield call(x()), flag(x())
    torch.backends.cudnn.benchmark = before
    sys.argv.pop()


@case
def objects_whose_state_others_hold(c: Compiler) -> Iterator[Any]:
    class Key:
        pass

    class Text(str):
        size = 1.0

    class Choice(enum.Enum):
        MANY = [1.0]  # noqa: RUF012

    key, text, held, log = Key(), Text("a"), threading.local(), logging.getLogger("case")
    known = weakref.WeakKeyDictionary({key: 1.0})
    log.level, held.k, Choice.MANY.value[0] = 1, 1.0, 1.0
    calls = [
        c(lambda x: x * known[key]), c(lambda x: x * held.k), c(lambda x: x * text.size),
        c(lambda x: x * log.level), c(lambda x: x * Choice.MANY.value[0]),
    ]  # fmt: skip
    given = [(c(lambda x, t: x * t.size), text), (c(lambda x, e: x * e.value[0]), Choice.MANY)]
    for _ in range(3):
        yield [call(x()) for call in calls], [call(x(), each) for call, each in given]
        known[key] += 1
        held.k, text.size, log.level = held.k + 1, text.size + 1, log.level + 1
        Choice.MANY.value[0] += 1


@case
def classes_that_change(c: Compiler) -> Iterator[Any]:
    class Meta(type):
        k = 1.0

        def __getitem__(cls, i: int) -> float:
            return cls.k + i

    class First(metaclass=Meta):
        size = 1.0

    class Second(metaclass=Meta):
        size = 2.0

    class Derived(First):
        __slots__ = ("late",)

    thing: Any = Derived()
    calls = [
        c(lambda x: x * First[1]), c(lambda x: x * thing.size),
        c(lambda x: x * getattr(thing, "late", 1.0)),
    ]  # fmt: skip
    yield [call(x()) for call in calls]
    Meta.k, Derived.__bases__, thing.late = 2.0, (Second,), 3.0
    yield [call(x()) for call in calls]
    del thing.late
    yield [call(x()) for call in calls]


@case
def what_the_library_offers_is_replaced(c: Compiler) -> Iterator[Any]:
    class Scales(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by = nn.ParameterDict({"a": nn.Parameter(x())})

        def forward(self, given: Any) -> Any:
            return torch.relu(sum(given * self.by[k] for k in self.by))

    module = Scales()
    call, before = c(module), torch.relu
    yield call(x())
    module.by["b"] = nn.Parameter(x(1))
    yield call(x())
    torch.relu = lambda given: -given  # type: ignore[assignment, misc]
    yield call(x())
    torch.relu = before


if __name__ == "__main__":
    main()
