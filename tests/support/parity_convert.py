"""torch's objects as ours: tensors with their layouts, arguments, callables, sparse tensors."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import torch
from torch.testing._internal.opinfo.core import OpInfo

import mindtorch.torch as ours


class MissingError(Exception):
    """Our namespace lacks what the entry calls."""


# --- from torch's objects to ours -----------------------------------------------------------------


def numpy_of(tensor: torch.Tensor) -> Any:
    """The elements as a numpy array, bfloat16 included."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor._is_zerotensor():
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    if tensor.dtype is torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if tensor.dtype is torch.complex32:
        tensor = tensor.to(torch.complex64)
    return tensor.contiguous().numpy()


def numpy_of_ours(tensor: Any) -> Any:
    """The elements of one of our tensors as a numpy array, bfloat16 included."""
    tensor = tensor.detach().resolve_conj()
    if tensor.dtype is ours.bfloat16:
        return tensor.contiguous().view(ours.int16).numpy().view(ml_dtypes.bfloat16)
    if tensor.dtype is ours.complex32:
        tensor = tensor.to(ours.complex64)
    return tensor.numpy()


PARTS = {  # of sparse tensors, by layout: what is compared, and what makes one
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
}


def sparse_to_ours(tensor: torch.Tensor) -> Any:
    parts = [tensor_to_ours(getattr(tensor.detach(), name)()) for name in PARTS[tensor.layout]]
    make = named(f"{str(tensor.layout).removeprefix('torch.')}_tensor")
    extra = {}
    if tensor.layout is torch.sparse_coo:
        extra["is_coalesced"] = tensor.is_coalesced()
    return make(*parts, tuple(tensor.shape), **extra).requires_grad_(tensor.requires_grad)


# while arguments share memory as torch's do: our tensor for each of torch's storages
memory: dict[tuple[int, torch.dtype], Any] | None = None


@contextmanager
def shared_memory() -> Iterator[None]:
    """Tensors over one storage of torch's become tensors over one of ours."""
    global memory
    memory = {}
    try:
        yield
    finally:
        memory = None


def view_to_ours(tensor: torch.Tensor) -> Any:
    """A tensor over the part of our memory that stands for its part of torch's."""
    assert memory is not None
    storage = tensor.untyped_storage()
    key = storage.data_ptr(), tensor.dtype
    if key not in memory:
        count = storage.nbytes() // tensor.itemsize
        whole = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))
        memory[key] = ours.from_numpy(numpy_of(whole.clone()))
    offset = int(tensor.storage_offset())
    return ours.as_strided(memory[key], tensor.shape, tensor.stride(), offset)


def tensor_to_ours(tensor: torch.Tensor) -> Any:
    if tensor.layout in PARTS:
        return sparse_to_ours(tensor)
    if tensor.device.type == "meta":
        kind = named(str(tensor.dtype).removeprefix("torch."))
        return ours.empty_strided(tensor.shape, tensor.stride(), dtype=kind, device="meta")
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        raise MissingError(f"{tensor.layout} on {tensor.device}")
    dtype = getattr(ours, str(tensor.dtype).removeprefix("torch."), None)
    if dtype is None:
        raise MissingError(str(tensor.dtype))
    if memory is not None and not tensor.requires_grad and tensor.numel():
        return view_to_ours(tensor)
    if memory is not None and not tensor.requires_grad:  # an empty one may be given twice
        return memory.setdefault((-id(tensor), tensor.dtype), ours.empty(tensor.shape, dtype=dtype))
    if tensor.ndim > 64:  # more than numpy has
        made = ours.from_numpy(numpy_of(tensor.flatten()).copy()).reshape(tensor.shape)
    elif tensor.untyped_storage().nbytes() != tensor.numel() * tensor.itemsize:  # a view
        count = tensor.untyped_storage().nbytes() // tensor.itemsize
        whole = tensor.detach().as_strided((count,), (1,), 0)
        made = ours.from_numpy(numpy_of(whole).copy())
        made = ours.as_strided(made, tensor.shape, tensor.stride(), int(tensor.storage_offset()))
        made = made.detach()
    elif tensor.is_contiguous():
        made = ours.from_numpy(numpy_of(tensor).copy())
    else:
        made = ours.empty_strided(tensor.shape, tensor.stride(), dtype=dtype)
        made.copy_(ours.from_numpy(numpy_of(tensor).copy()))
    return made.requires_grad_(tensor.requires_grad)


def to_ours(value: Any) -> Any:
    """The counterpart of an argument."""
    if isinstance(value, torch.nn.Parameter):
        return ours.nn.Parameter(tensor_to_ours(value.data), value.requires_grad)
    if isinstance(value, torch.Tensor):
        return tensor_to_ours(value)
    if isinstance(value, torch.Size):
        return ours.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(to_ours, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(to_ours, value))
    if isinstance(value, dict):
        return {k: to_ours(v) for k, v in value.items()}
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return named(str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return named("device")(str(value))
    if isinstance(value, types.FunctionType):
        return rebound(value)
    if isinstance(value, OpInfo):
        return value
    if isinstance(value, torch.Generator):
        made = ours.Generator()
        made.set_state(tensor_to_ours(value.get_state()))
        return made
    if isinstance(value, torch.nn.Module):
        names = set(inspect.signature(type(value)).parameters) | {"norm"}
        settings = {k: v for k, v in vars(value).items() if k in names}
        made = counterpart(type(value))()
        assert settings.keys() <= vars(made).keys(), f"{type(made).__name__} lacks a setting"
        vars(made).update(to_ours(settings))
        return made
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value))
        return counterpart(type(value))(**{k: to_ours(getattr(value, k)) for k in fields})
    if value is torch or getattr(value, "__module__", "").startswith("torch.") or (
        getattr(torch, getattr(value, "__name__", ""), None) is value and value is not None
    ):
        return counterpart(value)
    return value


def named(path: str) -> Any:
    """What our namespace has under a dotted name."""
    found: Any = ours
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise MissingError(f"torch.{path}") from None
    return found


def counterpart(value: Any) -> Any:
    """Ours, for a function, method or class of torch's."""
    if value is torch:
        return ours
    if isinstance(value, torch.cuda.jiterator._JittedFunction):
        return named("cuda.jiterator._create_multi_output_jit_fn")(
            value.code_string, value.num_outputs, **value.kwargs_dict
        )
    if isinstance(value, torch._ops.OpOverload):
        return named(f"ops.{value}")
    if isinstance(value, torch._ops.OpOverloadPacket):
        return named(f"ops.{str(value).replace('::', '.')}")
    if isinstance(value, types.ModuleType):
        return named(value.__name__.removeprefix("torch."))
    if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
        return rebound(value)
    name = getattr(value, "__name__", "")
    owner = getattr(value, "__objclass__", None)
    if owner is not None and issubclass(torch.Tensor, owner):
        return named(f"Tensor.{name}")
    qualified = getattr(value, "__qualname__", name)
    if qualified.startswith(("Tensor.", "TensorBase.")):
        return named(f"Tensor.{name}")
    for place in (torch, torch.Tensor, torch.nn.functional, torch.linalg, torch.special, torch.fft):
        if getattr(place, name, None) is value:
            path = "" if place is torch else f"{place.__name__.removeprefix('torch.')}."
            return named(path + name)
    module = getattr(value, "__module__", None) or ""
    path = f"{module.removeprefix('torch').removeprefix('.')}.{name}".lstrip(".")
    return named(path.replace("functional.", "", 1) if path.startswith("functional.") else path)


def rebound(function: Any) -> Any:
    """A helper of torch's table with our namespace in the place of ``torch``."""
    known = {**function.__globals__, "torch": ours, "freeze_rng_state": ours.random.fork_rng}
    for name in function.__code__.co_names:
        value = None if name == "freeze_rng_state" else function.__globals__.get(name)
        if isinstance(value, types.FunctionType) and value.__module__.startswith("torch.testing"):
            known[name] = value if value is function else rebound(value)
    cells = function.__closure__ or ()
    made = types.FunctionType(
        function.__code__, known, function.__name__, function.__defaults__,
        tuple(types.CellType(to_ours(cell.cell_contents)) for cell in cells) or None,
    )  # fmt: skip
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def callable_of(info: Any) -> Any:
    """Our callable for an entry."""
    try:
        return counterpart(info.op)
    except MissingError:
        return named(info.name)
