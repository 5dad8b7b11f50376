"""Optimizers against PyTorch over its table `optim_db`: the same small net, the same ten steps."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum

import mindtorch.torch as ours

ONLY_MATRICES = ("Muon",)
TOLERANCE = {"float32": 2e-6, "float64": 1e-10}
# One element that bfloat16 rounds the other way moves Muon's step by more than float64 would.
LARGER = {"LBFGS": 1e-8, "Muon": 1e-6}
# Each curvature pair enlarges what rounding did before: in float32 iterations soon go apart.
ONLY_DOUBLE = ("LBFGS",)
Row = tuple[str, str, str]


class Net:
    """tanh(x w1 + b) w2 in one library, with the mean square as its loss."""

    def __init__(self, library: Any, matrices: bool, dtype: str) -> None:
        values = np.random.RandomState(0)
        arrays = [values.standard_normal(shape) for shape in ((4, 6), (6, 3), (6,))]
        self.library = library
        self.parameters = [
            library.nn.Parameter(library.tensor(a.astype(dtype))) for a in arrays[: 3 - matrices]
        ]
        self.x = library.tensor(values.standard_normal((8, 4)).astype(dtype))

    def loss(self) -> Any:
        w1, w2, *bias = self.parameters
        hidden = self.x @ w1
        return (((hidden + bias[0] if bias else hidden).tanh() @ w2) ** 2).mean()

    def arrays(self) -> list[Any]:
        return [p.detach().numpy() for p in self.parameters]

    def take(self, arrays: list[Any]) -> None:
        with self.library.no_grad():
            for p, a in zip(self.parameters, arrays, strict=True):
                p.copy_(self.library.tensor(a.copy()))


def walk(net: Net, optimizer: Any, steps: int) -> None:
    """Some steps, each with a closure, as every optimizer takes one."""

    def closure() -> Any:
        optimizer.zero_grad()
        loss = net.loss()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)


def moved(value: Any, library: Any) -> Any:
    """A structure with its tensors made anew in the other library."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        return library.tensor(value.detach().numpy().copy())
    if isinstance(value, torch.dtype):
        return getattr(library, str(value).removeprefix("torch."))
    if isinstance(value, dict):
        return {k: moved(v, library) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(moved(v, library) for v in value)
    return value


def difference(expected: list[Any], actual: list[Any], dtype: str, name: str = "") -> str:
    """The largest difference relative to each array's largest element, "" within tolerance."""
    for i, (a, b) in enumerate(zip(expected, actual, strict=True)):
        largest = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-3))
        if not largest <= max(TOLERANCE[dtype], LARGER.get(name, 0)):
            return f"parameter {i} differs by {largest:.3g}"
    return ""


def layout(value: Any, path: str = "") -> dict[str, Any]:
    """What a state dict looks like: by path the keys in order, types, shapes and settings."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        return {path: (str(value.dtype), tuple(value.shape))}
    if isinstance(value, (dict, list, tuple)):
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        result: dict[str, Any] = {path: [k for k, _ in items]}
        for key, each in items:
            result.update(layout(each, f"{path}/{key}"))
        return result
    return {path: float if isinstance(value, float) else value}


def layout_difference(expected: Any, actual: Any) -> str:
    """Where two state dicts first look different."""
    one, other = layout(expected), layout(actual)
    for path, value in one.items():
        if other.get(path, "nothing") != value:
            return f"{path}: {other.get(path, 'nothing')}, torch {value}"
    return "" if len(one) == len(other) else "more entries than torch"


def build(library: Any, info: Any, case: Any, dtype: str) -> tuple[Net, Any]:
    net = Net(library, info.name in ONLY_MATRICES, dtype)
    kwargs = moved(case.kwargs, library)
    return net, getattr(library.optim, info.name)(net.parameters, **kwargs)


def check_case(info: Any, case: Any, dtype: str) -> Iterator[tuple[str, str]]:
    """(aspect, what differs) of one configuration."""
    (net, one), (own, two) = build(torch, info, case, dtype), build(ours, info, case, dtype)
    same = repr(one) == repr(two)
    yield "repr", "" if same else f"{two!r}, torch {one!r}"
    walk(net, one, 5)
    walk(own, two, 5)
    yield "five steps", difference(net.arrays(), own.arrays(), dtype, info.name)
    yield "state_dict", layout_difference(one.state_dict(), two.state_dict())
    saved, own_saved = one.state_dict(), two.state_dict()
    crossed, loaded = build(ours, info, case, dtype)
    crossed.take(net.arrays())
    loaded.load_state_dict(moved(saved, ours))
    back, back_loaded = build(torch, info, case, dtype)
    back.take(own.arrays())
    back_loaded.load_state_dict(moved(own_saved, torch))
    for each, optimizer in ((net, one), (own, two), (crossed, loaded), (back, back_loaded)):
        walk(each, optimizer, 5)
    expected = net.arrays()
    for aspect, each in (("ten steps", own), ("torch's state here", crossed),
                         ("our state in torch", back)):  # fmt: skip
        yield aspect, difference(expected, each.arrays(), dtype, info.name)


def check_dense_refusal(info: Any, case: Any) -> Iterator[tuple[str, str]]:
    """For an optimizer of sparse gradients only: the same refusal of dense ones."""
    texts = []
    for library in (torch, ours):
        net, optimizer = build(library, info, case, "float32")
        try:
            walk(net, optimizer, 1)
            texts.append("")
        except RuntimeError as error:
            texts.append(str(error))
    yield "dense gradients", "" if texts[0] == texts[1] else f"{texts[1]!r}, torch {texts[0]!r}"


def types_of(info: Any) -> tuple[str, ...]:
    """The element types of an optimizer's parameters."""
    if info.only_supports_sparse_grads:
        return ("float32",)
    return ("float64",) if info.name in ONLY_DOUBLE else ("float32", "float64")


def check(info: Any) -> Iterator[Row]:
    """(case, aspect, message) of every difference of one optimizer."""
    for i, case in enumerate(info.optim_inputs_func("cpu")):
        for dtype in types_of(info):
            label = f"{i} {case.desc} {dtype}"
            aspect = "construction"
            checks = (
                check_dense_refusal(info, case) if info.only_supports_sparse_grads
                else check_case(info, case, dtype)
            )  # fmt: skip
            try:
                for aspect, text in checks:
                    if text:
                        yield label, aspect, text
            except Exception as error:
                yield label, "after " + aspect, f"{type(error).__name__}: {str(error)[:200]}"
    yield from check_errors(info)


def check_errors(info: Any) -> Iterator[Row]:
    """What must fail, and how."""
    for i, case in enumerate(info.optim_error_inputs_func("cpu", torch.float32)):
        given = case.optimizer_error_input
        label = f"error {i} {given.desc}"
        try:
            text = check_error(info, case)
        except Exception as error:
            text = f"{type(error).__name__}: {str(error)[:200]}"
        if text:
            yield label, "errors", text


def check_error(info: Any, case: Any) -> str:
    given = case.optimizer_error_input
    params = [torch.nn.Parameter(torch.randn(1, 1))] if given.params is None else given.params
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            optimizer = getattr(ours.optim, info.name)(
                shared(params, {}), **moved(given.kwargs, ours))
            if case.error_on is OptimizerErrorEnum.STEP_ERROR:
                optimizer.step()
    except Exception as error:
        if isinstance(error, case.error_type) and re.search(case.error_regex, str(error)):
            return ""
        return f"{type(error).__name__}: {error}; torch {case.error_regex!r}"
    return f"nothing raised, torch {case.error_type.__name__} {case.error_regex!r}"


def shared(value: Any, seen: dict[int, Any]) -> Any:
    """Parameters of torch's as ours, the same one for the same one."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            return seen.setdefault(
                id(value),
                ours.sparse_coo_tensor(size=tuple(value.shape), check_invariants=False)
            )
        made = ours.tensor(value.detach().numpy().copy())
        if isinstance(value, torch.nn.Parameter):
            made = ours.nn.Parameter(made)
        else:
            made.requires_grad_(value.requires_grad)
        made.grad = None if value.grad is None else ours.tensor(value.grad.numpy().copy())
        return seen.setdefault(id(value), made)
    if isinstance(value, dict):
        return {k: shared(v, seen) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(shared(v, seen) for v in value)
    return value
