"""Which layers are cut over which processes, and files of it in MindSpore's form (JSON)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mindtorch.kernels.support.atomic_file import write_whole
from mindtorch.torch.distributed.tensor import Replicate, Shard

from ..nn.basic import Dense

__all__ = ["COLUMNS", "ROWS", "Strategy", "linear_layers", "read_strategy", "write_strategy"]

COLUMNS, ROWS = "columns", "rows"
_AXIS = {COLUMNS: 0, ROWS: 1}  # of a weight (out, in)


@dataclass
class Strategy:
    """The processes as ``data`` rows of ``cut``, and what each linear layer does with a row.

    Attributes:
        data: into how many parts samples are divided.
        cut: into how many parts layers are cut.
        layers: by path, "columns" for a layer whose outputs are divided, "rows" for its inputs.
    """

    data: int
    cut: int
    layers: dict[str, str] = field(default_factory=dict)

    def placements(self, path: str, name: str) -> list[Any]:
        """What each axis of the processes does with a parameter of a layer.

        Args:
            path: the layer's.
            name: "weight" or "bias".
        """
        kind = self.layers.get(path)
        if kind is None or (kind == ROWS and name == "bias"):
            return [Replicate(), Replicate()]
        return [Replicate(), Shard(_AXIS[kind])]


def linear_layers(network: Any) -> Iterator[tuple[str, Any]]:
    """(path, cell) of the layers that can be cut."""
    return ((path, cell) for path, cell in network.cells_and_names() if type(cell) is Dense)


def _operator(strategy: Strategy, path: str) -> list[list[int]]:
    """Into how many pieces the axes of a product's inputs are cut: (samples, in), (out, in)."""
    kind = strategy.layers.get(path)
    outer = strategy.cut if kind == COLUMNS else 1
    inner = strategy.cut if kind == ROWS else 1
    return [[strategy.data, inner], [outer, inner]]


def write_strategy(file: str, strategy: Strategy, network: Any, trained: bool = True) -> None:
    """Write the operators' strategies and the parameters' layouts.

    Args:
        file: its name.
        strategy: what is written.
        network: before its parameters are cut.
        trained: leave out parameters that are not trained.
    """
    layers = dict(linear_layers(network))
    where = {
        id(parameter): strategy.placements(path, name)
        for path, cell in layers.items()
        for name, parameter in cell.named_parameters(recurse=False)
    }
    layouts = {}
    for parameter in network.get_parameters():
        if trained and not parameter.requires_grad:
            continue
        shape = list(parameter.aval.shape)
        _, along = where.get(id(parameter), [None, Replicate()])
        axis = along.dim if isinstance(along, Shard) else -1
        layouts[parameter.name] = {
            "dev_matrix": [strategy.data, strategy.cut],
            "tensor_map": [0 if dim == axis else -1 for dim in range(len(shape))],
            "tensor_shape": shape, "field": 0,
            "opt_weight_shard_step": 0, "opt_weight_shard_size": 0,
        }  # fmt: skip
    text = {
        "current_stage": 0,
        "parallel_strategy_item": {
            path: {"stage": 0, "parallel_strategy": _operator(strategy, path)} for path in layers
        },
        "parallel_layout_item": layouts,
    }
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    write_whole(Path(file), json.dumps(text, indent=1).encode())


def read_strategy(file: str, network: Any, processes: int) -> Strategy:
    """The strategy of a file: by its parameters' layouts, or where it has none by its operators.

    Args:
        file: its name.
        network: whose layers are cut.
        processes: how many there are.

    Raises:
        ValueError: no such file, or one for another network or number of processes.
        NotImplementedError: other parameters than those of linear layers are cut.
    """
    try:
        text = json.loads(Path(file).read_text())
        layouts = text.get("parallel_layout_item") or {}
        operators = text.get("parallel_strategy_item") or {}
    except (OSError, ValueError, AttributeError) as error:
        raise ValueError(f"the strategy file {file!r} cannot be read: {error}") from error
    layers = dict(linear_layers(network))
    if layouts:
        counts = _of_layouts(file, layouts, network, layers)
    else:
        unknown = sorted(set(operators) - set(layers))
        if unknown:
            raise ValueError(f"{file!r}: the network has no linear layer {unknown[0]!r}")
        counts = {path: each["parallel_strategy"][1] for path, each in operators.items()}
    cut = max((math.prod(pair) for pair in counts.values()), default=1)
    made = Strategy(processes // cut, cut)
    for path, (outer, inner) in counts.items():
        if outer * inner == 1:
            continue
        if {outer, inner} != {1, cut} or made.data * cut != processes:
            raise ValueError(
                f"{file!r}: {path} is cut into {outer} x {inner} pieces, which {processes} "
                f"processes do not do with others in {cut}"
            )
        made.layers[path] = COLUMNS if outer > 1 else ROWS
    _check_sizes(file, made, layers)
    return made


def _of_layouts(
    file: str, layouts: dict[str, Any], network: Any, layers: dict[str, Any]
) -> dict[str, list[int]]:
    """Into how many pieces the axes of each weight are cut."""
    known = {parameter.name: parameter for parameter in network.get_parameters()}
    weights = {cell.weight.name: path for path, cell in layers.items()}
    biases = {cell.bias.name for cell in layers.values() if cell.bias is not None}
    counts = {}
    for name, layout in layouts.items():
        if name not in known:
            raise ValueError(f"{file!r}: the network has no parameter {name!r}")
        if list(known[name].aval.shape) != layout["tensor_shape"]:
            raise ValueError(
                f"{file!r}: {name} has shape {layout['tensor_shape']}, here "
                f"{list(known[name].aval.shape)}"
            )
        matrix = layout["dev_matrix"]
        pieces = [1 if axis < 0 else matrix[-1 - axis] for axis in layout["tensor_map"]]
        if layout.get("opt_weight_shard_size", 0) > 1:
            raise NotImplementedError(f"{file!r}: {name} is sliced for its optimizer, too")
        if name in weights:
            counts[weights[name]] = pieces
        elif math.prod(pieces) > 1 and name not in biases:
            raise NotImplementedError(f"{file!r}: {name} is cut and is not of a Dense layer")
    return counts


def _check_sizes(file: str, strategy: Strategy, layers: dict[str, Any]) -> None:
    for path, kind in strategy.layers.items():
        width = layers[path].weight.aval.shape[_AXIS[kind]]
        if width % strategy.cut:
            raise ValueError(f"{file!r}: {strategy.cut} does not divide the {width} of {path}")
