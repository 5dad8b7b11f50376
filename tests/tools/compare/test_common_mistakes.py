"""Mistakes that people make: the verdict names them in the words that people use."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.compare_in_process import compared

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)


def trains(torch: Any, fault: str, steps: int) -> None:
    """A small network with an evaluation after each second step."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1)
    )
    with torch.no_grad():
        model[0].weight.normal_(0, 0.5 if fault == "init" else 0.25)
        if fault == "seed":
            model[4].weight.uniform_(-0.25, 0.25)
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    criterion = nn.MSELoss(reduction="sum" if fault == "reduction" else "mean")
    x, y = torch.randn(32, 6), torch.randn(32, 1)
    for step in range(steps):
        model.train()
        if fault != "zero_grad":
            optimizer.zero_grad()
        shown = model(x.half().float() if fault == "half" else x)
        criterion(shown, y).backward()
        optimizer.step()
        if step % 2:
            if fault != "eval":
                model.eval()
            with torch.no_grad():
                model(x)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("init", ["starting value of 0.weight at step 1", "torch#2 has 2 times what torch has"]),
        ("seed", ["starting value of 4.weight at step 1", "against mean", "deviation"]),
        ("reduction", ["output of MSELoss at step 1", "torch#2 has MSELoss(reduction='sum')"]),
        ("zero_grad", ["at step 2", "under torch#2 only: no zero_grad() there?"]),
        ("eval", ["mode of Sequential at step 3", "under torch#2 only: no eval() there?"]),
        ("half", ["call of half at ", "at step 1"]),
    ],
)
def test_the_verdict_names_the_mistake(fault: str, words: list[str], tmp_path: Path) -> None:
    outcome = compared(trains, fault, tmp_path, steps=4, frameworks="torch,torch")
    assert outcome.kind == "differ"
    text = "\n".join(outcome.words())
    assert text.startswith("DIFFER: first the ")
    for each in words:
        assert each in text, text
    assert "has tensor" not in text
    if fault not in ("seed", "half"):  # other draws, and other inputs, are differences of their own
        assert "not explained by it" not in text


def test_accumulated_gradients_are_no_mistake(tmp_path: Path) -> None:
    """Both runs add up the gradients of two passes, or set them to zero in place."""

    def program(torch: Any, fault: str, steps: int) -> None:
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 1e-2)
        for step in range(steps):
            for _ in range(2):
                model(torch.randn(8, 4)).square().mean().backward()
            if step != 1:
                optimizer.step()
            optimizer.zero_grad(set_to_none=step > 1)

    assert compared(program, "", tmp_path, steps=4).kind in ("agree", "rounding")
