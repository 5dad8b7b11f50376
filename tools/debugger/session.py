"""The debugger: where a program stops, and what it keeps for those who look.

It sees a program at one of three levels: `steps` (losses, gradients, parameters; compiled functions
stay compiled), `modules` (also what modules are given and give) and `ops`. At the last two compiled
functions and scripts run op by op, with the same results.
"""

from __future__ import annotations

import fnmatch
import functools
import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

import numpy as np

from mindtorch import torch
from mindtorch.engine.autograd import inplace
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.op import Op
from mindtorch.engine.settings import policy

from ..watchpoints.conditions import Place
from ..watchpoints.observer import Observer, user_frame
from .protocol import LEVELS
from .records import CellOptimizer, Node, Record, flat_array, is_looked_at
from .watchpoints import Hit, Watchpoints, is_same_kind

__all__ = ["Debugger", "FrontEnd", "Stop", "TerminatedError"]

_MOST_HITS = 1000  # that are kept of a session


def _nothing() -> None:
    """No level was taken."""


class TerminatedError(SystemExit):
    """The user has ended the program."""

    def __init__(self) -> None:
        super().__init__(130)


class Stop:
    """Why and where a program stands still.

    Attributes:
        reason: "start", "step", "node", "watchpoint" or "pause".
        step: that is under way, or, between two steps, that has ended.
        node: the module or op whose call has just ended; "" between them.
        place: the user's line.
        hits: watchpoints that were met here.
    """

    def __init__(self, reason: str, step: int, node: str, place: Place, hits: list[Hit]) -> None:
        self.reason = reason
        self.step = step
        self.node = node
        self.place = place
        self.hits = hits

    def described(self) -> dict[str, Any]:
        """What it is, for programs."""
        return {
            "reason": self.reason, "step": self.step, "node": self.node, "layer": self.place.layer,
            "file": self.place.file, "line": self.place.line,
            "source": linecache.getline(self.place.file, self.place.line).strip(),
            "hits": [describe_hit(hit) for hit in self.hits],
        }  # fmt: skip


def describe_hit(hit: Hit) -> dict[str, Any]:
    """A hit, for programs."""
    return {
        "watchpoint": hit.watchpoint, "condition": hit.condition, "step": hit.step,
        "tensor": f"{hit.kind}:{hit.node}", "file": hit.place.file, "line": hit.place.line,
        "met": [each._asdict() for each in hit.met], "text": str(hit),
    }  # fmt: skip


class FrontEnd(Protocol):
    """Who is asked what to do where a program stops."""

    def stopped(self, session: Debugger, stop: Stop) -> None:
        """Come back when the program is to go on; `session` was told how by then."""

    def poll(self, session: Debugger) -> None:
        """Between two calls, while the program runs: what is waiting may be served."""


class Debugger(Observer):
    """A program under the debugger while it is entered.

    Args:
        front: who is asked at a stop.
        model: gives nodes their names from the start; else the outermost module called does.
        level: of `LEVELS`; how much is seen, and what it costs.
        stop_at_start: whether it stops before the first call of a model.

    Attributes:
        watchpoints: those of this session.
        hits: what was met, the last thousand.
        step: the optimizer's steps so far, and one.
        record, before: the nodes of this step and of the one before (while it goes step by step).
        gradients: parameters' gradients of this step, by the parameters' names.
        weights_before: the parameters before the last step.
        gradients_before: the gradients of the step before (while it goes step by step).
    """

    def __init__(
        self, front: FrontEnd, model: Any = None, level: str = "modules", stop_at_start: bool = True
    ) -> None:
        super().__init__(model)
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        self.front = front
        self.level = level
        self.stop_at_start = stop_at_start
        self.watchpoints = Watchpoints()
        self.hits: list[Hit] = []
        self.step = 1
        self.record, self.before = Record(), Record()
        self.gradients: dict[str, Any] = {}
        self.optimizers: dict[int, Any] = {}
        self.weights_before: dict[str, np.ndarray] = {}
        self.gradients_before: dict[str, np.ndarray] = {}
        self.output_gradients = False
        self.pause_requested = False
        self.detached = False
        self.frame: FrameType | None = None
        self._gradients_kept: dict[str, np.ndarray] = {}
        self._outputs_kept: dict[str, np.ndarray] = {}
        self._names: dict[tuple[int, int, int], dict[str, Any]] = {}
        self._places: dict[str, Place] = {}
        self._cells: dict[int, CellOptimizer] = {}
        self._cell_classes: dict[type, bool] = {}
        self._steps_left: int | None = None  # until it stops
        self._until: str | None = None  # a pattern of nodes
        self._ended = self.inside = self._started = False
        self._leave_level: Callable[[], None] = _nothing

    # -- coming and going -------------------------------------------------------------------------

    def __enter__(self) -> Debugger:
        self._install(self)
        self._undo.callback(lambda: self._leave_level())
        self._take_level()
        return self

    def _take_level(self) -> None:
        """See as much as `level` says."""
        self._leave_level()
        if self.level == "steps" or self.detached:
            return
        leave = self._enter_door() if self.level == "ops" else pause()
        before, policy.disabled = policy.disabled, True

        def undo() -> None:
            policy.disabled = before
            leave()
            self._leave_level = _nothing

        self._leave_level = undo

    def _is_deaf(self) -> bool:
        """Whether what is told is of no concern: our own work, or nobody looks any more."""
        if self.detached and self._leave_level is not _nothing:
            self._leave_level()
        return self.inside or self.detached

    def set_level(self, level: str) -> None:
        """See more or less from now on.

        Raises:
            ValueError: there is no such level.
        """
        if level not in LEVELS:
            raise ValueError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
        self.level = level

    def detach(self) -> None:
        """Let the program run as if nobody looked: who asked for it is gone."""
        self.detached = True
        self.go()

    # -- going on ---------------------------------------------------------------------------------

    @property
    def stepping(self) -> bool:
        """Whether the program goes step by step or node by node, so that more is kept."""
        return self._steps_left is not None or self._until is not None

    @property
    def step_has_ended(self) -> bool:
        """Whether nothing has happened since the last step."""
        return self._ended

    def go(self, steps: int | None = None, node: str | None = None) -> None:
        """How the program goes on after the stop.

        Args:
            steps: stop when so many have ended.
            node: stop after the call of the next module or op that this pattern matches.
        """
        self._steps_left, self._until = steps, node

    def _stop(self, reason: str, node: str = "", hits: list[Hit] | None = None) -> None:
        """Ask the front end what to do."""
        if self.detached:
            return
        self.pause_requested = False
        self._steps_left = self._until = None
        self.frame = user_frame()
        place = self.place(node)
        level = self.level
        self.inside = True
        try:
            with self.away(), torch.no_grad():
                step = self.step - self._ended
                self.front.stopped(self, Stop(reason, step, node, place, hits or []))
        finally:
            self.inside = False
            self.frame = None
        if self.level != level or self.detached:
            self._take_level()

    def _hit(self, kind: str, name: str, place: Place, found: list[Any]) -> list[Hit]:
        hits = [Hit(each, self.step, kind, name, place, met) for each, met in found]
        self.hits += hits
        del self.hits[:-_MOST_HITS]
        return hits

    # -- modules and ops --------------------------------------------------------------------------

    def _adopt(self, model: Any) -> None:
        super()._adopt(model)
        if self._started or self.inside or not any(True for _ in model.parameters()):
            return
        self._started = True
        hits = self._look_at_start(model)
        if hits or self.stop_at_start:
            self._stop("watchpoint" if hits else "start", hits=hits)

    def _look_at_start(self, model: Any) -> list[Hit]:
        hits = []
        for name, parameter in model.named_parameters():
            chosen = self.watchpoints.chosen("weights", name, "", at_start=True)
            hits += self._look("weights", name, self._place_of(name), parameter, chosen)
        return hits

    def _begin(self) -> None:
        """Something happens after a step has ended: what is seen now is of the next one."""
        self._ended = False
        self.before = self.record if self.stepping else Record()
        self.record = Record()
        self.gradients = {}
        self.origins.clear()

    def _cell_optimizer(self, module: Any) -> CellOptimizer:
        known = self._cells.get(id(module))
        if known is None:
            known = self._cells[id(module)] = CellOptimizer(module)
        return known

    def _is_optimizer(self, module: Any) -> bool:
        """Whether a module is MindSpore's optimizer."""
        kind = type(module)
        known = self._cell_classes.get(kind)
        if known is None:
            names = sys.modules.get("mindtorch.mindspore.nn.optimizer")
            known = names is not None and issubclass(kind, names.Optimizer)
            self._cell_classes[kind] = known
        return known

    def _calling(self, module: Any, args: Any) -> None:
        if self._is_optimizer(module):
            self.steps.give(args[0] if args else None)
            self.on_gradients(self._cell_optimizer(module))

    def _called(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        if self._is_optimizer(module):
            self.on_step(self._cell_optimizer(module))
            return
        if self.level == "steps" or self._is_deaf():
            return
        outermost = len(self.layers) == 1
        if self._ended:
            self._begin()
        path = self.path(module)
        given = (args, kwargs) if kwargs else args
        self._saw(path, "module", type(module).__name__, given, result)
        if outermost:
            self.front.poll(self)
            if not torch.is_grad_enabled() and not self.optimizers:
                self._count_step(path, [])

    def _saw(self, path: str, kind: str, made_by: str, inputs: Any, outputs: Any) -> None:
        """A call of a module or an op has ended: keep it, look at it, and stop if that is due."""
        if kind == "op" and self.backward:
            place = self.backward[-1]
            path = f"{place.layer}/{place.op}" if place.layer else place.op
        else:
            place = self.place("" if kind == "module" else made_by)
        node = self.record.add(path, kind, made_by, place, inputs, outputs)
        chosen = self.watchpoints.chosen("outputs", path, made_by)
        hits: list[Hit] = []
        if chosen.all:
            given = functools.partial(_all_finite, node)
            for position, kept in enumerate(node.outputs):
                name = node.name if len(node.outputs) == 1 else f"{node.name}[{position}]"
                hits += self._look("outputs", name, place, kept.tensor, chosen, given)
        if self.output_gradients and not self.backward:
            self._follow_gradients(node)
        if hits:
            self._stop("watchpoint", node.name, hits)
        elif self._until is not None and fnmatch.fnmatch(path, self._until):
            self._stop("node", node.name)
        elif self.pause_requested:
            self._stop("pause", node.name)

    def _follow_gradients(self, node: Node) -> None:
        for position, kept in enumerate(node.outputs):
            output = kept.tensor
            if output is not None and output.requires_grad and not output.is_leaf:
                output.register_hook(self._gradient_hook(node, position))

    def _gradient_hook(self, node: Node, position: int) -> Callable[[Any], None]:
        def seen(gradient: Any) -> None:
            if self._is_deaf():
                return
            path = node.name.partition("#")[0]
            node.gradients[position] = self.record.keep(gradient)
            chosen = self.watchpoints.chosen("output_gradients", path, node.made_by)
            name = node.name if len(node.outputs) == 1 else f"{node.name}[{position}]"
            hits = self._look("output_gradients", name, node.place, gradient, chosen)
            if hits:
                self._stop("watchpoint", node.name, hits)

        return seen

    def _look(
        self, kind: str, name: str, place: Place, tensor: Any, chosen: Any,
        sound_inputs: Callable[[], bool] | None = None, before: np.ndarray | None = None,
    ) -> list[Hit]:  # fmt: skip
        """What watchpoints find in a tensor."""
        if not chosen.all or not is_looked_at(tensor):
            return []
        array = flat_array(tensor)
        keep = False
        if chosen.compares and before is None:
            key = f"{kind}:{name}"
            before = self._outputs_kept.get(key)
            keep = before is not None and not chosen.of_equality and is_same_kind(array, before)
            if not keep:
                self._outputs_kept[key] = np.array(array)
        found = self.watchpoints.hits(chosen, array, before, sound_inputs, keep)
        return self._hit(kind, name, place, found) if found else []

    # -- ops (where this stands at the door) ------------------------------------------------------

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        with self.away():
            result = op(*inputs, **params)
        if op.view is None:
            self._op(op.name, inputs, result)
        results = result if isinstance(result, tuple) else (result,)
        self._note_origin(op.name, results[0])
        return result

    def apply_in_place(self, op: Op, target: Any, inputs: Any, params: Any) -> Any:
        with self.away():
            result = inplace.apply_in_place(op, target, *inputs, **params)
        self._op(f"{op.name}_", inputs, target)
        return result

    def _op(self, name: str, inputs: Any, outputs: Any) -> None:
        if self._is_deaf():
            return
        if self._ended:
            self._begin()
        layer = self.layer()
        self._saw(f"{layer}/{name}" if layer else name, "op", name, inputs, outputs)

    # -- steps ------------------------------------------------------------------------------------

    def on_loss(self, loss: Any) -> None:
        if self._is_deaf():
            return
        if self._ended:
            self._begin()
        place = self.place("loss")
        node = self.record.add("loss", "loss", "loss", place, (), loss)
        chosen = self.watchpoints.chosen("losses", "loss", "loss")
        hits = self._look("losses", node.name, place, loss, chosen)
        if hits:
            self._stop("watchpoint", node.name, hits)

    def parameters_of(self, optimizer: Any) -> dict[str, Any]:
        """The parameters of an optimizer by their names in the models that hold them."""
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        key = id(optimizer), count, len(self.steps.modules)
        if key not in self._names:
            self._names = {x: y for x, y in self._names.items() if x[0] != id(optimizer)}
            self._names[key] = self._named(optimizer)
        return self._names[key]

    def _named(self, optimizer: Any) -> dict[str, Any]:
        """Names as in `named_parameters` of the models seen, and of those that were constructed."""
        held = {id(p): p for group in optimizer.param_groups for p in group["params"]}
        found: dict[str, Any] = {}
        for module, path in list(self.names.values()):
            prefix = "" if path == type(module).__name__ else f"{path}."
            for name, parameter in module._parameters.items():
                if parameter is not None and held.pop(id(parameter), None) is not None:
                    found.setdefault(f"{prefix}{name}", parameter)
        if held:
            of_constructed = self.steps.names(optimizer).items()
            found |= {x: y for x, y in of_constructed if id(y) in held}
        return found

    def on_gradients(self, optimizer: Any) -> None:
        if self._is_deaf():
            return
        if self._ended:
            self._begin()
        self.optimizers[id(optimizer)] = optimizer
        with self.away():
            hits = self._look_at_gradients(optimizer)
        if hits:
            self._stop("watchpoint", "gradients", hits)

    def _look_at_gradients(self, optimizer: Any) -> list[Hit]:
        hits = []
        own = self.steps.gradients(optimizer)
        parameters = self.parameters_of(optimizer)
        self.gradients_before, self._gradients_kept = self._gradients_kept, {}
        # gradients first: the last ones are still in the processor's cache
        for name, parameter in parameters.items():
            gradient = own.get(id(parameter))
            if gradient is None:
                continue
            self.gradients[name] = gradient
            if self.stepping:
                self._gradients_kept[name] = np.array(flat_array(gradient))
            chosen = self.watchpoints.chosen("gradients", name, "")
            if chosen.all:
                place, before = self._place_of(name), self.gradients_before.get(name)
                hits += self._look("gradients", name, place, gradient, chosen, None, before)
        for name, parameter in parameters.items():
            self._keep_weight(name, parameter)
        return hits

    def _place_of(self, parameter: str) -> Place:
        """The layer of a parameter."""
        found = self._places.get(parameter)
        if found is None:
            found = self._places[parameter] = Place(parameter.rpartition(".")[0])
        return found

    def _keep_weight(self, name: str, parameter: Any) -> None:
        array = flat_array(parameter)
        kept = self.weights_before.get(name)
        if kept is not None and is_same_kind(array, kept):
            np.copyto(kept, array)
        else:
            self.weights_before[name] = np.array(array)

    def on_step(self, optimizer: Any) -> None:
        if self._is_deaf():
            return
        with self.away():
            hits = self._look_at_weights(optimizer)
        self._count_step("", hits)
        self.front.poll(self)

    def _look_at_weights(self, optimizer: Any) -> list[Hit]:
        if "weights" not in self.watchpoints.kinds():
            return []
        found = []
        # the last one first: it is still in the processor's cache
        for name, parameter in reversed(self.parameters_of(optimizer).items()):
            chosen = self.watchpoints.chosen("weights", name, "")
            place = self._place_of(name)
            before = self.weights_before.get(name)
            found.append(self._look("weights", name, place, parameter, chosen, None, before))
        return [hit for hits in reversed(found) for hit in hits]

    def _count_step(self, node: str, hits: list[Hit]) -> None:
        """A step of an optimizer has ended, or, where there is none, a call of the model."""
        self.step += 1
        self._ended = True
        if self._steps_left is not None:
            self._steps_left -= 1
        if hits:
            self._stop("watchpoint", node, hits)
        elif self._steps_left == 0:
            self._stop("step", node)
        elif self.pause_requested:
            self._stop("pause", node)

    def recheck(self) -> list[Hit]:
        """Look at everything that is kept of this step again, with the watchpoints of now."""
        hits = []
        for node in self.record:
            kind = "losses" if node.kind == "loss" else "outputs"
            chosen = self.watchpoints.chosen(kind, node.name.partition("#")[0], node.made_by)
            for kept in node.outputs:
                given = functools.partial(_all_finite, node)
                hits += self._look_again(kind, node.name, node.place, kept.tensor, chosen, given)
        for name, gradient in self.gradients.items():
            chosen = self.watchpoints.chosen("gradients", name, "")
            place, before = self._place_of(name), self.gradients_before.get(name)
            hits += self._look_again("gradients", name, place, gradient, chosen, None, before)
        for optimizer in self.optimizers.values():
            for name, parameter in self.parameters_of(optimizer).items():
                chosen = self.watchpoints.chosen("weights", name, "")
                place, before = self._place_of(name), self.weights_before.get(name)
                hits += self._look_again("weights", name, place, parameter, chosen, None, before)
        return hits

    def _look_again(
        self, kind: str, name: str, place: Place, tensor: Any, chosen: Any, given: Any,
        before: np.ndarray | None = None,
    ) -> list[Hit]:  # fmt: skip
        """As :meth:`_look`, but that nothing is kept for the next step."""
        if not chosen or not is_looked_at(tensor):
            return []
        found = self.watchpoints.hits(chosen, flat_array(tensor), before, given)
        step = self.step - self._ended
        return [Hit(each, step, kind, name, place, met) for each, met in found]


def _all_finite(node: Node) -> bool:
    """Whether a node's inputs have finite elements alone."""
    given = (x.tensor for x in node.inputs)
    return all(np.isfinite(flat_array(x)).all() for x in given if is_looked_at(x))
