"""What torch.fx is asked to do, with a `torch` that the reader of this text puts into its globals.

`texts` is what it prints; nothing in it depends on which torch it is.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"

import copy
import math
import operator
from typing import Any

fx, nn, F = torch.fx, torch.nn, torch.nn.functional
texts: list[Any] = []


@fx.wrap
def helper(x: Any, k: Any) -> Any:
    return x * int(k)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.p = nn.Parameter(torch.arange(4.0))
        self.register_buffer("b", torch.ones(4))
        self.c = torch.ones(4)

    def forward(self, x: Any, *, scale: float = 2.0) -> Any:
        a, _ = x.chunk(2, dim=0)
        y = (self.p + a) * self.b + self.c
        y += 1
        y = (2 - -y) ** 2
        y = (self.p @ y.t()).unsqueeze(0)
        z = torch.zeros(2)
        z[0] = x.sum()
        both = self.b - x, self.b @ x.t(), self.b > x, self.b.to(x), z / x[0, :2]
        size = math.sqrt(x.size(0))
        return {"a": y, "b": [x[..., None], x[0:2]]}, torch.cat([x, x], -1).sum() * size, both


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()
        self.seq = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: torch.Tensor, flag: Any = None, k: int = 2) -> Any:
        h = self.inner(self.seq(self.seq(x)), scale=3)
        h[1].add_(1)
        last = torch.add(torch.zeros(2, 2), 1) if flag is None else flag
        return h, last, x.T, helper(x, 3) * k, x.view(-1).float().clamp(min=0)


net = Net()
graph = fx.Tracer().trace(net, concrete_args={"flag": None, "k": 2})
module = fx.GraphModule(net, graph)
texts += [str(graph), module.code, repr(module), list(module.state_dict())]


def varied(x: Any, y: int = 1, *args: Any, **kw: Any) -> Any:
    return torch.sin(x) + y + args[0] + kw["a"]


texts += [fx.symbolic_trace(varied).code]
REFUSED = {
    "branch": lambda x: x if x.sum() > 0 else -x,
    "loop": lambda x: [each + 1 for each in x],
    "length": lambda x: len(x),
    "contains": lambda x: 1 in x,
    "object": lambda x: helper(x, object()),
}
for name, function in REFUSED.items():
    try:
        fx.symbolic_trace(function)
        texts.append((name, "no error"))
    except Exception as error:
        texts.append((name, type(error).__name__, str(error)))

small = fx.symbolic_trace(lambda x, y: torch.relu(x).relu() + y * 2)
for node in list(small.graph.nodes):
    users = [user.name for user in node.users]
    texts.append((node.op, node.name, str(node.args), users, str(node.all_input_nodes)))
    if node.op == "call_method":
        node.replace_all_uses_with(node.args[0])
        small.graph.erase_node(node)
try:
    small.graph.erase_node(next(iter(small.graph.nodes)))
except RuntimeError as error:
    texts.append(str(error))
small.recompile()
small.graph.lint()
texts.append(small.code)


class Cosines(fx.Transformer):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_function(torch.cos if target is torch.sin else target, args, kwargs)


changed = Cosines(fx.symbolic_trace(lambda x: torch.sin(x) + 1)).transform()
texts += [changed.code, fx.Interpreter(changed).run(torch.zeros(2)).tolist()]

built = fx.Graph()
first = built.placeholder("a")
second = built.call_function(operator.add, (first, 2))
with built.inserting_before(second):
    third = built.call_method("neg", (first,))
unused = built.call_function(torch.sin, (first,))
second.args = (third, 3)
built.output((second, {"q": third}))
built.eliminate_dead_code()
texts += [str(built), str(fx.GraphModule(nn.Module(), built)(torch.ones(1)))]
texts.append(str(fx.node.map_arg([third, (first, {"z": second})], lambda n: n.name)))
x = torch.linspace(-1, 1, 16).view(4, 4)
texts.append(torch.equal(copy.deepcopy(module)(x)[3], net(x)[3]))
texts.append(torch.equal(module(x)[0][0]["a"], net(x)[0][0]["a"]))
