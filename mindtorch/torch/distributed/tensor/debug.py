"""How a DTensor lies over its mesh, as a table; which collectives a model makes."""

from __future__ import annotations

import importlib.util
import itertools
from typing import Any

from rich.console import Console
from rich.table import Table

from mindtorch.engine.sharding.sharded import Sharding
from mindtorch.torch.distributed.tensor._comm_debug import CommDebugMode as CommDebugMode
from mindtorch.torch.distributed.tensor._tensor import DTensor

__all__ = ["CommDebugMode", "visualize_sharding"]


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Print which process has which rows and columns, in the first process of the mesh.

    Args:
        dtensor: of one or two axes; nothing is printed of one without elements.
        header: is not used, as in PyTorch.
        use_rich: a table of the package rich, also where tabulate is installed.

    Raises:
        RuntimeError: there are more axes.
    """
    if dtensor.numel() == 0:
        return
    if dtensor.ndim >= 3:
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    mesh = dtensor.device_mesh
    place = mesh.get_coordinate()
    if place is None or any(place):
        return
    rows, columns, cells = _cells(dtensor)
    if use_rich or importlib.util.find_spec("tabulate") is None:
        table = Table("", *columns)
        for name, row in zip(rows, cells, strict=True):
            table.add_row(name, *row)
        Console().print(table)
        return
    tabulate = importlib.import_module("tabulate").tabulate
    print(tabulate(cells, headers=columns, showindex=rows))


def _cells(dtensor: DTensor) -> tuple[list[str], list[str], list[list[str]]]:
    """Names of the rows and of the columns, and for each box who has it: ``cpu:0,2``."""
    mesh, sharding = dtensor.device_mesh, Sharding(dtensor.device_mesh, dtensor.placements)
    shape = (*dtensor.shape, 1)[:2]
    boxes: dict[tuple[Any, Any], list[str]] = {}
    for place in itertools.product(*map(range, mesh.shape)):
        parts = sharding.local_range(tuple(shape), place)
        down, along = [(start, start + length - 1) for start, length in parts]
        boxes.setdefault((down, along), []).append(str(int(mesh.mesh[place])))
    downs, alongs = (sorted({box[i] for box in boxes}) for i in range(2))
    cells = [
        [f"{mesh.device_type}:" + ",".join(boxes[a, b]) if (a, b) in boxes else "" for b in alongs]
        for a in downs
    ]
    return [f"Row {a}-{b}" for a, b in downs], [f"Col {a}-{b}" for a, b in alongs], cells
