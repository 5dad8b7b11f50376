"""Symbolic tracing: the code and the graphs are PyTorch's, character by character."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.fx

import mindtorch.torch as ours

SOURCE = """
import copy, operator
nn, F, fx = torch.nn, torch.nn.functional, torch.fx
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)
    def forward(self, x):
        return torch.relu(self.bn(self.conv(x))) + x
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = Block()
        self.seq = nn.Sequential(Block(), nn.ReLU(), nn.Sequential(nn.Flatten()))
        self.fc = nn.Linear(3 * 16, 5)
        self.w = nn.Parameter(torch.ones(5))
        self.register_buffer("buf", torch.ones(5))
        self.ls = nn.ModuleList([nn.Linear(5, 5) for _ in range(2)])
    def forward(self, x, scale: float = 2.0, flag=None):
        y = self.fc(self.seq(self.b(x)))
        y = y * self.w + self.buf - 1
        for layer in self.ls:
            y = layer(y)
        a, b = y.shape[0], y.size(-1)
        z = y.view(a, -1).sum(dim=1, keepdim=True)
        p, q = y.split([2, 3], 1)
        z = torch.cat([z, p, q], dim=1)[:, 1:].transpose(0, 1).contiguous()
        z = 2 - z / scale ** 2
        return {"z": z @ y, "n": -z, "t": (z, [y, None]), "c": z > 0}
torch.manual_seed(0)
net = Net().eval()
x = torch.arange(96.).reshape(2, 3, 4, 4) / 96
def f(x, y=3):
    a = torch.add(x, y)
    b = a.relu().sum()
    return torch.max(a, 0)[0] + b
def unpacked(x):
    a, b = x
    return a + b
def renamed(input, in_=1): return torch.sum(input, dim=1) + in_
def annotated(x: torch.Tensor, n: int = 3) -> torch.Tensor: return x * n
def constants(x):
    return (x.to(torch.float32) + torch.ones(2), x.to(device=torch.device("cpu")),
            float("inf") * x, x[..., None], x[1:, ::2], x.new_zeros((2,)), x.sum().bool())
def dead(x):
    y = x + 1
    z = y * 2
    return x
def nothing(x): x.add_(1)
def helper(x, n): return x * n if x.sum() > 0 else x
fx.wrap("helper")
def using_helper(x): return helper(x, 2) + 1
def traced(g): return g.code, str(g.graph)
def cleaned():
    g = fx.symbolic_trace(dead)
    g.graph.eliminate_dead_code()
    g.recompile()
    return traced(g)
def edited():
    g = fx.symbolic_trace(f)
    for n in g.graph.nodes:
        if n.op == "call_function" and n.target == torch.add:
            with g.graph.inserting_after(n):
                n.replace_all_uses_with(g.graph.call_function(torch.mul, n.args, {}))
            g.graph.erase_node(n)
    g.graph.lint()
    g.recompile()
    return traced(g), g(torch.ones(2, 2), 4.0)
class Changed(fx.Transformer):
    def call_function(self, target, args, kwargs):
        return super().call_function(torch.sub if target == torch.add else target, args, kwargs)
    def call_method(self, target, args, kwargs):
        return super().call_method("neg" if target == "relu" else target, args, kwargs)
class Counting(fx.Interpreter):
    def run_node(self, n):
        calls.append(n.name)
        return super().run_node(n)
calls = []
class Leaf(fx.Tracer):
    def is_leaf_module(self, m, name):
        return isinstance(m, Block) or super().is_leaf_module(m, name)
def built():
    g = fx.Graph()
    a = g.placeholder("x")
    b = g.call_function(torch.sin, (a,))
    g.output((g.call_method("add", (b, 1)), b))
    return traced(fx.GraphModule(nn.Module(), g))
def modules():
    g = fx.symbolic_trace(net)
    done = g.add_submodule("a.b", nn.Linear(2, 2)), g.delete_submodule("ls.1")
    g.delete_all_unused_submodules()
    return done, g.delete_submodule("zz"), [n for n, _ in g.named_modules()]
def described(g):
    return [(n.op, n.name, str(n.args), str(n.kwargs), str(n.all_input_nodes), n.next.name,
             [u.name for u in n.users]) for n in g.graph.nodes]
"""
CASES = [
    "traced(fx.symbolic_trace(net))", "traced(fx.symbolic_trace(f))",
    "described(fx.symbolic_trace(net))", "fx.symbolic_trace(unpacked).code",
    "traced(fx.symbolic_trace(renamed))", "traced(fx.symbolic_trace(annotated))",
    "traced(fx.symbolic_trace(constants))", "traced(fx.symbolic_trace(dead))", "cleaned()",
    "traced(fx.symbolic_trace(nothing))", "str(fx.symbolic_trace(using_helper).graph)", "edited()",
    "fx.symbolic_trace(net)(x)", "fx.Interpreter(fx.symbolic_trace(net)).run(x)",
    "(Counting(fx.symbolic_trace(f)).run(torch.ones(2, 2)), calls)",
    "traced(Changed(fx.symbolic_trace(f)).transform())", "built()", "modules()",
    "str(fx.GraphModule(net, Leaf().trace(net)).graph)",
    "traced(copy.deepcopy(fx.symbolic_trace(net)))", "list(fx.symbolic_trace(net).state_dict())",
    "copy.deepcopy(fx.symbolic_trace(net))(x)['z']", "fx.symbolic_trace(Net()).training",
    "[n.name for n in fx.symbolic_trace(lambda x: torch.relu(torch.relu(x)).relu().max().sum()"
    ".sum().view(1)).graph.nodes]",
    "[n.format_node() for n in fx.symbolic_trace(f).graph.nodes]",
    "str(fx.symbolic_trace(f).graph.find_nodes(op='call_function', target=torch.add))",
    "fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)",
    "fx.symbolic_trace(lambda x: [a for a in x])", "fx.symbolic_trace(lambda x: len(x))",
    "fx.symbolic_trace(lambda x: bool(x))", "fx.GraphModule({}, fx.symbolic_trace(net).graph)",
    "fx.GraphModule(3, fx.Graph())", "fx.Graph().create_node('call', 'x')",
    "fx.Interpreter(fx.symbolic_trace(unpacked)).run()", "fx.wrap(3)",
    "fx.symbolic_trace(f).graph.erase_node(list(fx.symbolic_trace(f).graph.nodes)[0])",
    "type(fx.symbolic_trace(net)).__name__, type(fx.symbolic_trace(f)).__name__",
]  # fmt: skip


def _plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        return [round(v, 3) for v in value.detach().reshape(-1).double().tolist()]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _outcome(library: Any, code: str, names: dict[str, Any]) -> Any:
    try:
        return "value", _plain(eval(code, names))
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.fixture(scope="module")
def spaces() -> list[tuple[Any, dict[str, Any]]]:
    """The same program run in both libraries."""
    found = []
    for library in (ours, torch):
        names: dict[str, Any] = {"torch": library, "__name__": "program"}
        exec(compile(SOURCE, "program", "exec", dont_inherit=True), names)
        found.append((library, names))
    return found


@pytest.mark.parametrize("code", CASES)
def test_tracing_is_that_of_pytorch(code: str, spaces: Any) -> None:
    """Generated code, printed graphs, results and errors."""
    mine, theirs = (_outcome(library, code, names) for library, names in spaces)
    assert mine == theirs, f"{mine}\n{theirs}"


def test_gradients_flow_through_a_traced_module(spaces: Any) -> None:
    """It shares the module's parameters."""
    (_, names), _ = spaces
    net, g = names["net"], names["fx"].symbolic_trace(names["net"])
    names["x"].requires_grad_()
    g(names["x"])["z"].sum().backward()
    assert g.w is net.w and net.w.grad is not None and bool((net.w.grad != 0).any())


def test_functions_are_themselves_again_after_tracing(spaces: Any) -> None:
    """Also when the traced function fails."""
    (_, names), _ = spaces
    before = (ours.relu, ours.nn.functional.relu, ours.nn.Module.__call__)

    def failing(x: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        names["fx"].symbolic_trace(failing)
    assert before == (ours.relu, ours.nn.functional.relu, ours.nn.Module.__call__)


_BY_HAND = """
import operator
graph = torch.fx.Graph()
tracer = torch.fx.proxy.GraphAppendingTracer(graph)
x, y = (torch.fx.Proxy(graph.placeholder(name), tracer) for name in ("x", "y"))
x = torch.maximum(x[..., :1], y)
made = torch.cat([torch.relu(x), y.sum(0, keepdim=True)], dim=0) * 2
graph.output(torch.softmax(made, -1).node)
module = torch.fx.GraphModule(torch.nn.Module(), graph)
print(module.code)
print(module(torch.tensor([[1.0, 5], [-2, 5]]), torch.arange(6.0).view(2, 3)))
"""


def test_graphs_made_of_proxies_without_a_trace() -> None:
    """Libraries that write their own code (e3nn) call torch's functions with proxies so.

    In a process of its own: functions ask their arguments' classes from then on.
    """
    found = []
    for name in ("torch", "mindtorch.torch"):
        code = f"import {name} as torch, {name}.fx\n{_BY_HAND}"
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        found.append(run.stdout)
    assert found[0] == found[1]
