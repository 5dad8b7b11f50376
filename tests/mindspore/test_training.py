"""Programs as MindSpore's users write them: functional training, loss scales, accumulation."""

import numpy as np
import pytest
import torch as oracle

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds
from mindtorch import torch
from mindtorch.mindspore import Parameter, Tensor, nn, ops

X = np.random.default_rng(0).standard_normal((64, 4, 4)).astype(np.float32)
Y = (X.reshape(64, -1)[:, :3].argmax(1)).astype(np.int32)


class Network(nn.Cell):
    def __init__(self, hidden=16):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(nn.Dense(16, hidden), nn.ReLU(), nn.Dense(hidden, 3))

    def construct(self, x):
        return self.layers(self.flatten(x))


def network():
    ms.set_seed(3)
    return Network()


def twin(net):
    """The same network in real PyTorch."""
    model = oracle.nn.Sequential(
        oracle.nn.Flatten(), oracle.nn.Linear(16, 16), oracle.nn.ReLU(), oracle.nn.Linear(16, 3)
    )
    for mine, theirs in zip(net.trainable_params(), model.parameters(), strict=True):
        theirs.data = oracle.from_numpy(mine.asnumpy())
    return model


def test_functional_training_follows_real_torch():
    """value_and_grad by the trained parameters, optimizer(grads): the losses are PyTorch's."""
    model = network()
    loss_fn, optimizer = nn.CrossEntropyLoss(), nn.SGD(model.trainable_params(), 1e-1, momentum=0.9)

    def forward_fn(data, label):
        logits = model(data)
        return loss_fn(logits, label), logits

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    theirs = twin(model)
    sgd = oracle.optim.SGD(theirs.parameters(), 0.1, momentum=0.9)
    model.set_train()
    for start in (0, 32, 0, 32):
        x, y = X[start : start + 32], Y[start : start + 32]
        (loss, logits), grads = grad_fn(Tensor(x), Tensor(y))
        optimizer(grads)
        sgd.zero_grad()
        expected = oracle.nn.functional.cross_entropy(
            theirs(oracle.from_numpy(x)), oracle.from_numpy(y).long()
        )
        expected.backward()
        sgd.step()
        assert float(loss.asnumpy()) == pytest.approx(expected.item(), rel=1e-5)
        assert isinstance(logits, Tensor) and type(grads[0]) is Tensor
    assert all(p.grad is None for p in model.trainable_params())


def test_names_of_parameters_are_those_of_checkpoints():
    """A cell's attributes, joined by dots."""
    names = ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"]
    model = network()
    assert [p.name for p in model.trainable_params()] == names
    assert list(model.parameters_dict()) == names
    assert [n for n, _ in model.parameters_and_names()] == names
    grads = ms.grad(lambda x: model(x).sum(), None, model.trainable_params(), return_ids=True)
    assert ops.get_grad(grads(Tensor(X)), "layers.2.bias").asnumpy().tolist() == [64.0] * 3


def test_a_cell_is_not_in_training_mode_until_it_is_told():
    """Dropout passes everything, until set_train()."""
    drop = nn.Dropout(p=0.5)
    x = Tensor(np.ones((8, 8), np.float32))
    assert drop(x) is x
    kept = drop.set_train()(x).asnumpy()
    assert set(np.unique(kept)) == {0.0, 2.0}
    assert nn.Dropout(0.8).p == pytest.approx(0.2)


@pytest.mark.parametrize("level", ["O1", "O2", "O3"])
def test_lower_precision_stays_near_single(level):
    """Parameters stay float32, results are float32, and losses differ by float16's precision."""

    def losses(level):
        model = network()
        optimizer = nn.Momentum(model.trainable_params(), 0.1, 0.9)
        step = ms.amp.build_train_network(
            model, optimizer, nn.CrossEntropyLoss(), level=level,
            loss_scale_manager=ms.FixedLossScaleManager(1024.0),
        )  # fmt: skip
        found = [float(step(Tensor(X), Tensor(Y))[0].asnumpy()) for _ in range(5)]
        assert {p.dtype for p in model.get_parameters()} == {ms.float32}
        assert model(Tensor(X)).dtype is ms.float32
        return found

    single, lower = losses("O0"), losses(level)
    assert single != lower
    np.testing.assert_allclose(lower, single, rtol=3e-3)


@pytest.mark.parametrize("level", ["O2", "O3"])
@pytest.mark.parametrize("training", [True, False])
def test_layers_with_averages_and_layers_read_by_others_are_lowered(level, training):
    """Batch norm keeps its parameters beside its averages; attention reads its projection's."""
    layers = [
        nn.SequentialCell(nn.Dense(8, 8), nn.BatchNorm1d(8)),
        torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8)),
        torch.nn.Sequential(torch.nn.Unflatten(1, (2, 4)), torch.nn.InstanceNorm1d(
            2, affine=True, track_running_stats=True)),
        torch.nn.Sequential(torch.nn.Unflatten(1, (2, 4)), torch.nn.TransformerEncoderLayer(
            4, 2, 8, dropout=0.0)),
    ]  # fmt: skip
    x = X.reshape(64, 16)[:, :8].copy()
    for layer in layers:
        layer.train(training)
        given = Tensor(x) if isinstance(layer, nn.Cell) else torch.from_numpy(x)
        single = layer(given)
        lower = ms.amp.auto_mixed_precision(layer, level)(given)
        assert lower.dtype is ms.float32
        apart = np.abs(lower.detach().asnumpy() - single.detach().asnumpy()).max()
        assert 0 < apart < 2e-2


def test_levels_are_checked():
    """Unknown levels, other things than networks, and a second application."""
    with pytest.raises(ValueError, match="The amp level O9 is not supported"):
        ms.amp.auto_mixed_precision(network(), "O9")
    with pytest.raises(TypeError, match="should be Cell"):
        ms.amp.auto_mixed_precision(lambda x: x, "O2")
    model = network()
    assert ms.amp.auto_mixed_precision(model, "O0") is model
    ms.amp.auto_mixed_precision(model, "O2")
    with pytest.warns(UserWarning, match="has the amp level O2 already"):
        ms.amp.auto_mixed_precision(model, "O3")


def test_to_float_casts_inputs_and_parameters():
    """One layer in float16 in the middle of a network, as scripts do by hand."""
    layer = nn.Dense(4, 2).to_float(ms.float16)
    x = Tensor(np.ones((3, 4), np.float32))
    assert layer(x).dtype is ms.float16 and layer.weight.dtype is ms.float32
    value, grads = ms.value_and_grad(
        lambda v: layer(v).astype(ms.float32).sum(), None, layer.trainable_params()
    )(x)
    assert [g.dtype for g in grads] == [ms.float32] * 2
    assert grads[0].asnumpy().tolist() == [[3.0] * 4] * 2
    assert value.dtype is ms.float32


def test_dynamic_loss_scaler_follows_the_golden_trace():
    """The two scalers of MindSpore 2.10, overflow by overflow."""
    scaler = ms.DynamicLossScaler(2**16, 2, 2)
    trace = []
    for finite in (True, True, False, True, True, True):
        assert scaler.adjust(Tensor(finite)) is True
        trace.append(scaler.scale_value.item())
    assert trace == [65536.0, 131072.0, 65536.0, 65536.0, 131072.0, 131072.0]
    manager = ms.DynamicLossScaleManager(2**16, 2, 3)
    trace = []
    for overflow in (False, False, False, True, True, False, False, False):
        manager.update_loss_scale(overflow)
        trace.append(manager.get_loss_scale())
    assert trace == [65536.0, 65536.0, 131072.0, 65536.0, 32768.0, 32768.0, 32768.0, 65536.0]


def test_a_scale_does_not_fall_below_one_in_silence():
    """The floor is told."""
    scaler = ms.DynamicLossScaler(1, 2, 50)
    with pytest.warns(UserWarning, match="fell to its floor of 1"):
        scaler.adjust(Tensor(False))
    assert scaler.scale_value.item() == 1.0


def test_an_overflow_leaves_a_step_out():
    """The whole step under jit, with its branch on a value."""
    model = network()
    loss_fn, optimizer = nn.CrossEntropyLoss(), nn.SGD(model.trainable_params(), 0.1)
    scaler = ms.DynamicLossScaler(scale_value=2**16, scale_factor=2, scale_window=50)

    def forward_fn(data, label):
        return scaler.scale(loss_fn(model(data), label))

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)

    @ms.jit
    def train_step(data, label):
        loss, grads = grad_fn(data, label)
        is_finite = ms.amp.all_finite(grads)
        if is_finite:
            optimizer(scaler.unscale(grads))
        scaler.adjust(is_finite)
        return scaler.unscale(loss)

    before = model.layers[0].weight.asnumpy()
    train_step(Tensor(np.full_like(X, np.inf)), Tensor(Y))
    assert np.array_equal(model.layers[0].weight.asnumpy(), before)
    assert scaler.scale_value.item() == 2.0**15
    first = float(train_step(Tensor(X), Tensor(Y)).asnumpy())
    assert first < 2 and not np.array_equal(model.layers[0].weight.asnumpy(), before)


@ms.jit_class
class Accumulator:
    """Sums gradients and steps on their mean once in ``every`` calls."""

    def __init__(self, optimizer, every):
        self.optimizer, self.every = optimizer, every
        self.inner = optimizer.parameters.clone(prefix="accumulate_", init="zeros")
        self.zeros = optimizer.parameters.clone(prefix="zeros_", init="zeros")
        self.counter = Parameter(Tensor(1, ms.int32), "counter_")
        self.map = ops.HyperMap()

    def __call__(self, grads):
        self.map(ops.partial(ops.assign_add), self.inner, grads)
        if self.counter % self.every == 0:
            self.optimizer(self.inner)
            self.map(ops.partial(ops.assign), self.inner, self.zeros)
        ops.assign_add(self.counter, Tensor(1, ms.int32))
        return True


def test_accumulated_halves_equal_the_whole_batch():
    """Batch 32 twice gives the parameters of batch 64, to float tolerance."""
    loss_fn = nn.CrossEntropyLoss()
    found = []
    for size in (64, 32):
        model, parts = network(), 64 // size
        optimizer = nn.SGD(model.trainable_params(), 0.1)
        accumulate = Accumulator(optimizer, parts)
        assert accumulate.inner[0].name == "accumulate_.layers.0.weight"

        def forward_fn(data, label, model=model, parts=parts):
            return loss_fn(model(data), label) / parts

        grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
        for _ in range(3):
            for start in range(0, 64, size):
                x, y = Tensor(X[start : start + size]), Tensor(Y[start : start + size])
                accumulate(grad_fn(x, y)[1])
        assert accumulate.counter.item() == 3 * parts + 1
        found.append([p.asnumpy() for p in model.trainable_params()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_gradients_are_clipped_by_global_norm_value_and_norm():
    """The common norm is that of all tensors; classes of the tensors are kept."""
    grads = (Tensor([3.0, 4.0]), Tensor([[12.0]]))
    clipped = ops.clip_by_global_norm(grads, 1.0)
    assert isinstance(clipped, tuple)
    np.testing.assert_allclose(clipped[0].asnumpy(), [3 / 13, 4 / 13], rtol=1e-6)
    same = ops.clip_by_global_norm(grads, 100.0)
    assert same[1].asnumpy().tolist() == [[12.0]]
    limited = ops.clip_by_value(grads, -1.0, 3.5)
    assert limited[0].asnumpy().tolist() == [3.0, 3.5] and isinstance(limited, tuple)
    by_norm = ops.clip_by_norm(list(grads), 1.3)
    np.testing.assert_allclose(by_norm[1].asnumpy(), [[1.2]], rtol=1e-6)
    plain = ops.clip_by_global_norm([torch.tensor([3.0, 4.0])], 1.0)
    assert type(plain[0]) is torch.Tensor
    with pytest.raises(ValueError, match="use_norm"):
        ops.clip_by_global_norm(grads, 1.0, use_norm=2.0)


def test_gradients_of_gradients():
    """Nested grad, vjp with weights, jvp with aux, Jacobians, GradOperation."""
    x = Tensor(np.array([0.5, -1.0], np.float32))
    second = ms.grad(lambda v: ms.grad(lambda u: (u**3).sum())(v).sum())(x)
    np.testing.assert_allclose(second.asnumpy(), 6 * x.asnumpy())
    w = Parameter(Tensor([2.0, 3.0]), "w")
    _, pull = ms.vjp(lambda v: v * w, x, weights=[w])
    (of_x,), (of_w,) = pull(Tensor([1.0, 10.0]))
    assert of_x.asnumpy().tolist() == [2.0, 30.0] and of_w.asnumpy().tolist() == [0.5, -10.0]
    _, product, aux = ms.jvp(lambda v: (v * v, v + 1), x, Tensor([1.0, 1.0]), has_aux=True)
    assert type(product) is Tensor
    assert product.asnumpy().tolist() == [1.0, -2.0] and aux.asnumpy().tolist() == [1.5, 0.0]
    for jacobian in (ms.jacrev, ms.jacfwd):
        found = jacobian(lambda v: v * v, (0,))(x)
        assert type(found) is Tensor
        assert found.asnumpy().tolist() == [[1.0, 0.0], [0.0, -2.0]]
    both = ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)
    inputs, weights = both(lambda v: v * w, [w])(x, Tensor([1.0, 1.0]))
    assert inputs[0].asnumpy().tolist() == [2.0, 3.0]
    assert weights[0].asnumpy().tolist() == [0.5, -1.0]


def test_groups_have_rates_and_decays_of_their_own():
    """Biases without decay and with half the rate; a rate by step; order_params."""
    a, b = (Parameter(Tensor([1.0, 1.0]), n) for n in ("a.weight", "a.bias"))
    groups = [{"params": [a], "weight_decay": 0.1}, {"params": [b], "lr": 0.05},
              {"order_params": [b, a]}]  # fmt: skip
    optimizer = nn.SGD(groups, learning_rate=0.1)
    assert [p.name for p in optimizer.parameters] == ["a.bias", "a.weight"]
    optimizer((Tensor([1.0, 2.0]), Tensor([0.0, 0.0])))
    np.testing.assert_allclose(b.asnumpy(), [0.95, 0.9], rtol=1e-6)
    np.testing.assert_allclose(a.asnumpy(), [0.99, 0.99], rtol=1e-6)
    by_step = nn.SGD([a], nn.piecewise_constant_lr([1, 2], [0.5, 0.25]))
    for expected in (0.5, 0.25, 0.25):
        assert by_step.get_lr().item() == expected
        by_step((Tensor([0.0, 0.0]),))
    warm = nn.SGD([a], nn.WarmUpLR(1.0, 4))
    warm((Tensor([0.0, 0.0]),))
    assert warm.get_lr().item() == 0.25
    with pytest.raises(RuntimeError, match="2 gradients for 1 parameters"):
        warm((a, a))


def test_rates_can_be_assigned():
    """On a parameter of MindSpore's optimizer, and on the plain number of torch's."""
    p = Parameter(Tensor([1.0]), "p")
    mine = nn.Momentum([p], 0.1, 0.0)
    ops.assign(mine.learning_rate, Tensor(0.5))
    mine((Tensor([1.0]),))
    np.testing.assert_allclose(p.asnumpy(), [0.5])
    q = torch.nn.Parameter(torch.ones(1))
    theirs = torch.optim.SGD([q], lr=0.1)
    for rate in (0.25, Tensor(0.5)):
        ops.assign(theirs.param_groups[0]["lr"], rate)
    assert repr(theirs.param_groups[0]["lr"]) == "0.5"
    theirs((torch.ones(1),))
    assert q.item() == 0.5
    assert type(theirs.state_dict()["param_groups"][0]["lr"]) is float
    theirs.param_groups[0]["lr"] = 1.0
    theirs.step((torch.ones(1),))
    assert q.item() == -0.5


class GradientSteps(torch.optim.Optimizer):
    """MindTorch's style: walks gradients beside parameters."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.5})

    def step(self, grads, closure=None):  # type: ignore[override]
        i = 0
        for group in self.param_groups:
            for p in group["params"]:
                p.data.add_(grads[i], alpha=-group["lr"])
                i += 1


class OwnGradientSteps(torch.optim.Optimizer):
    """torch's style: reads each parameter's grad."""

    def __init__(self, params):
        super().__init__(params, {"lr": 0.5})

    def step(self, closure=None):  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-group["lr"])


@pytest.mark.parametrize("kind", [GradientSteps, OwnGradientSteps])
def test_custom_optimizers_of_both_styles_take_gradients(kind):
    """optimizer(grads) and optimizer.step(grads) reach them, and leave .grad alone."""
    p = torch.nn.Parameter(torch.zeros(2))
    optimizer = kind([p])
    value, grads = ms.value_and_grad(lambda x: (p * x).sum(), None, optimizer.parameters)(
        torch.tensor([1.0, 2.0])
    )
    optimizer(grads)
    optimizer.step(grads)
    assert p.tolist() == [-1.0, -2.0] and p.grad is None
    assert type(grads[0]) is torch.Tensor and value.item() == 0.0


def test_a_dynamic_scale_comes_down_and_an_optimizer_is_saved(tmp_path):
    """Steps that overflow are left out and not counted; a checkpoint of Adam has all its state."""
    model = network()
    optimizer = nn.Adam(model.trainable_params(), 1e-2)
    step = ms.amp.build_train_network(
        model, optimizer, nn.CrossEntropyLoss(), level="O2",
        loss_scale_manager=ms.DynamicLossScaleManager(2**24, 2, 1000),
    )  # fmt: skip
    overflows = [bool(step(Tensor(X), Tensor(Y))[1]) for _ in range(15)]
    left_out = sum(overflows)
    assert 0 < left_out < 15 and overflows == [True] * left_out + [False] * (15 - left_out)
    assert step.scale_sense.item() == 2.0 ** (24 - left_out)
    assert optimizer.global_step.asnumpy().tolist() == [15 - left_out]
    ms.save_checkpoint(optimizer, tmp_path / "adam.ckpt")
    again = nn.Adam(model.trainable_params(), 1e-2)
    loaded = ms.load_checkpoint(tmp_path / "adam.ckpt")
    assert ms.load_param_into_net(again, loaded) == ([], [])
    gradients = tuple(Tensor(np.ones(p.shape, np.float32)) for p in model.trainable_params())
    before = [p.asnumpy() for p in model.trainable_params()]
    found = []
    for each in (optimizer, again):
        for p, array in zip(model.trainable_params(), before, strict=True):
            p.set_data(Tensor(array))
        each(gradients)
        found.append([p.asnumpy() for p in model.trainable_params()])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


def test_a_captured_step_equals_the_plain_one():
    """value_and_grad and optimizer(grads) under jit: one capture, the same parameters."""
    found = []
    for wrap in (lambda step: step, ms.jit):
        model = network()
        loss_fn = nn.CrossEntropyLoss()
        optimizer = nn.Momentum(model.trainable_params(), 0.1, 0.9)
        grad_fn = ms.value_and_grad(
            lambda data, label, model=model, loss_fn=loss_fn: loss_fn(model(data), label),
            None,
            optimizer.parameters,
        )

        def train_step(data, label, grad_fn=grad_fn, optimizer=optimizer):
            loss, grads = grad_fn(data, label)
            optimizer(grads)
            return loss

        step = wrap(train_step)
        losses = [step(Tensor(X), Tensor(Y)) for _ in range(4)]
        assert all(isinstance(loss, Tensor) for loss in losses)
        found.append([each.asnumpy() for each in (*losses, *model.get_parameters())])
    assert not step.eager and step.traces <= 2
    for plain, captured in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, captured)


class _OwnStep(nn.TrainOneStepCell):
    """A user's training step, in the words of MindSpore's documentation."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        gradients = self.grad_reducer(self.grad(self.network, self.weights)(*inputs, sens))
        return ops.depend(loss, self.optimizer(ops.clip_by_global_norm(gradients, 30.0)))


def test_a_subclass_of_the_training_cell_finds_what_the_original_offers():
    """self.grad, self.weights, self.sens, self.grad_reducer: with clipping out of reach, the same
    weights as with the cell itself."""
    x, y = Tensor(np.eye(4, dtype=np.float32)), Tensor(np.array([0, 1, 0, 1], np.int32))
    ends = []
    for cell in (nn.TrainOneStepCell, _OwnStep):
        net = nn.Dense(4, 2, weight_init="zeros", bias_init="zeros")
        loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
        step = cell(loss, nn.SGD(net.trainable_params(), 0.01))
        for _ in range(3):
            step(x, y)
        ends.append(net.weight.asnumpy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)


def test_the_rate_falls_on_a_plateau_and_training_stops_early(capsys):
    """A figure that does not move: the rate is multiplied after ``patience`` epochs, and
    EarlyStopping ends training; the loss of an evaluation is "eval_loss"."""
    data = ms.dataset.NumpySlicesDataset(
        (np.zeros((4, 2), np.float32), np.zeros((4, 1), np.float32)), ["x", "y"], shuffle=False
    ).batch(2)  # fmt: skip
    net = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
    optimizer = nn.SGD(net.trainable_params(), 0.5)
    model = ms.Model(net, nn.MSELoss(), optimizer, metrics={"mse"})
    slower = ms.ReduceLROnPlateau("eval_loss", 0.1, patience=1, verbose=True, cooldown=1)
    stop = ms.EarlyStopping("eval_loss", patience=3, verbose=True)
    model.fit(9, data, data, callbacks=[slower, stop], dataset_sink_mode=False)
    told = capsys.readouterr().out
    assert told.count("ReduceLROnPlateau reducing learning rate") == 3  # a cooldown of 1
    assert optimizer.learning_rate.item() == pytest.approx(5e-4)
    assert told.endswith("Epoch 00004: early stopping\n") and "Eval result" not in told
    model.fit(1, data, data, callbacks=[ms.LossMonitor()], dataset_sink_mode=False)
    assert "Eval result: epoch 1, metrics: {'mse': " in capsys.readouterr().out
    with pytest.warns(UserWarning, match="not available"):
        model.train(1, data, ms.EarlyStopping("nothing"), dataset_sink_mode=False)


class _Tenfold(nn.Cell):
    """Twice the input, with a derivative of its own."""

    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return (dout * 10 + out * 0,)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_cell_s_own_derivative_is_used(compiled):
    """bprop(inputs, output, gradient of the output), alone and within another cell; and another
    number of gradients than inputs is refused."""
    gradient = ms.grad(_Tenfold())
    inside = ms.grad(lambda x: nn.SequentialCell(_Tenfold(), nn.ReLU())(x * 3).sum())
    if compiled:
        gradient, inside = ms.jit(gradient), ms.jit(inside)
    x = Tensor([1.0, 2.0])
    for _ in range(2):
        assert gradient(x).asnumpy().tolist() == [10.0, 10.0]
        assert inside(x).asnumpy().tolist() == [30.0, 30.0]

    class Wrong(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return (dout,)

    with pytest.raises(TypeError, match="number of return values"):
        ms.grad(Wrong())(x, x)


def test_augmented_assignment_leaves_a_parameter_alone():
    """As in MindSpore 2.10: the name stands for a tensor then; a parameter's value is a tensor."""
    parameter = weight = Parameter(Tensor([1.0, 2.0]), name="w")
    weight += 1
    weight *= 2
    weight -= 1
    weight /= 2
    assert type(weight) is Tensor and parameter.asnumpy().tolist() == [1, 2]
    parameter.set_data(weight)
    weight = parameter
    assert type(weight.value()) is Tensor
    assert repr(weight.value()) == (
        "Tensor(shape=[2], dtype=Float32, value= [ 1.50000000e+00,  2.50000000e+00])"
    )
    assert repr(Tensor(0.125)) == "Tensor(shape=[], dtype=Float32, value= 0.125)"


def test_graph_mode_tells_the_rate_that_was_written_last():
    """``get_lr`` once read the rate's memory while the write still waited: half, a step late."""
    layer = nn.Dense(2, 1)
    optimizer = nn.SGD(layer.trainable_params(), 0.5)
    grad = ms.value_and_grad(lambda x: layer(x).sum(), None, optimizer.parameters)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for step in range(4):
            optimizer(grad(Tensor(np.ones((2, 2), np.float32)))[1])
            optimizer.learning_rate.assign_value(np.float32(2.0**-step))
            assert float(optimizer.get_lr()) == 2.0**-step
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_what_callbacks_see_is_a_dict_and_counts_from_where_training_begins():
    """``dict(run_context.original_args())`` is what users print; steps count from 1 in each run."""
    seen = []

    class Look(ms.train.Callback):
        def step_end(self, run_context):
            run = run_context.original_args()
            seen.append((dict(run)["cur_step_num"], run.epoch_num, run.get("nothing", 7)))

    x, y = np.ones((4, 2), np.float32), np.ones((4, 1), np.float32)
    rows = ds.NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(2)
    layer = nn.Dense(2, 1)
    model = ms.Model(layer, nn.MSELoss(), nn.SGD(layer.trainable_params(), 0.1))
    model.train(3, rows, callbacks=[Look()], initial_epoch=2)
    assert seen == [(1, 1, 7), (2, 1, 7)]


def test_hooks_see_mindspores_tensors():
    """Gradients that hooks of cells and parameters get have MindSpore's ``size`` and methods."""
    layer, sizes = nn.Dense(3, 2), []
    layer.register_backward_hook(lambda cell, before, after: sizes.append(after[0].size))
    layer.weight.register_hook(lambda gradient: sizes.append(gradient.size))
    ms.grad(layer, 0, layer.trainable_params())(Tensor(np.ones((2, 3), np.float32)))
    assert sorted(sizes) == [4, 6] and layer.phase == "predict"
    layer, by_list = nn.Dense(3, 2), ops.GradOperation(get_by_list=True)
    alone = by_list(layer, layer.weight)(Tensor(np.ones((2, 3), np.float32)))
    assert alone.shape == (2, 3)
