"""Watchpoints in the facade's training: `model.train(..., callbacks=[WatchCallback("all")])`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.mindspore.train.callback import Callback, RunContext, scalar_loss

from .conditions import Hit, chosen
from .watcher import Watch, WatchpointError

__all__ = ["WatchCallback"]


class WatchCallback(Callback):
    """Watches a training from its first step to its last. `with WatchCallback() as watching:`
    ends it where the training raises, too.

    Args:
        checks, on_hit, limits: see `mindtorch.tools.watch`.

    Attributes:
        watch: what was seen, after the training began.
    """

    def __init__(
        self, *checks: str, on_hit: str | Callable[[Hit], Any] = "print", **limits: float
    ) -> None:
        self.wanted = chosen(checks)
        self.on_hit = on_hit
        self.limits = limits
        self.watch: Watch | None = None

    def begin(self, run_context: RunContext) -> None:
        network = run_context.original_args().get("train_network")
        on_hit = self._raise if self.on_hit == "raise" else self.on_hit
        self.watch = Watch(self.wanted, network, on_hit, self.limits)
        self.watch.__enter__()

    def _raise(self, hit: Hit) -> None:
        self.close()  # a training that raises calls no `end`
        raise WatchpointError(hit)

    def step_begin(self, run_context: RunContext) -> None:
        if self.watch is not None:
            with self.watch.away():
                self.watch.checks.before_update(self.watch.parameters())

    def step_end(self, run_context: RunContext) -> None:
        if self.watch is not None:
            with self.watch.away():
                self.watch.checks.loss(scalar_loss(run_context.original_args().net_outputs))
                self.watch.checks.after_update(self.watch.parameters())

    def end(self, run_context: RunContext) -> None:
        self.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching."""
        if self.watch is not None:
            self.watch.__exit__(None, None, None)
