"""inference_mode: what is made in it is marked, and torch's errors keep it out of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import mindtorch.torch as ours


def in_both(program: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What a program gives, or how it fails, in torch and here."""
    found = []
    for library in (real, ours):
        try:
            found.append(program(library))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found[0], found[1]


def made(library: Any) -> dict[str, Any]:
    """Tensors of many origins, made in the mode."""
    normal = library.ones(3)
    leaf = library.ones(3, requires_grad=True)
    with library.inference_mode():
        new = library.arange(3.0)
        return {
            "normal": normal, "leaf": leaf, "new": new, "literal": library.tensor([1.0, 2.0]),
            "result": leaf * 2, "clone": normal.clone(), "largest": normal.view(1, 3).max(1)[0],
            "view": normal[:2], "detached": normal.detach(), "view of new": new[:2],
            "same": normal.to(library.float32), "sum": normal.sum(), "places": new.argsort(),
            "random": library.rand(2), "layer": library.nn.Linear(2, 2).weight,
            "parts": normal.split(1)[0],
            "recorded again": library.enable_grad()(lambda: leaf * 2)(),
            "outside": library.inference_mode(False)(lambda: leaf * 2)(),
        }  # fmt: skip


def test_what_is_made_in_the_mode_is_marked() -> None:
    """Views of other tensors are not, nor what inference_mode(False) made."""
    expected, found = in_both(
        lambda t: {k: (x.is_inference(), x.requires_grad) for k, x in made(t).items()}
    )
    assert found == expected
    assert found["new"] == (True, False)
    assert found["view"] == (False, False)


REFUSED = {
    "add_": lambda t, x, w: x.add_(1),
    "a view's mul_": lambda t, x, w: x[:1].mul_(2),
    "item assignment": lambda t, x, w: x.__setitem__(0, 3.0),
    "copy_": lambda t, x, w: x.copy_(t.ones(3)),
    "zero_ under no_grad": lambda t, x, w: t.no_grad()(lambda: x.zero_())(),
    "out": lambda t, x, w: t.add(w.detach(), 1, out=x),
    "normal_": lambda t, x, w: x.normal_(),
    "unsqueeze_": lambda t, x, w: x.unsqueeze_(0),
    "resize_": lambda t, x, w: x.resize_(2),
    "a product": lambda t, x, w: w * x,
    "linear": lambda t, x, w: t.nn.functional.linear(x, w[None]),
    "an index": lambda t, x, w: w[x.argsort()] * x,
    "a Function": lambda t, x, w: _Function(t).apply(w, x),
    "requires_grad_": lambda t, x, w: x.requires_grad_(),
    "Parameter": lambda t, x, w: t.nn.Parameter(x),
}


def _Function(library: Any) -> Any:  # noqa: N802
    class Keeps(library.autograd.Function):
        @staticmethod
        def forward(ctx: Any, w: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return w * 2

    return Keeps


@pytest.mark.parametrize("name", REFUSED)
def test_outside_it_is_neither_written_to_nor_kept_for_a_derivative(name: str) -> None:
    """torch's error; our elements stay as they were."""

    def program(library: Any) -> Any:
        parts = made(library)
        try:
            REFUSED[name](library, parts["new"], parts["leaf"])
        except RuntimeError as error:
            return str(error), parts["new"].tolist()
        return None

    expected, found = in_both(program)
    assert found == (expected[0], [0.0, 1.0, 2.0])


def test_what_needs_nothing_kept_goes_on() -> None:
    """Sums, copies, writes inside the mode, and func.grad inside and outside."""

    def program(library: Any) -> Any:
        parts = made(library)
        x, w = parts["new"], parts["leaf"]
        (x + w).sum().backward()
        copy = x.clone()
        copy.add_(1)
        square = library.func.grad(lambda v: (v * v).sum())
        with library.inference_mode():
            x.add_(1)
            parts["normal"].mul_(2)
            inside = square(library.ones(2)), square(x)
        kinds = copy.is_inference(), (x + 1).is_inference(), x.reshape(3, 1).is_inference()
        values = w.grad, copy, x, parts["normal"], *inside, square(x)
        return [v.tolist() for v in values], kinds, parts["normal"]._version

    expected, found = in_both(program)
    assert found == expected


def test_numbers_first_met_in_the_mode_serve_outside_of_it() -> None:
    """The 0-d tensors of Python numbers are kept between calls."""
    number = 0.7310585786300049
    with ours.inference_mode():
        ours.ones(2) * number
    w = ours.ones(2, requires_grad=True)
    (w * number).sum().backward()
    assert w.grad.tolist() == ours.full((2,), number).tolist()


def test_grad_mode_is_set_by_the_mode_and_restored() -> None:
    """inference_mode(False) records even inside of no_grad."""

    def program(library: Any) -> Any:
        found = []
        with library.no_grad(), library.inference_mode(False):
            found.append(library.is_grad_enabled())
        with library.inference_mode():
            found += [library.is_grad_enabled(), library.is_inference_mode_enabled()]
            with library.inference_mode(False):
                w = library.ones(2, requires_grad=True)
                (w * w).sum().backward()
                found += [library.is_inference_mode_enabled(), w.grad.tolist()]
        return [*found, library.is_grad_enabled(), library.is_inference_mode_enabled()]

    expected, found = in_both(program)
    assert found == expected
