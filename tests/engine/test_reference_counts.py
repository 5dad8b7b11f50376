"""Memory is used again exactly where nobody else holds it: each row of the table in
``engine/reference_counts.py``; compiled calls are in ``test_compiled_backward.py``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.numpy_aliases import may_be_seen
from mindtorch.engine.reference_counts import holders


class Slot:
    """Something that refers to one object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def of_argument(value: Any) -> int:
    """The count in a function that was given the object."""
    return holders(value)


# in functions of their own: an assert statement of pytest's holds what it compares
def of_variables() -> list[int]:
    thing = object()
    found = [holders(thing)]
    other = thing
    found += [holders(thing), holders(other)]
    del other
    found.append(holders(thing))
    return found


def of_slots_and_containers() -> list[int]:
    slot = Slot(object())
    found = [holders(slot.value)]
    several = [slot.value, slot.value]
    found.append(holders(slot.value))
    several.pop()
    found.append(holders(several[0]))
    return found


def of_what_is_passed() -> list[int]:
    thing = object()
    return [of_argument(thing), of_argument(object()), of_argument([thing][0]), holders(thing)]


def test_variables_slots_and_containers_are_counted() -> None:
    """Each once, and the call that counts not at all."""
    assert of_variables() == [1, 2, 2, 1]
    assert of_slots_and_containers() == [1, 3, 2]


def test_the_caller_of_a_function_holds_what_it_passes() -> None:
    """A variable is held by it and by the parameter; what is in none by the parameter alone."""
    assert of_what_is_passed() == [2, 1, 2, 1]


def test_a_count_inside_of_another_call_has_that_calls_argument() -> None:
    """Why the count of a gradient stands in a statement of its own."""
    thing = object()
    pairs: list[Any] = []
    pairs.append((thing, holders(thing)))
    assert pairs[0][1] == 2


def passed_on(make: Callable[[Any], Any], hold: Callable[[Any], Any]) -> tuple[Any, list[int]]:
    """A leaf after a backward pass, and where the gradient was that arrived at it; ``hold`` is
    what a hook keeps of that gradient."""
    leaf = torch.ones(6, requires_grad=True)
    places: list[int] = []
    held: list[Any] = []

    def look(gradient: Any) -> None:
        places.append(gradient.data_ptr())
        held.append(hold(gradient))

    leaf.register_hook(look)
    for _ in range(3):  # by the rule, while it is recorded, by the cached kernels
        leaf.grad = None
        make(leaf).backward()
    expected = held[-1] if isinstance(held[-1], torch.Tensor) else leaf.grad
    assert torch.equal(leaf.grad, expected.reshape(6))
    return leaf, places


MADE: dict[str, Callable[[Any], Any]] = {
    "a new tensor": lambda leaf: (leaf * torch.arange(6.0)).sum(),
    "a view of all of a new memory": lambda leaf: (leaf.view(2, 3) * torch.ones(2, 3)).sum(),
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_a_leaf_takes_a_gradient_that_nobody_holds(name: str) -> None:
    """``grad`` lies where the gradient was computed, and is no view."""
    leaf, places = passed_on(MADE[name], lambda gradient: None)
    assert leaf.grad.data_ptr() == places[-1]
    assert leaf.grad._base is None and leaf.grad.is_leaf


KEPT: dict[str, Callable[[Any], Any]] = {
    "the gradient": lambda g: g,
    "a view of it": lambda g: g.view(3, 2),
    "the same memory": lambda g: g.detach(),
}


@pytest.mark.parametrize("kept", sorted(KEPT))
@pytest.mark.parametrize("name", sorted(MADE))
def test_a_leaf_copies_a_gradient_that_a_hook_holds(name: str, kept: str) -> None:
    """What is written to ``grad`` later does not reach what the hook has kept."""
    leaf, places = passed_on(MADE[name], KEPT[kept])
    assert leaf.grad.data_ptr() != places[-1]


def test_a_gradient_for_two_leaves_or_of_the_user_is_not_shared() -> None:
    """The rule of an addition gives one tensor for both, which may be what the user passed."""
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    for _ in range(3):
        a.grad = b.grad = None
        given = torch.ones(3)
        (a + b).backward(given)
        assert len({a.grad.data_ptr(), b.grad.data_ptr(), given.data_ptr()}) == 3


def test_a_part_of_a_memory_is_copied() -> None:
    """Half of a memory that nobody else holds would keep all of it."""
    both = torch.arange(12.0)
    leaf = torch.ones(6, requires_grad=True)
    for _ in range(3):
        leaf.grad = None
        (torch.cat([leaf, torch.zeros(6)]) * both).sum().backward()
        assert leaf.grad.untyped_storage().nbytes() == leaf.grad.nbytes


def test_an_array_that_only_a_storage_has_is_seen_by_nobody() -> None:
    """One that somebody holds, or that somebody has a view of, may be looked at at any time."""
    tensor = torch.from_numpy(np.ones((2, 3)))
    assert not may_be_seen(tensor._shared)
    array = np.ones((2, 3))
    tensor = torch.from_numpy(array)
    assert may_be_seen(tensor._shared)
    part = array[1:]
    del array
    assert may_be_seen(tensor._shared)
    del part
    assert not may_be_seen(tensor._shared)
