"""The types of what functions return, from calls on tensors whose elements have no memory."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._api.signatures import Form, Parameter

_SIZES = ([1], [2, 2], [0, 1], [0], [4], [2, 2, 2])
_WORDS = ("sum", "mean", "reflect")
_PLAIN = {bool: "_bool", int: "_int", float: "_float", complex: "_complex", str: "_str",
          type(None): "None", torch.dtype: "_DType", torch.device: "_Device"}  # fmt: skip


def _tensors() -> Iterator[Any]:
    for shape in ((2, 2), (4,), (), (2, 2, 2), (2, 2, 2, 2)):
        for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
            yield torch.ones(shape, device="meta", dtype=dtype)


def _given(parameter: Parameter, tensor: Any, whole: int, sizes: list[int], word: str) -> Any:
    """An argument for a parameter."""
    if parameter.kind in ("Tensor", "tuple of Tensors"):
        if parameter.name in ("index", "indices", "repeats"):
            tensor = torch.zeros(tensor.shape, device="meta", dtype=torch.int64)
        elif parameter.name in ("mask", "condition"):
            tensor = torch.ones(tensor.shape, device="meta", dtype=torch.bool)
        return tensor if parameter.kind == "Tensor" else [tensor, tensor]
    return {
        "Number": 1, "float": 0.5, "int": whole, "bool": False, "str": word, "object": tensor,
        "torch.dtype": torch.float32, "torch.device": "meta", "tuple of ints": sizes,
        "torch.Generator": torch.default_generator, "tuple of Scalars": [1, 1],
    }[parameter.kind]  # fmt: skip


def name_of(result: Any) -> str:
    """The type of a result, as a stub writes it."""
    if isinstance(result, torch.Tensor):
        return "Tensor"
    if hasattr(result, "_fields"):
        return f"_return_types.{type(result).__name__}"
    if isinstance(result, (tuple, list)) and all(isinstance(x, torch.Tensor) for x in result):
        return "tuple[Tensor, ...]" if isinstance(result, tuple) else "list[Tensor]"
    return _PLAIN.get(type(result), "_Any")


def result_of(function: Callable[..., Any], form: Form, method: bool) -> str:
    """The type of what ``function`` returns for arguments of a form; "" where no call succeeds.

    Args:
        method: the form lacks the tensor, which comes first.
    """
    required = [each for each in form.parameters if not each.optional]
    kinds = {each.kind for each in required}
    wholes = (1, 0, 2) if "int" in kinds else (1,)
    sizes = _SIZES if "tuple of ints" in kinds else _SIZES[:1]
    words = _WORDS if "str" in kinds else _WORDS[:1]
    for tensor, *numbers in itertools.product(_tensors(), wholes, sizes, words):
        with contextlib.suppress(Exception):
            args = [_given(p, tensor, *numbers) for p in required if not p.keyword_only]
            named = {p.name: _given(p, tensor, *numbers) for p in required if p.keyword_only}
            return name_of(function(*[tensor.clone()] * method, *args, **named))
    return _of_other_shapes(function, form, required, method) or _of_options(
        function, form, method
    )


def _of_other_shapes(
    function: Callable[..., Any], form: Form, required: list[Parameter], method: bool
) -> str:
    """The same, where each tensor has a shape of its own."""
    count = method + sum(p.kind == "Tensor" for p in required)
    if not 1 < count < 5 or any(p.keyword_only for p in required):
        return ""
    for shapes in itertools.product(((2, 2), (2,), (2, 2, 2), (), (3,)), repeat=count):
        tensors = [torch.ones(shape, device="meta") for shape in shapes]
        with contextlib.suppress(Exception):
            first = [tensors.pop(0)] if method else []
            args = [
                tensors.pop(0) if p.kind == "Tensor" else _given(p, None, 1, [0], "sum")
                for p in required
            ]
            return name_of(function(*first, *args))
    return ""


def _of_options(function: Callable[..., Any], form: Form, method: bool) -> str:
    """The same, where all is given that may be left out, but for ``out``."""
    tensor = torch.ones(2, 2, device="meta")
    with contextlib.suppress(Exception):
        given = [_given(p, tensor, 1, [0], "sum") for p in form.parameters if not p.keyword_only]
        return name_of(function(*[tensor] * method, *given))
    return ""
