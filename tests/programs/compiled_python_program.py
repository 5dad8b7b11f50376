"""What a compiled call reads and changes in Python, besides tensors, is as in eager mode.

Each case is run eagerly and compiled; it yields what its calls gave, and changes Python objects
between them. A capture that took one of them for constant gives another number.
"""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.torch import nn
from tests.support.eager_and_compiled import Compiler, case, main, x

SCALE = 1.0


@case
def a_default_that_is_appended_to(c: Compiler) -> Iterator[Any]:
    def f(x: Any, seen: list[int] = []) -> Any:  # noqa: B006
        seen.append(1)
        return x * len(seen)

    f = c(f)
    yield from (f(x(i)) for i in range(4))


@case
def defaults_that_change(c: Compiler) -> Iterator[Any]:
    held = [1.0]

    def f(x: Any, held: list[float] = held, *, k: float = 2.0) -> Any:
        return x * held[0] * k

    call = c(f)
    for i in range(5):
        yield call(x(i))
        held[0] += 1
        f.__kwdefaults__ = {"k": float(i // 2)}


@case
def attributes_of_functions_and_classes(c: Compiler) -> Iterator[Any]:
    class Settings:
        k = 1.0

    def f(x: Any) -> Any:
        f.calls += 1  # type: ignore[attr-defined]
        return x * f.calls * Settings.k  # type: ignore[attr-defined]

    f.calls = 0  # type: ignore[attr-defined]
    call = c(f)
    for i in range(5):
        yield call(x(i)), f.calls  # type: ignore[attr-defined]
        Settings.k += 1


@case
def the_dictionary_of_globals(c: Compiler) -> Iterator[Any]:
    global SCALE
    SCALE = 1.0
    call = c(lambda x: x * globals()["SCALE"])
    for i in range(3):
        yield call(x(i))
        SCALE += 1


@case
def objects_in_objects(c: Compiler) -> Iterator[Any]:
    top = last = type("Node", (), {})()
    for _ in range(8):
        last.inner = type("Node", (), {})()
        last = last.inner
    last.k = 1.0

    def f(x: Any) -> Any:
        node = top
        while hasattr(node, "inner"):
            node = node.inner
        return x * node.k

    call = c(f)
    for i in range(3):
        yield call(x(i))
        last.k += 1


@case
def slots_queues_and_bytes(c: Compiler) -> Iterator[Any]:
    class Slots:
        __slots__ = ("k",)
        k: float

    held, queue, data = Slots(), collections.deque([1.0], maxlen=2), bytearray(b"ab")
    held.k = 1.0
    call = c(lambda x: x * held.k + sum(queue) + data[0])
    for i in range(5):
        yield call(x(i))
        if i % 2:
            held.k += 1
        else:
            queue.append(float(i))
        data[0] += i


@case
def an_object_that_is_called(c: Compiler) -> Iterator[Any]:
    class Scale:
        def __init__(this) -> None:
            this.k = 1.0

        def __call__(this, x: Any) -> Any:
            return x * this.k

    scale = Scale()
    calls = [c(scale), functools.partial(c(lambda f, x: f(x)), scale)]
    for i in range(3):
        yield [call(x(i)) for call in calls]
        scale.k += 1


@case
def closures_that_share_their_code(c: Compiler) -> Iterator[Any]:
    def scaled(held: list[float]) -> Any:
        return lambda x: x * held[0]

    lists = [[1.0], [2.0]]
    both = [scaled(each) for each in lists]
    call = c(lambda x: both[0](x) + both[1](x))
    for i in range(4):
        yield call(x(i))
        lists[i % 2][0] += 1


@case
def configurations_of_modules(c: Compiler) -> Iterator[Any]:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.settings = {"k": 1.0}

        def forward(self, x: Any) -> Any:
            return x * self.settings["k"]

    module = Scaled()
    call = c(module)
    for i in range(4):
        yield call(x(i))
        module.settings["k"] += 1
        if i == 2:
            module.forward = lambda x: -x  # type: ignore[method-assign]


@case
def random_numbers_of_python_and_numpy(c: Compiler) -> Iterator[Any]:
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002

    def f(x: Any) -> Any:
        order = [0, 1, 2]
        random.shuffle(order)
        return x[order] * random.choice([1.0, 2.0]) + np.random.rand()  # noqa: NPY002

    call = c(f)
    yield from (call(x(i)) for i in range(4))


@case
def the_environment_and_files(c: Compiler) -> Iterator[Any]:
    call = c(lambda x: x * float(os.environ["CASE_SCALE"]) + float(os.getenv("CASE_SCALE", "")))
    for i in range(3):
        os.environ["CASE_SCALE"] = str(i)
        yield call(x(i))


@case
def signs_of_zero(c: Compiler) -> Iterator[Any]:
    held = [0.0]
    call, found = c(lambda x, k: x / k), c(lambda x: x / held[0])
    for held[0] in (0.0, -0.0, 0.0, -0.0):
        yield call(x(), held[0]), found(x())


@case
def containers_given_and_returned(c: Compiler) -> Iterator[Any]:
    def f(given: list[Any], x: Any) -> Any:
        given.append(1)
        return given, x * len(given)

    call, same, kept = c(f), c(lambda x: x), [0]
    returned = c(lambda x: (kept, x))
    for i in range(4):
        given: list[Any] = []
        result = call(given, x(i))
        yield given, result, result[0] is given, same(given) is given, returned(x())[0] is kept


@case
def data_classes(c: Compiler) -> Iterator[Any]:
    @dataclasses.dataclass
    class Batch:
        data: Any

    def f(batch: Any) -> Any:
        batch.data = batch.data * 2
        return batch

    call, read = c(f), c(lambda batch: batch.data * batch.hidden)
    for i in range(4):
        batch = Batch(x(i))
        batch.hidden = float(i)  # type: ignore[attr-defined]
        result = call(batch)
        yield result is batch, batch.data, read(batch)


@case
def objects_returned(c: Compiler) -> Iterator[Any]:
    def f(x: Any) -> Any:
        made = type("Made", (), {})()
        made.n = x.shape[0]
        return made, lambda: made.n

    call = c(f)
    for i in range(3):
        made, read = call(x(i))
        yield made.n, read()
        made.n = 10


@case
def attributes_of_tensors(c: Compiler) -> Iterator[Any]:
    def f(x: Any) -> Any:
        result = x * 2
        result.tag = x.tag = getattr(x, "tag", 0) + 1
        return result

    call = c(f)
    for i in range(3):
        given = x(i)
        yield call(given).tag, call(given).tag, given.tag


@case
def context_variables(c: Compiler) -> Iterator[Any]:
    import contextvars

    scale = contextvars.ContextVar("scale", default=1.0)
    call = c(lambda x: x * scale.get())
    for i in range(3):
        yield call(x(i))
        scale.set(float(i))


@case
def memory_of_an_argument_that_is_also_found(c: Compiler) -> Iterator[Any]:
    held = x()

    def f(given: Any) -> Any:
        given.add_(1)
        return held * 2

    call = c(f)
    for i in range(3):
        yield call(x(i)), call(held), call(held[:]), call(held.view(-1)), held


@case
def views_written_to_after_the_call(c: Compiler) -> Iterator[Any]:
    view, pair = c(lambda x: x[1:]), c(lambda x: ((y := x * 2), y[1:]))
    for i in range(3):
        leaf = x(i).requires_grad_()
        base = leaf * 1
        view(base).mul_(3)
        first, second = pair(leaf)
        second.mul_(3)
        (base.sum() + first.sum()).backward()
        plain = x(i)
        yield leaf.grad, first, second, view(plain)._base is plain


def step_of(c: Compiler, optimizer: Any, *more: Any) -> Any:
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = sum((p * x).sum() for p in MODULE)
        loss.backward()
        optimizer.step()
        return [each() for each in more]

    return c(step)


MODULE: list[Any] = []


@case
def groups_hooks_and_rates_of_optimizers(c: Compiler) -> Iterator[Any]:
    MODULE[:] = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))]
    optimizer = torch.optim.SGD(MODULE[:1], lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    step, log = step_of(c, optimizer, schedule.step, schedule.get_last_lr), []
    for i in range(8):
        if i == 2:
            optimizer.register_step_pre_hook(lambda *_: log.append(1))
        if i == 4:
            optimizer.add_param_group({"params": MODULE[1:], "lr": 0.5})
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        yield step(x(i)), list(log), [p.detach().clone() for p in MODULE]


@case
def hooks_on_all_modules(c: Compiler) -> Iterator[Any]:
    linear = nn.Linear(3, 2)
    with torch.no_grad():
        linear.weight.fill_(0.5)
        linear.bias.zero_()
    call = c(lambda x: linear(x))
    for i in range(6):
        if i == 2:
            handle = nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 2)
        if i == 4:
            handle.remove()
        yield call(x(i))


@case
def settings_that_calls_read(c: Compiler) -> Iterator[Any]:
    def f(x: Any) -> Any:
        kind = len(torch.get_float32_matmul_precision())
        return x * kind + torch.initial_seed(), torch.zeros(2).device.type

    call, threads = c(f), c(lambda x: x * torch.get_num_threads())
    before = torch.get_num_threads()
    for i in range(4):
        torch.manual_seed(i)
        torch.set_float32_matmul_precision(("highest", "high")[i % 2])
        torch.set_num_threads(1 + i % 2)
        given = x(i)
        yield call(given), threads(given)
        torch.set_default_device("meta")
        yield call(given)[1]
        torch.set_default_device(None)
    torch.set_float32_matmul_precision("highest")
    torch.set_num_threads(before)


@case
def versions_addresses_and_bases(c: Compiler) -> Iterator[Any]:
    version = c(lambda x: x * (x._version + x.storage_offset()))
    same = c(lambda x, y: x * (2 if x.data_ptr() == y.data_ptr() else 3))
    written = c(lambda x: (x.add_(1), x.mul_(2), x.data.add_(3))[1])
    views = c(lambda x: ((y := x * 2), y[1:], y.view(-1)))
    for i in range(3):
        given = x(i, 4)
        for _ in range(i):
            given.add_(1)
        yield version(given), version(given[1:]), same(given, given), same(given, x(i, 4)), (
            same(given, given[:])
        )
        yield written(given), given._version, [v._base is None for v in views(given)]


@case
def gradients_recorded_where_the_caller_records_none(c: Compiler) -> Iterator[Any]:
    weight = nn.Parameter(x())

    def f(x: Any) -> Any:
        with torch.enable_grad():
            return (x * weight).sum()

    call, made = c(f), c(torch.inference_mode()(lambda x: x * 2))
    for i in range(3):
        with torch.no_grad():
            loss = call(x(i))
        weight.grad = None
        loss.backward()
        with torch.inference_mode():
            plain = c(lambda x: x[1:] * 2)(x(i))
        yield loss, weight.grad, made(x(i)).is_inference(), plain.is_inference()


@case
def calls_that_raise_and_later_do_not(c: Compiler) -> Iterator[Any]:
    allowed, calls = [False], []

    def f(x: Any) -> Any:
        calls.append(1)
        if not allowed[0]:
            raise ValueError("not yet")
        return x * 3

    call = c(f)
    for i in range(6):
        allowed[0] = i in (2, 3, 5)
        try:
            yield call(x(i))
        except ValueError as error:
            yield str(error), len(calls)


@case
def what_is_put_into_the_dictionaries_of_modules(c: Compiler) -> Iterator[Any]:
    norm = nn.BatchNorm1d(3)
    call = c(norm)
    for i in range(4):
        if i == 2:
            norm._buffers["running_mean"] = x(9)
        if i == 3:
            norm.double()
        yield call(x(i, 6).view(2, 3).to(norm.weight.dtype)), list(norm.buffers())


@case
def arguments_that_contain_themselves(c: Compiler) -> Iterator[Any]:
    call = c(lambda given: given[0] * 2)
    for i in range(3):
        given: list[Any] = [x(i)]
        given.append(given)
        yield call(given)


@case
def modes_of_functions(c: Compiler) -> Iterator[Any]:
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    call = c(lambda x: torch.sin(x))
    for i in range(3):
        given = x(i)
        with Mode():
            yield call(given), list(seen)


@case
def arguments_with_slots(c: Compiler) -> Iterator[Any]:
    class Held:
        __slots__ = ("k",)

        def __init__(self, k: Any) -> None:
            self.k = k

    held, call = Held(1), c(lambda x, held: x * held.k)
    made = [c(lambda x: Held(x * 2))(x(i)).k for i in range(3)]
    for i in range(4):
        held.k = i
        yield call(x(), held), call(x(), Held(i + 5)), made


@case
def the_environment_as_a_mapping(c: Compiler) -> Iterator[Any]:
    call = c(lambda x: x * float(os.environ.get("CASE_SIZE", "1")) + ("CASE_SIZE" in os.environ))
    for i in range(4):
        yield call(x())
        os.environ["CASE_SIZE"] = str(i)
    del os.environ["CASE_SIZE"]


@case
def coroutines(c: Compiler) -> Iterator[Any]:
    async def doubled(x: Any) -> Any:
        return x * 2

    call = c(doubled)
    for i in range(3):
        yield asyncio.run(call(x(i)))


@case
def generators_of_numpy(c: Compiler) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    draw = functools.partial(rng.uniform, 1, 2)
    calls = [c(lambda x: x * rng.random()), c(lambda x: x * draw())]
    given = c(lambda x, r: x * r.random())
    for _ in range(4):
        yield [call(x()) for call in calls], given(x(), rng)


if __name__ == "__main__":
    main()
