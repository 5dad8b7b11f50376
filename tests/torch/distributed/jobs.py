"""Programs in several processes: how tests start them, read what each found, and compare it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import PROGRAMS, ROOT

__all__ = [
    "assert_near", "environment", "forked", "ranks_of", "start", "started_ranks", "torchrun"
]  # fmt: skip


def environment(**more: str) -> dict[str, str]:
    """The variables of a job: one thread in each process, and those given."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}


def torchrun(count: int) -> list[str]:
    """The command that starts a program in ``count`` processes."""
    return [sys.executable, "-m", "mindtorch.torch.distributed.run", f"--nproc_per_node={count}"]


def forked(count: int, namespace: str = "mindtorch.torch") -> list[str]:
    """The same with one import of the library, as tests do that are not about torchrun."""
    return [sys.executable, str(PROGRAMS / "distributed/ranks.py"), str(count), namespace]


def start(command: list[str], limit: int = 200, **variables: str) -> tuple[int, str]:
    """The exit status of a job, and what it printed; one that takes longer is ended, and raises.

    Args:
        limit: in seconds.
        variables: of its environment.
    """
    with subprocess.Popen(
        command, env=environment(**variables), cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            told, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 15)
            raise
    return process.returncode, told


def ranks_of(
    command: list[str], count: int, folder: Path, limit: int = 200, **variables: str
) -> list[Any]:
    """What each process of a job wrote into ``folder``, as ``<rank>.json``.

    Args:
        limit, variables: as for :func:`start`.
    """
    code, told = start(command, limit, **variables)
    assert code == 0, told
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(count)]


def started_ranks(
    program: Path, size: int, folder: Path, *cases: str, namespace: str = "mindtorch.torch",
    url: str = "", **variables: str,
) -> list[Any]:  # fmt: skip
    """What each process of a program wrote that is not started by torchrun.

    Args:
        program: called with the namespace, rank, size, url, folder and cases.
        url: where the processes find each other; a file of ``folder`` if not given.
        variables: as for :func:`start`.
    """
    place = url or f"file://{folder}/store"
    given = [namespace, "RANK", str(size), place, str(folder), *cases]
    code, told = start([*forked(size, namespace), str(program), *given], 600, **variables)
    files = [folder / f"{namespace}.{rank}.json" for rank in range(size)]
    assert code == 0 and all(file.exists() for file in files), told
    return [json.loads(file.read_text()) for file in files]


def assert_near(
    mine: Any, theirs: Any, rel: float, absolute: float = 1e-5, where: str = "found"
) -> None:
    """Equal in all but the roundings of numbers.

    Args:
        mine, theirs: nested lists and dicts.
        rel, absolute: by how much numbers may differ.
        where: the place that a failure names.
    """
    if isinstance(theirs, list):
        assert isinstance(mine, list) and len(mine) == len(theirs), (where, mine, theirs)
        for i, (m, t) in enumerate(zip(mine, theirs, strict=True)):
            assert_near(m, t, rel, absolute, f"{where}[{i}]")
    elif isinstance(theirs, dict):
        assert list(mine) == list(theirs), where
        for key, value in theirs.items():
            assert_near(mine[key], value, rel, absolute, f"{where}[{key!r}]")
    elif isinstance(theirs, float):
        assert mine == pytest.approx(theirs, rel=rel, abs=absolute), where
    else:
        assert mine == theirs, where
