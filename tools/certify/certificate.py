"""Certificates: what a script's training does under real PyTorch, in a small file.

A certificate holds, for each step, the losses and the norms of the gradients as exact numbers, and
digests of the parameters and of the random generator's state. For each of them it says how far
rounding alone may move it: certifying runs the script again with every parameter moved by one unit
in the last place, and keeps the distance.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mindtorch.kernels.support.atomic_file import write_whole

__all__ = ["Certificate", "Difference", "StepRecord", "check", "spacing", "ulps"]

FORMAT = 1
# What rounding may do without any growth: to a loss, and to norms of gradients (that of a bias is
# the sum over all pixels of a batch). MARGIN: over the growth that was measured.
FLOOR = 16.0
GRADIENT_FLOOR = 128.0
MARGIN = 8.0

_BITS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}


@dataclass
class StepRecord:
    """One optimizer step (or one backward pass of a script without optimizers).

    Attributes:
        losses: (hexadecimal value, type) of each loss since the step before.
        norm: of all gradients, (hexadecimal value, type), computed in float64.
        gradients: the norm of each parameter's gradient.
        parameters, generator: digests after the step.
    """

    losses: list[tuple[str, str]] = field(default_factory=list)
    norm: tuple[str, str] | None = None
    gradients: dict[str, str] = field(default_factory=dict)
    parameters: str = ""
    generator: str = ""


class _OtherVersionError(Exception):
    """The file says so."""


@dataclass
class Certificate:
    """What a run did.

    Attributes:
        start: of each parameter before the first step: (digest, norm, type).
        allowed: for each step, how many units in the last place losses and norms may differ by.
    """

    torch: str
    script: str
    arguments: list[str]
    sha256: str
    seed: int
    threads: int
    start: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    steps: list[StepRecord] = field(default_factory=list)
    allowed: list[tuple[float, float]] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        content = {"format": FORMAT, **asdict(self)}
        write_whole(path, json.dumps(content, indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> Certificate:
        """Read a file.

        Raises:
            OSError: it cannot be read.
            ValueError: it is no certificate, or one of another version.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("format") != FORMAT:
                raise _OtherVersionError
            content["start"] = {k: tuple(v) for k, v in content["start"].items()}
            content["allowed"] = [tuple(pair) for pair in content["allowed"]]
            content["steps"] = [_step(each) for each in content["steps"]]
            found = Certificate(**content)
            found.examine()
        except _OtherVersionError:
            raise ValueError(f"{path} was written by another version of mindtorch") from None
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            text = error if isinstance(error, ValueError) else repr(error)
            raise ValueError(f"{path} is no certificate: {text}") from None
        return found

    def examine(self) -> None:
        """Read every number once.

        Raises:
            TypeError, ValueError: one cannot be read.
        """
        texts = [self.torch, self.script, self.sha256, *self.arguments]
        texts += [each for start in self.start.values() for each in start]
        for step in self.steps:
            norms = [step.norm] if step.norm is not None else []
            for value, dtype in [*step.losses, *norms]:
                float.fromhex(value)
                texts.append(dtype)
            for value in step.gradients.values():
                float.fromhex(value)
            texts += [step.parameters, step.generator]
        for _, norm, _ in self.start.values():
            float.fromhex(norm)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a text is none")
        numbers = [self.seed, self.threads, *(x for pair in self.allowed for x in pair)]
        if not all(isinstance(x, (int, float)) and x >= 0 for x in numbers):
            raise TypeError("a number is none")
        if any(len(pair) != 2 for pair in self.allowed):
            raise ValueError("what is allowed is no pair")
        if len(self.allowed) not in (0, len(self.steps)):
            raise ValueError("it says for other steps what is allowed")


def _step(content: dict[str, Any]) -> StepRecord:
    step = StepRecord(**content)
    step.losses = [(value, dtype) for value, dtype in step.losses]
    step.norm = None if step.norm is None else (step.norm[0], step.norm[1])
    return step


def spacing(value: float, dtype: str) -> float:
    """The distance of numbers of a type at a value."""
    bits = _BITS.get(dtype, 23)
    smallest = -1074 if dtype == "float64" else -149
    if value == 0 or not math.isfinite(value):
        return math.ldexp(1.0, smallest)
    return math.ldexp(1.0, max(math.frexp(abs(value))[1] - 1 - bits, smallest))


def ulps(ours: float, theirs: float, dtype: str, scale: float | None = None) -> float:
    """How many units in the last place two numbers are apart, measured at `scale` (the larger of
    the two); infinite where just one is finite."""
    if ours == theirs or (math.isnan(ours) and math.isnan(theirs)):
        return 0.0
    if not (math.isfinite(ours) and math.isfinite(theirs)):
        return math.inf
    at = max(abs(ours), abs(theirs)) if scale is None else scale
    return abs(ours - theirs) / spacing(at, dtype)


class Difference(NamedTuple):
    """One thing compared.

    Attributes:
        step: counted from 1; 0 for the start.
        what: its name.
        distance: in units in the last place.
        allowed: how much may be; None where only the name is reported.
    """

    step: int
    what: str
    ours: float
    theirs: float
    distance: float
    allowed: float

    @property
    def wrong(self) -> bool:
        return self.distance > self.allowed


def _value(pair: tuple[str, str]) -> tuple[float, str]:
    return float.fromhex(pair[0]), pair[1]


def _losses(number: int, ours: StepRecord, theirs: StepRecord, allowed: float) -> list[Difference]:
    found = []
    for place, (mine, real) in enumerate(zip(ours.losses, theirs.losses, strict=False)):
        (a, _), (b, dtype) = _value(mine), _value(real)
        name = "loss" if len(theirs.losses) == 1 else f"loss {place + 1}"
        found.append(Difference(number, name, a, b, ulps(a, b, dtype), allowed))
    return found


def _gradients(
    number: int, ours: StepRecord, theirs: StepRecord, allowed: float
) -> list[Difference]:
    """The norm of all gradients, and of each: measured at the norm of all, so that a gradient
    which is nothing but rounding counts for as little as it does in the step."""
    if ours.norm is None or theirs.norm is None:
        return []
    (a, _), (b, dtype) = _value(ours.norm), _value(theirs.norm)
    found = [Difference(number, "gradients", a, b, ulps(a, b, dtype), allowed)]
    for name in theirs.gradients.keys() & ours.gradients.keys():
        mine, real = float.fromhex(ours.gradients[name]), float.fromhex(theirs.gradients[name])
        distance = ulps(mine, real, dtype, b if math.isfinite(b) else None)
        found.append(Difference(number, f"gradient of {name}", mine, real, distance, allowed))
    return found


def compare_step(
    number: int, ours: StepRecord, theirs: StepRecord, allowed: tuple[float, float]
) -> list[Difference]:
    """Everything that two records of a step share."""
    return [
        *_losses(number, ours, theirs, allowed[0]),
        *_gradients(number, ours, theirs, allowed[1]),
    ]


def _start(ours: Certificate, theirs: Certificate) -> list[str]:
    told = []
    for name, (digest, norm, dtype) in theirs.start.items():
        if name not in ours.start:
            told.append(f"the model has no parameter {name}")
            continue
        own_digest, own_norm, own_dtype = ours.start[name]
        distance = ulps(float.fromhex(own_norm), float.fromhex(norm), dtype)
        if own_dtype != dtype:
            told.append(f"{name} is {own_dtype}, not {dtype}")
        elif own_digest != digest and distance > FLOOR:
            told.append(f"{name} starts from other values ({distance:.3g} ulp in its norm)")
    told += [f"PyTorch's model has no parameter {n}" for n in ours.start.keys() - theirs.start]
    return told


def check(ours: Certificate, theirs: Certificate) -> tuple[list[Difference], list[str]]:
    """Compare a run of ours with a certificate.

    Returns:
        all differences in numbers, and in words what else is wrong.
    """
    told = _start(ours, theirs)
    if len(ours.steps) != len(theirs.steps):
        told.append(f"{len(ours.steps)} steps were made, {len(theirs.steps)} are certified")
    found = []
    for place, (mine, real) in enumerate(zip(ours.steps, theirs.steps, strict=False)):
        if len(mine.losses) != len(real.losses):
            told.append(
                f"step {place + 1}: {len(mine.losses)} losses, {len(real.losses)} are certified"
            )
        if mine.gradients.keys() != real.gradients.keys():
            names = sorted(mine.gradients.keys() ^ real.gradients.keys())
            told.append(f"step {place + 1}: only one run has a gradient of {', '.join(names)}")
        if mine.generator != real.generator:
            told.append(f"step {place + 1}: random numbers were drawn in another order or number")
        found += compare_step(place + 1, mine, real, theirs.allowed[place])
    return found, told
