"""What is left out of numba's work for kernels changes nothing for them, nor for numba."""

import itertools
import logging
import operator
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import types
from numba.core import errors, postproc
from numba.core.registry import cpu_target

from mindtorch.kernels.codegen import jit, numba_shortcuts
from mindtorch.kernels.codegen.jit import entry_point, kernel

KINDS = (types.int64, types.uint8, types.float32, types.float64, types.boolean,
         types.literal(3))  # fmt: skip


def _usual() -> tuple[Any, ...]:
    return (
        postproc.PostProcessor.run,
        types.Function.get_call_type,
        errors.WarningsFixer.catch_warnings,  # type: ignore[attr-defined]
    )


def test_numba_is_as_before_when_a_kernel_is_compiled_or_cannot_be() -> None:
    before = _usual()
    during = []

    @kernel
    def fine(x: int) -> int:
        return x + 1

    @kernel
    def wrong(x: Any) -> Any:
        return x + "text"

    with numba_shortcuts.shortcuts():
        during.append(_usual())
    assert fine(2) == 3
    with pytest.raises(errors.TypingError):
        entry_point(wrong, "void(int64[::1])")
    assert _usual() == before and during[0] != before


def test_a_script_is_told_nothing_anew_when_a_kernel_is_compiled(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Neither numba's bytecodes, where it logs everything, nor its own warnings a second time."""
    monkeypatch.setattr(jit, "_directories", (tmp_path,))  # it is compiled, not loaded

    @kernel
    def halved(x: float) -> float:
        return x / 2

    registry: dict[Any, Any] = {}
    with warnings.catch_warnings(record=True) as told, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("default")
        for call in (lambda: None, lambda: entry_point(halved, "float64(float64)")):
            call()
            warnings.warn_explicit("once", UserWarning, "script.py", 1, registry=registry)
    assert [str(each.message) for each in told] == ["once"]
    assert not [record for record in caplog.records if record.name.startswith("numba")]
    assert logging.getLogger("numba").level == logging.NOTSET


def test_operators_have_the_signatures_that_numba_finds() -> None:
    context = cpu_target.typing_context
    context.refresh()
    for name in ("add", "truediv", "floordiv", "lt", "eq", "iadd", "lshift"):
        function = context.resolve_value_type(getattr(operator, name))
        for pair in itertools.product(KINDS, KINDS):
            try:
                expected = function.get_call_type(context, pair, {})
            except errors.TypingError:
                with pytest.raises(errors.TypingError):
                    numba_shortcuts._remembered(function, context, pair, {})
                continue
            for _ in range(2):
                found = numba_shortcuts._remembered(function, context, pair, {})
                assert (found, found.return_type) == (expected, expected.return_type)


def test_functions_of_generators_and_overloads_compile() -> None:
    @kernel
    def places(x: Any) -> int:
        total = 0
        for i, j in np.ndindex(x.shape):
            total += i * j
        return total

    assert places(np.zeros((3, 4))) == 18

    @numba.njit
    def squares(n: int) -> Any:
        for i in range(n):
            yield i * i

    @kernel
    def added(n: int) -> int:
        total = 0
        for each in squares(n):
            total += each
        return total

    assert added(4) == 14

    def largest(n: int) -> float:
        found = np.empty(n, np.float32)
        for i in range(n):
            found[i] = max(i, 2)
        return found.sum()

    ways: tuple[Any, ...] = (kernel, numba.njit, numba.njit(nogil=True))
    for way in ways:
        assert way(largest)(5) == 2 + 2 + 2 + 3 + 4
