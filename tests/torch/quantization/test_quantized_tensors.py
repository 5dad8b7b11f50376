"""Quantised tensors: values, texts, shapes and errors are those of PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}:UserWarning")
    for text in ("torch.quantize_per_tensor", "TypedStorage is deprecated", "All inputs of this")
]
ROWS = [[-1.0, 0.5, 2.0], [3.0, -0.25, 0.1]]


def one_scale(t: Any, dtype: str = "quint8") -> Any:
    return t.quantize_per_tensor(t.tensor(ROWS), 0.1, 10, getattr(t, dtype))


def by_rows(t: Any) -> Any:
    return t.quantize_per_channel(
        t.tensor(ROWS), t.tensor([0.1, 0.05]), t.tensor([0, 3]), 0, t.qint8
    )


def image(t: Any) -> Any:
    return one_scale(t).view(1, 1, 2, 3)


Call = Callable[[Any], Any]
ALIKE: dict[str, Call] = {
    "one scale": one_scale, "signed": lambda t: one_scale(t, "qint8"), "by rows": by_rows,
    "32 bits": lambda t: one_scale(t, "qint32"), "levels": lambda t: one_scale(t).int_repr(),
    "dynamic": lambda t: t.quantize_per_tensor_dynamic(t.tensor(ROWS), t.quint8, True),
    "dynamic signed": lambda t: t.quantize_per_tensor_dynamic(t.tensor(ROWS), t.qint8, False),
    "scale": lambda t: (one_scale(t).q_scale(), one_scale(t).q_zero_point()),
    "schemes": lambda t: (one_scale(t).qscheme(), by_rows(t).qscheme()),
    "of rows": lambda t: (by_rows(t).q_per_channel_scales(),
                          by_rows(t).q_per_channel_zero_points(), by_rows(t).q_per_channel_axis()),
    "numbers": lambda t: t.dequantize([one_scale(t), by_rows(t)]),
    "facts": lambda t: (one_scale(t).is_quantized, one_scale(t).dtype, one_scale(t).type(),
                        one_scale(t).stride(), one_scale(t).element_size(), len(one_scale(t)),
                        one_scale(t).is_floating_point(), one_scale(t).requires_grad),
    "item": lambda t: (one_scale(t)[0, 0].item(), bool(one_scale(t)[0, 1])),
    "parts": lambda t: [one_scale(t)[0], one_scale(t)[:, 1:], by_rows(t)[0], by_rows(t)[:, 1:],
                        by_rows(t)[1:], one_scale(t)[t.tensor([1, 0])]],
    "views": lambda t: [one_scale(t).view(3, 2), one_scale(t).reshape(-1), one_scale(t).t(),
                        one_scale(t).permute(1, 0), one_scale(t).unsqueeze(0),
                        one_scale(t).flatten(), one_scale(t)[:1].expand(2, 3)],
    "pieces": lambda t: [*one_scale(t).chunk(3, 1), *one_scale(t).unbind(), *one_scale(t).split(1)],
    "copies": lambda t: [one_scale(t).clone(), one_scale(t).t().contiguous(), one_scale(t).cpu(),
                         one_scale(t).detach(), copy.deepcopy(one_scale(t))],
    "joined": lambda t: [t.cat([one_scale(t), one_scale(t)]), t.stack([one_scale(t)] * 2)],
    "other levels joined": lambda t: t.cat([
        one_scale(t), t.quantize_per_tensor(t.tensor(ROWS), 0.05, 30, t.quint8)]),
    "relu": lambda t: [t.relu(one_scale(t)), t.nn.functional.relu6(one_scale(t))],
    "known ranges": lambda t: [one_scale(t).sigmoid(), one_scale(t).tanh(),
                               t.nn.functional.hardsigmoid(one_scale(t))],
    "pieces of numbers": lambda t: [t.nn.functional.leaky_relu(one_scale(t)),
                                    t.nn.functional.threshold(one_scale(t), 0.5, 0.0),
                                    t.nn.functional.hardtanh(one_scale(t)),
                                    one_scale(t).clamp(0, 1)],
    "folds": lambda t: [one_scale(t).mean(1), one_scale(t).max(), one_scale(t).min(),
                        one_scale(t).max(1)[1], one_scale(t).sort()[0], one_scale(t).topk(1)[0]],
    "compared": lambda t: [one_scale(t) == one_scale(t), one_scale(t) > 0.3,
                           t.equal(one_scale(t), by_rows(t))],
    "pools": lambda t: [t.nn.functional.avg_pool2d(image(t), 2),
                        t.nn.functional.adaptive_avg_pool2d(image(t), 1),
                        t.nn.functional.max_pool2d(image(t), 2)],
    "images": lambda t: [t.nn.functional.interpolate(image(t), scale_factor=2),
                         t.nn.functional.pad(one_scale(t), (1, 1))],
    "written": lambda t: [one_scale(t).fill_(0.5), one_scale(t).relu_(),
                          one_scale(t).copy_(t.tensor(ROWS) * 2),
                          one_scale(t).copy_(
                              t.quantize_per_tensor(t.tensor(ROWS), 0.2, 5, t.quint8))],
    "made of levels": lambda t: [
        t._make_per_tensor_quantized_tensor(t.tensor([1, 2], dtype=t.uint8), 0.5, 1),
        t._make_per_channel_quantized_tensor(
            t.tensor([1, 2], dtype=t.int8), t.tensor([0.5, 1.0]), t.tensor([0, 1]), 0)],
    "several": lambda t: t.quantize_per_tensor(
        [t.tensor(ROWS)] * 2, t.tensor([0.1, 0.2]), t.tensor([0, 1]), t.quint8),
    "nothing": lambda t: [t.quantize_per_tensor(t.empty(0, 3), 0.1, 0, t.quint8),
                          t.quantize_per_tensor(t.tensor(1.5), 0.1, 0, t.quint8)],
    "no numbers": lambda t: t.quantize_per_tensor(
        t.tensor([float("nan"), float("inf"), -float("inf")] * 11), 0.1, 3, t.quint8).int_repr(),
    "a sum that wraps": lambda t: t._make_per_tensor_quantized_tensor(
        t.tensor([2**31 - 1, -(2**31), 2**24 + 1], dtype=t.int32), 0.1, 3).dequantize(),
    "floating zero points": lambda t: t.quantize_per_channel(
        t.tensor(ROWS), t.tensor([0.1, 0.05]), t.tensor([0.5, 3.25]), 0, t.quint8),
    "fake, floating zero points": lambda t: t.fake_quantize_per_channel_affine(
        t.tensor(ROWS), t.tensor([0.1, 0.2]), t.tensor([0.5, 2.25]), 0, 0, 255),
}  # fmt: skip


def shown(call: Call, namespace: Any) -> str:
    return repr(call(namespace))


@pytest.mark.parametrize("name", ALIKE)
def test_texts_and_values_are_those_of_torch(name: str) -> None:
    assert shown(ALIKE[name], mt) == shown(ALIKE[name], torch)


REFUSED: dict[str, Call] = {
    "scale of rows": lambda t: by_rows(t).q_scale(),
    "scales of one": lambda t: one_scale(t).q_per_channel_scales(),
    "rows exchanged": lambda t: by_rows(t).t(),
    "rows joined": lambda t: t.cat([by_rows(t), by_rows(t)]),
    "numpy": lambda t: one_scale(t).numpy(), "list": lambda t: one_scale(t).tolist(),
    "cast": lambda t: one_scale(t).float(), "cast to": lambda t: one_scale(t).to(t.float16),
    "other levels": lambda t: one_scale(t).to(t.qint8),
    "no levels": lambda t: t.quantize_per_tensor(t.tensor(ROWS), 0.1, 0, t.float32),
    "whole": lambda t: t.quantize_per_tensor(t.tensor(ROWS).int(), 0.1, 0, t.quint8),
    "zero point above": lambda t: t.quantize_per_tensor(t.tensor(ROWS), 0.1, 300, t.quint8),
    "zero point below": lambda t: t.quantize_per_tensor(t.tensor(ROWS), 0.1, -1, t.quint8),
    "no such axis": lambda t: t.quantize_per_channel(
        t.tensor(ROWS), t.tensor([0.1, 0.2]), t.tensor([0, 3]), 5, t.qint8),
    "other length": lambda t: t.quantize_per_channel(
        t.tensor(ROWS), t.tensor([0.1, 0.2]), t.tensor([0, 3]), 1, t.qint8),
    "two lengths": lambda t: t.quantize_per_channel(
        t.tensor(ROWS), t.tensor([0.1, 0.2, 1]), t.tensor([0, 3]), 0, t.qint8),
    "gradient": lambda t: one_scale(t).requires_grad_(),
    "copied from other levels": lambda t: one_scale(t).copy_(one_scale(t, "qint32")),
    "no scale": lambda t: t.quantize_per_tensor(t.ones(2), "a", 0, t.quint8),
    "no scales": lambda t: t.quantize_per_channel(t.ones(2), 0.1, 0, 0, t.quint8),
    "no tensor": lambda t: t.int_repr(3),
    "one argument less": lambda t: t.quantize_per_tensor_dynamic(t.ones(2), t.quint8),
    "signed?": lambda t: one_scale(t).is_signed(),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_torch(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        REFUSED[name](torch)
    with pytest.raises(type(theirs.value)) as ours:
        REFUSED[name](mt)
    assert str(ours.value).partition("\n")[0] == str(theirs.value).partition("\n")[0]


@pytest.mark.parametrize("name", ["add", "matmul", "neg", "softmax", "argmax", "cumsum"])
def test_what_has_no_kernel_is_refused(name: str) -> None:
    q = one_scale(mt)
    arguments = {"add": (q,), "matmul": (q.t(),), "softmax": (1,), "cumsum": (0,)}.get(name, ())
    with pytest.raises(NotImplementedError, match="QuantizedCPU"):
        getattr(q, name)(*arguments)
    with pytest.raises(NotImplementedError, match="aten::q_scale"):
        mt.tensor(ROWS).q_scale()


def test_views_share_levels() -> None:
    q = one_scale(mt)
    q[0].fill_(0.5)
    np.testing.assert_array_equal(q.dequantize().numpy()[0], [0.5] * 3)
    q[1, 2] = 2.0
    assert q[1, 2].item() == 2.0


@pytest.mark.parametrize("call", [one_scale, by_rows, lambda t: one_scale(t)[:, 1:]])
def test_files_go_both_ways(call: Call) -> None:
    for writer, reader in ((mt, torch), (torch, mt), (mt, mt)):
        file = io.BytesIO()
        writer.save({"q": call(writer)}, file)
        file.seek(0)
        assert repr(reader.load(file)["q"]) == repr(call(torch))


def test_a_file_of_a_wrong_axis_is_refused() -> None:
    file = io.BytesIO()
    q = by_rows(mt)
    q.quantizer.axis = 7
    mt.save(q, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="per_channel axis 7 out of range"):
        mt.load(file)
