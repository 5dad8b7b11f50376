"""mindspore.load and nn.GraphCell: files of real MindSpore give its numbers."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch.mindspore import nn
from mindtorch.mindspore.mindir.errors import MindIRError, UnsupportedPrimitiveError
from mindtorch.mindspore.mindir.schema import ModelProto
from tests.support.mindir_models import flat
from tests.support.paths import GOLDEN_FILES

FILES = GOLDEN_FILES / "mindir"


def inputs_and_outputs(name: str) -> tuple[list[Any], list[Any]]:
    arrays = np.load(FILES / f"{name}.npz")
    given = [ms.Tensor(arrays[each]) for each in arrays if each.startswith("input")]
    return given, [arrays[each] for each in arrays if each.startswith("output")]


def loaded(path: Path, **options: Any) -> Any:
    return nn.GraphCell(ms.load(path, **options))


def changed(tmp_path: Path, change: Any, name: str = "lenet") -> Path:
    """A file of MindSpore's whose message was changed."""
    model = ModelProto()
    model.ParseFromString((FILES / f"{name}.mindir").read_bytes())
    change(model)
    path = tmp_path / "changed.mindir"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("name", ["lenet", "block", "bert", "lstm", "mixed", "branch", "volumes",
                                  "windows", "elements", "sums", "mint"])  # fmt: skip
def test_a_file_of_mindspore_computes_what_mindspore_computed(name: str) -> None:
    """The bar is a largest relative difference of 1e-5."""
    given, expected = inputs_and_outputs(name)
    found = flat(loaded(FILES / f"{name}.mindir")(*given))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.shape, mine.asnumpy().dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine.asnumpy(), theirs, 0, 1e-5 * np.abs(theirs).max())


def test_both_branches_and_the_loop_are_followed() -> None:
    """A condition on data is decided at each call; the loop ends where its condition does."""
    cell = loaded(FILES / "branch.mindir")
    x = ms.Tensor(-np.ones((2, 4), np.float32))
    assert np.array_equal(cell(x).asnumpy(), np.full((2, 4), 1.0, np.float32))  # x * 2 + 3
    weight, bias = (cell.parameters_dict()[name].asnumpy() for name in ("fc.weight", "fc.bias"))
    np.testing.assert_allclose(cell(-x).asnumpy(), weight.sum(1)[None] + bias + 3 + 0 * x, 1e-6)


def test_a_loaded_network_trains_and_has_the_names_of_the_file() -> None:
    cell = loaded(FILES / "lenet.mindir")
    assert cell.parameters_dict()["body.0.weight"].shape == (3, 1, 3, 3)
    given, _ = inputs_and_outputs("lenet")
    labels = ms.Tensor(np.array([1, 3], np.int32))
    step = nn.TrainOneStepCell(
        nn.WithLossCell(cell, nn.CrossEntropyLoss()), nn.Adam(cell.trainable_params(), 1e-2)
    )
    losses = [float(step(*given, labels).asnumpy()) for _ in range(20)]
    assert losses[-1] < 0.2 * losses[0]


def test_other_parameters_may_be_given() -> None:
    graph = ms.load(FILES / "lenet.mindir")
    zeros = {"body.6.weight": ms.Tensor(np.zeros((4, 10), np.float32))}
    cell = nn.GraphCell(graph, zeros)
    given, _ = inputs_and_outputs("lenet")
    bias = cell.parameters_dict()["body.6.bias"].asnumpy()
    np.testing.assert_array_equal(cell(*given).asnumpy(), np.stack([bias, bias]))
    assert "lenet" not in repr(graph) and "x: [2, 1, 12, 12]" in repr(graph)


@pytest.mark.parametrize(
    ("name", "key", "mode"),
    [("encrypted_gcm", b"0123456789abcdef", "AES-GCM"), ("encrypted_cbc", b"1" * 32, "AES-CBC")],
)
def test_encrypted_files_open_with_their_key_alone(
    name: str, key: bytes, mode: str, tmp_path: Path
) -> None:
    path = FILES / f"{name}.mindir"
    x = ms.Tensor(np.eye(2, dtype=np.float32))
    made = loaded(path, dec_key=key, dec_mode=mode)(x, x)
    assert np.array_equal(made.asnumpy(), 2 * np.eye(2))
    with pytest.raises(MindIRError, match=r"is encrypted: give its key as dec_key"):
        ms.load(path)
    with pytest.raises(MindIRError, match=r"the key is another one|no MindIR file"):
        ms.load(path, dec_key=b"z" * 16, dec_mode=mode)
    with pytest.raises(ValueError, match="16, 24 or 32 bytes, but has 3"):
        ms.load(path, dec_key=b"abc")
    short = tmp_path / "short.mindir"
    short.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(MindIRError, match="ends in the middle of a block"):
        ms.load(short, dec_key=key, dec_mode=mode)


def test_what_is_no_mindir_or_newer_says_so(tmp_path: Path) -> None:
    def newer(model: Any) -> None:
        model.mind_ir_version = 4

    def short_weight(model: Any) -> None:
        model.graph.parameter[0].raw_data = b"1234"

    def unknown(model: Any) -> None:
        model.primitives[-1].op_type = "Frobnicate"

    def without_node(model: Any) -> None:
        del model.graph.node[3]

    def several_tensors(model: Any) -> None:
        model.graph.input[0].tensor.add()

    def strange_setting(model: Any) -> None:
        each = next(p for p in model.primitives if p.op_type == "Conv2D")
        each.attribute.add(name="swizzle", type=7, i=3)

    for change, kind, text in (
        (newer, MindIRError, "version 4 of MindIR, 3 is the newest"),
        (short_weight, MindIRError, r"needs \d+ bytes, and the file has 4"),
        (unknown, UnsupportedPrimitiveError, "primitive Frobnicate is not known here"),
        (without_node, MindIRError, "which is not there"),
        (several_tensors, MindIRError, "is said to be several tensors"),
        (lambda model: model.ClearField("graph"), MindIRError, "has no graph"),
    ):
        with pytest.raises(kind, match=text):
            ms.load(changed(tmp_path, change))
    cell = loaded(changed(tmp_path, strange_setting))
    with pytest.raises(UnsupportedPrimitiveError, match="Conv2D has the attribute swizzle = 3"):
        cell(*inputs_and_outputs("lenet")[0])
    (tmp_path / "text.mindir").write_text("no model")
    with pytest.raises(MindIRError, match="is no MindIR file, or is damaged"):
        ms.load(tmp_path / "text.mindir")
    with pytest.raises(ValueError, match=r"should end with '\.mindir'"):
        ms.load(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="should exist"):
        ms.load(tmp_path / "nothing.mindir")


def test_parameters_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    """A file must not make us read others of the user's."""
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(4096))
    folder = tmp_path / "model"
    folder.mkdir()

    def outside(model: Any) -> None:
        place = model.graph.parameter[0].external_data
        place.location, place.offset, place.length = "../secret", 0, 108
        model.graph.parameter[0].ClearField("raw_data")

    with pytest.raises(MindIRError, match="outside of the model's folder"):
        ms.load(changed(folder, outside))
    shutil.copy(secret, folder / "inside")

    def beyond(model: Any) -> None:
        outside(model)
        place = model.graph.parameter[0].external_data
        place.location, place.offset = "inside", 4095

    with pytest.raises(MindIRError, match=r"lies at 4095 \+ 108 of 'inside', which has 4096"):
        ms.load(changed(folder, beyond))


@pytest.mark.parametrize("name", ["lstm", "branch"])
def test_damage_anywhere_gives_an_error_of_ours(name: str, tmp_path: Path) -> None:
    """A file that is cut off, or whose bytes changed, is refused or read, and nothing else."""
    content = (FILES / f"{name}.mindir").read_bytes()
    chance = random.Random(0)
    path, refused = tmp_path / "damaged.mindir", 0
    for round_ in range(200):
        damaged = bytearray(content)
        if round_ % 3:
            for _ in range(chance.randint(1, 5)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        else:
            del damaged[chance.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        try:
            ms.load(path)
        except MindIRError:
            refused += 1
    assert refused > 100


def test_graph_cell_refuses_what_is_no_graph() -> None:
    with pytest.raises(TypeError, match="must be a FuncGraph loaded from MindIR"):
        nn.GraphCell(object())
    graph = ms.load(FILES / "lenet.mindir")
    with pytest.raises(TypeError, match="'params_init' must be a dict"):
        nn.GraphCell(graph, [1])
    with pytest.raises(TypeError, match=r"takes 1 inputs \['x'\], got 2"):
        nn.GraphCell(graph)(*inputs_and_outputs("lenet")[0] * 2)
