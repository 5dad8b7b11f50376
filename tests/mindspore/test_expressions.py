"""Ops, primitives and methods of the facade against values that real MindSpore 2.10 gave."""

import gzip
import json

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.numpy as mnp
from mindtorch.mindspore import Parameter, Tensor, mint, nn, ops
from tests.support.paths import GOLDEN_FILES

GOLDEN = GOLDEN_FILES / "mindspore_expressions.json.gz"


def _draw(*shape, seed=0):
    return np.random.RandomState(seed + sum(shape)).randn(*shape).astype(np.float32)


def _names():
    """What the expressions speak of, made anew for each."""
    eye, draw = np.eye(3, dtype=np.float32), _draw(3, 3)
    arrays = {
        "x": _draw(3, 4), "y": _draw(3, 4, seed=9), "p": np.abs(_draw(3, 4)) + 0.1, "v": _draw(4),
        "w": _draw(4, seed=3), "sq": draw + 3 * eye, "sq2": _draw(4, 2),
        "spd": (draw @ draw.T + 3 * eye),
        "i": np.array([[0, 2, 1, 1], [2, 0, 1, 2], [1, 1, 0, 0]], np.int32),
        "j": np.array([2, 0, 1], np.int32), "l": np.array([1, 0, 3, 2]), "b": _draw(3, 4) > 0,
        "x1": _draw(2, 3, 8), "x2": _draw(2, 3, 8, 8), "x3": _draw(2, 3, 4, 6, 6),
        "b3": _draw(2, 3, 4), "c3": _draw(2, 4, 5), "k": np.array([3, 1, 2, 5], np.int32),
        "u": (np.arange(12).reshape(3, 4) / 12 + 0.02).astype(np.float32),
        "z": (_draw(3, 4) + 1j * _draw(3, 4, seed=2)).astype(np.complex64),
        "h": _draw(3, 4).astype(np.float16),
        "q": np.array([[1, -1, 1, -1]] * 3, np.float32),
    }  # fmt: skip
    tensors = {name: Tensor(array) for name, array in arrays.items()}
    return {"ms": ms, "nn": nn, "ops": ops, "mint": mint, "mnp": mnp, "Tensor": Tensor,
            "Parameter": Parameter, "np": np, **tensors}  # fmt: skip


def _differs(wanted, found):
    """What is wrong with a result, or None."""
    if isinstance(wanted, dict):
        if not isinstance(found, (Tensor, np.ndarray)):
            return f"a {type(found).__name__}"
        array = found.asnumpy() if isinstance(found, Tensor) else found
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag], -1)
        if list(found.shape) != wanted["s"]:
            return f"shape {found.shape}, not {wanted['s']}"
        if not str(found.dtype).endswith(wanted["d"]):
            return f"type {found.dtype}, not {wanted['d']}"
        values = np.array(wanted["v"], np.float64)
        scale = 1e-3 if wanted["d"].endswith("16") else 1e-4  # MindSpore's special functions
        near = np.isclose(array.astype(np.float64).ravel(), values, scale, 1e-5, equal_nan=True)
        return None if near.all() else f"{array.ravel()[:4]}, not {values[:4]}"
    if isinstance(wanted, list):
        if not isinstance(found, (tuple, list)) or len(found) != len(wanted):
            return f"{found!r} is not a sequence of {len(wanted)}"
        return next(filter(None, map(_differs, wanted, found)), None)
    if isinstance(wanted, float):
        return None if wanted == pytest.approx(float(found), rel=1e-4) else f"{found}"
    return None if wanted == found else f"{found!r}, not {wanted!r}"


def _wrong(step):
    """{expression: what is wrong} of every ``step``-th expression."""
    wrong = {}
    golden = json.loads(gzip.decompress(GOLDEN.read_bytes()))
    for expression, wanted in list(golden.items())[::step]:
        try:
            difference = _differs(wanted, eval(expression, _names()))
        except Exception as error:  # named in the report, with all others
            difference = f"{type(error).__name__}: {error}"
        if difference:
            wrong[expression] = difference
    return wrong


def test_some_expressions_have_the_values_shapes_and_types_of_mindspore():
    """Functions, primitives and methods, as MindSpore's users write them: one in fifteen."""
    assert not _wrong(15)


@pytest.mark.exhaustive
def test_all_expressions_have_the_values_shapes_and_types_of_mindspore():
    """Every one of them; a minute where the kernels are not compiled yet."""
    assert not _wrong(1)
