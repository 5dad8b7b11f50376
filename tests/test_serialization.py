"""Files: what we save PyTorch loads, what it saves we load, and nothing in a file is obeyed."""

from __future__ import annotations

import collections
import io
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mindtorch.engine import tensor as engine
from mindtorch.engine.device import Device
from mindtorch.torch import _types, serialization, storage
from mindtorch.torch._zip_format import ArchiveReader, ArchiveWriter

torch = pytest.importorskip("torch")

ZIP = {"_use_new_zipfile_serialization": True}
LEGACY = {"_use_new_zipfile_serialization": False}
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
WITHOUT_CLASS = ("uint16", "uint32", "uint64")


def torch_file(obj: Any, **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def our_file(obj: Any, **options: Any) -> io.BytesIO:
    buffer = io.BytesIO()
    serialization.save(obj, buffer, **options)
    buffer.seek(0)
    return buffer


def to_numpy(tensor: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor, ours or PyTorch's."""
    if isinstance(tensor, engine.Tensor):
        return np.array(tensor.array())
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def ours_like(tensor: Any) -> engine.Tensor:
    """Our tensor with the values of PyTorch's."""
    return engine.from_array(to_numpy(tensor).copy())


def assert_same(ours: Any, theirs: Any) -> None:
    """Values, type and layout agree."""
    assert isinstance(ours, engine.Tensor)
    assert str(ours.aval.dtype) == str(theirs.dtype)
    assert ours.aval.shape == tuple(theirs.shape)
    assert ours.aval.strides == theirs.stride()
    assert ours._offset == theirs.storage_offset()
    assert to_numpy(ours).tobytes() == to_numpy(theirs).tobytes()


def sample(dtype: str, shape: tuple[int, ...] = (3, 4)) -> Any:
    values = torch.arange(int(np.prod(shape))).reshape(shape) - 2 * (dtype[0] != "u")
    tensor = values.to(getattr(torch, dtype))
    return tensor * (1 + 2j) if dtype.startswith("complex") else tensor


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


def plain_objects(torch_like: Any) -> dict[str, Any]:
    """Everything besides tensors that a restricted load accepts."""
    return {
        "numbers": [0, 1, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**70, -(2**70), 1.5, 1e300],
        "constants": (None, True, False, ()),
        "text": ["", "ascii", "grüße \ud800", "x" * 300],
        "nested": {"a": {"b": [{"c": (1, (2, (3, 4, 5)))}]}, 7: "int key", (1, 2): "tuple key"},
        "bytes": [b"abc\xff\x00", bytearray(b"xyz\x80")],
        "complex": 1 - 2j,
        "sets": [set(), {1, 2, 3}],
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
        "counter": collections.Counter("hello"),
        "size": torch_like.Size([2, 3]),
        "dtypes": [getattr(torch_like, name) for name in DTYPES],
        "devices": [torch_like.device("cpu"), torch_like.device("cuda", 1)],
        "layout": torch_like.strided,
    }


class OurNames:
    """The few names of our namespace that `plain_objects` needs."""

    Size = _types.Size
    device = Device
    strided = _types.strided


for _name in DTYPES:
    from mindtorch.engine import dtypes as _dtypes

    setattr(OurNames, _name, _dtypes.by_name(_name))


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
    mine = {"w": base, "v": view(base, 1, (2, 2), (4, 1)), "plain": plain_objects(OurNames)}
    torchs = {"w": theirs, "v": theirs[:2, 1:3], "plain": plain_objects(torch)}
    for objects in (mine, torchs):
        del objects["plain"]["devices"]  # the text "cpu" is one object here, two in PyTorch
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
    from mindtorch.torch._utils import _tensor_from_storage

    return _tensor_from_storage(base._shared, base.aval.dtype, offset, shape, strides)


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
    typed = storage.TypedStorage([1.5, 2.5], dtype=_dtypes.float64, _internal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = torch.load(our_file([untyped, typed]), weights_only=True)
        assert list(loaded[0]) == [1, 2, 3]
        assert loaded[1].tolist() == [1.5, 2.5]


# -------------------------------------------------------------------------------- never executed


class Evil:
    """Unpickling it would run a program."""

    def __reduce__(self) -> Any:
        return (os.system, ("touch /tmp/mindtorch-was-here",))


class Plain:
    """A user's class."""

    def __init__(self) -> None:
        self.value = 3


class Evaluated:
    def __reduce__(self) -> Any:
        return (eval, ("1 + 1",))


def error_of(function: Callable[[], Any]) -> BaseException:
    try:
        function()
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


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
    with serialization.safe_globals([Plain]):
        assert serialization.get_safe_globals() == [Plain]
        assert serialization.load(file)["x"].value == 3
    assert serialization.get_safe_globals() == []
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Plain was not an allowed global"):
        serialization.load(file)


def test_a_safe_global_may_be_given_under_another_name() -> None:
    """A pair (object, full name) answers for a class that has moved."""
    raw = our_file(Plain()).getvalue().replace(b"Plain", b"Elsew")
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
    assert expected == ["builtins.eval", f"{__name__}.Plain"]


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
    obj = {"t": ours_like(theirs), "d": _dtypes.float32, "o": Plain()}
    file = our_file(obj, pickle_protocol=protocol)
    assert torch.equal(torch.load(file, weights_only=False)["t"], theirs)
    file.seek(0)
    assert_same(serialization.load(file, weights_only=False)["t"], theirs)


def patched_pickle(old: bytes, new: bytes) -> bytes:
    """A file of one 2x3 tensor, with one place of its pickle changed."""
    raw = torch_file({"a": torch.arange(6.0).reshape(2, 3)}).getvalue()
    records = records_of(raw)
    assert records["archive/data.pkl"].count(old) >= 1
    records["archive/data.pkl"] = records["archive/data.pkl"].replace(old, new, 1)
    return zipped(records)


def records_of(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in records.items():
            archive.writestr(name, data)
    return buffer.getvalue()


LAYOUTS = {
    "one element more": (b"K\x06t", b"K\x07t", RuntimeError, "record size"),
    "one element less": (b"K\x06t", b"K\x05t", RuntimeError, "record size"),
    "negative length": (b"K\x06t", b"J\xff\xff\xff\xfft", TypeError, "length of a storage"),
    "length is text": (b"K\x06t", b"X\1\0\0\0at", TypeError, "length of a storage"),
    "absurd length": (b"K\x06t", b"\x8a\x08" + b"\xff" * 7 + b"\x7ft", TypeError, "length"),
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
        RuntimeError, "out of bounds",
    ),
    "another record": (
        b"X\x01\0\0\x000", b"X\x0b\0\0\x00../data.pkl", RuntimeError, "failed locating file"
    ),
    "absolute path": (
        b"X\x01\0\0\x000", b"X\x0b\0\0\x00/etc/passwd", RuntimeError, "failed locating file"
    ),
    "key is a number": (b"X\x01\0\0\x000", b"K\0", TypeError, "malformed storage reference"),
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


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_pickle_is_an_unpickling_error(name: str) -> None:
    """Never an IndexError from within, never a call."""
    records = records_of(torch_file(1).getvalue())
    records["archive/data.pkl"] = MALFORMED[name]
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        serialization.load(io.BytesIO(zipped(records)))


def test_a_file_may_not_reach_into_a_tensor() -> None:
    """State of a subclass sets attributes, but none of the engine's and no dunder."""
    from mindtorch.torch._utils import _rebuild_from_type_v2, _set_state

    tensor = engine.from_array(np.ones(2))
    _set_state(tensor, {"note": "fine"})
    assert tensor.note == "fine"
    for name in ("flat", "aval", "_storage", "_offset", "__class__", "__dict__"):
        with pytest.raises(RuntimeError, match="may not set"):
            _set_state(tensor, {name: 1})
    with pytest.raises(TypeError, match="does not rebuild tensors"):
        _rebuild_from_type_v2(os.system, engine.Tensor, ("true",), {})


# ------------------------------------------------------------------------------------ damaged


GOOD = {"a": np.arange(6, dtype=np.float32).reshape(2, 3)}


def good() -> bytes:
    return our_file({"a": engine.from_array(GOOD["a"])}).getvalue()


def test_an_archive_cut_anywhere_is_reported_as_torch_does() -> None:
    """Every length of the file: a RuntimeError of the same type and text as torch's."""
    raw = good()
    for length in [*range(4, 200, 7), *range(200, len(raw), 61), len(raw) - 1]:
        mine = error_of(lambda: serialization.load(io.BytesIO(raw[:length])))  # noqa: B023
        theirs = error_of(lambda: torch.load(io.BytesIO(raw[:length])))  # noqa: B023
        assert type(mine) is type(theirs) is RuntimeError
        assert str(mine) == str(theirs)


def test_a_changed_byte_never_crashes() -> None:
    """One damaged byte gives the tensor with other values, or one of the documented errors."""
    raw = good()
    allowed = (RuntimeError, EOFError, ValueError, TypeError, pickle.UnpicklingError)
    allowed += (NotImplementedError,)
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
                assert tensor.array().size <= 6


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
        with pytest.raises(RuntimeError, match="Invalid magic number; corrupt file?"):
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
    with pytest.raises(RuntimeError, match="legacy .tar format"):
        serialization.load(path)
    with pytest.raises(RuntimeError, match="does not read the .tar format"):
        serialization.load(path, weights_only=False)


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
    cases = [("save", (1, path)), ("load", (path,)), ("load", (str(tmp_path),))]
    cases += [("save", (1, 5)), ("save", (1, None)), ("load", (5,))]
    for name, args in cases:
        mine = error_of(lambda: getattr(serialization, name)(*args))  # noqa: B023
        theirs = error_of(lambda: getattr(torch, name)(*args))  # noqa: B023
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
    from mindtorch.torch import _zip_format

    monkeypatch.setattr(_zip_format, "_LIMIT32", 10)
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
    assert np.array_equal(
        loaded(lambda s, tag: seen.append((s.nbytes(), tag))).array(), GOOD["a"]
    )
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
    from mindtorch.torch import _locations

    before = list(_locations._packages)
    serialization.register_package(5, lambda s: "shelf", lambda s, tag: s if tag == "shelf" else None)
    try:
        raw = good()
        assert b"shelf" in raw
        assert np.array_equal(serialization.load(io.BytesIO(raw))["a"].array(), GOOD["a"])
    finally:
        _locations._packages[:] = before
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
    from mindtorch.torch._utils import _tensor_from_storage

    other = _tensor_from_storage(base._shared, _dtypes.int32, 0, (4,), (1,))
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
