"""The recorder behind `mindtorch run --insight`."""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.transforms import profiler
from mindtorch.insight.run_file import RunFile
from mindtorch.torch.utils.data import DataLoader
from mindtorch.torch.utils.tensorboard import SummaryWriter

from ..watchpoints.training_steps import Steps
from .histograms import count, plain_array
from .module_trace import ModuleTrace
from .script_facts import code_version, environment, optimizer_settings, parsed_arguments

__all__ = ["Recorder"]

_STEPS_ONE_BY_ONE = 100  # whose times are kept each; of later ones means are
_MOST_GRAPHS = 5
_MOST_SAMPLES = 20
_MOST_PICTURES = 16


def _guarded(method: Callable[..., None]) -> Callable[..., None]:
    """What goes wrong is told once, and ends the recording, not the training."""

    @functools.wraps(method)
    def call(self: Recorder, *args: Any) -> None:
        if self.ended:
            return
        try:
            method(self, *args)
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            print(f"mindtorch run --insight: recording ends: {words}", file=sys.stderr)
            self.end(f"the recording ended: {words}")

    return call


class Recorder:
    """Listens to a training's steps and writes event files and `insight.jsonl`.

    Args:
        folder: of this run; it is made.
        options: of `mindtorch run`.

    Raises:
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.every: int = options.insight_every
        self.ended = False
        self.file = RunFile(folder)
        self.writer = SummaryWriter(str(folder), flush_secs=2)
        self.steps = Steps(torch, self)
        self.trace = ModuleTrace(torch, self.steps.modules)
        self.profiler: profiler.Recorder | None = None
        self.count: dict[int, int] = {}  # steps of each optimizer
        self.losses: list[Any] = []
        self.parts: dict[str, float] = {}
        self.waiting: list[dict[str, float]] = []
        self.began = self.last = time.perf_counter()
        self.graphs = self.samples = 0
        self.evaluating = False
        self.loaders: dict[int, Any] = {}
        self._iterators: set[type] = set()
        self._undo = contextlib.ExitStack()

    def start(self) -> None:
        """Write down what is known before the script runs, and listen."""
        options = self.options
        self.file.add(
            "lineage", parameters=parsed_arguments(options.arguments),
            code=code_version(options.script), environment=environment(),
        )  # fmt: skip
        self.steps.install()
        self._undo.callback(self.steps.remove)
        self._stand_in(DataLoader, "__iter__", self._loader_iter)
        self._stand_in(SummaryWriter, "add_scalar", self._added_scalar)
        self.trace.start()
        self._start_profiler()
        self.last = time.perf_counter()

    def end(self, error: str = "") -> None:
        """Leave everything as it was, and write the end.

        Args:
            error: what ended the script, "" for an ordinary end.
        """
        if self.ended:
            return
        self.ended = True
        with contextlib.suppress(Exception):
            self._stop_profiler()
        self.trace.stop()
        self._undo.close()
        with contextlib.suppress(Exception):  # the disk may be full
            self._write_times()
            self.file.add("end", error=error)
            self.file.close()
            self.writer.close()

    def _stand_in(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._undo.callback(setattr, owner, name, original)

    def _is_due(self, step: int) -> bool:
        """Steps 1, 2 and every so many."""
        return step <= 2 or step % self.every == 0

    @property
    def next_step(self) -> int:
        """The step that is being made, of the optimizer that was seen first."""
        return next(iter(self.count.values()), 0) + 1

    # --- what Steps tells --------------------------------------------------------------------

    @_guarded
    def on_loss(self, loss: Any) -> None:
        """Before `loss.backward()`."""
        self._note("forward")
        if self.trace.calls:
            self._write_graph()
        self.trace.stop()
        if loss.numel() == 1:
            self.losses.append(loss.detach())
        self.last = time.perf_counter()

    @_guarded
    def on_gradients(self, optimizer: Any) -> None:
        """Before an optimizer's step."""
        self._note("backward")
        step = self.count.get(id(optimizer), 0) + 1
        if step == 1:
            self._first_step(optimizer)
        if self._is_due(step):
            self._write_gradients(optimizer, step)
        self.last = time.perf_counter()

    @_guarded
    def on_step(self, optimizer: Any) -> None:
        """After an optimizer's step."""
        self._note("optimizer")
        key = id(optimizer)
        step = self.count[key] = self.count.get(key, 0) + 1
        for value in self._loss():
            self.writer.add_scalar(f"loss{self._label(optimizer)}", value, step)
        if self._is_due(step):
            self._write_parameters(optimizer, step)
        if not self._label(optimizer):
            self._step_made(step)
        self.last = time.perf_counter()

    def _label(self, optimizer: Any) -> str:
        """What tags of a second optimizer end with; "" for the first."""
        place = list(self.count).index(id(optimizer)) if id(optimizer) in self.count else 0
        return f"/optimizer{place}" if place else ""

    def _loss(self) -> list[float]:
        """The mean of the losses since the last step; [] where there were none."""
        values = [float(loss) for loss in self.losses]
        self.losses = []
        return [sum(values) / len(values)] if values else []

    def _first_step(self, optimizer: Any) -> None:
        self.count.setdefault(id(optimizer), 0)
        label = self._label(optimizer)
        settings = optimizer_settings(optimizer)
        self.file.add("lineage", parameters={f"{k}{label}": v for k, v in settings.items()})

    def _note(self, part: str) -> None:
        now = time.perf_counter()
        self._add(part, now - self.last)
        self.last = now

    def _add(self, part: str, seconds: float) -> None:
        self.parts[part] = self.parts.get(part, 0.0) + seconds

    def _step_made(self, step: int) -> None:
        if self.profiler is not None:
            self._stop_profiler()
            self._write_operations(step)
        self.waiting.append(self.parts)
        self.parts = {}
        if step <= _STEPS_ONE_BY_ONE or len(self.waiting) >= self.every:
            self._write_times()
        if self._is_due(step + 1):
            if self.graphs < _MOST_GRAPHS:
                self.trace.start()
            self._start_profiler()

    # --- what is written ---------------------------------------------------------------------

    def _write_times(self) -> None:
        if not self.waiting:
            return
        names = dict.fromkeys(name for parts in self.waiting for name in parts)
        means = {
            name: sum(parts.get(name, 0.0) for parts in self.waiting) / len(self.waiting)
            for name in names
        }
        self.file.add("step", step=self.next_step - 1, parts=means)
        self.waiting = []

    def _write_graph(self) -> None:
        rows = self.trace.rows()
        self.graphs += 1
        self.file.add("graph", step=self.next_step, nodes=rows)

    def _histogram(self, tag: str, tensor: Any, step: int) -> float:
        """Write a tensor's distribution. Returns its sum of squares."""
        array = plain_array(tensor, torch)
        found = count(array) if array is not None else None
        odd = 0 if found is None else found.odd
        if found is None and array is not None:
            odd = array.size
        if odd:
            self.writer.add_scalar(f"not finite/{tag}", odd, step)
        if found is None:
            return 0.0
        self.writer.add_histogram_raw(
            tag, found.least, found.most, found.number, found.total, found.squares, found.limits,
            found.counts, step,
        )  # fmt: skip
        return found.squares

    def _write_gradients(self, optimizer: Any, step: int) -> None:
        label = self._label(optimizer)
        gradients = self.steps.gradients(optimizer)
        squares = 0.0
        for name, parameter in self.steps.names(optimizer).items():
            gradient = gradients.get(id(parameter))
            if gradient is not None:
                squares += self._histogram(f"gradients/{name}{label}", gradient, step)
        self.writer.add_scalar(f"gradient norm{label}", math.sqrt(squares), step)
        for at, group in enumerate(optimizer.param_groups[:8]):
            if isinstance(rate := group.get("lr"), (int, float, torch.Tensor)):
                place = f" of group {at}" if at else ""
                self.writer.add_scalar(f"learning rate{place}{label}", float(rate), step)

    def _write_parameters(self, optimizer: Any, step: int) -> None:
        label = self._label(optimizer)
        for name, parameter in self.steps.names(optimizer).items():
            self._histogram(f"parameters/{name}{label}", parameter, step)

    # --- times of operations -----------------------------------------------------------------

    def _start_profiler(self) -> None:
        if self.options.insight_ops:
            self.profiler = profiler.Recorder(shapes=False)
            self.profiler.start()

    def _stop_profiler(self) -> None:
        if self.profiler is not None and self.profiler in profiler.Recorder.active:
            self.profiler.stop()

    def _write_operations(self, step: int) -> None:
        assert self.profiler is not None
        rows: dict[str, dict[str, Any]] = {}
        inner: dict[int, int] = {}
        records = [r for r in self.profiler.records if r.end]
        self.profiler = None
        for record in records:
            if record.parent is not None and record.kind != profiler.COMPILE:
                took = record.end - record.start - record.compiling
                inner[id(record.parent)] = inner.get(id(record.parent), 0) + took
        for record in records:
            row = rows.setdefault(
                record.name, {"name": record.name, "calls": 0, "seconds": 0.0, "self_seconds": 0.0}
            )
            took = record.end - record.start - record.compiling
            row["calls"] += 1
            row["seconds"] += took / 1e9
            row["self_seconds"] += max(took - inner.get(id(record), 0), 0) / 1e9
        ordered = sorted(rows.values(), key=lambda row: -row["self_seconds"])
        self.file.add("ops", step=step, ops=ordered[:500])

    # --- data --------------------------------------------------------------------------------

    def _loader_iter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Any:
            iterator = original(loader)
            self._note_loader(loader, iterator)
            return iterator

        return iterate

    @_guarded
    def _note_loader(self, loader: Any, iterator: Any) -> None:
        if id(loader) not in self.loaders:
            self.loaders[id(loader)] = loader
            self.file.add("lineage", data=[_described(loader, len(self.loaders))])
        owner = next(each for each in type(iterator).__mro__ if "__next__" in each.__dict__)
        if owner not in self._iterators:
            self._iterators.add(owner)
            self._stand_in(owner, "__next__", self._next)

    def _next(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def advance(iterator: Any) -> Any:
            began = time.perf_counter()
            batch = original(iterator)
            self._note_batch(began, batch)
            return batch

        return advance

    @_guarded
    def _note_batch(self, began: float, batch: Any) -> None:
        training = torch.is_grad_enabled()
        if self.evaluating or not training:  # up to now, too
            self._add("evaluation", began - self.last)
            self.last = began
        self.evaluating = not training
        self._add("data" if training else "evaluation", time.perf_counter() - began)
        step = self.next_step
        if self.samples < _MOST_SAMPLES and self._is_due(step) and training:
            self.samples += 1
            with torch.no_grad():
                self._write_samples(batch, step)
        self.last += time.perf_counter() - began  # the part it lies in does not count it

    def _write_samples(self, batch: Any, step: int) -> None:
        entries = batch.items() if isinstance(batch, dict) else enumerate(
            batch if isinstance(batch, (list, tuple)) else [batch]
        )  # fmt: skip
        for name, value in list(entries)[:8]:
            tag = f"batch/{name}"
            if isinstance(value, torch.Tensor):
                self._write_tensor(tag, value, step)
            elif isinstance(value, (list, tuple)) and all(isinstance(x, str) for x in value):
                self.writer.add_text(tag, "\n".join(value[:_MOST_PICTURES]), step)

    def _write_tensor(self, tag: str, tensor: Any, step: int) -> None:
        if tensor.ndim == 4 and tensor.shape[1] in (1, 3) and tensor.shape[2] > 1:
            pictures = tensor[:_MOST_PICTURES].to(torch.float32).numpy()
            low, high = float(pictures.min()), float(pictures.max())
            if math.isfinite(low) and math.isfinite(high):
                pictures = (pictures - low) / ((high - low) or 1.0)
                self.writer.add_images(tag, pictures, step)
                return
        shown = np.array2string(tensor[:8].numpy(), threshold=200, precision=4)
        self.writer.add_text(tag, f"{tensor.dtype} {list(tensor.shape)}\n{shown}", step)

    # --- the script's own scalars ------------------------------------------------------------

    def _added_scalar(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def add_scalar(writer: Any, tag: str, value: Any, *args: Any, **kwargs: Any) -> None:
            original(writer, tag, value, *args, **kwargs)
            if writer is not self.writer:
                step = kwargs.get("global_step", args[0] if args else None)
                self._note_scalar(tag, value, step)

        return add_scalar

    @_guarded
    def _note_scalar(self, tag: str, value: Any, step: int | None) -> None:
        shown = self.next_step - 1 if step is None else step
        self.writer.add_scalar(f"script/{tag}", float(value), shown)


def _described(loader: Any, number: int) -> dict[str, Any]:
    """A loader's data in a few words."""
    dataset = loader.dataset
    found: dict[str, Any] = {
        "name": f"data {number}", "class": type(dataset).__name__,
        "batch size": loader.batch_size, "workers": loader.num_workers,
        "sampler": type(loader.sampler).__name__,
    }  # fmt: skip
    with contextlib.suppress(TypeError, NotImplementedError):
        found["size"] = len(dataset)
    for name in ("root", "path", "train", "split"):
        held = getattr(dataset, name, None)
        if isinstance(held, (str, Path, bool)):
            found[name] = held if isinstance(held, bool) else str(held)
    return found
