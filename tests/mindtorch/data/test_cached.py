"""`Cached` before data sets of PyTorch and of mindtorch, with their own loaders."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data as torch_data

import mindtorch.torch as mt
from mindtorch.data import Cached, CacheWarning, DatasetCache
from mindtorch.mindspore.dataset import vision
from mindtorch.torch.utils import data as mt_data

from .conftest import Here

Make = Callable[..., Here]


FRAMEWORKS: dict[str, Any] = {"torch": torch, "mindtorch": mt}


class Squares(torch_data.Dataset[Any]):
    """A row is (array, tensor, number); each that is made leaves a line in a file."""

    classes = ("even", "odd")

    def __init__(self, log: Path, framework: str = "torch", count: int = 40) -> None:
        self.log, self.framework, self.count = str(log), framework, count

    def __cache_key__(self) -> str:
        return f"squares of {self.framework}, {self.count}"

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self.count:
            raise IndexError(index)
        with open(self.log, "a") as file:
            file.write(f"{index}\n")
        return np.full(1000, index), FRAMEWORKS[self.framework].full((3,), index**2), index % 2


class Several(Squares):
    """Makes several rows at once."""

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return [self[index] for index in indices]


def made(log: Path) -> list[int]:
    """The rows that were made since the last call, sorted."""
    found = sorted(map(int, log.read_text().split())) if log.exists() else []
    log.write_text("")
    return found


def total(loader: Any) -> list[int]:
    sums = np.zeros(3, np.int64)
    for array, tensor, label in loader:
        sums += [int(array.sum()), int(tensor.sum()), int(label.sum())]
    return list(sums.tolist())


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "made"


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("framework", "loaders"), [("torch", torch_data), ("mindtorch", mt_data)]
)
def test_rows_are_made_once(
    here: Make, log: Path, framework: str, loaders: Any, workers: int
) -> None:
    """In two epochs, and in another data set of the same content, with workers and without."""
    server = here()
    plain = Squares(log, framework)
    expected = total(plain_rows(plain))
    made(log)
    for epoch in range(3):
        cached = Cached(Squares(log, framework) if epoch == 2 else plain, server.cache())
        loader = loaders.DataLoader(cached, batch_size=8, num_workers=workers)
        assert total(loader) == expected
        assert made(log) == (list(range(40)) if epoch == 0 else [])
        wait_for_rows(server, 40)  # another client sees what was sent, which may take a while
    assert server.kept().counts.in_memory == 40


def wait_for_rows(server: Here, count: int) -> None:
    """Rows that wait are sent after half a second at most."""
    end = time.monotonic() + 30
    while server.kept().counts.in_memory < count and time.monotonic() < end:
        time.sleep(0.01)


def plain_rows(dataset: Any) -> Iterator[Any]:
    return ((a, t, np.int64(label)) for a, t, label in (dataset[i] for i in range(len(dataset))))


def test_spawned_workers(here: Make, log: Path) -> None:
    """The wrapped data set is pickled with its key, and not with its connection."""
    server = here()
    cached = Cached(Squares(log), server.cache())
    list(cached)
    copied = pickle.loads(pickle.dumps(cached))
    assert copied.key == cached.key and copied.session is not cached.session
    assert made(log) == list(range(40))
    assert copied[7][2] == 1 and made(log) == []


def test_what_else_a_data_set_has(here: Make, log: Path) -> None:
    cached = Cached(Squares(log), here().cache(), transform=lambda row: row[2])
    assert len(cached) == 40 and cached.classes == ("even", "odd") and cached.count == 40
    assert [cached[i] for i in (3, 4, np.int64(5), torch.tensor(6))] == [1, 0, 1, 0]
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = cached.nothing_of_the_kind
    for index in (40, -1):
        with pytest.raises(IndexError):
            cached[index]
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        cached["a"]


def test_several_rows_at_once(here: Make, log: Path) -> None:
    """What is missing is asked of the data set together."""
    server = here()
    cached = Cached(Several(log), server.cache())
    assert [row[2] for row in cached.__getitems__([1, 2])] == [1, 0]
    server.session, _ = server.session, cached.session.get_stat()
    assert [row[2] for row in cached.__getitems__([3, 2, 1])] == [1, 0, 1]
    assert made(log) == [1, 2, 3]


def test_arguments(here: Make, log: Path) -> None:
    server = here()
    with pytest.raises(TypeError, match="has no __getitem__"):
        Cached(3, server.cache())
    with pytest.raises(TypeError, match="session should be"):
        Cached(Squares(log), "5")
    with pytest.raises(TypeError, match="key should be a text"):
        Cached(Squares(log), server.cache(), key=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cannot be seen"):
        Cached([(n for n in range(3))], server.cache())
    assert Cached([(n for n in range(3))], server.cache(), key="a").key == "a"
    given: Any
    for given in ({"session_id": 0}, {"size": -1}, {"port": 80}, {"prefetch_size": 0}):
        with pytest.raises(ValueError, match=r"Input \w+ is not within the required interval"):
            DatasetCache(**({"session_id": 1} | given))
    for given in ({"session_id": "1"}, {"size": 1.5}, {"spilling": 1}, {"hostname": 3}):
        with pytest.raises(TypeError, match=rf"Argument {next(iter(given))} with value"):
            DatasetCache(**({"session_id": 1} | given))
    with pytest.raises(ValueError, match=r"Invalid host interface: 10.0.0.1"):
        DatasetCache(1, hostname="10.0.0.1")
    with pytest.warns(CacheWarning, match="num_connections has no effect"):
        DatasetCache(1, num_connections=3)


def test_transforms_that_draw_are_refused(here: Make) -> None:
    """Each epoch would see the first draw."""
    data = [vision.RandomCrop(3)]
    with pytest.raises(ValueError, match="RandomCrop in the data set would draw once"):
        Cached(data, here().cache())
    assert Cached(data, here().cache(), allow_random=True).dataset is data


def test_the_switch(here: Make, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = here()
    monkeypatch.setenv("MINDTORCH_DATA_CACHE", "0")
    cached = Cached(Squares(log), server.cache())
    assert cached[3][2] == cached[3][2] == 1
    assert made(log) == [3, 3]


class Stream(torch_data.IterableDataset[Any]):
    """Rows one after another; each worker has every so many-th."""

    def __init__(self, log: Path) -> None:
        self.log = str(log)

    def __cache_key__(self) -> str:
        return "stream"

    def __iter__(self) -> Iterator[Any]:
        worker = torch_data.get_worker_info()
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        for number in range(first, 30, step):
            with open(self.log, "a") as file:
                file.write(f"{number}\n")
            yield np.full(10, number), number


class StreamWithLength(Stream):
    def __len__(self) -> int:
        return 30


class OurStream(mt_data.IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(range(5))


@pytest.mark.parametrize("workers", [0, 2])
def test_streams(here: Make, log: Path, workers: int) -> None:
    """Each worker's rows are a sequence of their own, which a later epoch reads."""
    server = here()
    cached = Cached(Stream(log), server.cache())
    assert isinstance(cached, torch_data.IterableDataset) and not hasattr(cached, "__len__")
    for epoch in range(2):
        loader = torch_data.DataLoader(cached, batch_size=4, num_workers=workers)
        numbers = [int(n) for _, batch in loader for n in batch]
        assert sorted(numbers) == list(range(30))
        assert made(log) == (list(range(30)) if epoch == 0 else [])
    assert len(server.store.sessions[server.session]) == max(workers, 1)


def test_kinds_of_streams(here: Make, log: Path) -> None:
    server = here()
    assert len(Cached(StreamWithLength(log), server.cache())) == 30
    ours = Cached(OurStream(), server.cache(), transform=str)
    assert isinstance(ours, mt_data.IterableDataset)
    for _ in range(2):
        assert list(mt_data.DataLoader(ours, batch_size=None)) == ["0", "1", "2", "3", "4"]
    assert type(pickle.loads(pickle.dumps(ours))) is type(ours)


def test_a_forked_child_goes_on(here: Make, log: Path) -> None:
    """With a connection of its own: rows that either adds are seen by the other."""
    server = here()
    cached = Cached(Squares(log), server.cache())
    cached[0]
    context = multiprocessing.get_context("fork")
    process = context.Process(target=lambda: [cached[i] for i in range(20)])
    process.start()
    process.join()
    assert process.exitcode == 0
    assert cached[1][2] == 1 and cached[19][2] == 1
    # the parent's row may still wait when the child asks for it
    assert made(log) in ([0, *range(20)], [*range(20)])
    assert cached.session.get_stat().num_mem_cached == 20
    assert os.getpid() != process.pid
