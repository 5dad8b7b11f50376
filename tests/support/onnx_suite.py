"""The node tests of the package onnx: for each operator small models with inputs and outputs.

    python -m tests.support.onnx_suite

prints the share that mindtorch.onnx passes, and writes the list of those it does not.
"""

from __future__ import annotations

import collections
import json
import warnings
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests

import mindtorch.onnx
from mindtorch.engine.tensor import Tensor, from_array
from mindtorch.torch import finfo, no_grad
from tests.support.paths import GOLDEN_FILES

LISTED = GOLDEN_FILES / "onnx_suite_failing.json"
_FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
_BESIDE = {TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8, TensorProto.INT8,
           TensorProto.BOOL}  # fmt: skip


def cases() -> list[Any]:
    """All tests; making them raises warnings of numpy's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(load_model_tests(kind="node"))


def is_float(case: Any) -> bool:
    """Whether a test is of tensors of floats, with whole numbers and truth values beside them."""
    graph = case.model.graph
    kinds = {each.type.tensor_type.elem_type for each in (*graph.input, *graph.output)}
    return bool(kinds & _FLOATS) and not kinds - _FLOATS - _BESIDE


def _given(value: Any) -> Any:
    if isinstance(value, list):
        return [_given(each) for each in value]
    if value is None:
        return None
    array = onnx.numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
    return from_array(np.array(array))


def _compare(mine: Any, theirs: Any, rtol: float, atol: float) -> None:
    if isinstance(theirs, list):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            _compare(a, b, rtol, atol)
        return
    if isinstance(theirs, TensorProto):
        theirs = onnx.numpy_helper.to_array(theirs)
    if theirs is None:
        assert mine is None
        return
    theirs = np.asarray(theirs)
    assert isinstance(mine, Tensor)
    array = np.asarray(mine.detach().array())
    assert (array.shape, array.dtype) == (theirs.shape, theirs.dtype)
    if array.dtype.kind in "iub":
        np.testing.assert_array_equal(array, theirs)
        return
    # the suite's own tolerance of zeros is below the rounding of float32
    finite = np.abs(theirs[np.isfinite(theirs)].astype(np.float64))
    atol = max(atol, 4 * float(finfo(mine.dtype).eps) * float(finite.max(initial=0)))
    wide: Any = np.complex128 if array.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(array.astype(wide), theirs.astype(wide), rtol, atol)


def run(case: Any) -> None:
    """Raise where a test fails."""
    module = mindtorch.onnx.load(case.model)
    for inputs, outputs in case.data_sets:
        with no_grad():
            made = module(*[_given(each) for each in inputs])
        results = (made,) if len(module.output_names) == 1 else made
        assert len(results) == len(outputs)
        for mine, theirs in zip(results, outputs, strict=True):
            _compare(mine, theirs, case.rtol, case.atol)


def reason(error: BaseException) -> str:
    """Why a test fails, in a line."""
    text = str(error).strip().split("\n")[0]
    if isinstance(error, AssertionError):
        return "random numbers of another generator"
    text = text.partition(" (node ")[0]
    return f"{type(error).__name__}: {text}"[:120]


def main() -> int:
    passed: collections.Counter[bool] = collections.Counter()
    total: collections.Counter[bool] = collections.Counter()
    failing = {}
    warnings.simplefilter("ignore")
    for case in cases():
        total[is_float(case)] += 1
        try:
            run(case)
            passed[is_float(case)] += 1
        except Exception as error:
            failing[case.name] = reason(error)
    LISTED.write_text(json.dumps(failing, indent=0, sort_keys=True) + "\n")
    for floats, name in ((True, "of floats"), (False, "of other types")):
        share = passed[floats] / total[floats]
        print(f"{name}: {passed[floats]} of {total[floats]} ({share:.1%})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
