"""`cache=` of sources and of `map`, with a cache server in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.data import CacheWarning, client
from mindtorch.mindspore import dataset as ds
from mindtorch.mindspore.dataset import vision
from tests.mindtorch.data.conftest import Here, folder, here

__all__ = ["folder", "here"]  # fixtures

Make = Callable[..., Here]


class Loud:
    """Adds something; each call leaves a line in a file."""

    def __init__(self, log: Path, more: int) -> None:
        self.log, self.more = str(log), more

    def __cache_key__(self) -> str:
        return f"adds {self.more}"

    def __call__(self, value: Any) -> Any:
        with open(self.log, "a") as file:
            file.write(f"{int(value.reshape(-1)[0])}\n")
        return value + self.more


def calls(log: Path) -> int:
    """How many calls there were since the last time."""
    count = len(log.read_text().split()) if log.exists() else 0
    log.write_text("")
    return count


def session(server: Here, **settings: Any) -> ds.DatasetCache:
    return ds.DatasetCache(server.session, port=server.port, **settings)


def numbers(pipeline: Any) -> list[Any]:
    return [row[0].tolist() for row in pipeline.create_tuple_iterator(output_numpy=True)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.mark.parametrize("processes", [None, False, True], ids=["alone", "threads", "processes"])
def test_rows_of_a_map_are_made_once(here: Make, log: Path, processes: bool | None) -> None:
    """In another order in each epoch, by any workers, for other pipelines of the same content."""
    server = here()
    workers: dict[str, Any] = {}
    if processes is not None:
        workers = {"num_parallel_workers": 2, "python_multiprocessing": processes}
    orders = []
    for shards, epochs in ((1, 2), (2, 1)):
        source = ds.NumpySlicesDataset(
            np.arange(30), ["x"], num_shards=shards if shards > 1 else None,
            shard_id=1 if shards > 1 else None,
        )  # fmt: skip
        cache = session(server)
        pipeline = source.map(Loud(log, 100), ["x"], cache=cache, **workers)
        iterator = pipeline.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        for _ in range(epochs):
            orders.append([int(row[0]) for row in iterator])
        del iterator
        assert set(orders[0]) == {n + 100 for n in range(30)} >= set(orders[-1])
        cache.flush()
        # a process has not got the last rows of another one before half a second
        most = 60 if processes else 30
        assert calls(log) <= (most if shards == 1 else 0)
        cache.close()
    assert orders[0] != orders[1] and len(orders[2]) == 15
    assert server.kept().counts.in_memory == 30


def test_other_functions_are_other_rows(here: Make, log: Path) -> None:
    server = here()
    source = ds.NumpySlicesDataset(np.arange(4), ["x"], shuffle=False)
    with session_of(server) as cache:
        for more in (1, 2, 1):
            made = source.map(Loud(log, more), ["x"], cache=cache)
            assert numbers(made) == [n + more for n in range(4)]
        assert calls(log) == 8
        assert cache.get_stat().num_mem_cached == 8


class session_of:
    """A cache that is closed."""

    def __init__(self, server: Here, **settings: Any) -> None:
        self.cache = session(server, **settings)

    def __enter__(self) -> ds.DatasetCache:
        return self.cache

    def __exit__(self, *_: object) -> None:
        self.cache.close()


def test_rows_of_a_source(here: Make, tmp_path: Path, log: Path) -> None:
    """A file that has changed is another source."""
    path = tmp_path / "lines.txt"
    with session_of(here()) as cache:
        for text, read in (("a\nb", ["a", "b"]), ("a\nc\nd", ["a", "c", "d"])):
            path.write_text(text)
            for _ in range(2):
                lines = ds.TextFileDataset(str(path), shuffle=False, cache=cache)
                rows = lines.create_tuple_iterator(output_numpy=True)
                assert [str(row[0]) for row in rows] == read
        assert cache.get_stat().num_mem_cached == 5


def test_generators(here: Make, log: Path) -> None:
    """Rows of a source that can only be iterated: the second epoch does not ask it."""
    asked = []

    class Source:
        def __cache_key__(self) -> str:
            return "five"

        def __call__(self) -> Iterator[Any]:
            for n in range(5):
                asked.append(n)
                yield (np.array([n, n]),)

    with session_of(here()) as cache:
        for _ in range(2):
            made = ds.GeneratorDataset(Source(), ["x"]).map(Loud(log, 1), ["x"], cache=cache)
            assert numbers(made.batch(2)) == [[[1, 1], [2, 2]], [[3, 3], [4, 4]], [[5, 5]]]
            assert made.get_col_names() == ["x"]
        assert calls(log) == 5 and asked == list(range(5))


def test_rows_that_are_made_of_several(here: Make, log: Path) -> None:
    """Of data sets one after another and beside each other, and of batches."""
    first = ds.NumpySlicesDataset(np.arange(4), ["x"], shuffle=False)
    second = ds.NumpySlicesDataset(np.arange(4, 7), ["x"], shuffle=False)
    beside = ds.NumpySlicesDataset(np.arange(7), ["y"], shuffle=False)
    with session_of(here()) as cache:
        for _ in range(2):
            made = (first + second).zip(beside).batch(2).map(Loud(log, 10), ["x"], cache=cache)
            assert numbers(made) == [[10, 11], [12, 13], [14, 15], [16]]
        assert calls(log) == 4


def test_what_draws_or_shuffles_is_refused(here: Make) -> None:
    images = ds.NumpySlicesDataset(np.zeros((4, 8, 8, 3), np.uint8), ["x"])
    with session_of(here()) as cache:
        rescale = vision.Rescale(1.0, 0.0)
        with pytest.raises(RuntimeError, match="as a descendant of cache: RandomCrop"):
            images.map(vision.RandomCrop(4), ["x"]).map(rescale, ["x"], cache=cache)
        after = images.map(rescale, ["x"], cache=cache)
        assert len(list(after.map(vision.RandomCrop(4), ["x"]))) == 4
        with pytest.raises(RuntimeError, match="shuffles them"):
            images.filter(lambda x: True).map(rescale, ["x"], cache=cache)
        with pytest.raises(TypeError, match="DatasetCache"):
            images.map(rescale, ["x"], cache=7)


def test_sessions(here: Make, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that there is not is an error; one that ends does not end the pipeline."""
    server = here()
    source = ds.NumpySlicesDataset(np.arange(30), ["x"], shuffle=False)
    with pytest.raises(RuntimeError, match="the session was not found"):
        source.map(Loud(log, 1), ["x"], cache=ds.DatasetCache(7, port=server.port))
    with session_of(server) as cache:
        made = source.map(Loud(log, 1), ["x"], cache=cache)
        server.store.destroy_session(server.session)
        with pytest.warns(CacheWarning, match="the session was not found"):
            assert numbers(made) == [n + 1 for n in range(30)]
        monkeypatch.setattr(client, "_said", {"session"})
        assert numbers(made) == [n + 1 for n in range(30)]
        assert calls(log) == 60
