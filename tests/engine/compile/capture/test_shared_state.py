"""Compiled calls that share state with the rest of the program: each is run eagerly and compiled,
and everything that can be seen afterwards must be equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.compile.jit import jit

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def index_by_mask(wrap: Wrap) -> Any:
    """The call ends where the number of elements is needed; its argument keeps its history."""
    call = wrap(lambda x: x[x > 0])
    for _ in range(3):
        x = torch.randn(5, requires_grad=True)
        y = call(x * 2)
        y.sum().backward()
        yield from (y, x.grad)


def branch_after_a_write(wrap: Wrap) -> Any:
    """The argument itself is returned, written to and tracked from then on."""
    w = torch.ones(4, requires_grad=True)

    def step(x: Any) -> Any:
        x.mul_(w)
        if x.sum() > 0:
            x.add_(1)
        return x

    call = wrap(step)
    for _ in range(3):
        x = torch.randn(4)
        assert call(x) is x
        w.grad = None
        x.sum().backward()
        yield from (x, w.grad)


def tracked_write_to_an_argument(wrap: Wrap) -> Any:
    """The argument is tracked after the call, not only the result."""
    w = torch.ones(4, requires_grad=True)
    call = wrap(lambda x: x.mul_(w) * 2)
    for _ in range(3):
        x = torch.randn(4)
        w.grad = None
        (call(x) + x).sum().backward()
        yield from (x, w.grad)


def views_as_arguments(wrap: Wrap) -> Any:
    """Memory between the elements of an argument is nobody's to write."""
    call = wrap(lambda x: x.mul_(2) + 1)
    for part in (lambda b: b[:, :2], lambda b: b[1:], lambda b: b.t()):
        for _ in range(3):
            whole = torch.randn(3, 4)
            yield from (call(part(whole)), whole)


def argument_that_is_also_found(wrap: Wrap) -> Any:
    """The same tensor as an argument and through a closure, and then another argument."""
    found = torch.ones(3)

    def step(x: Any) -> Any:
        x.mul_(2)
        return found + x

    call = wrap(step)
    for x in (found, torch.ones(3), found, torch.ones(3), found):
        yield from (call(x).clone(), found.clone())


def gradients_of_an_argument_add_up(wrap: Wrap) -> Any:
    """backward() inside, for a leaf that has a gradient from the call before."""
    call = wrap(lambda x: (x * 2).sum().backward())
    x = torch.ones(3, requires_grad=True)
    for _ in range(4):
        call(x)
        yield x.grad.clone()


def backward_goes_on_outside(wrap: Wrap) -> Any:
    """backward() inside reaches the graph that made the argument."""
    call = wrap(lambda x: (x * x).sum().backward())
    for _ in range(3):
        w = torch.randn(3, requires_grad=True)
        call(w * 2)
        yield w.grad


def array_of_a_written_tensor(wrap: Wrap) -> Any:
    """numpy() of a tensor that was made and written to inside."""

    def step(x: Any) -> Any:
        made = torch.zeros(3)
        made.add_(x)
        return made * 2 + torch.from_numpy(made.numpy().copy())

    call = wrap(step)
    for i in range(3):
        yield call(torch.full((3,), float(i)))


def state_made_at_the_first_call(wrap: Wrap) -> Any:
    """A buffer that an object gets when it is first needed."""

    class Holder:
        total: Any = None

    holder = Holder()

    def step(x: Any) -> Any:
        if holder.total is None:
            holder.total = torch.zeros(3)
        holder.total.add_(x)
        return holder.total * 2

    call = wrap(step)
    for _ in range(4):
        yield call(torch.ones(3))
    yield holder.total


def loss_scale_made_at_the_first_call(wrap: Wrap) -> Any:
    """The scale of GradScaler grows outside of the call."""
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        return w.grad.clone()

    call = wrap(step)
    for _ in range(6):
        yield call(torch.ones(3))
        scaler.step(optimizer)
        scaler.update()
        yield w.detach().clone()


def whole_step_with_loss_scale(wrap: Wrap) -> Any:
    """scale, step and update inside, and an overflow in the middle."""
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        scaler.scale((w * x).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return w.grad.clone()

    call = wrap(step)
    for i in range(6):
        x = torch.ones(3)
        x[0] = float("inf") if i == 3 else 1.0
        yield from (call(x), w.detach().clone(), torch.tensor(scaler.get_scale()))


def gradient_read_after_a_host_call(wrap: Wrap) -> Any:
    """The gradient that clipping has changed, and that of the next call."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        (w * x).sum().backward()
        torch.nn.utils.clip_grad_norm_([w], 1.0)
        optimizer.step()
        return w.grad * 2

    call = wrap(step)
    for _ in range(4):
        yield call(torch.randn(3))


def host_calls_that_write(wrap: Wrap) -> Any:
    """Into memory that the function has made of nothing, from the argument itself."""

    @host_call
    def copy(target: Any, source: Any) -> None:
        target[0].copy_(source)

    def step(x: Any) -> Any:
        made, other, third = torch.zeros(3), [torch.empty(3)], torch.zeros(3)
        copy([made], x)
        copy(other, x + 1)
        third += x
        copy([third], third * 2)
        return made * 1, other[0] * 1, third * 1, made

    call = wrap(step)
    for i in range(4):
        yield from call(torch.full((3,), float(i + 1)))


def write_before_what_is_saved(wrap: Wrap) -> Any:
    """The write is counted once: backward() after the call finds what it saved."""
    w = torch.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        x.add_(1)
        y = (w * x).sum()
        return y * 2 if y > 100 else y

    call = wrap(step)
    for _ in range(3):
        w.grad = None
        call(torch.ones(3)).backward()
        yield w.grad


def losses_as_numbers(wrap: Wrap) -> Any:
    """A list of floats that grows in the call."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    losses: list[float] = []

    def step(x: Any) -> None:
        optimizer.zero_grad()
        loss = (w * x).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    call = wrap(step)
    for _ in range(5):
        call(torch.randn(3))
    yield from (torch.tensor(losses), w)


def leaf_made_of_an_argument(wrap: Wrap) -> Any:
    """requires_grad_() on an argument, whose gradient is read."""

    def step(x: Any) -> Any:
        x.requires_grad_()
        (x * x).sum().backward()
        return x.grad

    call = wrap(step)
    for _ in range(3):
        yield call(torch.randn(3))


def errors_in_the_middle(wrap: Wrap) -> Any:
    """What was written before the error was written."""
    w = torch.zeros(3)

    def step(x: Any) -> Any:
        w.add_(1)
        return w + x

    call = wrap(step)
    for size in (3, 2, 3, 2, 3):
        try:
            yield call(torch.ones(size))
        except RuntimeError:
            yield w.clone()


def plain_objects(wrap: Wrap) -> Any:
    """Numbers in nested containers, objects, classes and arrays that change between calls."""

    class Settings:
        shift = 1.0

    class Options:
        def __init__(self) -> None:
            self.inner = {"scale": [1.0, 2.0]}
            self.array = np.ones(3, np.float32)

    options = Options()

    def step(x: Any) -> Any:
        return x * options.inner["scale"][1] + Settings.shift + torch.from_numpy(options.array)

    call = wrap(step)
    for change in (
        lambda: None, lambda: None, lambda: options.inner["scale"].__setitem__(1, 7.0),
        lambda: setattr(Settings, "shift", 5.0), lambda: options.array.__iadd__(1),
    ):  # fmt: skip
        change()
        yield call(torch.ones(3))


def other_parameters(wrap: Wrap) -> Any:
    """`functional_call` puts them in place of a module's own while the call runs."""
    layer = torch.nn.Linear(3, 2)
    call = wrap(lambda x: layer(x))

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return call(x)

    outer = Outer()
    for factor in (1.0, 1.0, 2.0, 3.0):
        given = {name: factor * each for name, each in outer.named_parameters()}
        yield torch.func.functional_call(outer, given, (torch.ones(4, 3),))


def casts_that_autocast_keeps(wrap: Wrap) -> Any:
    """An eager call in the same block has cast the weight, which the next step changes."""
    layer = torch.nn.Linear(4, 2)
    call = wrap(lambda x: layer(x))
    optimizer = torch.optim.SGD(layer.parameters(), 0.5)
    for _ in range(4):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            layer(torch.ones(1, 4))
            y = call(torch.ones(3, 4)).float()
        optimizer.zero_grad()
        y.pow(2).sum().backward()
        optimizer.step()
        yield from (y, layer.weight)


def gradients_switched_on_in_inference_mode(wrap: Wrap) -> Any:
    """Nothing is recorded there, inside of the call or around it."""
    w = torch.ones(3, requires_grad=True)

    def both(x: Any) -> Any:
        with torch.inference_mode(), torch.enable_grad():
            x = x * w
        return x, (x.clone() if torch.is_inference_mode_enabled() else x.clone() * w.detach())

    call = wrap(both)
    for mode in (False, True, False, True):
        with torch.inference_mode(mode), torch.enable_grad():
            found = call(torch.arange(3.0))
        yield from found
        yield torch.tensor([x.requires_grad for x in found])


def writes_over_what_is_read(wrap: Wrap) -> Any:
    """torch refuses them."""
    memory = torch.arange(4.0)

    def add() -> Any:
        try:
            memory[:3].add_(memory[1:])
        except RuntimeError as error:
            return torch.tensor(len(str(error)))
        return memory + 0

    call = wrap(add)
    for _ in range(3):
        yield call()


def attribute_of_a_function(wrap: Wrap) -> Any:
    """One that the function sets on itself, and reads."""

    def count(x: Any) -> Any:
        count.times = getattr(count, "times", 0) + 1  # type: ignore[attr-defined]
        return x * count.times  # type: ignore[attr-defined]

    call = wrap(count)
    for _ in range(4):
        yield call(torch.ones(2))


CASES = [
    casts_that_autocast_keeps, gradients_switched_on_in_inference_mode, writes_over_what_is_read,
    attribute_of_a_function,
    index_by_mask, branch_after_a_write, tracked_write_to_an_argument, views_as_arguments,
    argument_that_is_also_found, gradients_of_an_argument_add_up, backward_goes_on_outside,
    array_of_a_written_tensor, state_made_at_the_first_call, loss_scale_made_at_the_first_call,
    whole_step_with_loss_scale, gradient_read_after_a_host_call, host_calls_that_write,
    write_before_what_is_saved, losses_as_numbers,
    leaf_made_of_an_argument, errors_in_the_middle, plain_objects,
    other_parameters,
]  # fmt: skip


def seen(case: Callable[[Wrap], Any], wrap: Wrap) -> list[Any]:
    torch.manual_seed(0)
    return [None if x is None else x.detach().numpy().copy() for x in case(wrap)]


def replayed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled, with the function's Python code run at each call."""
    call = jit(function)
    call.eager = "asked for"
    return call


@pytest.mark.parametrize("wrap", [jit, replayed], ids=["captured", "replayed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_compiled_leaves_the_state_that_eager_leaves(
    case: Callable[[Wrap], Any], wrap: Wrap
) -> None:
    """Results, arguments, gradients and captured tensors after each of several calls."""
    expected = seen(case, lambda function: function)
    for mine, eager in zip(seen(case, wrap), expected, strict=True):
        np.testing.assert_array_equal(mine, eager)


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr", "nested"])
def test_a_tensor_that_consists_of_several_is_taken(make: str) -> None:
    """It has no memory that a capture could take as its own."""
    table = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    given: Any = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    if make != "nested":
        given = getattr(table, make)()

    def call(x: Any, scale: Any) -> Any:
        return (x.unbind()[1] if make == "nested" else torch.sparse.mm(x, table)) * scale

    compiled = torch.compile(call)
    for i in range(4):
        scale = torch.tensor(float(i))
        assert compiled(given, scale).tolist() == call(given, scale).tolist()
