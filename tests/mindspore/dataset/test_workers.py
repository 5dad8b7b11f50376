"""Workers of pipelines: the same rows for any number, errors and deaths told, nothing left over."""

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore.dataset as ds
from mindtorch.data.content import content_key
from mindtorch.mindspore.dataset import vision
from mindtorch.mindspore.dataset._description import content_of

WAYS = [(1, False), (2, False), (1, True), (2, True)]


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch):
    """Settings as before; no process and no thread of a worker stays."""
    monkeypatch.setattr(ds.config, "_settings", dict(ds.config._settings))
    monkeypatch.setattr(ds.config, "_seed", [7])
    yield
    gc.collect()
    deadline = time.monotonic() + 30
    while any(t.name.startswith("dataset worker") for t in threading.enumerate()):
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)
    assert not [p for p in multiprocessing.active_children() if p.name.startswith("dataset")]


def drawn_by_all(x: Any) -> Any:
    """A user's function that draws from the common generators."""
    return np.array([x, random.random(), np.random.rand(), np.random.randn()])  # noqa: NPY002


def pipeline(count: int | None, processes: bool, function: Any = drawn_by_all) -> Any:
    source = ds.NumpySlicesDataset(np.arange(23.0), ["x"], shuffle=True)
    source.seed = 3
    crops = vision.RandomHorizontalFlip()
    return (
        source.map([lambda x: np.full((4, 6), x) + np.arange(6), crops], "x")
        .map(lambda image: function(image[0, 0]), "x", num_parallel_workers=count,
             python_multiprocessing=processes)
        .shuffle(4).batch(5).repeat(2)
    )  # fmt: skip


def rows_of(dataset: Any, epochs: int = 2) -> Any:
    iterator = dataset.create_tuple_iterator(output_numpy=True, num_epochs=epochs)
    rows: Any = [row[0].tolist() for _ in range(epochs) for row in iterator]
    return rows


def test_order_and_random_numbers_are_the_same_for_any_workers():
    """Threads and processes, one and two, and none: the same rows in two epochs of two passes."""
    seeds: list[Any] = []

    def build(count: int | None, processes: bool) -> Any:
        made = pipeline(count, processes)
        made.source.source.seed = 5  # of shuffle
        seeds.append(made)
        return rows_of(made)

    wanted = build(None, False)
    assert len(wanted) == 20 and wanted[:5] != wanted[5:10] and wanted[:10] != wanted[10:]
    for count, processes in WAYS:
        assert build(count, processes) == wanted, (count, processes)


def common() -> Any:
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tolist()


def test_the_caller_s_generators_are_left_alone():
    """Rows seed the common generators for a user's function only."""
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    before = (random.getstate(), common())
    rows_of(pipeline(2, False))
    assert (random.getstate(), common()) == before


def fails(x: Any) -> Any:
    if x == 9:
        raise KeyError("no such key in fails()")
    return np.array([x])


@pytest.mark.parametrize(("count", "processes"), [(None, False), (2, False), (2, True)])
def test_an_error_has_the_user_s_traceback_and_the_row(count, processes):
    """Its type, the line that raised, the operation and the row's number."""
    data = ds.NumpySlicesDataset(np.arange(23.0), ["x"], shuffle=False)
    mapped = data.map(fails, num_parallel_workers=count, python_multiprocessing=processes).batch(5)
    iterator = mapped.create_tuple_iterator(output_numpy=True)
    with pytest.raises(KeyError) as caught:
        list(iterator)
    text = "".join(traceback.format_exception(caught.value))
    assert 'raise KeyError("no such key in fails()")' in text and "test_workers.py" in text
    assert "in row 9 of the input of map(fails)" in text
    assert ("worker process" in text) is bool(processes)
    with pytest.raises(KeyError):  # once more with new workers
        list(iterator)


class NotPicklable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_an_error_that_cannot_be_pickled_is_told_with_its_text():
    """As a RuntimeError with the type's name."""

    def fail(x: Any) -> Any:
        raise NotPicklable(1, 2)

    data = ds.NumpySlicesDataset(np.arange(2), ["x"]).map(
        fail, num_parallel_workers=1, python_multiprocessing=True
    )
    with pytest.raises(RuntimeError, match="NotPicklable: 1 and 2"):
        list(data.create_tuple_iterator())


def killed(x: Any) -> Any:
    if x == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.array([x])


def leaves(x: Any) -> Any:
    os._exit(3)


def test_a_dead_worker_is_named():
    """Its number, pid, operation, and how it ended."""
    data = ds.NumpySlicesDataset(np.arange(23), ["x"], shuffle=False)
    several: dict[str, Any] = {"num_parallel_workers": 2, "python_multiprocessing": True}
    named = r"Worker process [01] \(pid \d+\) of batch\(2\) <- map\(killed\) .*ended by SIGKILL"
    with pytest.raises(RuntimeError, match=named):
        list(data.map(killed, **several).batch(2).create_tuple_iterator())
    with pytest.raises(RuntimeError, match="exited with code 3"):
        list(data.map(leaves, **several).create_tuple_iterator())


@pytest.mark.parametrize("processes", [False, True])
def test_an_iterator_may_be_left_early_and_begun_anew(processes):
    """What was under way is dropped; the next epoch is whole; blocks of rows are used again."""
    data = ds.NumpySlicesDataset(np.arange(40), ["x"], shuffle=False).map(
        lambda x: np.full(9000, x), num_parallel_workers=2, python_multiprocessing=processes
    )
    iterator: Any = data.create_tuple_iterator(output_numpy=True)
    for row in iterator:
        if row[0][0] == 3:
            break
    assert [int(row[0][-1]) for row in iterator] == list(range(40))
    stage = next(iter(iterator.run.stages.values()))
    if processes:
        (pool,) = stage.pools
        assert sum(len(w.views.all) for w in pool.workers) < 40


@pytest.mark.parametrize("processes", [False, True])
def test_two_iterators_at_once(processes):
    """Of one data set, each with workers of its own, read in turn."""
    data = ds.NumpySlicesDataset(np.arange(12), ["x"], shuffle=False).map(
        lambda x: x * x, num_parallel_workers=2, python_multiprocessing=processes
    )
    pairs = zip(data.create_tuple_iterator(output_numpy=True),
                data.create_tuple_iterator(output_numpy=True), strict=True)  # fmt: skip
    assert [(int(a[0]), int(b[0])) for a, b in pairs] == [(i * i, i * i) for i in range(12)]


@pytest.mark.parametrize("processes", [False, True])
def test_two_passes_of_one_iterator_and_of_one_data_set(processes):
    """A loop in a loop over the same iterator; a filtered data set beside itself."""
    source = ds.NumpySlicesDataset(np.arange(6), ["x"], shuffle=False).map(
        lambda x: x + 1, num_parallel_workers=2, python_multiprocessing=processes
    )
    iterator: Any = source.create_tuple_iterator(output_numpy=True)
    pairs = [(int(a[0]), int(b[0])) for a in iterator for b in iterator]
    assert pairs == [(a, b) for a in range(1, 7) for b in range(1, 7)]
    even = source.filter(lambda x: x % 2 == 0)
    beside = ds.zip((even, even.skip(1).rename("x", "y")))
    rows = list(beside.create_tuple_iterator(output_numpy=True))
    assert [[int(v) for v in row] for row in rows] == [[2, 4], [4, 6]]


@pytest.mark.parametrize("processes", [False, True])
def test_no_rows_and_huge_rows(processes):
    """Nothing of nothing; rows of 24 MB come whole, and stay when others are made."""
    several: dict[str, Any] = {"num_parallel_workers": 2, "python_multiprocessing": processes}
    empty = ds.NumpySlicesDataset(np.zeros((0, 2)), ["x"]).map(lambda x: x, **several)
    assert list(empty.create_tuple_iterator()) == []
    assert list(empty.batch(2).create_tuple_iterator()) == []
    huge = ds.NumpySlicesDataset(np.arange(5), ["x"], shuffle=False).map(
        lambda x: np.full((3, 1000, 1000), x, np.int64), **several
    )
    rows = [row[0] for row in huge.create_tuple_iterator(output_numpy=True)]
    assert [(r.shape, int(r.min()), int(r.max())) for r in rows] == [
        ((3, 1000, 1000), i, i) for i in range(5)
    ]


def test_what_cannot_be_pickled():
    """Forked workers have it; those started anew say what it is; a row that cannot be sent too."""
    lock = threading.Lock()

    def held(x: Any) -> Any:
        with lock:
            return x + 1

    data = ds.NumpySlicesDataset(np.arange(4), ["x"], shuffle=False)
    several: dict[str, Any] = {"num_parallel_workers": 2, "python_multiprocessing": True}
    assert [int(r[0]) for r in data.map(held, **several).create_tuple_iterator()] == [1, 2, 3, 4]
    ds.config.set_multiprocessing_start_method("spawn")
    with pytest.raises(RuntimeError, match="get the pipeline as a pickle, which cannot be made"):
        list(data.map(held, **several).create_tuple_iterator())
    ds.config.set_multiprocessing_start_method("fork")
    with pytest.raises(TypeError) as caught:
        list(data.map(lambda x: lock, **several).create_tuple_iterator())
    assert "a row cannot be sent from worker process" in str(caught.value.__notes__)


def test_filters_and_streams_have_workers_too():
    """A predicate is asked by workers; rows of a generator go to them."""

    def stream() -> Any:
        for i in range(30):
            yield (np.full(5000, i), i)

    for count, processes in WAYS:
        data: Any = ds.GeneratorDataset(stream, ["a", "i"])
        chosen = data.map(lambda a: a * 2, "a", num_parallel_workers=count,
                          python_multiprocessing=processes)  # fmt: skip
        kept = chosen.filter(lambda i: i % 3 == 0, "i", num_parallel_workers=count).batch(4)
        rows = list(kept.create_dict_iterator(output_numpy=True))
        assert [row["i"].tolist() for row in rows] == [[0, 3, 6, 9], [12, 15, 18, 21], [24, 27]]
        assert [row["a"][0, 0] for row in rows] == [0, 24, 48]


def slowly(x: Any) -> Any:
    time.sleep(0.002)
    return x


class Slow:
    """A source by number that waits."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, place: int) -> Any:
        return np.array([place, os.getpid()]), threading.get_ident()


def test_a_source_has_workers():
    """GeneratorDataset with __getitem__: in processes, in threads, or in turn."""
    makers = []
    for count, processes in ((1, True), (2, True), (2, False)):
        data = ds.GeneratorDataset(Slow(), ["x", "thread"], shuffle=False,
                                   num_parallel_workers=count,
                                   python_multiprocessing=processes)  # fmt: skip
        rows = list(data.create_tuple_iterator(output_numpy=True))
        assert [int(r[0][0]) for r in rows] == list(range(8))
        makers.append({(int(r[0][1]), int(r[1])) for r in rows})
    here = (os.getpid(), threading.get_ident())
    assert makers[0] == {here}
    assert not {pid for pid, _ in makers[1]} & {os.getpid()}
    assert {pid for pid, _ in makers[2]} == {os.getpid()} and here not in makers[2]


def test_batches_share_memory_with_tensors_until_they_are_gone():
    """A tensor of a batch keeps its block; with do_copy it has memory of its own."""
    data = ds.NumpySlicesDataset(np.arange(40), ["x"], shuffle=False).map(
        lambda x: np.full(5000, x), num_parallel_workers=1, python_multiprocessing=True
    ).batch(4)  # fmt: skip
    tensors = [row[0] for row in data.create_tuple_iterator()]
    assert [int(t[0, 0]) for t in tensors] == list(range(0, 40, 4))
    copied = [row[0] for row in data.create_tuple_iterator(do_copy=True)]
    assert [int(t[3, 7]) for t in copied] == list(range(3, 40, 4))


def test_autotune_gives_workers_to_a_reader_that_waits(tmp_path):
    """One worker becomes two where that is faster; the file says so; rows stay the same."""
    from mindtorch.mindspore.dataset._tuning import Tuning

    tuning = Tuning(workers=1, ahead=16, cores=3)
    for waited, rows, wanted in (
        (0.9, 100, (2, 16)), (0.9, 200, (3, 16)), (0.9, 201, (2, 16)), (0.9, 200, (2, 32)),
        (0.0, 300, (1, 32)),
    ):  # fmt: skip
        tuning.started -= 1.0  # a second has passed
        tuning.row(waited, rows, all_ready=waited == 0.0)
        assert tuning.decide() == wanted, (waited, rows)
    ds.config.set_enable_autotune(True, str(tmp_path / "tuned"))
    ds.config.set_autotune_interval(2)
    assert ds.config.get_enable_autotune() and ds.config.get_autotune_interval() == 2
    for processes in (False, True):
        data = ds.NumpySlicesDataset(np.arange(60), ["x"], shuffle=False).map(
            slowly, num_parallel_workers=1,
            python_multiprocessing=processes,
        )  # fmt: skip
        assert rows_of(data) == list(range(60)) * 2
    text = (tmp_path / "tuned_0.json").read_text()
    assert '"operations": "map(' in text and '"num_parallel_workers"' in text
    with pytest.raises(RuntimeError, match="empty string"):
        ds.config.set_enable_autotune(True, "")
    with pytest.raises(TypeError, match="must be of type bool"):
        ds.config.set_enable_autotune(1)  # type: ignore[arg-type]


def test_workers_end_with_a_killed_reader():
    """No process stays when the main one is killed."""
    script = (
        "import os, signal, time, numpy as np, mindtorch.mindspore.dataset as ds\n"
        "def f(x): return np.array([os.getpid()])\n"
        "d = ds.NumpySlicesDataset(np.arange(9), ['x']).map(f, num_parallel_workers=2,"
        " python_multiprocessing=True)\n"
        "i = iter(d.create_tuple_iterator(output_numpy=True))\n"
        "print({int(next(i)[0][0]) for _ in range(9)}, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    workers = eval(done.stdout)
    assert len(workers) == 2, done
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") and _runs(pid) for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_pipeline_is_told_by_its_content(tmp_path):
    """Files, arrays and functions count; workers and orders do not."""
    def key_of(pipeline: Any) -> str:
        return content_key(content_of(pipeline))

    path = tmp_path / "lines.txt"
    path.write_text("a\nb\n")

    def build(factor: int, workers: int = 1) -> Any:
        lines = ds.TextFileDataset(str(path), num_parallel_workers=workers, shuffle=False)
        return lines.map(lambda t: np.array(str(t) * factor), num_parallel_workers=workers).batch(2)

    key = key_of(build(2))
    assert key_of(build(2, 2)) == key != key_of(build(3))
    path.write_text("a\nc\nd\n")
    assert key_of(build(2)) != key
    arrays = [key_of(ds.NumpySlicesDataset(np.arange(n))) for n in (3, 3, 4)]
    assert arrays[0] == arrays[1] != arrays[2]
    running = (n for n in range(3))
    with pytest.raises(TypeError, match="cannot be seen"):
        key_of(build(2).map(lambda t: (running, t)[1]))


class Kept:
    """The smallest cache: rows by number."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}

    def fetch(self, node: Any, number: Any, make: Any) -> Any:
        if number not in self.rows:
            self.rows[number] = make()
        return self.rows[number]


def test_rows_are_asked_of_a_cache_by_the_source_s_numbers():
    """In another order of the next epoch too; what is kept is not made again."""
    cache, made = Kept(), []

    def ten_times(x: Any) -> Any:
        made.append(int(x))
        return x * 10

    data = ds.NumpySlicesDataset(np.arange(6), ["x"], shuffle=True).map(ten_times, cache=cache)
    for _ in range(2):
        assert sorted(rows_of(data, 1)) == [0, 10, 20, 30, 40, 50]
    assert sorted(made) == list(range(6)) == sorted(cache.rows)
