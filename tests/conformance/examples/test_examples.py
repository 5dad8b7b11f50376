"""The programs in migration_examples print the same numbers under PyTorch and under mindtorch."""

import ast
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import GOLDEN_FILES, ROOT

RTOL = 1e-4
NUMBER = re.compile(r"-?\b(?:\d+\.?\d*(?:e[+-]?\d+)?|nan|inf)\b")
EXAMPLES = Path("migration_examples")

# Every program with the arguments that keep it short; several runs where it has several models.
RUNS = [
    "row_rnn --epochs 1",
    "vae --epochs 1",
    "wgan_gp --iterations 6",
    "word_language_model --epochs 1 --model LSTM --tied",
    "word_language_model --epochs 1 --model GRU",
    "word_language_model --epochs 1 --model RNN_TANH",
    "word_language_model --epochs 1 --model Transformer",
    "time_sequence --steps 2",
    "siamese --epochs 1",
    "super_resolution --epochs 1",
    "gcn --epochs 12",
    "gcn --epochs 12 --dense",
    "gat --epochs 8",
    "dqn --episodes 8",
    "dcgan",
    "nano_gpt --max-iters 6",
    "nano_gpt --max-iters 4 --no-compile --dtype bfloat16",
    "min_gpt --max-iters 9",
    "resnet_cifar --epochs 1",
    "unet --epochs 1",
    "unet --epochs 1 --bilinear",
    "autoencoder --epochs 1",
    "seq2seq_attention --epochs 1",
    "matrix_factorization --epochs 2",
    "matrix_factorization --epochs 2 --bag",
    "neural_style --steps 10",
    "neural_style --steps 10 --optimizer adam",
    "maml --iterations 5",
    "maml --iterations 5 --first-order",
    "simclr --epochs 1",
    "distillation --epochs 1",
    "multi_task --epochs 1",
    "custom_function --steps 8",
    "custom_optimizer --steps 16",
    "checkpoint_resume --epochs 4",
    "ema_swa --epochs 3 --swa-start 1",
    "reinforce --episodes 8",
    "actor_critic --updates 6",
    "actor_critic --updates 6 --continuous",
    "ppo --updates 2",
    "ddpm --iterations 16 --timesteps 12",
    "pinn --adam 11 --lbfgs 6",
    "vision_transformer --epochs 1",
    "vq_vae --epochs 1",
    "vq_vae --epochs 1 --moving",
    "real_nvp --steps 12",
    "translation_transformer --epochs 1",
    "quantized_digits --epochs 1",
]


def script_of(name: str, repository: Path) -> Path:
    """The file of an example: one file, or a folder with a train.py."""
    single = repository / EXAMPLES / f"{name}.py"
    return single if single.exists() else repository / EXAMPLES / name / "train.py"


# Beside a CPU torch, torchvision needs its operators declared; the `compare` command does the same.
UNDER_PYTORCH = """
import runpy, sys
from mindtorch.tools.compare.torchvision_shim import declare_before_import
declare_before_import()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def output_of(command: list[str], repository: Path) -> str:
    """What a program prints; it must end well. One thread: a test runs beside others."""
    result = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def same_number(mine: str, theirs: str) -> bool:
    """Equal to RTOL, or to one unit of the last digit that was printed."""
    a, b = float(mine), float(theirs)
    digits = len(theirs.partition(".")[2].partition("e")[0]) if "." in theirs else 0
    unit = 0.0 if "e" in theirs or not digits else 1.01 * 10.0**-digits
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RTOL, abs_tol=unit)


def assert_same_lines(mine: str, theirs: str) -> None:
    """Line for line the same text, but for numbers within the tolerance."""
    assert len(mine.splitlines()) == len(theirs.splitlines()) > 0, mine
    for m, t in zip(mine.splitlines(), theirs.splitlines(), strict=True):
        assert NUMBER.sub("#", m) == NUMBER.sub("#", t)
        pairs = zip(NUMBER.findall(m), NUMBER.findall(t), strict=True)
        assert all(same_number(*pair) for pair in pairs), f"mindtorch: {m}\n  PyTorch: {t}"


# CI runs some that are short (the others of every fourth compile and compute for six to forty
# seconds) and compares with what PyTorch printed when the file was written (python -m
# tests.conformance.examples.test_examples writes it); `make test-all` runs all, under PyTorch too.
PRINTED = GOLDEN_FILES / "examples.json"
QUICK = [
    "row_rnn --epochs 1",
    "nano_gpt --max-iters 4 --no-compile --dtype bfloat16",
    "matrix_factorization --epochs 2 --bag",
    "maml --iterations 5 --first-order",
    "reinforce --episodes 8",
    "ddpm --iterations 16 --timesteps 12",
    "vq_vae --epochs 1 --moving",
]


def printed_by_pytorch(run: str, repository: Path) -> str:
    name, *arguments = run.split()
    script = str(script_of(name, repository))
    return output_of(["-c", UNDER_PYTORCH, script, *arguments], repository)


def printed_by_mindtorch(run: str, repository: Path) -> str:
    name, *arguments = run.split()
    script = str(script_of(name, repository))
    return output_of(["-m", "mindtorch", "run", script, *arguments], repository)


@pytest.mark.parametrize("run", QUICK)
def test_a_program_prints_what_it_printed_under_pytorch(run: str, repository: Path) -> None:
    """The whole way, from seed and data to the losses, through whatever the program calls."""
    assert_same_lines(printed_by_mindtorch(run, repository), json.loads(PRINTED.read_text())[run])


@pytest.mark.exhaustive
@pytest.mark.parametrize("run", RUNS)
def test_a_program_prints_what_it_prints_under_pytorch(run: str, repository: Path) -> None:
    """Both sides run now; what CI compares with is still what PyTorch prints."""
    theirs = printed_by_pytorch(run, repository)
    assert "." in theirs  # a loss was printed
    if run in QUICK:
        assert_same_lines(json.loads(PRINTED.read_text())[run], theirs)
    assert_same_lines(printed_by_mindtorch(run, repository), theirs)


def imported(script: Path) -> set[str]:
    """The top-level packages that a script imports."""
    names = set()
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


# A tool for both libraries; what PyTorch has not: servers, Lite, and code for microcontrollers.
_OURS = {
    "mindtorch_debug_layer_info": {"mindtorch"},
    "micro_digits": {"mindtorch"},
    "deploy_digits": {"mindtorch", "rich"},
    "mindspore_serving": {"mindtorch", "mindspore", "mindspore_serving"},
}


def test_no_program_knows_of_mindtorch(repository: Path) -> None:
    """What the examples show is that nothing in them had to change; what is written anew in
    MindSpore's spelling is named after.py."""
    found = sorted((repository / EXAMPLES).glob("**/*.py"))
    scripts = [script for script in found if script.name != "after.py"]
    assert len(scripts) > len({run.split()[0] for run in RUNS})
    for script in scripts:
        foreign = imported(script) - set(sys.stdlib_module_names)
        ours = _OURS.get(script.relative_to(repository / EXAMPLES).parts[0], set())
        assert ours or "mindtorch" not in script.read_text(), script
        assert foreign - ours <= {"torch", "torchvision", "numpy", "sklearn", "PIL"}, script


def test_a_difference_does_not_pass() -> None:
    """The comparison sees a wrong digit, a missing line, other words, and nan for a number."""
    assert_same_lines("a 1: loss 2.00001", "a 1: loss 2.00002")
    for mine in ("a 1: loss 2.0005", "a 2: loss 2.0000", "b 1: loss 2.0", "a 1: loss nan", ""):
        with pytest.raises(AssertionError):
            assert_same_lines(mine, "a 1: loss 2.0000")


if __name__ == "__main__":
    found = {run: printed_by_pytorch(run, ROOT) for run in QUICK}
    PRINTED.write_text(json.dumps(found, indent=1) + "\n")
