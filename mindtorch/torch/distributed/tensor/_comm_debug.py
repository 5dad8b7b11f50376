"""CommDebugMode: which collectives are made in a block, and in which modules."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from mindtorch.engine.autograd import backward
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.dispatch import state
from mindtorch.engine.interpreter import Interpreter
from mindtorch.torch import ops
from mindtorch.torch.library import define
from mindtorch.torch.library._custom_operators import OPERATORS
from mindtorch.torch.utils.module_tracker import ModuleTracker

from .._observed import observers
from ._tensor import DTensor

__all__ = ["CommDebugMode"]

# What exchanges are called in torch.ops, where they are keys of the counts.
_NAMES = {
    "c10d": "allreduce_ broadcast_ reduce_ allgather_ _allgather_base_ gather_ scatter_ "
    "reduce_scatter_ _reduce_scatter_base_ alltoall_ alltoall_base_",
    "c10d_functional": "all_reduce broadcast all_gather_into_tensor reduce_scatter_tensor "
    "all_to_all_single",
    "_dtensor": "shard_dim_alltoall",
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _declare() -> None:
    """Let ``torch.ops`` have the names."""
    for space, names in _NAMES.items():
        for name in names.split():
            if f"{space}::{name}" not in OPERATORS:
                define(f"{space}::{name}", "(Tensor input) -> Tensor")


_declare()


def _packet(name: str) -> Any:
    space, _, own = name.partition(".")
    return getattr(getattr(ops, space), own)


class _Modules(ModuleTracker):
    """The tracker, which keeps the order of modules, their classes and parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, Any] = {}
        self.inside: list[str] = []
        self._last: list[Any] = []

    def _before(self, module: Any, arguments: Any) -> None:
        super()._before(module, arguments)
        name = self._name(module)
        self.found.setdefault(name, module)
        self.inside.append(name)

        def leave(*arguments: Any) -> None:
            self.inside.remove(name)
            handle.remove()

        handle = module.register_forward_hook(leave)  # behind those that exchange its results
        self._last.append(handle)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        for handle in self._last:
            handle.remove()

    def active(self) -> set[str]:
        """The modules that are being called, forward or backward, and those around them."""
        now = self.parents if self.is_bw else {"Global", *self.inside}
        around = {path.rsplit(".", i)[0] for path in now for i in range(path.count(".") + 1)}
        return {"Global"} | (around & self.found.keys())

    def innermost(self) -> str:
        """The deepest of them."""
        return max(self.active() - {"Global"}, key=lambda p: p.count("."), default="Global")

    def parameters(self) -> dict[str, dict[str, Any]]:
        """Detached parameters by module and name."""
        own = {
            path: {name: p.detach() for name, p in module.named_parameters(recurse=False)}
            for path, module in self.found.items()
        }
        return {path: each for path, each in own.items() if each}


class CommDebugMode(Interpreter):
    """In a ``with`` block collectives are counted, by kind and by module.

    Those that DTensors make when they are redistributed count as ``torch.ops.c10d_functional``'s,
    those that are called, and those of ``fully_shard`` and DistributedDataParallel, as
    ``torch.ops.c10d``'s. A group of ``fully_shard`` counts once each time that it is gathered or
    reduced, though large parameters travel by themselves. What a process does in no module, or
    after all of them in backward, counts for "Global", as everything does.

    Attributes:
        comm_counts: how often each was made.
        comm_module_counts: by the module's path ("Net.block.linear"), "forward" or "backward", and
            kind; a module's counts have those of the modules within.
    """

    def __init__(self) -> None:
        self.comm_counts: dict[Any, int] = defaultdict(int)
        self.comm_module_counts: dict[str, dict[str, dict[Any, int]]] = {}
        self._operations: dict[str, dict[str, list[Any]]] = {}
        self._modules = _Modules()
        self._parameters: dict[str, dict[str, Any]] = {}

    # --- the block -----------------------------------------------------------------------------

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        self.comm_module_counts = {"Global": _directions(lambda: defaultdict(int))}
        self._operations = {}
        self._modules = _Modules()
        self._modules.__enter__()
        self._resume = pause()
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))
        observers.append(self._count)
        return self

    def __exit__(self, *exception: object) -> None:
        observers.remove(self._count)
        state.update(interpreters=tuple(x for x in state.interpreters if x is not self))
        self._resume()
        self._modules.__exit__()
        self._parameters = self._modules.parameters()

    def apply(self, op: Any, inputs: Any, params: Any) -> Any:
        kinds = self._operations.setdefault(self._modules.innermost(), _directions(list))
        kinds["backward" if backward.running() else "forward"].append(op)
        return self.outside(op, *inputs, **params)

    def _count(self, name: str) -> None:
        packet = _packet(name)
        self.comm_counts[packet] += 1
        direction = "backward" if backward.running() else "forward"
        for path in self._modules.active():
            kinds = self.comm_module_counts.setdefault(path, _directions(lambda: defaultdict(int)))
            kinds[direction][packet] += 1

    # --- what was found --------------------------------------------------------------------------

    def get_total_counts(self) -> int:
        """How many collectives were made."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """How often each kind was made: ``{torch.ops.c10d_functional.all_reduce: 2}``."""
        return self.comm_counts

    def get_parameter_info(self) -> dict[str, dict[str, Any]]:
        """The parameters of the modules that were called, by path and name."""
        return self._parameters

    def get_sharding_info(self) -> dict[str, Any]:
        """The placements of parameters that are DTensors, by path and name."""
        return {
            f"{path}.{name}": p.placements
            for path, own in self._parameters.items()
            for name, p in own.items()
            if isinstance(p, DTensor)
        }

    def generate_comm_debug_tracing_table(self, noise_level: int = 3) -> str:
        """Modules in the order of their calls, each with its collectives, forward and backward.

        Args:
            noise_level: 0: no more than that; 1: and classes, and how parameters lie; 2: and the
                engine's ops on local parts, without views; 3: and views.
        """
        rows: list[str] = []
        for path, indent in self._paths():
            rows.append(f"{indent}{path}")
            if noise_level > 0 and path != "Global":
                rows += [f"{indent}{line}" for line in self._about(path)]
            for title, kind in (("FORWARD PASS", "forward"), ("BACKWARD PASS", "backward")):
                found = self._lines(path, kind, noise_level)
                if found:
                    rows.append(f"{indent}  {title}")
                    rows += [f"\033[1;33m{indent}    {line}\033[0m" for line in found]
        return "".join(f"{row}\n" for row in rows)

    def log_comm_debug_tracing_table_to_file(
        self, file_name: str = "comm_mode_log.txt", noise_level: int = 3
    ) -> None:
        """Write :meth:`generate_comm_debug_tracing_table` into a file, without colours."""
        table = _COLOURS.sub("", self.generate_comm_debug_tracing_table(noise_level))
        Path(file_name).write_text(table)

    def generate_json_dump(
        self, file_name: str = "comm_mode_log.json", noise_level: int = 3
    ) -> None:
        """Write what the table has as JSON: modules within modules."""
        made: dict[str, dict[str, Any]] = {}
        for path, _ in self._paths():
            own = made[path] = self._as_json(path, noise_level)
            if path != "Global":
                above = path.rpartition(".")[0]
                while above and above not in made:
                    above = above.rpartition(".")[0]
                made[above or "Global"]["children"].append(own)
        Path(file_name).write_text(json.dumps(made["Global"], indent=4))

    def _as_json(self, path: str, noise_level: int) -> dict[str, Any]:
        module = self._modules.found.get(path)
        own = self._parameters.get(path, {})
        counts = self.comm_module_counts.get(path, {})
        told = noise_level > 0 and module is not None
        return {
            "fqn": path,
            "module_type": _class_of(module) if told else "",
            "parameters": [
                [name, str(p.placements)]
                for name, p in own.items()
                if told and isinstance(p, DTensor)
            ],
            **{
                f"collectives_{kind}": [[str(k), n] for k, n in counts.get(kind, {}).items()]
                for kind in ("forward", "backward")
            },
            **{
                f"operations_{kind}": self._ops(path, kind, noise_level)
                for kind in ("forward", "backward")
            },
            "children": [],
        }

    def _paths(self) -> list[tuple[str, str]]:
        """Paths with their indentation."""
        return [("Global", "")] + [(p, "    " * (p.count(".") + 1)) for p in self._modules.found]

    def _about(self, path: str) -> list[str]:
        lines = [f"*module type: {_class_of(self._modules.found[path])}"]
        lying = [
            f" *{name}: {p.placements}"
            for name, p in self._parameters.get(path, {}).items()
            if isinstance(p, DTensor)
        ]
        return lines + (["*Parameter List", *lying] if lying else [])

    def _ops(self, path: str, kind: str, noise_level: int) -> list[str]:
        found = self._operations.get(path, {}).get(kind, []) if noise_level > 1 else []
        return [op.name for op in found if noise_level > 2 or op.view is None]

    def _lines(self, path: str, kind: str, noise_level: int) -> list[str]:
        counts = self.comm_module_counts.get(path, {}).get(kind, {})
        lines = [f"*{name}: {count}" for name, count in counts.items()]
        return lines + [f"**{name}" for name in self._ops(path, kind, noise_level)]

    def __repr__(self) -> str:
        return f"CommDebugMode(get_total_counts()={self.get_total_counts()})"


def _directions(make: Any) -> dict[str, Any]:
    return {"forward": make(), "backward": make()}


def _class_of(module: Any) -> str:
    return f"class '{type(module).__module__}.{type(module).__qualname__}'"
