"""Every entry of PyTorch's own table of ops compiled: bit for bit what eager calls give.

Each sample is called five times in each way, the last two with other values: results with their
strides, what they share memory with, arguments that were written to, gradients, the state of the
generator, and errors.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_methods_invocations")

from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import mindtorch.torch as ours  # noqa: E402
from mindtorch.engine.compile.passes import fusion  # noqa: E402
from tests.support import parity  # noqa: E402
from tests.support.compiled_kinds import arrays, first_difference, wrapped  # noqa: E402
from tests.support.parity_convert import MissingError, callable_of, counterpart, to_ours  # noqa: E402
from tests.support.parity_known import UNINITIALISED  # noqa: E402

pytestmark = pytest.mark.exhaustive
MOST = int(os.environ.get("MINDTORCH_SAMPLES", "8"))
DTYPES = os.environ.get("MINDTORCH_DTYPES", "first,int64,complex64,bfloat16").split(",")
# samples whose loops are compiled whatever their size
FUSED = int(os.environ.get("MINDTORCH_FUSED", "2"))
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def other_values(value: Any) -> Any:
    """The same structure with the elements of each tensor in another order."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or value.numel() < 2 or value.is_meta:
            return value
        moved = value.detach().clone()
        moved.copy_(value.detach().flatten().roll(1).reshape(value.shape))
        return moved.requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(map(other_values, value))
    return {k: other_values(v) for k, v in value.items()} if type(value) is dict else value


def between(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call`` amid elementwise ops, which are fused with what it does."""

    def doubled(value: Any) -> Any:
        if isinstance(value, ours.Tensor) and value.is_floating_point() and is_plain(value):
            return value * 2 * 0.5
        return type(value)(map(doubled, value)) if type(value) in (list, tuple) else value

    def raised(value: Any) -> Any:
        if isinstance(value, ours.Tensor) and is_plain(value) and str(value.dtype) != "torch.bool":
            return value + 1
        return [raised(each) for each in value] if isinstance(value, (list, tuple)) else value

    return lambda *args, **kwargs: raised(call(*doubled(args), **kwargs))


def is_plain(value: Any) -> bool:
    return value.layout is ours.strided and not value.is_meta


def with_gradients(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, and the gradients of what it is given: a whole step in one function."""

    def step(*args: Any, **kwargs: Any) -> Any:
        result = call(*args, **kwargs)
        return result, gradients(result, (args, kwargs))

    return step


def gradients(result: Any, given: Any) -> Any:
    """Gradients of the inputs, for cotangents that differ from element to element."""
    outputs, inputs = parity.float_leaves(result, ours), parity.float_leaves(given, ours)
    outputs = [x for x in outputs if is_plain(x)]
    if not outputs or not inputs:
        return ()
    weights = [
        ours.arange(1, x.numel() + 1).reshape(x.shape).cos().to(x.dtype).detach() for x in outputs
    ]
    return ours.autograd.grad(outputs, inputs, weights, allow_unused=True)


def described(result: Any, given: Any) -> list[Any]:
    """Elements, strides, and which arguments each result shares memory with."""
    tensors = [x for x in parity.leaves(given) if isinstance(x, ours.Tensor)]
    found = arrays(result) + arrays(tensors)
    inputs = [x for x in tensors if is_plain(x)]
    for x in parity.leaves(result):
        if isinstance(x, ours.Tensor) and is_plain(x) and x.numel():
            memory = x.untyped_storage().data_ptr()
            shared = [memory == each.untyped_storage().data_ptr() for each in inputs]
            found.append((x.stride(), x.storage_offset(), shared, any(x is y for y in inputs)))
    return found


def run(call: Callable[..., Any], given: Any, gradient: bool) -> list[Any]:
    """What one call leaves, or the error that it raises."""
    args, kwargs = own = to_ours(given)
    ours.manual_seed(1)
    try:
        result = call(*args, **kwargs)
        found = described(result, own)
        if gradient:
            found += arrays(gradients(result, own))
    except (MissingError, parity.TooLongError):
        raise
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:200]}"]
    return found + arrays(ours.get_rng_state())


def differences(call: Callable[..., Any], given: Arguments, gradient: bool) -> Iterator[str]:
    """Where compiled calls differ from eager ones."""
    moved = other_values(given)
    calls = [given, given, given, moved, moved]
    ways = {"alone": (call, gradient), "between": (between(call), gradient)}
    if gradient:
        ways["step"] = (with_gradients(call), False)
    for name, (way, outside) in ways.items():
        expected = {id(each): run(way, each, outside) for each in (given, moved)}
        for kind in ("captured", "replayed"):
            compiled = wrapped(kind)(way)
            for i, each in enumerate(calls):
                text = first_difference(expected[id(each)], run(compiled, each, outside))
                if text:
                    yield f"{name} {kind} call {i}: {text}"
                    break


def calls_of(info: Any, dtype: Any) -> Iterator[tuple[str, Any, Arguments, bool]]:
    """(label, our callable, torch's arguments, whether gradients are taken)."""
    mine = callable_of(info)
    gradient = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
    for i, sample in enumerate(parity.samples_of(info, dtype, gradient, MOST)):
        yield f"{i}", mine, ((sample.input, *sample.args), sample.kwargs), gradient
    for variant in (info.method_variant, info.inplace_variant):
        if variant is not None and hasattr(variant, "__name__"):
            for i, sample in enumerate(parity.samples_of(info, dtype, False, 2)):
                given = (sample.input, *sample.args), sample.kwargs
                yield f"{variant.__name__} {i}", counterpart(variant), given, False


def wrong_calls(info: Any) -> Iterator[tuple[str, Any, Arguments, bool]]:
    """Calls that raise."""
    if info.error_inputs_func is None:
        return
    mine = callable_of(info)
    for i, wrong in enumerate(itertools.islice(info.error_inputs("cpu"), MOST)):
        sample = wrong.sample_input
        yield f"error {i}", mine, ((sample.input, *sample.args), sample.kwargs), False


@pytest.mark.parametrize("info", op_db, ids=parity.title)
def test_an_entry_of_torchs_table_of_ops_is_the_same_compiled(
    info: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Captured and replayed, alone, amid other ops, and as a step with its backward pass."""
    if info.name in UNINITIALISED:
        return
    found = []
    names = dict.fromkeys(parity.dtype_of(info, each) for each in DTYPES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in names:
            if dtype is None:
                continue
            for label, call, given, gradient in itertools.chain(
                calls_of(info, dtype), wrong_calls(info)
            ):
                small = label in map(str, range(FUSED))
                monkeypatch.setattr(fusion, "SMALLEST", 1 if small else 4096)
                texts = differences(call, given, gradient)
                found += [f"{dtype} {label} {text}" for text in texts]
    assert not found, "\n".join(found)
