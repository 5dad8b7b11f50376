"""Random numbers of rows: the same for any number of workers, threads or processes.

Row ``r`` that enters an operation draws from ``numpy.random.Philox`` with the counter (0, 0, r, 0)
and the key ``SeedSequence([seed, place of the operation, epoch]).generate_state(2)``. Python
functions that draw from ``random`` or ``numpy.random`` find these seeded with the first 32 bits of
that stream: in worker processes always, elsewhere where a seed is set.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Key", "draw", "is_own", "key_of", "numbers_of_row", "own_process", "seeded_globals"]

Key = tuple[int, int, bool]  # two words of Philox's key, and whether a seed is set
_PACKAGE = __name__.rpartition(".")[0]
_swap: Any = np.random  # numpy documents both functions, its stubs lack them


class _Local(threading.local):
    """A thread's generator, and the row whose numbers it is to give."""

    def __init__(self) -> None:
        self.row: tuple[Key, int] | None = None
        self.ready = False
        self.generator = np.random.RandomState(np.random.Philox(0))
        self.globals = np.random.MT19937(0)


_local = _Local()
_globals_lock = threading.RLock()
_in_own_process = False


def own_process() -> None:
    """This process makes rows and nothing else: common generators need not be kept."""
    global _in_own_process
    _in_own_process = True


def key_of(seed: int, is_set: bool, place: int, epoch: int) -> Key:
    """The key of an operation's rows in an epoch."""
    words = np.random.SeedSequence([seed, place, epoch]).generate_state(2, np.uint64)
    return int(words[0]), int(words[1]), is_set


def draw() -> Any:
    """The generator of everything random in transforms: the row's, or outside of pipelines numpy's
    common one, as set_seed seeds."""
    local = _local
    if local.row is None:
        return np.random.mtrand._rand  # noqa: NPY002
    if not local.ready:
        (first, second, _), number = local.row
        local.ready = True
        local.generator.set_state({
            "bit_generator": "Philox", "buffer": np.zeros(4, np.uint64), "buffer_pos": 4,
            "state": {"counter": np.array([0, 0, number, 0], np.uint64),
                      "key": np.array([first, second], np.uint64)},
            "has_uint32": 0, "uinteger": 0, "has_gauss": 0, "gauss": 0.0,
        })  # fmt: skip
    return local.generator


@contextlib.contextmanager
def numbers_of_row(key: Key, number: int) -> Iterator[None]:
    """Within, :func:`draw` gives the numbers of a row."""
    local = _local
    before = local.row, local.ready
    local.row, local.ready = (key, number), False
    try:
        yield
    finally:
        local.row, local.ready = before[0], False


@contextlib.contextmanager
def seeded_globals() -> Iterator[None]:
    """Within, ``random`` and ``numpy.random`` are seeded by the row; afterwards as before.

    Threads take turns, since all of a process have these generators in common.
    """
    row = _local.row
    if row is None or not (row[0][2] or _in_own_process):
        yield
        return
    word = int(draw().randint(2**32, dtype=np.uint64))
    if _in_own_process:
        np.random.seed(word)  # noqa: NPY002
        random.seed(word)
        yield
        return
    with _globals_lock:
        numpys, pythons = _swap.get_bit_generator(), random.getstate()
        _local.globals._legacy_seeding(word)
        _swap.set_bit_generator(_local.globals)
        random.seed(word)
        try:
            yield
        finally:
            _swap.set_bit_generator(numpys)
            random.setstate(pythons)


def is_own(function: Any) -> bool:
    """Whether a function, and all that it calls, draws by :func:`draw` or not at all."""
    code = getattr(function, "__code__", None)
    if code is not None:
        bare = not code.co_names and not code.co_freevars
        return bare and not any(hasattr(c, "co_code") for c in code.co_consts)
    kind = function if isinstance(function, type) else type(function)
    inside = kind.__module__.startswith(_PACKAGE)
    return inside and all(is_own(held) for held in _callables(vars(function).values()))


def _callables(values: Any) -> Iterator[Callable[..., Any]]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _callables(value)
        elif callable(value) and not isinstance(value, type):
            yield value


def all_own(functions: Sequence[Any]) -> bool:
    """:func:`is_own` of each."""
    return all(is_own(function) for function in functions)
