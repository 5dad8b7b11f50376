"""torch.testing beside torch's: what is close, what is said where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")
LIBRARIES = (torch, ours)

# (actual, expected, options), made of a library.
CASES: list[Any] = [
    lambda L: (L.ones(3), L.ones(3), {}),
    lambda L: (L.ones(3), L.ones(3) + 1e-6, {}),
    lambda L: (L.ones(3), L.tensor([1.0, 2.0, 1.5]), {}),
    lambda L: (L.ones(2, 3), L.tensor([[1.0, 1, 1], [0, 1, 4]]), {}),
    lambda L: (L.tensor([1, 2, 3]), L.tensor([1, 5, 2]), {}),
    lambda L: (L.tensor([True, False]), L.tensor([True, True]), {}),
    lambda L: (L.ones(3), L.ones(2), {}),
    lambda L: (L.ones(3), L.ones(3).double(), {}),
    lambda L: (L.ones(3), L.ones(3).double(), {"check_dtype": False}),
    lambda L: (L.ones(2, 3), L.ones(3, 2).t(), {}),
    lambda L: (L.ones(2, 3), L.ones(3, 2).t(), {"check_stride": True}),
    lambda L: (L.tensor(1.0), L.tensor(2.0), {}),
    lambda L: (L.tensor(float("nan")), L.tensor(float("nan")), {}),
    lambda L: (L.tensor([float("nan"), 1]), L.tensor([float("nan"), 1]), {"equal_nan": True}),
    lambda L: (L.tensor([float("inf"), 1]), L.tensor([float("inf"), 2]), {}),
    lambda L: (L.ones(2), L.zeros(2), {"rtol": 0, "atol": 0}),
    lambda L: (L.ones(2), L.zeros(2), {"rtol": 0.5, "atol": 0.25}),
    lambda L: (L.ones(2), L.zeros(2), {"rtol": 0.5}),
    lambda L: (L.ones(2), L.zeros(2), {"atol": 0.5}),
    lambda L: (L.ones(2), L.zeros(2), {"msg": "differs"}),
    lambda L: (L.ones(2), L.zeros(2), {"msg": lambda text: f"<{text}>"}),
    lambda L: (1.0, 1.0 + 1e-9, {}), lambda L: (1.0, 1.1, {}), lambda L: (1, 1.0, {}),
    lambda L: (1, 1.0, {"check_dtype": False}), lambda L: (3, 4, {}), lambda L: (1j, 2j, {}),
    lambda L: (1.0, 0.0, {}), lambda L: (True, False, {}), lambda L: (None, 1, {}),
    lambda L: (None, None, {}), lambda L: (np.float32(1), np.float32(2), {}),
    lambda L: (np.ones(2), np.zeros(2), {}),
    lambda L: ([L.ones(2), 1.0], (L.ones(2), 2.0), {}),
    lambda L: ([1, 2], [1, 2, 3], {}), lambda L: ([[1], [2, 4]], [[1], [2, 3]], {}),
    lambda L: ({"a": 1, "b": L.ones(2)}, {"b": L.zeros(2), "a": 1}, {}),
    lambda L: ({"a": 1}, {"b": 1}, {}), lambda L: ([{"a": [1, 2]}], [{"a": [1, 3]}], {}),
    lambda L: (L.nn.Parameter(L.ones(2)), L.ones(2), {}),
    lambda L: (L.ones(2, requires_grad=True), L.zeros(2), {}),
    lambda L: (L.ones(2).half(), L.ones(2).half() + 0.002, {}),
    lambda L: (L.tensor([1 + 1j, 2]), L.tensor([1 + 1j, 2.5]), {}),
    lambda L: (L.tensor([250, 3], dtype=L.uint8), L.tensor([3, 3], dtype=L.uint8), {}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_what_is_close_and_what_is_said_are_torchs(case: Any) -> None:
    """The type and the whole text of the error, or none."""
    texts = []
    for library in LIBRARIES:
        actual, expected, options = case(library)
        try:
            library.testing.assert_close(actual, expected, **options)
            texts.append("close")
        except (AssertionError, TypeError, ValueError) as error:
            texts.append(f"{type(error).__name__}: {error}")
    assert texts[1] == texts[0]


def test_unrelated_types_are_refused() -> None:
    """An array is not a tensor, and with allow_subclasses=False neither is a parameter."""
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        ours.testing.assert_close(np.ones(2), ours.ones(2))
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        ours.testing.assert_close(
            ours.nn.Parameter(ours.ones(2)), ours.ones(2), allow_subclasses=False)


def test_the_deprecated_form_warns_and_compares() -> None:
    """Types need not agree, and NaN is equal to NaN."""
    with pytest.warns(FutureWarning, match="assert_allclose"):
        ours.testing.assert_allclose(ours.tensor([1.0, float("nan")]), [1, float("nan")])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        ours.testing.assert_allclose(ours.tensor([1.0]), [2])


MADE: list[dict[str, Any]] = [
    {"dtype": "float32"}, {"dtype": "float64", "low": 0, "high": 1}, {"dtype": "int64"},
    {"dtype": "uint8"}, {"dtype": "bool"}, {"dtype": "complex64"}, {"dtype": "float16"},
    {"dtype": "int8", "exclude_zero": True, "low": 0, "high": 2},
    {"dtype": "float32", "noncontiguous": True}, {"dtype": "float32", "requires_grad": True},
    {"dtype": "float32", "low": -1e40, "high": 1e40}, {"dtype": "int32", "low": 1.5, "high": 9.5},
    {"dtype": "int32", "low": 3, "high": 3}, {"dtype": "int8", "low": 300, "high": 400},
    {"dtype": "float32", "low": float("nan")}, {"dtype": "int64", "requires_grad": True},
]  # fmt: skip


@pytest.mark.parametrize("options", MADE, ids=str)
def test_made_tensors_are_torchs(options: dict[str, Any]) -> None:
    """The same numbers after the same seed, or the same refusal."""
    found: list[Any] = []
    for library in LIBRARIES:
        library.manual_seed(2)
        given = {**options, "dtype": getattr(library, options["dtype"])}
        try:
            made = library.testing.make_tensor((3, 4), device="cpu", **given)
            found.append((made.detach().numpy(), made.stride(), made.requires_grad))
        except ValueError as error:
            found.append(str(error))
    if isinstance(found[0], str):
        assert found[1] == found[0]
    else:
        np.testing.assert_array_equal(found[1][0], found[0][0])
        assert found[1][1:] == found[0][1:]
