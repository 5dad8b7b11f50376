"""`mindtorch.tools.watch`: conditions on the numbers of a training, told where they arise.

A watch stands at the engine's door, where every op of the forward and of the backward pass comes
by, and listens to optimizers. While it stands there compiled functions run op by op, with the same
results, so what they compute is seen as well.
"""

from __future__ import annotations

import linecache
import math
import pdb
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.autograd import inplace
from mindtorch.engine.op import Op

from .conditions import LIMITS, Hit, Place, chosen, tensor_faults
from .kernels import dead_units, has_other_than_zero
from .observer import MOVERS, Observer, elements, is_watched, user_frame
from .step_conditions import StepChecks

__all__ = ["Watch", "WatchpointError", "watch"]

# Their further results are kept for the backward pass, as logarithms that may be of zero.
_KEEPING = frozenset(["ctc_loss"])
_SATURATING = {"sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0)}
_REPEATS = 3


class WatchpointError(RuntimeError):
    """A watchpoint was met, and the watch was to raise.

    Attributes:
        hit: what was met.
    """

    def __init__(self, hit: Hit) -> None:
        super().__init__(str(hit))
        self.hit = hit


def _largest(faults: dict[str, tuple[str, float]]) -> float:
    """The largest element that was told as too large, 0 where none was."""
    return faults["too_large"][1] if "too_large" in faults else 0.0


def _headline(hit: Hit) -> tuple[Any, ...]:
    """What hits that are told below one another have in common."""
    return hit.check, hit.step, hit.place.file, hit.place.line


class Watch(Observer):
    """Looks for watchpoints while it is entered.

    Attributes:
        hits: what was met, in order; of one check at one place the first few.
        counts: how often each was met: (check, layer, op) -> times.
        step: the optimizer's steps so far, and one.
    """

    def __init__(
        self,
        wanted: set[str],
        model: Any = None,
        on_hit: str | Callable[[Hit], Any] = "print",
        limits: dict[str, float] | None = None,
    ) -> None:
        unknown = set(limits or {}) - LIMITS.keys()
        if unknown:
            raise TypeError(f"no limit named {', '.join(sorted(unknown))}")
        if isinstance(on_hit, str) and on_hit not in ("print", "raise", "debug", "collect"):
            raise ValueError(
                f"on_hit must be 'print', 'raise', 'debug', 'collect' or a function, not {on_hit!r}"
            )
        super().__init__(model)
        self.wanted = wanted
        self.limits = {**LIMITS, **(limits or {})}
        self.on_hit = on_hit
        self.hits: list[Hit] = []
        self.counts: dict[tuple[str, str, str], int] = {}
        self.step = 1
        self.checks = StepChecks(self)
        self.followers: list[bool] = []  # for each hit, whether it follows from an earlier one
        self._folding = False
        self._printed: Hit | None = None

    # -- standing at the door ---------------------------------------------------------------------

    def __enter__(self) -> Watch:
        self._install(self.checks)
        self._undo.callback(self._enter_door())
        return self

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        with self.away():
            result = op(*inputs, **params)
        results = result if isinstance(result, tuple) else (result,)
        if op.view is None:
            for each in results[:1] if op.name in _KEEPING else results:
                self._look(op.name, each, inputs)
        self._note_origin(op.name, results[0])
        return result

    def apply_in_place(self, op: Op, target: Any, inputs: Any, params: Any) -> Any:
        before = self._faults(target) if op.name not in MOVERS else {}
        with self.away():
            result = inplace.apply_in_place(op, target, *inputs, **params)
        self._look(f"{op.name}_", target, inputs, before)
        self._note_origin(f"{op.name}_", target)
        return result

    def _adopted(self, path: str, part: Any) -> None:
        for key, parameter in part._parameters.items():
            for check, (words, value) in self._faults(parameter).items():
                place = self.place(key)._replace(layer=path)
                self.tell(check, place, f"before the first step, {words}", value)

    def _called(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        if "all_zero" in self.wanted:
            self._look_at_output(module, result)

    # -- looking ----------------------------------------------------------------------------------

    def _faults(self, tensor: Any) -> dict[str, tuple[str, float]]:
        if not is_watched(tensor):
            return {}
        return tensor_faults(elements(tensor), self.wanted, self.limits)

    def _look(
        self, name: str, result: Any, inputs: Any, before: dict[str, Any] | None = None
    ) -> None:
        if not is_watched(result) or name.rstrip("_") in MOVERS:
            return
        faults = self._faults(result)
        if faults:
            old = set(before or ())
            for each in filter(is_watched, inputs):
                own = self._faults(each)
                if getattr(each.aval, "weak", False):  # a number that the user wrote
                    old |= own.keys() & {"overflow"}
                    if "too_large" in faults and _largest(own) * 1.001 >= _largest(faults):
                        old.add("too_large")
                else:
                    old |= own.keys()
            for check, (words, value) in faults.items():
                led = check in old  # infinite elements have become NaN
                if not led or (check == "overflow" and self._new_nan(result, inputs)):
                    self.tell(check, self._here(name), words, value, led)
        elif not self.backward:
            self._look_at_activation(name.rstrip("_"), result)

    def _new_nan(self, result: Any, inputs: Any) -> bool:
        """Whether infinite inputs have become the first NaN, as in inf - inf."""
        given = [x for x in inputs if is_watched(x)]
        return bool(np.isnan(result.flat).any()) and not any(np.isnan(x.flat).any() for x in given)

    def _here(self, op: str) -> Place:
        return self.backward[-1] if self.backward else self.place(op)

    def _look_at_activation(self, name: str, result: Any) -> None:
        if name in _SATURATING and "activation_saturation" in self.wanted and result.flat.size:
            low, high = _SATURATING[name]
            margin = 1e-3 * (high - low)
            flat = elements(result)
            share = float(np.mean((flat < low + margin) | (flat > high - margin)))
            if share > self.limits["activation_saturation"]:
                words = f"{share:.1%} of the results are within 0.1 % of {low:g} or {high:g}"
                self.tell("activation_saturation", self.place(name), words, share)
        elif name == "relu" and "dead_relu" in self.wanted:
            self._look_at_relu(result)

    def _look_at_relu(self, result: Any) -> None:
        """Units are channels (dimension 1) where there are more than two dimensions, else columns;
        a unit that is zero for every example and everywhere is dead for this batch."""
        shape = result.aval.shape
        if len(shape) < 2 or shape[0] < 2 or not result.flat.size:
            return
        array = elements(result) if result.aval.contiguous else np.ravel(result.array())
        share = dead_units(array, shape) / shape[1]
        if share > self.limits["dead_relu"]:
            words = f"{share:.1%} of {shape[1]} units are zero for all {shape[0]} examples"
            self.tell("dead_relu", self.place("relu"), words, share)

    def _look_at_output(self, module: Any, result: Any) -> None:
        if any(True for _ in module.children()) or not is_watched(result):
            return
        if result.flat.size and not has_other_than_zero(elements(result)):
            words = f"all {result.flat.size} elements of the output are zero"
            self.tell("all_zero", self.place(""), words, 0.0)

    # -- telling ----------------------------------------------------------------------------------

    def tell(
        self, check: str, place: Place, statistic: str, value: float, led: bool = False
    ) -> None:
        """Note a hit, and do what the user wants done; `led`: what was given led to it."""
        key = (check, place.layer, place.op)
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if count > _REPEATS:
            return
        hit = Hit(check, self.step, place, statistic, value)
        self.followers.append(self._follows(hit, led))
        self.hits.append(hit)
        with self.away():
            self._react(hit, count)

    def _react(self, hit: Hit, count: int) -> None:
        if callable(self.on_hit):
            self.on_hit(hit)
        elif self.on_hit == "raise":
            raise WatchpointError(hit)
        elif self.on_hit != "collect":
            if self.followers[-1]:
                if not self._folding:
                    print("    (what follows from it is counted at the end)", file=sys.stderr)
                self._folding = True
                return
            self._print(hit, count)
            if self.on_hit == "debug":
                frame = user_frame()
                if frame is not None:
                    pdb.Pdb().set_trace(frame)

    def _follows(self, hit: Hit, led: bool) -> bool:
        """Whether a hit is what an earlier one leads to: a figure that is no number, once NaN or
        infinite elements were met; the change of a parameter whose gradient was told."""
        before = self.hits
        if hit.check != "overflow" and not math.isfinite(hit.value):
            return any(h.check == "overflow" for h in before)
        if hit.check == "overflow" and (led or hit.place.op.startswith("backward of")):
            return any(h.check == "overflow" and h.step == hit.step for h in before)
        same = (h for h in before if h.step == hit.step and h.place[:2] == hit.place[:2])
        return hit.check == "weight_change_too_large" and any(
            h.check == "gradient_exploding" for h in same
        )

    def _print(self, hit: Hit, count: int) -> None:
        last, self._printed = self._printed, hit
        if last is not None and last.place != hit.place and _headline(last) == _headline(hit):
            where = ", ".join(filter(None, hit.place[:2]))
            print(f"    also in {where}: {hit.statistic}", file=sys.stderr)
        else:
            print(f"watch: {hit}", file=sys.stderr)
            source = linecache.getline(hit.place.file, hit.place.line).strip()
            if source:
                print(f"    {source}", file=sys.stderr)
        if count == _REPEATS:
            print("    (no more of these are shown)", file=sys.stderr)

    def summary(self) -> str:
        """All hits, counted, in words; those that follow from earlier ones by their check alone."""
        if not self.hits:
            return "watch: nothing was met"
        firsts: dict[Any, tuple[Hit, bool]] = {}
        for hit, follows in zip(self.hits, self.followers, strict=True):
            firsts.setdefault((hit.check, hit.place.layer, hit.place.op), (hit, follows))
        lines: list[str] = []
        followed: dict[str, tuple[int, int]] = {}
        for key, (hit, follows) in firsts.items():
            if follows:
                places, times = followed.get(hit.check, (0, 0))
                followed[hit.check] = (places + 1, times + self.counts[key])
            else:
                lines.append(f"  {self.counts[key]} x from {hit}")
        count = len(lines)
        head = f"watch: {count} watchpoint{'s were' if count != 1 else ' was'} met"
        lines += [
            f"  follows from that: {check} in {places} place{'s' * (places != 1)}, {times} times"
            for check, (places, times) in followed.items()
        ]
        return "\n".join([head, *lines])


def watch(
    *checks: str,
    model: Any = None,
    on_hit: str | Callable[[Hit], Any] = "print",
    **limits: float,
) -> Watch:
    """Look for watchpoints in a block.

        with mindtorch.tools.watch("overflow", "dead_relu", model=model) as seen:
            train()
        seen.hits

    Args:
        checks: names of `watchpoints.CHECKS`; none, or "all", for all.
        model: gives layers their names from the start; else the outermost module called does.
        on_hit: "print" (to standard error), "raise" (a WatchpointError), "debug" (pdb at the
            user's line), "collect" (nothing), or a function of the hit.
        limits: of single checks, e.g. `gradient_exploding=100`.

    Raises:
        ValueError: there is no such check.
        TypeError: there is no such limit.
    """
    return Watch(chosen(checks), model, on_hit, limits)
