"""Who may write over whose memory: where nobody else refers to it, nobody can tell.

:func:`holders` counts the variables, slots and containers that refer to an object. Memory is used
again where there are no more of them than the asker knows:

====================================  ===========================================================
asked for                             known holders
====================================  ===========================================================
a gradient that has arrived at a      the asker's variable. The leaf takes it as its ``grad``
leaf (``autograd/backward.py``)
the same in a pass that is repeated   the pass's variable. ``getrefcount`` itself is called
(``call_cache/pass_cache.py``)
one to which another of the same      the asker's variable. The other is added to its memory
place is to be added (``send``)
the storage of such a gradient, a     the view's slot. The leaf takes the memory
view of all of it
the flat array of an output of a      as many as when it was new: the asker's variable, and what
compiled call                         the executable itself has of it
(``compile/runtime/executable.py``)
the same, where it is a leaf's        besides: the variable of who asks for the executable, the
``grad`` (``grad_buffer_reuse.py``)   gradient's slot, and the slot of the gradient's storage
that ``grad``                         the leaf's slot and the asker's variable
these three, in a call that is run    as many, less the variable of who asks for the executable
often (``repeated_run.py``)
the storage of that ``grad``          the gradient's slot and the asker's variable
the array that owns the memory of     the base of the storage's own array, and the asker's
a storage (``numpy_aliases.py``)      variable
====================================  ===========================================================

An argument of another call that is on the stack already is a holder, too, so that :func:`holders`
is called in a statement of its own.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def _references(thing: Any) -> int:
    return getrefcount(thing)


def _references_of_one_variable() -> int:
    thing = object()
    return _references(thing)


# what a call adds by itself, its argument and that of getrefcount
_OWN = _references_of_one_variable() - 1


def _count_of_one_variable() -> int:
    thing = object()
    return getrefcount(thing)


# what getrefcount says of what one variable of its caller refers to
ONE_VARIABLE = _count_of_one_variable()


def holders(thing: Any) -> int:
    """How many variables, slots and containers refer to ``thing``, this call left out."""
    return getrefcount(thing) - _OWN
