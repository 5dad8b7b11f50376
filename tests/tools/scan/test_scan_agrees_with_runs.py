"""What `mindtorch scan` says of a code base agrees with what running it shows, line by line.

timm and torchvision are scanned where they are installed;
tests/conformance/libraries/test_libraries.py says how.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from mindtorch.tools.scan.scanning import Finding, scan
from tests.support.paths import PROGRAMS, ROOT

pytestmark = pytest.mark.exhaustive

PROGRAM = PROGRAMS / "scan_program.py"
EXAMPLES = ROOT / "migration_examples"
RUNS = [
    "actor_critic --updates 1", "autoencoder --epochs 1", "custom_function --steps 2",
    "custom_optimizer --steps 2", "ddpm --iterations 2 --timesteps 4", "dqn --episodes 2",
    "gat --epochs 2", "maml --iterations 1", "min_gpt --max-iters 2",
    "nano_gpt --max-iters 2 --no-compile", "ppo --updates 1", "unet --epochs 1",
    "vision_transformer --epochs 1", "vq_vae --epochs 1",
]  # fmt: skip
# What a name that is not there raises; other errors come from arguments and data.
NOT_THERE = re.compile(
    r"not available in mindtorch|not implemented in mindtorch|mindtorch has no|cannot import name|"
    r"No module named|"
    r"(module '\S*(torch|mindspore)\S*'|'\w*Tensor' object|type object).*has no attribute"
)


Watched = tuple[dict[str, set[int]], set[tuple[str, int, str, str]], set[tuple[str, int]]]


def run(code: str, folder: Path, work: Path, *arguments: str) -> Watched:
    """(lines that ran by file, what was raised where, lines that an exception left)."""
    file = work / "watched"
    command = [sys.executable, str(PROGRAM), str(file), str(folder), code, *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    subprocess.run(command, cwd=work, env=environment, timeout=3000, capture_output=True)
    watched: Watched = pickle.loads(file.read_bytes())
    return watched


def last_part(finding: Finding) -> str:
    return finding.verdict.name.rpartition(".")[2]


def compare(path: Path, watched: Watched) -> tuple[int, list[str], list[str]]:
    """(uses that ran, names called supported that raised, names called missing that did not)."""
    (ran, raised, passed), result = watched, scan([path])
    failures: dict[tuple[str, int], list[str]] = defaultdict(list)
    for file, line, kind, text in raised:
        if kind in ("AttributeError", "ImportError", "ModuleNotFoundError", "NotImplementedError"):
            if NOT_THERE.search(text):
                failures[file, line].append(text)
    count, wrong, pessimistic = 0, [], []
    admitted = {
        (os.path.abspath(each.file), each.use.line)
        for each in result.findings
        if each.verdict.status == "missing"
    }
    for each in result.findings:
        file, line = os.path.abspath(each.file), each.use.line
        if line not in ran.get(file, ()) or each.use.kind == "annotation":
            continue
        count += 1
        texts = failures.get((file, line), [])
        named = rf"\b{re.escape(last_part(each))}\b|in mindtorch"
        own = [text for text in texts if re.search(named, text)]
        place = f"{file}:{line} {each.verdict.name} {own}"
        told = (file, line) in admitted
        if each.verdict.status in ("supported", "different") and own and not told:
            wrong.append(place)
        if each.verdict.status == "missing" and (file, line) not in passed:
            pessimistic.append(place)
    return count, wrong, pessimistic


def check(name: str, path: Path, watched: Watched) -> None:
    count, wrong, pessimistic = compare(path, watched)
    print(f"{name}: {count} uses ran, {len(wrong)} wrongly supported, {len(pessimistic)} wrongly "
          "missing")  # fmt: skip
    print("\n".join([*wrong, *pessimistic]))
    assert count and wrong == []
    assert len(pessimistic) <= 0.02 * count


@pytest.mark.parametrize("command", RUNS)
def test_a_program_agrees(command: str, tmp_path: Path) -> None:
    """Programs as people write them, run for a step or two."""
    name, *arguments = command.split()
    path = EXAMPLES / f"{name}.py"
    check(name, path, run(str(path), path, tmp_path, *arguments))


@pytest.mark.parametrize("package", ["torchvision", "timm"])
def test_a_package_agrees(package: str, tmp_path: Path) -> None:
    """All modules imported, and as much called as a generic call reaches."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        pytest.skip(f"{package} is not installed; conformance/libraries/test_libraries.py says how")
    folder = Path(found.origin).parent
    check(package, folder, run(package, folder, tmp_path))
