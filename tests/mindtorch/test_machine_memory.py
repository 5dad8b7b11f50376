"""The memory of the machine, where the system tells it and where it does not."""

import pytest

from mindtorch import machine_memory
from mindtorch.machine_memory import memory_of_machine


def test_a_part_of_it_is_free() -> None:
    total, free = memory_of_machine()
    assert 0 < free <= total


def test_all_counts_as_free_where_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, which has no /proc."""

    def untold(name: str) -> int:
        raise FileNotFoundError(name)

    known, _ = memory_of_machine()
    monkeypatch.setattr(machine_memory, "_of_meminfo", untold)
    total, free = memory_of_machine()
    assert total == free >= known
