"""The page of `mindtorch compare --html`: opened in a real browser where there is one."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mindtorch.tools.compare.findings import (
    Agreement,
    Difference,
    EventRow,
    RowsLeftOut,
    StepRow,
)
from mindtorch.tools.compare.report_html import write_page
from mindtorch.tools.compare.statistics import Spread
from mindtorch.tools.compare.verdict import Outcome

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
VOID = {"meta", "br", "hr", "img", "input", "link"}


def outcome() -> Outcome:
    """A fault in `net.norm`, a loss that is not finite, and text that is markup."""
    spread = Spread([5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2], 9.0, 1e-2, 1e-6, 0.99991)
    rows = [
        EventRow("net", "net", "module", "Net", "forward", "Net", 1e-2, 1e-3, None, 0, "", False),
        EventRow("net.norm", "net.norm", "module", "Norm", "forward", "Norm(<b>)", 1e-2, 1e-3, 0.0,
                 0, "real", False, spread, spread),
        EventRow("mul in net", "net", "op", "mul", "forward", "", 0.0, None, None, 0, "", True),
    ]  # fmt: skip
    found = Difference("forward", "output", "net.norm", "net.norm", 0, 1e-2, "</script>", "real")
    steps = [
        StepRow(
            n, 0, [(1.0 / (n + 1), 1.01 / (n + 1))], (1.0, 1.1), 1e-2, 1e-3, 1e-4, (None, 0.1), 3
        )
        for n in range(6)
    ]
    steps[5].losses = [(float("nan"), float("inf"))]
    left_out = RowsLeftOut(functions=7)
    agreement = Agreement(
        1e-4, differences=[found], rows=rows, steps=steps, rows_left_out=left_out
    )
    names = ("torch", "mindtorch")
    return Outcome("train.py", names, ("2.13", "0.1"), 1, "net", agreement, agreement)


class Strict(HTMLParser):
    """Raises where a tag is not closed, or something is loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.script = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.script += data


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    write_page(outcome(), path)
    return path


def test_the_page_is_well_formed_and_needs_no_network(page: Path) -> None:
    """Every tag closed, nothing loaded, and what the data says cannot end the data."""
    text = page.read_text()
    parser = Strict()
    parser.feed(text)
    parser.close()
    assert parser.open == [] and "@DATA@" not in text
    assert re.findall(r"https?://[^\"'\s]+", text) == ["http://www.w3.org/2000/svg"]
    data = re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    assert data is not None
    shown = json.loads(data[1])
    assert shown["differences"][0]["note"] == "</script>"
    assert shown["steps"][5]["losses"] == [[None, 1e308]]


def test_the_page_is_for_dark_screens_narrow_ones_and_paper(page: Path) -> None:
    """Colours of their own, one column, and no scrolling boxes that paper would cut off."""
    text = page.read_text()
    for media in ("(prefers-color-scheme: dark)", "(max-width: 720px)", "print"):
        assert f"@media {media}" in text
    assert '<meta name="viewport"' in text
    assert re.search(r"@media print \{.*?\.scroll \{ max-height: none", text, re.DOTALL)


@pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)), reason="there is no Chromium to open the page in"
)
def test_the_page_draws_itself_in_a_browser(page: Path) -> None:
    """Its script comes to its end and leaves the verdict, charts, tree, timeline and histogram."""
    browser = next(filter(None, map(shutil.which, BROWSERS)))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=2000"]
    done = subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    shown = done.stdout
    assert 'data-ready="yes"' in shown
    assert '<div id="verdict" class="differ"><p>DIFFER: first the output of net.norm' in shown
    assert (
        shown.count("<polyline") == 7
    )  # losses, their difference, norms, drift (two each but one)
    assert '<code class="bad">norm</code>' in shown
    # a legend in each of the six charts, and the calls' names along the axes of two
    assert shown.count('class="legend"') == 2 + 2 + 2 + 3 + 3 + 1
    assert re.findall(r'<text [^>]*transform="rotate[^>]*>([^<]*)<', shown) == [
        "net", "net.norm", "mul in net"] * 2  # fmt: skip
    assert "left out: 7 calls of functions; they agree" in shown
    assert shown.count('<tr class="pick') == 3
    assert 'class="pick picked" data-row="1"' in shown  # the fault's histogram is shown first
    assert shown.count('class="bar"') == 24
    assert shown.count('class="call"') == 6  # the strip: outputs and gradients of three calls
    assert "Norm(&lt;b&gt;)" in shown
