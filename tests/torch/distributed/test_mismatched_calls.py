"""Processes that call different operations are told so, each by name, and never get numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
}  # fmt: skip


@pytest.mark.parametrize("way", ["mpi", "sockets"])
def test_both_operations_are_named(way: str, tmp_path: Path) -> None:
    """By both processes, over either transport, with small and with large arrays."""
    variables = {"MINDTORCH_DISTRIBUTED": "sockets"} if way == "sockets" else {}
    command = [*torchrun(2), str(PROGRAMS / "mismatched_calls_program.py"), str(tmp_path)]
    for kind, found in ranks_of(command, 2, tmp_path, limit=300, **variables):
        assert kind == ("MpiGroup" if way == "mpi" else "ProcessGroup")
        check(found)


def check(found: dict[str, Any]) -> None:
    assert found.keys() == OTHERS.keys()
    for name, texts in found.items():
        for text, size, other in zip(texts, (10, 100000), OTHERS[name], strict=True):
            first = text.partition("\n")[0]
            assert f"rank 0 waits in all_reduce of {size} float32, rank 1 waits in {other}" in first
