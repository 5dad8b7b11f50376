"""Random programs over tensors that share memory: compiled, they leave what they leave eagerly."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from tests.support.compiled_kinds import KINDS, arrays, first_difference, running, wrapped

CALLS = 3


def parts(x: Any, choose: random.Random) -> Any:
    """A view of ``x``."""
    kind = choose.randrange(6)
    if x.dim() == 0 or kind == 0:
        return x.unsqueeze(0)
    if kind == 1:
        return x[choose.randrange(x.shape[0])]
    if kind == 2:
        return x[: max(1, x.shape[0] // 2)]
    if kind == 3:
        return x.t() if x.dim() == 2 else x[::2]
    return x.reshape(-1)[1:] if kind == 4 and x.numel() > 1 else x.detach()


def changed(x: Any, y: Any, choose: random.Random) -> None:
    """A write to ``x``, with numbers that come from ``y``."""
    kind = choose.randrange(6)
    if kind == 0:
        x.mul_(0.5)
    elif kind == 1:
        x.add_(y.sum() * 0.25)
    elif kind == 2:
        x.copy_(y.mean().expand(x.shape))
    elif kind == 3:
        torch.manual_seed(choose.randrange(9))
        x.uniform_(-1, 1)
    elif kind == 4 and x.shape == y.shape:
        x.sub_(y)
    else:
        x.clamp_(-1, 1)


def computed(x: Any, y: Any, choose: random.Random) -> Any:
    """A new tensor made of two."""
    kind = choose.randrange(5)
    if x.shape != y.shape:
        y = y.sum()
    if kind == 0:
        return x - y * 0.5
    if kind == 1:
        return torch.where(x > 0, x, y)
    if kind == 2:
        return torch.addcmul(x, x, y).tanh()
    return torch.stack([x, y.expand_as(x)]) if kind == 3 and x.numel() < 40 else x.sin()


def program(seed: int, given: list[Any]) -> Callable[[], list[Any]]:
    """A function that does the same to the given tensors, and tensors made from them, each time."""

    def call() -> list[Any]:
        choose = random.Random(seed)
        pool = list(given)
        seen = []
        for _ in range(choose.randrange(4, 18)):
            x, y = choose.choice(pool), choose.choice(pool)
            kind = choose.randrange(8)
            if kind < 3:
                pool.append(parts(x, choose))
            elif kind < 5:
                changed(x, y, choose)
            elif kind < 7:
                pool.append(computed(x, y, choose))
            elif choose.random() < 0.5:
                seen.append(round(x.sum().item(), 5))
        return [*pool[len(given):], *seen]

    return call


def left(seed: int, kind: str) -> list[Any]:
    """What three calls return, and what is in the tensors from outside afterwards."""
    base = torch.arange(24.0).reshape(6, 4).clone() / 10 - 1
    given = [base, base[0], base[1], base[2:4], base.t(), torch.ones(4), base.view(-1)[3:11]]
    call = wrapped(kind)(program(seed, given))
    found = []
    with running(kind):
        for _ in range(CALLS):
            returned = [x.tolist() if isinstance(x, torch.Tensor) else x for x in call()]
            found.append([*returned, *[x.tolist() for x in given]])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [range(4), *(
    pytest.param(range(start, start + 100), marks=pytest.mark.exhaustive)
    for start in (4, 104, 204))], ids=str)  # fmt: skip
def test_programs_over_shared_memory_leave_what_eager_ones_leave(seeds: range, kind: str) -> None:
    """Views that were made before, written to and read together in one op."""
    differences = [seed for seed in seeds if repr(left(seed, kind)) != repr(left(seed, "eager"))]
    assert not differences


VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x.t()[:2], lambda x: x[:, 1:3], lambda x: x[::2], lambda x: x.t()[1],
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_part_with_gaps_is_written_to(view: Any, kind: str) -> None:
    """What waited was laid out without the gaps, and the write did not fit."""

    def results(kind: str) -> list[Any]:
        base = torch.arange(24.0).reshape(6, 4).clone()
        part = view(base)

        def step() -> float:
            part.mul_(0.5)
            part.add_(1)
            return part.sum().item()

        call = wrapped(kind)(step)
        with running(kind):
            return [*[call() for _ in range(3)], base.tolist()]

    assert results(kind) == results("eager")


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_one_memory_are_read_in_one_op(kind: str) -> None:
    """Meeting the second one ran what waited, which the first one's value belonged to."""
    x = torch.arange(12.0).reshape(4, 3).clone()
    a, b, c = x[0], x[1], x[2]

    def call() -> list[Any]:
        made = a - b, torch.where(b > 0, a, c), torch.stack([c, a, b]), torch.addcmul(c, a, b)
        return [each.tolist() for each in made]

    expected = call()
    function = wrapped(kind)(call)
    with running(kind):
        assert [function() for _ in range(3)] == [expected] * 3


def test_arguments_that_overlap_run_eagerly_where_one_is_written() -> None:
    """A call that was captured for separate tensors reads an argument's elements once."""

    def write(x: Any, y: Any) -> Any:
        x.add_(1)
        y[0] = x.sum()
        return x * y

    call = torch.compile(write)
    for _ in range(2):
        call(torch.zeros(2), torch.zeros(2))
    for first, second in ((slice(0, 2), slice(1, 3)), (slice(0, 2), slice(2, 4))):
        eager, compiled = torch.tensor([3.0, 3, 6, 0]), torch.tensor([3.0, 3, 6, 0])
        expected = write(eager[first], eager[second])
        assert call(compiled[first], compiled[second]).tolist() == expected.tolist()
        assert compiled.tolist() == eager.tolist()


def _written_parts(z: Any) -> Any:
    y = z * 2
    pairs = torch.view_as_real(y)
    pairs[0].mul_(3)
    y.mul_(1j)
    z.imag.add_(y.real.sum())
    return pairs.sin(), z.real * 2, torch.view_as_complex(pairs.cos().contiguous()).abs()


def _written_numbers(z: Any) -> Any:
    pairs = torch.view_as_real(z).clone()
    torch.view_as_complex(pairs[1:]).mul_(1j)
    return pairs, pairs.real


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [_written_parts, _written_numbers])
@pytest.mark.parametrize("tracked", [False, True], ids=["plain", "gradients"])
def test_complex_numbers_and_their_parts_share_memory(
    function: Any, kind: str, tracked: bool
) -> None:
    """A write to one of them is seen through the other, and gradients know of it."""

    def left(call: Any) -> list[Any]:
        start = torch.complex(torch.arange(3.0), torch.ones(3)).requires_grad_(tracked)
        z = start * 1
        results = call(z)
        if tracked:
            sum((i + 1) * x.sum() for i, x in enumerate(results)).backward()
        return arrays([z, list(results), start.grad])

    expected = left(function)
    call = wrapped(kind)(function)
    with running(kind):
        for _ in range(CALLS):
            assert not first_difference(expected, left(call))


def test_what_is_returned_as_parts_is_the_argument() -> None:
    """``x.imag`` of a compiled call writes to ``x``."""
    call = torch.compile(lambda x: x.imag)
    for _ in range(CALLS):
        x = torch.complex(torch.ones(2), torch.ones(2))
        call(x).zero_()
        assert x.tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["eager", *KINDS])
def test_what_reads_the_memory_that_it_writes_is_refused_where_torch_refuses_it(kind: str) -> None:
    """A number is read first; rows of the same memory are an error, for ops that take places."""
    rows = torch.tensor([0, 1])
    across = rows.expand(2, 2).clone()
    refused: list[Any] = [
        lambda x: x.view(-1)[1:].copy_(x.detach().view(-1)[:-1]),
        lambda x: x.add_(x.data.t()),
        lambda x: x.index_add_(0, rows, x),
        lambda x: x.index_put_((rows,), x[1:], accumulate=True),
        lambda x: x.__setitem__(rows, x[:1]),
        lambda x: x.scatter_(0, across, x.t()),
        lambda x: x.scatter_reduce_(0, across, x, "sum"),
        lambda x: x.put_(rows, x[1]),
    ]
    allowed: list[tuple[Any, Any]] = [
        (lambda x: x.fill_(x[1, 1]), [[3, 3], [3, 3]]),
        (lambda x: x.masked_fill_(x > 0, x[0, 0]), [[0, 0], [0, 0]]),
        (lambda x: x.__setitem__(x < 2, x[1, 1]), [[3, 3], [2, 3]]),
        (lambda x: x[:, 0].index_copy_(0, rows, x[:, 1]), [[1, 1], [3, 3]]),
    ]

    def after(write: Any) -> Any:
        def call() -> Any:
            x = torch.arange(4.0).view(2, 2)
            write(x)
            return x

        return call

    with running(kind):
        for write in refused:
            call = wrapped(kind)(after(write))
            for _ in range(3):
                with pytest.raises(RuntimeError, match="refer to a single memory location"):
                    call()
        for write, left in allowed:
            call = wrapped(kind)(after(write))
            assert [call().tolist() for _ in range(3)] == [left] * 3
