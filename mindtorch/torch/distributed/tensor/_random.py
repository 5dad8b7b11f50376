"""Random numbers of tensors over several processes: those that one process would draw.

Every process draws all of them and keeps its part, so that the generators stay alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.aval import Aval
from mindtorch.engine.callbacks import callbacks
from mindtorch.engine.ops.copies import copy_data
from mindtorch.engine.sharding.placements import Replicate
from mindtorch.engine.sharding.redistribute import redistribute_local
from mindtorch.engine.sharding.sharded import Sharding, is_sharded, local_part
from mindtorch.engine.tensor import Tensor
from mindtorch.engine.transforms.vmap import draw

from ..._tensor.generator import default_generator

__all__ = ["draw_part", "make_alike"]

_alike: set[Any] = set()


def make_alike(mesh: Any) -> None:
    """Let the generators of a mesh's processes go on from the first one's state, once."""
    if mesh in _alike:
        return
    _alike.add(mesh)
    state = default_generator.get_state()
    for axis in range(len(mesh.shape)):
        state = mesh.broadcast_along(axis, state, 0)
    default_generator.set_state(state)


def draw_part(
    whole: Aval, sharding: Sharding, fill: Callable[..., Any], *inputs: Tensor
) -> Tensor:
    """This process's part of what ``fill(array, *arrays of the inputs)`` draws of the whole."""
    mesh = sharding.mesh
    make_alike(mesh)
    everywhere = Sharding(mesh, (Replicate(),) * len(mesh.shape))
    given = [_gathered(x) for x in inputs]
    drawn = draw(whole, fill, *given)
    return redistribute_local(drawn, whole.shape, everywhere, sharding)


def _gathered(x: Tensor) -> Tensor:
    described: Any = x.aval
    if not is_sharded(described):
        return x
    mesh = described.sharding.mesh
    everywhere = Sharding(mesh, (Replicate(),) * len(mesh.shape))
    return redistribute_local(local_part(x), described.shape, described.sharding, everywhere)


def redraw(target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
    """Overwrite ``target`` with its part of what is drawn."""
    described: Any = target.aval
    part = draw_part(described.whole, described.sharding, fill, *inputs)
    copy_data(local_part(target), part)


callbacks.redraw_sharded = redraw
