"""Sizes of a discarded capture that user code has stored: plain numbers go in their place."""

from __future__ import annotations

import gc
import types
from typing import Any

from ...symbolic_sizes import KINDS, Sizes, plain


def replace_leaked_sizes(sizes: Sizes) -> None:
    """Put plain numbers where user code has stored ours, which it may ask for their type.

    Shapes, which are tuples, are replaced by others in what holds them.
    """
    own = [made for made in sizes._known.values() if type(made) in KINDS] + sizes.sizes
    holders = gc.get_referrers(*own)
    shapes = [x for x in holders if isinstance(x, tuple) and type(x) is not tuple]
    others = {id(x): tuple.__new__(type(x), map(plain, x)) for x in shapes}
    holding = gc.get_referrers(*shapes) if shapes else []
    mine = {id(x) for x in (own, holders, shapes, others, holding, sizes.sizes, sizes._known)}

    def now(value: Any) -> Any:
        return others.get(id(value)) or plain(value)

    for holder in (*holders, *holding):
        fields = getattr(holder, "__dict__", None)
        if id(holder) in mine or holder is sizes:
            continue
        if type(holder) is list:
            holder[:] = map(now, holder)
        elif type(holder) is set:
            holder |= {now(holder.pop()) for _ in range(len(holder))}
        elif type(holder) is dict:
            items = [(now(k), now(v)) for k, v in holder.items()]
            holder.clear()
            holder.update(items)
        elif type(holder) is types.CellType:
            holder.cell_contents = now(holder.cell_contents)
        elif type(fields) is dict:
            fields.update((k, now(v)) for k, v in list(fields.items()))
