"""What a comparison comes to: the verdict, in words and as JSON."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .findings import ENDINGS, EXACT, MODE, PHASES, Agreement, Difference
from .run_frameworks import RunFailedError
from .step_times import StepTimes

__all__ = ["Outcome", "PhaseRow"]

AGREE, DIFFER, FAILED = 0, 1, 2
BECAUSE = {
    "exact": "the two runs did different things",
    "real": "differs on the same input too",
    "follows": "follows from what differs before",
    "rounding": "accumulated rounding: each layer agrees on the same input",
    "open": "not looked into",
}


@dataclass
class PhaseRow:
    """The first difference of a phase, if there is one."""

    phase: str
    difference: Difference | None

    @property
    def because(self) -> str:
        return BECAUSE[self.difference.cause] if self.difference else ""


@dataclass
class Outcome:
    """Everything that the reports show.

    `agreement` is of the whole runs, `detail` of the step that was looked at closely (or the same).
    `times` are of steps made in turns, where they were asked for, `load` the machine's before.
    `judged`: by step, the differences of those steps that were run again. `unstable`: a side's
    name and what differed when it was run a second time.
    """

    script: str
    names: tuple[str, str]
    versions: tuple[str, str]
    threads: int
    model: str
    agreement: Agreement
    detail: Agreement
    judged: dict[int, list[Difference]] = field(default_factory=dict)
    unstable: list[tuple[str, Difference]] = field(default_factory=list)
    failures: list[RunFailedError] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    overheads: tuple[float, float] = (0.0, 0.0)
    times: list[StepTimes] = field(default_factory=list)
    load: float = 0.0
    reproduction: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def differences(self) -> list[Difference]:
        """All differences in order; those of steps that were looked at as they were judged
        there."""
        found = [
            each
            for each in self.agreement.differences
            if each.what in ENDINGS or each.step not in self.judged
        ]
        for differences in self.judged.values():
            found += [each for each in differences if each.what not in ENDINGS]
        return sorted(found, key=lambda each: each.step)

    @property
    def real(self) -> Difference | None:
        """The first difference that no rounding explains."""
        return next((each for each in self.differences if each.is_real), None)

    @property
    def examined(self) -> list[int]:
        """The steps that were looked at closely."""
        return sorted(self.judged)

    @property
    def kind(self) -> str:
        """failed, unstable, empty, agree, rounding or differ."""
        if self.failures:
            return "failed"
        if self.agreement.is_empty:
            return "empty"
        if not self.differences:
            return "agree"
        if self.unstable:
            return "unstable"
        if self.real is not None:
            return "differ"
        return "rounding" if self.examined and self.detail.rerun_count else "differ"

    @property
    def status(self) -> int:
        """The command's exit status."""
        kind = self.kind
        return AGREE if kind in ("agree", "rounding") else DIFFER if kind == "differ" else FAILED

    def phases(self) -> list[PhaseRow]:
        """The first difference of each phase, real ones before others."""
        rows = []
        for phase in PHASES:
            found = [each for each in self.differences if each.phase == phase]
            chosen = next((each for each in found if each.is_real), found[0] if found else None)
            rows.append(PhaseRow(phase, chosen))
        return rows

    # -- words -----------------------------------------------------------------------------------

    def words(self) -> list[str]:
        """The verdict: the first line says it, the others what else is known."""
        lines = getattr(self, f"_{self.kind}")()
        if self.written:
            paths = ", ".join(self.written[:3])
            lines.append(
                f"both runs wrote {paths}: the second replaced what the first had left"
            )
        if self.detail.rerun_failures:
            first, *others = self.detail.rerun_failures
            more = f", and {len(others)} more" if others else ""
            lines.append(f"could not be run again on the same input: {first}{more}")
        if self.agreement.calls_left_out:
            count = self.agreement.calls_left_out
            lines.append(f"calls beyond what a record holds, not looked at by themselves: {count}")
        if self.left:
            names = " and ".join(self.left)
            lines.append(f"the script ended itself at once (os._exit) under {names}")
        odd = self._odd_loss()
        if odd:
            lines.append(odd)
        if self.reproduction is not None:
            lines.append(f"to see it by itself: python {self.reproduction}")
        return list(lines)

    def _odd_loss(self) -> str:
        """The first step whose loss is NaN or infinite in both runs, in words."""
        for step in self.agreement.steps:
            for a, b in step.losses:
                if not (math.isfinite(a) or math.isfinite(b)):
                    return (
                        f"the loss of step {step.number + 1} is {a:g} in both runs: `mindtorch run "
                        "--watch overflow` names the op that it begins in"
                    )
        return ""

    def _agree(self) -> list[str]:
        largest = self.agreement.largest_loss_difference
        allowed = f"{self.agreement.tolerance:g} allowed"
        return [f"agree: largest difference of a loss {largest:.1e}, {allowed}"]

    def _rounding(self) -> list[str]:
        first = self.differences[0]
        steps = ", ".join(str(step + 1) for step in self.examined)
        return [
            f"agree but for rounding: first the {first}",
            f"in step {steps} each of {self.detail.rerun_count} calls, run again on the same "
            "input, differs by no more than its own rounding",
        ]

    def _differ(self) -> list[str]:
        first = self.real or self.differences[0]
        lines = [f"DIFFER: first the {first.without_note if first.evidence else first}"]
        if first.evidence:
            lines.append(first.note)
        elif first.cause in BECAUSE and first.cause != EXACT:
            lines.append(f"{BECAUSE[first.cause]}")
        event = first.first or first.second
        alike = first.first and first.second and first.first.kind == first.second.kind
        if event is not None and event.kind == "module" and (alike or first.what != "call"):
            a = first.first.description if first.first else "not called"
            b = first.second.description if first.second else "not called"
            if a != b:
                lines.append(f"{self.names[0]} has {a}")
                lines.append(f"{self.names[1]} has {b}")
            elif first.what != MODE:
                lines.append(f"first layer that differs: {event.path}: {a}")
        later = [x.difference for x in self.phases() if x.difference and x.difference is not first]
        reals = [each for each in later if each.is_real]
        if reals and first.what != MODE:  # buffers and draws follow from it
            lines.append(f"not explained by it: the {reals[0]}")
        count = len(self.differences)
        if count > 1:
            lines.append(f"{count} differences in all; --json lists them")
        return lines

    def _empty(self) -> list[str]:
        return ["nothing to compare: no model, no loss and no accuracy was seen"]

    def _unstable(self) -> list[str]:
        lines = []
        for name, difference in self.unstable:
            lines.append(f"NOT DETERMINISTIC: run twice, {name} does not do the same")
            lines.append(f"between its two runs: first the {difference}")
        lines.append("until it does, no difference from the other library means anything")
        return lines

    def _failed(self) -> list[str]:
        lines = []
        failed = {failure.framework for failure in self.failures}
        for failure in self.failures:
            where = f", {failure.where}" if failure.where else ""
            alone = "" if len(failed) == 2 else "; the other run came to its end"
            how = f"({failure.status}){where}{alone}"
            lines.append(f"the script failed under {failure.framework} {how}")
            if failure.needs_gpu:
                lines.append("it needs a GPU, and there is none here: let it use the device cpu")
            if failure.reads_input:
                lines.append("it asks for input, and there is none: pass it otherwise")
        ends = [failure.tail[-1] for failure in self.failures]
        if len(failed) == 2 and ends[0] == ends[1]:
            lines.append(f"both end with the same error, which is the script's own: {ends[0]}")
        if self.differences:
            lines.append(f"before that: first the {self.differences[0]}")
        elif self.agreement.steps:
            count = len(self.agreement.steps)
            lines.append(f"before that the runs agree, {count} step{'' if count == 1 else 's'}")
        return lines

    # -- for programs ----------------------------------------------------------------------------

    def as_json(self) -> str:
        """The result for programs: everything in the report, and every difference."""
        content: dict[str, Any] = asdict(self.agreement)
        content["differences"] = [plain_difference(each) for each in self.differences]
        content["rows"] = [asdict(each) for each in self.detail.rows]
        content["rows_left_out"] = asdict(self.detail.rows_left_out)
        content["full_step"] = self.detail.full_step
        content |= {
            "verdict": self.kind,
            "words": self.words(),
            "agree": self.kind in ("agree", "rounding"),
            "first": plain_difference(self.real) if self.real else None,
            "phases": {
                row.phase: plain_difference(row.difference) if row.difference else None
                for row in self.phases()
            },
            "examined": self.examined,
            "unstable": [[name, plain_difference(each)] for name, each in self.unstable],
            "failures": [asdict(each) for each in self.failures],
            "largest_loss_difference": self.agreement.largest_loss_difference,
            "losses": self.agreement.losses,
            "names": self.names,
            "versions": self.versions,
            "script": self.script,
            "model": self.model,
            "settings": self.settings,
            "step_times": {each.name: each.seconds for each in self.times},
            "load": self.load,
            "written_by_both": self.written,
            "ended_by_os_exit": self.left,
            "overheads": self.overheads,
            "reproduction": str(self.reproduction) if self.reproduction else None,
        }
        return json.dumps(content, indent=1)


def plain_difference(difference: Difference) -> dict[str, Any]:
    """A difference for JSON, without the events' own records."""
    event = difference.first or difference.second
    return {
        "phase": difference.phase,
        "what": difference.what,
        "name": difference.name,
        "path": difference.path,
        "step": difference.step,
        "value": difference.value,
        "note": difference.note,
        "cause": difference.cause,
        "text": str(difference),
        "line": event.line if event else "",
        "description": event.description if event else "",
        "evidence": [asdict(each) for each in difference.evidence],
    }
