"""Small trainings under a debugger whose front end is a list of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mindtorch.torch as torch
from mindtorch.tools.debugger.attach import attach
from mindtorch.tools.debugger.dump import write_dump
from mindtorch.tools.debugger.requests import Requests
from mindtorch.tools.debugger.session import Debugger, Stop
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, middle: Any = None) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.middle = nn.ReLU() if middle is None else middle
        self.last = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.last(self.middle(self.first(x)))


def train(
    model: Any, steps: int = 3, rate: float = 0.01, each: Callable[[int], None] | None = None,
    data: Any = None, scale: float = 1.0,
) -> list[float]:  # fmt: skip
    """Train on fixed data; the losses."""
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    given, target = torch.randn(16, 4) if data is None else data, torch.randn(16, 2)
    losses = []
    for step in range(steps):
        if each is not None:
            each(step)
        optimizer.zero_grad()
        loss = F.mse_loss(model(given), target) * scale
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Script:
    """A front end that sends prepared requests at each stop, and then lets the program go on.

    Args:
        stops: requests of each stop; where they are used up, `continue`.

    Attributes:
        stops: where the program stood.
        replies: of each stop.
    """

    def __init__(self, *stops: Iterable[dict[str, Any]]) -> None:
        self.prepared = [list(x) for x in stops]
        self.stops: list[dict[str, Any]] = []
        self.replies: list[list[dict[str, Any]]] = []

    def stopped(self, session: Debugger, stop: Stop) -> None:
        at = len(self.stops)
        self.stops.append(stop.described())
        prepared = self.prepared[at] if at < len(self.prepared) else []
        requests = Requests(session, dump=write_dump)
        self.replies.append([requests.answer(x) for x in prepared])

    def poll(self, session: Debugger) -> None:
        pass

    @property
    def reasons(self) -> list[str]:
        return [stop["reason"] for stop in self.stops]

    def hits(self) -> list[dict[str, Any]]:
        return [hit for stop in self.stops for hit in stop["hits"]]


def seen(
    work: Callable[[], Any], *watchpoints: str, level: str = "modules"
) -> list[dict[str, Any]]:
    """What watchpoints find in a piece of work."""
    script = Script()
    with attach(script, level, watchpoints, stop_at_start=False):
        work()
    return script.hits()
