"""`mindtorch certify` keeps what real PyTorch does; `mindtorch verify` finds every fault that
changes a loss or a gradient, and needs no PyTorch."""

from __future__ import annotations

import copy
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mindtorch.tools import cli
from mindtorch.tools.certify.certificate import Certificate, StepRecord, check, spacing, ulps
from tests.support.paths import GOLDEN_FILES, PROGRAMS, ROOT

PROGRAM = PROGRAMS / "certified_program.py"
GOLDEN = GOLDEN_FILES / "certified_program.json"


def verify(certificate: Path, tmp_path: Path, fault: str = "") -> subprocess.CompletedProcess[str]:
    """`mindtorch verify` where `import torch` of a real torch fails."""
    (tmp_path / "torch").mkdir(exist_ok=True)
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('no PyTorch here')")
    environment = {**os.environ, "FAULT": fault, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    command = [sys.executable, "-m", "mindtorch", "verify", "--script", str(PROGRAM)]
    return subprocess.run(
        [*command, str(certificate)], env=environment, capture_output=True, text=True, cwd=tmp_path
    )


def test_a_certified_program_is_verified_without_pytorch(tmp_path: Path) -> None:
    """The certificate was written by PyTorch 2.13; here it is all there is of it."""
    done = verify(GOLDEN, tmp_path)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stdout + done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()[:4]] == ["agrees"] + ["yes"] * 3
    assert "agrees with PyTorch; largest: step " in done.stdout


FAULTS = (
    "pad", "epsilon", "bias", "cast", "gelu", "stale", "axis", "mask", "weight", "dampening",
    "decay", "reduction", "order", "scaled",
)  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, tmp_path: Path) -> None:
    """One thing is wrong in the run: the exit status says so, the text names a step."""
    done = verify(GOLDEN, tmp_path, fault)
    assert done.returncode == 1, done.stdout
    assert "first wrong: step " in done.stdout


@pytest.mark.exhaustive
def test_certifying_writes_what_was_committed(tmp_path: Path) -> None:
    """Losses and gradients of real PyTorch do not depend on the day, and within what is allowed not
    on the processor."""
    pytest.importorskip("torch")
    file = tmp_path / "new.json"
    assert cli.main(["certify", "--steps", "3", "-o", str(file), str(PROGRAM)]) == 0
    new, old = Certificate.load(file), Certificate.load(GOLDEN)
    assert check(new, old)[1] == []
    assert [len(s.losses) for s in new.steps] == [len(s.losses) for s in old.steps]
    assert len(new.allowed) == 3 and file.stat().st_size < 10_000


@pytest.mark.exhaustive
def test_programs_that_fail_or_make_no_step_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has its exit status, and the program's own traceback."""
    pytest.importorskip("torch")
    idle = tmp_path / "idle.py"
    idle.write_text("import torch\n")
    assert cli.main(["certify", "--runs", "0", str(idle)]) == 2
    assert "makes no step" in capsys.readouterr().err
    assert not (tmp_path / "idle.certificate.json").exists()
    monkeypatch.setenv("FAULT", "raises")
    assert cli.main(["certify", "-o", str(tmp_path / "x"), str(PROGRAM)]) == 1
    assert "ValueError: the program's own" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "No such file"),
        (b"\x00\xff\xfe", "no certificate"),
        (b"[1, 2]", "no certificate"),
        (b'{"format": 0}', "another version"),
        (b'{"format": 1, "steps": []}', "no certificate"),
    ],
)
def test_a_bad_certificate_is_status_2(
    content: bytes | None, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CI must not take a broken file for agreement."""
    file = tmp_path / "c.json"
    if content is not None:
        file.write_bytes(content)
    assert cli.main(["verify", str(file)]) == 2
    assert text in capsys.readouterr().err


def test_no_damage_to_a_certificate_goes_unnoticed_or_raises(tmp_path: Path) -> None:
    """Each value replaced by one of another kind, and files cut short: it is read, and then can be
    compared with, or it is a ValueError; nothing else."""
    whole = json.loads(GOLDEN.read_text())
    file = tmp_path / "c.json"

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        yield path
        if isinstance(value, (dict, list)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for key, each in items if value is whole else list(items)[:3]:
                yield from places(each, (*path, key))

    refused = 0
    for path in list(places(whole))[1:]:
        damages: tuple[Any, ...] = (None, "x", -7, [], {}, [1, [2]])
        for damage in damages:
            content = copy.deepcopy(whole)
            parent = content
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = damage
            file.write_text(json.dumps(content))
            try:
                found = Certificate.load(file)
            except ValueError as error:
                refused += 1
                assert str(error).startswith(str(file))
            else:
                if found.allowed:  # without it, verify refuses
                    check(found, found)
    assert refused > 200
    text = GOLDEN.read_bytes()
    for length in range(0, len(text) - 2, 997):
        file.write_bytes(text[:length])
        with pytest.raises(ValueError, match="is no certificate"):
            Certificate.load(file)


def test_a_certificate_whose_script_is_gone_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path is kept beside the certificate, and it was moved."""
    content = json.loads(GOLDEN.read_text()) | {"script": "gone.py"}
    (tmp_path / "c.json").write_text(json.dumps(content))
    assert cli.main(["verify", str(tmp_path / "c.json")]) == 2
    assert "gone.py" in capsys.readouterr().err


KILLER = """import os, signal, time
os.kill(os.getppid(), signal.SIGTERM)
time.sleep(60)
"""


def test_a_signal_ends_what_was_started_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A CI job that is cancelled: no run goes on, no folder of a run stays."""
    (tmp_path / "killer.py").write_text(KILLER)
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.raises(SystemExit) as ended:
        cli.main(["verify", "--script", "killer.py", str(GOLDEN)])
    assert ended.value.code == 128 + signal.SIGTERM
    assert list((tmp_path / "temporary").iterdir()) == []
    assert "ended by SIGTERM" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_full_disk_leaves_no_half_file_and_says_which(
    tmp_path: Path,
) -> None:
    """The old certificate stays; what is no file is written to and not replaced."""
    old = tmp_path / "old.json"
    old.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match=r"old\.json"):
            Certificate.load(GOLDEN).save(old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [(x.name, x.read_text()) for x in tmp_path.iterdir()] == [("old.json", "old")]
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        Certificate.load(GOLDEN).save(Path("/dev/full"))


@pytest.fixture
def pair() -> tuple[Certificate, Certificate]:
    """The certificate, and a faithful run of it."""
    theirs = Certificate.load(GOLDEN)
    return copy.deepcopy(theirs), theirs


def told(pair: tuple[Certificate, Certificate]) -> tuple[list[str], list[str]]:
    found, words = check(*pair)
    return [f"{each.step} {each.what}" for each in found if each.wrong], words


def test_equal_runs_have_no_difference(pair: tuple[Certificate, Certificate]) -> None:
    """Nothing is wrong with a run like the certified one."""
    assert told(pair) == ([], [])
    assert max(each.distance for each in check(*pair)[0]) == 0


def test_a_loss_that_is_no_number_is_wrong(pair: tuple[Certificate, Certificate]) -> None:
    """NaN compares with nothing, and must not pass for that."""
    pair[0].steps[1].losses = [("nan", "float32")]
    assert told(pair)[0] == ["2 loss"]
    pair[1].steps[1].losses = [("nan", "float32")]
    assert told(pair)[0] == []


def test_what_is_not_numbers_is_compared(pair: tuple[Certificate, Certificate]) -> None:
    """Steps, names, starting values, and the order of random numbers."""
    ours = pair[0]
    ours.steps.pop()
    ours.steps[0].losses.append(ours.steps[0].losses[0])
    ours.steps[1].gradients["new"] = "0x1p0"
    ours.steps[1].generator = "other"
    ours.start["new"] = ours.start.pop("head.bias")
    ours.start["conv.bias"] = ("other", "0x1.8p+0", "float32")
    assert told(pair)[1] == [
        "conv.bias starts from other values (8.62e+06 ulp in its norm)",
        "the model has no parameter head.bias",
        "PyTorch's model has no parameter new",
        "2 steps were made, 3 are certified",
        "step 1: 2 losses, 1 are certified",
        "step 2: only one run has a gradient of new",
        "step 2: random numbers were drawn in another order or number",
    ]


def test_a_gradient_that_is_rounding_counts_for_little() -> None:
    """A bias before a normalisation has a gradient of nothing but rounding errors."""
    theirs = Certificate("", "", [], "", 0, 1, steps=[StepRecord()], allowed=[(16, 128)])
    theirs.steps[0].norm = ((1.0).hex(), "float32")
    theirs.steps[0].gradients = {"bias": (1e-8).hex(), "weight": (1.0).hex()}
    ours = copy.deepcopy(theirs)
    ours.steps[0].gradients["bias"] = (3e-8).hex()
    assert told((ours, theirs)) == ([], [])
    ours.steps[0].gradients["bias"] = (1e-3).hex()
    assert told((ours, theirs))[0] == ["1 gradient of bias"]


@pytest.mark.parametrize(
    ("ours", "theirs", "dtype", "distance"),
    [
        (1.0, 1.0 + 2**-23, "float32", 1.0),
        (1.0, 1.0 - 2**-24, "float32", 0.5),
        (1.0, 1.0 + 2**-52, "float64", 1.0),
        (1.0, 1.0 + 2**-7, "bfloat16", 1.0),
        (1.0, 1.0 + 2**-10, "float16", 1.0),
        (0.0, 0.0, "float32", 0.0),
        (math.inf, math.inf, "float32", 0.0),
        (math.inf, 1.0, "float32", math.inf),
        (math.nan, 1.0, "float32", math.inf),
        (2**-149, 0.0, "float32", 1.0),
    ],
)
def test_distances_are_counted_in_the_type_of_the_number(
    ours: float, theirs: float, dtype: str, distance: float
) -> None:
    """A unit in the last place is the distance of neighbours, at the larger number."""
    assert ulps(ours, theirs, dtype) == distance
    assert ulps(theirs, ours, dtype) == distance


def test_the_distance_of_neighbours_is_numpys() -> None:
    """The formula against a table."""
    import numpy as np

    for value in (1.0, 3.7, 1e-3, 123456.0, 1e-40, 2.0**-126):
        assert spacing(value, "float32") == float(np.spacing(np.float32(value)))
