"""The command line as a whole: help, exit statuses, completion, and the report for bugs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch
from mindtorch.tools import cli, completion, env
from tests.support.paths import ROOT


def test_the_report_says_what_is_installed() -> None:
    """A bug report must name our version, Python, numba and whether torch is beside us."""
    found = env.environment({"MINDTORCH_DEBUG": "1", "SECRET": "x", "HOME": "y"})
    assert found["mindtorch"]["version"] == mindtorch.__version__
    assert found["packages"]["numba"] and found["beside"]["torch"].startswith("2.13")
    assert found["system"]["python"].startswith(f"{sys.version_info[0]}.{sys.version_info[1]}")
    assert found["variables"] == {"MINDTORCH_DEBUG": "1"}


def test_the_report_hides_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What people paste in public should not carry their name."""
    monkeypatch.setenv("HOME", str(ROOT.parent))
    found = env.environment({"MINDTORCH_CACHE_DIR": f"{ROOT}/cache"})
    assert found["variables"] == {"MINDTORCH_CACHE_DIR": f"~/{ROOT.name}/cache"}
    assert str(ROOT) not in found["mindtorch"]["folder"]


def test_the_report_as_json_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read the report, too."""
    assert cli.main(["env", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert cli.main(["env"]) == 0
    text = capsys.readouterr().out
    for title, rows in found.items():
        assert f"{title}:" in text
        assert all(f"  {key}" in text for key in rows)


def test_help_names_every_command_and_the_exit_statuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A user finds what there is without reading docs."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for word in ("run", "compare", "gradcheck", "env", "completion", "exit status"):
        assert word in text


@pytest.mark.parametrize("arguments", [["nonsense"], ["run"], ["env", "--nonsense"]])
def test_wrong_arguments_end_with_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts tell a wrong call from a finding."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage: mindtorch" in capsys.readouterr().err


def test_the_command_alone_prints_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """It ended with an error that named no command."""
    assert cli.main([]) == 0
    assert "run a script with mindtorch" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["compair", "x.py"], "there is no command 'compair'; did you mean: mindtorch compare"),
        (["amp_report", "x.py"], "did you mean: mindtorch amp-report"),
        (["train.py", "--lr", "1"], "did you mean: mindtorch run train.py"),
        (["xyzzy"], "did you mean: mindtorch --help"),
        (["compare", "--stpes", "3", "x.py"], "--stpes; did you mean --steps?"),
        (["run", "--wach", "all", "x.py"], "--wach; did you mean --watch?"),
    ],
)
def test_a_slip_gets_a_suggestion(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert meant in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(cli.make_parser().commands) - {"torchrun"}))
def test_every_command_says_what_it_does_and_what_its_arguments_are(name: str) -> None:
    """Some told their exit statuses alone, and many arguments had no text."""
    command = cli.make_parser().commands[name]
    text = " ".join((command.description or "").split())
    assert len(text) > 60 and not text.startswith("Exit status"), text
    for action in command._actions:
        assert action.help, f"{name}: {action.dest} has no help"


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a tool as it ends a shell's command."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(env, "environment", interrupted)
    assert cli.main(["env"]) == 130


def test_a_reader_that_leaves_is_no_error() -> None:
    """`mindtorch completion bash | true` prints no traceback."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "mindtorch", "completion", "bash"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_shell_is_told_the_commands(tmp_path: Path) -> None:
    """What argcomplete's protocol gets for `mindtorch co<TAB>`."""
    answer = tmp_path / "answer"
    line = "mindtorch co"
    variables = {
        **os.environ, "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n",
    }  # fmt: skip
    command = [sys.executable, "-m", "mindtorch"]
    subprocess.run(command, env=variables, cwd=ROOT, check=True, timeout=60)
    assert [word.strip() for word in answer.read_text().split("\n")] == ["compare", "completion"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_text_for_the_shell(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text names our command."""
    assert cli.main(["completion", shell]) == 0
    assert "mindtorch" in capsys.readouterr().out


def test_completion_without_argcomplete_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The extra is optional."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert cli.main(["completion", "bash"]) == 2
    assert "mindtorch-engine[completion]" in capsys.readouterr().err


def test_names_of_watchpoints_are_completed() -> None:
    """Also the last one of several."""
    assert {"all", "overflow"} <= set(completion.watchpoints("ov"))
    assert "overflow,all_zero" in completion.watchpoints("overflow,a")
