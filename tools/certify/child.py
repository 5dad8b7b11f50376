"""Run a script under one library and write what its steps were.

    python -m mindtorch.tools.certify.child --framework torch|mindtorch --record FILE \\
        script.py [arguments]
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..compare.child import prepare
from ..run_script import (
    ScriptNotFoundError,
    end_with_parent,
    execute,
    report_failure,
    run_op_by_op,
)
from ..watchpoints.training_steps import Steps
from .certificate import Certificate, StepRecord

__all__ = ["main"]

# More parameters than this have their gradients' norms summed up only.
NAMED_LIMIT = 200


class _EnoughSteps(BaseException):
    """The steps that were asked for have been made."""


class StepRecorder:
    """Fills a certificate with what a script does.

    Args:
        torch: the namespace that the script imports.
        record: is filled.
        last: after how many steps the script is ended; None lets it run.
        perturb: move every parameter by one unit in the last place, up or down by this seed.
    """

    def __init__(
        self, torch: Any, record: Certificate, last: int | None, perturb: int | None
    ) -> None:
        self.torch = torch
        self.record = record
        self.last = last
        self.draw = None if perturb is None else np.random.default_rng(perturb)
        self.steps = Steps(torch, self)
        self.current = StepRecord()
        self.names: dict[int, dict[str, Any]] = {}
        self.moved: set[int] = set()

    # -- arrays -----------------------------------------------------------------------------------

    def array(self, tensor: Any) -> np.ndarray:
        """The values of a tensor, a sparse or low precision one, too."""
        tensor = tensor.detach()
        if tensor.is_sparse:
            tensor = tensor.coalesce().values()
        if tensor.dtype in (self.torch.bfloat16, self.torch.float16):
            tensor = tensor.float()
        return np.ascontiguousarray(tensor.cpu().numpy())

    def dtype(self, tensor: Any) -> str:
        return str(tensor.dtype).removeprefix("torch.")

    @staticmethod
    def squares(array: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(np.abs(array.astype(np.complex128 if np.iscomplexobj(array)
                                                    else np.float64)) ** 2))  # fmt: skip

    def digest(self, arrays: list[np.ndarray]) -> str:
        total = hashlib.blake2b(digest_size=12)
        for array in arrays:
            total.update(repr((array.shape, str(array.dtype))).encode())
            total.update(array.tobytes())
        return total.hexdigest()

    # -- what is seen -----------------------------------------------------------------------------

    def named(self, optimizer: Any) -> dict[str, Any]:
        if id(optimizer) not in self.names:
            self.names[id(optimizer)] = self.steps.names(optimizer)
        return self.names[id(optimizer)]

    def on_loss(self, loss: Any) -> None:
        value = float(np.mean(self.array(loss), dtype=np.float64).real)
        self.current.losses.append((value.hex(), self.dtype(loss)))

    def on_gradients(self, optimizer: Any) -> None:
        named = self.named(optimizer)
        for name, parameter in named.items():
            if name not in self.record.start:
                array = self.array(parameter)
                norm = math.sqrt(self.squares(array)).hex()
                self.record.start[name] = (self.digest([array]), norm, self.dtype(parameter))
        self._norms({n: p.grad for n, p in named.items() if p.grad is not None})

    def _norms(self, gradients: dict[str, Any]) -> None:
        if not gradients:
            return
        squares = {name: self.squares(self.array(each)) for name, each in gradients.items()}
        dtype = self.dtype(next(iter(gradients.values())))
        self.current.norm = (math.sqrt(sum(squares.values())).hex(), dtype)
        if len(squares) <= NAMED_LIMIT:
            self.current.gradients = {n: math.sqrt(s).hex() for n, s in squares.items()}

    def on_step(self, optimizer: Any) -> None:
        named = self.named(optimizer)
        self.current.parameters = self.digest([self.array(p) for p in named.values()])
        self.end_step()
        self.move(named.values())

    def end_step(self) -> None:
        state = np.array(self.torch.get_rng_state().numpy())
        self.current.generator = self.digest([state])
        self.record.steps.append(self.current)
        self.current = StepRecord()
        if self.last is not None and len(self.record.steps) >= self.last:
            raise _EnoughSteps

    # -- perturbation -----------------------------------------------------------------------------

    def move(self, parameters: Any) -> None:
        """Move parameters by one unit in the last place."""
        if self.draw is None:
            return
        for parameter in parameters:
            array = self.array(parameter)
            if self.dtype(parameter) not in ("float32", "float64"):
                continue
            signs = self.draw.integers(0, 2, array.shape) * 2 - 1
            moved = np.nextafter(array, (signs * np.inf).astype(array.dtype))
            parameter.data.copy_(self.torch.from_numpy(np.where(array == 0, array, moved)))

    def install(self) -> None:
        self.steps.install()
        if self.draw is not None:
            self._move_when_made(self.torch.optim.Optimizer)

    def _move_when_made(self, cls: Any) -> None:
        original: Callable[..., Any] = cls.__init__

        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            with self.torch.no_grad():
                groups = [p for group in optimizer.param_groups for p in group["params"]]
                self.move([p for p in groups if id(p) not in self.moved])
                self.moved.update(id(p) for p in groups)

        cls.__init__ = init

    def finish(self) -> None:
        """Losses that no step followed: each is a step in a script without optimizers."""
        left, self.current = self.current.losses, StepRecord()
        room = None if self.last is None else max(self.last - len(self.record.steps), 0)
        for loss in left[:room]:
            self.record.steps.append(StepRecord(losses=[loss]))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch.tools.certify.child", description=__doc__
    )
    parser.add_argument("--framework", choices=["torch", "mindtorch"], required=True)
    parser.add_argument("--record", type=Path, required=True, metavar="FILE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--perturb", type=int)
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, recorder: StepRecorder) -> int:
    """Run the script; the exit status for the process."""
    try:
        execute(options.script, options.arguments)
    except _EnoughSteps:
        return 0
    except SystemExit as ended:
        if ended.code not in (None, 0):
            print(f"the script exited with {ended.code}", file=sys.stderr)
            return ended.code if isinstance(ended.code, int) else 1
    except ScriptNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    except BaseException as error:
        return report_failure(error)
    recorder.finish()
    return 0


def main(arguments: list[str] | None = None) -> int:
    """StepRecorder one run; the exit status is the script's."""
    options = parse_arguments(arguments)
    end_with_parent()
    torch = prepare(options.framework, options.seed, options.threads)
    run_op_by_op(options.framework, torch)
    try:
        content = options.script.read_bytes()
    except OSError:
        content = b""
    record = Certificate(
        str(torch.__version__), str(options.script), options.arguments,
        hashlib.sha256(content).hexdigest(), options.seed, options.threads,
    )  # fmt: skip
    recorder = StepRecorder(torch, record, options.steps, options.perturb)
    recorder.install()
    status = run(options, recorder)
    if status == 0:
        record.save(options.record)
    return status


if __name__ == "__main__":
    sys.exit(main())
