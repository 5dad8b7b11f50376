"""Calls that go a shorter way the second time, or where they are simple, against PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")


def _facts(result: Any) -> Any:
    """Descriptions and values of a result."""
    if isinstance(result, (tuple, list)):
        return [_facts(each) for each in result]
    if not hasattr(result, "stride"):
        return result
    node = result.grad_fn and result.grad_fn.name()
    described = (str(result.dtype), tuple(result.shape), result.stride(), result.storage_offset())
    return [described, node, result.detach().tolist()]


def _outcome(library: Any, expression: str, array: Any, tracked: bool) -> Any:
    """The third call's result and gradient, or its error."""
    x = library.from_numpy(array.copy())
    x = x.requires_grad_() if tracked else x
    names = {"t": library, "F": library.nn.functional, "x": x, "y": x.detach().clone() * 2}
    try:
        for _ in range(3):
            result = eval(expression, names)
        found = _facts(result)
        if tracked and getattr(result, "grad_fn", None) is not None:
            result.sum().backward()
    except Exception as error:
        return type(error).__name__, str(error)
    return found, None if x.grad is None else x.grad.tolist()


def _agree(expression: str, array: Any, tracked: bool = False) -> None:
    expected = _outcome(torch, expression, array, tracked)
    assert _outcome(ours, expression, array, tracked) == expected, expression


_MATRIX = np.arange(-10, 10, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize(
    "index",
    [
        "1, 2", "-1, 1:4", ":, 0", ":, 1:", "1:, :-1", "::2, ::3", "..., None", "None, ..., 1",
        "1:4:2", "3:1", "-100:100", ":, :", "9, 0", "0, 9", "0, 0, 0", "None", "slice(0, 2, 0)",
        "slice(None, None, -1)", "slice(1.0, 2)",
    ],
)  # fmt: skip
def test_views_by_index(index: str, tracked: bool) -> None:
    _agree(f"x[{index}]", _MATRIX, tracked)


def test_equal_numbers_of_other_kinds_are_other_arguments() -> None:
    """1 is equal to 1.0 and True, and each of them is refused, or taken, by itself."""
    for form in ("x.sum({})", "x.sum(dim={})", "x.reshape(({}, 20))", "x.reshape({}, 20)",
                 "x.clamp(min={})", "x.sub({})", "t.add(x, y, alpha={})", "x.transpose(0, {})",
                 "x.expand([{}, 4, 5])"):  # fmt: skip
        for number in ("1", "1.0", "True", "-0.0", "0.0", "t.Size([1])", "[1]"):
            text = form.format(number)
            expected, found = (_outcome(each, text, _MATRIX, False) for each in (torch, ours))
            if isinstance(expected[0], str):
                assert found[0] == expected[0], text
            else:
                assert found == expected, text


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        "t.cat([x, y])", "t.cat([x, y], 1)", "t.cat((x, x), -1)", "t.stack([x, y], 1)",
        "t.cat([x[:, ::2], y], 1)", "t.cat([x, y[:0]])", "t.cat([x, y.double()])",
        "F.pad(x[None], (1, 2, 2, 1), mode='reflect')", "F.pad(x[None], (1, -1), mode='circular')",
        "x.repeat_interleave(2, 1)", "x.quantile(0.3)", "t.quantile(x, 0.7, 1)",
        "x.repeat_interleave(t.tensor([1, 0, 2, 1]), 0)", "x[x > 2]", "x[x[:, 0] > -3]",
        "x.chunk(2)", "x.unbind(1)", "t.unbind(x)[1]", "-x", "x.gt(1)", "x.eq(y)",
        "F.batch_norm(x, None, None, training=True)",
        "F.batch_norm(x, y[0], y[0].abs(), y[1], y[2])",
    ],
)  # fmt: skip
def test_the_third_call(call: str, tracked: bool) -> None:
    expected, found = (_outcome(each, call, _MATRIX, tracked) for each in (torch, ours))
    assert _without_names(found) == _near(_without_names(expected))


def _without_names(value: Any) -> Any:
    """Nodes without their names, some of which differ."""
    if isinstance(value, str) and ("Backward" in value or "::" in value):
        return "a node"
    return [_without_names(each) for each in value] if isinstance(value, (list, tuple)) else value


def _near(value: Any) -> Any:
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-5, abs=1e-6)
    return [_near(each) for each in value] if isinstance(value, list) else value


def test_what_a_cached_call_keeps_is_in_no_result() -> None:
    for _ in range(4):
        x = ours.arange(6.0)
        padded = ours.nn.functional.pad(x[None], (2, 2), mode="reflect")
        padded.zero_()
        repeated = x.repeat_interleave(2)
        repeated.zero_()
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.repeat_interleave(2)[:4].tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "data",
    [
        "1.5", "[1, 2]", "[[1.0, 2.0], [3.0, 4.0]]", "True", "[True, False]", "[1, 2.5]", "2 ** 70",
        "[2 ** 63]", "[]", "[[]]", "[[1], [2, 3]]", "[1e39, -1e39]", "[float('nan'), 1.0]",
        "[[1, 2], 3]", "[1.0] * 100", "(1, 2)", "[[[1.0]]]",
    ],
)  # fmt: skip
def test_tensors_of_a_few_numbers(data: str) -> None:
    text = f"t.tensor({data})"
    expected, found = (_outcome(each, text, _MATRIX, False) for each in (torch, ours))
    assert str(found) == str(expected)


def test_numbers_of_one_element() -> None:
    for number in ("2.5", "-1e30", "7", "True", "float('inf')", "float('nan')"):
        for form in ("int({})", "float({})", "bool({})", "{}.item()", "{}.tolist()"):
            text = form.format(f"t.tensor({number})")
            expected, found = (_outcome(each, text, _MATRIX, False) for each in (torch, ours))
            assert str(found) == str(expected), text


@pytest.mark.parametrize("size", [3, 33, 5000])
def test_equal_looks_at_all_elements(size: int) -> None:
    x = ours.arange(float(size))
    y = x.clone()
    assert ours.equal(x, y) and x.equal(x.view(size))
    for place in (0, size // 2, size - 1):
        y = x.clone()
        y[place] = -1.0
        assert not ours.equal(x, y)
    y = x.clone()
    y[-1] = x[-1] = float("nan")
    assert not ours.equal(x, y) and ours.equal(x[:-1], y[:-1])


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize("size", [5, 32, 40, 1000])
def test_extremes_of_rows(size: int, kind: str) -> None:
    draw = np.random.default_rng(size)
    array = draw.integers(0, 9, (3, size)).astype(kind)
    if kind[0] == "f":
        array[1, size // 2 :: 7] = np.nan
        array[2, 1] = -np.inf
    x, y = torch.from_numpy(array), ours.from_numpy(array)
    for name in ("max", "min"):
        expected, found = getattr(x, name)(1), getattr(y, name)(1)
        np.testing.assert_array_equal(found.values.numpy(), expected.values.numpy())
        np.testing.assert_array_equal(
            getattr(y, f"arg{name}")(1).numpy(), getattr(x, f"arg{name}")(1).numpy()
        )
        assert getattr(y[0], f"arg{name}")().item() == getattr(x[0], f"arg{name}")().item()


@pytest.mark.parametrize("size", [1, 10, 1001, 2000])
def test_the_median_of_all(size: int) -> None:
    array = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    assert ours.from_numpy(array).median().item() == torch.from_numpy(array).median().item()
    array[size // 3] = np.nan
    assert np.isnan(ours.from_numpy(array).median().item())


def test_a_masked_write_with_a_number() -> None:
    for kind in (np.float32, np.int64):
        for number in (0.5, -1, float("inf") if kind is np.float32 else 3, True):
            x, y = (each.from_numpy(_MATRIX.astype(kind)) for each in (torch, ours))
            for _ in range(2):
                x[x > 1] = number
                y[y > 1] = number
            np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_facts_of_types_and_windows_of_arrays() -> None:
    assert ours.finfo(ours.float32) == ours.finfo() and ours.finfo(ours.float16).bits == 16
    x = ours.arange(6.0)
    array, part = x.numpy(), x[2:4].numpy()
    array[3] = 9.0
    assert x.tolist()[3] == 9.0 and part.tolist() == [2.0, 9.0]


@pytest.mark.parametrize("name", ["tril_indices", "triu_indices"])
def test_places_of_triangles_lie_row_by_row(name: str) -> None:
    """Few places are counted out, long rows are written one by one."""
    for rows, columns in ((0, 3), (3, 0), (1, 5), (6, 4), (5, 150), (150, 5)):
        for offset in (-7, -1, 0, 2, 8, 149):
            found = getattr(ours, name)(rows, columns, offset, dtype=ours.int32)
            expected = getattr(torch, name)(rows, columns, offset, dtype=torch.int32)
            assert found.dtype is ours.int32 and found.stride() == expected.stride()
            assert found.tolist() == expected.tolist(), (rows, columns, offset)


def test_one_hot_of_few_and_of_many_classes() -> None:
    for shape in ((), (3,), (2, 3), (0,)):
        for count in (5, 64, 65):
            classes = torch.arange(max(1, math.prod(shape)))[: math.prod(shape)].reshape(shape) % 5
            expected = torch.nn.functional.one_hot(classes, count)
            found = ours.nn.functional.one_hot(ours.tensor(classes.numpy()), count)
            assert found.tolist() == expected.tolist() and found.stride() == expected.stride()
