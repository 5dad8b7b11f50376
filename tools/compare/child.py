"""Run a script under one library and record what it does.

python -m mindtorch.tools.compare.child --framework torch|mindtorch --record DIR script.py [args]
"""

import argparse
import functools
import importlib
import os
import random
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch
from mindtorch.module_hooker import torch_disable, torch_enable
from mindtorch.traceback_filtering import fold_frames_of

from ..run_script import (
    ScriptNotFoundError,
    end_with_parent,
    execute,
    report_failure,
    run_op_by_op,
)
from .instrument import watching
from .options import Options, StopRecordingError
from .record_format import ARRAYS, UNWRITTEN, ArrayWriter, Record, RecordNotWrittenError
from .recorder import Recorder
from .tensor_probe import filled, template
from .torchvision_shim import declare_before_import

__all__ = ["main"]

ARRAY_LIMIT = 2**30
MOST_PATHS = 100


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch.tools.compare.child", description=__doc__
    )
    parser.add_argument("--framework", choices=["torch", "mindtorch"], required=True)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--full-step", type=int, default=0)
    parser.add_argument("--window", type=int, nargs=2)
    parser.add_argument("--rerun", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--dtype", choices=["float32", "float64"])
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--shallow", action="store_true")
    parser.add_argument("--module", type=Path, metavar="DIR")
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def prepare(framework: str, seed: int, threads: int, dtype: str | None = None) -> Any:
    """The namespace of a framework, seeded, with its threads and its default type set."""
    if framework == "mindtorch":
        torch_disable()
    else:
        torch_enable()
        declare_before_import()
    torch = importlib.import_module("torch")
    fold_frames_of(Path(str(torch.__file__)).parent)
    for name in ("nn", "nn.functional", "optim", "utils.data", "autograd", "linalg", "fft"):
        importlib.import_module(f"torch.{name}")
    torch.set_num_threads(threads)
    if dtype is not None:
        torch.set_default_dtype(getattr(torch, dtype))
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 (the generator that scripts use)
    torch.manual_seed(seed)
    return torch


# -- --dtype, --amp, --graph -----------------------------------------------------------------------


def converter(torch: Any, dtype: str | None) -> Callable[[Any], Any]:
    """What turns the real floating tensors of a nested value into those of `dtype`."""
    if dtype is None:
        return lambda value: value
    wanted = getattr(torch, dtype)

    def convert(value: Any) -> Any:
        seen: list[Any] = []
        shape = template(value, torch.Tensor, seen)
        if not any(x.is_floating_point() and x.dtype != wanted for x in seen):
            return value
        return filled(shape, [x.to(wanted) if x.is_floating_point() else x for x in seen])

    return convert


def changed_modes(options: argparse.Namespace) -> dict[str, Any]:
    """What `ModelCalls` does to a call, as in `Event.modes`."""
    found: dict[str, Any] = {"cast": options.dtype} if options.dtype else {}
    found |= {"autocast": "bfloat16"} if options.amp else {}
    return found | ({"compiled": True} if options.graph else {})


class ModelCalls:
    """Changes how the outermost calls of modules are made: on inputs of another dtype (`--dtype`),
    under autocast (`--amp`), compiled (`--graph`)."""

    def __init__(self, torch: Any, options: argparse.Namespace) -> None:
        self.torch = torch
        self.wanted = options.dtype
        self.amp = options.amp
        self.graph = options.graph
        self.convert = converter(torch, options.dtype)
        self.depth = 0
        self.compiled: dict[int, tuple[Any, Any]] = {}

    @contextmanager
    def installed(self) -> Any:
        if not (self.wanted or self.amp or self.graph):
            yield
            return
        cls = self.torch.nn.Module
        original = cls.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self.depth:
                return original(module, *args, **kwargs)
            args, kwargs = self.convert(args), self.convert(kwargs)
            self.depth += 1
            try:
                with ExitStack() as around:
                    if self.amp:
                        cast = self.torch.autocast("cpu", dtype=self.torch.bfloat16)
                        around.enter_context(cast)
                    return self._run(original, module, args, kwargs)
            finally:
                self.depth -= 1

        cls.__call__ = call
        try:
            yield
        finally:
            cls.__call__ = original

    def _run(self, original: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        if not self.graph or not any(True for _ in module.parameters()):
            return original(module, *args, **kwargs)
        known = self.compiled.get(id(module))
        if known is None:
            run = self.torch.compile(functools.partial(original, module))
            known = self.compiled[id(module)] = (module, run)
        return known[1](*args, **kwargs)


# -- files -----------------------------------------------------------------------------------------


def note_files_outside(torch: Any, record: Record, own: Path) -> None:
    """Note each file that the script opens for writing outside the run's own working directory.

    What `torch.save` writes is opened where Python does not see it, or under another name first.
    """
    here = str(own.resolve())
    ignored = (here, "/dev/", "/proc/", str(Path(mindtorch.__file__).resolve().parents[1]))
    cache = os.environ.get("MINDTORCH_CACHE_DIR") or str(Path.home() / ".cache")
    writing = os.O_WRONLY | os.O_RDWR

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" or len(record.written_outside) >= MOST_PATHS:
            return
        path, _, flags = arguments
        if not isinstance(flags, int) or not flags & writing or not isinstance(path, (str, bytes)):
            return
        note(path)

    def note(path: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if not real.startswith((*ignored, cache)) and "__pycache__" not in real:
            if real not in record.written_outside:
                record.written_outside.append(real)

    saved = torch.save

    @functools.wraps(saved)
    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(f, (str, os.PathLike)):
            note(f)
        return saved(obj, f, *args, **kwargs)

    torch.save = save
    sys.addaudithook(hook)


# -- the run ---------------------------------------------------------------------------------------


def run(options: argparse.Namespace, record: Record, recorder: Recorder) -> int:
    """Run the script; the exit status for the process."""
    try:
        execute(options.script, options.arguments, options.module)
    except StopRecordingError:
        record.status = "stopped"
        return 0
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            record.status = f"exited with {exit_.code}"
            if isinstance(exit_.code, int):
                return exit_.code
            print(exit_.code, file=sys.stderr)
            return 1
    except ScriptNotFoundError as error:
        print(error, file=sys.stderr)
        record.status = str(error)
        return 2
    except RecordNotWrittenError:
        raise
    except BaseException as error:
        record.status = f"raised {type(error).__name__}"
        recorder.close()
        return report_failure(error)
    recorder.finish()
    record.status = "finished"
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Record one run; the exit status is the script's."""
    options = parse_arguments(arguments)
    end_with_parent()
    options.record.mkdir(parents=True, exist_ok=True)
    torch = prepare(options.framework, options.seed, options.threads, options.dtype)
    record = Record(options.framework, str(torch.__version__), options.threads)
    record.save(options.record)  # what is known of a run that is killed
    arrays = ArrayWriter(options.record / ARRAYS, ARRAY_LIMIT)
    chosen = Options(
        last_step=options.steps,
        full_step=options.full_step,
        rerun=options.rerun,
        window=tuple(options.window) if options.window else None,
        against=options.against,
        stop=options.stop,
        only=options.only,
        shallow=options.shallow,
        changed=changed_modes(options),
    )
    recorder = Recorder(torch, record, arrays, options.record, chosen)
    note_files_outside(torch, record, Path.cwd())
    if not options.graph:
        run_op_by_op(options.framework, torch)
    changed = ModelCalls(torch, options)
    convert = converter(torch, options.dtype)
    try:
        try:
            with changed.installed(), watching(recorder, torch, convert):
                return run(options, record, recorder)
        finally:
            recorder.close()
            arrays.close()
            record.save(options.record)
    except (RecordNotWrittenError, OSError) as error:
        print(f"the record cannot be written: {error}", file=sys.stderr)
        return UNWRITTEN


if __name__ == "__main__":
    sys.exit(main())
