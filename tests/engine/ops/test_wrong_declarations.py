"""An op that is declared wrongly says what is wrong, and with what."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch.engine.op import OPS
from mindtorch.engine.ops.base import Elementwise
from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.codegen.typed_scalar import TypedScalars


def test_a_rule_s_names_are_listed() -> None:
    text = "rule of misnamed: nothing is called 'low'; its arguments may be g, out, x, y"
    with pytest.raises(TypeError, match=text):
        Elementwise("misnamed", (lambda g, x, low: g, None), scalar="maximum")
    assert "misnamed" not in OPS


def test_one_rule_is_a_tuple_too() -> None:
    with pytest.raises(TypeError, match=r"untupled: rules are a tuple, .* \(rule,\)"):
        Elementwise("untupled", lambda g: g, scalar="positive")


def test_a_scalar_function_that_is_missing_is_named() -> None:
    scalars = TypedScalars(lambda dtype: {}, lambda *given: None)
    with pytest.raises(NotImplementedError, match="no scalar function softclip stands in kernels"):
        scalars("softclip_", np.dtype(np.float32))


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_a_kernel_of_a_type_that_numba_lacks_says_so(kind: str) -> None:
    @kernel
    def nothing(x: object) -> None:
        pass

    with pytest.raises(TypeError, match=rf"void\({kind}.*: numba has no such type"):
        entry_point(nothing, f"void({kind}[::1])")
