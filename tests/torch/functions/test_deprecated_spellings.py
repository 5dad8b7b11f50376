"""What scripts of other people write in spellings of their own finds torch's values and text."""

from __future__ import annotations

import pytest

from tests.support.surface import assert_same, outcome

EXPRESSIONS = [
    "torch.addmm(1, torch.ones(2, 2), 2, torch.ones(2, 2), torch.ones(2, 2))",
    "torch.ones(2).add_(2, torch.ones(2)).addcmul_(.5, torch.ones(2), torch.ones(2))",
    "torch.ones(2).addcdiv_(-.5, torch.ones(2), torch.full((2,), 4.))",
    "torch.nn.CrossEntropyLoss(None, None, -100, None, 'sum', .1)(x, torch.tensor([0, 1, 2]))",
    "torch.nn.NLLLoss(None, None, 1, None, 'sum')(x, torch.tensor([0, 1, 2]))",
    "torch.nn.GroupNorm(1, 3, 1e-5, True, 'cpu', torch.float64).weight",
    "torch.nn.EmbeddingBag.from_pretrained(x, mode='sum')(torch.tensor([[0, 1]]))",
    "torch.nn.Hardtanh(min_value=-.5, max_value=.5)(x)",
    "torch.sparse.FloatTensor(torch.tensor([[0], [1]]), torch.ones(1), (2, 2)).to_dense()",
    "torch._foreach_mul([x, v], scalar=3.)", "torch._foreach_div([x, v], scalars=[1., 2.])",
    "torch._convolution(x[None, None], torch.ones(1, 1, 2, 2), None, (1, 1), (0, 0), (1, 1), "
    "False, (0, 0), 1, False, False, True, True)",
    "torch.exp(x=x)", "torch.add(x1=x, x2=x)", "torch.det(input=x[:, :3])",
    "torch.linalg.norm(x, keepdims=True)", "torch.vander(v, 3, True)",
    "torch.embedding_bag(x, torch.tensor([0, 1, 2]), torch.tensor([0, 2]))[0]",
    "torch.solve(x, x)", "torch.FloatTensor([1, 2], device='cpu')", "torch.Tensor(2.5)",
    "torch.autograd.grad((x.requires_grad_() * 2).sum(), "
    "torch.autograd.graph.get_gradient_edge(x))",
    "type((x.requires_grad_() * 2).grad_fn).__name__",
    "torch.nn.grad.conv1d_input((1, 1, 5), torch.ones(1, 1, 2), torch.ones(1, 1, 4))",
    "str(type(x)), str(torch.nn.Parameter)",
]  # fmt: skip


@pytest.mark.parametrize("code", EXPRESSIONS)
def test_an_old_or_rare_spelling_gives_what_it_gives_in_torch(code: str) -> None:
    """Values, types, or the error's text; scripts found each of them missing."""
    import torch

    import mindtorch.torch as ours

    (mine, _), (theirs, _) = outcome(ours, code), outcome(torch, code)
    assert_same(mine, theirs, 1e-6)


_SUBCLASS = """
class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})

class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__

class Watch(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        seen.append("mode " + func.__name__)
        return func(*args, **(kwargs or {}))

seen = []
a = torch.ones(2).as_subclass(Named)
kinds = [type(y).__name__ for y in (a + 1, torch.cat([a, a]), a.max(0)[0], a[0], a.numpy())]
answers = [torch.mean(Duck()), torch.add(torch.ones(1), Duck())]
with Watch():
    torch.nn.functional.relu(torch.zeros(1))
with torch.device("meta"):
    places = [torch.ones(1).device.type, torch.nn.BatchNorm1d(2).running_mean.device.type]
class Known(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        method = getattr(torch.Tensor, func.__name__, None)
        called.append((func.__name__, func is method or func == method))
        return super().__torch_function__(func, types, args, kwargs or {})

called = []
x, y = torch.ones(2, 2).as_subclass(Known), torch.ones(2, 2)
r = x + 1, 1 + x, x - 1, 1 - x, x * y, x / 2, x @ y, y @ x, x // 1, x % 2, x > 0, x == y, -x
x += 1
x *= 2
r = x.size(), x.numel(), x.stride(), len(x), x.requires_grad_(False)
print([seen, kinds, answers, places, called])
"""


def test_classes_of_tensors_answer_for_functions_as_in_torch() -> None:
    """__torch_function__ of a subclass, of another class and of a mode; in processes of their
    own, because the functions are wrapped from then on."""
    import subprocess
    import sys

    found = []
    for first in ("import torch", "import mindtorch.torch as torch"):
        code = f"{first}\nimport torch.overrides\n" if first == "import torch" else (
            f"{first}\nimport mindtorch.torch.overrides\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", code + _SUBCLASS], capture_output=True, text=True, check=True
        )
        found.append(run.stdout)
    assert found[0] == found[1]


def test_flops_of_layers_are_counted_by_module_and_op() -> None:
    """As torch counts them: forward and backward, products and convolutions."""
    import torch
    import torch.utils.flop_counter

    import mindtorch.torch as ours

    found = []
    for namespace in (torch, ours):
        nn = namespace.nn
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 5))
        with namespace.utils.flop_counter.FlopCounterMode(display=False) as counter:
            model(namespace.ones(2, 3, 8, 8)).sum().backward()
        counts = counter.get_flop_counts()
        found.append({k: {str(op): n for op, n in v.items()} for k, v in counts.items()})
    assert found[0] == found[1]
