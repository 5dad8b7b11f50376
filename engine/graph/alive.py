"""The objects of a kind that a process holds."""

from __future__ import annotations

import gc
from itertools import compress
from typing import Any


def alive(kind: type) -> list[Any]:
    """All objects of a class and of those derived from it that the garbage collector knows.

    A process may hold millions of objects, so the loop over them is one of built-in functions.
    """
    kinds, known = [kind], {id(kind)}
    for each in kinds:
        more: list[type] = [] if each is type else each.__subclasses__()
        kinds += [x for x in more if id(x) not in known]
        known.update(map(id, more))
    every = gc.get_objects()
    return list(compress(every, map(known.__contains__, map(id, map(type, every)))))
