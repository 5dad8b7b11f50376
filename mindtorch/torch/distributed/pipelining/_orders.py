"""In which order each process computes: lists of actions, by schedule.

Whoever runs a list waits where an input has not come yet, so idle times are not part of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

Orders = dict[int, list["Action"]]


class ComputationType(StrEnum):
    """What is computed: forward, all gradients, or those of inputs and of weights by themselves."""

    FORWARD = "F"
    BACKWARD_INPUT = "I"
    BACKWARD_WEIGHT = "W"
    FULL_BACKWARD = "B"
    OVERLAP_F_B = "OVERLAP_F_B"
    REDUCE_GRAD = "REDUCE_GRAD"

    @staticmethod
    def from_str(action: str) -> ComputationType:
        """The member of that value; RuntimeError where there is none."""
        try:
            return ComputationType(action)
        except ValueError as error:
            raise RuntimeError(f"Invalid computation type {action}") from error


F, W = ComputationType.FORWARD, ComputationType.BACKWARD_WEIGHT
I, B = ComputationType.BACKWARD_INPUT, ComputationType.FULL_BACKWARD  # noqa: E741
REDUCE_GRAD = ComputationType.REDUCE_GRAD
OVERLAP = ComputationType.OVERLAP_F_B


class Action(NamedTuple):
    """A computation of a stage; ``str`` of it is like 1F0: stage, what, microbatch."""

    stage_index: int
    computation_type: ComputationType
    microbatch_index: int | None = None
    sub_actions: tuple[Action, ...] | None = None

    def __repr__(self) -> str:
        kind = self.computation_type.value
        if self.sub_actions is not None:
            return f"({';'.join(map(repr, self.sub_actions))}){kind}"
        number = "" if self.microbatch_index is None else self.microbatch_index
        return f"{self.stage_index}{kind}{number}"

    @staticmethod
    def from_str(action_string: str) -> Action | None:
        """The action of a text; None of an empty one.

        Raises:
            RuntimeError: it is no action's.
        """
        text = action_string.strip()
        if not text:
            return None
        pair = re.fullmatch(r"\((.*)\)(\w+)", text)
        if pair:
            parts = [Action.from_str(each) for each in pair[1].split(";")]
            kind = ComputationType.from_str(pair[2])
            return Action(-1, kind, None, tuple(part for part in parts if part is not None))
        found = re.fullmatch(r"(\d+)(REDUCE_GRAD|[FIWB])(\d*)", text)
        if not found:
            raise RuntimeError(
                f"Invalid action string: {action_string}, should be formatted as "
                "[stage][action type][(microbatch)] e.g. 2F0"
            )
        number = int(found[3]) if found[3] else None
        return Action(int(found[1]), ComputationType(found[2]), number)


def parts_of(action: Action) -> tuple[Action, ...]:
    """The actions that one stands for."""
    return (action,) if action.sub_actions is None else action.sub_actions


def _row(stage: int, kind: ComputationType, count: int) -> list[Action]:
    return [Action(stage, kind, number) for number in range(count)]


def with_reductions(actions: Iterable[Action], microbatches: int) -> list[Action]:
    """REDUCE_GRAD after the last gradients of each stage."""
    done: Counter[int] = Counter()
    made = []
    for action in actions:
        made.append(action)
        for part in parts_of(action):
            if part.computation_type in (W, B):
                done[part.stage_index] += 1
                if done[part.stage_index] == microbatches:
                    made.append(Action(part.stage_index, REDUCE_GRAD))
    return made


def all_forward_first(stages: int, microbatches: int) -> Orders:
    """GPipe: all microbatches forward, then all of them backward."""
    return {
        rank: _row(rank, F, microbatches) + _row(rank, B, microbatches) for rank in range(stages)
    }


def alternating(
    forwards: list[Action], backwards: list[Action], ahead: int, weights: list[Action],
    weights_wait: int,
) -> list[Action]:  # fmt: skip
    """``ahead`` forwards, then a forward and a backward in turn until both lists have ended.

    Args:
        forwards, backwards: in their order.
        ahead: how many forwards come before the first backward.
        weights: gradients of weights, one after each backward from number ``weights_wait`` on,
            the rest at the end.
    """
    made, left = forwards[:ahead], iter(forwards[ahead:])
    later = iter(weights)
    for number, backward in enumerate(backwards):
        made.extend(action for action in (next(left, None),) if action is not None)
        made.append(backward)
        if weights and number >= weights_wait:
            made.append(next(later))
    return [*made, *left, *later]


def one_forward_one_backward(stages: int, microbatches: int) -> Orders:
    """1F1B: the stage ``k`` before the last is ``k`` forwards ahead (PipeDream, 1806.03377)."""
    return {
        rank: alternating(
            _row(rank, F, microbatches), _row(rank, B, microbatches), stages - 1 - rank, [], 0
        )
        for rank in range(stages)
    }


def _in_rounds(stages: list[int], round_length: int, microbatches: int) -> Iterator[Action]:
    """Forwards of several stages: a round of microbatches of each in turn."""
    for start in range(0, microbatches, round_length):
        for stage in stages:
            for number in range(start, start + round_length):
                yield Action(stage, F, number)


def interleaved(
    ranks: int, local_stages: int, microbatches: int, round_length: int, zero_bubble: bool
) -> Orders:
    """Interleaved 1F1B (2104.04473), and the zero bubble schedule over it (2401.10241).

    Args:
        ranks, local_stages: processes, and stages of each; stage ``s`` belongs to ``s % ranks``.
        round_length: microbatches of a stage before the next stage's turn.
        zero_bubble: gradients of inputs first, those of weights where a process would be idle.
    """
    made: Orders = {}
    for rank in range(ranks):
        stages = [rank + ranks * local for local in range(local_stages)]
        forwards = list(_in_rounds(stages, round_length, microbatches))
        backwards = list(_in_rounds(stages[::-1], round_length, microbatches))
        hops = ranks - 1 - rank
        ahead = (local_stages - 1) * round_length + hops * (1 if zero_bubble else 2)
        kind = I if zero_bubble else B
        made[rank] = alternating(
            forwards,
            [each._replace(computation_type=kind) for each in backwards],
            min(ahead, len(forwards)),
            [each._replace(computation_type=W) for each in backwards] if zero_bubble else [],
            rank,
        )
    return made


def looped_breadth_first(ranks: int, local_stages: int, microbatches: int) -> Orders:
    """All microbatches of one stage, then of the next (2211.05953); backwards last first."""
    made: Orders = {}
    for rank in range(ranks):
        stages = [rank + ranks * local for local in range(local_stages)]
        forwards = [each for stage in stages for each in _row(stage, F, microbatches)]
        backwards = [each for stage in stages for each in _row(stage, B, microbatches)]
        made[rank] = forwards + backwards[::-1]
    return made


class _Recorder:
    """Actions whose microbatches follow one another, by stage and kind."""

    def __init__(self) -> None:
        self.order: list[Action] = []
        self.done: Counter[tuple[int, ComputationType]] = Counter()
        self.waiting: list[Action] = []

    def _next(self, stage: int, kind: ComputationType) -> Action:
        counted = I if kind is B else kind
        made = Action(stage, kind, self.done[stage, counted])
        self.done[stage, counted] += 1
        if kind is B:
            self.done[stage, W] += 1
        elif kind is I:
            self.waiting.append(made._replace(computation_type=W))
        return made

    def add(self, stage: int, *kinds: ComputationType) -> None:
        """The next microbatch of a stage, once for each kind."""
        self.order.extend(self._next(stage, kind) for kind in kinds)

    def add_both(self, forward: int, backward: int) -> None:
        """A forward of one stage beside a backward of another."""
        pair = self._next(forward, F), self._next(backward, B)
        self.order.append(Action(-1, OVERLAP, None, pair))

    def add_waiting_weights(self) -> None:
        """The gradients of weights that have waited longest, where there are any."""
        if self.waiting:
            self.order.append(self.waiting.pop(0))


def v_shaped(ranks: int, microbatches: int) -> Orders:
    """ZB-V (2401.10241): each process has a stage of the way down and one of the way up.

    A process begins with more forwards of its first stage the earlier that is, so that gradients
    come back just when it is free. A short run is the long one without the missing microbatches.
    """
    made: Orders = {}
    count = max(2 * ranks - 1, microbatches)
    for rank in range(ranks):
        down, up = rank, 2 * ranks - 1 - rank
        to = _Recorder()
        to.add(down, *[F] * (2 * (ranks - rank) - 1))
        for _ in range(rank):
            to.add(up, F)
            to.add(down, F)
        for _ in range(ranks - rank):
            to.add(up, F, I, W)
        while to.done[up, F] < to.done[down, F] or to.done[down, F] < count:
            if to.done[down, F] < count:
                to.add(down, F)
            to.add(down, I, W)
            to.add(up, F, I, W)
        for _ in range(rank):
            to.add(down, I)
            to.add(up, I)
        for _ in range(ranks - rank):
            to.add(down, I, W)
        for stage in (up, down):
            to.add(stage, *[W] * (to.done[stage, I] - to.done[stage, W]))
        made[rank] = [each for each in to.order if (each.microbatch_index or 0) < microbatches]
    return made


def both_ways(ranks: int, microbatches: int) -> Orders:
    """DualPipeV (of DeepSeek-V3, 2412.19437): a forward of one stage beside a backward of the
    other for most of the time; gradients of weights fill what is left."""
    made: Orders = {}
    for rank in range(ranks):
        down, up = rank, 2 * ranks - 1 - rank
        hops = ranks - 1 - rank
        to = _Recorder()
        to.add(down, *[F] * (2 * hops))
        for _ in range(rank + 1):
            to.add(down, F)
            to.add(up, F)
        for _ in range(hops):
            to.add(up, I)
            to.add_waiting_weights()
            to.add(up, F)
        for number in range(microbatches - 2 * ranks + rank + 1):
            if number == 0 and hops == 0:
                to.add(down, F)
                to.add(up, B)
            else:
                to.add_both(down, up)
            to.add_both(up, down)
        for _ in range(hops):
            to.add(up, B)
            to.add_both(up, down)
        # the second half of the last gradients is of inputs only; an odd process begins earlier
        half = 2 * ((rank + 1) // 2) + (rank % 2 == 0)
        kinds = [B if place < half else I for place in range(2 * (rank + 1))]
        for place, kind in enumerate(kinds):
            to.add(down if place % 2 else up, kind)
        for _ in range(hops):
            to.add_waiting_weights()
            to.add(down, kinds[-1])
        for _ in range(rank + 1):
            to.add_waiting_weights()
        made[rank] = to.order
    return made
