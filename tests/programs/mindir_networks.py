"""Whole networks as MindIR files, between real MindSpore 2.10 and mindtorch, both ways.

    python tests/programs/mindir_networks.py write FOLDER    # networks, arguments and results
    python tests/programs/mindir_networks.py read FOLDER     # of the other side, and differences

Each runs where MindSpore is installed and, with `--ours`, here; it needs nothing else. The
networks are MindSpore's words on both sides, their parameters numbers of numpy's.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

if "--ours" in sys.argv:
    from mindtorch.tools import mstorch_enable  # noqa: F401 - `import mindspore` is ours
import mindspore  # type: ignore[import-not-found]
from mindspore import Tensor, nn, ops

BAR = 1e-5  # of the largest element of an output


def conv(inputs: int, outputs: int, size: int, stride: int = 1, group: int = 1) -> list[Any]:
    """A convolution and its norm."""
    return [
        nn.Conv2d(inputs, outputs, size, stride, "pad", size // 2, group=group, has_bias=False),
        nn.BatchNorm2d(outputs),
    ]


class Sum(nn.Cell):
    """A block whose input is added to its output, perhaps through a shortcut."""

    def __init__(self, block: list[Any], shortcut: list[Any], after: list[Any]) -> None:
        super().__init__()
        self.block, self.shortcut = nn.SequentialCell(block), nn.SequentialCell(shortcut)
        self.after, self.plain = nn.SequentialCell(after), not shortcut
        self.has_after = bool(after)

    def construct(self, x: Any) -> Any:
        y = self.block(x) + (x if self.plain else self.shortcut(x))
        return self.after(y) if self.has_after else y


class Head(nn.Cell):
    """Means of the maps, and a layer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mean, self.fc = ops.ReduceMean(), nn.Dense(width, 1000)

    def construct(self, x: Any) -> Any:
        return self.fc(self.mean(x, (2, 3)))


def lenet() -> Any:
    return nn.SequentialCell([
        nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(),
        nn.Dense(84, 10),
    ])  # fmt: skip


def resnet50() -> Any:
    cells = [*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same")]
    inputs = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for number in range(count):
            stride = 2 if stage and number == 0 else 1
            block = [*conv(inputs, width, 1), nn.ReLU(), *conv(width, width, 3, stride), nn.ReLU(),
                     *conv(width, 4 * width, 1)]  # fmt: skip
            shortcut = conv(inputs, 4 * width, 1, stride) if number == 0 else []
            cells.append(Sum(block, shortcut, [nn.ReLU()]))
            inputs = 4 * width
    return nn.SequentialCell([*cells, Head(2048)])


def mobilenet_v2() -> Any:
    cells, inputs = [*conv(3, 32, 3, 2), nn.ReLU6()], 32
    for expand, width, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                        (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):  # fmt: skip
        for number in range(count):
            stride, inner = (first if number == 0 else 1), inputs * expand
            block = [*conv(inputs, inner, 1), nn.ReLU6()] if expand > 1 else []
            block += [*conv(inner, inner, 3, stride, inner), nn.ReLU6(), *conv(inner, width, 1)]
            plain = stride == 1 and inputs == width
            cells += [Sum(block, [], [])] if plain else block
            inputs = width
    return nn.SequentialCell([*cells, *conv(320, 1280, 1), nn.ReLU6(), Head(1280)])


class Encoder(nn.Cell):
    """A layer of BERT's."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Dense(width, width) for _ in range(4))
        self.one, self.two = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.first, self.second = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.gelu, self.softmax = nn.GELU(approximate=False), nn.Softmax(-1)
        self.heads, self.size = heads, width // heads

    def split(self, x: Any) -> Any:
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).transpose(0, 2, 1, 3)

    def construct(self, x: Any) -> Any:
        query, key, value = (self.split(self.query(x)), self.split(self.key(x)),
                             self.split(self.value(x)))  # fmt: skip
        scores = ops.matmul(query, key.transpose(0, 1, 3, 2)) / self.size**0.5
        seen = ops.matmul(self.softmax(scores), value).transpose(0, 2, 1, 3).reshape(x.shape)
        x = self.first(x + self.out(seen))
        return self.second(x + self.two(self.gelu(self.one(x))))


class Bert(nn.Cell):
    """Three layers over words and their places."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(200, 96), nn.Embedding(32, 96)
        self.norm = nn.LayerNorm((96,))
        self.layers = nn.SequentialCell([Encoder(96, 4) for _ in range(3)])
        self.order = Tensor(np.arange(32, dtype=np.int32))

    def construct(self, x: Any) -> Any:
        return self.layers(self.norm(self.words(x) + self.places(self.order)))


class Lstm(nn.Cell):
    """Two layers, both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(12, 16, 2, batch_first=True, bidirectional=True)

    def construct(self, x: Any) -> Any:
        return self.lstm(x)[0]


NETWORKS = {"lenet": lenet, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "bert": Bert,
            "lstm": Lstm}  # fmt: skip
SHAPES = {"lenet": (2, 1, 32, 32), "resnet50": (1, 3, 96, 96), "mobilenet_v2": (1, 3, 96, 96),
          "bert": (2, 32), "lstm": (2, 7, 12)}  # fmt: skip


def built(name: str) -> tuple[Any, Any]:
    """A network with numbers of numpy's, and its argument."""
    numbers = np.random.default_rng(len(name))
    net = NETWORKS[name]()
    for parameter in net.get_parameters():
        shape, what = parameter.shape, parameter.name.rpartition(".")[2]
        scale = 1.0 / np.sqrt(max(1, np.prod(shape[1:]))) if len(shape) > 1 else 0.1
        made = numbers.normal(0, scale, shape)
        if what in ("gamma", "moving_variance"):
            made = numbers.uniform(0.5, 1.5, shape)
        parameter.set_data(Tensor(made.astype(np.float32)))
    given = numbers.normal(size=SHAPES[name]).astype(np.float32)
    if name == "bert":
        given = numbers.integers(0, 200, SHAPES[name]).astype(np.int32)
    return net.set_train(False), given


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in NETWORKS:
        net, given = built(name)
        mindspore.export(net, Tensor(given), file_name=str(folder / name), file_format="MINDIR")
        np.savez(folder / f"{name}.npz", given=given, made=net(Tensor(given)).asnumpy())


def read(folder: Path) -> int:
    worst = 0.0
    for name in NETWORKS:
        arrays = np.load(folder / f"{name}.npz")
        cell = nn.GraphCell(mindspore.load(str(folder / f"{name}.mindir")))
        found = cell(Tensor(arrays["given"]))
        found = (found[0] if isinstance(found, (tuple, list)) else found).asnumpy()
        assert found.shape == arrays["made"].shape
        difference = np.abs(found - arrays["made"]).max() / np.abs(arrays["made"]).max()
        print(f"{name}: {difference:.1e}", flush=True)
        worst = max(worst, float(difference))
    return int(worst > BAR)


if __name__ == "__main__":
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    what, place = sys.argv[1], Path(sys.argv[2])
    if what == "read":
        sys.exit(read(place))
    write(place)
