"""Runs of nodes as steps: against eager execution, and quantised ones against their own ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mindtorch import lite, torch
from mindtorch.engine.switches import off
from mindtorch.kernels.cpu.inference.packed_tile import pools
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.lite.config import Config
from mindtorch.lite.converter import finished
from mindtorch.lite.importing import from_model
from mindtorch.lite.quantization.quantize import quantize
from mindtorch.torch import nn

from .models import eager, predicted

ROUNDED = 2e-6  # of the largest result
ROUNDED_BY_WINOGRAD = 5e-5


def _model(graph: Any, threads: int = 1) -> lite.Model:
    model, context = lite.Model(), lite.Context()
    context.cpu.thread_num = threads
    model.build_from_graph(graph, context)
    return model


def _segments(model: lite.Model) -> list[str]:
    return [name for name in model._program.executable.names if name.startswith("steps")]


def _check(net: Any, x: np.ndarray, rounded: float = ROUNDED, threads: int = 1) -> None:
    graph = finished(from_model(net.eval(), [x]))
    model = _model(graph, threads)
    assert len(_segments(model)) == 1
    assert len(model._program.executable.names) == 1
    expected = eager(net, x)
    for _ in range(2):
        found = predicted(model, x)
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= rounded * np.abs(expected).max()


def _x(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("settings", [
    {"channels": (3, 8), "window": 7, "stride": 2, "padding": 3, "size": (21, 18)},
    {"channels": (1, 6), "window": 5, "padding": 2, "size": (9, 9)},
    {"channels": (4, 5), "window": (1, 3), "stride": (1, 2), "size": (5, 8)},
    {"channels": (3, 20), "window": 3, "dilation": 2, "padding": 2, "size": (9, 7)},
    {"channels": (5, 24), "window": 1, "size": (3, 3)},
    {"channels": (40, 72), "window": 3, "stride": 2, "padding": 1, "size": (8, 5)},
    {"channels": (19, 130), "window": 2, "size": (2, 3)},
    {"channels": (24, 24), "window": 3, "padding": 1, "groups": 24, "size": (7, 9)},
    {"channels": (72, 72), "window": 5, "stride": 2, "padding": 2, "groups": 72, "size": (2, 2)},
])  # fmt: skip
@pytest.mark.parametrize("images", [1, 3])
def test_convolutions(settings: Any, images: int) -> None:
    torch.manual_seed(0)
    given, made = settings["channels"]
    names = ("stride", "padding", "dilation", "groups")
    others = {name: settings[name] for name in names if name in settings}
    net = nn.Sequential(nn.Conv2d(given, made, settings["window"], **others), nn.ReLU())
    _check(net, _x(images, given, *settings["size"]))


class _Halves(nn.Module):
    """Layers before windows of 2 x 2, also such as a tile must not take together."""

    def __init__(self, given: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(given, 6, 5, padding=2), nn.Conv2d(6, 20, (3, 5))
        self.third, self.fourth = nn.Conv2d(20, 20, 2), nn.Conv2d(20, 37, 3, padding=1)
        self.last = nn.Linear(37, 5)

    def forward(self, x: Any) -> Any:
        pool = nn.functional.max_pool2d
        x = pool(torch.relu(self.first(x)), 2)
        x = torch.relu(pool(self.second(x), 2))
        y = self.third(nn.functional.pad(x, (0, 1, 0, 1)))
        x = pool(y, 2, ceil_mode=True) + pool(torch.relu(self.third(x) + y[:, :, 1:, 1:]), 2, 2, 1)
        x = pool(torch.tanh(self.fourth(x)), 2)
        return self.last(x.mean((2, 3)))


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("size", [(28, 30), (23, 25)])
def test_the_largest_of_a_window_is_taken_with_its_layer(images: int, size: Any) -> None:
    torch.manual_seed(0)
    net, x = _Halves(images).eval(), _x(images, images, *size)
    graph = finished(from_model(net, [x]))
    for threads in (1, 2):
        found, expected = predicted(_model(graph, threads), x), eager(net, x)
        assert np.abs(found - expected).max() <= ROUNDED * np.abs(expected).max()
    quantize(graph, Config(quant_type="FULL_QUANT", min_quant_weight_channel=0), [[x]])
    with off("kernel_substitution"):
        expected = predicted(_model(graph), x)
    found = predicted(_model(graph), x)
    assert np.abs(found - expected).max() <= ROUNDED * np.abs(expected).max()


@pytest.mark.parametrize("quantised", [False, True])
def test_lenet_is_one_call_without_steps_that_pool(quantised: bool) -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 10),
    ).eval()  # fmt: skip
    x = _x(2, 1, 28, 28)
    x[1, 0, 11, 13] = 300
    graph = finished(from_model(net, [x]))
    expected = eager(net, x)
    if quantised:
        quantize(graph, Config(quant_type="FULL_QUANT", min_quant_weight_channel=0), [[x]])
        with off("kernel_substitution"):
            expected = predicted(_model(graph), x)
    model = _model(graph)
    (node,) = model._program.executable.nodes
    # reads and writes, two convolutions and a product
    assert len(node.op.run.table) == (5 if pools() else 7)
    assert model._program.run != model._program._run_all
    found = predicted(model, x)
    if quantised:
        assert np.array_equal(found, expected)
    else:
        assert np.abs(found - expected).max() <= ROUNDED * np.abs(expected).max()
        model.resize(model.get_inputs(), [[3, 1, 28, 28]])
        assert predicted(model, _x(3, 1, 28, 28)).shape == (3, 10)
        assert np.array_equal(predicted(model, x), found)


@pytest.mark.parametrize(("channels", "size"), [(32, (13, 9)), (64, (6, 30)), (128, (7, 7))])
def test_winograd(channels: int, size: tuple[int, int]) -> None:
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Conv2d(channels, 64, 3, padding=1)
            self.b = nn.Conv2d(64, channels, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.b(torch.relu(self.a(x))))

    _check(Net(), _x(2, channels, *size), ROUNDED_BY_WINOGRAD)
    _check(Net(), _x(2, channels, *size), ROUNDED_BY_WINOGRAD, threads=2)


@pytest.mark.parametrize("channels", [3, 32])
@pytest.mark.parametrize("stride", [1, 2])
def test_borders_on_one_side(channels: int, stride: int) -> None:
    """Zeros that are put around an image before are its convolution's."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.ZeroPad2d((0, 1, 1, 2)), nn.Conv2d(channels, 32, 3, stride), nn.ReLU(),
        nn.ZeroPad2d((2, 0, 0, 1)), nn.Conv2d(32, 32, 3, padding=1, groups=32),
    )  # fmt: skip
    _check(net, _x(2, channels, 8, 7), ROUNDED_BY_WINOGRAD)


class _Mixed(nn.Module):
    """Branches that meet, pooling, limits, several readers, a flattened image and products."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 20, 3, padding=1), nn.Conv2d(20, 20, 3, padding=1)
        self.each = nn.Conv2d(20, 20, 3, padding=1, groups=20)
        self.down, self.last = nn.Conv2d(20, 12, 1), nn.Linear(12 * 4 * 3, 10)
        self.more = nn.Linear(10, 7)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.first(x))
        y = torch.clamp(self.each(self.second(x)) + x, -0.5, 2)
        y = nn.functional.max_pool2d(y, 3, 2, 1) + nn.functional.max_pool2d(x, 3, 2, 1)
        y = nn.functional.relu6(self.down(y))
        z = self.last(torch.flatten(y, 1))
        return self.more(torch.relu(z)), nn.functional.adaptive_avg_pool2d(y, 1), z


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("images", [1, 9])
def test_graphs_with_branches(threads: int, images: int) -> None:
    torch.manual_seed(0)
    net, x = _Mixed().eval(), _x(images, 3, 8, 6)
    model = _model(finished(from_model(net, [x])), threads)
    assert len(_segments(model)) == 1
    inputs = model.get_inputs()
    inputs[0].set_data_from_numpy(x)
    with torch.no_grad():
        expected = net(torch.from_numpy(x))
    for found, wanted in zip(model.predict(inputs), expected, strict=True):
        exact = wanted.numpy()
        assert found.shape == list(exact.shape)
        assert np.abs(found.get_data_to_numpy() - exact).max() <= ROUNDED * np.abs(exact).max()


def test_no_step_reads_what_was_not_written() -> None:
    """The arena's bytes before a run make no difference, whatever they are."""
    torch.manual_seed(0)
    net, x = _Mixed().eval(), _x(2, 3, 8, 6)
    model = _model(finished(from_model(net, [x])))
    ((planned, _),) = model._program.executable.steps
    run: Any = getattr(planned, "__self__")  # noqa: B009
    (node,) = model._program.executable.nodes
    sizes = [value.aval.size for value in node.outputs]
    results = []
    for byte in (0, 127, 255):
        arena = np.full(run.scratch[0].size, byte, np.uint8)
        outs = [np.empty(n, np.float32) for n in sizes]
        run.planned(*outs, x.reshape(-1), arena)
        results.append(np.concatenate(outs))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_functions_and_factors() -> None:
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 12, 3), nn.Conv2d(12, 12, 1)
            self.last = nn.Conv2d(27, 9, 1)

        def forward(self, x: Any) -> Any:
            given = x
            x = nn.functional.silu(self.first(x))
            factors = torch.sigmoid(self.second(nn.functional.adaptive_avg_pool2d(x, 1)))
            y = nn.functional.hardswish(self.second(factors * x))
            y = self.last(torch.cat([x, torch.exp(-y), given[:, :, 1:-1, 1:-1]], 1))
            return y.mean((2, 3))

    net, x = Net().eval(), _x(2, 3, 9, 8)
    graph = finished(from_model(net, [x]))
    for threads in (1, 2):
        model = _model(graph, threads)
        assert len(_segments(model)) >= 1
        expected = eager(net, x)
        assert np.abs(predicted(model, x) - expected).max() <= ROUNDED * np.abs(expected).max()
    quantize(graph, Config(quant_type="FULL_QUANT", min_quant_weight_channel=0), [[x]])
    with off("kernel_substitution"):
        expected = predicted(_model(graph), x)
    found = predicted(_model(graph), x)
    assert np.abs(found - expected).max() <= 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("name", ["SiLU", "Sigmoid", "Hardswish", "Hardsigmoid", "Tanh"])
def test_activations_of_layers(name: str) -> None:
    """In a tile's registers, or by a kernel of its own (Tanh); factors end as bytes, too."""
    torch.manual_seed(0)
    act = getattr(nn, name)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), act())
            self.each = nn.Sequential(nn.Conv2d(24, 24, 5, 1, 2, groups=24), act())
            self.few = nn.Sequential(nn.Conv2d(24, 6, 1), act(), nn.Conv2d(6, 24, 1), nn.Sigmoid())
            self.last = nn.Sequential(nn.Conv2d(24, 5, 1), act(), nn.MaxPool2d(2))
            wide = nn.Conv2d(24, 32, 1), act(), nn.Conv2d(32, 32, 3, 1, 1), act()
            self.wide = nn.Sequential(*wide)

        def forward(self, x: Any) -> Any:
            x = self.each(self.first(x))
            x = self.few(x.mean((2, 3), keepdim=True)) * x
            return torch.cat([self.last(x).mean((2, 3)), self.wide(x).mean((2, 3))], 1)

    net, x = Net().eval(), _x(2, 3, 17, 14)
    graph = finished(from_model(net, [x]))
    expected = eager(net, x)
    for threads in (1, 2):
        found = predicted(_model(graph, threads), x)
        assert np.abs(found - expected).max() <= ROUNDED_BY_WINOGRAD * np.abs(expected).max()
    quantize(graph, Config(quant_type="FULL_QUANT", min_quant_weight_channel=0), [[x]])
    with off("kernel_substitution"):
        expected = predicted(_model(graph), x)
    found = predicted(_model(graph), x)
    assert np.abs(found - expected).max() <= 0.02 * np.abs(expected).max()


def test_sums_of_several_and_flattened_images() -> None:
    """A second sum has its own operand; a flattened image is added in the order that it has."""
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(3, 5, 3, padding=1) for _ in range(3))
            self.last = nn.Linear(5 * 12, 5 * 12)

        def forward(self, x: Any) -> Any:
            a, b, c = self.a(x), self.b(x), self.c(x)
            y = torch.relu(torch.relu(a) + torch.relu(b) + torch.relu(c) + a)
            flat = torch.flatten(y, 1)
            return torch.relu(self.last(flat) + flat)

    net, x = Net().eval(), _x(2, 3, 4, 3)
    expected = eager(net, x)
    found = predicted(_model(finished(from_model(net, [x]))), x)
    assert np.abs(found - expected).max() <= ROUNDED * np.abs(expected).max()


def test_a_network_of_products() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(37, 21), nn.ReLU(), nn.Linear(21, 3), nn.Tanh())
    _check(net, _x(1, 37))
    _check(net, _x(13, 37))


def test_other_nodes_part_the_steps() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Softmax(1), nn.Conv2d(8, 4, 3), nn.ReLU())
    x = _x(2, 3, 9, 8)
    model = _model(finished(from_model(net.eval(), [x])))
    assert len(_segments(model)) == 2
    assert np.abs(predicted(model, x) - eager(net, x)).max() <= ROUNDED
    with off("kernel_substitution"):
        assert _segments(_model(finished(from_model(net, [x])))) == []


def test_not_a_number_stays_in_its_place() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)).eval()
    x = _x(1, 8, 8, 8)
    x[0, 2, 1, 6] = np.nan
    found = predicted(_model(finished(from_model(net, [x]))), x)
    assert np.array_equal(np.isnan(found), np.isnan(eager(net, x)))


@pytest.mark.parametrize("images", [1, 4])
def test_quantised_steps_have_the_bits_of_the_ops(images: int) -> None:
    """Sums are whole numbers; what follows is rounded in the same order."""
    torch.manual_seed(0)
    net, x = _Mixed().eval(), _x(images, 3, 8, 6)
    graph = finished(from_model(net, [x]))
    config = Config(quant_type="FULL_QUANT", min_quant_weight_channel=0)
    lines = quantize(graph, config, [[x], [x * 1.5]])
    assert len(lines) == 6
    with off("kernel_substitution"):
        plain = _model(graph)
        assert _segments(plain) == []
        expected = [each.get_data_to_numpy() for each in _outputs(plain, x)]
    for threads in (1, 2):
        model = _model(graph, threads)
        assert len(_segments(model)) == 1
        found = _outputs(model, x)
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            if number == 1:  # a mean of floats, summed in another order
                assert np.allclose(a.get_data_to_numpy(), b, rtol=1e-6)
            else:
                assert np.array_equal(a.get_data_to_numpy(), b)


def _outputs(model: lite.Model, x: np.ndarray) -> Any:
    inputs = model.get_inputs()
    inputs[0].set_data_from_numpy(x)
    return model.predict(inputs)


def test_threads_are_as_many_as_the_context_says() -> None:
    before = thread_pool.get_num_threads()
    net = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU()).eval()
    x = _x(1, 3, 32, 32)
    graph = finished(from_model(net, [x]))
    one, two = (predicted(_model(graph, count), x) for count in (1, 2))
    assert np.array_equal(one, two)
    assert thread_pool.get_num_threads() == before


@pytest.mark.parametrize("images", [1, 3])
def test_quantised_layers_of_parts_of_an_image(images: int) -> None:
    """Channels that were cut out or shuffled do not lie in one run."""
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = nn.Conv2d(3, 8, 3), nn.Conv2d(4, 4, 1), nn.Conv2d(8, 5, 1)
            self.d = nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            one, two = torch.relu(self.a(x)).chunk(2, dim=1)
            y = torch.cat([one, torch.relu(self.b(two))], 1)
            n, c, h, w = y.shape
            y = y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
            return self.d(self.c(y).mean(2).transpose(1, 2))

    net, x = Net().eval(), _x(images, 3, 9, 8)
    expected = eager(net, x)
    graph = finished(from_model(net, [x]))
    assert len(quantize(graph, Config(quant_type="FULL_QUANT", min_quant_weight_channel=0),
                        [[x]])) == 4  # fmt: skip
    found = predicted(_model(graph), x)
    with off("kernel_substitution"):
        plain = predicted(_model(graph), x)
    assert np.abs(found - expected).max() <= 0.05 * np.abs(expected).max()
    assert np.abs(found - plain).max() <= ROUNDED * np.abs(expected).max()
