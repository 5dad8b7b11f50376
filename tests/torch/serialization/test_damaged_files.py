"""Files that are damaged or hostile: nothing in them is obeyed, and the errors are torch's."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mindtorch.engine import dtypes
from mindtorch.engine import tensor as engine
from mindtorch.torch import serialization
from tests.support.archives import (
    GOOD,
    LEGACY,
    ZIP,
    Plain,
    assert_same,
    error_of,
    good,
    our_file,
    ours_like,
    patched_pickle,
    records_of,
    sample,
    torch_file,
    zipped,
)

torch = pytest.importorskip("torch")

# -------------------------------------------------------------------------------- never executed


class Evil:
    """Unpickling it would run a program."""

    def __reduce__(self) -> Any:
        return (os.system, ("touch /tmp/mindtorch-was-here",))


class Evaluated:
    def __reduce__(self) -> Any:
        return (eval, ("1 + 1",))


@pytest.mark.parametrize("make", [Evil, Plain, Evaluated, lambda: np.ones(2), lambda: b""])
@pytest.mark.parametrize("options", [ZIP, LEGACY], ids=["zip", "legacy"])
def test_what_torch_refuses_to_load_we_refuse_in_the_same_words(make: Any, options: Any) -> None:
    """Unknown and blocked globals: the exception and the whole text are torch's."""
    raw = torch_file({"x": make()}, **options).getvalue()
    mine = error_of(lambda: serialization.load(io.BytesIO(raw)))
    theirs = error_of(lambda: torch.load(io.BytesIO(raw), weights_only=True))
    assert type(mine) is type(theirs) is pickle.UnpicklingError
    assert str(mine) == str(theirs)


def test_safe_globals_allow_a_class_for_a_while() -> None:
    """Inside the block the class is built, outside it is refused again."""
    file = our_file({"x": Plain()})
    before = serialization.get_safe_globals()  # DTensors have some where they were imported
    with serialization.safe_globals([Plain]):
        assert set(serialization.get_safe_globals()) == {*before, Plain}
        assert serialization.load(file)["x"].value == 3
    assert set(serialization.get_safe_globals()) == set(before)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Plain was not an allowed global"):
        serialization.load(file)


def test_a_safe_global_may_be_given_under_another_name() -> None:
    """A pair (object, full name) answers for a class that has moved."""
    serialization.set_crc32_options(False)  # the file is changed afterwards
    try:
        raw = our_file(Plain()).getvalue().replace(b"Plain", b"Elsew")
    finally:
        serialization.set_crc32_options(True)
    serialization.add_safe_globals([(Plain, f"{Plain.__module__}.Elsew")])
    try:
        assert serialization.load(io.BytesIO(raw)).value == 3
    finally:
        serialization.clear_safe_globals()


def test_the_unsafe_names_of_a_file_can_be_listed() -> None:
    """Without loading anything."""
    file = our_file({"a": Plain(), "b": Evaluated(), "t": engine.from_array(np.ones(2))})
    expected = sorted(torch.serialization.get_unsafe_globals_in_checkpoint(file))
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == expected
    assert expected == ["builtins.eval", f"{Plain.__module__}.Plain"]


def test_a_full_load_finds_torchs_names_in_our_namespace() -> None:
    """weights_only=False builds users' classes, and tensors of ours, not of real torch."""
    for options in (ZIP, LEGACY):
        ours = serialization.load(
            torch_file({"x": torch.ones(2), "o": Plain()}, **options), weights_only=False
        )
        assert isinstance(ours["x"], engine.Tensor)
        assert ours["o"].value == 3


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_every_pickle_protocol_is_written_for_a_full_load(protocol: int) -> None:
    """Protocols besides 2 are for loading with weights_only=False, as in PyTorch."""
    theirs = sample("float32")
    obj = {"t": ours_like(theirs), "d": dtypes.float32, "o": Plain()}
    file = our_file(obj, pickle_protocol=protocol)
    assert torch.equal(torch.load(file, weights_only=False)["t"], theirs)
    file.seek(0)
    assert_same(serialization.load(file, weights_only=False)["t"], theirs)


BAD = pickle.UnpicklingError
LAYOUTS = {
    "one element more": (b"K\x06t", b"K\x07t", RuntimeError, "record size"),
    "one element less": (b"K\x06t", b"K\x05t", RuntimeError, "record size"),
    "negative length": (b"K\x06t", b"J\xff\xff\xff\xfft", BAD, "length of a storage"),
    "length is text": (b"K\x06t", b"X\1\0\0\0at", BAD, "length of a storage"),
    "absurd length": (b"K\x06t", b"\x8a\x08" + b"\xff" * 7 + b"\x7ft", BAD, "length"),
    "offset": (b"QK\x00", b"QK\x01", RuntimeError, "out of bounds for storage of size 24"),
    "negative offset": (b"QK\x00", b"QJ\xff\xff\xff\xff", RuntimeError, "invalid storage offset"),
    "more rows": (b"K\x02K\x03\x86", b"K\x03K\x03\x86", RuntimeError, "out of bounds"),
    "negative rows": (b"K\x02K\x03\x86", b"J\xfe\xff\xff\xffK\x03\x86", RuntimeError, "negative"),
    "stride": (b"K\x03K\x01\x86", b"K\x04K\x01\x86", RuntimeError, "out of bounds"),
    "negative stride": (b"K\x03K\x01\x86", b"J\xfd\xff\xff\xffK\x01\x86", RuntimeError, "egative"),
    "too few strides": (b"K\x03K\x01\x86", b"K\x01\x85", RuntimeError, "unequal size length"),
    "overflow": (
        b"K\x02K\x03\x86", b"\x8a\x09" + b"\0" * 8 + b"\1K\x03\x86", RuntimeError, "Overflow"
    ),
    "huge product": (
        b"K\x02K\x03\x86",
        b"\x8a\x08" + b"\0" * 7 + b"\x40\x8a\x08" + b"\0" * 7 + b"\x40\x86",
        RuntimeError, "numel: integer multiplication overflow",
    ),
    "another record": (
        b"X\x01\0\0\x000", b"X\x0b\0\0\x00../data.pkl", RuntimeError, "failed locating file"
    ),
    "absolute path": (
        b"X\x01\0\0\x000", b"X\x0b\0\0\x00/etc/passwd", RuntimeError, "failed locating file"
    ),
    "key is a number": (b"X\x01\0\0\x000", b"K\0", BAD, "malformed storage reference"),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_outside_of_its_storage_is_refused(name: str) -> None:
    """No file makes a tensor that reads memory which is not its own."""
    old, new, error, text = LAYOUTS[name]
    with pytest.raises(error, match=text):
        serialization.load(io.BytesIO(patched_pickle(old, new)))
    with pytest.raises(error, match=text):
        serialization.load(io.BytesIO(patched_pickle(old, new)), weights_only=False)


MALFORMED = {
    "too few arguments": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n)R.",
    "not a storage": b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(NK\x00))\x89NtR.",
    "no such layout": b"\x80\x02ctorch.serialization\n_get_layout\nX\1\0\0\0a\x85R.",
    "new device": b"\x80\x02ctorch\ndevice\n)\x81.",
    "no such opcode": b"\x80\x02\xff.",
    "protocol 4 opcode": b"\x80\x02\x93.",
    "empty stack": b"\x80\x02.",
    "reduce on nothing": b"\x80\x02R.",
    "memo": b"\x80\x02h\x05.",
    "put nothing": b"\x80\x02q\x05.",
    "mark": b"\x80\x02t.",
    "text": b"\x80\x02X\x01\0\0\0\xff.",
    "cut number": b"\x80\x02J\x01",
    "cut text": b"\x80\x02X\xff\xff\xff\xffabc",
    "cut global": b"\x80\x02ctorch",
    "call a list": b"\x80\x02])R.",
    "call a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "call a tensor type": b"\x80\x02ctorch\nTensor\n)R.",
    "arguments": b"\x80\x02ccollections\nOrderedDict\n]R.",
    "giant bytearray": b"\x80\x02c__builtin__\nbytearray\nJ\xff\xff\xff\x7f\x85R.",
    "encode elsewhere": b"\x80\x02c_codecs\nencode\nX\1\0\0\0aX\3\0\0\0hex\x86R.",
    "new list": b"\x80\x02])\x81.",
    "build a list": b"\x80\x02]}b.",
    "append to a tuple": b"\x80\x02)Na.",
    "extend a dict": b"\x80\x02}(Ne.",
    "set item of a list": b"\x80\x02]NNs.",
    "odd items": b"\x80\x02}(Nu.",
    "unhashable key": b"\x80\x02}]Ns.",
    "persistent text": b"\x80\x02X\1\0\0\0aQ.",
    "persistent other": b"\x80\x02X\1\0\0\0a\x85Q.",
    "short storage": b"\x80\x02X\7\0\0\0storage\x85Q.",
    "attribute chain": b"\x80\x02ctorch\nload.__globals__\n.",
    "module": b"\x80\x02cmindtorch.torch._pickle\nimportlib\n.",
    "getattr": b"\x80\x02c__builtin__\ngetattr\n.",
}


@given(
    edits=st.lists(
        st.tuples(st.integers(0, 10**6), st.sampled_from(["set", "cut", "insert"]), st.binary()),
        min_size=1, max_size=4,
    ),
    legacy=st.booleans(),
)  # fmt: skip
@settings(max_examples=300)
def test_no_edit_of_a_pickle_crashes(edits: list[tuple[int, str, bytes]], legacy: bool) -> None:
    """Whatever the bytes say: objects, or one of the documented errors."""
    obj = {"a": torch.arange(6.0).reshape(2, 3).t(), "h": sample("uint16"), "s": torch.Size([2])}
    if legacy:
        del obj["h"]
    raw = torch_file(obj, **(LEGACY if legacy else ZIP)).getvalue()
    records = {} if legacy else records_of(raw)
    data = bytearray(raw if legacy else records["archive/data.pkl"])
    for place, action, piece in edits:
        at = place % len(data)
        data[at : at + (len(piece) if action != "insert" else 0)] = (
            b"" if action == "cut" else piece
        )
    if not legacy:
        records["archive/data.pkl"] = bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(RuntimeError, EOFError, pickle.UnpicklingError):
            serialization.load(io.BytesIO(bytes(data) if legacy else zipped(records)))


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_pickle_is_an_unpickling_error(name: str) -> None:
    """Never an IndexError from within, never a call."""
    records = records_of(torch_file(1).getvalue())
    records["archive/data.pkl"] = MALFORMED[name]
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        serialization.load(io.BytesIO(zipped(records)))


def test_a_file_may_not_reach_into_a_tensor() -> None:
    """State of a subclass sets attributes, but none of the engine's and no dunder."""
    from mindtorch.torch import _utils

    tensor: Any = engine.from_array(np.ones(2))
    _utils._set_state(tensor, {"note": "fine"})
    assert tensor.note == "fine"
    for name in ("flat", "aval", "_storage", "_offset", "__class__", "__dict__"):
        with pytest.raises(RuntimeError, match="may not set"):
            _utils._set_state(tensor, {name: 1})
    with pytest.raises(TypeError, match="does not rebuild tensors"):
        _utils._rebuild_from_type_v2(os.system, engine.Tensor, ("true",), {})


# ------------------------------------------------------------------------------------ damaged


def test_an_archive_cut_anywhere_is_reported_as_torch_does() -> None:
    """Every length of the file: a RuntimeError of the same type and text as torch's."""
    raw = good()
    for length in [*range(4, 200, 7), *range(200, len(raw), 61), len(raw) - 1]:
        mine = error_of(serialization.load, io.BytesIO(raw[:length]))
        theirs = error_of(torch.load, io.BytesIO(raw[:length]))
        assert type(mine) is type(theirs) is RuntimeError
        assert str(mine) == str(theirs)


def test_a_changed_byte_never_changes_elements() -> None:
    """One damaged byte gives the same values under some name, or one of the documented errors."""
    raw = good()
    allowed = (RuntimeError, EOFError, ValueError, pickle.UnpicklingError)
    for place in range(0, len(raw), 3):
        damaged = bytearray(raw)
        damaged[place] ^= 0x55
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = serialization.load(io.BytesIO(bytes(damaged)))
            except allowed:
                continue
        for tensor in loaded.values() if isinstance(loaded, dict) else ():
            if isinstance(tensor, engine.Tensor):
                known = {element for array in GOOD.values() for element in array.ravel().tolist()}
                assert known.issuperset(tensor.array().ravel().tolist()), place


def test_a_changed_description_is_refused() -> None:
    """PyTorch does not compare the checksum of the pickle, and reads another number there."""
    raw = our_file({"epoch": 1234567}).getvalue()
    changed = raw.replace((1234567).to_bytes(4, "little"), (1234568).to_bytes(4, "little"))
    assert torch.load(io.BytesIO(changed)) == {"epoch": 1234568}
    with pytest.raises(RuntimeError, match=r"data\.pkl: CRC-32 check failed"):
        serialization.load(io.BytesIO(changed))


def test_elements_whose_checksum_is_wrong_are_read_by_mmap_only(tmp_path: Path) -> None:
    """A file that was written to after it was saved can still be had, knowingly."""
    raw = bytearray(good())
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        start = archive.getinfo("archive/data/0").header_offset
    place = raw.index(GOOD["a"].tobytes(), start)
    raw[place] ^= 1
    path = tmp_path / "damaged.pt"
    path.write_bytes(raw)
    with pytest.raises(RuntimeError, match="data/0: CRC-32 check failed; mmap=True"):
        serialization.load(path)
    assert serialization.load(path, mmap=True)["a"].array().shape == GOOD["a"].shape


RECORDS = {
    "no pickle": ("data.pkl", None),
    "no elements": ("data/0", None),
    "no version": ("version", None),
    "short elements": ("data/0", b"abc"),
    "long elements": ("data/0", b"a" * 100),
    "byte order": ("byteorder", b"mid"),
    "newer version": ("version", b"99\n"),
    "version is text": ("version", b"xx\n"),
    "empty pickle": ("data.pkl", b""),
}


@pytest.mark.parametrize("name", RECORDS)
def test_missing_and_wrong_records_raise_what_torch_raises(name: str) -> None:
    """The exception's type, and the beginning of torch's text without its place in C++."""
    records = records_of(good())
    record, data = RECORDS[name]
    if data is None:
        del records["archive/" + record]
    else:
        records["archive/" + record] = data
    raw = zipped(records)
    mine = error_of(lambda: serialization.load(io.BytesIO(raw)))
    theirs = error_of(lambda: torch.load(io.BytesIO(raw)))
    assert type(mine) is type(theirs)
    if str(theirs):
        assert str(mine) in str(theirs)


def test_an_archive_without_a_common_folder_is_refused() -> None:
    """A zip file that no save has made."""
    for names in (["readme.txt"], ["archive/version", "other/data.pkl"]):
        raw = zipped(dict.fromkeys(names, b"3\n"))
        with pytest.raises(RuntimeError, match="file in archive is not in a subdirectory"):
            serialization.load(io.BytesIO(raw))


def test_records_that_another_program_compressed_are_read() -> None:
    """Unpacking and zipping a file again gives deflated records."""
    raw = zipped(records_of(good()), zipfile.ZIP_DEFLATED)
    assert np.array_equal(serialization.load(io.BytesIO(raw))["a"].array(), GOOD["a"])


def test_a_compressed_record_may_not_grow_without_bounds() -> None:
    """A size in the directory that the stored bytes cannot account for is damage."""
    raw = zipped(records_of(good()), zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        size = archive.getinfo("archive/data.pkl").file_size
    place = raw.rindex(b"archive/data.pkl") - 46 + 24
    assert raw[place : place + 4] == size.to_bytes(4, "little")
    forged = raw[:place] + (2**31).to_bytes(4, "little") + raw[place + 4 :]
    with pytest.raises(RuntimeError, match="sizes disagree"):
        serialization.load(io.BytesIO(forged))


def test_empty_files_and_other_files() -> None:
    """Nothing at all is an EOFError; something else is not a pickle, or not one of ours."""
    for weights_only in (True, False):
        with pytest.raises(EOFError, match="Ran out of input"):
            serialization.load(io.BytesIO(b""), weights_only=weights_only)
        with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file"):
            serialization.load(io.BytesIO(pickle.dumps(1, 2)), weights_only=weights_only)
        with pytest.raises(pickle.UnpicklingError):
            serialization.load(io.BytesIO(b"hello, this is garbage"), weights_only=weights_only)


def test_a_legacy_file_cut_anywhere_is_an_error() -> None:
    """No length gives a tensor with elements that were never read."""
    raw = torch_file({"a": torch.arange(6.0), "b": torch.ones(3)}, **LEGACY).getvalue()
    errors = (EOFError, RuntimeError, pickle.UnpicklingError)
    for length in range(0, len(raw), 3):
        with pytest.raises(errors):
            serialization.load(io.BytesIO(raw[:length]))


def test_a_legacy_file_may_not_claim_more_than_it_holds() -> None:
    """A storage larger than the file is refused before memory is taken."""
    raw = torch_file({"a": torch.arange(6.0)}, **LEGACY).getvalue()
    forged = raw.replace(b"K\x06Nt", b"J\xff\xff\xff\x7fNt")
    assert forged != raw
    with pytest.raises(RuntimeError, match="unexpected EOF"):
        serialization.load(io.BytesIO(forged))
    forged = raw.replace(b"\x06\0\0\0\0\0\0\0", b"\x05\0\0\0\0\0\0\0")
    with pytest.raises(RuntimeError, match="wrong byte size: expected 24 got 20"):
        serialization.load(io.BytesIO(forged))


def test_the_tar_format_is_named_in_the_error(tmp_path: Path) -> None:
    """PyTorch 0.1's files are recognised, not misread."""
    import tarfile

    path = tmp_path / "old.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("storages"))
    with pytest.raises(RuntimeError, match=r"legacy \.tar format"):
        serialization.load(path)
    with pytest.raises(RuntimeError, match=r"does not read the \.tar format"):
        serialization.load(path, weights_only=False)
