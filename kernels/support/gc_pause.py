"""No search for cyclic garbage while modules are imported."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Python's collector of cycles is off inside, and afterwards as it was.

    An import makes some ten thousand objects, which all stay. The collector would walk over them
    again and again as they become more, for a sixth of the time. They belong to its oldest
    generation from then on.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else a program has frozen objects, which are to stay so
            gc.freeze()
            gc.unfreeze()  # to the oldest generation, without a walk over them
        if was_on:
            gc.enable()
