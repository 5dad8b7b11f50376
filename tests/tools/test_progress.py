"""Progress: bars on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from mindtorch.tools import progress as tools_progress
from mindtorch.tools.progress import progress, telling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_written_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Logs of CI hold no bars, and the items come through as they are."""
    assert list(progress(iter(range(5)), "counting")) == [0, 1, 2, 3, 4]
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard error, and taken away at the end: standard output stays for results."""
    terminal, output = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress([1, 2, 3], "counting")) == [1, 2, 3]
    assert "counting" in terminal.getvalue() and output.getvalue() == ""


def test_an_error_in_the_work_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the terminal's cursor comes back."""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with pytest.raises(ZeroDivisionError):
        for each in progress([1, 0], "dividing"):
            1 / each
    assert "\x1b[?25h" in terminal.getvalue()


def test_a_pipe_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who waits for minutes in a notebook or in CI sees that something is done."""
    monkeypatch.setattr(tools_progress, "SECONDS", 0.05)
    for _ in progress([1, 2, 3], "reading"):
        time.sleep(0.06)
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(r"\d+ s$", "N s", line) for line in lines] == [
        "reading: 1 of 3, N s", "reading: 2 of 3, N s"
    ]  # fmt: skip
    counts = iter(range(1000))
    with telling(lambda: f"step {next(counts)}"):
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and lines[0].startswith("step 0, ")
    time.sleep(0.1)
    assert capsys.readouterr().err == ""
