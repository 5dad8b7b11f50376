"""nn.functional at its edges against PyTorch: empty inputs, odd shapes, complex numbers, errors."""

from __future__ import annotations

import collections
import importlib
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)


def both(*arrays: Any) -> tuple[list[Any], list[Any]]:
    """The arrays as tensors of both libraries, those of floats with gradients."""
    theirs = [torch.tensor(a) for a in arrays]
    mine = [ours.tensor(a) for a in arrays]
    for each in (*theirs, *mine):
        if each.is_floating_point() or each.is_complex():
            each.requires_grad_()
    return theirs, mine


def compare(call: Any, *arrays: Any) -> None:
    """Values and gradients of ``call(library, *tensors)`` agree."""
    theirs, mine = both(*arrays)
    expected, found = call(torch, *theirs), call(ours, *mine)
    assert tuple(expected.shape) == tuple(found.shape)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), 1e-5, 1e-5)
    (expected * expected).sum().abs().backward()
    (found * found).sum().abs().backward()
    for a, b in zip(theirs, mine, strict=True):
        if a.requires_grad:
            np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), 1e-4, 1e-4)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def complex_normal(*shape: int) -> Any:
    return (normal(*shape) + 1j * normal(*shape)).astype(np.complex64)


def test_gradient_of_a_transposed_convolution_whose_output_padding_exceeds_the_stride() -> None:
    """The strided convolution of its cotangent then has more places than its input."""
    compare(
        lambda t, x, w, b: t.nn.functional.conv_transpose2d(
            x, w, b, stride=(3, 2), padding=(1, 2), output_padding=(2, 3), groups=2, dilation=4
        ),
        normal(2, 2, 4, 4), normal(2, 2, 4, 5), normal(4),
    )  # fmt: skip


def test_a_transposed_convolution_of_bfloat16_is_rounded_once_after_its_bias() -> None:
    given = normal(2, 8, 6), normal(8, 6, 3), normal(6)
    wide, mine = ([library.tensor(a).bfloat16() for a in given] for library in (torch, ours))
    exact = torch.nn.functional.conv_transpose1d(*(x.double() for x in wide)).bfloat16()
    found = ours.nn.functional.conv_transpose1d(*mine)
    assert found.dtype is ours.bfloat16
    np.testing.assert_array_equal(found.float().numpy(), exact.float().numpy())


def test_native_batch_norm_moves_its_statistics_out_of_sight_of_gradients() -> None:
    def call(t: Any, x: Any, weight: Any, bias: Any) -> Any:
        mean, spread = t.zeros(3), t.ones(3)
        result = t.native_batch_norm(x, weight, bias, mean, spread, True, 0.1, 1e-5)[0]
        assert not mean.requires_grad and not spread.requires_grad
        return result + mean + spread

    compare(call, normal(4, 3), normal(3), normal(3))


@pytest.mark.parametrize("name", ["conv1d", "conv_transpose1d"])
def test_gradients_of_complex_convolutions_conjugate_the_other_factor(name: str) -> None:
    """A real formula would lose the conjugate."""
    compare(
        lambda t, x, w: getattr(t.nn.functional, name)(x, w, stride=2, padding=1),
        complex_normal(2, 3, 7), complex_normal(3, 3, 3),
    )  # fmt: skip


def test_gradient_of_a_complex_rms_norm() -> None:
    """Complex rows take the path of differentiable ops."""
    compare(
        lambda t, x, w: t.nn.functional.rms_norm(x, (4,), w),
        complex_normal(3, 4), complex_normal(4),
    )  # fmt: skip


def test_gradients_of_normalisations_of_no_rows_are_zeros() -> None:
    """The length of a row cannot be had by dividing by the number of rows."""
    compare(lambda t, x, w, b: t.nn.functional.layer_norm(x, (3,), w, b), normal(0, 3), normal(3),
            normal(3))  # fmt: skip
    compare(lambda t, x, w: t.nn.functional.rms_norm(x, (3,), w), normal(0, 3), normal(3))


@pytest.mark.parametrize("shape", [(), (4,), (3, 4)])
def test_margin_losses_take_a_number_a_sample_or_a_batch(shape: tuple[int, ...]) -> None:
    """A number is one sample of one class."""
    one = np.zeros(shape[:-1], np.int64)
    compare(lambda t, x, y: t.nn.functional.multi_margin_loss(x, y, reduction="none"),
            normal(*shape), one)  # fmt: skip
    listed = np.full(shape, -1)
    listed.reshape(-1)[0] = 0
    compare(lambda t, x, y: t.nn.functional.multilabel_margin_loss(x, y), normal(*shape), listed)


def test_fractional_pooling_of_an_empty_batch() -> None:
    """No axis can be inferred from no elements."""
    found = ours.nn.functional.fractional_max_pool3d(ours.zeros(0, 1, 4, 5, 4), 2, output_size=2)
    assert tuple(found.shape) == (0, 1, 2, 2, 2)


WRONG = {
    "multi_margin_loss of a matrix of targets": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(5, 4), t.zeros(5, 4, dtype=t.long)),
    "multi_margin_loss of floats": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(5, 4), t.zeros(5)),
    "multi_margin_loss of an absent class": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(5, 4), t.full((5,), 7)),
    "multi_margin_loss with few weights": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(5, 4), t.zeros(5, dtype=t.long), weight=t.zeros(3)),
    "multi_margin_loss of no classes": lambda t: t.nn.functional.multi_margin_loss(
        t.zeros(5, 0), t.zeros(5, dtype=t.long)),
    "multilabel_margin_loss of other targets": lambda t: t.nn.functional.multilabel_margin_loss(
        t.zeros(5, 4), t.zeros(4, dtype=t.long)),
    "multilabel_margin_loss of an absent class": lambda t: (
        t.nn.functional.multilabel_margin_loss(t.zeros(5, 4), t.full((5, 4), 9))),
    "soft_margin_loss": lambda t: t.nn.functional.soft_margin_loss(t.zeros(5, 4), t.zeros(5)),
    "triplet_margin_loss": lambda t: t.nn.functional.triplet_margin_loss(
        t.zeros(3), t.zeros(3, 4), t.zeros(3, 4)),
    "prelu of a number": lambda t: t.prelu(t.zeros(()), t.zeros(2)),
    "prelu of a matrix of weights": lambda t: t.prelu(t.zeros(2, 3), t.zeros(3, 1)),
    "prelu of two types": lambda t: t.prelu(t.zeros(2, 3), t.zeros(3, dtype=t.float64)),
    "embedding in a number": lambda t: t.nn.functional.embedding(
        t.zeros(2, dtype=t.long), t.zeros(())),
    "embedding in a vector": lambda t: t.nn.functional.embedding(
        t.zeros(2, dtype=t.long), t.zeros(3), max_norm=1.0),
    "batch_norm of a vector": lambda t: t.nn.functional.batch_norm(
        t.zeros(3), t.zeros(3), t.zeros(3)),
    "batch_norm of a number": lambda t: t.nn.functional.batch_norm(
        t.zeros(()), None, None, training=True),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_raise_as_in_torch(name: str) -> None:
    """The same type of exception with the same text."""
    with pytest.raises(Exception) as expected:
        WRONG[name](torch)
    with pytest.raises(expected.type) as found:
        WRONG[name](ours)
    assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


PADDINGS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 5), (-3, -2)), ((2, 5), (-3, -4)), ((2, 5), (5, 1)), ((1, 2, 0), (1, 1)),
    ((0, 2), (1, 1)), ((3, 4, 5), (1, 1, 4, 4)), ((1, 3, 4, 5), (1, 1, 0, 4)),
    ((1, 3, 4, 5), (-5, 0, 0, 0)), ((1, 3, 4, 5), (0, 0, -3, -1)), ((1, 0, 4, 5), (1,) * 4),
    ((0, 3, 4, 5), (1,) * 4), ((1, 3, 4, 5), (-2, 3, -2, 1)), ((3, 4, 5, 6), (1, 1, 1, 1, 4, 1)),
    ((2, 2, 3, 4, 5), (1, 1, -2, -3, 1, 1)), ((2, 0, 3, 4, 5), (1,) * 6),
)  # fmt: skip


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("kind", ["float32", "bool"])
def test_paddings_that_leave_nothing_or_take_too_much(mode: str, kind: str) -> None:
    """Torch's shapes and elements, or its exceptions with their texts."""

    def padded(torch_: Any, shape: Any, pad: Any) -> Any:
        x = torch_.arange(int(np.prod(shape))).reshape(shape).to(getattr(torch_, kind))
        try:
            return torch_.nn.functional.pad(x, pad, mode=mode).tolist()
        except (RuntimeError, NotImplementedError) as raised:
            return type(raised), str(raised)

    for shape, pad in PADDINGS:
        assert padded(ours, shape, pad) == padded(torch, shape, pad), (shape, pad)


@pytest.mark.parametrize("kinds", [("float64", "float32"), ("float32", "float64"),
                                   ("bfloat16", "float32"), ("float32", "float16")])  # fmt: skip
def test_losses_of_two_types_have_the_type_that_torch_stores_them_in(kinds: Any) -> None:
    """The target's for logits, whose sums are rounded to it at each step; else the input's."""

    def losses(t: Any) -> list[Any]:
        functional = t.nn.functional
        x = t.linspace(-2, 2, 64, dtype=t.float64).to(getattr(t, kinds[0]))
        y = (t.arange(64) % 3 == 0).to(getattr(t, kinds[1]))
        weights = {"weight": t.linspace(1, 2, 64), "pos_weight": t.linspace(2, 3, 64)}
        found = [
            functional.binary_cross_entropy_with_logits(x, y, reduction="none"),
            functional.binary_cross_entropy_with_logits(x, y, reduction="none", **weights),
            functional.huber_loss(x, y, reduction="none"),
            functional.soft_margin_loss(x, y, reduction="none"),
        ]
        return [(loss.dtype.itemsize, loss.double().numpy()) for loss in found]

    for found, expected in zip(losses(ours), losses(torch), strict=True):
        assert found[0] == expected[0]
        step = {2: 2**-7, 4: 2**-22, 8: 2**-22}[found[0]]  # float64 of float32 logarithms
        np.testing.assert_allclose(found[1], expected[1], rtol=step, atol=step)


OF_FLOATS = """elu selu celu gelu silu mish softplus hardswish hardsigmoid leaky_relu logsigmoid
hardshrink softshrink glu rrelu relu6 hardtanh""".split()


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool"])
def test_activations_of_whole_numbers_are_torchs_or_refused_with_its_text(kind: str) -> None:
    """Most have kernels for floating-point numbers alone; a script must not get others here."""

    def activated(t: Any, name: str) -> Any:
        try:
            return getattr(t.nn.functional, name)(t.arange(6).to(getattr(t, kind))).tolist()
        except (RuntimeError, NotImplementedError) as raised:
            return type(raised), str(raised)

    for name in OF_FLOATS:
        assert activated(ours, name) == activated(torch, name), name


@pytest.mark.parametrize(
    ("query", "padding", "mask"),
    [((3, 2, 4), (3,), None), ((3, 4), (1, 3), None), ((3, 2, 4), None, (3,)),
     ((3, 4), None, (3,)), ((3, 4), None, (5, 3, 3))],
)  # fmt: skip
def test_masks_of_attention_with_other_axes(query: Any, padding: Any, mask: Any) -> None:
    """torch says which mask has too few or too many axes."""

    def error(namespace: Any) -> str:
        def zeros(shape: Any) -> Any:
            return None if shape is None else namespace.zeros(shape, dtype=namespace.bool)

        x = namespace.ones(query)
        with pytest.raises(AssertionError) as caught:
            namespace.nn.MultiheadAttention(4, 2)(
                x, x, x, key_padding_mask=zeros(padding), attn_mask=zeros(mask)
            )
        return str(caught.value)

    assert error(ours) == error(torch)


@pytest.mark.parametrize("namespace", [ours, torch], ids=["ours", "torch"])
def test_hooks_keep_named_tuples_and_accept_gradients_of_none(namespace: Any) -> None:
    """A module with backward hooks returns what its forward returned, of the same class."""
    pair = collections.namedtuple("pair", "first second")

    class Two(namespace.nn.Linear):
        def forward(self, x: Any) -> Any:
            y = super().forward(x)
            return pair(y, y * 2)

    module, seen = Two(2, 2), list[Any]()

    def keep(module: Any, inputs: Any, outputs: Any) -> Any:
        seen.append(inputs)
        return inputs

    module.register_full_backward_hook(keep)
    found = module(namespace.ones(3, 2))
    assert type(found) is pair
    with pytest.warns(UserWarning, match="no inputs require gradients. See"):
        found.first.sum().backward()
    assert seen == [(None,)]


@pytest.mark.parametrize("namespace", [ours, torch], ids=["ours", "torch"])
def test_a_part_of_a_row_may_be_written_to_the_whole_row(namespace: Any) -> None:
    """The value's view lies in what is written: only views of other layouts overlap."""
    x = namespace.arange(6).view(2, 3)
    x[0] = x[0][2]
    x[:] = x[0]
    assert x.tolist() == [[2, 2, 2], [2, 2, 2]]
    with pytest.raises(RuntimeError, match="single memory location"):
        x[0][:2] = x[0][1:]


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "bfloat16", "float16"])
def test_finfo_of_short_types(name: str) -> None:
    """All that finfo prints, of types that numpy does not know too."""
    assert repr(ours.finfo(getattr(ours, name))) == repr(torch.finfo(getattr(torch, name)))


def test_refusals_of_recurrent_and_lazy_parts() -> None:
    """Empty tensors to pack; a whole number as an uninitialised parameter's shape."""
    with pytest.raises(RuntimeError, match="Cannot pack empty tensors"):
        ours.nn.utils.rnn.pack_padded_sequence(ours.ones(0, 0), [])
    parameter = ours.nn.UninitializedParameter()
    parameter.materialize(3)
    assert parameter.shape == (3,)


@pytest.mark.parametrize("namespace", [ours, torch], ids=["ours", "torch"])
def test_the_module_tracker_looks_into_dictionaries(namespace: Any) -> None:
    """A module whose arguments and results are in a dictionary is one of the parents backward."""
    tracking = importlib.import_module(namespace.__name__ + ".utils.module_tracker")
    seen = []

    class Outer(namespace.nn.Module):
        def forward(self, given: Any) -> Any:
            x = given["x"] * 1
            x.register_hook(lambda g: seen.append(set(tracker.parents)))
            return {"x": x * 2}

    with tracking.ModuleTracker() as tracker:
        Outer()({"x": namespace.ones(2, requires_grad=True) * 1})["x"].sum().backward()
    assert seen == [{"Global", "Outer"}]


@pytest.mark.parametrize("shape", [(None, 3), [2, None]])
def test_sizes_that_stay_as_they_are(shape: Any) -> None:
    """Their kernel takes numbers, and is not asked whether None is one."""
    x = RANDOM.standard_normal((2, 3, 6, 5)).astype(np.float32)
    for name in ("adaptive_max_pool2d", "adaptive_avg_pool2d"):
        compare(lambda t, v, name=name: getattr(t.nn.functional, name)(v, shape), x)


@pytest.mark.parametrize(
    "first, second, ends",
    [((2, 3, 8), (2, 8, 4), None), ((6, 8), (2, 8, 4), [2, 6]), ((2, 4, 8), (8, 8), [4, 8]),
     ((4, 8), (8, 4), [4, 8])],
)  # fmt: skip
def test_products_of_groups(first: Any, second: Any, ends: Any) -> None:
    def product(t: Any, a: Any, b: Any) -> Any:
        offs = None if ends is None else t.tensor(ends, dtype=t.int32)
        return t.nn.functional.grouped_mm(a, b, offs=offs)

    compare(product, normal(*first), normal(*second))


@pytest.mark.parametrize(
    "first, second", [((2, 8), (2, 8, 4)), ((2, 3, 7), (2, 7, 4)), ((2, 3, 8), (1, 8, 4))]
)
def test_products_of_groups_that_do_not_fit(first: Any, second: Any) -> None:
    theirs, mine = both(normal(*first), normal(*second))
    texts = []
    for t, given in ((torch, theirs), (ours, mine)):
        with pytest.raises(RuntimeError) as caught:
            t.nn.functional.grouped_mm(*given)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
