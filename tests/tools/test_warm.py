"""`mindtorch warm`: kernels that lie on disk before they are needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mindtorch.tools import cli
from mindtorch.tools.warm import running
from mindtorch.tools.warm.programs import PROGRAMS

SCRIPT = """
import sys
import torch
print(torch.full((5,), 0.5).exp().numpy().tobytes().hex(), sys.argv[1:])
"""
# the file system takes no file of more than a few bytes
FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
import torch
torch.full((5,), 0.5).exp()
"""
# a program that is being compiled: it writes a file when it is interrupted
SLOW = """
import sys, time
from pathlib import Path
folder = Path(sys.argv[1])
try:
    (folder / "began").touch()
    time.sleep(300)
except KeyboardInterrupt:
    (folder / "ended").touch()
"""
INTERRUPTED = """
import sys
from mindtorch.tools import cli
from mindtorch.tools.warm import running
running._PROGRAM = ("-c", sys.argv[1])
running.PROGRAMS = {sys.argv[2]: None}
sys.exit(cli.main(["warm", "--only", sys.argv[2]]))
"""


def _mindtorch(
    cache: Path, *arguments: str, repository: Path, installed: Any = 0
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mindtorch", *arguments], cwd=cache.parent, capture_output=True,
        env={**os.environ, "PYTHONPATH": str(repository), "MINDTORCH_CACHE_DIR": str(cache),
             "MINDTORCH_INSTALLED_KERNELS": str(installed)},
        text=True,
    )  # fmt: skip


def test_a_scripts_kernels_are_kept_and_give_the_same_bits(
    tmp_path: Path, repository: Path
) -> None:
    script, cache = tmp_path / "script.py", tmp_path / "cache"
    script.write_text(SCRIPT)
    first, second = (
        _mindtorch(cache, "warm", str(script), "--epochs", "1", repository=repository)
        for _ in range(2)
    )
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert first.stdout == second.stdout
    assert first.stdout.endswith("['--epochs', '1']\n")
    assert " 0 functions compiled" not in f" {first.stderr}"
    assert second.stderr.startswith("0 functions compiled")
    assert {path.suffix for path in cache.rglob("*") if path.is_file()} == {".nbc"}


def test_kernels_for_all_are_found_with_an_empty_cache(tmp_path: Path, repository: Path) -> None:
    script, cache, installed = (tmp_path / name for name in ("script.py", "cache", "installed"))
    script.write_text(SCRIPT)
    arguments = ("warm", "--installed", str(script))
    first = _mindtorch(cache, *arguments, repository=repository, installed=installed)
    assert first.returncode == 0, first.stderr
    assert f"are in {installed}" in first.stderr
    second = _mindtorch(cache, "warm", str(script), repository=repository, installed=installed)
    assert second.stderr.startswith("0 functions compiled"), second.stderr
    assert first.stdout == second.stdout
    assert not list(cache.rglob("*.nbc")) and list(installed.rglob("*.nbc"))


def test_kernels_for_all_that_nobody_reads_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINDTORCH_INSTALLED_KERNELS", "0")
    assert cli.main(["warm", "--installed"]) == 2
    assert "MINDTORCH_INSTALLED_KERNELS=0 is set" in capsys.readouterr().err


def test_a_full_disk_is_told_of_and_holds_no_half_file(tmp_path: Path, repository: Path) -> None:
    script, cache = tmp_path / "script.py", tmp_path / "cache"
    script.write_text(FULL)
    done = _mindtorch(cache, "warm", str(script), repository=repository)
    assert done.returncode == 1
    assert "mindtorch warm: no kernel can be written to" in done.stderr
    assert "File too large" in done.stderr
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_an_interrupted_command_ends_its_programs_in_order(
    tmp_path: Path, repository: Path
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, SLOW, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "began").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.endswith("mindtorch: interrupted\n")
    assert (tmp_path / "ended").exists()


def test_a_program_that_fails_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    good = 'print("its own"); print(\'{"compiled": 3, "unwritten": ""}\')'
    program = f"import sys\nif sys.argv[1] == 'data': raise OSError('no room')\n{good}"
    monkeypatch.setattr(running, "_PROGRAM", ("-c", program))
    assert cli.main(["warm", "--only", "data,linear,images", "--jobs", "2"]) == 1
    errors = capsys.readouterr().err
    assert "mindtorch warm: data failed (status 1):" in errors and "OSError: no room" in errors
    assert "6 functions compiled" in errors
    assert cli.main(["warm", "--only", "linear"]) == 0


def test_after_a_kernel_that_cannot_be_written_no_program_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        f"(Path({str(tmp_path)!r}) / sys.argv[1]).touch()\n"
        'print(\'{"compiled": 1, "unwritten": "no kernel can be written: no space"}\')'
    )
    monkeypatch.setattr(running, "_PROGRAM", ("-c", program))
    assert cli.main(["warm", "--jobs", "1"]) == 1
    assert "no kernel can be written: no space" in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) < len(PROGRAMS)


def test_what_is_covered_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["warm", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(PROGRAMS)
    assert cli.main(["warm", "--only", "linear,no_such"]) == 2
    assert "there is no program 'no_such'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["linear", "data", "compiled"])
def test_programs_run(name: str) -> None:
    PROGRAMS[name].run()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"linear", "data", "compiled"}))
def test_all_programs_run(name: str) -> None:
    PROGRAMS[name].run()
