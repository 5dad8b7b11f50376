"""``TorchDispatchMode``: what it sees, what it may change, and how modes nest; against torch's."""

import copy
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from mindtorch.engine.state import GRAD, state
from mindtorch.torch import library
from mindtorch.torch.library import _custom_operators
from mindtorch.torch.utils import _python_dispatch as our_modes
from mindtorch.torch.utils._pytree import tree_map

MODES = {torch: torch.utils._python_dispatch, ours: our_modes}


def logging(t: Any, tag: str = "") -> Any:
    class Logging(MODES[t].TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func.namespace != "profiler":  # torch's optimizers name their steps so
                self.seen.append(tag + str(func))
            return func(*args, **(kwargs or {}))

    return Logging()


def with_code(t: Any, code: Callable[[Any, Any, Any], Any]) -> Any:
    """A mode whose method is ``code(func, args, kwargs)``."""

    class Mode(MODES[t].TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return code(func, args, kwargs or {})

    return Mode()


def same(program: Callable[[Any], Any]) -> None:
    assert str(program(ours)) == str(program(torch))


ARGUMENTS = """torch.mm(a, b); a.sum(1); a.sum(dim=1, keepdim=True); a + 1; torch.ones(2, 3)
torch.zeros(2, dtype=torch.int64); a.view(3, 2); a.view(-1); a.reshape(-1); F.softmax(a, -1)
torch.randn(2); torch.zeros_like(a); torch.full((2,), 1.0); torch.arange(5); a.to(torch.float64)
a[0]; a[:, 1:]; F.layer_norm(a, (3,)); torch.cat([a, a]); torch.cat([a, a], 1); a.mean(-1)
F.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 2, 2)); a.std(); a.t(); a.transpose(0, 1)
a.permute(1, 0); torch.add(a, a, alpha=2); a.clamp(min=0); a.max(1); a.expand(2, 3); F.gelu(a)
F.dropout(a); a.clone(); a.contiguous(); torch.stack([a, a], -1); a.split(1); a.chunk(2, 1)
a.topk(1); a.masked_fill(a > 0, 1.0); torch.where(a > 0, a, a); F.embedding(torch.tensor([1]), b)
a.argmax(); a.new_zeros(3); a.flatten(); F.mse_loss(a, a); F.cross_entropy(a, torch.tensor([0, 1]))
a.norm(); F.pad(a, (1, 1)); a.clone().fill_(2); a.clone().zero_(); a.clone().mul_(2)
a.clone().copy_(a + 1); torch.empty(3); torch.eye(2); torch.linspace(0, 1, 3); torch.randperm(3)
torch.randint(0, 5, (2,)); torch.bernoulli(a * 0 + 0.5); a.pow(2); F.avg_pool2d(c, 2)
F.max_pool2d(c, 2); F.batch_norm(b, None, None, training=True); a.cumsum(0); a.argsort(); a.sort()
a.index_select(0, torch.tensor([0])); a.repeat(2, 1); a.tril(); a.roll(1); a.flip(0); a.squeeze()
a.gather(1, torch.zeros(2, 1, dtype=torch.long)); a[torch.tensor([0])]; a.squeeze(0)
a.unsqueeze(-1)
torch.tensor(1.0); a.detach(); torch.log_softmax(a, 1); a.var(1); a.prod(); a.any(); a.all(1)
a.logsumexp(0); a.amax(); a.amax(0); a.half(); F.silu(a); F.leaky_relu(a, 0.2); F.elu(a)
F.relu(a.clone(), inplace=True); torch.addmm(torch.ones(4), torch.ones(2, 3), b, beta=2)
torch.bmm(a[None], b[None]); F.linear(a, b.t()); a.sum().item()
F.scaled_dot_product_attention(a[None, None], a[None, None], a[None, None], is_causal=True)"""


def test_arguments_are_passed_on_as_torch_passes_them() -> None:
    def program(t: Any) -> list[str]:
        seen = []

        def code(func: Any, args: Any, kwargs: Any) -> Any:
            def shown(x: Any) -> Any:
                return tuple(x.shape) if isinstance(x, t.Tensor) else x

            seen.append(f"{func} {tree_map(shown, args)} {tree_map(shown, kwargs)}")
            return func(*args, **kwargs)

        given = {"torch": t, "F": t.nn.functional, "a": t.ones(2, 3), "b": t.ones(3, 4),
                 "c": t.ones(1, 1, 4, 4)}  # fmt: skip
        with with_code(t, code):
            exec(ARGUMENTS, given)
        return seen

    assert program(ours) == program(torch)


def change_a_result(t: Any) -> Any:
    """What the mode gives is the result; its gradient is the function's own."""
    a = t.ones(2, 2, requires_grad=True)
    twice = t.ops.aten.mm.default
    with with_code(t, lambda f, args, k: f(*args, **k) * 2 if f is twice else f(*args, **k)):
        b = a @ a
    b.sum().backward()
    return b.tolist(), a.grad.tolist(), b.requires_grad, b.grad_fn.name()


def nested_modes(t: Any) -> Any:
    outer, inner = logging(t, "outer "), logging(t, "inner ")
    with outer:
        with inner:
            t.ones(2) + 1
        t.ones(2) * 2
    return outer.seen, inner.seen


def calls_of_a_mode_go_to_the_one_outside(t: Any) -> Any:
    add = with_code(t, lambda f, args, k: t.add(f(*args, **k), 1)
                    if f is t.ops.aten.mul.Tensor else f(*args, **k))  # fmt: skip
    outer = logging(t)
    with outer, add:
        result = t.ones(2) * 3
    return outer.seen, result.tolist()


def entered_twice(t: Any) -> Any:
    mode = logging(t)
    with mode, mode:
        t.ones(1).sin()
    return mode.seen


def an_error_leaves_the_mode(t: Any) -> Any:
    def code(func: Any, args: Any, kwargs: Any) -> Any:
        if func is t.ops.aten.exp.default:
            raise ValueError("no exp")
        return func(*args, **kwargs)

    with pytest.raises(ValueError, match="no exp"), with_code(t, code):
        t.ones(2).exp()
    return t.ones(1).exp().tolist()


def found_by_name(t: Any) -> Any:
    modes, mode = MODES[t], logging(t)
    with mode:
        stack = modes._get_current_dispatch_mode_stack()
        found = modes._get_current_dispatch_mode() is mode, len(stack)
        with modes._disable_current_modes():
            t.ones(2) + 1
        with modes._pop_mode_temporarily():
            t.ones(2) + 1
    return found, modes._get_current_dispatch_mode(), mode.seen


def steps_of_sgd(t: Any) -> Any:
    t.manual_seed(0)
    net, mode = t.nn.Linear(2, 2), logging(t)
    optimizer = t.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    with mode:
        for _ in range(2):
            optimizer.zero_grad()
            net(t.ones(1, 2)).sum().backward()
            optimizer.step()
    return mode.seen, [round(x, 5) for x in net.weight.flatten().tolist()]


def inference_is_not_decomposed(t: Any) -> Any:
    mode = logging(t)
    with t.inference_mode(), mode:
        t.nn.functional.linear(t.ones(1, 2), t.ones(2, 2)).reshape(-1)
    return mode.seen


def no_grad(t: Any) -> Any:
    mode = logging(t)
    with t.no_grad(), mode:
        t.nn.functional.linear(t.ones(1, 2), t.ones(2, 2))
    return mode.seen


def second_order(t: Any) -> Any:
    x, mode = t.tensor([1.0, 2.0], requires_grad=True), logging(t)
    with mode:
        (g,) = t.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    return x.grad.tolist(), mode.seen


def composite_overloads_are_decomposed(t: Any) -> Any:
    mode, aten = logging(t), t.ops.aten
    with mode:
        x = t.ones(2, 3)
        aten.linear.default(x, x)
        aten.view_as.default(x, t.ones(3, 2))
        aten.reshape.default(x.t(), [6])
    return mode.seen


def nan_is_found(t: Any) -> Any:
    """A mode that looks at every result."""

    def code(func: Any, args: Any, kwargs: Any) -> Any:
        made = func(*args, **kwargs)
        if isinstance(made, t.Tensor) and made.is_floating_point() and made.isnan().any():
            raise RuntimeError(f"{func} gave nan")
        return made

    with pytest.raises(RuntimeError) as error, with_code(t, code):
        t.sqrt(t.tensor([1.0, -1.0])).sum()
    return str(error.value)


def in_place_through_views(t: Any) -> Any:
    x, mode = t.zeros(3, requires_grad=True), logging(t)
    with mode:
        y = x * 1
        y[1:].mul_(3.0).add_(1)
        y.relu_()
        (y * y).sum().backward()
    return x.grad.tolist(), y.tolist()


@pytest.mark.parametrize(
    "program",
    [
        change_a_result, nested_modes, calls_of_a_mode_go_to_the_one_outside, entered_twice,
        an_error_leaves_the_mode, found_by_name, steps_of_sgd, inference_is_not_decomposed,
        no_grad, second_order, composite_overloads_are_decomposed, nan_is_found,
        in_place_through_views,
    ],
)  # fmt: skip
def test_programs_with_modes(program: Callable[[Any], Any]) -> None:
    same(program)


def test_overloads_say_what_torchs_say() -> None:
    def program(t: Any) -> Any:
        f, aten = t.ops.aten.add_.Tensor, t.ops.aten
        s = f._schema
        arguments = [
            (x.name, x.kwarg_only, x.has_default_value(),
             x.alias_info.is_write if x.alias_info else None)
            for x in s.arguments
        ]  # fmt: skip
        return (
            str(f), repr(f), f.name(), f.namespace, str(f.overloadpacket), repr(f.overloadpacket),
            f._overloadname, f.__name__, s.name, s.overload_name, str(s), s.is_mutable, arguments,
            [r.alias_info.is_write for r in s.returns], aten.add.Tensor is aten.add.Tensor,
            aten.add.Tensor == aten.add.Scalar, aten.t.default.is_view, aten.mm.default.is_view,
            aten.mm.default in {aten.mm.default: 1}, isinstance(f, t._ops.OpOverload),
            isinstance(aten.add, t._ops.OpOverloadPacket), copy.deepcopy(f) is f,
            aten.mm.default(t.eye(2), t.eye(2)).tolist(),
            aten.sum.dim_IntList(t.eye(2), [0]).tolist(),
        )  # fmt: skip

    same(program)


@pytest.fixture
def declared() -> Iterator[None]:
    """What a test declares is gone after it."""
    before, blocks = dict(_custom_operators.OPERATORS), dict(library._blocks)
    yield
    _custom_operators.OPERATORS.clear()
    _custom_operators.OPERATORS.update(before)
    library._blocks.clear()
    library._blocks.update(blocks)
    vars(ours.ops).pop("mindtorch_modes", None)


@pytest.mark.usefixtures("declared")
def test_declared_operators_are_seen() -> None:
    def program(t: Any) -> Any:
        lib = t.library.Library("mindtorch_modes", "DEF")
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        lib.define("thrice(Tensor x) -> Tensor")
        lib.impl("thrice", lambda x: x * 3, "CompositeImplicitAutograd")
        seen: list[Any] = []

        def code(func: Any, args: Any, kwargs: Any) -> Any:
            seen.append((str(func), func is t.ops.mindtorch_modes.twice.default))
            return func(*args, **kwargs)

        with with_code(t, code):
            result = t.ops.mindtorch_modes.thrice(t.ops.mindtorch_modes.twice(t.ones(2)))
        return seen, result.tolist()

    same(program)


def test_compiled_functions_run_op_by_op_under_a_mode() -> None:
    function = ours.compile(lambda x: (x * 2).sin())
    function(ours.ones(2))
    mode = logging(ours)
    with mode:
        result = function(ours.ones(2))
    assert mode.seen[-2:] == ["aten.mul.Tensor", "aten.sin.default"]
    assert result.tolist() == (ours.ones(2) * 2).sin().tolist()


def test_functions_that_torch_has_no_overload_for_go_by_our_own_names() -> None:
    mode = logging(ours)
    with mode:
        ours.linalg.svd(ours.eye(2))
    assert any(name.startswith("mindtorch.linalg_svd") for name in mode.seen)


def test_plain_calls_are_as_ever_after_a_mode() -> None:
    with logging(ours):
        ours.ones(2).exp()
    assert state.mode == GRAD
    assert not our_modes._get_current_dispatch_mode_stack()


_PUT_BACK = """
import pickle
from mindtorch import torch
from mindtorch.torch.utils._python_dispatch import TorchDispatchMode

def held():
    F, T = torch.nn.functional, torch.Tensor
    return (
        torch.relu, torch.matmul, F.relu, F.linear, T.add, T.__add__, T.__matmul__, T.relu_, T.T,
        T.data, "__getitem__" in vars(T), pickle.dumps(F.relu), torch.linalg.norm,
    )

class Count(TorchDispatchMode):
    seen = 0
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Count.seen += 1
        return func(*args, **(kwargs or {}))

net, x = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()), torch.ones(2, 3)
before = held()
program = torch.export.export(net, (x,))
assert held() == before
program.run_decompositions()
assert held() == before
for _ in range(2):
    with Count():
        with Count():
            torch.relu(x) @ x.T
        assert held() != before
        try:
            torch.matmul(x, x)
        except RuntimeError:
            pass
    assert held() == before
assert Count.seen > 4
torch.relu = own = lambda x: x
with Count():
    assert torch.relu is own
assert torch.relu is own
class Named(torch.Tensor):
    pass
with Count():
    pass
assert held()[1] is not before[1]
"""


def test_functions_are_what_they_were_behind_an_export_and_a_mode() -> None:
    """Else every call after it would ask first: it took twice as long."""
    subprocess.run([sys.executable, "-c", _PUT_BACK], check=True, timeout=120)
