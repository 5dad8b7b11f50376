"""Memory and time of a step under each plan; docs/distributed-tensors.md has the formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mindtorch.torch.nn import Linear

from .facts import Facts
from .link import Link
from .structure import Pair, blocks_of, pairs_of, stages_of

__all__ = ["Plan", "Planner"]


@dataclass
class Plan:
    """One way to use all processes.

    Attributes:
        name: "FSDP 8 x TP 2".
        pairs: the pairs of linear layers that are cut.
        seconds: of a step; computation, exchange and what a pipeline waits are its parts.
        memory: bytes of a process, by what they are for.
        reason: why it cannot be; "" where it can.
    """

    name: str
    data: int = 1
    cut: int = 1
    stages: int = 1
    microbatches: int = 1
    sharded: bool = False
    pairs: list[Pair] = field(default_factory=list)
    seconds: float = float("inf")
    times: dict[str, float] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def bytes(self) -> float:
        """All memory of the process that needs most."""
        return sum(self.memory.values())


class Planner:
    """Predicts plans from the facts of one process.

    Args:
        facts: of a step.
        model: the module.
        link: how processes exchange.
        ranks: how many there are.
        batch: samples of a step of all processes together.
        limit: bytes that a process may take; None: any.
        overlap: which part of the exchange of gradients and parameters is hidden behind
            computation, 0 to 1.
        linear: the class of linear layers, with ``in_features`` and ``out_features``.
    """

    def __init__(
        self, facts: Facts, model: Any, link: Link, ranks: int, batch: int,
        limit: float | None = None, overlap: float = 0.0, linear: type = Linear,
    ) -> None:  # fmt: skip
        self.facts, self.link = facts, link
        self.ranks, self.batch, self.limit = ranks, batch, limit
        self.overlap = overlap
        self.pairs = pairs_of(facts, linear)
        self.blocks = blocks_of(facts, model)

    def plans(self) -> list[Plan]:
        """All plans, those that fit first, the fastest of them first."""
        found = [self._judged(plan) for plan in self._candidates()]
        return sorted(found, key=lambda p: (bool(p.reason), p.seconds, p.bytes))

    def searched(self, cuts: bool = True) -> Plan:
        """The fastest plan that fits in which samples are divided and each pair is cut or not.

        Terms of pairs are added, so for each number of processes that cut, those pairs are that
        shorten the step, or make it fit.

        Args:
            cuts: whether pairs may be cut.

        Raises:
            ValueError: no such plan fits.
        """
        found = [self._judged(Plan(f"DDP {self.ranks}", data=self.ranks))]
        for cut in (k for k in range(2, self.ranks + 1) if self.ranks % k == 0 and cuts):
            usable = [pair for pair in self.pairs if pair.width % cut == 0]
            faster = [pair for pair in usable if self._saved_by(pair, cut) > 0]
            data = self.ranks // cut
            found += [
                self._judged(Plan(f"DDP {data} x TP {cut}", data=data, cut=cut, pairs=pairs))
                for pairs in (faster, usable)
            ]
        best = min(found, key=lambda plan: (bool(plan.reason), plan.seconds, plan.bytes))
        if best.reason:
            raise ValueError(
                "no plan fits: " + "; ".join(f"{plan.name}: {plan.reason}" for plan in found)
            )
        return best

    def _saved_by(self, pair: Pair, cut: int) -> float:
        """Seconds that a step is shorter where this pair is cut."""
        data = self.ranks // cut
        if self.batch % data:
            return 0.0
        without, whole = (
            Plan("", data=data, cut=cut, pairs=pairs) for pairs in ([], [pair])
        )
        for plan in (without, whole):
            self._whole(plan, self.batch / data)
        return sum(without.times.values()) - sum(whole.times.values())

    def _candidates(self) -> Iterator[Plan]:
        n = self.ranks
        yield Plan(f"DDP {n}", data=n)
        if n > 1:
            yield Plan(f"FSDP {n}", data=n, sharded=True)
        for cut in (k for k in range(2, n + 1) if n % k == 0):
            data = n // cut
            with_data = [f"DDP {data} x TP {cut}", f"FSDP {data} x TP {cut}"]
            if data == 1:
                yield Plan(f"TP {cut}", cut=cut, pairs=self.pairs)
            else:
                yield Plan(with_data[0], data=data, cut=cut, pairs=self.pairs)
                yield Plan(with_data[1], data=data, cut=cut, sharded=True, pairs=self.pairs)
            for parts in (cut, 2 * cut, 4 * cut):
                name = f"PP {cut} of {parts} microbatches"
                name = name if data == 1 else f"DDP {data} x {name}"
                yield Plan(name, data=data, stages=cut, microbatches=parts)

    def _judged(self, plan: Plan) -> Plan:
        plan.reason = self._obstacle(plan)
        if plan.reason:
            return plan
        samples = self.batch / plan.data
        if plan.stages > 1:
            self._pipeline(plan, samples)
        else:
            self._whole(plan, samples)
        plan.seconds = sum(plan.times.values())
        if self.limit is not None and plan.bytes > self.limit:
            name, most = max(plan.memory.items(), key=lambda item: item[1])
            plan.reason = (
                f"needs {plan.bytes / self.limit:.2f} times the memory; "
                f"{most / plan.bytes:.0%} of that for {name}"
            )
        return plan

    def _obstacle(self, plan: Plan) -> str:
        if self.batch % plan.data:
            return f"{self.batch} samples are not divided by {plan.data}"
        samples = self.batch // plan.data
        if plan.cut > 1:
            if not plan.pairs:
                return "no pair of neighbouring linear layers was found"
            odd = next((p for p in plan.pairs if p.width % plan.cut), None)
            if odd is not None:
                return f"{plan.cut} does not divide the {odd.width} inputs of {odd.rows.path}"
        if plan.stages > 1:
            if len(self.blocks) < plan.stages:
                return f"{len(self.blocks)} blocks are fewer than {plan.stages} stages"
            if samples % plan.microbatches:
                return f"{samples} samples are not divided by {plan.microbatches} microbatches"
        return ""

    # --- all layers in each process ------------------------------------------------------------

    def _whole(self, plan: Plan, samples: float) -> None:
        facts, scale = self.facts, samples / self.facts.samples
        cut_time, cut_saved, cut_parameters = self._cut_parts(plan.pairs)
        kept = 1 - 1 / plan.cut
        own = facts.trained - cut_parameters * kept
        state = own / plan.data if plan.sharded else own
        # of a cut layer fewer weights are read and gradients written, too
        whole = facts.fixed - facts.weighed * cut_parameters * kept
        plan.times["computation"] = whole + facts.each * samples * (1 - cut_time * kept)
        plan.times["update"] = facts.update * state / max(facts.trained, 1)
        plan.times["tensor parallel"] = self._cut_exchange(plan, scale)
        self._states(plan, state)
        plan.memory["activations"] = (facts.saved - cut_saved * kept) * scale
        plan.memory["results in passing"] = self._passing() * scale
        if plan.data == 1:
            return
        if plan.sharded:
            self._sharded(plan, own)
        else:
            self._averaged(plan, own)
            plan.memory["buffers of exchange"] = own

    def _averaged(self, plan: Plan, own: float) -> None:
        """DDP: gradients go into buckets, which are summed, and come back."""
        seconds = self.link.seconds("all_reduce", own, plan.data)
        plan.times["gradients"] = seconds * (1 - self.overlap)
        copies = 2 * own * self.facts.copied  # into buckets and out of them
        plan.times["buckets"] = self.link.work("average", own) or copies

    def _sharded(self, plan: Plan, own: float) -> None:
        """ZeRO's third stage: parameters are gathered twice, gradients reduced into parts."""
        share = own / max(self.facts.trained, 1)
        sizes = [block.parameters * share for block in self.blocks if block.parameters]
        sizes.append(own - sum(sizes))
        seconds = work = 0.0
        for size in sizes:
            gathers = 1 if size is sizes[-1] else 2  # the root's stay until backward
            seconds += gathers * self.link.seconds("all_gather", size, plan.data)
            seconds += self.link.seconds("reduce_scatter", size, plan.data)
            if size:
                work += self._work_of_group(gathers, size)
        plan.times["parameters and gradients"] = seconds * (1 - self.overlap)
        plan.times["memory of wholes"] = work
        groups = sum(size > 0 for size in sizes)
        module, parameter = self.link.sharded
        plan.times["calls"] = groups * module + self.facts.tensors * parameter
        largest = sorted(sizes[:-1], reverse=True)[:2]
        # two groups are whole at a time, one with its gradients; and the root
        plan.memory["buffers of exchange"] = 2 * sizes[-1] + sum(largest) + sum(largest[:1])

    def _work_of_group(self, gathers: int, size: float) -> float:
        """Memory comes and goes, and gradients are sorted, beside the exchanges."""
        return gathers * self.link.work("gather", size) + self.link.work("reduce", size)

    def _cut_parts(self, pairs: list[Pair]) -> tuple[float, float, float]:
        """Of what is divided in pairs: the share of time, saved bytes, bytes of parameters."""
        share = saved = size = 0.0
        for pair in pairs:
            first, last = pair.columns[0].first, pair.rows.last
            share += self.facts.share(first, last)
            slices = self.facts.slices
            saved += sum(s.saved for s in slices[first : last + 1])
            saved -= sum(slices[call.first].inputs for call in pair.columns)  # these are whole
            size += sum(self.facts.parameters[call.path] for call in pair.calls)
        return share, saved, size

    def _cut_exchange(self, plan: Plan, scale: float) -> float:
        """Megatron-LM: results are added in forward, gradients of inputs in backward, of each of
        the layers that are cut by columns."""
        sizes = [
            size for pair in plan.pairs
            for size in (pair.rows.made, *[call.taken for call in pair.columns])
        ]
        exchanges = sum(self.link.seconds("all_reduce", size * scale, plan.cut) for size in sizes)
        layers = sum(len(pair.calls) for pair in plan.pairs)
        return exchanges + layers * self.link.call

    def _states(self, plan: Plan, state: float) -> None:
        plan.memory["parameters"] = state + self.facts.frozen
        plan.memory["gradients"] = state
        plan.memory["optimizer"] = state * self.facts.states

    def _passing(self) -> float:
        """A layer's result, and the gradient of it, where they are largest."""
        return 2.0 * max((call.made for call in self.facts.calls), default=0)

    # --- some layers in each process -------------------------------------------------------------

    def _pipeline(self, plan: Plan, samples: float) -> None:
        facts = self.facts
        stages = stages_of(facts, self.blocks, plan.stages)
        each = samples / plan.microbatches
        scale = each / facts.samples
        worst = slowest = send = most = before = 0.0
        for number, stage in enumerate(stages):
            first, last, parameters = self._stage(stage)
            share = facts.share(first, last)
            slowest = max(slowest, share * (facts.fixed + facts.each * each))
            at_once = min(plan.microbatches, plan.stages - number)  # 1F1B
            saved = sum(s.saved for s in facts.slices[first : last + 1]) * scale * at_once
            made = self.blocks[stage[-1]].made * scale if number < len(stages) - 1 else 0.0
            behind = 2 * self.link.seconds("send", made, 2) if made else 0.0
            send, before = max(send, before + behind), behind  # to and from both neighbours
            most = max(most, parameters)
            state = parameters * (2 + facts.states + (plan.data > 1))
            if saved + state > worst:
                worst = saved + state
                self._states(plan, parameters)
                plan.memory["activations"] = saved
                plan.memory["results in passing"] = self._passing() * scale
                plan.memory["buffers of exchange"] = parameters if plan.data > 1 else 0.0
                plan.times["update"] = facts.update * parameters / max(facts.trained, 1)
                own = parameters
        plan.times["computation"] = plan.microbatches * slowest
        # added up, and at last divided by their number
        plan.times["gradients of microbatches"] = plan.microbatches * most * facts.added
        plan.times["waiting for other stages"] = (plan.stages - 1) * slowest
        plan.times["between stages"] = (plan.microbatches + plan.stages - 1) * send
        if plan.data > 1:
            self._averaged(plan, own)

    def _stage(self, stage: list[int]) -> tuple[int, int, float]:
        """Slices and bytes of parameters; what is around the blocks goes to the ends."""
        blocks, facts = self.blocks, self.facts
        first = 0 if stage[0] == 0 else blocks[stage[0]].first
        is_last = stage[-1] == len(blocks) - 1
        last = len(facts.slices) - 1 if is_last else blocks[stage[-1]].last
        inside = {path for block in blocks for path in block.paths}
        parameters = float(sum(blocks[i].parameters for i in stage))
        before = {call.path for call in facts.calls if call.last < blocks[0].first}
        for path, size in facts.parameters.items():
            if path not in inside and (stage[0] == 0 if path in before else is_last):
                parameters += size
        return first, last, parameters
