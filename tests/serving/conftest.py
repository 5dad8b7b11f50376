"""A server with servables of all kinds, in this process; its workers are processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mindtorch import torch
from mindtorch.serving.front.hosting import Host, Limits
from mindtorch.serving.front.version import VersionConfig

NET = '''
import torch
from torch import nn


class Affine(nn.Module):
    """3 x + version."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return x * self.weight[0] + self.weight[1]


def build():
    return Affine()
'''

THINGS = """
import os
import signal
import time

import numpy as np
from mindspore_serving.server import register
from net import Affine

model = register.declare_model("affine.pth", "PTH", module=Affine, batch_size=4,
                               inputs=[("x", "float32", (3,))])
free = register.declare_model("affine.pth", "PTH", module="net.py:build", batch_size=4)


def add(a, b):
    return a + b


def both(a, b):
    return a + b, a - b


def hello(name):
    return "hello " + name if isinstance(name, str) else b"hello " + name


def rows(instances):
    time.sleep(0.02)
    return [np.int32(len(instances)) for _ in instances]


def not_negative(x):
    if (x < 0).any():
        raise ValueError("a negative number")
    return x


def dies_of_13(x):
    if x == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.005)
    return x


def sleeps(seconds):
    if seconds < 0:  # a child, which holds all open files of the worker, sleeps instead
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        return np.float32(child)
    time.sleep(float(seconds))
    return seconds


def twice(x):
    return model.call([[x], [x + 1]])[1][0]


@register.register_method(output_names=["y"])
def add_two(a, b):
    return register.add_stage(add, a, b, outputs_count=1)


@register.register_method(output_names=["sum", "difference"])
def add_and_subtract(a, b):
    total, difference = register.add_stage(both, a, b, outputs_count=2)
    return total, difference


@register.register_method(output_names=["y"])
def echo(x):
    return x


@register.register_method(output_names=["y"])
def greet(name):
    return register.add_stage(hello, name, outputs_count=1)


@register.register_method(output_names=["y"])
def affine(x):
    x = register.add_stage(not_negative, x, outputs_count=1)
    return register.add_stage(model, x, outputs_count=1)


@register.register_method(output_names=["y"])
def only_model(x):
    return register.add_stage(model, x, outputs_count=1)


@register.register_method(output_names=["y"])
def any_shape(x):
    return register.add_stage(free, x, outputs_count=1)


@register.register_method(output_names=["y"])
def count(x):
    return register.add_stage(rows, x, outputs_count=1, batch_size=0)


@register.register_method(output_names=["y"])
def deadly(x):
    return register.add_stage(dies_of_13, x, outputs_count=1)


@register.register_method(output_names=["y"])
def sleep(x):
    return register.add_stage(sleeps, x, outputs_count=1)


@register.register_method(output_names=["y"])
def call(x):
    return register.add_stage(twice, x, outputs_count=1)
"""


def save_weights(file: Path, offset: float) -> None:
    """Weights of 3 x + offset."""
    torch.save({"weight": torch.tensor([3.0, offset])}, file)


def make_servables(folder: Path) -> Path:
    """Servables `things` (versions 1 and 2) and `plain`, which has no configuration."""
    for number in (1, 2):
        version = folder / "things" / str(number)
        version.mkdir(parents=True)
        save_weights(version / "affine.pth", float(number))
    (folder / "things" / "net.py").write_text(NET)
    (folder / "things" / "servable_config.py").write_text(THINGS)
    plain = folder / "plain" / "1"
    plain.mkdir(parents=True)
    save_weights(plain / "weights.pth", 1.0)
    (folder / "plain" / "model.py").write_text(NET)
    return folder


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@dataclass(frozen=True)
class Server:
    """A server that runs.

    Attributes:
        host: runs it.
        grpc: its gRPC address.
        rest: the port of its REST server.
        folder: the folder of its servables.
    """

    host: Host
    grpc: str
    rest: int
    folder: Path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = make_servables(tmp_path_factory.mktemp("servables"))
    limits = Limits(request_seconds=20.0, batch_seconds=20.0, grace_seconds=5.0)
    host = Host(limits, folder / "requests.log")
    try:
        host.start([VersionConfig(folder, "things", 1), VersionConfig(folder, "things", 2),
                    VersionConfig(folder, "plain", 1)])  # fmt: skip
        grpc = host.start_grpc("127.0.0.1:0", max_megabytes=1)
        rest = host.start_rest("127.0.0.1:0", max_megabytes=1)
        yield Server(host, f"127.0.0.1:{grpc}", rest, folder)
    finally:
        host.stop()
