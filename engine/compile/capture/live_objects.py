"""The objects of a kind that a process holds."""

from __future__ import annotations

import gc
from itertools import compress
from typing import Any


def live_objects(*kinds: type) -> list[list[Any]]:
    """All objects of each class and of those derived from it that the garbage collector knows.

    A process may hold millions of objects, so the loops over them are of built-in functions.
    """
    families = list(map(_with_derived, kinds))
    every = gc.get_objects()  # no inner function may use it: its cell is among the objects
    any_of = set().union(*families).__contains__
    those = list(compress(every, map(any_of, map(id, map(type, every)))))
    types = list(map(id, map(type, those)))
    return [list(compress(those, map(family.__contains__, types))) for family in families]


def _with_derived(kind: type) -> set[int]:
    """The ids of a class and of those derived from it."""
    kinds, known = [kind], {id(kind)}
    for each in kinds:
        more: list[type] = [] if each is type else each.__subclasses__()
        kinds += [x for x in more if id(x) not in known]
        known.update(map(id, more))
    return known
