"""Progress bars: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from mindtorch.tools.progress import progress


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
