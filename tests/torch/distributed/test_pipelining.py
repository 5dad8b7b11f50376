"""torch.distributed.pipelining: stages in processes train as one process and as PyTorch's do."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch.distributed.pipelining import (
    Pipe,
    SplitPoint,
    _orders,
    microbatch,
    pipe_split,
    pipeline,
)
from mindtorch.torch.distributed.pipelining._backward import all_gradients, input_gradients
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import assert_near, forked, ranks_of

PROGRAM = PROGRAMS / "distributed/pipelining_program.py"
GOLDEN = json.loads((GOLDEN_FILES / "pipelining.json").read_text())
nn = torch.nn


def processes(count: int, folder: Path) -> list[Any]:
    """What each of ``count`` processes found."""
    command = [*forked(count), str(PROGRAM), "mindtorch.torch", str(folder)]
    return ranks_of(command, count, folder)


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    return processes(2, tmp_path_factory.mktemp("pipelining"))


@pytest.mark.parametrize("case", list(GOLDEN[0]))
def test_pipelines_are_pytorchs(found: list[Any], case: str) -> None:
    """Losses, weights after training, outputs, gradients and errors, in both processes."""
    for mine, theirs in zip(found, GOLDEN, strict=True):
        assert_near(mine[case], theirs[case], 1e-5)


@pytest.mark.parametrize("case", ["mlp_gpipe", "gpt_1f1b", "resnet_1f1b"])
def test_twenty_steps_are_those_of_one_process(found: list[Any], case: str) -> None:
    """The process with the last stage has the losses that one process has; initial weights of a
    traced stage are the model's, bit for bit."""
    trained, alone, *about = found[1][case]
    assert len(trained[0]) == 20
    assert_near(trained[0], alone, 1e-5)
    assert case != "gpt_1f1b" or trained[0][-1] < trained[0][0] - 0.2
    for each in found:
        assert each[case][2:] == [[2, True]] * len(about)


def test_all_schedules_train_alike(found: list[Any]) -> None:
    """Losses of three steps of every schedule of several stages in a process."""
    for trained in found[0]["schedules"][0] + found[1]["schedules"][0]:
        if trained[0]:
            assert_near(trained[0], found[0]["schedules"][1], 1e-5)
    last = [sum(bool(t[0]) for t in each["schedules"][0]) for each in found]
    assert last == [2, 3]


def test_values_may_pass_by_a_stage(found: list[Any]) -> None:
    """Gradients and outputs are one process's where a value is used two stages later."""
    for each in found:
        count, losses, gradients, alone, output, whole = each["ends"]
        assert count == 4
        assert_near(gradients, alone, 1e-5)
        if output is not None:
            assert_near(output, whole, 1e-5)
            assert len(losses) == 4


def test_two_pipelines_of_two_stages(tmp_path: Path) -> None:
    """On a mesh of four processes, averaged by DistributedDataParallel or sharded by fully_shard,
    pipelines end with the weights of one process."""
    results = processes(4, tmp_path)
    for each in results:
        trained, alone, mine = each["four"]
        assert len(trained) == 3 and len(alone) == 4
        for losses, weights in trained:
            assert_near(weights, mine, 1e-5)
            assert len(losses) in (0, 4)
    for way in range(3):
        first, second = (results[rank]["four"][0][way][0] for rank in (1, 3))
        both = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
        assert_near(both, results[0]["four"][1], 1e-5)


# --- without processes ---------------------------------------------------------------------------


class _Stage:
    """What PyTorch's schedules want to know of a stage."""

    is_last = False
    submod = None

    def __init__(self, stages: int, ranks: int, index: int) -> None:
        self.num_stages, self.group_size, self.group_rank = stages, ranks, 0
        self.stage_index = index
        self.stage_index_to_group_rank: dict[int, int] = {}


def _texts(orders: Any) -> dict[int, list[str]]:
    return {
        rank: [str(a) for a in order if a is not None and "REDUCE" not in str(a)]
        for rank, order in orders.items()
    }


@pytest.mark.parametrize(("ranks", "count"), [(1, 2), (2, 2), (2, 6), (3, 6), (4, 8), (4, 12)])
def test_orders_are_pytorchs(ranks: int, count: int) -> None:
    """Each process computes in the order of PyTorch's schedules, idle times aside."""
    pytest.importorskip("torch")
    from torch.distributed.pipelining import schedules as theirs

    one = _Stage(ranks, ranks, 0)
    gpipe = theirs.ScheduleGPipe(one, count).pipeline_order  # type: ignore[arg-type]
    assert _texts(_orders.all_forward_first(ranks, count)) == _texts(gpipe)
    in_turn = _texts(theirs.Schedule1F1B(one, count).pipeline_order)  # type: ignore[arg-type]
    ours = _texts(_orders.one_forward_one_backward(ranks, count))
    # PyTorch's table of the last process, which it does not run by, begins with microbatch 1
    assert [ours[r] for r in range(ranks - 1)] == [in_turn[r] for r in range(ranks - 1)]
    for local in (1, 2, 3):
        stages: Any = [_Stage(ranks * local, ranks, i * ranks) for i in range(local)]
        for kind, made in (
            (theirs.ScheduleLoopedBFS, _orders.looped_breadth_first(ranks, local, count)),
            (theirs.ScheduleInterleaved1F1B,
             _orders.interleaved(ranks, local, count, ranks, False)),
            (theirs.ScheduleInterleavedZeroBubble,
             _orders.interleaved(ranks, local, count, ranks, True)),
        ):  # fmt: skip
            assert _texts(made) == _texts(kind(stages, count).pipeline_order), kind
    pair: Any = [_Stage(2 * ranks, ranks, 0), _Stage(2 * ranks, ranks, 2 * ranks - 1)]
    v_shaped = theirs.ScheduleZBVZeroBubble(pair, count).pipeline_order
    assert _texts(_orders.v_shaped(ranks, count)) == _texts(v_shaped)
    if count >= 2 * ranks:
        both = theirs.ScheduleDualPipeV(pair, count).pipeline_order
        assert _texts(_orders.both_ways(ranks, count)) == _texts(both)


@pytest.mark.parametrize("text", ["1F0", "12W3", "0REDUCE_GRAD", "(1F2;0B1)OVERLAP_F_B"])
def test_actions_are_read_from_their_texts(text: str) -> None:
    """A text, its action, and the text again."""
    assert str(_orders.Action.from_str(text)) == text
    assert _orders.Action.from_str(" ") is None
    with pytest.raises(RuntimeError, match="Invalid action string"):
        _orders.Action.from_str("F1")


class _Parts(nn.Module):
    """Linear, norm, convolution, recurrence and a product of a weight; two inputs."""

    def __init__(self, shared: bool) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(6, 6), nn.LayerNorm(6), nn.Linear(6, 6)
        self.conv, self.rnn = nn.Conv1d(2, 2, 3, padding=1), nn.GRU(6, 6, batch_first=True)
        self.weight = nn.Parameter(torch.randn(6, 6))
        self.shared = shared

    def forward(self, x: Any, y: Any) -> Any:
        h = torch.tanh(self.first(self.norm(x))) @ (self.weight * 2) + self.second(y)
        h, _ = self.rnn(self.conv(h))
        return h.relu(), h.sum(), y + (self.norm.bias if self.shared else 1)


@pytest.mark.parametrize("shared", [False, True])
def test_gradients_of_inputs_come_before_those_of_weights(shared: bool) -> None:
    """Both together are one backward's, bit for bit; a weight on two ways is not split."""
    torch.manual_seed(0)
    model = _Parts(shared)
    inputs = [torch.randn(3, 2, 6) for _ in range(2)]
    results = []
    for split in (False, True):
        model.zero_grad()
        given = [x.clone().requires_grad_() for x in inputs]
        outputs = model(*given)
        torch.manual_seed(1)
        gradients = [torch.randn_like(out) for out in outputs]
        if split:
            found, later = input_gradients(outputs, gradients, [*given, 3])
            assert all((p.grad is None) is not shared for p in model.parameters())
            later.run()
        else:
            found = all_gradients(outputs, gradients, [*given, 3])
        assert found[2] is None
        results.append([*found[:2], *(p.grad for p in model.parameters())])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_the_walk_to_inputs_leaves_products_for_weights() -> None:
    """A linear layer's two products are one in each of the walks."""
    layer = nn.Linear(6, 6)
    x = torch.randn(3, 6, requires_grad=True)
    out = layer(x)
    counts = []
    with torch.profiler.profile() as first:
        _, later = input_gradients([out], [torch.ones_like(out)], [x])
    with torch.profiler.profile() as second:
        later.run()
    for profile in (first, second):
        counts.append({e.key: e.count for e in profile.key_averages()}.get("aten::mm", 0))
    assert counts == [1, 1]


class _Marked(nn.Module):
    """``pipe_split`` in forward, a default argument, keyword arguments and a shared weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.second.weight = self.first.weight

    def forward(self, x: Any, *more: Any, factor: Any = 2, **named: Any) -> Any:
        x = self.norm(self.first(x)) + more[0]
        pipe_split()
        x = torch.nn.functional.dropout(x, 0.5) if x.shape[0] > 100 else x
        return {"out": self.second(x) * factor, "sum": x.sum() + named["extra"]}


def test_pipes_say_what_they_are() -> None:
    """Stages, their code, state and connections; the model is as it was before."""
    torch.manual_seed(0)
    model = _Marked()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    x, more, extra = torch.randn(5, 4), torch.randn(5, 4), torch.tensor(1.0)
    state = torch.get_rng_state()
    with pytest.warns(UserWarning, match="used in several stages"):
        pipe = pipeline(model, (x, more), {"extra": extra})
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [name for name, _ in model.named_parameters()] == [
        "first.weight", "first.bias", "second.bias", "norm.weight", "norm.bias"
    ]  # fmt: skip
    assert isinstance(pipe, Pipe) and pipe.num_stages == 2 and pipe.info().num_stages == 2
    assert pipe.replicated_params == [{"submod_0": "first.weight", "submod_1": "second.weight"}]
    assert list(pipe.get_stage_module(1).state_dict()) == ["second.weight", "second.bias"]
    assert "submod_1" in str(pipe) and not pipe.has_loss_and_backward
    model.eval()
    pipe.eval()
    mine, theirs = pipe(x, more, extra=extra), model(x, more, extra=extra)
    assert all(torch.equal(mine[key], theirs[key]) for key in ("out", "sum"))
    for wrong in (2, -1):
        with pytest.raises(ValueError, match=f"Invalid stage index {wrong}!"):
            pipe.get_stage_module(wrong)


def test_what_cannot_be_cut_is_refused() -> None:
    """Two ways to say where, a path that is not there, a branch on data."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    x = torch.randn(2, 2)
    spec = {"1": SplitPoint.BEGINNING}
    with pytest.raises(ValueError, match="Cannot specify both `split_spec` and `split_policy`"):
        pipeline(model, (x,), split_spec=spec, split_policy=lambda graph: graph)
    with pytest.raises(AttributeError, match="no attribute"):
        pipeline(model, (x,), split_spec={"7": SplitPoint.END})

    class Branch(nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(ValueError, match="branches on the value of a tensor"):
        pipeline(Branch(), (x,))
    assert pipeline(model, (x,), split_spec=spec).num_stages == 2


def test_a_policy_says_where_stages_end() -> None:
    """It is given the graph, and puts calls of pipe_split into it."""

    def policy(traced: Any) -> Any:
        second = [n for n in traced.graph.nodes if n.op == "call_module"][1]
        with traced.graph.inserting_before(second):
            traced.graph.call_function(pipe_split, (), {})
        return traced

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU())
    pipe = pipeline(model, (torch.randn(2, 2),), split_policy=policy)
    assert [name for name, _ in pipe.get_stage_module(1).named_parameters()] == [
        "1.weight", "1.bias"
    ]  # fmt: skip
    x = torch.randn(3, 2)
    assert torch.equal(pipe(x), model(x))


MICROBATCHES = [
    "m.split_args_kwargs_into_chunks((x, 3), {'k': x}, 2)",
    "m.split_args_kwargs_into_chunks((x,), None, 9)",
    "m.split_args_kwargs_into_chunks(([x, x], 1), {}, 2, ([S(1), S(0)], R()))",
    "m.split_args_kwargs_into_chunks((x,), {}, 2, (S(0), S(0)))",
    "m.split_args_kwargs_into_chunks((3,), {}, 2, (S(0),))",
    "m.split_args_kwargs_into_chunks((), {'k': x}, 3, None, {'k': S(1)})",
    "m.merge_chunks([(x, 1), (x, 1)], (S(1), None))",
    "m.merge_chunks([(x, 1), (x, 2)], (S(1), None))",
    "m.merge_chunks([x, x], None)",
    "m.merge_chunks([{'a': x}, {'a': x}], None)",
    "m.merge_chunks([(x, x), (x, x)], (S(0),))",
    "m.merge_chunks([x, x], m.sum_reducer)",
    "S.from_dict({'a': 1, 'b': 0})['a'].split_dim",
]


def _seen(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_seen(each) for each in value]
    return {k: _seen(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("code", MICROBATCHES)
def test_batches_are_cut_as_in_torch(code: str) -> None:
    """Arguments cut, outputs merged, and the kinds of errors."""
    theirs = pytest.importorskip("torch")
    from torch.distributed.pipelining import microbatch as their_microbatch

    results = []
    for library, module in ((torch, microbatch), (theirs, their_microbatch)):
        names = {"m": module, "S": module.TensorChunkSpec, "R": module._Replicate,
                 "x": library.arange(12.0).view(3, 4)}  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results.append(_seen(eval(code, names)))
            except Exception as error:
                results.append(type(error).__name__)
    assert results[0] == results[1]
