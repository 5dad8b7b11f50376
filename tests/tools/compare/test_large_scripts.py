"""Scripts with many calls beside those of the model: the model is what the reports show."""

import importlib.util
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from mindtorch.tools.compare import recorder
from mindtorch.tools.compare.event_rows import MOST_ROWS
from mindtorch.tools.compare.report_html import page_data
from mindtorch.tools.compare.report_text import print_report
from tests.support.compare_in_process import compared

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)


def prepares_data_in_a_loop(torch: Any, fault: str, steps: int) -> None:
    """As scripts do: 1,400 indexed writes at top level, then a model."""
    x, y = torch.zeros(700, 4), torch.zeros(700, dtype=torch.long)
    for i in range(700):
        x[i] = torch.tensor([i % 7, i % 5, i % 3, 1.0])
        y[i] = i % 3

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = torch.nn.Linear(4, 8)
            self.last = torch.nn.Linear(8, 3)

        def forward(self, x: Any) -> Any:
            shown = torch.nn.functional.gelu(self.hidden(x), approximate=fault or "none")
            return self.last(shown)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def shown(outcome: Any) -> str:
    with redirect_stdout(io.StringIO()) as text:
        print_report(outcome, None)
    return text.getvalue()


@needs_torch
@pytest.mark.parametrize("fault", ["", "tanh"])
def test_layers_are_shown_after_a_loop_that_prepares_data(fault: str, tmp_path: Path) -> None:
    """The first 600 calls were kept, and none of them was the model's."""
    outcome = compared(
        prepares_data_in_a_loop, fault, tmp_path, steps=2, frameworks="mindtorch,mindtorch"
    )
    assert outcome.kind == ("differ" if fault else "agree")
    rows = outcome.detail.rows
    assert len(rows) == MOST_ROWS
    assert [row.path for row in rows if row.kind == "module"] == ["Net", "hidden", "last"]
    left_out = json.loads(outcome.as_json())["rows_left_out"]
    assert left_out["modules"] == 0 and left_out["functions"] > 1000
    text = shown(outcome)
    labels = {line.split()[0] for line in text.splitlines() if line.strip()}
    assert {"hidden", "last", "gelu"} <= labels
    assert "__setitem__" not in text
    assert "left out: " in text and "calls of functions; they agree" in text
    data = page_data(outcome)
    assert {"Net", "hidden", "last"} <= {row["label"] for row in data["rows"]}
    assert str(left_out["functions"]) in data["rows_left_out"]


@needs_torch
def test_a_loop_leaves_room_for_the_model(tmp_path: Path) -> None:
    """A record has an end, which functions outside models do not reach alone."""
    with mock.patch.object(recorder, "MOST_OUTSIDE", 100):
        outcome = compared(
            prepares_data_in_a_loop, "tanh", tmp_path, steps=2, frameworks="mindtorch,mindtorch"
        )
    assert outcome.real is not None and outcome.real.name.startswith("gelu in Net")
    assert outcome.agreement.calls_left_out > 1000
    assert any("beyond what a record holds" in line for line in outcome.words())


@needs_torch
def test_masks_are_those_that_were_drawn(tmp_path: Path) -> None:
    """Zeros after a ReLU looked like elements that dropout had taken: where one side had 1e-12 and
    the other 0, the masks were said to differ."""

    def program(torch: Any, fault: str, steps: int) -> None:
        model = torch.nn.ModuleDict({
            "first": torch.nn.Linear(4, 64, bias=False),
            "drop": torch.nn.Dropout(0.3),
            "alpha": torch.nn.AlphaDropout(0.2),
            "last": torch.nn.Linear(64, 1),
        })  # fmt: skip
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        x = torch.randn(8, 4)
        x[:3] = 0
        for _ in range(steps):
            optimizer.zero_grad()
            hidden = torch.relu(model["first"](x) + (1e-12 if fault else 0.0))
            hidden = model["alpha"](model["drop"](hidden))
            hidden = torch.nn.functional.dropout(hidden, 0.1 if fault != "mask" else 0.11)
            model["last"](hidden).mean().backward()
            optimizer.step()

    tiny = compared(program, "tiny", tmp_path / "tiny", steps=3, frameworks="torch,torch")
    masks = tiny.agreement.masks
    assert (masks.total, masks.equal) == (9, 9)
    other = compared(program, "mask", tmp_path / "mask", steps=3, frameworks="torch,torch")
    masks = other.agreement.masks
    assert masks.total == 9 and masks.equal == 6
