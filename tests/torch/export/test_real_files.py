"""Files of programs between mindtorch and real PyTorch, both ways, and decomposed programs."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
import mindtorch.torch.export as mt_export
from tests.torch.export.test_export import BOTH, alike, close, language_model, lenet
from tests.torch.export.test_graph import batch_of_images, encoder, recurrent, tied

torch = pytest.importorskip("torch")
import torch.export as torch_export  # noqa: E402


def writes(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", t.zeros(4))
            self.register_buffer("calls", t.zeros((), dtype=t.int64), persistent=False)
            self.norm = t.nn.BatchNorm1d(4)

        def forward(self, x: Any) -> Any:
            self.total.add_(x.detach().sum(0))
            self.calls: Any = self.calls + 1
            y = self.norm(x)
            y[:, 0] = 0
            y[:, 2:4].mul_(2)
            y.t()[3].add_(1)
            return y * self.total + self.calls, x.new_zeros(x.shape[0])

    return Model()


def without_gradients(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = t.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            with t.no_grad():
                z = self.linear(x).exp()
            return self.linear(x) * z + self.linear(x).detach() * float("inf") / float("inf")

    return Model()


Case = tuple[Callable[[Any], Any], tuple[int, ...], str, bool]
CASES: list[Case] = [
    (lenet, (2, 1, 28, 28), "input", False), (batch_of_images, (3, 1, 8, 8), "input", False),
    (tied, (2, 3), "", False), (encoder, (2, 5, 16), "", False),
    (recurrent, (2, 3, 4), "", False), (language_model, (3, 7), "ids", False),
    (writes, (5, 4), "x", True), (without_gradients, (2, 3), "", False),
]  # fmt: skip
LARGE = (batch_of_images, encoder, recurrent, language_model)
MARKED = [
    pytest.param(case, marks=[pytest.mark.exhaustive] if case[0] in LARGE else [],
                 id=case[0].__name__)
    for case in CASES
]  # fmt: skip


def given(build: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if build is language_model:
        return rng.integers(0, 20, shape)
    return rng.standard_normal(shape, np.float32)


def programs(case: Case) -> tuple[list[Any], list[Any]]:
    """The models and programs of both libraries, with the same state."""
    build, shape, opened, training = case
    models = list(alike(build))
    made = []
    for (t, export), model in zip(BOTH, models, strict=True):
        marks = {opened: {0: export.Dim.DYNAMIC}} if opened else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = t.from_numpy(given(build, shape))
            made.append(export.export(model.train(training), (x,), dynamic_shapes=marks))
    return models, made


def results(found: Any) -> list[Any]:
    if not isinstance(found, (list, tuple)):
        return [found]
    return [x for each in found for x in results(each)]


def through_a_file(program: Any, source: Any, target: Any) -> Any:
    file = io.BytesIO()
    source.save(program, file)
    file.seek(0)
    return target.load(file)


def check(case: Case, module: Any, model: Any, t: Any, other: Any) -> None:
    """The module, of library ``t``, computes and writes what the model of ``other`` does."""
    build, shape, opened, _ = case
    for seed, n in enumerate((shape[0], shape[0] + 2) if opened else (shape[0],)):
        x = given(build, (n, *shape[1:]), seed)
        mine, theirs = results(module(t.from_numpy(x.copy()))), results(
            model(other.from_numpy(x.copy())))  # fmt: skip
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            assert tuple(a.shape) == tuple(b.shape) and str(a.dtype) == str(b.dtype)
            close(a, b, 2e-5)
    for (name, a), b in zip(module.named_buffers(), model.buffers(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-5, 1e-5, err_msg=name)


@pytest.mark.parametrize("case", MARKED)
def test_torch_reads_ours(case: Case) -> None:
    """Real torch loads our file and computes the same, as it is and decomposed."""
    models, (program, _) = programs(case)
    plain = through_a_file(program, mt_export, torch_export)
    small = through_a_file(program.run_decompositions(), mt_export, torch_export)
    check(case, plain.module(), models[0], torch, mt)
    fresh = alike(case[0])[0].train(case[3])
    check(case, small.module(), fresh, torch, mt)


@pytest.mark.parametrize("case", MARKED)
def test_we_read_those_of_torch(case: Case) -> None:
    """And we load its files, of both kinds; what we loaded is written again."""
    models, (_, program) = programs(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = through_a_file(program.run_decompositions(), torch_export, mt_export)
    plain = through_a_file(program, torch_export, mt_export)
    assert str(plain.graph_signature) == str(program.graph_signature)
    names = [[n.name for n in p.graph.nodes if n.op != "get_attr"] for p in (plain, program)]
    assert names[0] == names[1]
    check(case, through_a_file(plain, mt_export, mt_export).module(), models[1], mt, torch)
    fresh = alike(case[0])[1].train(case[3])
    check(case, small.module(), fresh, mt, torch)


def test_tied_weights_stay_one() -> None:
    """They are one parameter after reading, and in the file."""
    program = through_a_file(programs(CASES[2])[1][1], torch_export, mt_export)
    module = program.module()
    assert module.a.weight is module.b.weight
    assert len(list(module.parameters())) == 3


def test_decomposed_programs() -> None:
    """Nothing is written by a node; the signature says what becomes of what was written to."""
    mine, theirs = programs(CASES[6])[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small, wanted = mine.run_decompositions(), theirs.run_decompositions()
    assert small.dialect == wanted.dialect == "ATEN"
    found = {v: k for k, v in small.graph_signature.buffers_to_mutate.items()}
    assert set(found) == set(wanted.graph_signature.buffers_to_mutate.values())
    called = {str(n.target) for n in small.graph.nodes if n.op == "call_function"}
    assert not {name for name in called if name.split(".")[1:2] and name.split(".")[1][-1] == "_"}
    names = {str(n.target) for n in programs(CASES[3])[1][0].run_decompositions().graph.nodes}
    assert not {"aten.linear.default", "aten.t.default", "aten.layer_norm.default"} & names
    assert {"aten.addmm.default", "aten.native_layer_norm.default"} <= names


def test_a_table_of_decompositions() -> None:
    """It replaces what it names; without it only what torch itself decomposes is."""
    program = mt_export.export(mt.nn.Sequential(mt.nn.Linear(3, 3), mt.nn.SiLU()), (mt.ones(2, 3),))
    silu = mt.ops.aten.silu.default
    plain = program.run_decompositions({})
    assert silu in {n.target for n in plain.graph.nodes}
    own = program.run_decompositions({silu: lambda x: mt.ops.aten.tanh.default(x)})
    x = mt.randn(2, 3)
    (linear, _) = list(program.state_dict.values())
    expected = mt.nn.functional.linear(x, *program.state_dict.values()).tanh()
    assert linear.shape == (3, 3) and mt.allclose(own.module()(x), expected)


def test_a_file_with_an_operator_that_is_not_here() -> None:
    """The error names it."""

    class Model(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, x: Any) -> Any:
            return torch.ops.aten._cdist_forward.default(x, x, 2.0, None)

    program = torch_export.export(Model(), (torch.ones(2, 3),))
    with pytest.raises(NotImplementedError, match=r"the operator aten\._cdist_forward\.default"):
        through_a_file(program, torch_export, mt_export)
