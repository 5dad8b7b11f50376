"""Run events again, each by itself, on what the first side gave it.

Two runs of a network drift apart by rounding, and a layer's output differs because its input does.
Given the same input, parameters, random state and output gradient, a layer can only differ by its
own rounding: what that may be is measured, by running it in float64 as well, and once more in
float64 on values that are off by one rounding.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .distance import module_scales
from .record_format import ArrayReader, Event, Recorded, Rerun, load_steps
from .statistics import relative_difference, wide
from .tensor_probe import TensorProbe, filled, tensors_in

__all__ = ["EPSILON", "EventRerunner", "HeldEvent", "judge", "modes_of"]

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}
SAME = 8  # roundings that need no explanation
MARGIN = 16  # how much more than the measured noise a difference may be
UNEXPLAINED = 1e-5  # allowed where no float64 run could be made
MOST_SECONDS = 180.0

Values = tuple[np.ndarray, str]


@dataclass
class HeldEvent:
    """What is needed to run an event again: `call(*args, **kwargs)` with `shape` = [args,
    kwargs]. `training`: the modes of the module and its parts."""

    event: Event
    module: Any
    call: Any
    shape: Any
    tracked: list[bool]
    autocast: Any = None
    training: list[bool] = field(default_factory=list)


def judge(
    part: str, a: np.ndarray, b: np.ndarray, dtype: str, truth: Any = None, shaken: Any = None,
    scale: float = 0.0,
) -> Rerun:  # fmt: skip
    """Whether two results of one computation differ by more than its rounding.

    Args:
        part: what they are, for the report.
        a, b: the first and the second side's result.
        dtype: in which they were computed.
        truth: the same in float64.
        shaken: in float64, with every value given off by about one rounding of `dtype`.
        scale: a magnitude beside which a difference is measured where `a` and `b` are smaller.
    """
    apart = relative_difference(a, b, scale)
    epsilon = EPSILON.get(dtype, 0.0)
    if apart <= SAME * epsilon:
        return Rerun(part, apart, None, None, None, False)
    if truth is None or truth.shape != a.shape or a.shape != b.shape or not math.isfinite(apart):
        allowed = max(UNEXPLAINED, SAME * epsilon)
        return Rerun(part, apart, None, None, None, apart > allowed)
    size = float(np.abs(truth).max(initial=0)) or 1.0
    errors = [float(np.abs(wide(x) - truth).max(initial=0)) for x in (a, b)]
    noise = float(np.abs(shaken - truth).max(initial=0)) if shaken is not None else 0.0
    explained = MARGIN * max(min(errors), noise) + SAME * epsilon * size
    real = float(np.abs(wide(a) - wide(b)).max(initial=0)) > explained
    return Rerun(part, apart, errors[0] / size, errors[1] / size, noise / size, real)


def modes_of(torch: Any) -> dict[str, Any]:
    """What is set just now that changes what a call gives, by the names that repro.py uses."""
    cast = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
    return {
        "autocast": cast and str(cast).rpartition(".")[2],
        "dtype": str(torch.get_default_dtype()).rpartition(".")[2],
        "gradients": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }


class EventRerunner:
    """Runs a step's events again when the step ends, before the optimizer changes the parameters.

    On the first side only the backward part of each is run, to have each event's own gradients. On
    the second side (`against` is the first one's folder) everything is run on the first side's
    values.
    """

    def __init__(self, probe: TensorProbe, against: Path | None, step: int) -> None:
        self.probe = probe
        self.torch = probe.torch
        self.held: list[HeldEvent] = []
        self.against = against
        self.number = step
        self.deadline = math.inf

    def hold(self, held: HeldEvent) -> None:
        held.autocast = self._autocast()
        if held.module is not None:
            held.training = [bool(part.training) for part in held.module.modules()]
        self.held.append(held)

    def forget(self) -> None:
        self.held = []

    def _autocast(self) -> Any:
        """The dtype of autocast where it is on."""
        torch = self.torch
        if torch.is_autocast_enabled("cpu"):
            return torch.get_autocast_dtype("cpu")
        return None

    # -- the two sides' parts --------------------------------------------------------------------

    def run_all(self) -> None:
        """Run what is held again, and note the results in its events."""
        self.deadline = time.monotonic() + MOST_SECONDS
        state = self.torch.get_rng_state()
        try:
            if self.against is None:
                for held in self.held:
                    self._guarded(held, self._pull_own)
            else:
                self._play_against()
        finally:
            self.torch.set_rng_state(state)

    def _guarded(self, held: HeldEvent, work: Any, *args: Any) -> None:
        """A rerun that fails says so, and the recording goes on."""
        if time.monotonic() > self.deadline:
            held.event.rerun_failure = f"no time: {MOST_SECONDS:g} s were over"
            return
        try:
            work(held, *args)
        except Exception as error:
            held.event.rerun_failure = f"{type(error).__name__}: {error}"[:300]

    def _pull_own(self, held: HeldEvent) -> None:
        read = self.probe.arrays.read
        if not self._complete(held.event):
            return
        _, pulled = self._run(held, held.event, read, held.tracked)
        add = self.probe.arrays.add
        for name, (array, dtype) in pulled.items():
            held.event.pulled[name] = add(array, dtype, True)

    def _play_against(self) -> None:
        assert self.against is not None
        first = next((x for x in load_steps(self.against) if x.number == self.number), None)
        if first is None:
            return
        known = {(*event.key, event.call): event for event in first.events}
        reader = ArrayReader(self.against)
        try:
            for held in self.held:
                event = known.get((*held.event.key, held.event.call))
                if event is not None and self._complete(event):
                    self._guarded(held, self._compare, event, reader.__getitem__)
        finally:
            reader.close()

    def _complete(self, event: Event) -> bool:
        given = (*event.inputs, *event.outputs, *event.state.values())
        drawn = not event.draws or (event.drawn_from is not None and event.drawn_from.stored)
        return event.atomic and drawn and all(each.stored for each in given)

    def _compare(self, held: HeldEvent, event: Event, read: Any) -> None:
        """One event on the first side's values, and in float64 where that does not settle it."""
        if len(event.inputs) != len(held.event.inputs):
            return
        tracked = [f"input_{at}" in event.pulled for at in range(len(event.inputs))]
        outputs, mine = self._run(held, event, read, tracked)
        mine |= {f"output_{at}": each for at, each in enumerate(outputs)}
        theirs = {f"output_{at}": each for at, each in enumerate(event.outputs)} | event.pulled
        pairs = {x: (read(theirs[x]), mine[x][0], theirs[x].dtype) for x in theirs if x in mine}
        parameters = {x: y for x, y in event.pulled.items() if x.startswith("parameter_")}
        around = module_scales(parameters)
        scales = {x: around[x.rpartition(".")[0]] for x in parameters}
        found = {x: judge(x, *pair, scale=scales.get(x, 0.0)) for x, pair in pairs.items()}
        if any(x.real or x.apart > SAME * EPSILON.get(pairs[x.part][2], 0) for x in found.values()):
            found = self._with_truth(held, event, read, tracked, pairs) or found
        held.event.reruns = list(found.values())
        for name in pairs.keys() & event.pulled.keys():
            held.event.pulled[name] = self.probe.arrays.add(*mine[name], True)
        only = sorted(set(theirs) ^ set(mine))
        if only and len(outputs) != len(event.outputs):
            held.event.reruns.append(Rerun(only[0], math.inf, None, None, None, True))

    def _with_truth(
        self, held: HeldEvent, event: Event, read: Any, tracked: list[bool], pairs: Any
    ) -> dict[str, Rerun] | None:
        """The same judged by a float64 run; None where there can be none."""
        if event.draws or not any(dtype in EPSILON for *_, dtype in pairs.values()):
            return None
        rough = max((EPSILON.get(dtype, 0.0) for *_, dtype in pairs.values()), default=0.0)
        truths = []
        for shake in (0.0, rough):
            try:
                outputs, found = self._run(held, event, read, tracked, True, shake)
            except Exception:  # a function that float64 does not have
                return None
            found |= {f"output_{at}": each for at, each in enumerate(outputs)}
            truths.append({name: array for name, (array, _) in found.items()})
        return {
            x: judge(x, a, b, dtype, truths[0].get(x), truths[1].get(x))
            for x, (a, b, dtype) in pairs.items()
        }

    # -- one run ---------------------------------------------------------------------------------

    def _run(
        self,
        held: HeldEvent,
        event: Event,
        read: Any,
        tracked: list[bool],
        double: bool = False,
        shake: float = 0.0,
    ) -> tuple[list[Values], dict[str, Values]]:
        """An event's outputs and the gradients of its inputs and parameters."""
        torch = self.torch
        noise = np.random.Generator(np.random.PCG64(6))

        def tensor(recorded: Recorded) -> Any:
            return self._tensor(read(recorded), recorded, double, shake, noise)

        if event.drawn_from is not None:
            torch.set_rng_state(torch.from_numpy(np.array(read(event.drawn_from))))
        inputs = [tensor(each) for each in event.inputs]
        for leaf, track in zip(inputs, tracked, strict=True):
            if track and (leaf.is_floating_point() or leaf.is_complex()):
                leaf.requires_grad_(True)
        # before the call, which may write to one that is none
        leaves = {f"input_{at}": each for at, each in enumerate(inputs) if each.requires_grad}
        state = {name: tensor(each) for name, each in event.state.items()}
        cast = nullcontext()
        if held.autocast is not None and not double:
            cast = torch.autocast("cpu", dtype=held.autocast)
        with torch.enable_grad(), self._with_state(held, state) as parameters, cast:
            # Calls that write to their arguments may not be given leaves.
            given = [leaf.clone() if leaf.requires_grad else leaf for leaf in inputs]
            args, kwargs = filled(held.shape, given)
            result = held.call(*args, **kwargs)
            outputs = list(tensors_in(given[0] if result is None else result, torch.Tensor))
            arrays = [self._read(output) for output in outputs]
        leaves |= {f"parameter_{name}": each for name, each in parameters.items()}
        chosen = [
            (output, tensor(gradient).reshape(output.shape).to(output.dtype))
            for output, gradient in zip(outputs, event.gradients, strict=False)
            if gradient is not None and gradient.stored and output.requires_grad
        ]
        if not chosen or not leaves:
            return arrays, {}
        ends, gradients = zip(*chosen, strict=True)
        pulled = torch.autograd.grad(ends, list(leaves.values()), gradients, allow_unused=True)
        found = {x: y for x, y in zip(leaves, pulled, strict=True) if y is not None}
        return arrays, {x: self._read(y) for x, y in found.items()}

    def _read(self, tensor: Any) -> Values:
        array, dtype = self.probe.array_of(tensor)
        return np.array(array), dtype

    def _tensor(
        self,
        array: np.ndarray,
        recorded: Recorded,
        double: bool,
        shake: float,
        noise: np.random.Generator,
    ) -> Any:
        """A tensor of recorded values, laid out as it was; with `double` in float64, each off by a
        share of `shake`."""
        torch, axes = self.torch, recorded.axes
        array = np.array(array.transpose(axes) if axes else array, order="C")
        if double and array.dtype.kind in "fc":
            array = wide(array)
            if shake:
                array = array * (1 + shake * noise.uniform(-1, 1, array.shape))
        tensor = torch.from_numpy(np.asarray(array))
        if recorded.dtype == "bfloat16" and not double:
            tensor = tensor.to(torch.bfloat16)
        return tensor.permute([axes.index(axis) for axis in range(len(axes))]) if axes else tensor

    @contextmanager
    def _with_state(self, held: HeldEvent, state: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """A module with other parameters and buffers, in the modes of its call, everything put back
        afterwards; yields those parameters that are trained."""
        module = held.module
        if module is None:
            yield {}
            return
        torch, trained, undo = self.torch, {}, []
        parts = [(f"{path}." if path else "", part) for path, part in module.named_modules()]
        attributes = [(part, dict(part.__dict__)) for _, part in parts]
        try:
            for part, training in zip(module.modules(), held.training, strict=False):
                part.training = training
            for prefix, part in parts:
                for name, own in list(part._parameters.items()):
                    if own is not None and prefix + name in state:
                        new = torch.nn.Parameter(state[prefix + name], own.requires_grad)
                        undo.append((part, name, own))
                        setattr(part, name, new)
                        if own.requires_grad:
                            trained[prefix + name] = new
                for name, own in list(part._buffers.items()):
                    if own is not None and prefix + name in state:
                        undo.append((part, name, own))
                        setattr(part, name, state[prefix + name])
            yield trained
        finally:
            for part, name, own in reversed(undo):
                setattr(part, name, own)
            for part, before in attributes:
                part.__dict__.update(before)
