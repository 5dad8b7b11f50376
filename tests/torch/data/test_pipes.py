"""Pipes: what real PyTorch's give, step by step, with errors, warnings and seeds."""

from __future__ import annotations

import ast
import io
import itertools
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data as theirs
from torch import nn as _  # noqa: F401  (torch.utils.data alone does not load torch.nn)

import mindtorch.torch as our_torch
import mindtorch.torch.utils.data as ours

LIBRARIES: Any = [(theirs, torch), (ours, our_torch)]
STEPS = [
    "p(), p(3), len(p()), repr(p()), len(p().batch(4)), len(p().concat(p(2))), p().zzz",
    "p().map(str), p().map(neg).filter(odd), p().batch(4), p().batch(4, True), p().batch(0)",
    "p().batch(3).batch(1).unbatch(-1), p().batch(3).batch(2).unbatch(2), p().unbatch()",
    "p().zip(p(2)), p().mux(p(2)), p().concat(p(2)), p().zip(3), p().concat(3), len(p().mux(p(2)))",
    "pairs().map(neg, 0), pairs().map(add, [0, 1]), pairs().map(neg, 1, -1), p().map(add)",
    "pairs().map(neg, 0, 1), p().map(neg, output_col=1), p().map(3), pairs().map(neg, 0, [0, 1])",
    "p().filter(str), p().filter(3), p().groupby(odd), p().groupby(odd, group_size=2)",
    "p().groupby(odd, keep_key=True), p().groupby(neg, buffer_size=2)",
    "p().groupby(odd, group_size=0)",
    "p().groupby(odd, buffer_size=3, group_size=3), p().groupby(odd, guaranteed_group_size=1)",
    "p().groupby(odd, buffer_size=3, group_size=3, drop_remaining=True)",
    "p().fork(2), p().fork(1), p().fork(0), p().fork(2, 1), p().fork(2, -1), p().fork(2, copy='z')",
    "p().demux(2, odd), p().demux(2, neg), p().demux(2, odd, buffer_size=1), p().demux(0, odd)",
    "p().demux(2, none), p().demux(2, none, drop_none=True), len(p().demux(2, odd)[0])",
    "p().shuffle(), p().shuffle(buffer_size=2).set_seed(3), p().shuffle().set_shuffle(False)",
    "p().shuffle(buffer_size=0), p().batch(2).shuffle(unbatch_level=1), m().shuffle().set_seed(5)",
    "sharded(p(), 2, 1), sharded(p(), 2, 2), len(sharded(p(), 4, 3)), p().batch(2).collate()",
    "m(), m()[2], m().map(neg)[1], m().batch(4)[1], m().batch(4)[9], m().batch(4, True)[1]",
    "m().concat(m())[7], m().concat(m())[12], m().zip(m())[2], m().zip(m())[9], m().concat(3)",
    "m().shuffle(), m().zzz, again(p()), again(p().fork(2)[0]), failing(p()), half(p().fork(2))",
    "loads(p().batch(2)), loads(p().fork(2)[1]), p().sharding_filter().shuffle()",
    "graph(p().zip(p()).batch(2)), graph(3), seeded(p().shuffle().batch(2)), twice(p())",
    "loaded(p(), 2), loaded(p().shuffle(), 2), loaded(p().shuffle(), 2, True), loaded(m(), 4)",
    "loaded(p().shuffle(), 2, False), loaded(p(), 2, True), files(), files('*.txt'), opened('b')",
    "opened('r'), opened('z'), decoded(), image('rgb8'), image('l'), image('zz'), listed_length()",
]  # fmt: skip


def neg(v: Any) -> Any:
    return -v


def odd(v: Any) -> Any:
    return v % 2 == 1


def none(v: Any) -> Any:
    return None if v == 2 else 0


def add(a: Any, b: Any) -> Any:
    return a + b


def seen(value: Any) -> Any:
    """What a step gives: samples of pipes, values of tensors."""
    if hasattr(value, "tolist"):
        return value.tolist()
    several = hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")
    if isinstance(value, bytes | str) or not several:
        return value
    return (type(value).__name__, [seen(each) for each in value])


def names_of(data: Any, home: Any, folder: Path) -> dict[str, Any]:
    """The words that the steps are written in, over one of the two libraries."""
    pipes, maps, settings = data.datapipes.iter, data.datapipes.map, data.graph_settings
    wrapper = pipes.IterableWrapper

    def p(count: int = 6) -> Any:
        return wrapper(range(count))

    def sharded(pipe: Any, count: int, place: int) -> Any:
        return settings.apply_sharding(pipe.sharding_filter(), count, place)

    def again(pipe: Any) -> Any:
        first = iter(pipe)
        next(first), next(iter(pipe))
        return next(first)

    def half(pipes: Any) -> Any:
        return [next(iter(pipes[0])), list(pipes[1]), list(pipes[0])]

    def failing(pipe: Any) -> Any:
        return list(pipe.map(lambda v: 1 // (v - 2)))

    def graph(pipe: Any) -> Any:
        found = settings.get_all_graph_pipes(data.graph.traverse_dps(pipe))
        return [repr(each) for each in found]

    def seeded(pipe: Any) -> Any:
        return settings.apply_random_seed(pipe, home.Generator().manual_seed(3))

    def loaded(pipe: Any, size: int, shuffle: Any = None) -> Any:
        return data.DataLoader(pipe, size, shuffle=shuffle)

    def opened(mode: str) -> Any:
        return [(each[0], each[1].read()) for each in pipes.FileOpener(files("*.txt"), mode=mode)]

    def files(masks: str = "") -> Any:
        return pipes.FileLister(str(folder), masks, recursive=True)

    def image(kind: str) -> Any:
        handler = data.datapipes.utils.decoder.imagehandler(kind)
        return handler("png", (folder / "a.png").read_bytes())

    return {
        "p": p, "m": lambda: maps.SequenceWrapper(range(6)), "neg": neg, "odd": odd, "add": add,
        "none": none, "sharded": sharded, "again": again, "half": half, "failing": failing,
        "graph": graph, "seeded": seeded, "loaded": loaded, "opened": opened, "files": files,
        "pairs": lambda: wrapper([(1, 2), (3, 4)]), "image": image,
        "loads": lambda pipe: pickle.loads(pickle.dumps(pipe)),
        "twice": lambda pipe: sharded(pipe.sharding_filter(), 2, 0),
        "decoded": lambda: pipes.RoutedDecoder(wrapper([("a.json", io.BytesIO(b"[1]"))])),
        "listed_length": lambda: len(pipes.FileLister(str(folder), length=3)),
    }  # fmt: skip


def told(step: str, names: dict[str, Any], home: Any) -> Any:
    home.manual_seed(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = eval(step, dict(names))
            found: Any = seen(value)
        except Exception as error:
            found = type(error), str(error)
    return found, [(each.category, str(each.message)) for each in caught]


@pytest.mark.parametrize("steps", STEPS)
def test_steps_give_what_pytorch_gives(steps: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hi\n")
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 2, 3)).save(tmp_path / "a.png")
    both = [(names_of(data, home, tmp_path), home) for data, home in LIBRARIES]
    listed: Any = ast.parse(f"[{steps}]", mode="eval").body
    for step in map(ast.unparse, listed.elts):
        expected, found = (told(step, *side) for side in both)
        assert found == expected, step


def test_workers_divide_a_pipe_and_new_epochs_draw_new_orders() -> None:
    found = []
    for data, home in LIBRARIES:
        wrapper = data.datapipes.iter.IterableWrapper
        home.manual_seed(4)
        pipe = wrapper(range(8)).shuffle().sharding_filter()
        loader = data.DataLoader(pipe, 2, num_workers=2, persistent_workers=True)
        found.append([[batch.tolist() for batch in loader] for epoch in range(2)])
        assert sorted(itertools.chain(*found[-1][0])) == list(range(8))
        loader._iterator = None
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_pipes_of_ones_own() -> None:
    @ours.functional_datapipe("plus")
    class Plus(ours.IterDataPipe[int]):
        def __init__(self, source: Any, k: int) -> None:
            self.source, self.k = source, k

        def __iter__(self) -> Any:
            for v in self.source:
                yield v + self.k

    class Counting(ours.IterDataPipe[int]):
        def __iter__(self) -> Any:
            self.n = 0
            return self

        def __next__(self) -> int:
            self.n += 1
            if self.n > 2:
                raise StopIteration
            return self.n

    wrapper = ours.datapipes.iter.IterableWrapper
    assert list(wrapper([1, 2]).plus(3)) == [4, 5]
    assert [list(Counting()), list(Counting())] == [[1, 2], [1, 2]]
    with pytest.raises(Exception, match="name plus as it is already taken"):
        ours.functional_datapipe("plus")(Plus)
    random = ours.non_deterministic(Plus)
    assert list(random(wrapper([1]), 1)) == [2]
    with ours.guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="Plus is non-det"):
        random(wrapper([1]), 1)
