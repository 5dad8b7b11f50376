"""What the debugger keeps of a step as files, in the folders of MindSpore's dumps.

    DIR/rank_0/.dump_metadata/data_dump.json, config.json
    DIR/rank_0/network/0/ITERATION/TYPE.NAME.0.0.ORDER.output.SLOT.DefaultFormat.npy
    DIR/rank_0/network/0/ITERATION/nodes.json    names, lines and what each node was given

NAME has `--` where a path has `/`. Parameters are nodes of type Parameter, their gradients of type
Gradients; iterations count from 0.
"""

from __future__ import annotations

import io
import json
import linecache
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.kernels.support.atomic_file import write_whole

from .records import Kept, whole_array
from .session import Debugger, Stop

__all__ = ["NETWORK", "DumpingFront", "write_dump"]

NETWORK = "network"


def _array(tensor: Any) -> np.ndarray:
    array = np.asarray(whole_array(tensor), order="C")
    if array.dtype.isbuiltin != 1:  # numpy's files hold no types of other packages
        return array.astype(np.float32)
    return array


def _write_metadata(folder: Path) -> None:
    metadata = folder / ".dump_metadata"
    metadata.mkdir(parents=True, exist_ok=True)
    settings = {
        "common_dump_settings": {
            "dump_mode": 0, "path": str(folder.parent), "net_name": NETWORK, "iteration": "all",
            "input_output": 0, "kernels": [], "file_format": "npy",
        },
        "e2e_dump_settings": {"enable": True, "trans_flag": True},
    }  # fmt: skip
    write_whole(metadata / "data_dump.json", json.dumps(settings, indent=1))
    write_whole(metadata / "config.json", json.dumps({"device_target": "CPU", "rank_id": 0}))


def _nodes(session: Debugger) -> Iterator[tuple[str, str, Any, list[Any], list[Any]]]:
    """Name, type, place, inputs and outputs of all that is written."""
    seen: set[int] = set()
    for optimizer in session.optimizers.values():
        for name, parameter in session.parameters_of(optimizer).items():
            seen.add(id(parameter))
            yield name, "Parameter", None, [], [parameter]
    for module, path in session.names.values():
        for name, parameter in module._parameters.items():
            if parameter is not None and id(parameter) not in seen:
                yield f"{path}.{name}", "Parameter", None, [], [parameter]
    for node in session.record:
        yield node.name, node.made_by, node.place, node.inputs, node.outputs
        for at, kept in node.gradients.items():
            yield f"Gradients/{node.name}.{at}", "Gradients", node.place, [], [kept]
    for name, gradient in session.gradients.items():
        yield f"Gradients/{name}", "Gradients", None, [], [gradient]


def _held(tensor: Any) -> Any:
    return tensor.tensor if isinstance(tensor, Kept) else tensor


def write_dump(session: Debugger, folder: str) -> str:
    """Write what is kept of the step that is under way, or has just ended.

    Returns:
        The folder of the iteration.

    Raises:
        OSError: it cannot be written.
        ValueError: no folder is named.
    """
    if not folder:
        raise ValueError("dump needs a folder")
    rank = int(os.environ.get("RANK", "0") or 0)
    iteration = session.step - 1 - session.step_has_ended
    top = Path(folder).absolute() / f"rank_{rank}"
    _write_metadata(top)
    target = top / NETWORK / "0" / str(iteration)
    target.mkdir(parents=True, exist_ok=True)
    made: dict[int, list[Any]] = {}
    described = []
    for order, (name, kind, place, inputs, outputs) in enumerate(_nodes(session)):
        files = []
        for slot, output in enumerate(outputs):
            tensor = _held(output)
            if tensor is not None:
                made[id(tensor)] = [name, slot]
                stem = f"{kind}.{name.replace('/', '--')}.0.0.{order}.output.{slot}.DefaultFormat"
                files.append(f"{stem}.npy")
                buffer = io.BytesIO()
                np.save(buffer, _array(tensor), allow_pickle=False)
                write_whole(target / files[-1], buffer.getvalue())
        given = [made.get(id(_held(x))) for x in inputs]
        described.append({
            "name": name, "type": kind, "order": order, "files": files,
            "inputs": [x for x in given if x and x[0] != name], "stack": _stack(place),
        })  # fmt: skip
    write_whole(target / "nodes.json", json.dumps({"nodes": described}))
    return str(target)


def _stack(place: Any) -> list[dict[str, Any]]:
    if place is None or not place.file:
        return []
    line = linecache.getline(place.file, place.line).strip()
    return [{"file_path": place.file, "line_no": place.line, "code_line": line}]


class DumpingFront:
    """Writes chosen steps while a program runs, and stops nowhere.

    Args:
        folder: where they go.
        steps: which, counted from 1; None: all.
    """

    def __init__(self, folder: str, steps: range | None = None) -> None:
        self.folder = folder
        self.steps = steps
        self.written: list[str] = []

    def stopped(self, session: Debugger, stop: Stop) -> None:
        if self.steps is None or stop.step in self.steps:
            self.written.append(write_dump(session, self.folder))
        if self.steps is not None and stop.step >= self.steps[-1]:
            session.detach()
        else:
            session.go(steps=1)

    def poll(self, session: Debugger) -> None:
        """Nobody asks while the program runs."""
