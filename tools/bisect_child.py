"""The process that `mindtorch bisect` starts: runs a script and notes what it computes.

Noted are checksums: of parameters and gradients after each optimizer's step, and of the results and
parameters after each call of a compiled function that no other one calls. Steps within such a call
are not looked at, since that would change how the call is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine.compile.jit import Jitted
from mindtorch.engine.tensor import Tensor
from mindtorch.module_hooker import torch_disable

from .run_script import (
    ScriptNotFoundError,
    end_with_parent,
    execute,
    report_failure,
    switch_in_spawned_processes,
)

SAMPLE = 64  # elements of each tensor that are compared where a tolerance is given


def summary(tensor: Tensor) -> dict[str, Any]:
    """What is compared of a tensor: shape, a checksum of all elements, and some of them."""
    array = np.ascontiguousarray(Tensor.array(tensor))
    found: dict[str, Any] = {
        "shape": list(array.shape),
        "type": tensor.aval.dtype.name,
        "checksum": hashlib.sha256(array.tobytes()).hexdigest()[:24],
    }
    if array.size:
        flat = array.reshape(-1)
        few = flat[np.linspace(0, flat.size - 1, min(SAMPLE, flat.size)).astype(int)]
        if np.iscomplexobj(few):
            few = np.concatenate([few.real, few.imag])
        found["sample"] = few.astype(np.float64).tolist()
        whole = np.abs(flat) if np.iscomplexobj(flat) else flat.astype(np.float64)
        found["sum"] = float(whole.sum())
    return found


def tensors_in(value: Any, name: str, found: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in what a function returned, by the way to them."""
    if isinstance(value, Tensor):
        found[name] = value
    elif isinstance(value, dict):
        for key, each in value.items():
            tensors_in(each, f"{name}[{key!r}]", found)
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            tensors_in(each, f"{name}[{i}]", found)
    return found


class Notes:
    """Writes an event for each optimizer's step and each compiled call.

    Args:
        path: of the file, a line of JSON for each event.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._within = 0
        self._process = os.getpid()  # forked children note nothing

    def install(self) -> None:
        """See all optimizers and compiled functions from now on."""
        from mindtorch.torch.optim import optimizer

        optimizer.register_optimizer_step_post_hook(self._stepped)
        base: Any = optimizer.Optimizer
        made, call = base.__init__, Jitted.__call__

        @functools.wraps(made)
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            made(optimizer, *args, **kwargs)
            self._optimizers.add(optimizer)

        @functools.wraps(call)
        def called(jitted: Any, *args: Any, **kwargs: Any) -> Any:
            if self._within:
                return call(jitted, *args, **kwargs)
            self._within += 1
            try:
                result = call(jitted, *args, **kwargs)
            finally:
                self._within -= 1
            tensors = tensors_in(result, "result", {})
            for each in list(self._optimizers):
                tensors |= self._parameters(each)
            self._note("compiled call", tensors)
            return result

        base.__init__ = init
        jitted_class: Any = Jitted
        jitted_class.__call__ = called

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._within:
            self._note("step", self._parameters(optimizer))

    def _parameters(self, optimizer: Any) -> dict[str, Tensor]:
        found = {}
        held = [p for group in optimizer.param_groups for p in group["params"]]
        for i, p in enumerate(held):
            if p.grad is not None:
                found[f"gradient of parameter {i}"] = p.grad
        return found | {f"parameter {i}": p for i, p in enumerate(held)}

    def _note(self, kind: str, tensors: dict[str, Tensor]) -> None:
        if os.getpid() != self._process:
            return
        values = {
            name: summary(x) for name, x in tensors.items()
            if not x._sparse and x.aval.device.type != "meta"
        }  # fmt: skip
        self._file.write(json.dumps({"kind": kind, "values": values}) + "\n")
        self._file.flush()


def main(arguments: list[str]) -> int:
    """Run ``FILE SCRIPT ARGUMENTS...``; the exit status is the script's own."""
    end_with_parent()
    path, script, *given = arguments
    torch_disable()
    switch_in_spawned_processes()
    Notes(Path(path)).install()
    try:
        execute(script, given)
    except ScriptNotFoundError as error:
        print(f"mindtorch bisect: {error}", file=sys.stderr)
        return 2
    except SystemExit:
        raise
    except BaseException as error:
        return report_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
