"""Files: what we save PyTorch loads, what it saves we load."""

from __future__ import annotations

import io
import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.engine import dtypes
from mindtorch.engine import tensor as engine
from mindtorch.engine.devices.device import Device
from mindtorch.torch import serialization, storage
from mindtorch.torch._serialization.zip_archive import ArchiveReader, ArchiveWriter
from tests.support.archives import (
    DTYPES,
    GOOD,
    LEGACY,
    WITHOUT_CLASS,
    ZIP,
    OurNames,
    Plain,
    assert_same,
    error_of,
    good,
    our_file,
    ours_like,
    patched_pickle,
    plain_objects,
    records_of,
    sample,
    to_numpy,
    torch_file,
    zipped,
)

torch = pytest.importorskip("torch")

# ------------------------------------------------------------------------------------- both ways


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0, 3), (2, 1, 3)], ids=str)
def test_we_read_every_type_that_torch_saves(dtype: str, shape: tuple[int, ...]) -> None:
    """Each element type and shape, in the archive and in the format before it."""
    theirs = sample(dtype, shape)
    for options in (ZIP, LEGACY):
        assert_same(serialization.load(torch_file(theirs, **options)), theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [ZIP, LEGACY], ids=["zip", "legacy"])
def test_torch_reads_every_type_that_we_save(dtype: str, options: dict[str, Any]) -> None:
    """Real PyTorch loads our files with weights_only=True; we read them back too."""
    for shape in ((), (3, 4), (0, 3)):
        theirs = sample(dtype, shape)
        ours = ours_like(theirs)
        file = our_file({"x": ours}, **options)
        assert_same(serialization.load(file)["x"], theirs)
        if options is LEGACY and dtype in WITHOUT_CLASS:
            continue  # PyTorch itself cannot load these
        file.seek(0)
        loaded = torch.load(file, weights_only=True)["x"]
        assert loaded.dtype == theirs.dtype
        assert loaded.shape == theirs.shape
        assert torch.equal(loaded, theirs)


@pytest.mark.parametrize("options", [ZIP, LEGACY], ids=["zip", "legacy"])
def test_plain_objects_survive_in_both_directions(options: dict[str, Any]) -> None:
    """Containers, numbers, text, and torch's small types, read by a restricted load."""
    ours, theirs = plain_objects(OurNames), plain_objects(torch)
    assert serialization.load(torch_file(theirs, **options)) == ours
    assert torch.load(our_file(ours, **options), weights_only=True) == theirs
    assert serialization.load(our_file(ours, **options)) == ours


def test_our_archives_are_torchs_byte_for_byte() -> None:
    """Same pickle, same records, same alignment: only the hash in serialization_id is our own."""
    theirs = sample("float32")
    base = ours_like(theirs)
    plain, torchs_plain = plain_objects(OurNames), plain_objects(torch)
    for objects in (plain, torchs_plain):
        del objects["devices"]  # the text "cpu" is one object here, two in PyTorch
    mine: dict[str, Any] = {"w": base, "v": view(base, 1, (2, 2), (4, 1)), "plain": plain}
    torchs = {"w": theirs, "v": theirs[:2, 1:3], "plain": torchs_plain}
    mine["h"], torchs["h"] = ours_like(sample("uint16")), sample("uint16")
    mine["empty"], torchs["empty"] = ours_like(sample("int8", (0,))), sample("int8", (0,))
    for number in range(70):  # sizes of every remainder by the alignment
        tensor = torch.arange(number, dtype=torch.uint8)
        mine[f"t{number}"], torchs[f"t{number}"] = ours_like(tensor), tensor
    ours_raw, torch_raw = our_file(mine).getvalue(), torch_file(torchs).getvalue()
    place = torch_raw.index(b"archive/.data/serialization_id")
    assert ours_raw[:place] == torch_raw[:place]
    assert len(ours_raw) == len(torch_raw)
    assert ours_raw[-98:] == torch_raw[-98:]


def view(base: engine.Tensor, offset: int, shape: Any, strides: Any) -> engine.Tensor:
    from mindtorch.torch._tensor.rebuild import tensor_from_storage

    return tensor_from_storage(base._shared, base.aval.dtype, offset, shape, strides)


def test_views_still_share_memory_after_loading() -> None:
    """A transposed, an offset and an expanded view of one storage: one record, one memory."""
    base = torch.arange(12.0).reshape(3, 4)
    theirs = {"base": base, "t": base.t(), "row": base[1, 1:], "wide": base[0].expand(5, 4)}
    for options in (ZIP, LEGACY):
        ours = serialization.load(torch_file(theirs, **options))
        for key, tensor in theirs.items():
            assert_same(ours[key], tensor)
        ours["base"].array()[1, 2] = 99
        assert ours["t"].array()[2, 1] == 99
        assert ours["row"].array()[1] == 99
        again = torch.load(our_file(ours, **options), weights_only=True)
        assert again["base"].untyped_storage().data_ptr() == again["t"].untyped_storage().data_ptr()
        assert again["wide"].stride() == (0, 1)
        assert again["row"].storage_offset() == 5


def test_lazy_conjugation_and_negation_are_applied() -> None:
    """PyTorch may save a conjugate without computing it."""
    tensor = sample("complex64")
    for lazy in (tensor.conj(), tensor.conj().imag):
        assert lazy.is_conj() or lazy.is_neg()
        ours = serialization.load(torch_file(lazy))
        assert np.array_equal(to_numpy(ours), to_numpy(lazy))


def test_a_state_dict_keeps_its_metadata() -> None:
    """OrderedDict's attribute ``_metadata`` holds the modules' versions."""
    state = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).state_dict()
    ours = serialization.load(torch_file(state))
    assert ours._metadata == state._metadata
    assert list(ours) == list(state)
    again = torch.load(our_file(ours), weights_only=True)
    assert again._metadata == state._metadata
    for key, tensor in state.items():
        assert_same(ours[key], tensor)
        assert torch.equal(again[key], tensor)


def test_optimizer_states_survive() -> None:
    """Steps, moments, parameter groups."""
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([parameter], lr=0.1)
    parameter.sum().backward()
    optimizer.step()
    theirs = optimizer.state_dict()
    ours = serialization.load(torch_file(theirs))
    assert ours["param_groups"] == theirs["param_groups"]
    for key, tensor in theirs["state"][0].items():
        assert_same(ours["state"][0][key], tensor)
    again = torch.load(our_file(ours), weights_only=True)
    assert again["param_groups"] == theirs["param_groups"]
    assert torch.equal(again["state"][0]["exp_avg_sq"], theirs["state"][0]["exp_avg_sq"])


def test_storages_themselves_can_be_saved() -> None:
    """``tensor.untyped_storage()`` and a typed storage, in both directions."""
    tensor = torch.arange(4.0)
    ours = serialization.load(torch_file([tensor.untyped_storage(), tensor.to(torch.int16)]))
    assert ours[0].nbytes() == 16
    untyped = storage.UntypedStorage([1, 2, 3])
    typed = storage.TypedStorage([1.5, 2.5], dtype=dtypes.float64, _internal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = torch.load(our_file([untyped, typed]), weights_only=True)
        assert list(loaded[0]) == [1, 2, 3]
        assert loaded[1].tolist() == [1.5, 2.5]


# ------------------------------------------------------------------------------- paths and files


def test_a_failed_save_leaves_the_old_file(tmp_path: Path) -> None:
    """The new file takes the old one's place whole or not at all, and nothing is left behind."""
    path = tmp_path / "model.pt"
    serialization.save({"old": 1}, path)
    os.chmod(path, 0o640)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        serialization.save(lambda: 1, path)
    assert serialization.load(path) == {"old": 1}

    class Failing:
        def __init__(self, *_: Any) -> None:
            raise OSError("disk full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serialization, "ArchiveWriter", Failing)
        with pytest.raises(OSError, match="disk full"):
            serialization.save({"new": 2}, path)
    assert serialization.load(path) == {"old": 1}
    serialization.save({"new": 2}, path)
    assert serialization.load(path) == {"new": 2}
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["model.pt"]


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    """Saving to a symbolic link writes the file it names."""
    target, link = tmp_path / "real.pt", tmp_path / "link.pt"
    serialization.save(1, target)
    link.symlink_to(target)
    serialization.save(2, link)
    assert link.is_symlink()
    assert serialization.load(target) == 2


def test_missing_folders_and_files_raise_what_torch_raises(tmp_path: Path) -> None:
    """The same type and text for a missing parent and a missing file."""
    path = str(tmp_path / "no" / "x.pt")
    cases: list[Any] = [("save", (1, path)), ("load", (path,)), ("load", (str(tmp_path),))]
    cases += [("save", (1, 5)), ("save", (1, None)), ("load", (5,))]
    for name, args in cases:
        mine = error_of(getattr(serialization, name), *args)
        theirs = error_of(getattr(torch, name), *args)
        assert type(mine) is type(theirs)
        assert str(mine) == str(theirs)


@pytest.mark.parametrize("name", ["model.pt", "a.b.ckpt", "noextension", "grüße.pt", "ends."])
def test_files_at_paths_are_exchanged(tmp_path: Path, name: str) -> None:
    """str and PathLike; the archive's folder is named after the file, as PyTorch does."""
    theirs = sample("float32")
    path = tmp_path / name
    torch.save(theirs, path)
    folder = ArchiveReader(io.BytesIO(path.read_bytes())).folder
    assert_same(serialization.load(path), theirs)
    assert_same(serialization.load(str(path), mmap=True), theirs)
    serialization.save(ours_like(theirs), str(path))
    assert ArchiveReader(io.BytesIO(path.read_bytes())).folder == folder
    assert torch.equal(torch.load(path), theirs)
    assert torch.equal(torch.load(path, mmap=True), theirs)


def test_a_file_object_is_read_from_where_it_stands() -> None:
    """An archive behind other bytes, and two objects in one legacy file."""
    buffer = io.BytesIO()
    buffer.write(b"preface")
    serialization.save([1, 2], buffer)
    buffer.seek(7)
    assert serialization.load(buffer) == [1, 2]
    buffer = io.BytesIO()
    for number in (1, 2):
        serialization.save({"n": engine.from_array(np.full(3, number))}, buffer, **LEGACY)
    buffer.seek(0)
    assert [serialization.load(buffer)["n"].array()[0] for _ in range(2)] == [1, 2]


def test_a_minimal_file_object_is_enough() -> None:
    """Only read, readline, seek and tell for loading; only write for saving."""

    class Reader:
        def __init__(self, data: bytes) -> None:
            self._file = io.BytesIO(data)
            self.read, self.readline = self._file.read, self._file.readline
            self.seek, self.tell = self._file.seek, self._file.tell

    class Writer:
        def __init__(self) -> None:
            self.data = b""

        def write(self, data: Any) -> None:
            self.data += bytes(data)

    for options in (ZIP, LEGACY):
        writer = Writer()
        serialization.save({"x": engine.from_array(np.arange(5))}, writer, **options)
        loaded = serialization.load(Reader(writer.data))
        assert loaded["x"].array().tolist() == [0, 1, 2, 3, 4]


def test_a_mapped_file_is_not_changed_by_writes(tmp_path: Path) -> None:
    """mmap=True maps privately by default; shared mapping writes through when asked."""
    import mmap

    path = tmp_path / "x.pt"
    serialization.save({"a": engine.from_array(GOOD["a"].copy())}, path)
    mapped = serialization.load(path, mmap=True)["a"]
    mapped.array()[0, 0] = 42
    assert serialization.load(path)["a"].array()[0, 0] == 0
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        mapped = serialization.load(path, mmap=True)["a"]
        mapped.array()[0, 0] = 42
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path)["a"][0, 0] == 42
    with pytest.raises(ValueError, match="f must be a file path"):
        serialization.load(io.BytesIO(good()), mmap=True)
    serialization.save(1, path, **LEGACY)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        serialization.load(path, mmap=True)


def test_the_other_byte_order_is_swapped() -> None:
    """A file that says ``big`` holds reversed elements."""
    records = records_of(our_file(engine.from_array(GOOD["a"])).getvalue())
    records["archive/byteorder"] = b"big"
    records["archive/data/0"] = GOOD["a"].byteswap().tobytes()
    loaded = serialization.load(io.BytesIO(zipped(records)))
    assert np.array_equal(loaded.array(), GOOD["a"])
    del records["archive/byteorder"]
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        loaded = serialization.load(io.BytesIO(zipped(records)))
    finally:
        serialization.set_default_load_endianness(None)
    assert np.array_equal(loaded.array(), GOOD["a"])


def test_data_can_be_left_out() -> None:
    """skip_data keeps the room but neither writes nor reads elements."""
    with serialization.skip_data():
        file = our_file(engine.from_array(GOOD["a"]))
    assert torch.load(file).eq(0).all()
    with serialization.skip_data():
        loaded = serialization.load(io.BytesIO(good()))["a"]
    assert not loaded.array().any()
    assert loaded.aval.shape == (2, 3)


def test_large_archives_use_64_bit_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the limit lowered, every record is written as one beyond 4 GiB would be."""
    from mindtorch.torch._serialization import zip_archive

    monkeypatch.setattr(zip_archive, "_LIMIT32", 10)
    raw = good()
    monkeypatch.undo()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
    assert np.array_equal(serialization.load(io.BytesIO(raw))["a"].array(), GOOD["a"])
    assert torch.equal(torch.load(io.BytesIO(raw))["a"], torch.from_numpy(GOOD["a"]))


def test_checksums_are_those_of_zip_and_can_be_left_out() -> None:
    """Other programs find our archives sound; without sums PyTorch still loads them."""
    with zipfile.ZipFile(our_file(plain_objects(OurNames))) as archive:
        assert archive.testzip() is None
    serialization.set_crc32_options(False)
    try:
        raw = good()
    finally:
        serialization.set_crc32_options(True)
    assert serialization.get_crc32_options()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is not None
    assert torch.equal(torch.load(io.BytesIO(raw))["a"], torch.from_numpy(GOOD["a"]))


def test_other_pickle_modules_write_torchs_names_too() -> None:
    """A module with a Pickler of its own; protocols without plain names are refused."""
    import types

    other = types.ModuleType("other")
    other.Pickler, other.Unpickler = pickle.Pickler, pickle.Unpickler  # type: ignore[attr-defined]
    theirs = sample("float32")
    if not hasattr(engine.result_class(), "__reduce_ex__"):
        raise AssertionError("tensors must know how to be pickled")
    file = our_file({"t": ours_like(theirs)}, pickle_module=other)
    assert torch.equal(torch.load(file, weights_only=True)["t"], theirs)
    with pytest.raises(NotImplementedError, match="needs pickle_module=pickle"):
        our_file(1, pickle_module=other, pickle_protocol=4)


# ------------------------------------------------------------------------------------ locations


def test_map_location_takes_every_form() -> None:
    """A name, a device, a dictionary, a function that declines, moves, or is wrong."""
    raw = good()

    def loaded(where: Any) -> Any:
        return serialization.load(io.BytesIO(raw), map_location=where)["a"]

    seen = []
    for where in (None, "cpu", b"cpu", Device("cpu"), {"cuda:0": "cpu"}, {}):
        assert np.array_equal(loaded(where).array(), GOOD["a"])
    watched = loaded(lambda s, tag: seen.append((s.nbytes(), tag)))
    assert np.array_equal(watched.array(), GOOD["a"])
    assert seen == [(24, "cpu")]
    doubled = loaded(lambda s, tag: s.clone().fill_(0)).array()
    assert not doubled.any()
    for where in ("meta", Device("meta"), {"cpu": "meta"}):
        result = loaded(where)
        assert result.aval.device == Device("meta")
        assert result.aval.shape == (2, 3)


@pytest.mark.parametrize("where", ["cuda", "cuda:0", "junk", 5, lambda s, tag: 5])
def test_places_that_cannot_be_had_raise_torchs_errors(where: Any) -> None:
    """No CUDA here, no such device, not a location: type and text are torch's."""
    raw = good()
    mine = error_of(lambda: serialization.load(io.BytesIO(raw), map_location=where))
    theirs = error_of(lambda: torch.load(io.BytesIO(raw), map_location=where))
    assert type(mine) is type(theirs)
    assert str(mine) in str(theirs)


def test_a_file_from_a_gpu_needs_map_location() -> None:
    """Its storages name ``cuda:0``."""
    raw = patched_pickle(b"X\3\0\0\0cpu", b"X\6\0\0\0cuda:0")
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        serialization.load(io.BytesIO(raw))
    loaded = serialization.load(io.BytesIO(raw), map_location="cpu")
    assert loaded["a"].array().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_registered_package_is_asked_in_order_of_priority() -> None:
    """Own taggers and restorers come before ours when their priority is lower."""
    from mindtorch.torch._serialization import map_location

    before = list(map_location._packages)
    serialization.register_package(
        5, lambda s: "shelf", lambda s, tag: s if tag == "shelf" else None
    )
    try:
        raw = good()
        assert b"shelf" in raw
        assert np.array_equal(serialization.load(io.BytesIO(raw))["a"].array(), GOOD["a"])
    finally:
        map_location._packages[:] = before
    with pytest.raises(RuntimeError, match="tagged with shelf"):
        serialization.load(io.BytesIO(raw))


# -------------------------------------------------------------------------------------- options


def test_arguments_that_contradict_each_other_are_refused() -> None:
    """An explicit pickle module with weights_only=True; unknown arguments draw a warning."""
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        serialization.load(io.BytesIO(good()), pickle_module=pickle, weights_only=True)
    with pytest.warns(UserWarning, match="pickle_load_args only works"):
        serialization.load(io.BytesIO(good()), encoding="ascii")
    assert "a" in serialization.load(io.BytesIO(good()), pickle_module=pickle)


def test_the_environment_can_force_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's two variables, and the error for both at once."""
    raw = our_file(Plain()).getvalue()
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert serialization.load(io.BytesIO(raw)).value == 3
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="both were set"):
        serialization.load(io.BytesIO(raw))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        serialization.load(io.BytesIO(raw), weights_only=False)


def test_one_memory_under_two_types_is_refused() -> None:
    """A storage has one type in a file."""
    base = engine.from_array(np.arange(4, dtype=np.float32))
    from mindtorch.torch._tensor.rebuild import tensor_from_storage

    other = tensor_from_storage(base._shared, dtypes.int32, 0, (4,), (1,))
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        our_file([base, other])


def test_the_writer_takes_any_alignment() -> None:
    """Every record begins at a multiple of it."""
    for alignment in (1, 64, 4096):
        buffer = io.BytesIO()
        writer = ArchiveWriter(buffer, alignment=alignment)
        for number in range(5):
            writer.write(f"data/{number}", b"x" * number)
        writer.close()
        reader = ArchiveReader(io.BytesIO(buffer.getvalue()))
        for number in range(5):
            offset = reader.offset(f"data/{number}")
            assert offset is not None and offset % alignment == 0
            assert reader.read(f"data/{number}") == b"x" * number
