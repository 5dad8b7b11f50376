"""Watch what a script does with one library.

The recorder knows only names of torch's public namespace, so that it does the same on both sides.
It looks and does not touch: no random number is drawn, no value changed, and the time it takes
itself is left out of the times it reports. What it sees of a step is written when the step ends.
`instrument` puts it in its place; `rerun_event` runs again what it saw.
"""

import fnmatch
import functools
import itertools
import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .models import Models
from .module_source import LIBRARY, attributes_of, describe, is_library, source_of
from .options import Options, StopRecordingError
from .record_format import ArrayWriter, Event, Record, RecordNotWrittenError, Step
from .rerun_event import EventRerunner, HeldEvent, modes_of
from .statistics import digest_of
from .tensor_probe import TensorProbe, filled, plain, settings_of, template, tensors_in

__all__ = ["Recorder"]

MOST_EVENTS = 20_000
MOST_OUTSIDE = 8_000  # of them of functions outside models: a loop may prepare data
MOST_INFERENCE_CALLS = 8  # in a step
MOST_CARRIED = 4  # gradients that are looked at before a backward pass
EVENT_BYTES = 2**29
TORCH_LIKE = (*LIBRARY, "torchvision.transforms", "torchvision.datasets")
# They write all of their first argument and read nothing of it: memory that nobody wrote before.
FILLING = frozenset(
    "bernoulli_ cauchy_ copy_ exponential_ fill_ geometric_ log_normal_ normal_ random_ uniform_ "
    "zero_".split()
)


def drops(event: Event) -> bool:
    """Whether an event is a dropout's."""
    return "dropout" in event.name.lower()


class Recorder:
    """Records one run.

    Args:
        torch: the namespace that the script will import.
        record: what is filled, beside `folder`/steps.jsonl.
        arrays: where arrays go.
        folder: the side's folder.
        options: what to watch.
    """

    def __init__(
        self, torch: Any, record: Record, arrays: ArrayWriter, folder: Path, options: Options
    ) -> None:
        self.torch = torch
        self.record = record
        self.options = options
        self.probe = TensorProbe(torch, arrays)
        self.models = Models(torch, record, self.probe)
        self.rerunner = EventRerunner(self.probe, options.against, options.full_step)
        self.folder = folder
        self.file = (folder / "steps.jsonl").open("w", encoding="utf-8")
        self.room = EVENT_BYTES
        self.outside = 0  # functions of this step that were called outside models
        self.step = Step(0)
        self.stack: list[Event] = []
        self.states: dict[int, np.ndarray] = {}
        self.calls: dict[tuple[str, str, str], int] = {}
        self.phase = "data"
        self.update_begin = -1  # the last event before an update without an optimizer
        self.updating = False
        self.returned: tuple[Any, ...] = ()
        self.inference_events: list[Event] | None = None
        self.in_first_inference = False
        self.inference_calls = 0
        self.epochs: dict[int, int] = {}
        self.loader_passes = 0
        self.quiet = 0
        self.last_end: tuple[int, float, float] | None = None
        compiler = getattr(torch, "compiler", None)
        self.is_compiling: Callable[[], bool] = getattr(compiler, "is_compiling", bool)

    # -- whether to look -------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Whether there is still something to watch; never while torch compiles the script."""
        last = self.options.last_step
        if self.probe.inside or (last is not None and self.step.number >= last):
            return False
        return not self.is_compiling()

    @property
    def full(self) -> bool:
        return self.step.number == self.options.full_step

    def keeps(self, index: int) -> bool:
        """Whether the arrays of an event of this step are kept."""
        window = self.options.window
        return self.full and (window is None or window[0] <= index <= window[1])

    def wanted(self, path: str) -> bool:
        pattern = self.options.only
        return pattern is None or not path or fnmatch.fnmatchcase(path, pattern)

    # -- modules ---------------------------------------------------------------------------------

    def _is_beside_training(self, module: Any, given: list[Any]) -> bool:
        """Whether a module is no part of what is trained, e.g. a transform of the data."""
        known = self.models.is_known(module)
        if self.stack or known or self.models.is_model(module):
            return False
        return not any(tensor.requires_grad for tensor in given)

    def call_module(self, run: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """One call of a module: `run(module, *args, **kwargs)`, watched if it is to be."""
        within = self.options.shallow and self.stack
        if not self.active or self.quiet or within:
            return run(module, *args, **kwargs)
        self.end_manual_update()
        if self.torch.is_grad_enabled() or self.stack:
            return self._record_module(run, module, args, kwargs)
        first = self.step.number == 0 and self.inference_events is None
        if first and not self.step.losses and self.models.is_model(module):
            return self._record_first_inference(run, module, args, kwargs)
        if self.inference_calls < MOST_INFERENCE_CALLS and any(True for _ in module.parameters()):
            return self._record_inference(run, module, args, kwargs)
        return run(module, *args, **kwargs)

    def _record_inference(
        self, run: Callable[..., Any], module: Any, args: Any, kwargs: Any
    ) -> Any:
        """A model's call without gradients beside the training (a teacher, a target, a moving
        average): seen as a whole, and its parameters from then on."""
        self.inference_calls += 1
        given: list[Any] = []
        shape = template([args, kwargs], self.torch.Tensor, given)
        with self.probe.probing():
            path = self.models.name_without_gradients(module)
            event = self._begin("module", path, type(module).__name__, given, "")
            if event is not None:
                event.description, event.arguments = describe(module), plain(shape)
                event.atomic = True
                modes = self._modes() | self.options.changed
                self._hold(event, module, functools.partial(module), shape, given, modes)
        self.quiet += 1
        try:
            result = run(module, *args, **kwargs)
        finally:
            self.quiet -= 1
        if event is not None:
            with self.probe.probing():
                event.trained = bool(module.training)
                self._end(event, result)
        return result

    def _record_first_inference(
        self, run: Callable[..., Any], module: Any, args: Any, kwargs: Any
    ) -> Any:
        """The first call without gradients: all there is to see of a script that never trains."""
        kept, calls, self.in_first_inference = self.step.events, self.calls, True
        self.step.events, self.calls = [], {}
        try:
            return self._record_module(run, module, args, kwargs)
        finally:
            self.inference_events, self.in_first_inference = self.step.events, False
            self.step.events, self.calls = kept, calls

    def _record_module(self, run: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        given: list[Any] = []
        shape = template([args, kwargs], self.torch.Tensor, given)
        if self._is_beside_training(module, given):
            self.quiet += self.options.shallow
            try:
                return run(module, *args, **kwargs)
            finally:
                self.quiet -= self.options.shallow
        outermost = not self.stack
        modes = self._modes() | (self.options.changed if outermost else {})
        with self.probe.probing():
            if outermost:
                self._begin_model(module)
            path = self.models.name_of(module)
            event = self._begin("module", path, type(module).__name__, given, "")
        if event is None:
            return run(module, *args, **kwargs)
        event.description = self.record.modules.get(path) or describe(module)
        event.arguments = plain(shape)
        with self.probe.probing():
            self._hold(event, module, functools.partial(module), shape, given, modes)
        self.stack.append(event)
        try:
            result = run(module, *args, **kwargs)
        except BaseException:
            self.record.where = self.record.where or f"step {self.step.number + 1}, in {path}"
            raise
        finally:
            self.stack.pop()
        with self.probe.probing():
            event.trained = bool(getattr(module, "training", False))
            event.atomic = self._is_atomic(event, module)
            own = is_library(type(module))
            run = functools.partial(type(module).forward, module)
            self._end(event, result, (run, shape, given) if own else None)
            if outermost:
                self.models.add_materialized(self.step)
            if outermost and self.models.is_root(module):
                self.phase = "loss"
        return result

    def _begin_model(self, module: Any) -> None:
        """The outermost call of a module begins: the first of a model in a step is where its state
        is recorded."""
        if not self.models.is_known(module) and self.models.is_model(module):
            self.models.add(module, self.step.number)
        if self.models.is_root(module):
            self.phase = "forward"
            if not self.step.before and not self.in_first_inference:
                self.step.before = dict(self.models.state(self.full))

    def _is_atomic(self, event: Event, module: Any) -> bool:
        """Whether a call is worth running again as a whole."""
        inner = any(each.kind == "module" for each in self.step.events[event.index + 1 :])
        return not inner or (is_library(type(module)) and type(module).__name__ != "Sequential")

    def _modes(self) -> dict[str, Any]:
        return modes_of(self.torch) if self.options.rerun and self.full else {}

    def _hold(
        self, event: Event, module: Any, call: Any, shape: Any, given: list[Any],
        modes: dict[str, Any],
    ) -> None:  # fmt: skip
        if self.options.rerun and self.keeps(event.index):
            event.modes = modes
            if module is None:
                self._note_source(getattr(call, "__self__", None))
            else:
                self._note_source(type(module))
                event.attributes = attributes_of(module)
                for name, each in (*module.named_parameters(), *module.named_buffers()):
                    event.state[name] = self.probe.record_afresh(each, True)
            tracked = [x.requires_grad for x in given]
            self.rerunner.hold(HeldEvent(event, module, call, shape, tracked))

    def _note_source(self, cls: Any) -> None:
        """Keep the text of a user's class, for a file that reproduces a difference."""
        if isinstance(cls, type) and cls.__name__ not in self.record.sources:
            if not is_library(cls):
                self.record.sources[cls.__name__] = source_of(cls)

    # -- functions -------------------------------------------------------------------------------

    def wants_function(self, caller: str) -> bool:
        """Whether a function called from module `caller` is a part of the script's own work."""
        within = self.options.shallow and self.stack
        if self.probe.inside or self.quiet or within or f"{caller}.".startswith(TORCH_LIKE):
            return False
        if not (self.torch.is_grad_enabled() or self.stack or self.updating):
            return self.in_first_inference and self.active
        return self.active

    def call_function(
        self, called: tuple[str, str], run: Callable[..., Any], args: Any, kwargs: Any, line: str
    ) -> Any:
        """One call of a function or tensor method, `called` (namespace, name)."""
        space, name = called
        given: list[Any] = []
        shape = template([args, kwargs], self.torch.Tensor, given)
        path = self.stack[-1].path if self.stack else ""
        phase, modes = self._phase_of(space, name, given), self._modes()
        with self.probe.probing():
            event = self._begin("op", path, name, given, line)
            if event is not None:
                event.phase = phase
                own = (isinstance(x, self.torch.Generator) for x in (*args, *kwargs.values()))
                event.atomic = not any(own)  # its state is not known, and would be moved on
                event.description = space
                event.arguments = plain(shape)
                self._hold(event, None, run, shape, given, modes)
        self.quiet += 1
        try:
            result = run(*args, **kwargs)
        finally:
            self.quiet -= 1
        if event is not None:
            with self.probe.probing():
                made = given[0] if result is None and given else result
                self._end(event, made, (run, shape, given) if space else None)
        return result

    def _phase_of(self, space: str, name: str, given: list[Any]) -> str:
        """The phase of a function's call. In scripts and parts of scripts without modules, what
        uses values that are trained is the forward pass, up to a loss function."""
        if self.stack or not self.torch.is_grad_enabled():
            self.update_begin = len(self.step.events) if self.updating else -1
            return self.phase
        early = self.phase in ("data", "update")
        if space == "func":  # gives gradients, so what follows without an optimizer is an update
            self.end_manual_update()
            if self.models.optimized is None and early:
                self.phase = "update"
            return "forward" if early else self.phase
        if any(tensor.requires_grad for tensor in given):
            self.end_manual_update()
            if "loss" in name or "cross_entropy" in name:
                self.phase = "loss"
            return "forward" if self.phase in ("data", "update") else self.phase
        if self.updating:
            in_place = name.endswith("_") and (name[:3] == "__i" or name[:2] != "__")
            if in_place or any(x is each for x in given for each in self.returned):
                self.update_begin = len(self.step.events)
        elif self.phase == "update" and self.models.optimized is None and not given:
            self.phase = "data"
        return self.phase

    def _begin(self, kind: str, path: str, name: str, given: list[Any], line: str) -> Event | None:
        """A new event; None where it is not to be recorded."""
        outside = kind == "op" and not path and self.phase in ("data", "update")
        self.outside += outside
        full = len(self.step.events) >= MOST_EVENTS or self.room <= 0
        if full or (outside and self.outside > MOST_OUTSIDE):
            self.step.events_left_out += 1
            return None
        if not self.wanted(path):
            return None
        key = (kind, path, name)
        call = self.calls[key] = self.calls.get(key, -1) + 1
        index = len(self.step.events)
        keeps = self.keeps(index)
        state = self.probe.generator()
        if kind == "op" and name in FILLING and given:
            given = [self.torch.zeros_like(given[0]), *given[1:]]
        event = Event(
            index=index,
            kind=kind,
            path=path,
            name=name,
            call=call,
            phase=self.phase,
            line=line,
            description="",
            arguments=None,
            parent=self.stack[-1].index if self.stack else -1,
            atomic=False,
            inputs=[self.probe.record(tensor, keeps) for tensor in given],
            generator=digest_of(state, "generator"),
        )
        if keeps or drops(event):
            self.states[index] = state
        self.step.events.append(event)
        return event

    def _mask(self, event: Event, called: tuple[Any, Any, list[Any]], state: Any) -> None:
        """Which elements a dropout kept: it draws once more from the same `state`, for ones. What
        it gave does not tell, since zeros are zeros in either case."""
        run, shape, given = called
        after = self.probe.generator()
        torch = self.torch
        args, kwargs = filled(shape, [torch.ones_like(given[0]), *given[1:]])
        try:
            torch.set_rng_state(torch.from_numpy(state))
            kept = self.probe.array_of(run(*args, **kwargs))[0] > 0
        finally:
            torch.set_rng_state(torch.from_numpy(after))
        event.mask = digest_of(np.packbits(kept), "mask")

    def _end(
        self, event: Event, result: Any, called: tuple[Any, Any, list[Any]] | None = None
    ) -> None:
        """The call of an event came back with `result`. `called`: what was called, the template of
        its arguments and their tensors, of a function or layer of torch's own."""
        outputs = list(tensors_in(result, self.torch.Tensor))
        keeps = self.keeps(event.index)
        event.outputs = [self.probe.record(output, keeps) for output in outputs]
        event.gradients = [None] * len(outputs)
        event.draws = digest_of(self.probe.generator(), "generator") != event.generator
        state = self.states.pop(event.index, None)
        if event.draws and state is not None:
            if keeps:
                event.drawn_from = self.probe.arrays.add(state, "uint8", True)
            if drops(event) and called is not None and called[2]:
                self._mask(event, called, state)
        for position, output in enumerate(outputs):
            if output.requires_grad and not output.is_leaf:
                output.register_hook(self._gradient_hook(event, position, keeps))

    def _gradient_hook(self, event: Event, position: int, keeps: bool) -> Callable[[Any], None]:
        def seen(gradient: Any) -> None:
            if not self.probe.inside:
                with self.probe.probing():
                    event.gradients[position] = self.probe.record(gradient, keeps)

        return seen

    # -- steps -----------------------------------------------------------------------------------

    def seen_batch(self, batch: Any) -> None:
        if self.active:
            self.end_manual_update()
            with self.probe.probing():
                self.step.batches.append(self.probe.record_all(batch, self.full))

    def seen_loss(self, loss: Any) -> None:
        if self.active:
            self.end_manual_update()
            with self.probe.probing():
                if not self.step.losses:
                    self.step.carried = self._carried()
                values = self.probe.array_of(loss)[0]
                self.step.losses.append(float(values.mean(dtype=np.float64)))

    def _carried(self) -> str:
        """The first parameter that has a gradient, if that is not zero."""
        left = ((n, each.grad) for n, each in self.models.parameters() if each.grad is not None)
        some = itertools.islice(left, MOST_CARRIED)
        return next((n for n, x in some if self.probe.record_afresh(x, False).largest), "")

    def seen_backward(self, returned: tuple[Any, ...] = ()) -> None:
        """What comes after `backward` (which gave back `returned`) is about the update, until a
        model is called again.

        Of a script without an optimizer it is the update itself: a step ends where the next begins.
        """
        if not self.active:
            return
        self.phase = "update"
        if self.models.optimized is None:
            self.before_step()
            self.updating, self.update_begin = True, len(self.step.events) - 1
            self.returned = returned

    def end_manual_update(self) -> None:
        """The end of a step whose update was made without an optimizer, if there is one."""
        if self.updating:
            self.updating, self.returned = False, ()
            for event in self.step.events[self.update_begin + 1 :]:
                event.phase = "data"  # it is the next step's
            self.after_step()

    def before_step(self, optimizer: Any = None, within: bool = False) -> None:
        """What backward left, before the optimizer uses it; where a closure calls the model
        `within` the step, there is nothing yet."""
        if not self.active:
            return
        if optimizer is not None:
            self.end_manual_update()
        with self.probe.probing():
            if optimizer is not None:
                self.models.add_of_no_module(optimizer, self.step, self.full)
                names = {id(each): name for name, each in self.models.parameters()}
                self.step.optimizer = settings_of(optimizer, names)
            if not within:
                self._gradients()

    def _gradients(self) -> None:
        """The parameters' gradients; and all calls of the step again, if that is asked for."""
        for name, parameter in self.models.parameters():
            if parameter.grad is not None:
                self.step.gradients[name] = self.probe.record_afresh(parameter.grad, self.full)
        if self.full:
            self._rerun()

    def _rerun(self) -> None:
        if self.options.rerun:
            self.rerunner.run_all()

    def after_step(self, within: bool = False) -> None:
        """What became of parameters and buffers; of a step with calls `within`, the gradients of
        the last one, too."""
        if not self.active:
            return
        if within:
            with self.probe.probing():
                self._gradients()
        now, step = time.perf_counter(), self.step
        if self.last_end is not None and self.last_end[0] == self.loader_passes and not self.full:
            seconds = (now - self.last_end[1]) - (self.probe.overhead - self.last_end[2])
            step.seconds = seconds
        with self.probe.probing():
            step.after = dict(self.models.state(self.full))
            step.generators = self.probe.generators()
            step.epoch = self.epochs.setdefault(self.loader_passes, len(self.epochs))
            self._write()
        self.record.steps += 1
        if self.options.stop and step.number == self.options.full_step:
            raise StopRecordingError(0)
        self.step = Step(step.number + 1)
        self.calls, self.states, self.phase, self.inference_calls = {}, {}, "data", 0
        self.outside = 0
        self.last_end = (self.loader_passes, time.perf_counter(), self.probe.overhead)

    def _write(self) -> None:
        """Write the step, and let go of what it held."""
        self.step.full = self.full
        self.probe.arrays.flush()
        line = json.dumps(self.step, default=vars)
        self.room -= len(line)
        try:
            self.file.write(line + "\n")
            self.file.flush()
            if self.step.number == 0:  # for a run that is killed later
                self.record.save(self.folder)
        except OSError as error:
            raise RecordNotWrittenError(error) from None
        self.rerunner.forget()

    def finish(self) -> None:
        """What the run ends with; a step that was begun and has a model's call is one too."""
        with suppress(StopRecordingError):
            self.end_manual_update()
        with self.probe.probing():
            if self.record.steps == 0:
                if not any(event.kind == "module" for event in self.step.events):
                    self.step.events = self.inference_events or self.step.events
                if self.full:
                    self._rerun()
                self.step.generators = self.probe.generators()
                self._write()
            for name, parameter in self.models.parameters():
                self.record.final[name] = self.probe.record_afresh(parameter, False)
        self.record.overhead = self.probe.overhead

    def close(self) -> None:
        """Where the run stands now, and no more."""
        if self.step.events and not self.record.where:
            last = self.step.events[-1].label
            self.record.where = f"step {self.step.number + 1}, after {last}"
        self.file.close()
