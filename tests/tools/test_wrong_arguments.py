"""Numbers given to commands: wrong ones are refused at once, with exit status 2 and their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mindtorch.tools import cli

NUMBERS = {
    "--steps": ["0", "-1", "x"],
    "--runs": ["-1"],
    "--threads": ["0", "-3"],
    "--seed": ["-1", "4294967296"],
    "--timeout": ["0", "-2", "nan", "inf"],
    "--max-size": ["0", "nan", "inf"],
    "--tolerance": ["0", "-1"],
}
COMMANDS = {
    "certify": ["--steps", "--runs", "--threads", "--seed"],
    "compare": ["--steps", "--threads", "--seed", "--timeout", "--tolerance"],
    "scan": ["--max-size"],
    "gradcheck": ["--seed", "--tolerance"],
    "amp-report": ["--steps"],
}


@pytest.mark.parametrize(("command", "option"), [(c, o) for c, os in COMMANDS.items() for o in os])
def test_numbers_out_of_range_are_refused(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is run, so the script need not be there."""
    for value in NUMBERS[option]:
        with pytest.raises(SystemExit) as ended:
            cli.main([command, f"{option}={value}", "nowhere.py"])
        assert ended.value.code == 2
        assert f"error: argument {option}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "--json", "nowhere/a.json"), ("compare", "--html", "folder"),
        ("compare", "--output", "nowhere/a.txt"), ("compare", "--keep", "a.py"),
        ("certify", "-o", "nowhere/a.json"), ("certify", "-o", "folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_told_before_anything_runs(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two runs of an hour are not thrown away for a folder that is not there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.py").write_text("raise SystemExit('it was run')")
    assert cli.main([*arguments, "a.py"]) == 2
    told = capsys.readouterr()
    assert "cannot" in told.err and arguments[2] in told.err and "it was run" not in told.err


def test_a_command_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The text says how to find those there are."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["nope"])
    assert ended.value.code == 2 and "mindtorch --help" in capsys.readouterr().err
