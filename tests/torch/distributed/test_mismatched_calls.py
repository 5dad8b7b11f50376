"""Processes that call different operations are told so, each by name, and never get numbers."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mindtorch.torch.distributed import _waits
from mindtorch.torch.distributed._waits import Wait
from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import ranks_of, torchrun

# by case: what rank 1 waits in where rank 0 is in all_reduce of so many float32
OTHERS = {
    "another_operation": ["all_gather of 10 float32", "all_gather of 100000 float32"],
    "another_shape": ["all_reduce of 18 float32", "all_reduce of 100008 float32"],
    "another_type": ["all_reduce of 10 float64", "all_reduce of 100000 float64"],
    "another_combination": [
        "all_reduce by MAX of 10 float32", "all_reduce by MAX of 100000 float32"
    ],
    "one_is_missing": ["broadcast of 10 float32", "broadcast of 100000 float32"],
    "other_data": [f"all_reduce of {n} float32 (1.weight)" for n in (10, 100000)],
    "a_message_that_nobody_sends": ["recv from rank 0", "recv from rank 0"],
    "another_group": ["all_reduce of 10 float32", "all_reduce of 100000 float32"],
}  # fmt: skip
# by case, what both wait in where the modules have equal sizes; they differ by their numbers alone
MODULES = {
    "sharded_layers_in_another_order":
        r"all_gather of (\d+ uint8) \(weight, bias of sharded module",
    "replicas_in_another_order":
        r"all_reduce of (\d+ float32) \(bucket 0 of DistributedDataParallel",
    "cut_layers_in_another_order":
        r"all_reduce of (\d+ float32) \(outputs of Linear, on this mesh module",
}  # fmt: skip


def test_both_operations_are_named(tmp_path: Path) -> None:
    """By both processes, over either transport, with small and with large arrays. The two jobs run
    at one time, since they wait for most of theirs."""

    def job(kind: str, **variables: str) -> None:
        (folder := tmp_path / kind).mkdir()
        command = [*torchrun(2), str(PROGRAMS / "mismatched_calls_program.py"), str(folder)]
        for group, found, waited in ranks_of(command, 2, folder, limit=300, **variables):
            assert waited and group == kind
            check(found)

    with ThreadPoolExecutor() as jobs:
        over_sockets = jobs.submit(job, "ProcessGroup", MINDTORCH_DISTRIBUTED="sockets")
        job("MpiGroup")
        over_sockets.result()


def check(found: dict[str, Any]) -> None:
    assert found.keys() == {*OTHERS, *MODULES, "in_the_background"}
    for text in found.pop("in_the_background"):
        assert "rank 0 waits in recv from rank 1, rank 1 waits in all_reduce of 3 float32" in text
    for name, pattern in MODULES.items():
        for text in found.pop(name):
            told = [f"rank {rank} waits in {pattern} (.)\\)" for rank in range(2)]
            both = re.search(", ".join(told), text)
            assert both is not None, text
            assert both[1] == both[3] and int(both[4]) == int(both[2]) + 1
    for name, texts in found.items():
        for text, size, other in zip(texts, (10, 100000), OTHERS[name], strict=True):
            first = text.partition("\n")[0]
            about = " (0.weight)" if name == "other_data" else ""
            own = f"rank 0 waits in all_reduce of {size} float32{about}"
            assert f"{own}, rank 1 waits in {other}" in first


class Mesh:
    """The part of a process's connections that is asked for what it waits for."""

    def __init__(self) -> None:
        self.rank = 0
        self.waits: dict[int, Wait] = {}
        self.turns: set[int] = set()
        self.sending: dict[int, int] = {}


# by rank, what others wait in, whom they need, and whether that is for ever
WAITS: list[tuple[dict[int, tuple[str, list[int], float]], str]] = [
    ({1: ("b", [2], 9), 2: ("c", [0], 9)},
     "rank 0 waits in a, rank 1 waits in b, rank 2 waits in c"),
    ({1: ("b", [2], 9), 2: ("c", [1], 9)}, ""),
    ({1: ("b", [2], 9), 2: ("c", [0], 0.1)}, ""),
    ({1: ("a", [0, 2], 9), 2: ("c", [3], 9)}, ""),
    ({1: ("b", [2], 9), 2: ("b", [0, 1], 9)}, ""),
    ({1: ("b", [2], 9)}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("others", "told"), WAITS)
def test_who_waits_for_each_other(
    others: dict[int, tuple[str, list[int], float]], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three in a ring; not who is in the same operation, has just come, or waits for another."""
    monkeypatch.setattr(_waits, "_AGAIN", 0)
    mesh: Any = Mesh()
    wait = Wait("a", "a", [1], 0.0)
    mesh.waits[threading.get_ident()] = wait

    def ask(ranks: list[int]) -> dict[int, str]:
        known = {r: others[r] for r in ranks if r in others}
        return {r: json.dumps([[t, t, whom, age]]) for r, (t, whom, age) in known.items()}

    text, keys = _waits.cycle_of(mesh, wait, ask)
    assert text.removeprefix("processes wait for each other: ") == told
    assert keys == ({0: "a", 1: "b", 2: "c"} if told else {})


def test_who_still_sends_may_end_what_others_wait_for() -> None:
    """A large message over a slow connection, from a thread, while the main one waits."""
    mesh: Any = Mesh()
    mesh.waits[threading.get_ident()] = Wait("a", "a", [1], 0.0)
    assert json.loads(_waits.told_of(mesh))[0][:3] == ["a", "a", [1]]
    mesh.sending[threading.get_ident() + 1] = 2
    assert _waits.told_of(mesh) == "[]"
