"""``torch.compile`` of modules that ``fully_shard`` has divided, over two processes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import forked, ranks_of


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    """What two processes found."""
    folder = tmp_path_factory.mktemp("compiled_sharded")
    program = str(PROGRAMS / "distributed" / "compiled_sharded_program.py")
    return ranks_of([*forked(2), program, str(folder)], 2, folder)


@pytest.mark.parametrize("kind", ["plain", "kept", "repeated", "of 16 bits", "computed again"])
def test_whole_steps_are_eager_ones_and_compiled(found: list[Any], kind: str) -> None:
    """Bit by bit, over frozen parameters, looks in between and gradients that add up. Activations
    that are computed again need the generator's state, so that Python runs each time."""
    ran = ["lazy", "run"] if kind == "computed again" else ["run"]
    for each in found:
        assert each[f"steps, {kind}"] == [True, ran]


@pytest.mark.parametrize("freed", ["", ", freed"])
@pytest.mark.parametrize(
    "way", ["blocks, wrapped", "blocks, in place", "model", "model in place", "loss"]
)
def test_backward_outside_of_what_is_compiled(found: list[Any], way: str, freed: str) -> None:
    """Blocks compiled before they are divided, whole models after it, a loss: eager's numbers."""
    for each in found:
        assert each[way + freed] == [True, ["lazy" if way == "loss" else "run"]]


def test_a_call_that_raises_leaves_a_state_to_reset(found: list[Any]) -> None:
    for each in found:
        same, message, goes_on = each["failing step"]
        assert same and goes_on and "index out of range" in message
