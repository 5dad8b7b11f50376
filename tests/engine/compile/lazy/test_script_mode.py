"""Whole scripts whose ops wait (``MINDTORCH_GRAPH=1``): everything seen is what eager gives."""

from __future__ import annotations

import copy
import dis
import functools
import io
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.lazy import autotune, script_mode
from mindtorch.engine.compile.lazy.pending_ops import ROUNDS
from mindtorch.engine.compile.lazy.trace_tree import PATIENCE, TraceTree
from mindtorch.tools import watch

nn = torch.nn
F = torch.nn.functional


def training() -> Iterator[Any]:
    """Epochs over a loader, clipping, averaged weights, a schedule, evaluation, a checkpoint."""
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2),
        nn.Linear(144, 5),
    )  # fmt: skip
    averaged = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    data = torch.utils.data.TensorDataset(torch.randn(20, 1, 8, 8), torch.randint(0, 5, (20,)))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    for _ in range(4):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            made = net(x)
            loss = F.cross_entropy(made, y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            yield from (loss.item(), (made.argmax(1) == y).sum().item())
            with torch.no_grad():
                for a, b in zip(averaged.parameters(), net.parameters(), strict=True):
                    a.mul_(0.9).add_(b, alpha=0.1)
        scheduler.step()
        net.eval()
        with torch.no_grad():
            yield net(torch.randn(8, 1, 8, 8)).softmax(-1)
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    averaged.load_state_dict(torch.load(file))
    yield from averaged.state_dict().values()


def memory() -> Iterator[Any]:
    """Arrays that are refilled and looked at, views, writes in place, data."""
    array = np.zeros((2, 3), np.float32)
    kept = []
    for i in range(3):
        array[:] = i
        kept.append(torch.from_numpy(array) * 2)
    yield from kept
    shared = torch.from_numpy(array)
    shared[0] = 5
    yield array.copy()
    shared.t().mul_(2)
    yield array.copy()
    whole = torch.arange(6.0).view(2, 3)
    whole[:, 1] += 1
    yield from (whole.tolist(), str(whole), np.asarray(whole), float(whole.sum()))
    parameter = nn.Parameter(torch.ones(3))
    parameter.data = parameter.data * 2
    parameter.data.add_(1)
    yield parameter
    yield torch.view_as_real(torch.randn(3, dtype=torch.complex64))
    whole.squeeze_().unsqueeze_(0)
    yield whole * 2


def arrays() -> Iterator[Any]:
    """Arrays over tensors' memory, written to between an op and the look at its result."""
    x = torch.zeros(3)
    array = x.numpy()
    array[0] = 5
    doubled = x * 2
    array[0] = 7
    yield doubled
    x.add_(1)
    yield array.copy()
    used = x + 1
    later = x.detach().numpy()
    later[:] = 9
    yield used
    matrix = torch.ones(2, 3, requires_grad=True)
    turned = matrix.detach().t().numpy()
    (matrix * matrix).sum().backward()
    turned[:] = 0
    yield matrix.grad
    del turned, array, later
    counts = torch.zeros(2, 2)
    data_was_read = counts.numpy()
    before, view = counts + 1, counts.t()
    data_was_read[0] = 4
    yield from (before, counts + 1, view + 1)
    bits = np.asarray(torch.tensor([True, False]))
    yield bits[::-1]
    table = np.arange(400_000, dtype=np.float32).reshape(-1, 4)
    rows = torch.from_numpy(table)
    for i in range(4):
        part = rows[torch.tensor([i, 2 * i])] * 2
        window, total = rows[i : i + 2] + 1, rows.sum()
        table[:9] += 1
        yield from (part, window, total)


def mistakes() -> Iterator[Any]:
    """Indices out of range are caught where they are used, and what came before has happened."""
    table, state = torch.randn(4, 3, requires_grad=True), torch.zeros(2)
    uses = [
        lambda i: F.embedding(i, table).sum(), lambda i: table[i].sum(),
        lambda i: F.cross_entropy(table[:2], i), lambda i: table.gather(0, i.view(2, 1)).sum(),
        lambda i: torch.zeros(4).scatter_add(0, i, table[0, :2]).sum(),
        lambda i: table.index_select(0, i).sum(), lambda i: table[0].take(i).sum(),
    ]  # fmt: skip
    for use in uses:
        for places in ([0, 2], [1, 4], [1, -1], [2, 1]):
            try:
                state.add_(1)
                value = use(torch.tensor(places))
                state.mul_(2)
                value.backward()
                yield value
            except (IndexError, RuntimeError) as error:
                yield f"{type(error).__name__}: {error}"
            yield state
    yield table.grad
    try:
        state[1:].copy_(state[:1]), table.data[1:].copy_(table.data[:-1])
    except RuntimeError as error:
        yield str(error)


def derivatives() -> Iterator[Any]:
    """Second derivatives, transformations, recurrent networks, ops with sizes that data decides."""
    x = torch.randn(4, 4, requires_grad=True)
    (g,) = torch.autograd.grad((x @ x).trace(), x, create_graph=True)
    yield torch.autograd.grad(g.sum(), x)[0]
    yield torch.func.vmap(torch.func.grad(lambda v: (v**3).sum()))(x.detach())
    cell = nn.LSTM(3, 4, batch_first=True)
    out, _ = cell(torch.randn(2, 5, 3))
    out.sum().backward()
    yield from (out, cell.weight_ih_l0.grad)
    drawn = torch.randn(6)
    yield from (torch.nonzero(drawn > 0), torch.unique(drawn.round()), drawn.sort()[1])
    yield from (torch.randperm(5), nn.init.xavier_uniform_(torch.empty(2, 3)), torch.rand(2))


def seen(script: Any) -> list[Any]:
    torch.manual_seed(0)
    plain = lambda x: x.detach().numpy().copy() if isinstance(x, torch.Tensor) else x  # noqa: E731
    return [plain(x) for x in script()]


def parts() -> Iterator[Any]:
    """Slices of a data set, buffers filled row by row, parts that overlap and are written to."""
    data, weight = torch.randn(40, 4), torch.randn(4, 2, requires_grad=True)
    rows, columns = torch.zeros(5, 3), torch.zeros(3, 5)
    for i in range(0, 40, 8):
        (data[i : i + 8] @ weight).square().mean().backward()
        rows[i // 8] = data[i, :3] * 2
        columns[:, i // 8] = rows[i // 8] + rows[i // 8 - 1]
        yield (rows[i // 8] + columns[:, i // 8]).sum().item()
    yield from (weight.grad, rows, columns)
    for turn in range(4):
        after = torch.zeros(2, dtype=torch.float64)
        a, b, c = data[turn : turn + 3], data[turn + 2 : turn + 5], data[turn + 8 : turn + 10]
        read = a + b
        b.mul_(2)
        c[0] = read[0]
        data[turn + 9, 1:3] = 7
        for t in reversed(range(4)):
            rows[t] = rows[t + 1] * 0.5 + rows[t]
        after += c.double().sum(1)
        turned = weight.detach().t()
        weight.data[turn] = a[2, :2]
        yield from (read, a + b, c * 1, rows.sum(), turned + 1, after, data[turn + 1 : turn + 9])


@pytest.mark.parametrize("script", [training, memory, arrays, mistakes, derivatives, parts])
def test_a_script_gives_what_it_gives_eagerly(script: Any) -> None:
    """Numbers, arrays and texts, bit for bit."""
    expected = seen(script)
    script_mode.begin()
    try:
        found = seen(script)
        tree = script_mode.trace_tree()
    finally:
        script_mode.end()
    assert tree is not None and script_mode.trace_tree() is None
    for mine, eager in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, eager)
    if script is training:
        assert tree.runs > 6


def test_the_place_of_a_part_does_not_matter() -> None:
    """Batches that are slices, and rows of a buffer, are one segment wherever they lie."""
    data, buffer = torch.randn(96, 4), torch.zeros(12, 4)
    script_mode.begin()
    try:
        for i in range(12):
            buffer[i] = data[8 * i : 8 * i + 8].mean(0)
            assert (buffer[i] * 2).sum().item() != 0
        tree = script_mode.trace_tree()
        assert tree is not None and len(tree.partitions()) == 1 and tree.runs == 10
    finally:
        script_mode.end()
    np.testing.assert_allclose(buffer.numpy(), data.numpy().reshape(12, 8, 4).mean(1), rtol=1e-5)


def test_a_segment_that_ends_within_an_op_does_not_end_waiting() -> None:
    """Giving up while an op was noted left it behind: nobody ran it."""
    x = torch.zeros(64)
    script_mode.begin()
    try:
        tree = script_mode.trace_tree()
        assert tree is not None
        for n in range(1, 30):
            tree.fresh = PATIENCE
            x[n : 2 * n] += 1
            x[n + 1 : 2 * n + 1] += torch.ones(n)
            x[: n + 1].add_(1)
        found = x.tolist()
    finally:
        script_mode.end()
    expected = np.zeros(64)
    for n in range(1, 30):
        expected[n : 2 * n] += 1
        expected[n + 1 : 2 * n + 1] += 1
        expected[: n + 1] += 1
    assert found == expected.tolist()


@pytest.mark.parametrize(("waiting", "alone"), [(2.0, 1.0), (1.0, 2.0), (1.0, 1.01)])
def test_the_faster_way_goes_on(
    waiting: float, alone: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stretch is timed in both ways and goes its own; what is no faster changes none."""
    now, waits = 0.0, True
    ways: dict[str, list[bool]] = {"here": [], "there": []}
    monkeypatch.setattr(autotune, "process_time", lambda: now)
    judge = autotune.Autotuner(TraceTree())
    for _ in range(60):
        for place in ways:
            waits = judge.waits(place, waits)
            ways[place].append(waits)
            now += {"here": (alone, waiting), "there": (waiting, alone)}[place][waits]
    trials = autotune.FIRST + autotune.TIMED
    for place, faster in (("here", waiting < alone), ("there", alone < waiting)):
        assert ways[place][: 2 * trials] == [True] * trials + [False] * trials
        if abs(waiting - alone) > 0.1:
            assert set(ways[place][2 * trials :]) == {faster}
        else:
            assert set(ways[place][2 * trials :]) == {False}


class Judge(autotune.Autotuner):
    """Ops wait at first, then run one by one, in turn; notes the places."""

    def waits(self, place: Any, waiting: bool) -> bool:
        self.places = [*getattr(self, "places", []), place]
        return len(self.places) // 6 % 2 == 0


# where it is noted what waits
_WAITS = tuple(
    f"mindtorch.engine.{name}" for name in ("compile.lazy", "compile.runtime", "state")
)


@functools.cache
def _loops(code: CodeType) -> set[int]:
    """The lines where loops begin anew."""
    lines = dict(dis.findlinestarts(code))
    instructions = list(dis.get_instructions(code))
    targets = {i.argval for i in instructions if i.opname == "JUMP_BACKWARD"}
    found, line = set(), 0
    for each in instructions:
        line = lines.get(each.offset, line)
        if each.offset in targets:
            found.add(line)
    return found


class _Interrupt:
    """Raises at the n-th place of ours where Python may take a signal: where a function begins,
    after a call of one in C, and where a loop begins anew."""

    def __init__(self, at: int) -> None:
        self.left = at
        self._lines: dict[int, int] = {}  # by ids: to hold frames is to hold tensors

    def __enter__(self) -> None:
        sys.settrace(self._trace)
        sys.setprofile(self._profile)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        sys.settrace(None)

    def _count(self) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "c_return" and frame.f_globals.get("__name__", "").startswith(_WAITS):
            self._count()

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_globals.get("__name__", "").startswith(_WAITS):
            return None
        if event == "call":
            self._lines[id(frame)] = 0
            self._count()
        elif event == "line":
            before, self._lines[id(frame)] = self._lines[id(frame)], frame.f_lineno
            if frame.f_lineno < before and frame.f_lineno in _loops(frame.f_code):
                self._count()
        return self._trace


class _InTurn(autotune.Autotuner):
    """Ops wait but for those between an optimizer's step and the next look at data."""

    def waits(self, place: Any, waiting: bool) -> bool:
        return place[0] != "step"


def _interrupted(first: int, every: int) -> int:
    """Interrupt a step at the first such place and each so many behind it; how many there are."""
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Dropout(0.3), nn.Linear(2, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x, mean = torch.randn(8, 3), torch.zeros(8, 2)
    other = torch.randn(8, 3)

    def step(x: Any = x) -> float:
        optimizer.zero_grad()
        made = net(x)
        mean.mul_(0.9).add_(made.detach(), alpha=0.1)
        loss = made.square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    def held() -> list[Any]:
        return [*net.state_dict().values(), mean, torch.get_rng_state()]

    def numbers() -> list[Any]:
        return [step(), *[v.tolist() for v in held()[:-1]]]

    numbers()
    kept = [v.clone() for v in held()]

    def as_it_was() -> None:
        with torch.no_grad():
            for now, before in zip(held()[:-1], kept[:-1], strict=True):
                now.copy_(before)
        torch.set_rng_state(kept[-1])

    as_it_was()
    expected = numbers()
    script_mode.begin()
    try:
        run = script_mode._active[-1]
        run.autotuner = _InTurn(run.tree)
        for _ in range(4):
            step()
        for at in range(first, 1_000_000, every):
            step(other)  # so that kernels get other arrays in the step that is interrupted
            interrupt = _Interrupt(at)
            try:
                with interrupt:
                    step()
            except KeyboardInterrupt:
                pass
            if interrupt.left > 0:
                return at
            as_it_was()
            assert numbers() == expected, at
        raise AssertionError
    finally:
        script_mode.end()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("first", "every"), [(3, 7), pytest.param(1, 1, marks=pytest.mark.exhaustive)]
)
def test_an_interrupt_at_any_place_leaves_the_next_steps_right(first: int, every: int) -> None:
    """What waits at a KeyboardInterrupt is run, or forgotten, as a whole."""
    assert _interrupted(first, every) > 200


def watched_loop(body: Any, count: int) -> tuple[list[Any], list[bool]]:
    """The places that a loop comes by, and after each round whether ops wait."""
    ways = []
    script_mode.begin()
    try:
        run = script_mode._active[-1]
        run.autotuner = judge = Judge(run.tree)
        for _ in range(count):
            body()
            ways.append(type((torch.ones(2) + 1).flat) is not np.ndarray)
        return getattr(judge, "places", []), ways
    finally:
        script_mode.end()


@pytest.mark.parametrize("kind", ["item", "tolist", "numpy", "bool", "a model", "backward"])
def test_loops_without_an_optimizer_choose_their_way(kind: str) -> None:
    """They come by one place in both ways: where they look, or at a round that looks at nothing;
    what is computed is the same."""
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    net[0].weight.data.copy_(torch.eye(3))
    net[0].bias.data.zero_()
    results: list[Any] = []
    x = torch.ones(2, 3)

    def body() -> None:
        with torch.set_grad_enabled(kind == "backward"):
            made = net(x * (len(results) + 1))
        results.append(made)
        if kind == "backward":
            made.sum().backward()
        elif kind == "bool":
            assert made.sum() > 0
        elif kind != "a model":
            results[-1] = torch.tensor(getattr(made.sum(), kind)())

    rounds = ROUNDS if kind in ("a model", "backward") else 1
    places, ways = watched_loop(body, 24 * rounds)
    assert len(places) == 24 and len(set(places)) == 1
    assert ways == [i // rounds // 6 % 2 == 0 for i in range(1, 24 * rounds + 1)]
    assert [r.sum().item() for r in results] == [6.0 * (i + 1) for i in range(24 * rounds)]
    if kind == "backward":
        assert net[0].bias.grad.tolist() == [2.0 * 24 * rounds] * 3


def test_other_threads_come_by_no_place() -> None:
    """Their calls of models and looks at data are their own affair."""
    found: list[float] = []
    net = nn.Linear(3, 1)

    def body() -> None:
        def work() -> None:
            with torch.no_grad():
                found.extend(net(torch.ones(3)).item() for _ in range(9))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    places, _ = watched_loop(body, 2)
    assert not places and len(set(found)) == 1 and len(found) == 18


def test_calls_within_a_model_are_no_rounds() -> None:
    """Nor those that keep gradients: a cell's loop is one segment with its backward pass."""
    cell = nn.Sequential(nn.Linear(3, 3), nn.Tanh())

    class Unrolled(nn.Module):
        def forward(self, x: Any) -> Any:
            for _ in range(20):
                x = cell(x)
            return x

    net, x = Unrolled(), torch.ones(3)

    def body() -> None:
        with torch.no_grad():
            net(x).sum().item()
        state = x
        for _ in range(20):
            state = cell(state)
        state.sum().item()

    places, _ = watched_loop(body, 8)
    assert len(places) == 16 and len(set(places)) == 2


def test_counters_of_modules_do_not_end_segments() -> None:
    """A forward and a backward pass through batch norms are one segment."""
    net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)) for _ in range(3)])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    script_mode.begin()
    try:
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(5, 4)).sum().backward()
            optimizer.step()
        tree = script_mode.trace_tree()
        assert tree is not None and len(tree.partitions()) == 1
    finally:
        script_mode.end()
    assert net[0][1].num_batches_tracked.item() == 4


def test_a_segment_met_once_holds_no_more_than_eager_code() -> None:
    """Ops that run one by one drop what no later one reads."""
    x = torch.ones(250_000)
    script_mode.begin()
    tracemalloc.start()
    try:
        made = x
        for i in range(20):
            made = made * (i + 2.0)
        assert made.isinf().sum().item() == 0
        assert tracemalloc.get_traced_memory()[1] < 4 * x.nbytes
    finally:
        tracemalloc.stop()
        script_mode.end()


def test_a_script_that_never_repeats_is_left_alone() -> None:
    """After some segments ops run one by one, until an optimizer's step."""
    w = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    script_mode.begin()
    try:
        for n in range(1, 40):
            assert (torch.ones(n) * 2).sum().item() == 2 * n
        assert type((torch.ones(2) + 1).flat) is np.ndarray
        w.sum().backward()
        optimizer.step()
        assert type((torch.ones(2) + 1).flat) is not np.ndarray
    finally:
        script_mode.end()
    assert w.item() == pytest.approx(-0.1)


def test_forked_children_work_op_by_op() -> None:
    """A loader's worker processes see real tensors."""
    script_mode.begin()
    try:
        data = torch.utils.data.TensorDataset(torch.arange(8.0))
        loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=1)
        assert [x[0].sum().item() for x in loader] == [6, 22]
    finally:
        script_mode.end()


@pytest.mark.parametrize(
    "looking",
    [
        lambda: torch.profiler.profile(),
        lambda: torch.utils.flop_counter.FlopCounterMode(display=False),
        lambda: watch("overflow", on_hit="collect"),
    ],
    ids=["profile", "flops", "watch"],
)
def test_who_looks_at_each_op_sees_a_script_that_runs_compiled(looking: Any) -> None:
    """In its block ops run one by one, so that seeds, numbers and prints are there; after it the
    script runs compiled again, with what was seen before."""
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step() -> float:
        torch.manual_seed(0)
        optimizer.zero_grad()
        loss = net(torch.randn(4, 3)).square().mean()
        loss.backward()
        optimizer.step()
        assert loss.detach().numpy() == loss.item()
        return loss.item()

    script_mode.begin()
    try:
        seen = script_mode.trace_tree()
        losses = [step()]
        with looking():
            assert script_mode.trace_tree() is None
            losses.append(step())
        assert script_mode.trace_tree() is seen
        losses.append(step())
    finally:
        script_mode.end()
    assert losses[0] > losses[1] > losses[2]
