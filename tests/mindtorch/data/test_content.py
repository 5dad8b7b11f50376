"""Keys of content: the same for the same rows, another one where a row could differ."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
import torch

from mindtorch.data.content import content_key, random_names
from mindtorch.mindspore.dataset import transforms, vision
from tests.support.paths import ROOT

_SOURCE = """
import functools
import numpy as np
SCALE = {scale}
def helper(x):
    return x * SCALE {more}
class Source:
    name = {name!r}
    def __init__(self, path, n):
        self.path, self.n, self.data = path, n, np.arange(n)
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        return helper(self.data[i])
"""


def source(
    path: pathlib.Path, scale: str = "2", more: str = "", name: str = "a", n: int = 3
) -> Any:
    """An object of a program's own class, which refers to a function and that to a global."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(_SOURCE.format(scale=scale, more=more, name=name), space)
    return space["Source"](str(path), n)


def test_content_decides(tmp_path: pathlib.Path) -> None:
    """Another number in a global, in code, in data, in a class, in a file: another key."""
    path = tmp_path / "data.bin"
    path.write_bytes(b"abc")
    first = content_key(source(path))
    assert content_key(source(path)) == first
    others = [
        content_key(source(path, scale="3")), content_key(source(path, more="+ 1")),
        content_key(source(path, name="b")), content_key(source(path, n=4)),
    ]  # fmt: skip
    os.utime(path, ns=(1, 1))
    others.append(content_key(source(path)))
    assert len({first, *others}) == 6


def test_a_key_is_the_same_in_another_process(tmp_path: pathlib.Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import functools, numpy as np, pathlib\n"
        "from mindtorch.data.content import content_key\n"
        "print(content_key(*eval(sys.argv[2])))\n"
    )
    text = (
        "({'a': np.arange(5), 'b': {'x', 'y', 'z'}}, functools.partial(max, 3), np.float32, "
        "np.sin, pathlib.Path('a'), lambda x: {'p', 'q', x})"
    )
    keys = {
        subprocess.run(
            [sys.executable, "-c", code, str(ROOT), text], check=True, capture_output=True,
            text=True, cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    space = {"np": np, "functools": functools, "pathlib": pathlib, "__name__": "__main__"}
    assert keys == {content_key(*eval(text, space)) + "\n"}


def test_values_that_differ() -> None:
    def made(n: int) -> Any:
        return lambda x: x + n

    things: list[Any] = [
        None, 0, False, 0.0, "", b"", [], (), {}, set(), [0], [[0]], [0, 0], "0", 1, 1.0, True,
        np.zeros(1), np.zeros(1, np.float32), np.zeros((1, 1)), np.float32(0), torch.zeros(1),
        torch.zeros(1, dtype=torch.bfloat16), made(1), made(2), np.sin, np.cos, min, max,
        functools.partial(max, 1), functools.partial(max, 2), functools.partial(min, 1), "a".upper,
        "b".upper, int, float, threading.Lock(), pathlib.Path("a"), range(3), range(4), slice(1),
        [1].index,
        vision.Resize(3), vision.Resize(4), vision.CenterCrop(3),
        np.array(["a", None], object), np.array(["b", None], object), {"a": 1}, {"b": 1},
    ]  # fmt: skip
    keys = [content_key(thing) for thing in things]
    assert keys == [content_key(thing) for thing in things]
    assert len(set(keys)) == len(things)


def test_things_that_hold_themselves() -> None:
    first: list[Any] = [1]
    first.append(first)
    assert content_key(first) == content_key(first) != content_key([1, [1]])


class Own:
    """Says its content itself, and holds what cannot be seen."""

    def __init__(self, name: str) -> None:
        self.name, self.file = name, (n for n in range(3))

    def __cache_key__(self) -> str:
        return self.name


def test_what_cannot_be_seen_raises() -> None:
    with pytest.raises(TypeError, match=r"generator cannot be seen .*__cache_key__"):
        content_key([(n for n in range(3))])
    with pytest.raises(TypeError, match="TextIOWrapper"):
        content_key({"log": sys.__stdout__})
    assert content_key(Own("a")) == content_key(Own("a")) != content_key(Own("b"))


def test_transforms_that_draw_are_found() -> None:
    deep = transforms.Compose([transforms.Compose([vision.RandomCrop(3)]), lambda x: x])
    assert random_names({"t": deep}) == ["RandomCrop"]
    assert random_names(transforms.Compose([vision.Resize(3)])) == []
