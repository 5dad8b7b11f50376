"""What a recorder is asked to watch, and how it ends a script that has shown all of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Options", "StopRecordingError"]


class StopRecordingError(SystemExit):
    """All that was asked for has been recorded. A `SystemExit`, so that scripts let it through."""


@dataclass(frozen=True)
class Options:
    """What is watched.

    `last_step`: how many optimizer steps (None for all). `full_step`: the step whose arrays are
    kept; with `rerun`, its events are run again at its end. `window`: the events of that step
    whose arrays are kept, `None` for all. `against`: the first side's folder, on the second side.
    `stop`: end the script after `full_step`. `only`: a pattern for module paths.
    `shallow`: nothing within a model's call, for runs one of which is compiled. `changed`: what is
    done to outermost calls of modules (autocast, dtype, compiled), as in `Event.modes`.
    """

    last_step: int | None = None
    full_step: int = 0
    rerun: bool = False
    window: tuple[int, int] | None = None
    against: Path | None = None
    stop: bool = False
    only: str | None = None
    shallow: bool = False
    changed: dict[str, Any] = field(default_factory=dict)
