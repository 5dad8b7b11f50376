"""Errors in compiled calls: where they are raised, which line they name, what they leave behind."""

from __future__ import annotations

import os
import threading
import time
import traceback
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch import nn
from tests.support.compiled_kinds import wrapped


def looked_up(x: Any, i: Any) -> Any:
    y = x * 2
    return y[i]


def test_errors_name_the_line_that_asked_for_the_op() -> None:
    """They are raised there; where a step of an optimizer came before, a note says which it is."""
    line = looked_up.__code__.co_firstlineno + 2
    x, out = torch.ones(3, requires_grad=True), torch.tensor([7])
    optimizer = torch.optim.SGD([x], 0.1)

    def stepped(i: Any) -> Any:
        x.sum().backward()
        optimizer.step()
        return looked_up(x, i)

    for call, noted in ((lambda i: looked_up(x, i), False), (stepped, True)):
        compiled = torch.compile(call)
        for i in (out, torch.tensor([1]), torch.tensor([2]), torch.tensor([0]), out):
            if i is not out:
                compiled(i)
                continue
            with pytest.raises(IndexError, match="out of bounds") as raised:
                compiled(i)
        if noted:
            assert f"{__file__}:{line}" in raised.value.__notes__[0]
        else:
            frames = traceback.extract_tb(raised.value.__traceback__)
            assert any(f.filename == __file__ and f.lineno == line for f in frames)


def test_calls_that_fail_leave_what_eager_calls_leave() -> None:
    """The first call and a later one, with an index that is given or computed: statistics,
    gradients, versions and random numbers are those of the ops before the one that fails."""

    def left(wrap: Any, factor: int, fails: int) -> list[Any]:
        torch.manual_seed(0)
        norm, table, found = nn.BatchNorm1d(3), nn.Embedding(5, 3), []

        def step(x: Any, i: Any) -> Any:
            y = nn.functional.dropout(norm(x), 0.5)
            y.sum().backward()
            return table(i if factor == 1 else i * factor).sum() + y

        call = wrap(step)
        for n in range(4):
            index = torch.tensor([7 if n == fails else 1])
            try:
                found.append(call(torch.arange(12.0).view(4, 3).cos() + n, index).tolist())
            except IndexError as error:
                found.append(str(error))
            found += [norm.running_mean.tolist(), norm.running_mean._version]
            found += [norm.weight.grad is None or norm.weight.grad.tolist(), torch.rand(1).item()]
        return found

    for factor, fails in ((1, 0), (1, 2), (2, 0), (2, 3)):
        assert left(torch.compile, factor, fails) == left(lambda f: f, factor, fails)


def _read_clock(look_up: Any) -> Any:
    time.monotonic()  # a function that calls it cannot be run again
    return look_up()


def _ask(look_up: Any) -> Any:
    found = look_up()
    found.sum().item()
    return found


def _ask_and_go_on(look_up: Any) -> Any:
    try:
        return _ask(look_up)
    except IndexError:
        return torch.ones(1, 3, requires_grad=True) * 2


def _raise(look_up: Any) -> Any:
    raise ValueError(look_up())


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("stepped", ["", "before", "after"])
@pytest.mark.parametrize("what", [_read_clock, _ask, _ask_and_go_on, _raise])
def test_calls_that_cannot_be_made_again_leave_what_eager_calls_leave(
    what: Any, stepped: str, dynamic: bool | None
) -> None:
    """The first call fails at an index that it computes, after writes, a backward pass and random
    numbers; what it has done besides forbids to run it once more, op by op."""

    def left(wrap: Any) -> list[Any]:
        torch.manual_seed(0)
        norm, table, found, kept = nn.BatchNorm1d(3), nn.Embedding(5, 3), [], []
        optimizer = torch.optim.SGD([*norm.parameters(), *table.parameters()], 0.1, 0.9)
        total, draws = torch.zeros(2, 3), torch.zeros(3)

        def step(x: Any, i: Any) -> Any:
            y = nn.functional.dropout(norm(x), 0.5)
            y.square().sum().backward()
            total[0] += y.detach().sum(0)
            total.mul_(2)
            if stepped == "before":
                optimizer.step()
            kept.append(y.detach() + 1)
            draws.normal_()
            found = what(lambda: table(i * 2))
            total.add_(found.detach().sum())
            found.sum().backward()
            draws.uniform_()
            if stepped == "after":
                optimizer.step()
            total.sub_(1)
            return found

        call = wrap(step)
        for n in range(3):
            kept.clear()
            try:
                index = torch.tensor([7 if n == 0 else 1])
                found.append(call(torch.arange(12.0).view(4, 3).cos() + n, index).tolist())
            except (IndexError, ValueError) as error:
                found.append(str(error))
            found += [v.tolist() for v in norm.state_dict().values()]
            parameters = [*norm.parameters(), *table.parameters()]
            found += [p.grad is None or p.grad.tolist() for p in parameters]
            found += [total.tolist(), draws.tolist(), kept[0].tolist(), torch.rand(1).item()]
            found += [x._version for x in (total, draws, norm.running_mean, kept[0])]
        return found

    assert left(lambda f: torch.compile(f, dynamic=dynamic)) == left(lambda f: f)


def test_a_body_that_raises_runs_once() -> None:
    """Also where the call was traced for many sizes, and what it did cannot be undone."""
    calls = []

    def body(x: Any) -> Any:
        if x.shape[0] == 3:
            calls.append(x.shape[0])
            raise TypeError("not three")
        return x * 2

    call = torch.compile(body)
    call(torch.ones(2))
    with pytest.raises(TypeError, match="not three"):
        call(torch.ones(3))
    assert calls == [3]
    assert call(torch.ones(4)).tolist() == [2, 2, 2, 2]


def test_errors_that_the_function_catches_are_raised_where_it_waits_for_them() -> None:
    """A factorization that fails is how programs ask whether a matrix is positive definite."""

    def definite(matrix: Any) -> bool:
        try:
            torch.linalg.cholesky(matrix)
        except RuntimeError:
            return False
        return True

    call = torch.compile(definite)
    for sign in (1, -1, -1, 1, -1):
        assert call(torch.eye(3) * sign) is (sign > 0)


def test_memory_seen_as_another_type_is_written_op_by_op() -> None:
    """What a trace cannot follow ends it once, also where the write is refused after the op was."""
    words = torch.ones(2).view(torch.int32)

    def count(x: Any) -> Any:
        words.add_(1)
        return x * 2

    call, first = torch.compile(count), words.clone()
    for n in range(1, 4):
        assert call(torch.ones(2)).tolist() == [2, 2]
        assert (words - first).tolist() == [n, n]


@pytest.mark.parametrize("place", range(1, 5))
def test_an_error_leaves_what_eager_code_leaves(place: int) -> None:
    """At any place, in the first call and in later ones: parameters, gradients, statistics, and
    the stream of random numbers."""

    def run(compiler: Any) -> list[Any]:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        total, found = torch.zeros(4), []

        def step(x: Any, bad: int) -> Any:
            total.add_(1)
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            if bad == 1:
                raise ValueError
            optimizer.step()
            total.mul_(2)
            if bad == 2:
                raise ValueError
            y = torch.rand(4) + total
            if bad == 3:
                y.view(3, 3)
            if bad == 4:
                torch.linalg.cholesky(-torch.eye(3) * x.abs().sum())
            return y

        call = compiler(step)
        for i in range(7):
            try:
                found.append(call(torch.ones(5, 4) * i, place if i in (0, 3, 5) else 0).tolist())
            except (ValueError, RuntimeError) as error:
                found.append(str(error))
            found.append([v.tolist() for v in net.state_dict().values()])
            found.append([p.grad.tolist() for p in net.parameters()])
            found.append([total.tolist(), torch.rand(1).item()])
        return found

    assert run(torch.compile) == run(lambda function: function)


def test_a_fork_beside_a_running_call_finds_locks_open() -> None:
    """The child has a copy of a lock whose thread it has not."""
    call, x = torch.compile(nn.Linear(4, 4)), torch.ones(2, 4)
    expected = call(x).tolist()
    call(x)
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            call(x)

    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            os._exit(0 if call(x).tolist() == expected else 1)
        codes.append(_code(child))
    done.set()
    thread.join()
    assert codes == [0] * 8


def _code(child: int) -> int:
    """How a child ended; it is killed after 20 seconds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.005)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def test_an_argument_may_be_a_part_of_what_the_function_writes() -> None:
    """The function's own tensor reaches beyond the argument in the memory that they share."""
    found = []
    for wrap in (lambda f: f, torch.compile):
        whole = torch.arange(6.0).view(2, 3)

        def step(x: Any, whole: Any = whole) -> Any:
            doubled = whole * 2
            x.add_(1)
            whole.mul_(2)
            return x + doubled[0], whole.sum()

        call = wrap(step)
        for part in (torch.ones(3), whole[0], torch.ones(3), whole[1], whole.view(-1)[1:4]):
            found.append([each.tolist() for each in call(part)])
        found.append(whole.tolist())
    assert found[:6] == found[6:]


def test_a_division_by_zero_is_caught_where_the_function_waits_for_it() -> None:
    """Also where ops wait: the divisor is there already."""

    def shared(x: Any, among: Any) -> Any:
        try:
            return x // among
        except RuntimeError:
            return x * 0

    x = torch.tensor([4, 6])
    for kind in ("captured", "replayed"):
        call = wrapped(kind)(shared)
        found = [call(x, torch.tensor([n])).tolist() for n in (2, 0, 1, 2, 0)]
        assert found == [[2, 3], [0, 0], [4, 6], [2, 3], [0, 0]]
