"""`mindtorch parallel plan`: bytes of real processes, formulas by hand, the command."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import mindtorch.torch as torch
from mindtorch.planning.costs import Plan, Planner
from mindtorch.planning.facts import Facts, measure
from mindtorch.planning.link import Link, given_link, measured_link
from mindtorch.planning.mechanisms import MECHANISMS
from mindtorch.planning.structure import blocks_of, pairs_of, stages_of
from mindtorch.tools.parallel.command import memory_size, seconds
from mindtorch.tools.parallel.curve import curve_of
from mindtorch.tools.parallel.run import plan
from tests.programs.distributed.planned_step_program import MICROBATCHES, make
from tests.support.paths import PROGRAMS, ROOT
from tests.torch.distributed.jobs import started_ranks

PROGRAM = PROGRAMS / "distributed" / "planned_step_program.py"
LINK = given_link(1e9, 1e-5)


def facts_of(kind: str) -> tuple[Any, Facts]:
    model, x = make(torch, kind, "small")
    return model, measure(model, (x,), {}, torch.optim.AdamW(model.parameters()))


def planned(planner: Planner) -> dict[str, Plan]:
    return {each.name: each for each in planner.plans()}


@pytest.mark.parametrize(("kind", "size", "plans"), [
    ("gpt", 2, {"ddp": "DDP 2", "fsdp": "FSDP 2", "tp": "TP 2", "pp": "PP 2 of 4 microbatches"}),
    pytest.param(
        "mlp", 4, {"fsdp-tp": "FSDP 2 x TP 2", "pp": "PP 4 of 4 microbatches"},
        marks=pytest.mark.exhaustive,
    ),
])  # fmt: skip
def test_memory_is_that_of_real_processes(
    kind: str, size: int, plans: dict[str, str], tmp_path: Path
) -> None:
    """Parameters, gradients and states to 4 %, what forward keeps to 20 %."""
    model, facts = facts_of(kind)
    predicted = planned(Planner(facts, model, LINK, size, size * facts.samples))
    found = started_ranks(PROGRAM, size, tmp_path, kind, "small", *plans, PYTHONWARNINGS="ignore")
    for short, name in plans.items():
        memory = predicted[name].memory
        states = sum(memory[part] for part in ("parameters", "gradients", "optimizer"))
        assert states == pytest.approx(max(each[short]["states"] for each in found), rel=0.04)
        kept = max(each[short]["activations"] for each in found)
        assert memory["activations"] == pytest.approx(kept, rel=0.2)
    assert MICROBATCHES == 4


def test_the_structure_of_a_gpt() -> None:
    model, facts = facts_of("gpt")
    pairs = pairs_of(facts)
    names = [[c.path.split(".", 2)[-1] for c in pair.calls] for pair in pairs]
    attention = [f"attention.{name}" for name in ("q", "k", "v", "out")]
    assert sorted(names) == sorted([attention, ["first", "second"]] * 4)
    blocks = blocks_of(facts, model)
    assert [block.path for block in blocks] == [f"blocks.{i}" for i in range(4)]
    assert [len(stage) for stage in stages_of(facts, blocks, 4)] == [1] * 4
    assert sum(len(stage) for stage in stages_of(facts, blocks, 3)) == 4


def test_formulas() -> None:
    """Those of the page, by hand, for a model of one pair."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    facts = measure(model, (torch.ones(4, 8),), {}, torch.optim.Adam(model.parameters()))
    assert facts.copied > 0
    facts.fixed, facts.each, facts.update, facts.copied = 1.0, 0.5, 0.25, 1e-10
    size = 4 * (8 * 16 + 16 + 16 * 8 + 8)
    assert facts.trained == size and facts.saved == 4 * 4 * (8 + 16)
    found = planned(Planner(facts, model, LINK, 4, 32, overlap=0.5))
    ddp, fsdp, tp = found["DDP 4"], found["FSDP 4"], found["TP 4"]
    assert ddp.times["computation"] == 1 + 0.5 * 8
    assert ddp.times["gradients"] == pytest.approx((6 * 1e-5 + 1.5 * size / 1e9) / 2)
    assert ddp.times["buckets"] == pytest.approx(2 * size * 1e-10)
    assert "buckets" not in fsdp.times and "buckets" not in tp.times
    assert ddp.memory["activations"] == facts.saved * 2
    assert ddp.memory["optimizer"] == pytest.approx(2 * size, abs=20)
    assert fsdp.memory["parameters"] == size / 4 and fsdp.times["update"] == 0.25 / 4
    assert tp.memory["gradients"] == size / 4
    one = 6 * 1e-5 + 1.5 * (32 * 8 * 4) / 1e9
    assert tp.times["tensor parallel"] == pytest.approx(2 * one)
    assert 1 + 0.5 * 32 / 4 <= tp.times["computation"] < 1 + 0.5 * 32
    assert "3 blocks are fewer than 4 stages" in found["PP 4 of 4 microbatches"].reason
    assert "8 samples are not" in planned(Planner(facts, model, LINK, 5, 8))["DDP 5"].reason
    tight = planned(Planner(facts, model, LINK, 4, 32, limit=2.0 * size))
    assert "times the memory" in tight["DDP 4"].reason


def test_a_pipeline_waits() -> None:
    """The last microbatch has passed all stages after m + s - 1 turns of the slowest."""
    model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)])
    plans = {p.name: p for p in plan(model, (torch.ones(8, 8),), ranks=2, link=LINK)}
    found = plans["PP 2 of 4 microbatches"]
    waits, works = found.times["waiting for other stages"], found.times["computation"]
    assert waits == pytest.approx(works / 4)
    assert found.times["between stages"] == pytest.approx(5 * 2 * (1e-5 + 4 * 8 * 4 / 1e9))


def test_exchanges_take_what_groups_of_their_size_took() -> None:
    """Between measured sizes in proportion; other groups, and larger arrays, as rings."""
    curves = {"all_reduce": [(0.0, 1.0), (8.0, 5.0)]}
    pair = Link({"all_reduce": 1.0}, {"all_reduce": 4.0}, "", {}, curves, 2)
    four = replace(pair, groups={2: pair}, curves={"all_reduce": [(0, 2), (8, 6)]}, count=4)
    assert four.seconds("all_reduce", 4, 2) == pair.seconds("all_reduce", 4, 2) == 3
    assert four.seconds("all_reduce", 4, 4) == 4 and four.seconds("all_reduce", 4, 1) == 0
    assert pair.seconds("all_reduce", 16, 2) == 2 + 2 / 2 * 16 / 4
    assert four.seconds("all_reduce", 8, 3) == 4 + 4 / 3 * 8 / 4


def test_a_link_is_measured() -> None:
    link = measured_link()
    assert all(value > 0 for value in (*link.latency.values(), *link.bandwidth.values()))
    assert set(link.works) == set(MECHANISMS)
    assert all(link.work(name, 1 << 24) >= 0 for name in MECHANISMS)
    assert link.work("average", 1 << 24) > link.work("average", 256) > 0
    assert sum(link.sharded) > 0


def test_what_mechanisms_take() -> None:
    """Between measured sizes in proportion, beyond them by their bytes; of each cut layer a call,
    and of each layer that is cut by columns the sum of its input's gradient; the calls of sharded
    modules and of their parameters."""
    works = {
        "average": [(0.0, 1.0), (4.0, 3.0)], "gather": [(0.0, 0.0), (8.0, 4.0)],
        "reduce": [(0.0, 0.0), (8.0, 8.0)],
    }  # fmt: skip
    link = replace(LINK, works=works, call=7.0, sharded=(5.0, 0.5))
    assert link.work("average", 2) == 2 and link.work("average", 8) == 6
    assert LINK.work("average", 2) == 0
    assert link.hastened(2.0).work("average", 8) == 3 and link.hastened(2.0).call == 3.5
    assert link.hastened(2.0).sharded == (2.5, 0.25)
    model, facts = facts_of("gpt")
    found = planned(Planner(facts, model, link, 2, 2 * facts.samples))
    plain = planned(Planner(facts, model, LINK, 2, 2 * facts.samples))
    assert found["DDP 2"].times["buckets"] == link.work("average", facts.trained)
    sizes = [block.parameters for block in blocks_of(facts, model)]
    rest = facts.trained - sum(sizes)
    wholes = sum(2 * s / 2 + s for s in sizes) + rest / 2 + rest
    assert found["FSDP 2"].times["memory of wholes"] == pytest.approx(wholes)
    count = len(list(model.parameters()))
    assert facts.tensors == count
    assert found["FSDP 2"].times["calls"] == 5 * (len(sizes) + 1) + 0.5 * count
    pairs = pairs_of(facts)
    calls = sum(len(pair.calls) for pair in pairs)
    times = [each["TP 2"].times["tensor parallel"] for each in (found, plain)]
    assert times[0] - times[1] == pytest.approx(7 * calls)
    sent = [s for pair in pairs for s in (pair.rows.made, *[c.taken for c in pair.columns])]
    assert len(sent) == 4 * (4 + 2)
    exchanges = sum(LINK.seconds("all_reduce", 2 * size, 2) for size in sent)
    assert times[1] == pytest.approx(exchanges)
    pipeline = found["PP 2 of 4 microbatches"].times["gradients of microbatches"]
    assert 4 * facts.added * facts.trained / 2 <= pipeline <= 4 * facts.added * facts.trained


SCRIPT = """
import sys
import torch
model = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)])
optimizer = torch.optim.AdamW(model.parameters())
for step in range(int(sys.argv[1])):
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    print("step", step)
"""


def test_the_command(tmp_path: Path) -> None:
    """The script ends at its first step; a page and the numbers are written."""
    page, numbers, script = tmp_path / "p.html", tmp_path / "p.json", tmp_path / "train.py"
    script.write_text(SCRIPT)
    start = ["parallel", "plan", str(script), "--bandwidth", "25GB", "--ranks", "4"]
    drawn = tmp_path / "c.svg"
    enough = ["--memory", "1GiB", "--all", "--html", str(page), "--json", str(numbers),
              "--curve", str(drawn)]  # fmt: skip
    steps = [f"--arguments={count}" for count in (3, 1, 0)]
    runs = [[*enough, steps[0]], ["--memory", "100B", steps[1]], [steps[2]]]
    code = f"from mindtorch.tools.cli import main\nprint([main({start} + r) for r in {runs}])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert "[0, 1, 2]" in done.stdout, done.stderr
    assert "FSDP 4" in done.stdout and "25 GB/s, 10 us a message" in done.stdout
    assert "no plan fits" in done.stdout and "step 0" not in done.stdout
    assert "no optimizer made a step" in done.stderr
    found = json.loads(numbers.read_text())
    assert found["memory_limit"] == 2**30 and found["batch"] == 16
    assert {"DDP 4", "FSDP 4", "TP 4"} <= {each["name"] for each in found["plans"]}
    assert found["plans"][0]["name"] in page.read_text()
    titles = ElementTree.parse(drawn).iter("{http://www.w3.org/2000/svg}title")
    told = [str(each.text).partition(":")[0] for each in titles]
    assert {"DDP 1", "DDP 2", "DDP 4", "FSDP 2", "FSDP 4", "TP 2"} <= set(told), told


def test_a_curve() -> None:
    """Of each kind the fastest plan, by what one process alone does in a second."""
    model, facts = facts_of("gpt")
    points = curve_of(facts, model, LINK, 9, facts.samples)
    assert {point.ranks for point in points} == {1, 2, 4, 8}
    alone = Planner(facts, model, LINK, 1, facts.samples).plans()[0]
    for point in points:
        planner = Planner(facts, model, LINK, point.ranks, facts.samples * point.ranks)
        kind = [each for each in planner.plans() if not each.reason
                and (each.stages > 1, each.cut > 1, each.sharded and each.cut == 1)
                == (point.kind == "PP", point.kind == "TP", point.kind == "FSDP")]  # fmt: skip
        assert point.plan.seconds == min(each.seconds for each in kind)
        assert point.efficiency == alone.seconds / point.plan.seconds
    assert {p.kind for p in points if p.ranks == 4} == {"DDP", "FSDP", "TP", "PP"}
    assert not curve_of(facts, model, LINK, 1, facts.samples, limit=10.0)


@pytest.mark.parametrize(("text", "value"), [("16GB", 16e9), ("512MiB", 2**29), ("1.5k", 1500)])
def test_sizes(text: str, value: float) -> None:
    assert memory_size(text) == value


def test_wrong_arguments() -> None:
    assert seconds("5us") == pytest.approx(5e-6)
    for read, text in ((memory_size, "many"), (memory_size, "0GB"), (seconds, "-1")):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)
