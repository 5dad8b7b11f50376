"""Quantisation of graphs: modules, code, states and results are those of PyTorch."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.ao.quantization.quantize_fx

import mindtorch.torch as mt
from mindtorch.torch.ao.quantization import quantize_fx as ours_fx

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")
    for text in ("torch.ao.quantization is deprecated", "torch.quantize_per_tensor",
                 "Please use quant_min", "TypedStorage is deprecated", "must run observer")
]  # fmt: skip
IMAGES = np.random.default_rng(8).standard_normal((6, 1, 10, 10)).astype(np.float32)


def network(t: Any) -> Any:
    """What is fused, what shares levels, a sum with a ReLU, and two results."""
    nn = t.nn

    class Network(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.bn, self.relu = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
            self.conv2, self.pool = nn.Conv2d(4, 4, 3, padding=1), nn.MaxPool2d(2)
            self.fc, self.fc2, self.act = nn.Linear(64, 10), nn.Linear(10, 10), nn.Hardswish()

        def forward(self, x: Any) -> Any:
            x = self.relu(self.bn(self.conv(x)))
            x = self.pool(t.nn.functional.relu(x + self.conv2(x)))
            x = t.nn.functional.relu(self.fc(t.flatten(x, 1)))
            z = t.cat([x, x], 1)
            x = self.act(self.fc2(x))
            return t.sigmoid(x), z.reshape(-1), (x * x).mean(1)

    made = Network()
    source = np.random.default_rng(2)
    with t.no_grad():
        for p in made.parameters():
            p.copy_(t.tensor(source.standard_normal(tuple(p.shape)).astype(np.float32) * 0.3))
    return made


def tools(t: Any) -> Any:
    return ours_fx if t is mt else torch.ao.quantization.quantize_fx


def text(model: Any) -> str:
    """Modules and code, with numbers of a few digits and functions by their names alone."""
    shown = f"{model}\n{model.code}"
    shown = re.sub(r"\d+\.\d{5,}", lambda m: f"{float(m[0]):.2f}", shown)
    shown = re.sub(r"torch[._](\w+)\(", r"\1(", shown)
    shown = re.sub(r"(def forward.*?)( : [\w_.]+|: Any)?\)( -> [\w.]+)?:", r"\1):", shown)
    lines = [line.strip() for line in shown.split("\n") if "wrap(" not in line]
    return "\n".join(line for line in lines if line and "To see more" not in line).replace(
        ", inplace = False", "")


def static(t: Any, mapping: Any = None) -> Any:
    fx, q = tools(t), t.ao.quantization
    known = q.get_default_qconfig_mapping("x86") if mapping is None else mapping(t)
    prepared = fx.prepare_fx(network(t).eval(), known, (t.tensor(IMAGES),))
    for batch in IMAGES.reshape(3, 2, 1, 10, 10):
        prepared(t.tensor(batch))
    return text(prepared), list(prepared.state_dict()), fx.convert_fx(prepared)


def _one_name_left(t: Any) -> Any:
    q = t.ao.quantization
    return q.get_default_qconfig_mapping("x86").set_module_name("conv2", None)


def _one_kind(t: Any) -> Any:
    q = t.ao.quantization
    mapping = q.QConfigMapping().set_object_type(t.nn.Conv2d, q.default_qconfig)
    return mapping.set_object_type(t.nn.BatchNorm2d, q.default_qconfig).set_object_type(
        t.nn.ReLU, q.default_qconfig
    )


@pytest.mark.parametrize("mapping", [None, _one_name_left])
def test_static(mapping: Any) -> None:
    *ours, quantized = static(mt, mapping)
    *theirs, expected = static(torch, mapping)
    assert ours == theirs
    assert text(quantized) == text(expected)
    assert list(quantized.state_dict()) == list(expected.state_dict())
    found, wanted = quantized(mt.tensor(IMAGES)), expected(torch.tensor(IMAGES))
    for a, b in zip(found, wanted, strict=True):
        difference = np.abs(a.detach().numpy() - b.detach().numpy())
        assert difference.max() <= 0.05 * max(1.0, float(b.abs().max()))
        assert np.median(difference) < 1e-6


def test_one_kind_of_module() -> None:
    *_, quantized = static(mt, _one_kind)
    kinds = [type(m).__name__ for m in quantized.children()]
    assert kinds[:2] == ["ConvReLU2d", "Conv2d"]
    assert "Linear" in kinds or "LinearReLU" in kinds
    exact = network(mt).eval()(mt.tensor(IMAGES))[0]
    np.testing.assert_allclose(
        quantized(mt.tensor(IMAGES))[0].detach().numpy(), exact.detach().numpy(), atol=0.1
    )


def test_training() -> None:
    found = []
    for t in (mt, torch):
        fx, q = tools(t), t.ao.quantization
        t.manual_seed(0)
        prepared = fx.prepare_qat_fx(
            network(t).train(), q.get_default_qat_qconfig_mapping("x86"), (t.tensor(IMAGES),)
        )
        before = text(prepared)
        for batch in IMAGES.reshape(3, 2, 1, 10, 10):
            loss = sum(y.square().mean() for y in prepared(t.tensor(batch)))
            loss.backward()
        gradient = prepared.conv.weight.grad.numpy().copy()
        converted = fx.convert_fx(prepared.eval())
        found.append((before, text(converted), gradient))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=2e-3, atol=1e-4)


def test_dynamic_and_fused() -> None:
    found = []
    for t in (mt, torch):
        fx, q = tools(t), t.ao.quantization
        mapping = q.QConfigMapping().set_global(q.default_dynamic_qconfig)
        made = fx.convert_fx(fx.prepare_fx(network(t).eval(), mapping, (t.tensor(IMAGES),)))
        result = made(t.tensor(IMAGES))[0].detach().numpy()
        found.append((text(made), text(fx.fuse_fx(network(t).eval())), result))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"backend_config": {}}, {"prepare_custom_config": {"preserved_attributes": []}}]
)
def test_settings_that_are_not_there_raise(options: Any) -> None:
    mapping = mt.ao.quantization.get_default_qconfig_mapping()
    with pytest.raises(NotImplementedError):
        ours_fx.prepare_fx(network(mt).eval(), mapping, (), **options)
    with pytest.raises(NotImplementedError, match="float16"):
        ours_fx.prepare_fx(network(mt).eval(), mt.ao.quantization.QConfigMapping().set_global(
            mt.ao.quantization.float16_static_qconfig), ())  # fmt: skip


def test_modules_that_are_left_whole() -> None:
    class Branching(mt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = mt.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            return self.fc(x) if x.sum() > 0 else x

    class Outer(mt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branch, self.fc = Branching(), mt.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.fc(self.branch(x))

    mapping = mt.ao.quantization.get_default_qconfig_mapping()
    made = ours_fx.prepare_fx(
        Outer().eval(), mapping, (), {"non_traceable_module_class": [Branching]}
    )
    made(mt.randn(4, 3))
    converted = ours_fx.convert_fx(made)
    assert type(converted.branch.fc) is mt.nn.Linear
    assert type(converted.fc) is mt.ao.nn.quantized.Linear
