"""Deliberate faults in five programs: `mindtorch compare` must name the module and the phase.

The first side is real PyTorch, the second mindtorch with the fault, so that what is found is found
among the libraries' own differences in rounding.
"""

import importlib.util
from pathlib import Path

import pytest

from tests.support import compare_more_programs
from tests.support.compare_in_process import compared
from tests.support.compare_programs import FAULTS, PROGRAMS

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)

FAITHFUL = [
    (name, variant)
    for name in PROGRAMS
    for variant in (("--seed", "0"), ("--seed", "1"), ("--dtype", "float64"), ("--amp",))
    # oneDNN has no bfloat16 LSTM on most processors: real torch raises.
    if (name, variant) != ("lstm", ("--amp",))
] + [("lstm", ("--seed", "2"))]


@pytest.mark.parametrize(
    ("name", "fault"), [("mlp", "gradient hook"), ("vae", "wrong backward")], ids=str
)
def test_a_fault_is_found(name: str, fault: str, tmp_path: Path) -> None:
    """Two of many that CI has time for: a gradient changed on its way, and a wrong backward."""
    outcome = compared(PROGRAMS[name], fault, tmp_path, steps=2)
    assert outcome.kind == "differ" and outcome.real is not None
    assert (outcome.real.phase, outcome.real.path) == FAULTS[name, fault]


def test_memory_that_nobody_wrote_is_no_difference(tmp_path: Path) -> None:
    """What `torch.empty` and its kin happen to have is the same on both sides, and twice."""
    program = compare_more_programs.PROGRAMS["teacher"]
    assert compared(program, "", tmp_path, steps=2).status == 0


@pytest.mark.exhaustive
def test_a_compiled_second_side_is_compared_as_one_call(tmp_path: Path) -> None:
    """Compiled, a faithful model agrees; what is inside it is looked at on neither side."""
    outcome = compared(PROGRAMS["mlp"], "", tmp_path, "--graph", steps=3)
    assert outcome.kind == "agree", outcome.words()
    assert outcome.names == ("torch", "mindtorch-graph")
    assert [row.label for row in outcome.agreement.rows[2:]] == ["Net", "CrossEntropyLoss"]


@pytest.mark.exhaustive
def test_at_least_38_of_40_faults_are_named(tmp_path: Path) -> None:
    """The bar of the whole tool: the right module and the right phase."""
    missed = []
    for number, ((name, fault), wanted) in enumerate(FAULTS.items()):
        outcome = compared(PROGRAMS[name], fault, tmp_path / str(number))
        found = (outcome.real.phase, outcome.real.path) if outcome.real else None
        if outcome.kind != "differ" or found != wanted:
            missed.append((name, fault, outcome.kind, found))
    assert len(FAULTS) >= 40
    assert len(missed) <= len(FAULTS) - 38 - (len(FAULTS) - 40), missed


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "variant"), FAITHFUL, ids=str)
def test_a_faithful_run_raises_no_alarm(
    name: str, variant: tuple[str, ...], tmp_path: Path
) -> None:
    """Twenty runs without a fault, some of twenty steps, in float64 and under autocast."""
    steps = 20 if variant == ("--seed", "1") else 4
    outcome = compared(PROGRAMS[name], "", tmp_path, *variant, steps=steps)
    assert outcome.status == 0, outcome.words()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", compare_more_programs.PROGRAMS)
def test_faults_of_other_kinds_are_named(name: str, tmp_path: Path) -> None:
    """A ViT, MobileNetV3's block, a GAN, translation, L-BFGS, graphs, tied weights: a faithful run
    raises no alarm, each fault is named."""
    program = compare_more_programs.PROGRAMS[name]
    assert compared(program, "", tmp_path / "faithful", steps=3).status == 0
    for at, ((owner, fault), place) in enumerate(compare_more_programs.FAULTS.items()):
        if owner == name:
            outcome = compared(program, fault, tmp_path / str(at), steps=3)
            assert outcome.real is not None, fault
            assert (fault, outcome.real.phase, outcome.real.path) == (fault, *place)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "variant"), [("sage", "--graph"), ("tied", "--amp")], ids=str)
def test_rounding_that_is_made_large_is_no_alarm(name: str, variant: str, tmp_path: Path) -> None:
    """Adagrad's steps of noise move a batch norm's mean within a compiled model; in bfloat16 a sign
    turns at the kink of the loss."""
    program = compare_more_programs.PROGRAMS[name]
    outcome = compared(program, "", tmp_path, variant, steps=3)
    assert outcome.kind == "rounding", outcome.words()
