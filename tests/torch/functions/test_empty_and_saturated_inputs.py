"""Inputs without elements, and at the ends of what a function is defined for, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")


def outcome(library: Any, expression: str, array: Any) -> Any:
    """Values, gradient and warnings of the expression in ``x``, or its error."""
    x = library.from_numpy(array.copy()).requires_grad_()
    names = {"t": library, "F": library.nn.functional, "x": x}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = eval(expression, names)
            whole = result[0] if isinstance(result, tuple) else result
            if whole.requires_grad:
                whole.sum().backward()
        except Exception as error:
            return type(error).__name__, str(error)
    texts = [str(w.message).split(" (Triggered internally")[0] for w in seen]
    parts = result if isinstance(result, tuple) else (result,)
    gradient = None if x.grad is None else x.grad.numpy()
    return [part.detach().numpy() for part in parts], gradient, texts


def agree(expression: str, array: Any) -> None:
    expected, found = outcome(torch, expression, array), outcome(ours, expression, array)
    if isinstance(expected[0], str):
        assert found == expected
        return
    assert not isinstance(found[0], str), found
    for a, b in zip(expected[0], found[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, 1e-5, 1e-6)
    assert (expected[1] is None) == (found[1] is None)
    if expected[1] is not None:
        np.testing.assert_allclose(found[1], expected[1], 1e-5, 1e-6)
    assert found[2] == expected[2]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_functions_of_no_elements(shape: tuple[int, int]) -> None:
    """Each of these gave another value, an error of numpy's, or none where torch raises one."""
    for expression in (
        "x.median()", "x.std()", "x.var(1)", "t.std_mean(x, 0)", "x.logsumexp(0)",
        "x.logsumexp(1)", "x.logsumexp((0, 1))", "x.mode(0)", "x.mode(1)", "x.kthvalue(1, 0)",
        "x.norm(p=float('inf'), dim=1)", "x.norm(p=-1)", "t.trapezoid(x)", "t.trapezoid(x, dim=0)",
        "t.cumulative_trapezoid(x)", "x.take(t.tensor([0]))", "x.index_select(1, t.tensor([0]))",
        "t.linalg.lu_factor(x)", "F.linear(x, x)", "F.cross_entropy(x, x)",
        "F.pad(x, (1, 1), 'reflect')", "F.pad(x, (1, 1), 'replicate')", "x.nanquantile(0.5, 1)",
        "F.scaled_dot_product_attention(x, x, x)", "F.soft_margin_loss(x, x)",
        "t.multinomial(x.detach().t().contiguous().t() + 1, 2, True)",
    ):  # fmt: skip
        agree(expression, np.zeros(shape, np.float32))


def test_a_prediction_of_0_or_1_is_pushed_back_by_binary_cross_entropy() -> None:
    """A derivative of clamped logarithms is nan there, and stops the training of a GAN."""
    x = np.array([0, 1, 0, 1, 0.5, 1e-20], np.float32)
    for goal in ("0", "1", "0.25"):
        agree(f"F.binary_cross_entropy(x, t.full((6,), {goal}), reduction='none')", x)
    agree("F.binary_cross_entropy(t.sigmoid(x * 400 - 200), t.ones(6))", x)


def test_slopes_at_the_ends() -> None:
    """Zeros, infinities, numbers out of range and nan, where the slope is a matter of choice."""
    ends = np.array([-np.inf, -3, -1, -0.0, 0, 1e-30, 1, 3, np.inf, np.nan], np.float32)
    for name in ("abs", "sign", "sinc", "acosh", "logit"):
        agree(f"t.{name}(x)", ends)
    many = np.resize(ends, 32)  # of vectors: what is left over has other slopes at nan
    for name in ("elu", "selu", "celu", "hardtanh", "relu6", "hardswish", "hardsigmoid"):
        agree(f"F.{name}(x)", many)
    agree("t.atan2(x, x)", np.zeros(3, np.float32))
    agree("t.hypot(x, x)", np.zeros(3, np.float32))


def test_equal_elements_share_the_gradient_of_a_median_of_all() -> None:
    """torch divides it between them; one element would get it all."""
    for array in (np.zeros(4), np.array([1.0, 2, 2, 2, 3]), np.array([1, np.nan, 1])):
        agree("x.median()", array)
        agree("x.nanmedian()", array)


def test_kthvalue_finds_the_place_that_torch_finds_of_equal_elements() -> None:
    """Its selection is no stable sort, but it is determined."""
    rows = np.random.default_rng(0).integers(0, 4, (6, 40)).astype(np.float32)
    for k in (1, 7, 20, 40):
        agree(f"x.kthvalue({k}, 1)", rows)
    agree("x.kthvalue(3, 0)", rows)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
def test_numbers_out_of_an_integer_type_are_cut_as_processors_do(kind: str) -> None:
    """To the least of 32 bits, and then cut; a way over 64 bits gives other numbers."""
    numbers = [3e9, -3e9, np.nan, np.inf, 1e20, 2.0**31, 300.0, -1.0, -300.7, 65536.5] * 3
    for target in ("int8", "uint8", "int16", "int32", "int64"):
        found = ours.tensor(numbers, dtype=getattr(ours, kind)).to(getattr(ours, target))
        expected = torch.tensor(numbers, dtype=getattr(torch, kind)).to(getattr(torch, target))
        assert found.tolist() == expected.tolist(), target


def test_numbers_of_numpy_keep_their_type_in_lists() -> None:
    """Rewards of an environment are such lists: Python's float is no float64 among them."""
    single, double = np.float32(1), np.float64(1)
    lists: list[Any] = [
        [single, 2], [single, 2.0], [double, 2], [double], [[double], [3]], [np.int32(1), single],
        [np.int64(1), 2.5], [np.float16(1), 2.0], [np.uint8(3)], [2, True], [True, 2.5], [1, 2j],
        [np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0])], [[], []],
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lists of arrays
        for numbers in lists:
            assert str(ours.tensor(numbers).dtype) == str(torch.tensor(numbers).dtype), numbers
            assert ours.tensor(numbers).tolist() == torch.tensor(numbers).tolist()
    with pytest.raises(ValueError, match="Overflow when unpacking"):
        ours.tensor([2**63])


def test_arguments_are_taken_by_the_names_of_methods() -> None:
    """Each of these was refused, or accepted and ignored."""
    for expression in (
        "x.view(size=(6,))", "x.repeat(repeats=(2, 1))", "x.split(split_size=2, dim=0)",
        "x.new_full((2,), 1, layout=t.strided, pin_memory=False)",
        "t.repeat_interleave(x, 2, output_size=3)",
        "t.repeat_interleave(x, t.tensor([1, 2, 3]), 0, output_size=7)",
        "t.heaviside(x, x).detach()", "t.heaviside(x, x)",
    ):  # fmt: skip
        agree(expression, np.arange(6, dtype=np.float32).reshape(3, 2))
    for call in ("float", "double", "half", "cpu", "long"):
        for library in (ours, torch):
            x = library.ones(2, 3, 4, 5)
            moved = getattr(x, call)(memory_format=library.channels_last)
            assert moved.stride() == (60, 1, 15, 3)
            assert x.resize_(1, 3, 4, 5, memory_format=library.channels_last).stride()[1] == 1


def test_attention_with_keys_and_values_given_by_head() -> None:
    """``static_k`` and ``static_v`` take the place of what is projected."""
    numbers = np.random.default_rng(0).standard_normal
    given = [numbers(shape).astype(np.float32) for shape in ((2, 3, 4), (6, 5, 2), (12, 4), (4, 4))]
    found = []
    for library in (torch, ours):
        q, static, inner, outer = (library.from_numpy(a) for a in given)
        found.append(library.nn.functional.multi_head_attention_forward(
            q, q, q, 4, 2, inner, None, None, None, False, 0.0, outer, None,
            static_k=static, static_v=static * 2,
        ))  # fmt: skip
    for expected, mine in zip(*found, strict=True):
        np.testing.assert_allclose(mine.numpy(), expected.numpy(), 1e-5, 1e-6)


@pytest.mark.parametrize(
    "expression",
    ["t.linalg.vector_norm(x)", "t.linalg.vector_norm(x, dim=1)", "x.var(1)",
     "x.detach().cumprod(1)", "x.logcumsumexp(1)"],
)  # fmt: skip
@pytest.mark.parametrize("value", [1e30, float("inf"), float("nan")])
def test_what_overflows_gives_no_warning(expression: str, value: float) -> None:
    """Clipping infinite gradients is what a GradScaler's first steps do: NumPy stays silent."""
    agree(expression, np.full((2, 3), value, np.float32))


@pytest.mark.parametrize("axis", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_spreads_are_rounded_once(axis: tuple[int, ...]) -> None:
    """Squares are added in double precision, whatever the piece; 1e30 has a deviation."""
    x = np.random.default_rng(0).standard_normal((7, 50, 60)).astype("float32")
    for name in ("std", "var"):
        for array in (x, x * np.float32(1e30) if name == "std" else x + 3):
            expected = getattr(torch, name)(torch.from_numpy(array), axis)
            found = getattr(ours, name)(ours.from_numpy(array), axis)
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_numbers_are_gathered_from_like_rows_of_one() -> None:
    for expression in (
        "t.gather(x, 0, t.tensor([0, 0]))",
        "t.scatter(t.tensor([1.])[0], 0, t.tensor([0]), x[None])",
        "t.take_along_dim(x, t.tensor([0]), 0)",
        "t.take_along_dim(t.ones(6, 4), t.zeros(1, 3, dtype=t.int64), 0)",
        "F.embedding(t.tensor([0, 1], dtype=t.int32), t.stack([x, x])[:, None])",
        "t.ones(3).index_fill(0, t.tensor([0], dtype=t.int32), 1)",
    ):  # fmt: skip
        agree(expression, np.array(2.5, np.float32))


def test_what_is_out_of_range_is_refused() -> None:
    nan = np.full(3, np.nan, np.float32)
    for expression in (
        "F.binary_cross_entropy(t.full((3,), 0.5), t.tensor([0., 1.5, 1.]) + 0 * x.nan_to_num())",
        "t.normal(t.zeros(3), x)", "t.poisson(x)", "t.linalg.pinv(x.expand(3, 3))",
        "t.linalg.pinv(x.expand(2, 3, 3), hermitian=True)", "t.addmv(x, t.ones(5, 4), t.ones(4))",
        "t.masked_select(x, t.ones(2, dtype=t.bool))", "x.masked_scatter(t.ones(2) > 0, x)",
    ):  # fmt: skip
        agree(expression, nan)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_first_of_two_zeros_is_taken(dtype: str) -> None:
    """By loops over single elements: PyTorch's own vectors of float32 take the second."""
    for name in ("maximum", "minimum", "fmax", "fmin", "clamp_min", "clamp_max"):
        for values in ((0.0, -0.0), (-0.0, 0.0)):
            signs = []
            for t in (torch, ours):
                x, y = (t.full((5,), v, dtype=getattr(t, dtype)) for v in values)
                signs.append(t.signbit(getattr(t, name)(x, y)).tolist())
            assert signs[0] == signs[1], name


def test_imaginary_numbers_are_true() -> None:
    for values in ([0j, 1j, -0j, 2], [1e-45j]):
        expected = torch.tensor(values).bool().tolist()
        x = ours.tensor(values)
        assert x.bool().tolist() == expected
        assert (ours.zeros(len(values)) > 0).copy_(x).tolist() == expected


@pytest.mark.filterwarnings("ignore:Casting complex")
def test_complex_tensors_are_written_to_real_ones() -> None:
    """Their real part, by slices; a number of Python's is refused."""

    def written(t: Any, target: list[Any], item: Any, value: Any) -> Any:
        x = t.tensor(target)
        try:
            x[item] = t.tensor(value) if isinstance(value, list) else value
        except RuntimeError as error:
            return str(error)
        return x.tolist()

    for case in (
        ([1.0, 2.0, 3.0], slice(0, 2), [1j, 2 + 1j]), ([1.0, 2.0], slice(1, 2), [3 + 1j]),
        ([False, False], slice(0, 1), [1j]), ([1, 2], 0, 1j), ([1.0, 2.0], 0, 1j),
        ([False, False], 0, 1j),
    ):  # fmt: skip
        assert written(ours, *case) == written(torch, *case), case


def test_softshrink_of_what_is_small_has_no_sign() -> None:
    x = np.linspace(-1, 1, 32, dtype=np.float32)
    expected, found = (t.nn.functional.softshrink(t.from_numpy(x)) for t in (torch, ours))
    np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(expected.numpy()))
