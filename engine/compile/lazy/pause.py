"""A pause of lazy mode, for those who look at each op as it is made. Loads no compiler."""

from __future__ import annotations

from collections.abc import Callable

from ...tensor import scripts


def pause() -> Callable[[], None]:
    """Run ops one by one until the function that is returned is called: whoever looks at each op
    as it is made needs its numbers then."""
    if not scripts:
        return _nothing
    run = scripts[0]
    resume: Callable[[], None] = run.pause(run)
    return resume


def _nothing() -> None:
    """Ops ran one by one before."""
