"""MindSpore's checkpoint files: a real one is read, ours is the same and a checksum."""

import json
import os
import random
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

import mindtorch.mindspore as ms
import mindtorch.torch
from mindtorch.kernels.support.atomic_file import name_beside
from mindtorch.mindspore import Parameter, Tensor, nn
from mindtorch.mindspore.train import _checkpoint_format as form
from tests.support.paths import GOLDEN_FILES

REAL = GOLDEN_FILES / "mindspore_net.ckpt"


@pytest.fixture
def expected():
    return dict(np.load(GOLDEN_FILES / "mindspore_checkpoint.npz"))


class Net(nn.Cell):
    """The layers of the real file."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, has_bias=True)
        self.bn = nn.BatchNorm2d(3)
        self.fc = nn.Dense(48, 5)
        self.emb = nn.Embedding(7, 4)
        self.ln = nn.LayerNorm((4,))


def test_a_real_file_is_read_and_written_again_byte_for_byte(tmp_path, expected):
    """Names, shapes, types and elements; what we write is what MindSpore wrote, between two fields
    that it passes over."""
    loaded = ms.load_checkpoint(REAL)
    assert list(loaded) == list(expected)
    for name, array in expected.items():
        found = loaded[name].asnumpy()
        assert (found.shape, found.dtype, loaded[name].name) == (array.shape, array.dtype, name)
        assert np.array_equal(found, array)
    ms.save_checkpoint(loaded, tmp_path / "again")
    whole = b"\x78\x01" + REAL.read_bytes()
    whole += b"\x75" + zlib.crc32(whole).to_bytes(4, "little")
    assert (tmp_path / "again.ckpt").read_bytes() == whole
    ms.save_checkpoint(loaded, tmp_path / "checked.ckpt", crc_check=True)
    checked = whole + b"crc_num" + zlib.crc32(whole).to_bytes(10, "big")
    assert (tmp_path / "checked.ckpt").read_bytes() == checked
    with pytest.warns(UserWarning, match="does not contain the crc code"):
        ms.load_checkpoint(REAL, crc_check=True)


def test_a_real_file_goes_into_a_network(expected):
    """Names of parameters are MindSpore's; what is left over on either side is returned."""
    net = Net()
    missing, left = ms.load_param_into_net(net, ms.load_checkpoint(REAL))
    assert missing == [] and left == ["epoch", "half", "flag", "idx"]
    assert np.array_equal(net.bn.moving_mean.asnumpy(), expected["bn.moving_mean"])
    assert list(net.parameters_dict()) == list(expected)[:11]
    missing, _ = ms.load_param_into_net(net, {"fc.bias": Tensor(np.zeros(5, np.float32))})
    assert "fc.weight" in missing and not net.fc.bias.asnumpy().any()


def test_shapes_and_types_must_fit():
    """Nothing is broadcast, and a network that does not fit is not changed in part."""
    net = Net()
    before = net.fc.bias.asnumpy()
    wrong = {"fc.bias": Tensor(np.ones(5, np.float32)), "ln.gamma": Tensor([1.0])}
    with pytest.raises(RuntimeError, match="should have the same shape"):
        ms.load_param_into_net(net, wrong)
    assert np.array_equal(net.fc.bias.asnumpy(), before)
    half = {"fc.bias": Tensor(np.ones(5, np.float16))}
    with pytest.raises(RuntimeError, match=r"same type.*Float32.*Float16"):
        ms.load_param_into_net(net, half, strict_load=True)
    ms.load_param_into_net(net, half)
    assert net.fc.bias.dtype is ms.float32 and (net.fc.bias.asnumpy() == 1).all()


def test_large_tensors_are_sliced_and_put_together(tmp_path):
    """A tensor over the limit goes on in values of the same name."""
    array = np.arange(1000, dtype=np.float32).reshape(10, 100)
    form.write(tmp_path / "a.ckpt", [("x", array), ("e", np.zeros((0, 3)))], slice_size=64)
    whole = (tmp_path / "a.ckpt").read_bytes()
    assert whole.count(b"Float32") == 63
    read, _ = form.read(tmp_path / "a.ckpt")
    assert np.array_equal(read["x"], array) and read["e"].shape == (0, 3)


@pytest.mark.parametrize("cut", [1, 50, 144, 1785])
def test_a_part_of_a_file_is_refused(tmp_path, cut):
    """A file that ends early says so, wherever it ends within a value."""
    (tmp_path / "part.ckpt").write_bytes(REAL.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"ends within|no checkpoint|bytes"):
        ms.load_checkpoint(tmp_path / "part.ckpt")


def test_all_types_and_an_interrupted_write(tmp_path):
    """bfloat16 and complex survive; a write that fails leaves the old file alone."""
    kinds = [ms.bfloat16, ms.float64, ms.int8, ms.uint16, ms.complex64, ms.bool_]
    saved = {str(k): Tensor(np.array([0, 1, 2]), k) for k in kinds}
    path = tmp_path / "all.ckpt"
    ms.save_checkpoint(saved, path, append_dict={"epoch": 3, "rate": 0.5, "name": "né"})
    loaded = ms.load_checkpoint(path)
    assert all(loaded[n].dtype is t.dtype for n, t in saved.items())
    assert loaded["epoch"].item() == 3 and loaded["name"] == "né"
    assert loaded["rate"].dtype is ms.float32
    before = path.read_bytes()
    with pytest.raises(TypeError):
        ms.save_checkpoint({**saved, "word": object()}, path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_prefixes_choose_what_is_loaded():
    """Only, and all but, names that begin so."""
    assert list(ms.load_checkpoint(REAL, specify_prefix="bn.")) == [
        "bn.moving_mean", "bn.moving_variance", "bn.gamma", "bn.beta"
    ]  # fmt: skip
    rest = ms.load_checkpoint(REAL, filter_prefix=["bn", "fc"], choice_func=lambda n: "." in n)
    assert list(rest) == ["conv.weight", "conv.bias", "emb.embedding_table", "ln.gamma", "ln.beta"]
    with pytest.raises(ValueError, match="empty after filter"):
        ms.load_checkpoint(REAL, specify_prefix="nothing")
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint("nowhere.ckpt")


def _same(read, saved):
    return list(read) == list(saved) and all(
        r.dtype is s.dtype and np.array_equal(r.asnumpy(), s.asnumpy())
        for r, s in zip(read.values(), saved.values(), strict=True)
    )


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_damaged_file_is_refused(tmp_path, format):
    """Changed, lost, inserted and zeroed bytes anywhere: an error, or the values themselves."""
    named = {p.name: p for p in Net().get_parameters()}
    saved = dict(sorted({**named, "half": Tensor(np.arange(4), ms.bfloat16)}.items()))
    path = tmp_path / f"net.{format}"
    ms.save_checkpoint(saved, path, format=format)
    raw = path.read_bytes()
    assert _same(ms.load_checkpoint(path, format=format, crc_check=True), saved)
    draw, refused = random.Random(0), 0
    for round_ in range(200):
        damaged, place = bytearray(raw), draw.randrange(len(raw))
        if round_ % 4 == 0:
            damaged[place] ^= 1 << draw.randrange(8)
        elif round_ % 4 == 1:
            del damaged[place:]
        elif round_ % 4 == 2:
            damaged[place:place] = bytes([draw.randrange(256)])
        else:
            damaged[place : place + 64] = bytes(len(damaged[place : place + 64]))
        path.write_bytes(damaged)
        try:
            assert _same(ms.load_checkpoint(path, format=format), saved), (round_, place)
        except ValueError:
            refused += 1
    assert refused > 150


def test_safetensors_are_read_without_a_checksum_and_refused_where_they_overlap(tmp_path):
    """Files of other programs have none; each byte belongs to one tensor."""
    path = tmp_path / "x.safetensors"

    def write(*rows, size=8):
        head = json.dumps(dict(rows)).encode()
        path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(range(size)))

    row = {"dtype": "I32", "shape": [2], "data_offsets": [0, 8]}
    write(("a", row))
    assert ms.load_checkpoint(path, format="safetensors")["a"].asnumpy().tolist() == [
        0x03020100, 0x07060504
    ]  # fmt: skip
    cases: list[list] = [
        [("a", row), ("b", row)], [("a", {**row, "shape": [-2]})], [("a", {"dtype": "I32"})],
        [("a", {**row, "dtype": "F4"})], [("a", {**row, "shape": [1], "data_offsets": [0, 4]})],
        [("a", [])],
    ]  # fmt: skip
    for wrong in cases:
        write(*wrong)
        with pytest.raises(ValueError, match=r"damaged|leave bytes out|the file 8"):
            ms.load_checkpoint(path, format="safetensors")
    for name, format_ in (("x.ckpt", "safetensors"), ("x.bin", "bin")):
        with pytest.raises(ValueError, match="format"):
            ms.load_checkpoint(tmp_path / name, format=format_)


def test_what_a_killed_process_left_is_removed_by_the_next_save(tmp_path):
    """A job that is killed again and again while it saves must not fill the disk."""
    target = tmp_path / "c.ckpt"
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    left = name_beside(str(target)).replace(f"-{os.getpid()}-", f"-{ended.stdout.strip()}-")
    ours = name_beside(str(target))
    for path in (left, ours):
        Path(path).write_bytes(b"half")
    ms.save_checkpoint([{"name": "w", "data": ms.Tensor([1.0])}], str(target))
    assert sorted(tmp_path.iterdir()) == sorted([target, Path(ours)])
    assert ms.load_checkpoint(str(target))["w"].asnumpy().tolist() == [1]


def test_torch_save_writes_a_cells_tensors_as_torchs(tmp_path):
    """A file that ``torch.save`` wrote is read without mindtorch, also one of a cell's state."""
    net = ms.nn.Dense(3, 2)
    path = tmp_path / "z.pt"
    mindtorch.torch.save({"net": net.state_dict(), "p": net.weight}, path)
    content = torch.load(path, weights_only=True)
    assert content["net"]["weight"].numpy().tolist() == net.weight.asnumpy().tolist()
    assert content["p"].shape == (2, 3)


def test_parameters_are_found_under_a_prefix():
    """A checkpoint of a network inside of another one, as MindSpore loads it: with a warning."""
    layer = nn.Dense(2, 1, "zeros", "zeros")
    given = {"net." + n: Parameter(Tensor(np.ones(p.shape, np.float32)), name=n)
             for n, p in layer.parameters_dict().items()}  # fmt: skip
    assert ms.load_param_into_net(layer, given) == ([], ["net.weight", "net.bias"])
    assert layer.weight.asnumpy().tolist() == [[1, 1]] and layer.bias.item() == 1
