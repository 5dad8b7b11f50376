"""What a partition that is run often does before its kernels, as one generated function.

It reads the memory of what is given, binds what has moved, and finds for each output whether the
memory of the last run may be filled again. Loops that do this take longer than the kernels of a
small network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from ...tensor import fields_of
from .executable import Executable
from .grad_buffer_reuse import GradBufferReuse


def _of_one_variable() -> int:
    thing = object()
    return getrefcount(thing)


# what a call of getrefcount adds by itself
_OWN = _of_one_variable() - 1

_INPUT = """
    flat = {read}
    if flat is not input{i}.flat:
        input{i}.bind(flat)"""

# holders beside those of new memory: see ``engine/reference_counts.py``
_OUTPUT = """
    flat{i} = output{i}.flat
    if count(flat{i}) > output{i}.held + {own}:
        flat{i} = None
        flat{i} = fresh({i})"""

_GRADIENT = """
    flat{i} = output{i}.flat
    gradient = {leaf}._grad
    if (
        gradient is None or gradient.flat is not flat{i} or count(gradient) > {own} + 2
        or gradient._storage is not None or count(flat{i}) > output{i}.held + {own} + 1
        or gradient._node is not None or gradient.aval is not aval{i}
        or type(gradient) is not kind{i} or fields_of(gradient)
    ):
        gradient = flat{i} = None
        flat{i} = fresh({i}, reuse{i}, arguments)
        anew.append({i})"""


def memory_binder(
    reads: Sequence[tuple[str, Any]], executable: Executable, numbers: Sequence[Any],
    reuses: Sequence[GradBufferReuse | None],
) -> Callable[[dict[Any, Any], Any, list[int]], list[Any]]:  # fmt: skip
    """``f(made, arguments, anew)``: the outputs' memory, with all bound; ``made`` has it by its
    numbers, and ``anew`` the places of gradients that have to be set.

    Args:
        reads: for each input an expression, and what ``key`` with its number means there.
        numbers: of the outputs that are kept in ``made``, the first ones.
        reuses: for each output what knows of the gradient that it is, or None; or none at all.
    """
    known: dict[str, Any] = {
        "count": getrefcount, "fields_of": fields_of, "fresh": executable.fresh_output,
    }  # fmt: skip
    lines = ["def bind(made, arguments, anew):"]
    for i, ((read, key), buffer) in enumerate(zip(reads, executable.inputs, strict=True)):
        known[f"key{i}"], known[f"input{i}"] = key, buffer
        lines.append(_INPUT.format(i=i, read=read))
    for i, buffer in enumerate(executable.outputs):
        known[f"output{i}"] = buffer
        reuse = reuses[i] if reuses else None
        if reuse is None:
            lines.append(_OUTPUT.format(i=i, own=_OWN))
            continue
        known[f"aval{i}"], known[f"kind{i}"], known[f"reuse{i}"] = (
            reuse.described, reuse.kind, reuse
        )
        known[f"leaf{i}"] = reuse.fixed
        leaf = f"leaf{i}" if reuse.fixed is not None else f"arguments[{reuse.leaf.key}]"
        lines.append(_GRADIENT.format(i=i, leaf=leaf, own=_OWN))
    for i, number in enumerate(numbers):
        known[f"number{i}"] = number
        lines.append(f"    made[number{i}] = flat{i}")
    lines.append(f"    return [{', '.join(f'flat{i}' for i in range(len(executable.outputs)))}]")
    exec("\n".join(lines), known)
    bind: Callable[..., list[Any]] = known.pop("bind")  # else it would hold itself, and memory
    return bind
