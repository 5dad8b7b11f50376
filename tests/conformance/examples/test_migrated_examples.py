"""Programs migrated to another spelling print what the PyTorch programs printed.

Each folder has ``before.py`` (PyTorch), ``after.py`` and ``expected.txt``: what the first one
prints under real PyTorch.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.examples.test_examples import EXAMPLES, assert_same_lines

UNCHANGED = [
    "torch_small_cnn", "torch_mixed_precision", "torch_custom_optimizer", "torch_learning_rates"
]  # fmt: skip
MINDTORCH = [
    "mindtorch_value_and_grad", "mindtorch_custom_optimizer",
    "mindtorch_mixed_precision", "mindtorch_graph_mode", "mindtorch_debug_layer_info",
]  # fmt: skip
MINDSPORE = [
    "mindspore_network", "mindspore_half_by_hand", "mindspore_loss_scalers",
    "mindspore_model", "mindspore_accumulation", "mindspore_gradients", "mindspore_lenet",
    "mindspore_dataset", "mindspore_model_file",
]  # fmt: skip
TOGETHER = ["mindtorch_style", "mindspore_style"]
ONE_BY_ONE = UNCHANGED + MINDTORCH + MINDSPORE
IN_ONE_PROCESS = ONE_BY_ONE + TOGETHER
UNCHANGED_IN_SEVERAL = [
    "torch_data_parallel", "torch_fsdp_transformer", "torch_fsdp_tensor_parallel",
    "torch_fsdp_wrapped", "torch_pipeline_by_hand", "torch_pipeline_traced",
    "torch_pipeline_checkpoint", "torch_tensor_parallel", "torch_sequence_parallel",
]  # fmt: skip
SEVERAL_PROCESSES = [*UNCHANGED_IN_SEVERAL, "mindtorch_data_parallel"]
ENABLE = "from mindtorch.tools import mstorch_enable\n\n"


def environment(repository: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}


def output_of(repository: Path, *command: str) -> str:
    result = subprocess.run(
        [sys.executable, *command], env=environment(repository), capture_output=True, text=True,
        timeout=400,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def expected_of(repository: Path, name: str) -> str:
    """The text that PyTorch printed; `debug_layer_info` names the library."""
    text = (repository / EXAMPLES / name / "expected.txt").read_text()
    return text.replace("from pytorch", "from mindtorch")


def run_in_one_process(repository: Path, names: list[str]) -> dict[str, str]:
    scripts = {name: str(repository / EXAMPLES / name / "after.py") for name in names}
    runner = str(repository / "tests" / "programs" / "migrated_programs.py")
    found = json.loads(output_of(repository, runner, *scripts.values()))
    return {name: found[script] for name, script in scripts.items()}


@pytest.fixture(scope="module")
def outputs(repository: Path) -> dict[str, str]:
    """What the migrated programs print, all of them run by one process."""
    return run_in_one_process(repository, ONE_BY_ONE)


@pytest.mark.exhaustive
def test_programs_of_many_parts_print_the_same_numbers(repository: Path) -> None:
    """Everything together, one after another."""
    for name, text in run_in_one_process(repository, TOGETHER).items():
        assert_same_lines(text, expected_of(repository, name))


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_migrated_program_prints_the_same_numbers(
    name: str, outputs: dict[str, str], repository: Path
) -> None:
    """Losses, accuracies, scales, rates: real PyTorch's, to 1e-4 or the last digit printed."""
    assert_same_lines(outputs[name], expected_of(repository, name))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SEVERAL_PROCESSES)
def test_two_processes_print_the_same_numbers(name: str, repository: Path) -> None:
    """Data parallel, started by the program itself."""
    mine = output_of(repository, str(repository / EXAMPLES / name / "after.py"))
    assert_same_lines(mine, expected_of(repository, name))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", IN_ONE_PROCESS + SEVERAL_PROCESSES)
def test_the_stored_text_is_what_real_pytorch_prints(name: str, repository: Path) -> None:
    """Otherwise an example could be edited and still be compared with the old one."""
    theirs = output_of(repository, str(repository / EXAMPLES / name / "before.py"))
    assert_same_lines(theirs, (repository / EXAMPLES / name / "expected.txt").read_text())


@pytest.mark.parametrize("name", [*UNCHANGED, *UNCHANGED_IN_SEVERAL])
def test_pytorch_programs_change_in_their_first_line_only(name: str, repository: Path) -> None:
    """The promise of `mstorch_enable`."""
    before, after = ((repository / EXAMPLES / name / f).read_text()
                     for f in ("before.py", "after.py"))  # fmt: skip
    assert ENABLE in after and after.replace(ENABLE, "") == before


def test_every_folder_is_run_and_explained(repository: Path) -> None:
    """No example stands aside; each README says what differs."""
    folders = {path.parent.name for path in (repository / EXAMPLES).glob("*/after.py")}
    assert folders == {*IN_ONE_PROCESS, *SEVERAL_PROCESSES}
    overview = (repository / EXAMPLES / "README.md").read_text()
    for name in folders:
        text = (repository / EXAMPLES / name / "README.md").read_text()
        unchanged = name in UNCHANGED + SEVERAL_PROCESSES
        assert re.search(r"^\| PyTorch \|", text, re.MULTILINE) or unchanged
        assert f"({name}/README.md)" in overview
