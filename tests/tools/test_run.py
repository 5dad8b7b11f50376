"""`python -m mindtorch run`: a script as `python script.py` would run it, but for torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch


def run_mindtorch(
    *arguments: str, folder: Path, repository: Path
) -> subprocess.CompletedProcess[str]:
    """`python -m mindtorch ...` in `folder`."""
    return subprocess.run(
        [sys.executable, "-m", "mindtorch", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def run_script(text: str, *arguments: str, folder: Path, repository: Path) -> tuple[int, str, str]:
    """Exit status, output and errors of `mindtorch run` with a script of this text."""
    script = folder / "script.py"
    script.write_text(text)
    result = run_mindtorch("run", script.name, *arguments, folder=folder, repository=repository)
    return result.returncode, result.stdout, result.stderr


def test_a_script_sees_what_python_would_show_it(tmp_path: Path, repository: Path) -> None:
    """Its arguments (also those that look like ours), its name, its folder, its neighbours."""
    (tmp_path / "neighbour.py").write_text("value = 7")
    text = """
import sys, pickle
import neighbour
class Thing: pass
print(__name__, sys.argv[1:], sys.path[0], neighbour.value, sys.argv[0], __file__)
print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, "torch" in sys.modules)
"""
    status, output, errors = run_script(
        text, "--version", "-x", "3", folder=tmp_path, repository=repository
    )
    assert (status, errors) == (0, "")
    assert output.splitlines() == [
        f"__main__ ['--version', '-x', '3'] {tmp_path} 7 script.py {tmp_path / 'script.py'}",
        "True False",
    ]


def test_torch_is_mindtorch_in_a_script(tmp_path: Path, repository: Path) -> None:
    """Nothing in the script says so."""
    text = "import torch, mindtorch.torch\nprint(torch is mindtorch.torch)"
    assert run_script(text, folder=tmp_path, repository=repository) == (0, "True\n", "")


@pytest.mark.parametrize(
    ("ending", "status", "errors"),
    [("sys.exit(3)", 3, ""), ("sys.exit('no data')", 1, "no data\n"), ("sys.exit()", 0, "")],
)
def test_exit_statuses_come_through(
    tmp_path: Path, repository: Path, ending: str, status: int, errors: str
) -> None:
    """Shell scripts and CI go by them."""
    text = f"import sys\nprint('here')\n{ending}"
    assert run_script(text, folder=tmp_path, repository=repository) == (status, "here\n", errors)


def test_a_traceback_begins_in_the_script(tmp_path: Path, repository: Path) -> None:
    """Frames of the runner would only be in the way."""
    text = "def deep():\n    return {}['key']\ndeep()\n"
    status, output, errors = run_script(text, folder=tmp_path, repository=repository)
    assert (status, output) == (1, "")
    lines = errors.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert f'File "{tmp_path / "script.py"}", line 3, in <module>' in lines[1]
    assert lines[-1] == "KeyError: 'key'"
    assert "mindtorch" not in errors


def test_a_script_that_is_no_python_is_reported(tmp_path: Path, repository: Path) -> None:
    """With the place of the mistake, and no frames of ours."""
    status, _, errors = run_script("x = = 1", folder=tmp_path, repository=repository)
    assert status == 1
    assert "SyntaxError" in errors and "x = = 1" in errors and "tools" not in errors


def test_a_missing_script_is_reported(tmp_path: Path, repository: Path) -> None:
    """As a message, not as a traceback of ours."""
    result = run_mindtorch("run", "no.py", folder=tmp_path, repository=repository)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "mindtorch run: cannot open 'no.py': No such file or directory\n"


def test_the_version_is_printed(tmp_path: Path, repository: Path) -> None:
    """Bug reports begin with it."""
    result = run_mindtorch("--version", folder=tmp_path, repository=repository)
    assert (result.returncode, result.stdout) == (0, f"mindtorch {mindtorch.__version__}\n")


def test_no_command_prints_the_help(tmp_path: Path, repository: Path) -> None:
    """All commands, on standard output."""
    result = run_mindtorch(folder=tmp_path, repository=repository)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("usage: mindtorch") and "compare" in result.stdout
