"""Run a script until its model has made a step, and plan for it; the same for a module."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mindtorch import torch
from mindtorch.module_hooker import torch_disable, torch_pop
from mindtorch.planning.costs import Plan, Planner
from mindtorch.planning.facts import Facts, measure
from mindtorch.planning.link import Link, given_link, measured_link
from mindtorch.torch.nn.modules.module import register_module_forward_hook
from mindtorch.torch.optim.optimizer import register_optimizer_step_post_hook

from ..run_script import ScriptNotFoundError, execute, report_failure, switch_in_spawned_processes
from .curve import curve_of, write_curve
from .report import assumptions_of, print_plans, write_json, write_page

__all__ = ["plan", "plan_script"]

_LATENCY = 10e-6  # beside a bandwidth that is given without one


class _StepError(BaseException):
    """Ends a script whose optimizer has made a step."""


class _Watch:
    """The calls of modules before an optimizer's first step."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any, Any]] = []
        self.optimizer: Any = None

    def __enter__(self) -> _Watch:
        self._handles: list[Any] = [
            register_module_forward_hook(self._called, with_kwargs=True),
            register_optimizer_step_post_hook(self._stepped),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _called(self, module: Any, args: Any, kwargs: Any, results: Any) -> None:
        if torch.is_grad_enabled():
            self.calls.append((module, args, kwargs))

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.optimizer = optimizer
        raise _StepError

    def model(self) -> tuple[Any, Any, Any]:
        """The outermost module with most of the optimizer's parameters, and its inputs."""
        trained = {id(p) for group in self.optimizer.param_groups for p in group["params"]}

        def share(place: int) -> tuple[int, int]:
            own = self.calls[place][0].parameters()
            return sum(p.numel() for p in own if id(p) in trained), place

        return self.calls[max(range(len(self.calls)), key=share)]


def plan(
    model: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None, *, ranks: int,
    optimizer: Any = None, loss_of: Callable[[Any], Any] | None = None,
    memory: float | None = None, batch: int | None = None, link: Link | None = None,
    overlap: float = 0.0,
) -> list[Plan]:  # fmt: skip
    """Predict the memory of a process and the time of a step for ways to train on many.

    The model makes some steps in this process: its parameters and buffers change.

    Args:
        model: a module.
        args, kwargs: what it is called with; the first axis is the samples'.
        ranks: how many processes there would be.
        optimizer: of its parameters; None: there are no states.
        loss_of: the loss of the results; None: a number that they have, or their sum.
        memory: bytes that a process may take; None: any.
        batch: samples of a step of all processes; those of ``args`` for each when None.
        link: :func:`.link.given_link`; None: two processes are started, and measured.
        overlap: of the exchange of gradients and parameters, what computation hides.

    Returns:
        those that fit first, the fastest of them first; others have a ``reason``.
    """
    facts = measure(model, args, kwargs, optimizer, loss_of)
    whole = facts.samples * ranks if batch is None else batch
    return Planner(facts, model, link or measured_link(), ranks, whole, memory, overlap).plans()


def _link(options: argparse.Namespace) -> Link:
    if options.bandwidth is not None:
        latency = _LATENCY if options.latency is None else options.latency
        return given_link(options.bandwidth, latency)
    found = measured_link()
    if options.latency is not None:
        found.latency.update(dict.fromkeys(found.latency, options.latency))
    return found


def _observe(options: argparse.Namespace) -> _Watch | int:
    """What was seen until the first step; the exit status where the script failed."""
    watch = _Watch()
    try:
        with watch:
            execute(options.script, options.arguments, None)
    except _StepError:
        return watch
    except ScriptNotFoundError as error:
        torch_pop()
        print(f"mindtorch parallel: {error}", file=sys.stderr)
        return 2
    except SystemExit as error:
        if error.code not in (None, 0):
            return 2
    except BaseException as error:
        report_failure(error)
        return 2
    return watch


def plan_script(options: argparse.Namespace) -> int:
    """Run and report; the exit status."""
    torch_disable()
    switch_in_spawned_processes()
    watch = _observe(options)
    if isinstance(watch, int):
        return watch
    if watch.optimizer is None or not watch.calls:
        print("mindtorch parallel: no optimizer made a step", file=sys.stderr)
        return 2
    model, args, kwargs = watch.model()
    try:
        facts = measure(model, args, kwargs, watch.optimizer)
        link = _link(options)
    except (ValueError, RuntimeError) as error:
        print(f"mindtorch parallel: {error}", file=sys.stderr)
        return 2
    _hasten(facts, options.speed)
    link = link.hastened(options.speed)
    batch = options.batch or facts.samples * options.ranks
    planner = Planner(
        facts, model, link, options.ranks, batch, options.memory, options.overlap
    )
    plans = planner.plans()
    sys.stdout.flush()
    print_plans(planner, plans, options.all)
    try:
        if options.html is not None:
            write_page(Path(options.html), str(options.script), planner, plans)
        if options.json is not None:
            write_json(Path(options.json), planner, plans)
        if options.curve is not None:
            _draw(options, planner, model)
    except OSError as error:
        print(f"mindtorch parallel: {error}", file=sys.stderr)
        return 2
    return int(all(each.reason for each in plans))


def _draw(options: argparse.Namespace, planner: Planner, model: Any) -> None:
    """The curve, under the planner's assumptions."""
    facts, link, each = planner.facts, planner.link, max(planner.batch // planner.ranks, 1)
    points = curve_of(facts, model, link, planner.ranks, each, planner.limit, planner.overlap)
    write_curve(
        options.curve, f"{options.script.name}: samples in a second, of ideal",
        assumptions_of(planner, each, options.speed), points,
    )  # fmt: skip


def _hasten(facts: Facts, factor: float) -> None:
    facts.fixed /= factor
    facts.each /= factor
    facts.update /= factor
    facts.copied /= factor
    facts.added /= factor
