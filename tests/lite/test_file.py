"""Lite files: whole, checked, and refused where they are not what they say."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch import torch
from mindtorch.lite import LiteFileError, Tensor
from mindtorch.lite.execution import Program
from mindtorch.lite.file import content_of, graph_of, read
from mindtorch.lite.sizes import evaluated
from tests.support.paths import TESTS

from .models import converted, images, lenet, loaded, sections

_HEAD = 128


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted(lenet(), [images(1)], tmp_path_factory.mktemp("lite"))


def test_a_file_written_again_is_the_same(path: Path) -> None:
    graph = read(path)
    graph.information.pop("absent", None)
    assert content_of(graph) == path.read_bytes()


def test_weights_begin_at_multiples_of_64_and_are_in_the_mapped_file(path: Path) -> None:
    for tensor in read(path).tensors:
        if tensor.data is not None and tensor.data.size:
            assert tensor.data.ctypes.data % 64 == 0
            assert not tensor.data.flags.owndata


def test_every_truncation_is_refused(path: Path) -> None:
    content = path.read_bytes()
    for length in (*range(0, 300, 7), *range(300, len(content), len(content) // 40)):
        with pytest.raises(LiteFileError):
            graph_of(content[:length])


def test_a_truncated_file_says_so(path: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.ms"
    short.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(LiteFileError, match=r"short\.ms: the file is truncated: it has 1000 bytes"):
        read(short)


@pytest.mark.parametrize("content", [b"", b"MTLITE", b"#!/bin/sh\n" * 50, bytes(4096)])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    other = tmp_path / "other.ms"
    other.write_bytes(content)
    with pytest.raises(LiteFileError):
        read(other)


def test_a_newer_file_says_what_reads_it(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[8:12] = struct.pack("<I", 7)
    with pytest.raises(LiteFileError, match="version 7, 2 is the newest that is known"):
        graph_of(bytes(content))


def test_every_flipped_bit_is_found(path: Path) -> None:
    content = path.read_bytes()
    places = [*range(68), *range(_HEAD, len(content), len(content) // 300)]
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        with pytest.raises(LiteFileError):
            graph_of(bytes(changed))


def _signed(text: bytes, weights: bytes) -> bytes:
    """A file of these sections whose sizes and checksums are right."""
    text = zlib.compress(text)
    text += bytes(-len(text) % 64)
    begins = _HEAD + len(text)
    head = struct.pack(
        "<8sIIQQQQQII", b"MTLITE\r\n", 2, _HEAD, begins + len(weights), _HEAD, len(text), begins,
        len(weights), zlib.crc32(text), zlib.crc32(weights),
    )  # fmt: skip
    return (head + struct.pack("<I", zlib.crc32(head))).ljust(_HEAD, b"\0") + text + weights


def _changes(value: Any, spot: tuple[Any, ...] = ()) -> Any:
    """Every place in a graph's JSON."""
    yield spot
    inner = dict(enumerate(value)) if isinstance(value, list) else value
    for key, each in inner.items() if isinstance(inner, dict) else ():
        yield from _changes(each, (*spot, key))


_HOSTILE: tuple[Any, ...] = (
    None, -1, 1 << 70, 10**9, 1.5, "", "relu", [], {}, [1, -5], {"size": 99}, True
)  # fmt: skip


def test_hostile_graphs_with_right_checksums_are_refused_or_run(path: Path) -> None:
    """A graph in which one thing is another: an error of ours, or a model that runs."""
    stored, weights = sections(path)
    text = json.dumps(stored)
    generator = np.random.default_rng(0)
    spots = [spot for spot in _changes(stored) if spot]
    refused = 0
    for number in generator.choice(len(spots), 400):
        changed, spot = json.loads(text), spots[number]
        inner = changed
        for key in spot[:-1]:
            inner = inner[key]
        inner[spot[-1]] = _HOSTILE[generator.integers(len(_HOSTILE))]
        try:
            graph = graph_of(_signed(json.dumps(changed).encode(), weights))
            if all(n <= 64 for n in graph.lengths):
                program = Program(graph, graph.lengths, {})
                if sum(a.size for a in program.input_avals) < 1 << 20:
                    flats = [np.zeros(a.size, a.dtype.np) for a in program.input_avals]
                    program.run(flats)
        except LiteFileError:
            refused += 1
    assert refused > 100


def test_values_of_gigabytes_are_refused(path: Path) -> None:
    graph = read(path)
    with pytest.raises(LiteFileError, match=r"the value 'input' has \d+ bytes: the most are"):
        Program(graph, [1 << 20], {})


def test_a_parameter_that_a_kernel_looks_at_when_it_runs(tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.LayerNorm(6), torch.nn.Linear(6, 6))
    stored, weights = sections(converted(net.eval(), [np.ones((2, 6), "float32")], tmp_path))
    (norm,) = [node for node in stored["nodes"] if node["op"] == "native_layer_norm"]
    norm["params"]["eps"] = "float64"
    graph = graph_of(_signed(json.dumps(stored).encode(), weights))
    with pytest.raises(LiteFileError, match="cannot be run"):
        program = Program(graph, graph.lengths, {})
        program.run([np.zeros(a.size, a.dtype.np) for a in program.input_avals])


def test_files_of_version_1_run(tmp_path: Path) -> None:
    """A convolution and two products with weights of 4 bits, packed, and what they gave then."""
    x = np.linspace(-1, 1, 32, dtype="float32").reshape(1, 2, 4, 4)
    path = TESTS / "golden" / "lite" / "version_1.ms"
    (given,) = loaded(path).predict([Tensor(x)])
    wanted = [[0.17451027035713196, -0.20810163021087646, 0.08584660291671753]]
    np.testing.assert_allclose(given.get_data_to_numpy(), wanted, rtol=1e-5)


def test_weights_of_few_bits_take_fewer_still(tmp_path: Path) -> None:
    """A quarter of the floats' with 8 bits and half of that with 4, scales and graph included."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh(), torch.nn.Linear(256, 256))
    with torch.no_grad():
        for layer in (net[0], net[2]):
            layer.weight.normal_()
    x, sizes = np.ones((1, 256), "float32"), []
    for bits in (0, 8, 4):
        config = f"[common_quant_param]\nquant_type=WEIGHT_QUANT\nbit_num={bits}\n" if bits else ""
        path = converted(net.eval(), [x], tmp_path, config)
        sizes.append(path.stat().st_size)
        assert content_of(read(path)) == path.read_bytes()
    assert sizes[1] <= 0.25 * sizes[0] and sizes[2] <= 0.5 * sizes[1]


@pytest.mark.parametrize(("change", "text"), [
    (lambda place: place.__setitem__(4, "lzma"), "not kept in a way"),
    (lambda place: place.__setitem__(1, [1 << 40]), "not kept in a way"),
    (lambda place: place.__setitem__(1, [1, 1]), "does not end"),
    (lambda place: place.__setitem__(1, [300, 256]), "size is not that of its shape"),
    (lambda place: place.__setitem__(3, place[3] // 2), "does not end"),
    (lambda place: place.__setitem__(2, place[2] + 64), "damaged"),
])  # fmt: skip
def test_deflated_weights_that_are_wrong_are_refused(
    change: Callable[[Any], None], text: str, tmp_path: Path
) -> None:
    config = "[common_quant_param]\nquant_type=WEIGHT_QUANT\nbit_num=4\n"
    net = torch.nn.Linear(256, 256).eval()
    stored, weights = sections(converted(net, [np.ones((1, 256), "float32")], tmp_path, config))
    (place,) = [t["data"] for t in stored["tensors"] if len(t.get("data", ())) == 5]
    change(place)
    with pytest.raises(LiteFileError, match=text):
        graph_of(_signed(json.dumps(stored).encode(), weights))


def test_a_view_outside_of_its_memory_is_refused(path: Path) -> None:
    stored, weights = sections(path)
    (view,) = [node for node in stored["nodes"] if node["op"] == "view"]
    view["op"] = "as_strided"
    view["params"] = {"shape": [1, 400], "strides": [400, 1], "offset": 1 << 20}
    graph = graph_of(_signed(json.dumps(stored).encode(), weights))
    with pytest.raises(LiteFileError, match="outside of its input"):
        Program(graph, graph.lengths, {})


@pytest.mark.parametrize("text", [
    "__import__('os').getpid()", "v0.__class__", "v9", "v0 ** 9", "(lambda: 1)()", "v0 // 0",
    "9 * " * 2000 + "9", "(" * 300 + "v0" + ")" * 300, "1 if v0 else 2",
])  # fmt: skip
def test_lengths_are_arithmetic_only(text: str) -> None:
    with pytest.raises(LiteFileError):
        evaluated(["batch", text], [4])


def test_lengths_follow_from_open_ones() -> None:
    assert evaluated(["n", "2*v0 + -3", "v1 // (2)", "v2 % (4)", "floor(v0 / 3)"], [7]) == [
        7, 11, 5, 1, 2,
    ]  # fmt: skip


def test_a_failed_conversion_leaves_the_old_file(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.ms"
    target.write_bytes(b"old")
    from mindtorch.torch import nn

    class Depends(nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with pytest.raises(RuntimeError):
        converted(Depends(), [images(1)], tmp_path)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_model_that_is_loaded_outlives_its_file(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.ms"
    copy.write_bytes(path.read_bytes())
    model = loaded(copy)
    copy.unlink()
    assert np.isfinite(model.predict(model.get_inputs())[0].get_data_to_numpy()).all()
