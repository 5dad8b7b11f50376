"""Storages behave as PyTorch's: memory shared with tensors, bytes, elements, errors."""

from __future__ import annotations

import copy
import pickle
import warnings
from array import array as array_of
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.torch import storage
from mindtorch.torch._api import warn_caller
from tests.support.archives import error_of

torch = pytest.importorskip("torch")


def quietly(function: Callable[[], Any]) -> Any:
    """The result of ``function`` without the warning that typed storages are deprecated."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "TypedStorage is deprecated")
        return function()


def test_a_tensor_and_its_storage_are_the_same_memory() -> None:
    """Writing bytes changes the tensor and its views; the version counter sees it."""
    tensor = mt.zeros(2, 3)
    view = tensor[1]
    bytes_ = view.untyped_storage()
    assert bytes_.nbytes() == 24
    assert bytes_.data_ptr() == tensor.data_ptr() == view.data_ptr() - 12
    assert bytes_ == tensor.untyped_storage()
    before = tensor._version
    bytes_[15] = 0x3F
    bytes_[14] = 0x80
    assert tensor[1, 0].item() == 1.0
    assert tensor._version > before


@pytest.mark.parametrize("lib", [mt, torch], ids=["ours", "torch"])
def test_untyped_storages_act_alike(lib: Any) -> None:
    """The same statements hold for ours and for PyTorch's."""
    made = lib.UntypedStorage(4)
    made.fill_(7)
    assert made.tolist() == [7, 7, 7, 7]
    assert len(made) == made.size() == made.nbytes() == 4
    assert made.element_size() == 1
    made[1] = 9
    part = made[1:3]
    part[1] = 5
    assert list(made) == [7, 9, 5, 7]
    clone = made.clone()
    clone[0] = 1
    assert made[0] == 7
    assert made[-1] == 7
    made.resize_(6)
    assert made.tolist()[:4] == [7, 9, 5, 7]
    assert made.nbytes() == 6
    assert made.resizable()
    assert not made.is_cuda
    assert str(made.device) == "cpu"
    other = lib.UntypedStorage(6)
    other.copy_(made)
    assert other.tolist() == made.tolist()
    assert made.cpu() is made
    assert lib.UntypedStorage([1, 2, 3]).tolist() == [1, 2, 3]
    assert lib.UntypedStorage(3, device="meta").nbytes() == 3


@pytest.mark.parametrize("index", [4, -5])
def test_an_index_outside_is_an_index_error(index: int) -> None:
    """Reading and writing beyond either end."""
    made = mt.UntypedStorage(4)
    for access in (lambda: made[index], lambda: made.__setitem__(index, 1)):
        assert isinstance(error_of(access), IndexError)
    assert isinstance(error_of(lambda: torch.UntypedStorage(4)[index]), IndexError)


def test_errors_are_torchs() -> None:
    """A step in a slice, another length, no memory on meta."""
    mine, theirs = mt.UntypedStorage(4), torch.UntypedStorage(4)
    for access in (lambda s: s[::2], lambda s: s.copy_(type(s)(3))):
        ours, torchs = error_of(access, mine), error_of(access, theirs)
        assert type(ours) is type(torchs)
        assert str(ours) == str(torchs)
    meta = mt.UntypedStorage(4, device="meta")
    with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
        meta[0]


def test_typed_storages_show_elements() -> None:
    """``tensor.storage()`` warns, and gives the elements of the whole storage."""
    tensor = mt.arange(6, dtype=mt.float64).reshape(2, 3)[1]
    warn_caller._told.clear()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        typed = tensor.storage()
    assert typed.tolist() == list(typed) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert typed.dtype is mt.float64
    assert len(typed) == typed.size() == 6
    assert typed.nbytes() == 48
    assert typed.element_size() == 8
    typed[4] = 40.0
    assert tensor[1].item() == 40.0
    assert typed.pickle_storage_type() == "DoubleStorage"
    assert typed.untyped() == tensor.untyped_storage()
    theirs = quietly(lambda: torch.arange(6, dtype=torch.float64).storage())
    for name in ("element_size", "size", "nbytes"):
        assert getattr(typed, name)() == quietly(getattr(theirs, name))


@pytest.mark.parametrize("name", ["FloatStorage", "LongStorage", "BoolStorage", "BFloat16Storage"])
def test_the_old_storage_classes_exist(name: str) -> None:
    """``torch.FloatStorage([1, 2])`` makes a typed storage of its dtype."""
    ours = quietly(lambda: getattr(mt, name)([1, 0, 1]))
    theirs = quietly(lambda: getattr(torch, name)([1, 0, 1]))
    assert ours.tolist() == quietly(theirs.tolist)
    assert str(ours.dtype) == str(quietly(lambda: theirs.dtype))
    assert isinstance(ours, mt.TypedStorage)


def test_copies_are_separate_and_shared_ones_stay_shared() -> None:
    """copy.deepcopy and pickle; two tensors over one storage are so in the copy."""
    made = mt.UntypedStorage([1, 2, 3])
    for copied in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert copied.tolist() == [1, 2, 3]
        copied[0] = 9
        assert made[0] == 1
    tensor = mt.ones(4)
    first, second = copy.deepcopy([tensor, tensor[1:]])
    first[1] = 5.0
    assert second[0].item() == 5.0
    assert tensor[1].item() == 1.0


def test_tensors_survive_plain_pickling() -> None:
    """``pickle.dumps(tensor)``: values, strides, requires_grad."""
    tensor = mt.arange(6.0).reshape(2, 3).t().requires_grad_()
    loaded = pickle.loads(pickle.dumps(tensor))
    assert loaded.requires_grad
    assert loaded.stride() == (1, 3)
    assert loaded.tolist() == tensor.tolist()


def test_a_file_can_be_a_storage(tmp_path: Path) -> None:
    """from_file maps a file, privately or shared, and lengthens it when shared."""
    path = str(tmp_path / "bytes")
    shared = storage.UntypedStorage.from_file(path, True, 4)
    shared.fill_(3)
    assert (tmp_path / "bytes").stat().st_size == 4
    private = storage.UntypedStorage.from_file(path, False, 4)
    assert private.tolist() == [3, 3, 3, 3]
    private.fill_(1)
    assert torch.UntypedStorage.from_file(path, False, 4).tolist() == [3, 3, 3, 3]


def test_the_printed_form_is_torchs() -> None:
    """Elements one to a line, then the class, device and size."""
    assert repr(mt.UntypedStorage([1, 22])) == repr(torch.UntypedStorage([1, 22]))
    mine = quietly(lambda: mt.tensor([1.5, 2.0]).storage())
    theirs = quietly(lambda: torch.tensor([1.5, 2.0]).storage())
    assert repr(mine) == quietly(lambda: repr(theirs))


# ------------------------------------------------------------------------------------------ numpy


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32,
              np.float64, np.complex64, np.complex128, np.uint16, np.uint32, np.uint64],
)  # fmt: skip
def test_from_numpy_and_numpy_share_memory(dtype: Any) -> None:
    """Writing on either side shows on the other; type, shape and strides are kept."""
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for shown in (array, array[1:, ::2], array.T):
        ours, theirs = mt.from_numpy(shown), torch.from_numpy(shown)
        assert str(ours.dtype) == str(theirs.dtype)
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert ours.stride() == theirs.stride()
        back = ours.numpy()
        assert back.dtype == shown.dtype
        assert back.strides == shown.strides
        assert np.shares_memory(back, array)
        assert np.array_equal(back, shown)
        back[...] = 1
        assert shown.all()


def test_what_numpy_cannot_share_is_an_error_as_in_torch() -> None:
    """Negative strides, odd types, objects, foreign byte order, things that are no arrays."""
    array = np.arange(4.0)
    cases: list[Any] = [array[::-1], array.astype(">f8"), np.array(["a"]), np.array([object()])]
    cases += [array.astype("M8[s]"), np.float32(1), [1.0]]
    for case in cases:
        ours, theirs = error_of(mt.from_numpy, case), error_of(torch.from_numpy, case)
        assert type(ours) is type(theirs), case
        assert str(ours) == str(theirs), case


def test_numpy_refuses_what_torch_refuses() -> None:
    """A tensor that requires a gradient, bfloat16, meta; ``force=True`` detaches."""
    for lib in (mt, torch):
        leaf = lib.ones(2, requires_grad=True)
        with pytest.raises(RuntimeError, match=r"requires grad. Use tensor.detach\(\).numpy\(\)"):
            leaf.numpy()
        assert leaf.numpy(force=True).tolist() == [1.0, 1.0]
        with pytest.raises(TypeError, match="unsupported ScalarType BFloat16"):
            lib.ones(2, dtype=lib.bfloat16).numpy()


def test_numpy_functions_take_tensors() -> None:
    """``np.asarray`` shares memory, ``np.array`` copies, ufuncs and reductions work."""
    tensor = mt.arange(6.0).reshape(2, 3)
    shared = np.asarray(tensor)
    assert np.shares_memory(shared, tensor.numpy())
    assert not np.shares_memory(np.array(tensor), tensor.numpy())
    assert np.asarray(tensor, dtype=np.int32).dtype == np.int32
    assert np.array_equal(np.sum(shared, axis=0), [3, 5, 7])
    applied = np.exp(tensor)
    assert type(applied) is mt.Tensor
    assert np.array_equal(applied.numpy(), np.exp(shared))


def test_numpy_arrays_and_numbers_mix_with_tensors() -> None:
    """``tensor + array``, ``array * tensor``, numpy numbers, ``torch.tensor`` of arrays."""
    array = np.arange(3, dtype=np.float32)
    results = []
    for lib in (mt, torch):
        warnings.filterwarnings("ignore", "__array_wrap__ must accept", DeprecationWarning)
        tensor = lib.tensor([1.0, 2.0, 3.0])
        made = [lib.tensor(array), lib.as_tensor(array), lib.tensor(np.float64(2.5))]
        made += [lib.tensor([array_of("d", [1, 2]), [3, 4]]), tensor * np.float32(2.0)]
        made += [lib.tensor([np.int64(1), np.int64(2)]), tensor + np.array(3.0)]
        made += [lib.Tensor(np.array(3.0)), lib.LongTensor(np.array(3.0)), np.isnan(tensor)]
        made += [np.maximum(tensor[0], tensor[1]), np.matmul(tensor, tensor)]
        made += [tensor[0] + np.array(3.0), lib.Tensor(np.int64(0)), lib.Tensor(np.array(0))]
        results.append([(str(t.dtype), np.asarray(t).tolist()) for t in made])
        assert np.shares_memory(lib.as_tensor(array).numpy(), array)
        assert not np.shares_memory(lib.tensor(array).numpy(), array)
    assert results[0] == results[1]


@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("maker", ["Tensor", "LongTensor", "tensor", "as_tensor"])
def test_tensors_of_storages_share_their_memory(maker: str, typed: bool, kind: str) -> None:
    """A storage of another type than the one asked for is refused."""

    def made(lib: Any) -> Any:
        storage = lib.arange(4).to(getattr(lib, kind)).storage()
        storage = storage if typed else storage.untyped()
        try:
            tensor = getattr(lib, maker)(storage)
        except RuntimeError as error:
            return str(error)
        tensor[1] = 7
        return (str(tensor.dtype), tensor.tolist(), list(storage))

    assert quietly(lambda: made(mt)) == quietly(lambda: made(torch))


def test_a_deep_copy_has_elements_of_its_type() -> None:
    """A graph writes to the buffers of a copied model, as to those of the model it is of."""
    layer = mt.nn.BatchNorm1d(2)
    layer.num_batches_tracked.add_(4)
    copied = copy.deepcopy(layer)
    with mt.no_grad():
        mt.compile(copied, fullgraph=True)(mt.ones(3, 2))
    assert (int(copied.num_batches_tracked), int(layer.num_batches_tracked)) == (5, 4)
