"""torch.export against real torch: results, signatures, what is written to, refusals."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
import mindtorch.torch.export as mt_export

torch = pytest.importorskip("torch")
import torch.export as torch_export  # noqa: E402

BOTH = ((mt, mt_export), (torch, torch_export))


def lenet(t: Any) -> Any:
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10),
    )  # fmt: skip


def language_model(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = t.nn.Embedding(20, 16)
            self.places = t.nn.Parameter(t.zeros(1, 64, 16))
            layer = t.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
            self.layers = t.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = t.nn.Linear(16, 20)

        def forward(self, ids: Any) -> Any:
            n = ids.shape[1]
            later = t.triu(t.full((n, n), float("-inf")), diagonal=1)
            x = self.words(ids) + self.places[:, :n]
            return self.head(self.layers(x, mask=later, is_causal=True))

    return Model()


def containers(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = t.nn.Linear(4, 3)
            self.norm = t.nn.BatchNorm1d(3)
            self.register_buffer("calls", t.zeros(()), persistent=False)
            self.shift = t.ones(3)

        def forward(self, x: Any, parts: Any, *, scale: Any = None, times: int = 2) -> Any:
            self.calls.add_(1)
            y = self.norm(self.linear(x)) * parts["a"] + parts["b"][0] * times + self.shift
            if scale is not None:
                y = y * scale
            return {"out": y, "rest": (y.sum(), x, None, 3)}

    return Model()


def alike(build: Callable[[Any], Any]) -> tuple[Any, Any]:
    """The model in both libraries, with the same parameters."""
    mt.manual_seed(0)
    mine, theirs = build(mt), build(torch)
    state = {k: torch.from_numpy(v.detach().numpy().copy()) for k, v in mine.state_dict().items()}
    theirs.load_state_dict(state)
    return mine, theirs


def given(t: Any, value: np.ndarray) -> Any:
    return t.from_numpy(value.copy())


def close(mine: Any, theirs: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(
        mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance
    )


def outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Exception as error:
        return error


def test_lenet() -> None:
    """The program of a network has its parameters, and computes the same bits."""
    mine, theirs = alike(lenet)
    x = np.random.default_rng(0).standard_normal((3, 1, 28, 28), np.float32)
    made = mt_export.export(mine.eval(), (given(mt, x),), dynamic_shapes=({0: mt_export.Dim("n")},))
    wanted = torch_export.export(
        theirs.eval(), (given(torch, x),), dynamic_shapes=({0: torch_export.Dim("n")},)
    )
    assert list(made.state_dict) == list(wanted.state_dict)
    assert [n for n, _ in made.named_parameters()] == [n for n, _ in wanted.named_parameters()]
    assert made.graph_signature.parameters == wanted.graph_signature.parameters
    assert made.graph_signature.user_inputs == wanted.graph_signature.user_inputs
    module = made.module()
    assert list(module.state_dict()) == list(wanted.module().state_dict())
    for n in (3, 1, 7):
        x = np.random.default_rng(n).standard_normal((n, 1, 28, 28), np.float32)
        result = module(given(mt, x))
        np.testing.assert_array_equal(
            result.detach().numpy(), mine(given(mt, x)).detach().numpy()
        )
        close(result, wanted.module()(given(torch, x)))


@pytest.mark.parametrize("open_words", [False, True])
def test_a_transformer_of_open_batches_and_lengths(open_words: bool) -> None:
    """Masks and places that follow from lengths are made anew for each; a full slice too."""
    mine, theirs = alike(language_model)
    ids = np.random.default_rng(0).integers(0, 20, (3, 7))
    marks: Any = {0: mt_export.Dim.DYNAMIC}
    if open_words:
        marks[1] = mt_export.Dim("words", max=64)
    made = mt_export.export(mine.eval(), (given(mt, ids),), dynamic_shapes=(marks,)).module()
    theirs.eval()
    for shape in ((3, 7), (1, 7), (5, 7), *([(2, 3), (1, 1), (2, 64)] if open_words else [])):
        ids = np.random.default_rng(1).integers(0, 20, shape)
        close(made(given(mt, ids)), theirs(given(torch, ids)))
    with pytest.raises(AssertionError, match=r"Guard failed: ids\.size"):
        made(mt.zeros((2, 65), dtype=mt.int64))


def test_containers_keywords_and_buffers() -> None:
    """Arguments and results are put together as in the model; buffers are written to."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((5, 4), np.float32)
    made = []
    for (t, export), model in zip(BOTH, alike(containers), strict=True):
        model.eval()
        parts = {"a": t.full((3,), 2.0), "b": (t.ones(3),)}
        program = export.export(model, (given(t, x), parts), {"scale": t.full((1,), 3.0)})
        module = program.module()
        result = module(given(t, x), parts, scale=t.full((1,), 3.0))
        direct = model(given(t, x), parts, scale=t.full((1,), 3.0))
        assert list(result) == ["out", "rest"] and result["rest"][2:] == (None, 3)
        np.testing.assert_allclose(
            result["out"].detach().numpy(), direct["out"].detach().numpy(), rtol=1e-6
        )
        assert float(model.calls) == 2 == float(module.calls)
        assert set(program.constants) == {"shift", "calls"}
        assert [n for n, _ in program.named_buffers()] == [n for n, _ in model.named_buffers()]
        assert repr(program.call_spec.in_spec) and program.example_inputs[1].keys() == {"scale"}
        made.append((program, module, t, result["out"]))
    close(made[0][3], made[1][3])
    mine, theirs = made[0][0].graph_signature, made[1][0].graph_signature
    assert str(mine) == str(theirs)
    assert dict(mine.buffers_to_mutate) == dict(theirs.buffers_to_mutate) == {}
    calls: list[Callable[[Any, Any], Any]] = [
        lambda m, t: m(t.ones(5, 4), {"a": t.ones(3), "b": (t.ones(3),)}),
        lambda m, t: m(t.ones(6, 4), {"a": t.ones(3), "b": (t.ones(3),)}, scale=t.ones(1)),
        lambda m, t: m(t.ones(5, 4), {"a": t.ones(3)}, scale=t.ones(1)),
        lambda m, t: m(t.ones(5, 4), [t.ones(3)], scale=t.ones(1)),
        lambda m, t: m(t.ones(5, 4), {"a": t.ones(3), "b": (t.ones(3),)}, scale=2.0),
        lambda m, t: m(t.ones(5, 4), {"a": t.ones(3), "b": (t.ones(3),)}, scale=t.ones(1), times=3),
        lambda m, t: m.train(),
        lambda m, t: m.eval(),
    ]
    for call in calls:
        errors = [outcome(partial(call, m, t)) for _, m, t, _ in made]
        assert type(errors[0]) is type(errors[1]) and isinstance(errors[0], Exception), errors
        assert str(errors[0]) == str(errors[1])


def test_a_number_is_part_of_the_program() -> None:
    """Another one is refused as torch refuses it."""
    class_of = lambda t: type("M", (t.nn.Module,), {"forward": lambda self, x, n: x * n})  # noqa: E731
    errors = []
    for t, export in BOTH:
        module = export.export(class_of(t)(), (t.ones(2), 2)).module()
        assert module(t.ones(2), 2).tolist() == [2.0, 2.0]
        errors.append(outcome(partial(module, t.ones(2), 3)))
    assert str(errors[0]) == str(errors[1]) == "Guard failed: n == 2"
    assert type(errors[0]) is type(errors[1]) is AssertionError


def norm_in_training(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = t.nn.Conv2d(1, 4, 3)
            self.norm = t.nn.BatchNorm2d(4)
            self.last = t.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            y = t.relu(self.norm(self.conv(x))).mean((2, 3))
            with t.no_grad():
                w = y.exp()
            parts = t.zeros(4)
            parts[1:3] = y.sum(0)[1:3]
            return self.last(y + y.detach() * w) + parts.sum()

    return Model()


def test_a_program_is_trained() -> None:
    """Gradients pass where the forward lets them, end where it ends them, and running statistics
    follow; the module of the program has the parameters of the exported one."""
    mine, theirs = alike(norm_in_training)
    x = np.random.default_rng(0).standard_normal((5, 1, 8, 8), np.float32)
    program = mt_export.export(mine, (given(mt, x),), dynamic_shapes=({0: mt_export.Dim("n")},))
    assert float(mine.norm.num_batches_tracked) == 0  # nothing was computed
    direct = copy.deepcopy(mine)
    x = np.random.default_rng(1).standard_normal((6, 1, 8, 8), np.float32)
    source = given(mt, x).requires_grad_()
    program.module()(source).square().sum().backward()
    direct(given(mt, x)).square().sum().backward()
    expected = given(torch, x).requires_grad_()
    theirs(expected).square().sum().backward()
    for (name, a), b, c in zip(
        mine.named_parameters(), direct.parameters(), theirs.parameters(), strict=True
    ):
        assert a.grad.equal(b.grad), name
        np.testing.assert_allclose(a.grad.numpy(), c.grad.numpy(), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(source.grad.numpy(), expected.grad.numpy(), rtol=1e-3, atol=1e-3)
    for a, b, c in zip(mine.buffers(), direct.buffers(), theirs.buffers(), strict=True):
        assert a.equal(b)
        close(a, c)


def test_an_argument_that_is_written_to() -> None:
    """The caller's tensor is, by the program too."""
    class_of = lambda t: type(  # noqa: E731
        "M", (t.nn.Module,), {"forward": lambda self, x: x.add_(1) * 2}
    )
    for t, export in BOTH:
        x = t.ones(3)
        program = export.export(class_of(t)(), (x,))
        assert x.tolist() == [1, 1, 1]
        assert program.module()(x).tolist() == [4, 4, 4] and x.tolist() == [2, 2, 2]


def _linear(export: Any, t: Any, n: int, marks: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shapes = marks(export.Dim)
        program = export.export(t.nn.Linear(4, 3), (t.ones(n, 4),), dynamic_shapes=shapes)
    return program.module()(t.ones(n + 2, 4)).shape


@pytest.mark.parametrize("marks", [
    lambda dim: ({0: dim("b", min=2, max=64)},), lambda dim: {"input": {0: dim.AUTO}},
    lambda dim: [[dim.DYNAMIC, dim.AUTO]], lambda dim: {"input": (dim.DYNAMIC(max=60), 4)},
    lambda dim: ({-2 + 2: dim("b"), 1: None},), lambda dim: {"input": {0: dim.STATIC}},
    lambda dim: {"x": {0: dim("b")}}, lambda dim: ({0: dim("b")}, None),
    lambda dim: ({5: dim("b")},),
    lambda dim: ({0: "b"},), lambda dim: ({1: dim("b")},), lambda dim: ({1: dim.DYNAMIC},),
    lambda dim: ({0: dim("b", min=30)},), lambda dim: ({0: 6},), lambda dim: ((dim("b"),),),
])  # fmt: skip
def test_dynamic_shapes(marks: Callable[[Any], Any]) -> None:
    """What torch takes is taken, what it refuses is refused with its kind of error."""
    mine, theirs = (outcome(partial(_linear, e, t, 5, marks)) for t, e in BOTH)
    if not isinstance(theirs, Exception):
        assert tuple(mine) == tuple(theirs)
        return
    assert isinstance(mine, Exception)
    if isinstance(theirs, (IndexError, AssertionError)):
        assert type(mine) is type(theirs)
    else:
        assert type(mine).__name__ == "UserError"
        assert str(theirs).split("\n")[0][:24] == str(mine)[:24], (str(mine), str(theirs))


def test_dims() -> None:
    """Names are identifiers and bounds fit, with torch's words."""
    for act in (
        lambda d: d("1a"), lambda d: d("a", min=4, max=2), lambda d: repr(d("b", min=2, max=64)),
        lambda d: repr(d.AUTO), lambda d: repr(d.DYNAMIC(min=3)), lambda d: d("b").__name__,
    ):  # fmt: skip
        mine, theirs = (outcome(partial(act, export.Dim)) for _, export in BOTH)
        assert type(mine) is type(theirs) and str(mine) == str(theirs)


class Branches(mt.nn.Module):
    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


class Assigns(mt.nn.Module):
    def forward(self, x: Any) -> Any:
        self.last = x * 2
        return self.last + 1


class AssignsAndFails(mt.nn.Module):
    def forward(self, x: Any) -> Any:
        self.last = x * 2
        return float(self.last.sum())


class Counts(mt.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen = [mt.zeros(())]

    def forward(self, x: Any) -> Any:
        self.seen[0] += 1
        return x * self.seen[0]


@pytest.mark.parametrize(("kind", "error", "text"), [
    (Branches, RuntimeError, "cannot depend on data"),
    (Assigns, ValueError, "The tensor attributes last were assigned during export"),
    (AssignsAndFails, RuntimeError, "cannot depend on data"),
    (Counts, RuntimeError, "register_buffer"),
])  # fmt: skip
def test_what_has_no_place_in_a_program(kind: Any, error: type[Exception], text: str) -> None:
    """It is an error when it is exported, and the module is as it was."""
    module = kind()
    with pytest.raises(error, match=text):
        mt_export.export(module, (mt.ones(2),))
    assert not hasattr(module, "last")


def test_lengths_of_one_name() -> None:
    """They are equal, in the examples and later."""
    net = mt.nn.Bilinear(2, 2, 3)
    marks = {"input1": {0: mt_export.Dim("n")}, "input2": {0: mt_export.Dim("n")}}
    module = mt_export.export(net, (mt.ones(4, 2), mt.ones(4, 2)), dynamic_shapes=marks).module()
    assert module(mt.ones(5, 2), mt.ones(5, 2)).shape == (5, 3)
    with pytest.raises(AssertionError, match=r"Guard failed: input2\.size\(\)\[0\] == 5"):
        module(mt.ones(5, 2), mt.ones(6, 2))
    with pytest.raises(RuntimeError, match="lengths of one name differ: 'n' is 4 and 5"):
        mt_export.export(net, (mt.ones(4, 2), mt.ones(5, 2)), dynamic_shapes=marks)


def test_wrong_arguments_of_export() -> None:
    """torch's words."""
    calls: list[Callable[[Any, Any], Any]] = [
        lambda t, e: e.export(t.nn.Linear, (t.ones(2),)),
        lambda t, e: e.export(t.nn.Linear(2, 2), t.ones(2)),
        lambda t, e: e.export(t.nn.Linear(2, 2), (t.ones(2),))(t.ones(2)),
    ]
    for call in calls:
        mine, theirs = (outcome(partial(call, *both)) for both in BOTH)
        assert type(mine).__name__ == type(theirs).__name__
        assert str(mine).split("got")[0] == str(theirs).split("\n")[0].split("got")[0]


class HidesAWrite(mt.nn.Module):
    def forward(self, x: Any) -> Any:
        y = x * 2
        y.detach().mul_(3)
        with mt.no_grad():
            y.add_(1)
        return y


def test_writes_that_autograd_does_not_see() -> None:
    """They are made, and gradients pass as they do without them; random numbers are drawn anew."""
    module = mt_export.export(HidesAWrite(), (mt.ones(2),)).module()
    x = mt.full((2,), 5.0, requires_grad=True)
    made = module(x)
    assert made.tolist() == [31, 31]
    made.sum().backward()
    assert x.grad.tolist() == [2, 2]
    dropping = mt_export.export(mt.nn.Dropout(0.5), (mt.ones(64),)).module()
    mt.manual_seed(0)
    first, second = dropping(mt.ones(64)), dropping(mt.ones(64))
    mt.manual_seed(0)
    assert first.equal(mt.nn.Dropout(0.5)(mt.ones(64))) and not first.equal(second)


def test_user_branches_on_lengths_are_guards() -> None:
    """What the forward decides by an open length holds for those lengths only."""

    class Model(mt.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.shape[0] > 4 else x * 3

    module = mt_export.export(
        Model(), (mt.ones(6),), dynamic_shapes=({0: mt_export.Dim.DYNAMIC},)
    ).module()
    assert module(mt.ones(5)).tolist() == [2.0] * 5
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[0\] >= 5"):
        module(mt.ones(4))


def test_a_program_compiles_and_is_exported_again() -> None:
    """Its module is a module like others."""
    net = lenet(mt).eval()
    x = mt.randn(2, 1, 28, 28)
    module = mt_export.export(net, (x,)).module()
    assert mt.allclose(mt.compile(module)(x), net(x), atol=1e-5)
    again = mt_export.export(module, (x,))
    assert again.module()(x).equal(net(x))
    assert list(again.state_dict) == list(net.state_dict())
