"""What is counted of the house may fall, and not rise."""

from __future__ import annotations

import pytest

from tests.architecture import counts, import_graph
from tests.architecture.counts import Count

UPDATE = "python tests/architecture/counts.py --update"


def risen(found: dict[str, Count]) -> list[str]:
    """A text for each count that is above what was recorded, with the places that are new."""
    recorded = counts.budget()
    texts = []
    for name, count in found.items():
        allowed = max(recorded[name].values())  # up to the bar it may rise
        if count.value > allowed:
            places = counts.new_places(name, count)
            lines = [f"{name}: {count.value}, of which {allowed} are allowed; new:", *places]
            texts.append("\n    ".join(lines))
    return texts


def test_counts_of_the_sources_do_not_rise() -> None:
    """Circles, imports inside functions, repeated mechanisms and so on: each has a budget."""
    assert not (texts := risen(counts.static_counts())), "\n".join(texts)


def test_counts_of_calls_do_not_rise() -> None:
    """Frames of warm calls, wrappers around public functions, tables of their names."""
    assert not (texts := risen(counts.measured_counts())), "\n".join(texts)


def test_what_has_fallen_is_recorded() -> None:
    """So that it does not rise again."""
    recorded = counts.budget()
    fallen = [
        f"{name}: {count.value}, recorded {recorded[name]['recorded']}"
        for name, count in counts.static_counts().items()
        if count.value < recorded[name]["recorded"]
    ]
    assert not fallen, "\n".join([f"fewer than recorded; run {UPDATE}", *fallen])


def test_every_count_has_a_budget() -> None:
    """A count without a bar would say nothing."""
    names = {*counts.STATIC, *counts.measured_counts()}
    assert set(counts.budget()) == names

@pytest.mark.parametrize("part", ["engine", "torch"])
def test_every_file_has_a_layer(part: str) -> None:
    """layers.toml says where a file stands; one that it does not name could point anywhere."""
    assert import_graph.without_layer(part) == []
