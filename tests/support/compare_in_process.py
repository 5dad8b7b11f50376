"""`mindtorch compare` on a program that is a function, both runs in this process.

All is as in the command but the processes: the same recorder, comparison and second look. Forty
faults take a minute this way.
"""

import argparse
import importlib
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from mindtorch.tools.compare import instrument
from mindtorch.tools.compare.child import ModelCalls, changed_modes, converter
from mindtorch.tools.compare.cli import add_arguments, diagnose
from mindtorch.tools.compare.distance import Side
from mindtorch.tools.compare.instrument import watching
from mindtorch.tools.compare.options import Options, StopRecordingError
from mindtorch.tools.compare.record_format import (
    ARRAYS,
    ArrayReader,
    ArrayWriter,
    Record,
    load_record,
)
from mindtorch.tools.compare.recorder import Recorder
from mindtorch.tools.compare.run_frameworks import Look, labels
from mindtorch.tools.compare.verdict import Outcome

__all__ = ["compared", "namespace", "record"]

Program = Callable[[Any, str, int], None]


def namespace(side: str) -> Any:
    """torch, or mindtorch's, with the submodules that programs use."""
    name = "torch" if side == "torch" else "mindtorch.torch"
    torch = importlib.import_module(name)
    # "sparse" gives dense tensors' methods a second form: not while they are watched
    for part in ("nn", "nn.functional", "optim", "optim.lr_scheduler", "utils.data", "autograd",
                 "sparse"):  # fmt: skip
        importlib.import_module(f"{name}.{part}")
    return torch


@contextmanager
def _reversible() -> Iterator[None]:
    """Without ``Tensor.__getitem__``: once it was replaced, CPython keeps real torch's tensors
    sequences for good, and `torch.tensor` reads lists of them otherwise."""
    usual = instrument.names_of

    def names(namespace: str) -> list[str]:
        return [name for name in usual(namespace) if name != "__getitem__"]

    with mock.patch.object(instrument, "names_of", names):
        yield


def record(
    side: str,
    program: Callable[[Any], None],
    folder: Path,
    chosen: Options,
    options: argparse.Namespace,
) -> None:
    """Record one run into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    torch = namespace(side)
    made = Record(side, str(torch.__version__), 1)
    arrays = ArrayWriter(folder / ARRAYS, 2**30)
    recorder = Recorder(torch, made, arrays, folder, chosen)
    random.seed(options.seed)
    np.random.seed(options.seed)  # noqa: NPY002 (the generator that scripts use)
    torch.manual_seed(options.seed)
    usual = torch.get_default_dtype()
    if options.dtype:
        torch.set_default_dtype(getattr(torch, options.dtype))
    calls = ModelCalls(torch, options)
    try:
        convert = converter(torch, options.dtype)
        with calls.installed(), _reversible(), watching(recorder, torch, convert):
            try:
                program(torch)
                recorder.finish()
                made.status = "finished"
            except StopRecordingError:
                made.status = "stopped"
    finally:
        torch.set_default_dtype(usual)
        recorder.close()
        arrays.close()
        made.save(folder)


def compared(
    program: Program,
    fault: str,
    folder: Path,
    *arguments: str,
    steps: int = 4,
    frameworks: str = "torch,mindtorch",
) -> Outcome:
    """Compare a faithful first run with a second one that has `fault`."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    given = ["--frameworks", frameworks, "--threads", "1", "--keep", str(folder)]
    options = parser.parse_args([*given, *arguments, "program"])

    @contextmanager
    def run(options: argparse.Namespace, place: Path, look: Look) -> Iterator[Any]:
        found = []
        with ExitStack() as stack:
            both = labels(options.frameworks, options.graph)
            for position, (label, library) in enumerate(both):
                chosen = Options(
                    options.steps,
                    look.full_step,
                    look.rerun,
                    look.window,
                    place / both[0][0] if look.rerun and position else None,
                    look.stop,
                    options.only,
                    options.graph,
                )
                own = fault if position else ""
                here = argparse.Namespace(**vars(options))
                here.graph = options.graph and position == 1
                chosen = replace(chosen, changed=changed_modes(here))
                record(
                    library,
                    lambda torch, own=own: program(torch, own, steps),  # type: ignore[misc]
                    place / label,
                    chosen,
                    here,
                )
                arrays = ArrayReader(place / label)
                stack.callback(arrays.close)
                made = load_record(place / label)
                found.append(Side(label, made, arrays, "", place / label))
            yield tuple(found), []

    return diagnose(options, folder, run)
