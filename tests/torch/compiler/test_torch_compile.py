"""torch.compile: arguments as torch checks them; results run eagerly and equal the original."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch._dynamo import OptimizedModule
from tests.support.surface import check, quiet

PREPARE = (
    "m = torch.nn.Sequential(torch.nn.Linear(4, 2)); m.tag = 'here';"
    "kind = type('Kind', (torch.nn.Linear,), {})"
)
SAME = [
    "list(torch.compile(m).state_dict())", "torch.compile(m)._orig_mod is m",
    "type(torch.compile(m)).__name__", "torch.compile(m).tag", "torch.compile(m).training",
    "[n for n, _ in torch.compile(m).named_modules()]", "len(torch.compile(m))",
    "isinstance(torch.compile(m), torch.nn.Module)", "torch.compile(m).nothing",
    "torch.compile(m, backend='foo')", "torch.compile(m, mode='foo')", "torch.compile(m, mode=3)",
    "torch.compile(m, mode='default', options={})", "torch.compile(3)",
    "torch.compile(m, disable=True) is m", "torch.compile(kind) is kind",
    "torch.compile(lambda a: a, backend='foo')", "torch.compile(m, dynamic='x', backend='eager')",
    "(lambda c: (c.eval(), m.training, m[0].training))(torch.compile(m))[1:]",
    "(lambda c: (setattr(c, 'tag', 'there'), m.tag))(torch.compile(m))[1]",
    "torch.compile(m).load_state_dict(m.state_dict())", "m.compile(backend='foo')",
    "torch.compiler.list_backends()", "torch.compiler.is_compiling()", "torch.compiler.reset()",
    "torch.compiler.get_default_backend()", "torch.compiler.allow_in_graph(3)",
    "torch.compiler.is_exporting()", "torch.compiler.cudagraph_mark_step_begin()",
]  # fmt: skip
RUNS = [
    "torch.compile(m, backend='eager')(x)", "torch.compile(backend='eager')(lambda a: a + 1)(x)",
    "torch.compiler.disable(m)(x)", "torch.compiler.disable(lambda a: a * 2)(x)",
    "(m.compile(backend='eager'), m(x))[1]",
    "torch.compiler.set_stance('force_eager')(lambda a: a)(x)",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """PyTorch's compiler warns while it is loaded, for two seconds."""
    with quiet():
        torch.compile(torch.nn.Linear(1, 1))


@pytest.mark.parametrize("code", SAME + RUNS)
def test_compile_is_torchs(code: str) -> None:
    """Wrappers, names, values and errors."""
    check(code, PREPARE)


def test_a_compiled_module_trains_the_original() -> None:
    """Gradients arrive at the parameters of the module that was given."""
    module = ours.nn.Linear(3, 1)
    compiled = ours.compile(module, mode="reduce-overhead", fullgraph=True, dynamic=False)
    optimizer = ours.optim.SGD(compiled.parameters(), lr=0.1)
    before = module.weight.detach().clone()
    compiled(ours.ones(2, 3)).sum().backward()
    optimizer.step()
    assert not ours.equal(module.weight, before)
    again = ours.nn.Linear(3, 1)
    ours.compile(again).load_state_dict(compiled.state_dict())
    assert ours.equal(again.weight, module.weight)
    twin = copy.deepcopy(compiled)
    assert isinstance(twin, OptimizedModule) and twin._orig_mod is not module


def test_a_compiled_function_is_documented_as_before() -> None:
    """Name, documentation and signature are those of the function."""

    @ours.compile
    def twice(a: Any, *, factor: int = 2) -> Any:
        """Double."""
        return a * factor

    assert twice.__name__ == "twice" and twice.__doc__ == "Double."
    assert "factor" in inspect.signature(twice).parameters
    assert twice(ours.ones(1), factor=3).item() == 3


def test_what_needs_graphs_is_refused() -> None:
    """export() of Dynamo would give a graph of torch.fx: it does not pretend."""
    with pytest.raises(NotImplementedError, match="no graphs"):
        ours._dynamo.export(abs)


@pytest.mark.parametrize(
    "options", ["{'max_autotune': 'x'}", "{'triton.cudagraphs': 1}", "{}",
                "{'max-autotune': True, 'cpp.threads': 2}"])  # fmt: skip
def test_options_of_the_compiler_are_known_names_of_a_type(options: str) -> None:
    """A misspelt one would change nothing without a word."""
    check(f"torch.compile(lambda x: x, options={options}) is None")
    for library in (ours, torch):
        with pytest.raises(RuntimeError, match="Unexpected optimization option nope, known opt"):
            library.compile(abs, options={"nope": 1})


@pytest.mark.parametrize("call", [
    "h.scan(lambda c, x: (c + x, {'y': c * x}), t[0], t, reverse=True)",
    "h.scan(lambda c, x: (c + x['a'], c * x['b']), t[0], {'a': t, 'b': t * 2}, dim=0)",
    "h.scan(lambda c, x: (c, x), t[0], [])",
    "h.scan(3, t[0], t)",
    "h.map(lambda x, y: (x * y, x + 1), t, 3)",
    "h.map(lambda x: x, [t, t[:2]])",
    "h.map(lambda x: x, t[:0])",
    "h.map(lambda x: x, [t, 1])",
])  # fmt: skip
def test_functions_over_functions_are_torchs(call: str) -> None:
    """What runs along an axis gives torch's values, or its errors."""
    check(call, "import importlib; h = importlib.import_module(torch.__name__ + "
                "'._higher_order_ops'); t = torch.arange(6.0).reshape(3, 2)")


def test_settings_of_dynamo_are_known_names() -> None:
    """A setting is remembered; a misspelt one is an error, as in torch."""
    ours._dynamo.config.suppress_errors = True
    assert ours._dynamo.config.suppress_errors
    ours._dynamo.config.suppress_errors = False
    check("torch._dynamo.config.foo", "import importlib; importlib.import_module('torch._dynamo')")
    with pytest.raises(AttributeError, match="does not exist"):
        setattr(ours._dynamo.config, "fo" + "o", 1)


def test_switches_of_torchscript_answer_what_they_were() -> None:
    """Packages switch the executor off and restore it; the answer is the value before."""
    from mindtorch.torch import _C

    assert _C._jit_set_profiling_executor(False) is True
    assert _C._jit_set_profiling_executor(True) is False
    assert _C._get_default_device() == torch._C._get_default_device()
    assert _C._is_tracing() is torch._C._is_tracing()


METHOD = """
import functools
class Kind(torch.nn.Linear):
    @torch.compile(backend="eager")
    def forward(self, x, *, k=2): return torch.nn.functional.relu(x) * k
    @classmethod
    @torch.compile(backend="eager")
    def made(cls, x): return cls.__name__, x + 1
def plain(a, b=3): return a
plain.tag = "here"
plain = torch.compile(plain, backend="eager")
m = Kind(2, 2)
""".strip()


@pytest.mark.parametrize("code", [
    "inspect.ismethod(m.forward)", "m.forward == m.forward", "m.forward.__self__ is m",
    "str(inspect.signature(m.forward))", "m.forward.__name__", "m.forward.__func__.__wrapped__",
    "inspect.unwrap(m.forward).__name__", "m.made(3)", "plain.tag", "str(inspect.signature(plain))",
    "plain.nothing", "copy.deepcopy(m).forward(torch.ones(1)).item()", "hasattr(plain, '__code__')",
])  # fmt: skip
def test_a_compiled_method_is_bound(code: str) -> None:
    """As functions are: what looks at methods finds the object, the signature and the code."""
    results = []
    for library in (torch, ours):
        scope: dict[str, Any] = {"torch": library, "inspect": inspect, "copy": copy}
        exec(METHOD, scope)
        try:
            found = eval(code, scope)
            results.append("a function" if inspect.isfunction(found) else found)
        except AttributeError as error:
            results.append(str(error))
    assert results[0] == results[1]


def test_a_decorated_forward_is_traced() -> None:
    """By torch.fx: `self` is no argument of a bound method that has a decorator."""
    scope: dict[str, Any] = {"torch": ours}
    exec(METHOD.replace(", *, k=2", ", k=2"), scope)
    assert [n.name for n in ours.fx.symbolic_trace(scope["m"]).graph.nodes][:2] == ["x", "k"]
