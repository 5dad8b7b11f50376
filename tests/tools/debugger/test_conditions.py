"""Every condition, by MindInsight's name: a planted fault meets it, a sound training does not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.tools.debugger.conditions import CONDITIONS, ConditionError, checked
from mindtorch.tools.debugger.watchpoints import Chosen, Watchpoints
from mindtorch.tools.watchpoints.tensor_statistics import (
    Limits,
    Statistics,
    beyond,
    changed_statistics,
    is_close,
    share_within,
    statistics,
)
from mindtorch.torch import nn

from .nets import Net, seen, train


def net(middle: Any = None) -> Net:
    torch.manual_seed(0)
    return Net(middle)


class Scaled(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Any) -> Any:
        return x * self.scale


def _zeroed() -> None:
    model = net()
    nn.init.zeros_(model.first.weight)
    train(model)


def _with_weight(value: float) -> None:
    model = net()

    def plant(step: int) -> None:
        if step == 1:
            with torch.no_grad():
                model.last.weight[0, 0] = value

    train(model, each=plant)


def _frozen_by_rate() -> None:
    train(net(), rate=0.0)


def _same_outputs() -> None:
    model = net()
    with torch.no_grad():
        for _ in range(3):
            model(torch.ones(2, 4))


# condition and parameters -> work that meets it, and the tensor it is told of
PLANTED: dict[str, tuple[Callable[[], Any], str]] = {
    "weight_initialization": (_zeroed, "weights:first.weight"),
    "weight_initialization min_lt=-0.3": (lambda: train(net()), "weights:first.weight"),
    "weight_overflow": (lambda: _with_weight(math.inf), "weights:last.weight"),
    "weight_too_large max_gt=50": (lambda: _with_weight(99.0), "weights:last.weight"),
    "weight_too_large abs_mean_gt=5": (lambda: _with_weight(99.0), "weights:last.weight"),
    "weight_too_small min_lt=-50": (lambda: _with_weight(-99.0), "weights:last.weight"),
    "gradient_vanishing max_lt=1e-6": (
        lambda: train(net(), scale=1e-9), "gradients:last.bias",
    ),
    "gradient_too_large max_gt=100": (lambda: train(net(), scale=1e5), "gradients:last.weight"),
    "gradient_exploding": (lambda: train(net(), scale=math.inf), "gradients:last.bias"),
    "tensor_overflow": (lambda: train(net(Scaled(math.inf))), "outputs:middle"),
    "operator_overflow": (lambda: train(net(Scaled(math.inf))), "outputs:middle"),
    "tensor_too_large mean_gt=50": (
        lambda: train(net(nn.Sequential(nn.ReLU(), Scaled(1e3)))), "outputs:middle",
    ),
    "tensor_too_small abs_mean_lt=1e-3": (
        lambda: train(net(nn.Sequential(nn.ReLU(), Scaled(1e-6)))), "outputs:middle",
    ),
    "tensor_all_zero": (lambda: train(net(Scaled(0.0))), "outputs:middle"),
    "weight_not_changed": (_frozen_by_rate, "weights:first.weight"),
    "weight_change_too_large": (lambda: train(net(), rate=5.0), "weights:last.weight"),
    "weight_change_too_small": (lambda: train(net(), rate=1e-9), "weights:first.weight"),
    "activation_range range_start_inclusive=0 range_end_inclusive=0 range_percentage_gt=60": (
        lambda: train(net(nn.Sequential(Scaled(-1.0), nn.Threshold(0.9, 0.0)))),
        "outputs:middle.1",
    ),
    "tensor_range max_min_gt=100": (
        lambda: train(net(nn.Sequential(nn.ReLU(), Scaled(1e3)))), "outputs:middle",
    ),
    "tensor_unchanged": (_same_outputs, "outputs:first"),
    "tensor_change_too_large abs_mean_update_ratio_gt=0.5": (
        lambda: train(net(), rate=5.0), "outputs:last",
    ),
    "tensor_change_too_small abs_mean_update_ratio_lt=1e-6": (_frozen_by_rate, "outputs:last"),
}  # fmt: skip


@pytest.mark.parametrize("words", PLANTED)
def test_a_planted_fault_is_met(words: str) -> None:
    work, tensor = PLANTED[words]
    hits = seen(work, words)
    assert hits
    assert {hit["condition"] for hit in hits} == {words.split()[0]}
    assert tensor in {hit["tensor"] for hit in hits}


def test_every_condition_has_a_planted_fault() -> None:
    assert {words.split()[0] for words in PLANTED} == set(CONDITIONS)


def test_a_sound_training_meets_none() -> None:
    sound = [
        "weight_initialization", "weight_overflow", "weight_too_large max_gt=10",
        "gradient_vanishing max_lt=-10", "gradient_exploding", "tensor_overflow",
        "operator_overflow", "tensor_all_zero", "weight_not_changed",
        "weight_change_too_large", "tensor_unchanged at nothing",
        "activation_range max_min_gt=100",
    ]  # fmt: skip
    assert seen(lambda: train(net(), rate=0.05), *sound) == []


def test_overflow_is_told_where_it_arises() -> None:
    hits = seen(lambda: train(net(Scaled(math.inf)), steps=1), "operator_overflow")
    assert [hit["tensor"] for hit in hits] == ["outputs:middle", "outputs:Net"]


def test_patterns_and_kinds_choose() -> None:
    work = lambda: train(net(), steps=1)  # noqa: E731
    assert {x["tensor"] for x in seen(work, "tensor_range max_min_gt=0 at l*")} == {"outputs:last"}
    hits = seen(work, "tensor_range max_min_gt=0 of gradients at first.weight")
    assert {x["tensor"] for x in hits} == {"gradients:first.weight"}
    assert {x["tensor"] for x in seen(work, "tensor_too_large max_gt=-1 of losses")} == {
        "losses:loss"
    }


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("weight_overflows", {}, "no condition 'weight_overflows'; there are weight_init"),
        ("weight_overflow", {"max_gt": 1}, "weight_overflow has no parameter max_gt; it has none"),
        ("tensor_too_large", {}, "tensor_too_large needs one of abs_mean_gt, max_gt"),
        ("tensor_range", {"range_percentage_gt": 3}, "need range_start_inclusive and range_end"),
        ("tensor_all_zero", {"zero_percentage_ge": 101}, "must be between 0 and 100, not 101"),
        ("tensor_too_large", {"max_gt": "3"}, "max_gt must be a number, not '3'"),
        ("tensor_too_large", {"max_gt": math.nan}, "max_gt must be a number, not nan"),
        ("tensor_too_large", {"abs_mean_gt": -1}, "abs_mean_gt must not be negative, but got -1"),
        ("weight_not_changed", {"equal_nan": 1}, "equal_nan must be true or false, not 1"),
    ],
)
def test_bad_parameters(name: str, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConditionError, match=text):
        checked(name, given)


def test_defaults_are_mindinsights() -> None:
    assert checked("weight_change_too_large", {}) == {
        "abs_mean_update_ratio_gt": 0.1, "epsilon": 1e-9,
    }  # fmt: skip
    assert checked("weight_change_too_small", {})["abs_mean_update_ratio_lt"] == 1e-4
    assert checked("weight_not_changed", {}) == {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}
    assert checked("weight_initialization", {}) == {"zero_percentage_ge": 100.0}
    assert checked("tensor_all_zero", {}) == {"zero_percentage_ge": 100.0}


def test_two_nan_are_the_same_where_that_is_asked() -> None:
    array = np.array([1.0, math.nan])
    assert not is_close(array, array, 1e-5, 1e-8)
    assert is_close(array, array, 1e-5, 1e-8, equal_nan=True)
    assert is_close(np.array([math.inf]), np.array([math.inf]), 1e-5, 1e-8)


# -- statistics -----------------------------------------------------------------------------------


def by_numpy(array: np.ndarray) -> dict[str, float]:
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    return {
        "size": array.size, "nan": np.isnan(wide).sum(), "zero": (finite == 0).sum(),
        "positive_infinite": np.isposinf(wide).sum(),
        "negative_infinite": np.isneginf(wide).sum(), "least": finite.min(),
        "greatest": finite.max(), "total": finite.sum(), "sizes": np.abs(finite).sum(),
        "squares": np.square(finite).sum(),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 5, 255, 256, 1000])
@pytest.mark.parametrize("kind", ["mixed", "positive", "negative", "zeros", "odd", "tiny"])
def test_statistics_are_numpys(dtype: Any, size: int, kind: str) -> None:
    array = np.random.default_rng(size).standard_normal(size).astype(dtype)
    if kind in ("positive", "negative"):
        array = np.abs(array) * (1 if kind == "positive" else -1)
    elif kind == "zeros":
        array[::2] = 0
        array[1::4] = -0.0
    elif kind == "tiny":
        array = (array * dtype(1e-4 if dtype == np.float16 else 1e-25)).astype(dtype)
    elif size > 4:
        array[:4] = [math.nan, math.inf, -math.inf, -math.nan]
    own, expected = statistics(array)._asdict(), by_numpy(array)
    scale = max(1e-300, expected["sizes"])
    for name, value in expected.items():
        rtol = 1e-5 * (scale if name == "total" else abs(value))
        assert own[name] == pytest.approx(value, abs=rtol + 1e-300), name


def test_statistics_of_other_types() -> None:
    assert statistics(np.array([1 + 2j, 0])).greatest == 2
    assert statistics(np.array([3, -4], np.int64)).norm == 5
    assert statistics(np.empty(0, np.float32)).size == 0
    assert statistics(np.arange(10, dtype=np.float32)[::2]).total == 20
    assert math.isnan(statistics(np.full(3, math.nan)).greatest)


def test_change() -> None:
    found: Statistics = changed_statistics(np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    assert (found.change, found.before) == (4.0, 4.0)
    half = changed_statistics(np.array([1, 5], np.float16), np.array([2, 2], np.float16))
    assert (half.change, half.before) == (4.0, 4.0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("gaps", [1, 2])
def test_change_after_which_the_new_elements_are_kept(dtype: Any, gaps: int) -> None:
    generator = np.random.default_rng(0)
    array = generator.standard_normal(3000).astype(dtype)[::gaps]
    before = generator.standard_normal(3000).astype(dtype)[::gaps]
    expected = changed_statistics(array, before)
    low = Limits({"abs_mean": (-math.inf, 0.0)})
    assert beyond(array, low, before, keep=True) == (expected.change, expected.before)
    assert before.tobytes() == array.tobytes()
    array[3] = math.inf
    odd = beyond(array, Limits({}), before, keep=True)
    assert odd is not None and odd[0] == math.inf
    assert before.tobytes() == array.tobytes()
    array[3] = 0
    assert beyond(array, Limits({}), before, keep=True) is None
    assert before.tobytes() == array.tobytes()


def test_arrays_of_two_types_are_not_compared() -> None:
    points = Watchpoints()
    points.add("tensor_change_too_large", {"abs_mean_update_ratio_gt": 0.5})
    chosen = points.chosen("outputs", "x", "relu")
    ones = np.ones(1000, np.float32)
    assert points.hits(chosen, ones, ones * 3)
    assert points.hits(chosen, ones, (ones * 3).astype(np.float64)) == []
    assert points.hits(chosen, ones.astype(np.float64), ones * 3) == []
    assert points.hits(chosen, ones, ones[:10] * 3) == []


@pytest.mark.parametrize("others", [(), ("tensor_unchanged at nothing",), ("tensor_unchanged",)])
def test_changes_of_outputs_are_from_one_step_to_the_next(others: tuple[str, ...]) -> None:
    """With a condition that compares every element, too, what it was is not written over."""

    def work() -> None:
        model = net(Scaled(1.0))
        with torch.no_grad():
            for scale in (1.0, 2.0, 3.0, 3.0, 6.0):
                model.middle.scale = scale
                model(torch.ones(2, 4))

    watched = "tensor_change_too_large abs_mean_update_ratio_gt=-0.0 epsilon=0 at middle"
    hits = seen(work, watched, *others)
    ratios = {x["step"]: x["met"][0]["value"] for x in hits if x["condition"].endswith("large")}
    assert ratios == pytest.approx({2: 1.0, 3: 0.5, 5: 1.0}, rel=1e-5)
    same = [x["step"] for x in hits if x["tensor"] == "outputs:middle" and not x["met"]]
    assert same == ([4] if "tensor_unchanged" in others else [])


def test_share_within() -> None:
    assert share_within(np.array([0.0, 1.0, 2.0, math.nan]), 0, 1) == 50


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_the_share_of_a_range_is_that_of_all_elements(dtype: Any) -> None:
    """Also where extremes alone tell it; ends of a range belong to it."""
    points = Watchpoints()
    found = points.add(
        "tensor_range",
        {"range_start_inclusive": -1, "range_end_inclusive": 2, "range_percentage_gt": 0},
    )
    chosen = points.chosen("outputs", "x", "relu")

    def share(*elements: complex) -> float:
        hits = points.hits(chosen, np.array(elements, dtype), None)
        assert all(point is found for point, _ in hits)
        return hits[0][1][0].value if hits else 0.0

    imaginary = 0.5 if np.dtype(dtype).kind == "c" else 1.0  # a part of its own, which is zero
    assert share(-1, 2, 0, 1) == 100
    assert share(-1, 2, 3, 1) == pytest.approx(100 - 25 * imaginary)
    assert share(-1.5, 2, 0, 1) == pytest.approx(100 - 25 * imaginary)
    for odd in (math.nan, math.inf, -math.inf):
        assert share(-1, 2, odd, 1) == pytest.approx(100 - 25 * imaginary)


@pytest.mark.parametrize("limit", [0.0, 0.5, 50.0])
def test_limits_hide_nothing_that_the_figures_say(limit: float) -> None:
    """Whatever :func:`met` finds, alone or beside others, the limits before it do not hide."""
    points = Watchpoints()
    for name, condition in CONDITIONS.items():
        for threshold in condition.thresholds:
            if condition.start or threshold == "range_percentage_gt":
                continue
            ends = {"range_start_inclusive": -1, "range_end_inclusive": 1}
            given = ends if threshold == "range_percentage_lt" else {}
            points.add(name, {threshold: limit, **given}, kinds=["outputs"])
    generator = np.random.default_rng(0)
    every = Chosen(points.all.values())
    assert every.limits is not None
    for scale, shift in itertools.product((0.0, 0.1, 1.0, 100.0), (-5.0, 0.0, 5.0)):
        array = generator.standard_normal(100) * scale + shift
        before = array + generator.standard_normal(100) * scale
        quick = {(x.number, str(y)) for x, y in points.hits(every, array, before)}
        each = [points.hits(Chosen([x]), array, before) for x in points.all.values()]
        assert {(x.number, str(y)) for found in each for x, y in found} == quick
        limits, every.limits = every.limits, None
        slow = {(x.number, str(y)) for x, y in points.hits(every, array, before)}
        every.limits = limits
        assert quick == slow
