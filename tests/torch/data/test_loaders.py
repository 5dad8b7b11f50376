"""Data sets, samplers and loaders beside torch's."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils import data as theirs

import mindtorch.torch as mt
from mindtorch.torch.utils import data as ours
from mindtorch.torch.utils.data._team import Team
from tests.support.paths import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "rng.json").read_text())
LIBRARIES: Any = ((torch, theirs), (mt, ours))
Point = namedtuple("Point", "x y")


def digest(state: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(state.numpy()).tobytes()).hexdigest()[:24]


class Numbers:
    """0 ... n - 1, with what a test wants to happen at one of them."""

    def __init__(self, n: int, at: int = -1, act: Any = None) -> None:
        self.n, self.at, self.act = n, at, act

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> int:
        if i == self.at:
            self.act()
        return i


class Draws:
    """Random numbers of every generator that a worker seeds."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> Any:
        import random

        top = 2**31
        legacy = np.random.randint(top)  # noqa: NPY002
        return (i, self.library.randint(0, top, ()).item(), random.randrange(top), legacy)


def stream(kind: Any, n: int, info: Any) -> Any:
    """An iterable data set that shares its numbers out among workers."""

    class Stream(kind):
        def __iter__(self) -> Any:
            worker = info()
            return iter(range(n)) if worker is None else iter(range(worker.id, n, 2 + worker.id))

        def __len__(self) -> int:
            return n

    return Stream()


def flat(loader: Any) -> list[Any]:
    return [b.tolist() if hasattr(b, "tolist") else b for b in loader]


def raise_key_error() -> None:
    raise KeyError("gone")


class Picky(Exception):
    """Cannot be made of one text."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def raise_picky() -> None:
    raise Picky(1, 2)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def sleep() -> None:
    time.sleep(30)


# ------------------------------------------------------------------------------------ draws


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("case", GOLDEN["dataloader"])
def test_order_is_the_recorded_one(case: Any, workers: int) -> None:
    """Shuffled batches, and the generators' states after three epochs, are PyTorch's."""
    mt.manual_seed(case["default_seed"])
    generator = None
    if case["generator_seed"] is not None:
        generator = mt.Generator()
        generator.manual_seed(case["generator_seed"])
    loader: Any = ours.DataLoader(
        Numbers(case["n"]), case["batch_size"], True, drop_last=case["drop_last"],
        generator=generator, num_workers=workers,
    )  # fmt: skip
    for epoch, seed in zip(case["epochs"], case["base_seeds"], strict=True):
        iterator = iter(loader)
        assert iterator._base_seed == int(seed)
        assert flat(iterator) == epoch
    assert digest(mt.get_rng_state()) == case["state"]
    if generator is not None:
        assert digest(generator.get_state()) == case["gen_state"]


def test_samplers_draw_the_recorded_indices() -> None:
    """One sequence of splits and samplers from one generator."""
    record = GOLDEN["samplers"]
    mt.manual_seed(record["seed"])
    weights = [0.1, 0.9, 0.4, 0.7, 3.0, 0.6]
    made: list[Any] = [
        lambda: [s.indices for s in ours.random_split(Numbers(103), [0.8, 0.1, 0.1])],
        lambda: list(ours.RandomSampler(range(5), True, 40)),
        lambda: list(ours.RandomSampler(range(5), False, 12)),
        lambda: list(ours.WeightedRandomSampler(weights, 5, True)),
        lambda: list(ours.WeightedRandomSampler(weights, 5, False)),
        lambda: list(ours.SubsetRandomSampler([7, 8, 9, 11])),
    ]
    for make, (name, *expected) in zip(made, record["steps"], strict=True):
        found = make()
        assert (found if len(expected) > 1 else [found]) == expected, name
    assert digest(mt.get_rng_state()) == record["state"]


@pytest.mark.parametrize("case", GOLDEN["samplers"]["distributed"])
def test_distributed_sampler(case: Any) -> None:
    """Each rank's share of the common permutation."""
    sampler = ours.DistributedSampler(
        Numbers(case["n"]), case["world"], case["rank"], seed=case["seed"],
        drop_last=case["drop_last"],
    )  # fmt: skip
    sampler.set_epoch(case["epoch"])
    assert list(sampler) == case["idx"]
    assert len(sampler) == len(case["idx"])


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_are_seeded_as_torchs(persistent: bool) -> None:
    """Python's, torch's and numpy's generators in each worker give torch's numbers."""
    seen = []
    for library, data in LIBRARIES:
        library.manual_seed(5)
        loader = data.DataLoader(
            Draws(library), 2, num_workers=2, collate_fn=list, persistent_workers=persistent
        )
        seen.append([list(loader), list(loader), library.randint(0, 1000, (3,)).tolist()])
    assert seen[1] == seen[0]


def test_an_eager_sampler_draws_where_torch_lets_it() -> None:
    """The sampler gives its iterator before the loader draws its seed, twice with workers."""
    for workers in (0, 1):
        seen = []
        for library, data in LIBRARIES:

            class Eager:
                def __init__(self, library: Any = library) -> None:
                    self.library = library

                def __iter__(self) -> Any:
                    return iter(self.library.randperm(5).tolist())

                def __len__(self) -> int:
                    return 5

            library.manual_seed(1)
            loader = data.DataLoader(
                Numbers(5), batch_size=None, sampler=Eager(), num_workers=workers
            )
            seen.append((list(loader), library.randint(0, 1000, (3,)).tolist()))
        assert seen[1] == seen[0]


# ---------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("batch_size", [None, 1, 4])
def test_streams(workers: int, drop_last: bool, batch_size: int | None) -> None:
    """Iterable data sets, each worker with a copy, end when the last worker's copy ends."""
    if batch_size is None and drop_last:
        drop_last = False
    seen = []
    for _, data in LIBRARIES:
        source = stream(data.IterableDataset, 11, data.get_worker_info)
        loader = data.DataLoader(source, batch_size, num_workers=workers, drop_last=drop_last)
        seen.append([flat(loader), flat(loader), len(loader)])
    assert seen[1] == seen[0]


def test_a_stream_longer_than_it_says_warns() -> None:
    """len(loader) is only as good as len(dataset)."""

    class Liar(ours.IterableDataset[Any]):
        def __iter__(self) -> Any:
            return iter(range(3))

        def __len__(self) -> int:
            return 2

    loader: Any = ours.DataLoader(Liar(), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2.* but 3 samples have been fetched"):
        list(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_structures_are_collated_as_torch_does(workers: int) -> None:
    """Tensors, arrays, numbers, texts, and containers of them."""
    seen = []
    for library, data in LIBRARIES:
        samples = [
            {
                "tensor": library.full((2, 3), float(i)), "array": np.full(2, i, np.int16),
                "scalar": np.float32(i), "number": i, "real": i / 2, "text": str(i), "flag": i > 1,
                "tuple": (i, [i, library.ones(1)]), "named": Point(i, -i),
            }
            for i in range(5)
        ]  # fmt: skip
        seen.append([describe(b) for b in data.DataLoader(samples, 2, num_workers=workers)])
    assert seen[1] == seen[0]


def describe(value: Any) -> Any:
    """Types, element types and values, whatever the library."""
    if hasattr(value, "tolist"):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {k: describe(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(v) for v in value]
    return value


@pytest.mark.parametrize("indices", [[3, 0, 3], [-1, 2], [mt.tensor(1), 2]])
def test_rows_of_a_tensor_dataset_are_those_of_single_samples(indices: Any) -> None:
    """A TensorDataset's batch is gathered at once, with what stacking single rows would give."""
    columns = mt.randn(4, 3), mt.arange(4), mt.randn(4, 2, 2).transpose(1, 2)
    for source in (columns, (columns[0].requires_grad_(),)):
        dataset = ours.TensorDataset(*source)
        batches: Any = ours.DataLoader(dataset, batch_sampler=[indices])
        expected = ours.default_collate([dataset[i] for i in indices])
        for batch in batches:
            assert [describe(x) for x in batch] == [describe(x) for x in expected]
            assert [x.is_contiguous() for x in batch] == [x.is_contiguous() for x in expected]
            assert [x.requires_grad for x in batch] == [x.requires_grad for x in expected]


def test_batch_sampler_and_getitems() -> None:
    """Lists of indices as given; a data set may take them all at once."""

    class Many(Numbers):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * i for i in indices]

    loader: Any = ours.DataLoader(Many(6), batch_sampler=[[0, 5], [1]])
    assert flat(loader) == [[0, 50], [10]]
    assert len(loader) == 2
    assert loader.batch_size is None


def test_out_of_order_gives_every_batch_once() -> None:
    """in_order=False gives what is there first, and nothing twice."""
    slow = Numbers(8, 0, lambda: time.sleep(0.5))
    loader: Any = ours.DataLoader(slow, 2, num_workers=2, in_order=False)
    found = flat(loader)
    assert sorted(found) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert found[0] != [0, 1]


def test_worker_info_and_init() -> None:
    """Workers know their number, seed and copy of the data set; the main process knows none."""
    assert ours.get_worker_info() is None
    marks: list[int] = []

    class Who(Numbers):
        def __getitem__(self, i: int) -> Any:
            info: Any = ours.get_worker_info()
            assert info.dataset is self
            assert info.seed == mt.initial_seed()
            return info.id, info.num_workers, marks[0]

    loader: Any = ours.DataLoader(
        Who(4), 1, num_workers=2, worker_init_fn=marks.append, collate_fn=list
    )
    assert list(loader) == [[(0, 2, 0)], [(1, 2, 1)], [(0, 2, 0)], [(1, 2, 1)]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_start_methods(method: str) -> None:
    """Workers that begin as copies of this process, and ones that begin afresh."""
    source = ours.TensorDataset(mt.arange(6), mt.arange(6) * 2.0)
    loader: Any = ours.DataLoader(source, 4, num_workers=1, multiprocessing_context=method)
    assert [[x.tolist() for x in b] for b in loader] == [
        [[0, 1, 2, 3], [0.0, 2.0, 4.0, 6.0]], [[4, 5], [8.0, 10.0]]
    ]  # fmt: skip


def test_persistent_workers_stay() -> None:
    """The same processes serve every epoch, also after one that was broken off."""
    loader: Any = ours.DataLoader(Pid(), 1, num_workers=2, persistent_workers=True)
    first = {int(b) for b in loader}
    for _ in loader:
        break
    assert {int(b) for b in loader} == first
    assert len(first) == 2


class Pid(Numbers):
    def __init__(self) -> None:
        super().__init__(8)

    def __getitem__(self, i: int) -> int:
        return os.getpid()


# --------------------------------------------------------------------------------- failures


@pytest.mark.parametrize("act", [raise_key_error, raise_picky])
def test_errors_in_workers_come_home(act: Any) -> None:
    """The type is the original's where it can be made of a text; the text tells the whole story,
    and the loader goes on with the next batch."""
    messages = []
    for _, data in LIBRARIES:
        iterator = iter(data.DataLoader(Numbers(4, 1, act), 1, num_workers=1))
        assert next(iterator).tolist() == [0]
        with pytest.raises((KeyError, RuntimeError)) as error:
            next(iterator)
        assert flat(iterator) == [[2], [3]]
        lines = str(error.value).splitlines()
        messages.append((error.type, lines[:2], lines[-1]))
    assert messages[1] == messages[0]


def test_what_cannot_travel_is_an_error_and_no_hang() -> None:
    """A batch that cannot be pickled is reported by the worker."""
    loader: Any = ours.DataLoader(Numbers(2), 1, num_workers=1, collate_fn=lambda b: lambda: b)
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        list(loader)


def test_a_killed_worker_is_noticed() -> None:
    """The main process does not wait for an answer that cannot come."""
    loader: Any = ours.DataLoader(Numbers(4, 2, die), 1, num_workers=1)
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpect"):
        list(loader)


def test_timeout() -> None:
    """A batch that takes too long is an error with torch's text."""
    loader: Any = ours.DataLoader(Numbers(4, 0, sleep), 1, num_workers=1, timeout=0.3)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.3 seconds"):
        next(iter(loader))


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that do not end are killed after a minute only: a busy machine is slow."""
    monkeypatch.setattr(Team.close, "__defaults__", (60.0,))


@pytest.mark.usefixtures("patience")
def test_iterators_in_reference_cycles_end_their_workers() -> None:
    """The collector may find iterator and queues together: ending must not depend on either."""
    loader: Any = ours.DataLoader(Numbers(8), 1, num_workers=2, persistent_workers=True)
    list(loader)
    workers = loader._iterator._team.workers
    del loader
    gc.collect()
    assert [w.exitcode for w in workers] == [0, 0]  # those that had to be killed have another


@pytest.mark.usefixtures("patience")
def test_breaking_off_ends_the_workers() -> None:
    """Large batches wait in the pipe when the loop ends early; nothing waits for them."""
    loader: Any = ours.DataLoader([mt.zeros(300, 1000)] * 16, 2, num_workers=2)
    iterator = iter(loader)
    next(iterator)
    next(iterator)  # of the other worker: both have begun
    workers = iterator._team.workers
    del iterator
    gc.collect()
    assert [w.exitcode for w in workers] == [0, 0]  # those that had to be killed have another


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "os.kill(os.getpid(), 2)"])
def test_a_process_with_live_workers_ends(ending: str) -> None:
    """At the interpreter's end, and at an interrupt, workers go too."""
    code = (
        "import os\nfrom mindtorch.torch.utils.data import DataLoader\n"
        "it = iter(DataLoader(list(range(100)), num_workers=2))\nnext(it)\n"
        "keep = DataLoader(list(range(9)), num_workers=1, persistent_workers=True)\nlist(keep)\n"
        + ending
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True)
    if "kill" in ending:
        assert "KeyboardInterrupt" in done.stderr
    else:
        assert (done.returncode, done.stderr) == (0, "")


def test_loaders_in_loaders() -> None:
    """A worker may iterate a loader without workers, and kernels run in it."""

    class Inner(Numbers):
        def __getitem__(self, i: int) -> Any:
            return (mt.ones(64, 64) @ mt.ones(64, 64)).sum() + sum(
                b.sum() for b in ours.DataLoader(Numbers(4), 2)
            )

    mt.ones(300, 300) @ mt.ones(300, 300)
    loader: Any = ours.DataLoader(Inner(2), 2, num_workers=1)
    assert flat(loader) == [[64.0**3 + 6] * 2]


def wrong(data: Any) -> list[Any]:
    """Arguments that torch refuses."""
    n: Any = Numbers(4)
    s = stream(data.IterableDataset, 3, data.get_worker_info)
    return [
        lambda: data.DataLoader(n, num_workers=-1),
        lambda: data.DataLoader(n, timeout=-1),
        lambda: data.DataLoader(n, prefetch_factor=2),
        lambda: data.DataLoader(n, num_workers=1, prefetch_factor=-2),
        lambda: data.DataLoader(n, persistent_workers=True),
        lambda: data.DataLoader(s, shuffle=True),
        lambda: data.DataLoader(s, sampler=[1]),
        lambda: data.DataLoader(s, batch_sampler=[[1]]),
        lambda: data.DataLoader(n, sampler=[1], shuffle=True),
        lambda: data.DataLoader(n, 2, batch_sampler=[[1]]),
        lambda: data.DataLoader(n, None, drop_last=True),
        lambda: data.DataLoader(n, multiprocessing_context="fork"),
        lambda: data.DataLoader(n, num_workers=1, multiprocessing_context="thread"),
        lambda: data.DataLoader(n, num_workers=1, multiprocessing_context=3),
        lambda: data.DataLoader(n, 0),
        lambda: data.DataLoader(n, 1.5),
        lambda: data.DataLoader(Numbers(0), shuffle=True),
        lambda: setattr(data.DataLoader(n), "batch_size", 3),
        lambda: iter(data.DataLoader(n, timeout=1)),
        lambda: data.RandomSampler(n, replacement=1),
        lambda: data.RandomSampler(n, num_samples=-1),
        lambda: data.WeightedRandomSampler([0.1], 0),
        lambda: data.WeightedRandomSampler([[0.1]], 1),
        lambda: data.WeightedRandomSampler([0.1], 1, 2),
        lambda: data.BatchSampler([1], True, False),
        lambda: data.BatchSampler([1], 1, 0),
        lambda: data.DistributedSampler(n, 2, 2),
        lambda: data.random_split(n, [1, 2]),
        lambda: data.random_split(n, [1.5, -0.5]),
        lambda: data.ConcatDataset([]),
        lambda: data.ConcatDataset([s]),
        lambda: data.ConcatDataset([n])[-5],
        lambda: data.StackDataset(),
        lambda: data.StackDataset(n, a=n),
        lambda: data.StackDataset(n, Numbers(3)),
        lambda: list(data.ChainDataset([n])),
        lambda: data.Dataset()[0],
        lambda: data.default_collate([object()]),
        lambda: data.default_collate([[1], [1, 2]]),
    ]


@pytest.mark.parametrize("i", range(39))
def test_errors_are_torchs(i: int) -> None:
    """Type and text of errors are part of the interface."""
    try:
        wrong(theirs)[i]()
        expected = None
    except Exception as error:
        expected = error
    if expected is None:
        wrong(ours)[i]()
        return
    with pytest.raises(type(expected)) as found:
        wrong(ours)[i]()
    assert str(found.value).replace("mindtorch.", "") == str(expected)


def test_warnings_are_torchs() -> None:
    """Pinned memory without an accelerator, and more workers than cores."""
    for data in (theirs, ours):
        with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no acceler"):
            list(data.DataLoader(Numbers(2), pin_memory=True))
        with pytest.warns(UserWarning, match="This DataLoader will create 999 worker processes"):
            data.DataLoader(Numbers(2), num_workers=999)


class _Large:
    """Samples whose batches travel by shared memory; one tensor is the data set's own."""

    def __init__(self, library):
        self.library, self.kept = library, library.arange(20000)

    def __len__(self):
        return 6

    def __getitem__(self, place):
        return {"x": self.library.full((20000,), float(place)), "kept": self.kept}


@pytest.mark.parametrize(("library", "data"), LIBRARIES)
def test_large_batches_come_by_shared_memory(library, data):
    """They stay whole while the workers go on; also those of another collate function, ours with
    memory that no worker writes any more."""
    loader = data.DataLoader(_Large(library), 2, num_workers=2)
    batches = list(loader)
    assert all(batch["x"].is_shared() for batch in batches)
    assert [batch["x"][:, -1].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]
    loader = data.DataLoader(_Large(library), 1, num_workers=1, collate_fn=lambda s: tuple(s))
    for (sample,) in loader:
        assert sample["kept"].is_shared() and int(sample["kept"][3]) == 3
        if data is ours:
            sample["kept"].zero_()
