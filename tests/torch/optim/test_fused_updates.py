"""Fused optimizers: a formula stands once, and the guide's example is one."""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.kernels.cpu.multi_tensor_update import group_update
from mindtorch.kernels.scalar import updates
from mindtorch.kernels.scalar.updates import add_, copy_
from mindtorch.torch.optim._fused import FusedOptimizer

ROOT = Path(__file__).parents[3]
UPDATES = [u for u in vars(updates).values() if isinstance(u, updates.Update)]


def _words(path: Path) -> set[str]:
    """Names of variables, arguments and keywords in a file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = (getattr(node, field, None) for field in ("id", "arg"))
        found |= {name for name in names if isinstance(name, str)}
    return found


def test_no_loop_knows_a_formula() -> None:
    """Loops and the engine hand settings and states on, whatever an optimizer calls them."""
    own = {name for u in UPDATES for name in (*u.settings, *u.state_names)}
    assert {"beta1", "exp_avg", "max_exp_avg_sq", "momentum_buffer", "dampening"} <= own
    loops = [ROOT / f"kernels/{device}/multi_tensor_update.py" for device in ("cpu", "cuda")]
    for file in (*loops, *(ROOT / "engine/optim").glob("*.py")):
        assert not _words(file) & own, file


@pytest.mark.parametrize("update", UPDATES, ids=lambda u: u.name)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_loop_computes_the_formula(update: updates.Update, kind: Any) -> None:
    """At each place of two tensors, of which one is at its first step."""
    random = np.random.default_rng(1)
    count = len(update.state_names)
    own = [[np.abs(random.standard_normal(n)).astype(kind) for n in (5, 9)]
           for _ in range(1 + count)]  # fmt: skip
    gradients = [random.standard_normal(n).astype(kind) for n in (5, 9)]
    settings = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "momentum": 0.9, "dampening": 0.1}
    given = [float(settings.get(name, 0.25)) for name in update.settings]
    expected: list[list[Any]] = []
    for t, step in enumerate((1.0, 3.0)):
        numbers = [kind(x) for x in update.numbers(step, *given)]
        before = zip(own[0][t], gradients[t], *[s[t] for s in own[1:]], strict=True)
        expected.append(list(zip(*[update.element(p, -g, *s, *numbers) for p, g, *s in before],
                                 strict=True)))  # fmt: skip
    addresses = [np.array([a.ctypes.data for a in row]) for row in (*own, gradients)]
    group_update(update, kind)(
        14, np.array(addresses[:-1]), addresses[-1], np.array([1.0, 3.0]), np.array([5, 9]), 1,
        *given,
    )  # fmt: skip
    exact = "adam" in update.name  # momentum's sums have products that are not rounded
    for t in range(2):
        for row, values in zip(own, expected[t], strict=True):
            np.testing.assert_allclose(row[t], values, rtol=0 if exact else 8 * np.finfo(kind).eps)


@pytest.fixture
def lion() -> Iterator[list[Any]]:
    """The classes of the guide, the one in ops and the fused one."""
    text = (ROOT / "docs/guide/add-an-optimizer.md").read_text()
    blocks = re.findall("```python\n(.*?)```", text, re.DOTALL)
    plain, formula, fused = (b for b in blocks if "def " in b)
    before = set(vars(updates))
    exec(compile(formula, "updates", "exec", dont_inherit=True), vars(updates))
    classes = []
    for number, source in enumerate((plain, fused)):
        module = types.ModuleType(f"mindtorch.torch.optim._lion_{number}")
        module.__package__ = "mindtorch.torch.optim"
        sys.modules[module.__name__] = module
        exec(source, vars(module))
        classes.append(vars(module)["Lion"])
    yield classes
    for name in set(vars(updates)) - before:
        delattr(updates, name)
        updates.OPERATIONS.pop(name, None)
    for number in range(2):
        del sys.modules[f"mindtorch.torch.optim._lion_{number}"]


def test_the_guides_optimizer_has_one_formula(lion: list[Any]) -> None:
    """In ops, by the kernel, and where the kernel takes no such tensors."""
    found = []
    for kind, gaps in ((lion[0], False), (lion[1], False), (lion[1], True)):
        random = np.random.default_rng(0)
        start = torch.tensor(random.standard_normal((6, 2)))
        p = start[:, 0] if gaps else start[:, 0].clone()
        optimizer = kind([p.requires_grad_()], lr=0.1, weight_decay=0.1)
        for _ in range(5):
            p.grad = torch.tensor(random.standard_normal(6))
            optimizer.step()
        taken = [f._own.total for f in optimizer.__dict__.get("_updates", {}).values()]
        assert taken == ([] if kind is lion[0] else [0 if gaps else 6])
        found.append([p.detach().numpy(), optimizer.state[p]["exp_avg"].numpy()])
        assert optimizer.state[p]["step"].item() == 5
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-13)


def _half(p: Any, g: Any, exp_avg: Any, rate: Any) -> Any:
    return p + rate * g, copy_(exp_avg, g)


def _half_numbers(step: float, lr: float) -> Any:
    return (-lr,)


class _Half(FusedOptimizer):
    zeros = ("exp_avg",)
    update = updates.Update(_half, _half_numbers, 1)
    given: tuple[float, ...] = (0.1,)

    def _update_of(self, group: dict[str, Any]) -> updates.Update:
        return self.update

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        return self.given


def test_what_is_wrong_with_an_update_is_said() -> None:
    """Where the loop would not compile, and where tensors would keep their values."""
    with pytest.raises(TypeError, match="a tuple of 1 where _half takes, after its states, 2: exp"):
        updates.Update(_half, _half_numbers, 0)
    with pytest.raises(TypeError, match="returns no tuple where an update returns 2: p, exp_avg"):
        updates.Update(lambda p, g, exp_avg, rate: p, _half_numbers, 1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'alpha'"):
        updates.Update(lambda p, g, rate: (add_(p, g),), _half_numbers, 0)
    p = torch.ones(3, dtype=torch.float16, requires_grad=True)
    p.grad = p.detach()
    with pytest.raises(TypeError, match="_half returns a new tensor for p"):
        _Half([p], {}).step()
    for name, value, error, text in (
        ("given", (), TypeError, "_settings returns 0 values; _half_numbers takes 1: lr"),
        ("zeros", (), KeyError, "exp_avg: _half takes this state of"),
    ):
        with pytest.raises(error, match=text):
            type("Wrong", (_Half,), {name: value})([p], {}).step()
