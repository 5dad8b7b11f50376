"""torch.fx: graphs, the code made from them, and what a trace refuses, against real torch."""

import copy
import runpy
import subprocess
import sys
from typing import Any

import pytest

import mindtorch.torch as ours
from mindtorch.torch import fx
from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "fx_program.py"


def texts_of(torch: Any) -> list[Any]:
    return runpy.run_path(str(PROGRAM), {"torch": torch})["texts"]


def test_graphs_and_their_code_read_as_in_torch() -> None:
    """Packages select nodes by name, and people read the code: both are part of the interface."""
    theirs = pytest.importorskip("torch")
    expected = texts_of(theirs)
    found = texts_of(ours)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == other


def test_a_trace_leaves_torch_as_it_was() -> None:
    """Functions and methods are exchanged while tracing; afterwards each is the one from before."""
    before = (ours.relu, ours.nn.functional.relu, vars(ours.Tensor)["add"], ours.Tensor.__add__,
              ours.nn.Module.__call__)  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: x / (1 // 0))
    after = (ours.relu, ours.nn.functional.relu, vars(ours.Tensor)["add"], ours.Tensor.__add__,
             ours.nn.Module.__call__)  # fmt: skip
    assert all(a is b for a, b in zip(before, after, strict=True))


def test_gradients_pass_through_a_graph_to_the_modules_own_parameters() -> None:
    """A GraphModule has the root's parameters, not copies of them; a deep copy has its own."""
    net = ours.nn.Sequential(ours.nn.Linear(3, 2), ours.nn.Tanh())
    traced = fx.symbolic_trace(net)
    traced(ours.ones(1, 3)).sum().backward()
    assert net[0].weight.grad is not None
    twin = copy.deepcopy(traced)
    assert dict(twin.named_parameters())["0.weight"] is not net[0].weight
    assert ours.equal(twin(ours.ones(1, 3)), net(ours.ones(1, 3)))


def test_what_fx_does_not_do_says_so() -> None:
    """Packages import the names; a wrong use must not look as if it had worked."""
    with pytest.raises(NotImplementedError, match="concrete_args"):
        fx.symbolic_trace(lambda x, y: x, concrete_args={"y": [1]})
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("helper")
    with pytest.raises(RuntimeError, match="Unsupported type for global function"):
        fx.wrap(3)  # type: ignore[arg-type]


ORDER = """
import mindtorch.torch as torch
import mindtorch.torch.masked, mindtorch.torch.nested
from mindtorch.torch import fx

class Negative(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return torch.neg(*args, **kwargs)

graph = fx.symbolic_trace(lambda x: torch.sigmoid(x))
Negative(graph).transform()
{}
print(torch.neg(torch.ones(1)).item(), "neg" in Negative(graph).transform().code)
"""
KINDS = {
    "sparse": "torch.sparse_coo_tensor([[0], [0]], [1.0], (2, 2))",
    "nested": "torch.nested.nested_tensor([torch.ones(1), torch.zeros(2)])",
    "masked": "torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))",
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_tensors_after_a_trace_leave_proxies_their_functions(kind: str) -> None:
    """The first of a kind puts functions over torch's: those ask their arguments, too."""
    command = [sys.executable, "-W", "ignore", "-c", ORDER.format(KINDS[kind])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.split() == ["-1.0", "True"], done.stderr
