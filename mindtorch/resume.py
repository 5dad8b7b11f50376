"""Training that is interrupted at any moment goes on as if it had not been.

    state = TrainingState("run.pt", model=model, optimizer=optimizer, scheduler=scheduler,
                          scaler=scaler, sampler=sampler)
    step = state.load(default={"step": 0})["step"]     # where the last run came to
    for data, label in loader:
        ...                                            # one step
        sampler.advance(len(data))
        step += 1
        state.save({"step": step})

The file is one of ``torch.save``, with checksums. It takes the old one's place when it is whole and
on the disk, so there is always one that can be read.

In a process group of several processes each has a file of its own, ``run.pt.rank0`` and so on, and
the one before it: all go on from the last state that all of them have.
"""

from __future__ import annotations

import os
import pickle
import random
import zipfile
from collections.abc import Iterator, Sized
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.kernels.support.atomic_file import remove_leftovers, replacing

__all__ = ["CorruptStateError", "ResumableSampler", "TrainingState"]

FORMAT = 1


class CorruptStateError(RuntimeError):
    """A file that is not the whole of what was saved."""


class ResumableSampler(torch.utils.data.Sampler):
    """Indices of one epoch after another, from the middle of one if need be.

    Epoch ``e`` is a permutation by a generator of its own, seeded with ``seed + e``; iterating goes
    from ``position`` to the end of ``epoch``. What is behind is told by :meth:`advance`, since
    workers read ahead of the training.

    Args:
        data_source: something with a length.
        shuffle: False for the natural order.
        seed: of the permutations.

    Attributes:
        epoch: the epoch that the next iterator gives.
        position: how many of its indices were trained on.
    """

    def __init__(self, data_source: Sized, shuffle: bool = True, seed: int = 0) -> None:
        self.data_source, self.shuffle, self.seed = data_source, shuffle, seed
        self.epoch = self.position = 0

    def __len__(self) -> int:
        return len(self.data_source) - self.position

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        if not self.shuffle:
            yield from range(self.position, count)
            return
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        yield from torch.randperm(count, generator=generator).tolist()[self.position :]

    def advance(self, count: int) -> None:
        """``count`` more examples were trained on.

        Raises:
            ValueError: there are not so many left in the epoch.
        """
        if not 0 <= count <= len(self):
            raise ValueError(f"advance({count}): the epoch has {len(self)} examples left")
        self.position += count

    def next_epoch(self) -> None:
        """The epoch is over, also where a last batch was dropped."""
        self.epoch, self.position = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        return {"seed": self.seed, "epoch": self.epoch, "position": self.position,
                "length": len(self.data_source)}  # fmt: skip

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go to where ``state`` was.

        Raises:
            ValueError: it is of data of another length.
        """
        if state["length"] != len(self.data_source):
            raise ValueError(
                f"the state is of {state['length']} examples, the data have {len(self.data_source)}"
            )
        self.seed, self.epoch, self.position = (
            state["seed"], state["epoch"], state["position"]
        )  # fmt: skip


def random_states() -> dict[str, Any]:
    """The states of torch's, numpy's and Python's generators."""
    legacy: Any = np.random.get_state(legacy=True)  # noqa: NPY002
    name, keys, place, has_gauss, gauss = legacy
    version, internal, normal = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": [str(name), torch.tensor(keys.astype(np.int64)), place, has_gauss, gauss],
        "python": [version, list(internal), normal],
    }


def restore_random_states(states: dict[str, Any]) -> None:
    """Go on drawing where :func:`random_states` was asked."""
    torch.set_rng_state(states["torch"])
    if states["cuda"]:
        torch.cuda.set_rng_state_all(states["cuda"])
    name, keys, place, has_gauss, gauss = states["numpy"]
    legacy = (name, keys.numpy().astype(np.uint32), place, has_gauss, gauss)
    np.random.set_state(legacy)  # noqa: NPY002
    version, internal, normal = states["python"]
    random.setstate((version, tuple(internal), normal))


class TrainingState:
    """What a training run consists of, in a file.

    Args:
        path: of the file.
        parts: objects with ``state_dict`` and ``load_state_dict``: model, optimizer, scheduler,
            scaler, sampler or others. The random generators are saved beside them.

    A DataLoader draws a number from the default generator whenever it is iterated; give it one of
    its own (``generator=torch.Generator()``), or an epoch that is begun twice draws twice.

    Raises:
        TypeError: a part has no ``state_dict`` or no ``load_state_dict``.
    """

    def __init__(self, path: str | os.PathLike[str], **parts: Any) -> None:
        for name, part in parts.items():
            if not hasattr(part, "state_dict") or not hasattr(part, "load_state_dict"):
                raise TypeError(
                    f"{name}: {type(part).__name__} has no state_dict and load_state_dict"
                )
        self.path, self.parts = Path(path), parts
        self._count = 0  # of states saved in this run, from its first beginning on

    def save(self, progress: Any = None) -> None:
        """Replace the file by one of the present state and ``progress``, numbers and text."""
        file, several = self._place()
        self._count += 1
        content = {
            "format": FORMAT,
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "random": random_states(),
            "progress": progress,
            "count": self._count,
        }
        if several and file.exists():
            os.replace(file, _before(file))
        with replacing(file, durable=True) as opened:
            torch.save(content, opened)

    def _place(self) -> tuple[Path, bool]:
        """This process's file, and whether there are several processes."""
        distributed = torch.distributed
        if not distributed.is_initialized() or distributed.get_world_size() == 1:
            return self.path, False
        return self.path.with_name(f"{self.path.name}.rank{distributed.get_rank()}"), True

    def load(self, default: Any = None) -> Any:
        """Restore all parts and generators; the ``progress`` that was saved, or ``default`` where
        there is no file yet. What an interrupted :meth:`save` left behind is removed.

        Raises:
            CorruptStateError: the file is cut off, or its bytes are not those that were written.
            ValueError: it was saved with other parts.
            RuntimeError: there is no state that all processes have.
        """
        file, several = self._place()
        remove_leftovers(str(file))
        content = _common(file) if several else _read(file) if file.exists() else None
        if content is None:
            return default
        self._count = content.get("count", 0)
        saved = content["parts"]
        if set(saved) != set(self.parts):
            raise ValueError(
                f"{self.path} holds {sorted(saved)}, but the state is of {sorted(self.parts)}"
            )
        for name, part in self.parts.items():
            part.load_state_dict(saved[name])
        restore_random_states(content["random"])
        return content["progress"]


def _before(file: Path) -> Path:
    return file.with_name(f"{file.name}.before")


def _common(file: Path) -> dict[str, Any] | None:
    """The last state that all processes have; None where one was killed in its first save.

    Processes that train together are never more than one state apart.
    """
    found = {}
    for each in (_before(file), file):
        if each.exists():
            content = _read(each)
            found[content["count"]] = content, each
    counts = {*found, 0} if max(found, default=0) <= 1 else set(found)
    every: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(every, sorted(counts))
    common = set.intersection(*map(set, every))
    if not common:
        raise RuntimeError(f"{file}: processes hold the states {every}, of which none is in all")
    last = max(common)
    if last == 0:
        for _, each in found.values():
            each.unlink()
        return None
    content, each = found[last]
    if each != file:  # what this process alone has must not come before what it saves next
        os.replace(each, file)
    return content


def _read(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
        content = None if damaged else torch.load(path)
    except (zipfile.BadZipFile, EOFError, RuntimeError, OSError, pickle.UnpicklingError,
            NotImplementedError, UnicodeDecodeError) as error:  # fmt: skip
        raise CorruptStateError(
            f"{path} is damaged or was not written to its end: {error}"
        ) from error
    if damaged:
        raise CorruptStateError(f"{path} is damaged: {damaged} has another checksum")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise CorruptStateError(f"{path} was not written by TrainingState.save")
    return content
