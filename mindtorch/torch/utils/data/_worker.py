"""What a DataLoader's worker process does."""

from __future__ import annotations

import multiprocessing.queues
import os
import random
import sys
from multiprocessing import connection
from typing import Any

import numpy as np

from mindtorch import traceback_filtering
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._tensor.generator import manual_seed
from mindtorch.torch.functions.from_data import from_numpy
from mindtorch.torch.settings import set_num_threads

from ._worker_info import LARGE, begin_worker, get_worker_info
from .collate import default_collate
from .dataset import TensorDataset

STATUS_CHECK = 5.0


class ExceptionWrapper:
    """An exception with its traceback as text, to be raised again in another process."""

    def __init__(self, where: str) -> None:
        kind, value, trace = sys.exc_info()
        assert kind is not None and value is not None
        self.kind = kind
        self.value: BaseException | None = value
        self.message = traceback_filtering.format_exception(kind, value, trace)
        self.where = where

    def __getstate__(self) -> dict[str, Any]:
        import pickle

        state = dict(self.__dict__)
        state["value"] = None
        try:
            pickle.dumps(self.kind)
        except Exception:
            state["kind"] = RuntimeError
        return state

    def reraise(self) -> None:
        """Raise an exception of the same type that holds the original traceback."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.message}"
        if self.kind is KeyError:
            message = _Verbatim(message)
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    """Text that a KeyError prints as it is."""

    def __repr__(self) -> str:
        return str(self)


def fetch(dataset: Any, indices: Any, auto_collation: bool, collate_fn: Any) -> Any:
    """The sample, or the collated batch, at ``indices``."""
    if auto_collation:
        if type(dataset) is TensorDataset and collate_fn is default_collate:
            rows = _rows(dataset.tensors, indices)
            if rows is not None:
                return rows
        if callable(getattr(dataset, "__getitems__", None)):
            data = dataset.__getitems__(indices)
        else:
            data = [dataset[i] for i in indices]
    else:
        data = dataset[indices]
    return collate_fn(data)


class Results(multiprocessing.queues.Queue):
    """A queue of (index, batch); a batch that cannot travel is answered with the reason."""

    def _on_queue_feeder_error(self, error: Exception, item: Any) -> None:
        info = get_worker_info()
        worker = -1 if info is None else info.id
        self.put((item[0], ExceptionWrapper(f"in DataLoader worker process {worker}")))


def _rows(tensors: Any, indices: Any) -> list[Any] | None:
    """What collating single rows gives, taken at once; None where that is not the same."""
    if any(t.requires_grad or not t.ndim for t in tensors):
        return None
    try:
        places = np.array(indices)
    except ValueError:
        return None
    if places.dtype != np.int64 or places.ndim != 1 or not places.size:
        return None
    length = len(tensors[0])
    if places.min() < 0 or places.max() >= length:
        return None
    index = from_numpy(places)
    return [t[index] for t in tensors]


def in_shared_memory(data: Any, fresh: bool) -> Any:
    """A batch whose large tensors lie in memory that the main process maps, not copies.

    Args:
        fresh: nobody else has the tensors, so that they can be moved there; otherwise copies are.
    """
    if isinstance(data, EngineTensor):
        aval = data.aval
        size = aval.size * aval.dtype.itemsize
        if size < LARGE or data.requires_grad or hasattr(type(data), "sparse_parts"):
            return data
        return data.share_memory_() if fresh else data.clone().share_memory_()
    if type(data) is dict:
        return {key: in_shared_memory(value, fresh) for key, value in data.items()}
    if type(data) in (list, tuple):
        return type(data)(in_shared_memory(value, fresh) for value in data)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(in_shared_memory(value, fresh) for value in data))
    return data


class StreamFetcher:
    """Batches of an iterable data set."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool):
        self.source = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, indices: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.source))
        data = []
        for _ in indices:
            try:
                data.append(next(self.source))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(indices)):
            raise StopIteration
        return self.collate_fn(data)


class Ended:
    """A worker's stream has no more samples."""

    def __init__(self, worker: int) -> None:
        self.worker = worker


class Resume:
    """Begin a new epoch in a persistent worker, with the seed that all share."""

    def __init__(self, seed: int) -> None:
        self.seed = seed


def seed_worker(base_seed: int, worker: int) -> int:
    """Seed Python's, ours and numpy's generators of a worker; its seed."""
    seed = base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    words = np.random.SeedSequence(
        [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    ).generate_state(4)
    np.random.seed(words)  # noqa: NPY002 - user code may draw from it  # noqa: NPY002
    return seed


def worker_loop(
    loader: dict[str, Any], requests: Any, results: Any, stop: Any, worker: int, parent: int
) -> None:
    """Answer (index, indices) requests with (index, batch) until the stop pipe has something."""
    stopped, writer = stop
    writer.close()
    try:
        set_num_threads(1)
        failure = None
        stream = None
        try:
            seed = seed_worker(loader["base_seed"], worker)
            begin_worker(
                id=worker, num_workers=loader["num_workers"], seed=seed, dataset=loader["dataset"]
            )
            loader["reading"].begin(loader["num_workers"], worker)
            if loader["worker_init_fn"] is not None:
                loader["worker_init_fn"](worker)
            stream = _stream(loader)
        except Exception:
            failure = ExceptionWrapper(f"in DataLoader worker process {worker}")
        while True:
            ready = connection.wait([stopped, requests._reader], STATUS_CHECK)
            if stopped in ready or (not ready and os.getppid() != parent):
                return
            if not ready:
                continue
            request = requests.get()
            if isinstance(request, Resume):
                results.put((request, None))
                loader["reading"].seed = request.seed
                loader["reading"].begin_order()
                stream = _stream(loader)
                continue
            index, indices = request
            results.put((index, _answer(loader, stream, indices, worker, failure)))
            failure = None
    except KeyboardInterrupt:
        """The main process reports it."""
    finally:
        results.cancel_join_thread()
        results.close()


def _stream(loader: dict[str, Any]) -> StreamFetcher | None:
    if not loader["iterable"]:
        return None
    return StreamFetcher(
        loader["dataset"], loader["auto_collation"], loader["collate_fn"], loader["drop_last"]
    )


def _answer(
    loader: dict[str, Any], stream: StreamFetcher | None, indices: Any, worker: int, failure: Any
) -> Any:
    if failure is not None:
        return failure
    try:
        collated = loader["collate_fn"] is default_collate
        if stream is not None:
            return in_shared_memory(stream.fetch(indices), collated)
        batch = fetch(loader["dataset"], indices, loader["auto_collation"], loader["collate_fn"])
        return in_shared_memory(batch, collated)
    except Exception as error:
        if isinstance(error, StopIteration) and stream is not None:
            return Ended(worker)
        return ExceptionWrapper(f"in DataLoader worker process {worker}")
