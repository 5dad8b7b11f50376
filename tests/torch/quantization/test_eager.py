"""Models quantised in eager mode: texts, states and results are those of PyTorch."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.ao.quantization

import mindtorch.torch as mt

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")
    for text in ("torch.ao.quantization is deprecated", "torch.quantize_per_tensor",
                 "Please use quant_min", "TypedStorage is deprecated", "must run observer")
]  # fmt: skip
rng = np.random.default_rng(11)
IMAGES = rng.standard_normal((16, 1, 10, 10)).astype(np.float32)


def network(t: Any) -> Any:
    """Convolutions with batch norms, a sum, pooling, linear maps; the same parameters in both."""
    nn = t.nn

    class Network(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.quant = t.ao.quantization.QuantStub()
            self.conv1, self.bn1, self.relu1 = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
            self.conv2 = nn.Conv2d(4, 4, 3, padding=1, groups=2)
            self.sum = t.ao.nn.quantized.FloatFunctional()
            self.pool = nn.MaxPool2d(2)
            self.fc1, self.relu2 = nn.Linear(64, 12), nn.ReLU()
            self.fc2 = nn.Linear(12, 5)
            self.dequant = t.ao.quantization.DeQuantStub()

        def forward(self, x: Any) -> Any:
            x = self.relu1(self.bn1(self.conv1(self.quant(x))))
            x = self.pool(self.sum.add_relu(self.conv2(x), x)).flatten(1)
            return self.dequant(self.fc2(self.relu2(self.fc1(x))))

    made = Network()
    source = np.random.default_rng(2)
    with t.no_grad():
        for p in made.parameters():
            p.copy_(t.tensor(source.standard_normal(tuple(p.shape)).astype(np.float32) * 0.3))
    made.bn1.running_mean.copy_(t.tensor([0.1, -0.1, 0.2, 0.0]))
    made.bn1.running_var.copy_(t.tensor([0.5, 1.0, 1.5, 2.0]))
    return made


FUSED = [["conv1", "bn1", "relu1"], ["fc1", "relu2"]]


def text(model: Any) -> str:
    """A model's text with numbers of eight digits."""
    return re.sub(r"\d+\.\d{7,}", lambda m: f"{float(m[0]):.5f}", repr(model))


def state_of(model: Any) -> dict[str, Any]:
    """A state by names; quantised tensors as their levels, scales and zero points."""
    found: dict[str, Any] = {}
    for name, value in model.state_dict().items():
        parts = value if isinstance(value, tuple) else (value,)
        for i, part in enumerate(parts):
            key = f"{name}[{i}]" if isinstance(value, tuple) else name
            if getattr(part, "is_quantized", False):
                found[f"{key}.levels"] = part.int_repr().numpy()
                if "channel" in str(part.qscheme()):
                    found[f"{key}.scales"] = part.q_per_channel_scales().numpy()
            elif hasattr(part, "detach"):
                found[key] = part.detach().numpy()
            else:
                found[key] = str(part)
    return found


def compare_states(ours: Any, theirs: Any, rtol: float = 1e-6) -> None:
    a, b = state_of(ours), state_of(theirs)
    assert list(a) == list(b)
    for name, value in b.items():
        if isinstance(value, str):
            assert a[name] == value
        elif value.dtype == np.int8:
            assert np.abs(a[name].astype(int) - value).max() <= 1, name
        elif name.endswith(".histogram"):  # rounding moves a value over the edge of a bin
            assert np.abs(a[name] - value).sum() <= 1, name
        else:
            np.testing.assert_allclose(a[name], value, rtol=rtol, atol=1e-7, err_msg=name)


def static(t: Any, backend: str) -> Any:
    q = t.ao.quantization
    model = q.fuse_modules(network(t).eval(), FUSED)
    model.qconfig = q.get_default_qconfig(backend)
    model.conv2.qconfig = q.default_qconfig
    prepared = q.prepare(model)
    for batch in IMAGES.reshape(4, 4, 1, 10, 10):
        prepared(t.tensor(batch))
    return prepared, q.convert(prepared)


@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_static(backend: str) -> None:
    (ours, quantized), (theirs, expected) = static(mt, backend), static(torch, backend)
    assert text(ours) == text(theirs)
    assert text(quantized) == text(expected)
    compare_states(ours, theirs)
    compare_states(quantized, expected)
    a, b = quantized(mt.tensor(IMAGES)).numpy(), expected(torch.tensor(IMAGES)).numpy()
    step = expected.fc2.scale
    assert np.abs(a - b).max() <= 2.01 * step
    assert (np.abs(a - b) > 1e-6).mean() < 0.1


def test_a_state_goes_both_ways() -> None:
    _, ours = static(mt, "x86")
    _, theirs = static(torch, "x86")
    for source, target, t in ((ours, theirs, torch), (theirs, ours, mt)):
        file = io.BytesIO()
        (mt if t is torch else torch).save(source.state_dict(), file)
        file.seek(0)
        target.load_state_dict(t.load(file))
    compare_states(ours, theirs)


def test_a_whole_model_is_saved_and_copied() -> None:
    import copy

    _, model = static(mt, "x86")
    file = io.BytesIO()
    mt.save(copy.deepcopy(model.fc1), file)
    file.seek(0)
    again = mt.load(file, weights_only=False)
    assert repr(again) == repr(model.fc1)
    assert mt.equal(again.weight(), model.fc1.weight())


def trained(t: Any) -> Any:
    """A few steps of training with fake quantisation."""
    q = t.ao.quantization
    model = q.fuse_modules_qat(network(t).train(), FUSED)
    model.qconfig = q.get_default_qat_qconfig("x86")
    prepared = q.prepare_qat(model)
    optimizer = t.optim.SGD(prepared.parameters(), 0.01)
    losses = []
    for batch in IMAGES.reshape(4, 4, 1, 10, 10):
        loss = prepared(t.tensor(batch)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    prepared.apply(t.ao.nn.intrinsic.qat.freeze_bn_stats)
    return losses, prepared, q.convert(prepared.eval())


def test_training_with_fake_quantisation() -> None:
    ours, theirs = trained(mt), trained(torch)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=2e-3)
    assert [type(m).__name__ for m in ours[1].modules()] == [
        type(m).__name__ for m in theirs[1].modules()
    ]
    assert list(ours[1].state_dict()) == list(theirs[1].state_dict())
    compare_states(ours[2], theirs[2], rtol=2e-3)
    a, b = ours[2](mt.tensor(IMAGES)).numpy(), theirs[2](torch.tensor(IMAGES)).numpy()
    assert np.abs(a - b).max() <= 3.01 * theirs[2].fc2.scale


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"batch_first": True, "bidirectional": True}])
@pytest.mark.parametrize("dtype", ["qint8", "float16"])
def test_dynamic_recurrent_networks(kind: str, options: Any, dtype: str) -> None:
    x = IMAGES[:3, 0, :6, :4].copy()
    found = []
    for t in (mt, torch):
        t.manual_seed(1)
        model = t.nn.Sequential(getattr(t.nn, kind)(4, 5, 2, **options))
        made = t.ao.quantization.quantize_dynamic(model, {getattr(t.nn, kind)}, getattr(t, dtype))
        results, state = made[0](t.tensor(x))
        packed = t.nn.utils.rnn.pack_padded_sequence(
            t.tensor(x), [6, 4, 3] if options else [3, 3, 2, 1, 1, 1],
            batch_first=bool(options))  # fmt: skip
        rest, _ = made[0](packed)
        last = state[0] if isinstance(state, tuple) else state
        found.append((repr(made), *[x.detach().numpy() for x in (results, last, rest.data)]))
    assert found[0][0] == found[1][0]
    for a, b in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(a, b, atol=2e-5)


@pytest.mark.parametrize("dtype", ["qint8", "float16"])
def test_dynamic_linear(dtype: str) -> None:
    found = []
    for t in (mt, torch):
        model = network(t).eval()
        made = t.ao.quantization.quantize_dynamic(model, {t.nn.Linear}, getattr(t, dtype))
        result = made.fc1(t.tensor(IMAGES.reshape(25, 64))).detach().numpy()
        found.append((text(made), made, result))
    assert found[0][0] == found[1][0]
    compare_states(found[0][1], found[1][1])
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=1e-5, atol=1e-5)


def test_embeddings() -> None:
    found = []
    for t in (mt, torch):
        t.manual_seed(0)
        model = t.nn.Sequential(t.nn.Embedding(10, 8))
        made = t.ao.quantization.quantize_dynamic(model, dtype=t.quint8)
        found.append((repr(made), made(t.tensor([[1, 3]])).numpy(), list(made.state_dict())))
    assert found[0][0] == found[1][0]
    assert found[0][2] == found[1][2]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6, atol=1e-6)


MODULES = {
    "Hardswish": lambda nn: nn.Hardswish(), "ELU": lambda nn: nn.ELU(),
    "LeakyReLU": lambda nn: nn.LeakyReLU(0.2), "ReLU6": lambda nn: nn.ReLU6(),
    "BatchNorm2d": lambda nn: nn.BatchNorm2d(1), "GroupNorm": lambda nn: nn.GroupNorm(1, 1),
    "InstanceNorm2d": lambda nn: nn.InstanceNorm2d(1, affine=True),
    "LayerNorm": lambda nn: nn.LayerNorm([10, 10]), "Dropout": lambda nn: nn.Dropout(0.5),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(1, 3, 3, stride=2, output_padding=1),
    "Conv2d reflect": lambda nn: nn.Conv2d(1, 2, 3, padding=1, padding_mode="reflect"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    found = []
    for t in (mt, torch):
        q = t.ao.quantization
        t.manual_seed(0)
        model = q.QuantWrapper(MODULES[name](t.nn)).eval()
        model.qconfig = q.default_qconfig
        prepared = q.prepare(model)
        prepared(t.tensor(IMAGES))
        made = q.convert(prepared)
        found.append((text(made), made(t.tensor(IMAGES)).detach().numpy()))
    assert found[0][0] == found[1][0]
    found_step = np.ptp(found[1][1]) / 127
    assert np.abs(found[0][1] - found[1][1]).max() <= 1.01 * found_step


def test_what_is_not_there_raises() -> None:
    with pytest.raises(NotImplementedError, match="is_reference"):
        mt.ao.quantization.convert(mt.nn.Linear(1, 1), is_reference=True)
    with pytest.raises(AttributeError):
        _ = mt.ao.nn.quantizable
    assert mt.quantization.prepare is mt.ao.quantization.prepare
    assert mt.nn.quantized.Linear is mt.ao.nn.quantized.Linear
    assert mt.nn.intrinsic.ConvReLU2d is mt.ao.nn.intrinsic.ConvReLU2d
