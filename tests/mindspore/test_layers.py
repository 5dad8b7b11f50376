"""Layers, losses, tensors and ops of the facade where MindSpore's arguments differ from torch's."""

import math
from typing import Any

import numpy as np
import pytest
import torch as oracle
from torch.nn import functional as expected_of

import mindtorch.mindspore as ms
from mindtorch.mindspore import Parameter, Tensor, nn, ops
from mindtorch.mindspore.common.initializer import (
    Constant,
    Normal,
    TruncatedNormal,
    VarianceScaling,
    initializer,
)

DRAW = np.random.default_rng(11)
IMAGE = DRAW.standard_normal((2, 4, 7, 6)).astype(np.float32)
GIVEN = oracle.from_numpy(IMAGE)


def near(found, expected, tolerance=1e-5):
    expected = expected.detach().numpy() if hasattr(expected, "detach") else expected
    assert found.asnumpy().shape == tuple(expected.shape)
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=tolerance, atol=tolerance)


def weight_of(cell):
    return oracle.from_numpy(cell.weight.asnumpy())


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_pool_windows_of_same_and_valid(kernel, stride):
    """"same" has ceil(size / stride) windows, and averages leave padding out."""
    for kind, edge in ((nn.MaxPool2d, -math.inf), (nn.AvgPool2d, 0.0)):
        found = kind(kernel, stride, pad_mode="same")(Tensor(IMAGE))
        assert found.shape == (2, 4, -(-7 // stride), -(-6 // stride))
        pads = []
        for size in (6, 7):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads += [total // 2, total - total // 2]
        padded = expected_of.pad(GIVEN, pads, value=edge)
        if kind is nn.MaxPool2d:
            near(found, expected_of.max_pool2d(padded, kernel, stride))
        else:
            ones = expected_of.pad(oracle.ones_like(GIVEN), pads)
            means = expected_of.avg_pool2d(padded, kernel, stride)
            near(found, means / expected_of.avg_pool2d(ones, kernel, stride))
    near(nn.MaxPool2d(kernel, stride)(Tensor(IMAGE)), expected_of.max_pool2d(GIVEN, kernel, stride))


@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (2, 3), (4, 2)])
def test_transposed_convolutions(kernel, stride):
    """"same" gives size * stride; "valid" at least that; "pad" is torch's."""
    same = nn.Conv2dTranspose(4, 3, kernel, stride)
    assert same(Tensor(IMAGE)).shape == (2, 3, 7 * stride, 6 * stride)
    valid = nn.Conv2dTranspose(4, 3, kernel, stride, pad_mode="valid")
    spare = max(kernel - stride, 0)
    assert valid(Tensor(IMAGE)).shape == (2, 3, 7 * stride + spare, 6 * stride + spare)
    pad = nn.Conv2dTranspose(4, 3, kernel, stride, pad_mode="pad", padding=1, has_bias=True)
    near(
        pad(Tensor(IMAGE)),
        expected_of.conv_transpose2d(
            GIVEN, weight_of(pad), oracle.from_numpy(pad.bias.asnumpy()), stride, 1
        ),
    )


def test_convolution_with_explicit_sides_groups_and_dilation():
    """padding=(top, bottom, left, right); and what does not fit together is refused."""
    conv = nn.Conv2d(4, 6, 3, 2, pad_mode="pad", padding=(1, 0, 2, 1), dilation=2, group=2)
    padded = expected_of.pad(GIVEN, (2, 1, 1, 0))
    near(conv(Tensor(IMAGE)), expected_of.conv2d(padded, weight_of(conv), None, 2, 0, 2, 2))
    line = nn.Conv1d(4, 2, 3)
    near(
        line(Tensor(IMAGE[..., 0])),
        expected_of.conv1d(GIVEN[..., 0], weight_of(line), padding=1),
    )
    with pytest.raises(ValueError, match="'padding' must be zero"):
        nn.Conv2d(4, 6, 3, padding=1)
    with pytest.raises(ValueError, match="'pad_mode' must be one of"):
        nn.Conv2d(4, 6, 3, pad_mode="full")


def test_gradients_reach_weights_through_uneven_padding():
    """The padded convolution is differentiated by weight and input as torch does."""
    conv = nn.Conv2d(4, 3, 2, 2)
    x, w = GIVEN.clone().requires_grad_(), weight_of(conv).requires_grad_()
    expected_of.conv2d(expected_of.pad(x, (0, 0, 0, 1)), w, stride=2).square().sum().backward()
    of_x, (of_w,) = ms.grad(lambda v: ops.square(conv(v)).sum(), 0, conv.trainable_params())(
        Tensor(IMAGE)
    )
    near(of_x, x.grad)
    near(of_w, w.grad, 1e-4)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_follow_torch(name):
    """Two directions and layers, and lengths of sequences."""
    layer = getattr(nn, name)(4, 3, num_layers=2, batch_first=True, bidirectional=True)
    theirs = getattr(oracle.nn, name)(4, 3, num_layers=2, batch_first=True, bidirectional=True)
    theirs.load_state_dict(
        {p.name: oracle.from_numpy(p.asnumpy()) for p in layer.trainable_params()}
    )
    x = IMAGE[..., 0].transpose(0, 2, 1)
    found, expected = layer(Tensor(x)), theirs(oracle.from_numpy(x.copy()))
    near(found[0], expected[0])
    assert type(found[0]) is Tensor
    lengths = np.array([3, 7], np.int32)
    found = layer(Tensor(x), None, Tensor(lengths))
    packed = oracle.nn.utils.rnn.pack_padded_sequence(
        oracle.from_numpy(x.copy()), oracle.from_numpy(lengths).long(), True, False
    )
    expected = theirs(packed)
    unpacked = oracle.nn.utils.rnn.pad_packed_sequence(expected[0], batch_first=True)[0]
    near(found[0], unpacked)
    state, theirs_state = (s[0] if isinstance(s, tuple) else s for s in (found[1], expected[1]))
    near(state, theirs_state)
    grads = ms.grad(lambda v: layer(v)[0].sum(), None, layer.trainable_params())(Tensor(x))
    assert all(np.abs(g.asnumpy()).max() > 0 for g in grads)


def test_losses_have_mindspores_reductions():
    """SoftmaxCrossEntropyWithLogits and SmoothL1Loss reduce nothing by default."""
    logits, labels = DRAW.standard_normal((5, 3)).astype(np.float32), np.array([0, 2, 1, 1, 0])
    x, y = Tensor(logits), Tensor(labels, ms.int32)
    entropy = expected_of.cross_entropy(
        oracle.from_numpy(logits), oracle.from_numpy(labels), reduction="none"
    )
    near(nn.SoftmaxCrossEntropyWithLogits(sparse=True)(x, y), entropy)
    rows = ops.one_hot(y, 3, Tensor(1.0), Tensor(0.0))
    near(nn.SoftmaxCrossEntropyWithLogits(reduction="mean")(x, rows), entropy.mean())
    near(ops.cross_entropy(x, y), entropy.mean())
    other = Tensor(logits[::-1].copy())
    assert nn.SmoothL1Loss()(x, other).shape == (5, 3) and nn.MSELoss()(x, other).shape == ()
    near(nn.RMSELoss()(x, other), oracle.tensor(np.sqrt(((logits - logits[::-1]) ** 2).mean())))
    with pytest.raises(ValueError, match="reduction"):
        nn.MSELoss("average")


def test_activations_have_mindspores_defaults():
    """LeakyReLU's slope is 0.2 and GELU approximates with tanh."""
    x = Tensor([-1.0, 0.5])
    assert nn.LeakyReLU()(x).asnumpy().tolist() == pytest.approx([-0.2, 0.5])
    near(nn.GELU()(x), expected_of.gelu(oracle.tensor([-1.0, 0.5]), approximate="tanh"))
    near(nn.PReLU()(x), oracle.tensor([-0.25, 0.5]))
    near(nn.Dense(2, 2, "ones", "zeros", activation="relu")(x), oracle.zeros(2))
    with pytest.raises(KeyError, match="get_activation"):
        nn.get_activation("unheard_of")


def test_initialisers_have_mindspores_scales():
    """Deviations and limits of many draws; names; Dense is uniform up to 1 / sqrt(inputs)."""
    ms.set_seed(0)
    shape = (400, 100)
    assert initializer("normal", shape).asnumpy().std() == pytest.approx(0.01, rel=0.02)
    cut = initializer(TruncatedNormal(0.5), shape).asnumpy()
    assert 0.95 < np.abs(cut).max() <= 1.0
    scaled = initializer(VarianceScaling(2.0), shape).asnumpy()
    assert scaled.std() == pytest.approx(math.sqrt(2 / 100), rel=0.02)
    weight = nn.Dense(100, 400).weight.asnumpy()
    assert 0.099 < np.abs(weight).max() <= 0.1
    assert nn.Embedding(300, 100).embedding_table.asnumpy().std() == pytest.approx(0.01, rel=0.02)
    assert initializer(Constant(3), (2,), ms.int32).asnumpy().tolist() == [3, 3]
    with pytest.raises(ValueError, match="was not found"):
        initializer("unheard_of", (2,))
    ms.set_seed(5)
    first = initializer(Normal(1.0), (4,)).asnumpy()
    ms.set_seed(5)
    assert np.array_equal(initializer(Normal(1.0), (4,)).asnumpy(), first)


def test_tensors_are_made_and_shown_as_mindspores():
    """Types of what is given, properties that are no methods, text."""
    kinds: list[Any] = [1.0, [1, 2], True, np.float64(1), np.zeros(2, np.int8)]
    names = [str(Tensor(k).dtype) for k in kinds]
    assert names == ["torch.float32", "torch.int64", "torch.bool", "torch.float64", "torch.int8"]
    x = Tensor([[1.0, 2.0]])
    assert (x.size, x.shape, x.ndim, x.itemsize, x.nbytes) == (2, (1, 2), 2, 4, 8)
    assert str(x) == "[[1. 2.]]" and f"{x.sum():.1f}" == "3.0"
    assert repr(x) == (
        "Tensor(shape=[1, 2], dtype=Float32, value=\n[[ 1.00000000e+00,  2.00000000e+00]])"
    )
    assert repr(Parameter(x, "w")) == (
        "Parameter (name=w, shape=(1, 2), dtype=Float32, requires_grad=True)"
    )
    assert Tensor(shape=(2,), dtype=ms.float16, init="ones").asnumpy().tolist() == [1.0, 1.0]


def test_methods_take_mindspores_arguments():
    """Reductions, permutations and repetitions differ from torch's."""
    array = DRAW.standard_normal((2, 3, 4)).astype(np.float32)
    x = Tensor(array)
    near(x.transpose(2, 0, 1), array.transpose(2, 0, 1))
    near(x.transpose(), array.T)
    near(x.max(axis=1), array.max(1))
    near(x.var(axis=(0, 2)), array.var((0, 2)))
    near(x.std(2, ddof=1), array.std(2, ddof=1))
    near(x.mean(axis=1, keep_dims=True), array.mean(1, keepdims=True))
    near(x.sum(axis=(0, 1), initial=2), array.sum((0, 1)) + 2)
    near(x.repeat(2, axis=0), array.repeat(2, 0))
    near(x.flatten("F"), array.flatten("F"))
    near(x.expand_dims(0).squeeze(0), array)
    near(ops.max(x, 2)[0], array.max(2))
    assert ops.max(x, 2)[1].asnumpy().tolist() == array.argmax(2).tolist()
    near(ops.gather(x, Tensor([2, 0]), 1), array[:, [2, 0]])
    near(ops.ReduceMean(keep_dims=True)(x, (0, 2)), array.mean((0, 2), keepdims=True))
    near(ops.MatMul(transpose_b=True)(x[0], x[1]), array[0] @ array[1].T)
    assert ops.Argmax()(x).dtype is ms.int32 and ops.Shape()(x) == (2, 3, 4)
    assert ops.one_hot(Tensor([1, 5]), 3, 1, 0).asnumpy().tolist() == [[0, 1, 0], [0, 0, 0]]
    near(x.squeeze(0), array)


def test_methods_take_torchs_words_as_mindspore_does():
    """Names ``dim`` and ``keepdim``, and whole numbers in front, mean what they mean in 2.10."""
    x = Tensor([[1.0, 5.0], [3.0, 2.0]])
    values, places = x.max(1)
    assert (values.asnumpy().tolist(), places.asnumpy().tolist()) == ([5, 3], [1, 0])
    assert x.max(axis=1).asnumpy().tolist() == x.max(1, keepdims=True).asnumpy()[:, 0].tolist()
    assert x.min(dim=0, keepdim=True)[0].asnumpy().tolist() == [[1, 2]]
    assert x.max(axis=0, initial=4).asnumpy().tolist() == [4, 5]
    assert x.sum(dim=1, keepdim=True).shape == (2, 1)
    assert x.mean(dim=0).asnumpy().tolist() == [2, 3.5]
    assert x.transpose(0, 1).asnumpy().tolist() == x.transpose((1, 0)).asnumpy().tolist()
    assert x.transpose((0, 1)).asnumpy().tolist() == x.asnumpy().tolist()
    assert x.gather(1, Tensor([[1], [0]])).asnumpy().tolist() == [[5], [3]]
    assert x.select(x > 2, 0.0).asnumpy().tolist() == [[0, 5], [3, 0]]
    assert x.norm(1).item() == 7 and x.median()[0].asnumpy().tolist() == [1, 2]
    assert x.cumsum().asnumpy().tolist() == [1, 6, 9, 11] and x.type() == "Float32"
    assert x[::-1].asnumpy().tolist() == [[3, 2], [1, 5]]
    assert x[..., None, ::-2].asnumpy().tolist() == [[[5]], [[2]]]
    assert ([1, 2] + x).asnumpy().tolist() == [[2, 7], [4, 4]]
    x[0] = [7, 8]
    assert x.itemset((1, 1), 0).asnumpy().tolist() == [[7, 8], [3, 0]]


def test_augmented_assignments_make_new_tensors():
    """``x += y`` binds a name anew: other names, and parameters, keep what they had."""
    x = Tensor([1.0, 2.0])
    other = x
    x += 1
    x *= x
    assert (x.asnumpy().tolist(), other.asnumpy().tolist()) == ([4, 9], [1, 2])

    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(Tensor([0.0]), name="count")

        def construct(self, x):
            self.count += 1  # a cell's parameter takes the value over
            weight = self.count
            weight += 10
            return x * weight

    cell = Counter()
    kept = cell.count
    assert cell(Tensor([2.0])).item() == 22 and kept is cell.count and kept.item() == 1
    kept[0] = 5
    assert cell.count.item() == 5

    def square(x):
        x += 1
        return (x * x).sum()

    assert ms.grad(square)(other).asnumpy().tolist() == [4, 6]


def test_results_are_mindspores_tensors_all_the_way():
    """Operators, slices, methods and gradients of MindSpore's tensors are MindSpore's."""
    x = Tensor([[1.0, -2.0], [3.0, 4.0]])
    made = [x + 1, 2 - x, x @ x, x[0], x > 0, -x, x.abs(), x.T, x.split(1)[1], x.copy(), ops.exp(x)]
    assert {type(each) for each in made} == {Tensor}
    p = Parameter(x, "p")
    assert type(p) is Parameter and type(p * 1) is Tensor and p.asnumpy() is not x.asnumpy()
    assert type(nn.Dense(2, 2)(x)) is Tensor and type(x) is Tensor


def test_parameters_are_overwritten_in_place():
    """set_data, clone, assign, whole numbers that count as trained, assignment of a cell's own."""
    p = Parameter(Tensor([1.0, 2.0]), "p")
    address = p.data_ptr()
    p.set_data(Tensor([3.0, 4.0]))
    assert p.asnumpy().tolist() == [3.0, 4.0] and p.data_ptr() == address
    with pytest.raises(ValueError, match="Can not change the shape"):
        p.set_data(Tensor([1.0]))
    copy = p.clone("ones")
    assert copy.asnumpy().tolist() == [1.0, 1.0] and copy.name == "p" and copy.requires_grad
    counter = Parameter(Tensor(1, ms.int32), "counter")
    assert counter.requires_grad and ops.assign_add(counter, 2) is counter and counter.item() == 3
    p.requires_grad = False
    both = ms.ParameterTuple([p, counter]).clone("new", init="zeros")
    assert [q.name for q in both] == ["new.p", "new.counter"]
    (of_p,) = ms.grad(lambda x: (x * p).sum(), 0, [p])(Tensor([1.0, 1.0]))[1]
    assert of_p.asnumpy().tolist() == [0.0, 0.0]


def test_cells_are_listed_named_and_told_apart():
    """insert_child_to_cell, name_cells, parameters of untrained kinds, CellList and CellDict."""
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.blocks = nn.CellList([nn.Dense(2, 2), nn.BatchNorm1d(2)])
            self.insert_child_to_cell("head", nn.Dense(2, 1, has_bias=False))

        def construct(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    net = Net()
    assert list(net.name_cells()) == ["blocks", "head"] and len(net.blocks) == 2
    assert [p.name for p in net.untrainable_params()] == [
        "blocks.1.moving_mean", "blocks.1.moving_variance"
    ]  # fmt: skip
    assert net(Tensor(np.ones((3, 2), np.float32))).shape == (3, 1) and net.training is False
    assert net.set_train().head.training is True
    with pytest.raises(KeyError, match="already exists"):
        net.insert_child_to_cell("head", nn.ReLU())
    named = nn.CellDict({"a": nn.Dense(2, 2)})
    assert named["a"].weight.name == "a.weight" and "a" in named


def test_hooks_maps_and_functions_for_kinds():
    """HyperMap over nested sequences, MultitypeFuncGraph by kinds of arguments."""
    nested = ((Tensor([1.0]), [Tensor([2.0])]), Tensor([3.0]))
    doubled = ops.HyperMap(lambda x: x * 2)(nested)
    assert doubled[0][1][0].asnumpy().tolist() == [4.0] and isinstance(doubled[0][1], list)
    graph = ops.MultitypeFuncGraph("scale")

    @graph.register("Tensor", "Number")
    def scale_tensor(x, factor):
        return x * factor

    @graph.register("Tuple", "Number")
    def scale_tuple(x, factor):
        return tuple(v * factor for v in x)

    assert graph((Tensor([1.0]),), 3)[0].item() == graph(Tensor([1.0]), 3).item() == 3.0
    with pytest.raises(TypeError, match="no body"):
        graph("text", 3)
    with pytest.raises(ValueError, match="one length"):
        ops.HyperMap()(ops.add, (1, 2), (1,))


def test_names_that_libraries_of_models_use():
    """mindcv's layers: nearest pixels with and without aligned corners, ``self.layer_norm`` of a
    subclass, a tensor assigned to a parameter's name. Figures of MindSpore 2.10."""
    picture = Tensor(np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6))
    plain = ops.ResizeNearestNeighbor((3, 2))(picture).asnumpy().ravel().tolist()
    assert plain == [0, 3, 6, 9, 18, 21]
    aligned = ops.ResizeNearestNeighbor((3, 2), align_corners=True)(picture)
    assert aligned.asnumpy().ravel().tolist() == [0, 5, 12, 17, 24, 29]
    with pytest.raises(NotImplementedError, match="half_pixel_centers"):
        ops.ResizeNearestNeighbor((3, 2), False, True)(picture)
    norm = nn.LayerNorm((6,))
    result, mean, _ = norm.layer_norm(picture, norm.gamma, norm.beta)
    assert np.allclose(result.asnumpy(), norm(picture).asnumpy())
    assert mean.shape == (1, 1, 5, 1)
    layer = nn.Dense(2, 2)
    weight = layer.weight
    layer.weight = Tensor(np.eye(2, dtype=np.float32))
    assert layer.weight is weight and weight.asnumpy().tolist() == [[1, 0], [0, 1]]
    assert ops.eye(3, 2, ms.float16).shape == (3, 2) and ops.scalar_to_tensor(3).dtype == ms.float32


def test_parameters_are_named_by_where_their_cell_is():
    """Names that MindSpore 2.10 gives: a checkpoint is loaded by them. A cell with two places has
    the last one's; what is appended to a list is under it once a cell above is named."""

    class Block(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layers = nn.CellList()
            self.layers.append(nn.Dense(1, 1, has_bias=False))
            self.own = Parameter(Tensor([1.0]), name="mine")

    class Whole(nn.Cell):
        def __init__(self):
            super().__init__()
            self.final = nn.Dense(1, 1, has_bias=False)
            self.head = nn.SequentialCell([nn.ReLU(), self.final])
            self.blocks = nn.CellList()
            self.blocks.append(Block())

    names = [parameter.name for parameter in Whole().get_parameters()]
    assert names == ["head.1.weight", "0.own", "0.layers.0.weight"]
    names = [parameter.name for parameter in nn.SequentialCell(Whole()).get_parameters()]
    assert names == ["0.final.weight", "0.blocks.0.own", "0.blocks.0.layers.0.weight"]
    # MindSpore guesses what stands before a list's names, here from an inner list: files have it
    stages = nn.CellList()
    for _ in range(2):
        stages.append(nn.SequentialCell(Block()))
    assert [parameter.name for parameter in stages.get_parameters()] == [
        "0.0.own", "0.0.layers.0.weight", "0.1.0.own", "0.1.0.layers.0.weight"
    ]  # fmt: skip
    cells = nn.CellList([nn.ReLU(), Block()])
    del cells[0]
    assert [parameter.name for parameter in cells.get_parameters()] == [
        "0.own", "0.layers.0.weight"
    ]  # fmt: skip
