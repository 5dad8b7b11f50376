"""Compiled calls with changing sizes: traced twice, bound for each size, with eager numbers."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.dynamic_shapes.shape_families import MOST_BOUND
from mindtorch.kernels.codegen.compile_lock import Compiling
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as F

SIZES = (5, 9, 12, 7, 31, 64, 9, 11, 40)
Case = tuple[nn.Module, Callable[[int], Any], Callable[..., Any]]


def _batches(*shape: Any) -> Callable[[int], Any]:
    return lambda n: (torch.randn(*[n if s is None else s for s in shape]),)


def _mlp() -> Case:
    m = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.GELU(), nn.Linear(8, 2))
    return m, _batches(None, 6), lambda x: m(x).pow(2).sum() / x.size(0)


def _lstm() -> Case:
    m = nn.LSTM(6, 8, 2, batch_first=True, dropout=0.2)

    def call(x: Any) -> Any:
        state = torch.zeros(2, x.size(0), 8)
        return m(x, (state, state))[0][:, -1].sum() / x.shape[1]

    return m, _batches(3, None, 6), call


def _gru() -> Case:
    m = nn.GRU(6, 8)
    return m, _batches(4, None, 6), lambda x: m(x)[0].mean()


def _attention() -> Case:
    m = nn.Linear(8, 24)
    places = nn.Parameter(torch.randn(128, 8))
    m.places = places

    def call(x: Any) -> Any:
        batch, length, width = x.shape
        parts = m(x + places[:length]).split(width, dim=2)
        q, k, v = (t.view(batch, length, 2, width // 2).transpose(1, 2) for t in parts)
        scores = q @ k.transpose(-2, -1) * (1 / k.size(-1) ** 0.5)
        seen = torch.tril(torch.ones(length, length)) == 0
        scores = F.dropout(F.softmax(scores.masked_fill(seen, float("-inf")), -1), 0.1)
        mixed = (scores @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return mixed.pow(2).sum() / (batch * length)

    return m, _batches(2, None, 8), call


def _places() -> Case:
    m = nn.Embedding(200, 6)

    def call(i: Any) -> Any:
        places = torch.arange(i.size(1)).unsqueeze(0).expand(i.size(0), -1)
        rows = torch.cat([m(i), m(places)], 1)
        return F.cross_entropy(rows[:, 1:].reshape(-1, 6), rows[:, :-1].argmax(-1).view(-1))

    return m, lambda n: (torch.randint(0, 200, (2, n)),), call


def _images() -> Case:
    m = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.MaxPool2d(2))

    def call(x: Any) -> Any:
        y = F.interpolate(m(x), size=(x.size(2), x.size(3)), mode="bilinear")
        pooled = F.adaptive_avg_pool2d(F.pad(y, (1, x.size(3) // 2)), 1)
        return pooled.flatten(1).sum()

    return m, lambda n: (torch.randn(2, 1, n + 2, n + 3),), call


def _draws() -> Case:
    m = nn.Linear(4, 4)

    def call(x: Any) -> Any:
        noise = torch.randn(x.size(0), 4) + torch.rand_like(x)
        y = torch.zeros(x.size(0), 4)
        y[:, :2] = m(x)[torch.randperm(x.size(0)), 2:]
        y[-1] += 1
        return (y * noise).view(x.size(0), -1).sum()

    return m, _batches(None, 4), call


def _steps() -> Case:
    m = nn.Linear(4, 4)

    def call(x: Any) -> Any:
        state = x.new_zeros(x.size(0), 4)
        for t in range(x.size(1)):
            state = torch.tanh(m(state) + x[:, t])
        return state.norm() + F.mse_loss(state, x[:, 0])

    return m, _batches(None, 3, 4), call


CASES = {
    f.__name__[1:]: f for f in (_mlp, _lstm, _gru, _attention, _places, _images, _draws, _steps)
}


def _losses(case: Callable[[], Case], wrap: Any, whole: bool) -> tuple[list[float], Any]:
    torch.manual_seed(0)
    module, batch, call = case()
    parameters = list(module.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-2)
    forward = call if whole else wrap(call)

    def step(*given: Any) -> Any:
        optimizer.zero_grad()
        loss = forward(*given)
        loss.backward()
        optimizer.step()
        return loss

    run = wrap(step) if whole else step
    found = [run(*batch(n)).item() for n in SIZES]
    found += [p.detach().double().sum().item() for p in parameters]
    return [*found, torch.rand(1).item()], run if whole else forward


@pytest.mark.parametrize(
    ("name", "whole"),
    [(name, name in ("lstm", "attention", "places", "draws")) for name in CASES],
)
def test_a_size_that_changes_is_traced_twice(name: str, whole: bool) -> None:
    """Losses, parameters and random stream are those of eager execution, to the bit."""
    eager, _ = _losses(CASES[name], lambda f: f, whole)
    ours, compiled = _losses(CASES[name], torch.compile, whole)
    assert ours == eager
    assert compiled.traces == 2 and not compiled.eager and not compiled.misses


def test_no_kernel_is_compiled_for_a_further_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code does not depend on sizes."""
    _module, batch, call = _attention()
    compiled = torch.compile(lambda x: call(x).backward())
    for n in (20, 33):
        compiled(*batch(n))
    missed: list[Any] = []
    monkeypatch.setattr(Compiling, "begins", lambda: missed.append(1))
    for n in range(34, 64):
        compiled(*batch(n))
    assert not missed and compiled.traces == 2


def test_what_a_size_steers_is_traced_again() -> None:
    """Comparisons of sizes are conditions; a size used as a number is captured by itself."""

    def call(x: Any) -> Any:
        y = x * 2 if x.size(0) > 10 else x
        return y + 1 if x.size(0) % 2 else y

    def count(x: Any) -> Any:
        return sum([x[i] for i in range(x.size(0))])

    compiled, counted = torch.compile(call), torch.compile(count)
    for n in (4, 6, 20, 21, 22, 5, 7, 8, 23, 40, 41, 9):
        assert torch.equal(compiled(torch.ones(n)), call(torch.ones(n)))
        assert counted(torch.ones(n)).item() == n
    assert compiled.traces <= 6
    assert any("is used as the number 6" in each for each in counted.dynamic_shapes.notes())
    sizes = {5: 0.5, 6: 0.25}
    looked = torch.compile(lambda x: x * sizes.get(x.size(0), 2.0) + len(str(x.numel())))
    for n in (7, 8, 5, 6, 11):
        assert looked(torch.ones(n))[0].item() == sizes.get(n, 2.0) + len(str(n))


def test_sizes_are_python_ints_to_the_body() -> None:
    """What Python code asks of a length has the answer of an int; what is returned is one."""

    def call(x: Any) -> Any:
        n = x.size(0)
        asked = (isinstance(n, int), n.bit_length(), divmod(n, 3), -n, n // 2 * 2.5, [0] * n)
        return x, n, x.shape, n / 2, copy.copy(n), asked

    compiled: Any = torch.compile(call)
    for n in (4, 6, 9):
        _, length, shape, half, copied, asked = compiled(torch.ones(n))
        assert type(length) is type(copied) is int and shape == (n,) and type(shape[0]) is int
        assert half == n / 2 and type(half) is float
        assert asked == (True, n.bit_length(), divmod(n, 3), -n, n // 2 * 2.5, [0] * n)
        assert type(asked[3]) is int


def test_what_is_stored_of_a_size_is_an_int() -> None:
    """Lists, dictionaries and attributes that a call changes hold plain numbers afterwards."""
    kept: list[Any] = []
    masks: dict[Any, Any] = {}
    holder = nn.Linear(2, 2)

    def keep(x: Any) -> Any:
        n = x.size(0)
        if n > 5:
            kept.append(n)
            masks[n] = n * 2
            holder.last, holder.shape = n, x.shape
        return x.sum() + json.loads(str(n)) + np.sqrt(n) * 0

    compiled: Any = torch.compile(keep)
    assert [compiled(torch.ones(n)).item() for n in (4, 6, 9)] == [8, 12, 18]
    stored = [*kept, *masks, *masks.values(), holder.last, *holder.shape]
    assert stored == [6, 9, 6, 9, 12, 18, 9, 9] and {type(each) for each in stored} == {int}


def test_c_code_that_takes_ints_alone_is_traced_for_its_size() -> None:
    """The call is traced again with plain numbers, and raises nothing."""
    compiled: Any = torch.compile(lambda x: x * float(json.dumps(x.size(0))) + np.sqrt(x.numel()))
    for n in (4, 9, 16):
        assert compiled(torch.ones(n)).tolist() == [n + n**0.5] * n


def test_dynamic_and_marked_lengths() -> None:
    """``dynamic=True`` and ``mark_dynamic`` make axes symbolic that have not changed yet, ``False``
    and ``mark_static`` none."""
    traces = {}
    for dynamic in (True, False, None):
        compiled: Any = torch.compile(lambda x: x * 2, dynamic=dynamic)
        for n, m in ((4, 3), (6, 3), (6, 7), (6, 9)):
            assert compiled(torch.ones(n, m)).sum() == 2 * n * m
        traces[dynamic] = compiled.traces, len(compiled.dynamic_shapes.notes())
    assert traces == {True: (2, 2), False: (2, 0), None: (3, 3)}
    marked: Any = torch.compile(lambda x: x.sum(1))
    for n in (4, 6, 8):
        x = torch.ones(n, n)
        torch._dynamo.mark_dynamic(x, 0)
        torch._dynamo.mark_static(x, 1)
        assert marked(x).tolist() == [n] * n
    assert "axis 1 of tensor 0 may be of any size" not in marked.dynamic_shapes.notes()
    assert "axis 0 of tensor 0 may be of any size" in marked.dynamic_shapes.notes()


def test_few_sizes_are_kept_bound() -> None:
    """The one not used lately goes, its memory is shared, and numbers stay right."""
    compiled: Any = torch.compile(lambda x: (x.exp() + x.sum()).log())
    for n in range(2, 2 * MOST_BOUND):
        x = torch.arange(float(n))
        assert torch.equal(compiled(x), (x.exp() + x.sum()).log())
    assert compiled.traces == 2
    assert len(compiled.dynamic_shapes.bound) <= MOST_BOUND + 1
    assert sum(map(len, compiled.compiled.values())) <= MOST_BOUND + 3


def test_gradients_of_arguments_and_results_that_are_kept() -> None:
    """Results of one size outlive calls with others; gradients reach what was given."""
    compiled: Any = torch.compile(lambda x, w: (torch.tanh(x @ w), x.mean(0)))
    kept, expected = [], []
    w = torch.randn(4, 3, requires_grad=True)
    for n in (3, 5, 7, 9, 5, 11):
        x = torch.randn(n, 4, requires_grad=True)
        y, mean = compiled(x, w)
        (y.sum() + mean.sum()).backward()
        z = x.detach().requires_grad_()
        (torch.tanh(z @ w.detach()).sum() + z.mean(0).sum()).backward()
        assert torch.equal(x.grad, z.grad)
        kept.append(y)
        expected.append(torch.tanh(z @ w).detach())
    assert all(torch.equal(a, b) for a, b in zip(kept, expected, strict=True))
    assert compiled.traces == 2


def test_an_error_at_another_size_is_the_eager_one() -> None:
    """Shapes that do not fit raise what eager code raises, and the next call works."""
    w = torch.ones(6, 2)
    compiled: Any = torch.compile(lambda x: x.view(-1, 6) @ w)
    for n in (6, 12, 18):
        assert compiled(torch.ones(n)).shape == (n // 6, 2)
    with pytest.raises(RuntimeError, match=r"shape '\[-1, 6\]' is invalid for input of size 13"):
        compiled(torch.ones(13))
    assert compiled(torch.ones(24)).shape == (4, 2)


def test_a_cache_that_grows_and_the_place_in_it() -> None:
    """Ints among the arguments that change are sizes, too."""
    torch.manual_seed(0)
    projection = nn.Linear(4, 12)
    table = torch.randn(64, 4)

    def attend(x: Any, keys: Any, values: Any, place: int) -> Any:
        q, k, v = projection(x + table[place : place + x.size(1)]).chunk(3, -1)
        keys, values = torch.cat([keys, k], 1), torch.cat([values, v], 1)
        return torch.softmax(q @ keys.mT / place, -1) @ values, keys, values

    compiled: Any = torch.compile(attend)
    found = []
    for call in (attend, compiled):
        x, keys, values = torch.ones(2, 1, 4), torch.ones(2, 3, 4), torch.ones(2, 3, 4)
        for place in range(3, 20):
            with torch.no_grad():
                x, keys, values = call(x, keys, values, place)
        found.append((x, keys))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert compiled.traces == 2


def test_second_derivatives_use_the_numbers_of_their_call() -> None:
    """A call that is made again for its history is made with its own arguments."""
    compiled: Any = torch.compile(lambda x, n: (x**3).sum() * n / x.size(0))
    for size, n in ((2, 3), (4, 5), (6, 7), (8, 9)):
        x = torch.full((size,), 2.0, requires_grad=True)
        (slope,) = torch.autograd.grad(compiled(x, n), x, create_graph=True)
        (bend,) = torch.autograd.grad(slope.sum(), x)
        assert bend.tolist() == pytest.approx([12.0 * n / size] * size)
    assert compiled.traces == 2
