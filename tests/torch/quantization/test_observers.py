"""Observers and fake quantisation: scales, zero points, texts, states and gradients of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.ao.quantization

import mindtorch.torch as mt

pytestmark = pytest.mark.filterwarnings("ignore:Please use quant_min:UserWarning")
rng = np.random.default_rng(5)
BATCHES = [rng.standard_normal((6, 3, 4)).astype(np.float32) * (k + 1) + 0.3 for k in range(4)]
OUTLIERS = np.concatenate([rng.standard_normal(3000), [40.0, -30.0]]).astype(np.float32)
ONE, ROWS = ("per_tensor_affine", "per_tensor_symmetric"), (
    "per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams"
)  # fmt: skip
KINDS = [
    (kind, dtype, scheme, narrow)
    for kinds, schemes in (
        (("MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver"), ONE),
        (("PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver"), ROWS),
    )
    for kind in kinds for dtype in ("quint8", "qint8") for scheme in schemes
    for narrow in (False, True) if (dtype, narrow) != ("quint8", True)
]  # fmt: skip


def arrays(values: Any) -> list[Any]:
    return [x.numpy() for x in values]


@pytest.mark.parametrize("case", KINDS, ids=lambda case: "-".join(map(str, case)))
def test_scales_and_zero_points(case: Any) -> None:
    kind, dtype, scheme, narrow = case
    made = []
    for t in (mt, torch):
        options = {"ch_axis": 1} if "Channel" in kind else {}
        observer = getattr(t.ao.quantization, kind)(
            dtype=getattr(t, dtype), qscheme=getattr(t, scheme), reduce_range=narrow, **options
        )
        for batch in BATCHES:
            observer(t.tensor(batch))
        made.append((arrays(observer.calculate_qparams()), repr(observer), observer.state_dict()))
    (ours, our_text, our_state), (theirs, text, state) = made
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    assert our_text == text
    assert list(our_state) == list(state)
    for name, value in state.items():
        np.testing.assert_array_equal(our_state[name].numpy(), value.numpy())


def test_a_histogram_with_outliers_and_one_of_a_wider_range() -> None:
    found = []
    for t in (mt, torch):
        observer = t.ao.quantization.HistogramObserver()
        observer(t.tensor(OUTLIERS))
        observer(t.full((5,), 2.0))
        found.append(arrays(observer.calculate_qparams()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_infinite_elements_are_not_counted() -> None:
    observer = mt.ao.quantization.HistogramObserver()
    with pytest.warns(UserWarning, match="inf detected"):
        observer(mt.tensor([1.0, float("inf"), -2.0]))
    assert observer.max_val.item() == 1.0


FAKE = ["default_fake_quant", "default_weight_fake_quant", "default_per_channel_weight_fake_quant",
        "default_embedding_fake_quant", "default_fused_act_fake_quant",
        "default_fused_wt_fake_quant", "default_fused_per_channel_wt_fake_quant",
        "default_fixed_qparams_range_0to1_fake_quant"]  # fmt: skip


@pytest.mark.parametrize("name", FAKE)
def test_fake_quantisation(name: str) -> None:
    made = []
    for t in (mt, torch):
        module = getattr(t.ao.quantization, name)()
        results = []
        for batch in BATCHES[:3]:
            x = t.tensor(batch[:, :, 0], requires_grad=True)
            y = module(x)
            (y * y.detach()).sum().backward()
            results += arrays([y.detach(), x.grad])
        other = getattr(t.ao.quantization, name)()
        other.load_state_dict(module.state_dict())
        made.append((results, repr(other), list(module.state_dict())))
    for a, b in zip(made[0][0], made[1][0], strict=True):
        np.testing.assert_allclose(a, b, rtol=3e-7, atol=1e-7)
    assert made[0][1:] == made[1][1:]


def test_switches() -> None:
    q = mt.ao.quantization
    module = q.default_fake_quant()
    module(mt.tensor(BATCHES[0]))
    known = module.scale.clone()
    module.apply(q.disable_observer).apply(q.disable_fake_quant)
    x = mt.tensor(BATCHES[1] * 9)
    assert mt.equal(module(x), x)
    assert mt.equal(module.scale, known)
    module.apply(q.enable_fake_quant)
    assert not mt.equal(module(x), x)


def _instance(t: Any) -> Any:
    q = t.ao.quantization
    return q.QConfig(q.MinMaxObserver(), None)


REFUSED = {
    "per channel": lambda t: t.ao.quantization.MinMaxObserver(qscheme=t.per_channel_affine),
    "one scale": lambda t: t.ao.quantization.PerChannelMinMaxObserver(qscheme=t.per_tensor_affine),
    "no type": lambda t: t.ao.quantization.get_default_qconfig("none"),
    "instance": _instance,
    "no range": lambda t: t.ao.quantization.MinMaxObserver(quant_min=3, quant_max=2),
    "long range": lambda t: t.ao.quantization.FakeQuantize(quant_min=0, quant_max=256),
    "evaluated": lambda t: t.ao.quantization.prepare_qat(t.nn.Linear(1, 1).eval()),
    "engine": lambda t: setattr(t.backends.quantized, "engine", "none at all"),
    "placeholder": lambda t: t.ao.quantization.PlaceholderObserver().calculate_qparams(),
    "narrow": lambda t: t.ao.quantization.MinMaxObserver(
        qscheme=t.per_tensor_symmetric, reduce_range=True),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_errors(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        REFUSED[name](torch)
    with pytest.raises(type(theirs.value)) as ours:
        REFUSED[name](mt)
    assert str(ours.value) == str(theirs.value)


def _without_addresses(text: str) -> str:
    for old, new in (("mindtorch.torch", "torch"), ("builtin_function_or_method", "function")):
        text = text.replace(old, new)
    return text.partition("object_type_qconfigs")[0]


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn"])
def test_default_configurations_print_as_torchs(backend: str) -> None:
    def text(t: Any) -> str:
        q = t.ao.quantization
        mapping = q.get_default_qconfig_mapping(backend)
        return "\n".join(map(_without_addresses, map(str, (
            q.get_default_qconfig(backend), q.get_default_qat_qconfig(backend),
            q.get_default_qat_qconfig(backend, 0), mapping,
            len(mapping.object_type_qconfigs),
        ))))  # fmt: skip

    assert text(mt) == text(torch)


def test_a_mapping_becomes_a_dictionary_and_back() -> None:
    q = mt.ao.quantization
    made = q.QConfigMapping().set_global(q.default_qconfig).set_module_name("a", None)
    made.set_module_name_object_type_order("b", mt.add, 0, q.default_qconfig)
    assert repr(q.QConfigMapping.from_dict(made.to_dict())) == repr(made)
    assert q.qconfig_equals(q.get_default_qconfig("x86"), q.get_default_qconfig("fbgemm"))
    assert not q.qconfig_equals(q.get_default_qconfig("x86"), q.get_default_qconfig("onednn"))
