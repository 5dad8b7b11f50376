"""torch.profiler and torch.autograd.profiler: real times of real ops, in torch's tables."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import mindtorch.torch as ours
from mindtorch.engine.dispatch import state
from mindtorch.kernels.codegen.jit import from_source
from mindtorch.kernels.support.first_use_clock import clock as first_use
from mindtorch.torch import profiler
from tests.support.surface import check

# what PyTorch 2.13 prints; its own profiler is not run here, since ending it may crash the process
TITLES = (
    "Name Self CPU % Self CPU CPU total % CPU total CPU time avg CPU Mem Self CPU Mem # of Calls"
)


def _work(namespace: Any, **options: Any) -> Any:
    x = namespace.randn(30, 30, requires_grad=True)
    with namespace.profiler.profile(**options) as found:
        with namespace.profiler.record_function("mine"):
            y = (x @ x).relu().sum()
        y.backward()
    return found


def test_a_table_has_torchs_columns_and_ops() -> None:
    """Titles, rows of ops, nodes of backward and named blocks, and the total's line."""
    options: dict[str, Any] = {"profile_memory": True}
    found = _work(ours, **options)
    mine = found.key_averages().table(sort_by="cpu_time_total").splitlines()
    assert " ".join(mine[1].split()) == TITLES
    assert mine[-1].startswith("Self CPU time total: ")
    keys = {event.key: event for event in found.key_averages()}
    assert {"mine", "aten::matmul", "aten::relu", "aten::sum"} <= keys.keys()
    assert any(key.endswith("Backward0") for key in keys)
    assert keys["aten::relu"].cpu_memory_usage == 30 * 30 * 4
    assert state.interpreters == ()


def test_times_are_those_of_the_clock() -> None:
    """A block's total holds what it slept; its own time leaves its children out."""
    x = ours.randn(4)
    x.exp()  # kernels of first calls have a row of their own
    begun = time.perf_counter()
    with profiler.profile() as found, profiler.record_function("outer"):
        time.sleep(0.02)
        with profiler.record_function("inner"):
            time.sleep(0.03)
            x.exp()
    spent = (time.perf_counter() - begun) * 1e6
    times = {e.key: e for e in found.key_averages()}
    assert 50_000 <= times["outer"].cpu_time_total <= spent
    assert times["inner"].cpu_time_total >= 30_000
    assert times["outer"].self_cpu_time_total == pytest.approx(
        times["outer"].cpu_time_total - times["inner"].cpu_time_total
    )
    assert found.key_averages().self_cpu_time_total == pytest.approx(
        times["outer"].cpu_time_total
    )


def test_values_and_gradients_are_the_same_while_profiled() -> None:
    """The recorder stands at the door and changes nothing: in-place ops and views, too."""

    def step() -> Any:
        ours.manual_seed(0)
        x = ours.randn(4, 5, requires_grad=True)
        y = x * 2
        y[0].mul_(3)
        y += 1
        z = ours.dropout(y.t().softmax(0), 0.5, True)
        z.sum().backward()
        return z.detach().numpy(), x.grad.numpy(), float(z.sum().item())

    plain = step()
    with profiler.profile() as found:
        watched = step()
    for p, w in zip(plain, watched, strict=True):
        assert (p == w).all() if hasattr(p, "all") else p == w
    assert {"aten::multiply_", "aten::item"} <= {e.key for e in found.events()}


def test_shapes_group_calls() -> None:
    """group_by_input_shape keeps calls of different shapes apart."""
    with profiler.profile(record_shapes=True) as found:
        for n in (2, 2, 3):
            ours.ones(n, n) @ ours.ones(n, n)
    products = [e for e in found.key_averages(True) if e.key == "aten::matmul"]
    assert {(str(e.input_shapes), e.count) for e in products} == {
        ("[[2, 2], [2, 2]]", 2), ("[[3, 3], [3, 3]]", 1),
    }  # fmt: skip
    assert "Input Shapes" in found.key_averages(True).table()


def test_a_schedule_records_the_steps_that_torch_records() -> None:
    """Which steps are recorded, when a cycle is ready, and the steps' names."""
    ready: list[Any] = []
    x = ours.ones(3)
    plan = profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profiler.profile(
        schedule=plan,
        on_trace_ready=lambda p: ready.append(
            (p.step_num, sorted({e.name for e in p.events() if "Step" in e.name}))
        ),
    ) as found:
        for _ in range(9):
            x.exp()
            found.step()
    steps = [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert ready == [(4, steps[0]), (8, steps[1])]
    counts = {e.key: e.count for e in found.key_averages()}
    assert counts["aten::exp"] == 2 and counts["ProfilerStep*"] == 2


@pytest.mark.parametrize("keep", [False, True])
def test_a_cycle_that_warms_up_forgets_the_one_before(keep: bool) -> None:
    """Five steps end in the warm-up of the second cycle."""
    plan = profiler.schedule(wait=1, warmup=1, active=2)
    with profiler.profile(schedule=plan, acc_events=keep) as found:
        for _ in range(5):
            ours.ones(3).exp()
            found.step()
    counts = {e.key: e.count for e in found.key_averages()}
    assert counts.get("aten::exp") == (2 if keep else None)


@pytest.mark.parametrize("arguments", [
    "wait=1, warmup=1, active=2", "wait=0, warmup=1, active=1, repeat=2, skip_first=3",
    "wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1", "wait=-1, warmup=1, active=1",
    "wait=1, warmup=1, active=0",
])  # fmt: skip
def test_schedules_are_torchs(arguments: str) -> None:
    """The action of every step."""
    check(f"[torch.profiler.schedule({arguments})(i).name for i in range(15)]")


def test_a_trace_file_can_be_read(tmp_path: Any) -> None:
    """The file holds complete events with times and categories."""
    found = _work(ours, record_shapes=True)
    found.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    block = next(e for e in events if e["name"] == "mine")
    product = next(e for e in events if e["name"] == "aten::matmul")
    assert block["cat"] == "user_annotation" and product["cat"] == "cpu_op"
    assert block["ts"] <= product["ts"] <= product["ts"] + product["dur"] <= (
        block["ts"] + block["dur"]
    )
    assert product["args"]["Input Dims"] == [[30, 30], [30, 30]]
    profiler.tensorboard_trace_handler(str(tmp_path / "runs"), use_gzip=True)(found)
    assert [p.name.endswith(".pt.trace.json.gz") for p in (tmp_path / "runs").iterdir()] == [True]


def test_stacks_lead_to_the_line(tmp_path: Any) -> None:
    """with_stack keeps the callers of an op."""
    with profiler.profile(with_stack=True) as found:
        ours.ones(3).exp()
    event = next(e for e in found.events() if e.key == "aten::exp")
    assert "test_stacks_lead_to_the_line" in event.stack[0]
    found.export_stacks(str(tmp_path / "stacks"))
    assert "test_stacks_lead_to_the_line" in (tmp_path / "stacks").read_text()


def test_the_users_folder_may_have_the_librarys_name() -> None:
    """What is ours is told by where this library lies, not by a name within a path."""
    code = compile("y = ours.ones(3, requires_grad=True).exp()", "/home/mindtorch/train.py", "exec")
    space: dict[str, Any] = {"ours": ours}
    with profiler.profile(with_stack=True) as found, ours.autograd.set_detect_anomaly(True):
        exec(code, space)
    event = next(e for e in found.events() if e.key == "aten::exp")
    assert event.stack[0] == "/home/mindtorch/train.py(1): <module>"
    assert "/home/mindtorch/train.py" in "".join(space["y"].grad_fn.metadata["traceback_"])


@pytest.mark.parametrize("code", [
    "torch.profiler.profile(activities=[])",
    "torch.profiler.profile().key_averages()",
    "torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]).__enter__()",
    "torch.profiler.ProfilerAction.RECORD.value",
])  # fmt: skip
def test_wrong_uses_are_refused_as_torch_does(code: str) -> None:
    """Type and text of the errors."""
    check(code)


def test_the_old_profiler_counts_too() -> None:
    """torch.autograd.profiler.profile: table, totals, and nothing when it is not enabled."""
    x = ours.ones(3)
    with ours.autograd.profiler.profile() as found:
        x.exp()
        x.exp()
    assert found is not None
    assert [e.count for e in found.key_averages() if e.key == "aten::exp"] == [2]
    assert "aten::exp" in str(found) and found.self_cpu_time_total > 0
    with ours.autograd.profiler.profile(enabled=False) as nothing:
        x.exp()
    assert nothing is None
    with pytest.warns(UserWarning, match="with_flops"):
        ours.autograd.profiler.profile(with_flops=True)


def test_steps_of_optimizers_are_shown() -> None:
    """A step stands in the table under torch's name for it."""
    weight = ours.ones(2, requires_grad=True)
    optimizer = ours.optim.SGD([weight], lr=0.1)
    weight.sum().backward()
    with profiler.profile() as found:
        optimizer.step()
    assert [e.count for e in found.key_averages() if e.key == "Optimizer.step#SGD.step"] == [1]


def test_compiling_is_no_time_of_ops() -> None:
    """What a first call spends on its kernel has a row of its own."""
    name = "mindtorch::find or compile kernels"
    with profiler.profile() as found, profiler.record_function("first call"), first_use, first_use:
        time.sleep(0.05)
    times = {e.key: e for e in found.key_averages()}
    whole = next(e for e in found.events() if e.name == "first call").time_range.elapsed_us()
    assert times[name].cpu_time_total >= 50_000 and times[name].count == 1
    assert times["first call"].cpu_time_total + times[name].cpu_time_total == pytest.approx(whole)
    assert found.key_averages().self_cpu_time_total == pytest.approx(whole)

    source = "def thrice(x):\n    total = 0.0\n    for i in range(3):\n        total += x * i\n"
    with profiler.profile() as found:
        assert from_source(f"{source}    return total\n", "thrice", {})(2.0) == 6.0
    assert {e.key for e in found.key_averages()} == {name}


def test_products_have_the_op_that_torch_computes_them_by() -> None:
    """Scripts look for aten::addmm, aten::mm and aten::bmm; names and shapes are PyTorch's."""
    rows, weight, bias = ours.ones(6, 4), ours.ones(5, 4), ours.ones(5)
    batch = ours.ones(2, 3, 4)
    with profiler.profile(record_shapes=True) as found:
        ours.nn.functional.linear(batch, weight, bias)
        ours.nn.functional.linear(rows, weight)
        batch @ batch.mT
    events = {e.name: e for e in found.events()}
    assert events["aten::addmm"].input_shapes[:3] == ([5], [6, 4], [4, 5])
    assert events["aten::addmm"].cpu_parent.name == "aten::linear"
    assert events["aten::mm"].input_shapes == ([6, 4], [4, 5])
    assert events["aten::bmm"].input_shapes == ([2, 3, 4], [2, 4, 3])
    assert events["aten::bmm"].cpu_parent.self_cpu_time_total == pytest.approx(0.0)
