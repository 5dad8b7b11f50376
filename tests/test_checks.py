"""torch._assert and torch._check, which packages state their conditions with."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_assert", (0, "no")),
        ("_check", (False, lambda: "no")),
        ("_check", (False,)),
        ("_check", (1,)),
        ("_check", (False, "text")),
        ("_check_index", (False, lambda: 3)),
        ("_check_value", (False, lambda: "no")),
        ("_check_type", (False, lambda: "no")),
    ],
)
def test_broken_conditions_raise_as_torch_does(name: str, arguments: tuple[Any, ...]) -> None:
    """The kind of exception and its text are what callers catch and show."""
    with pytest.raises(Exception) as expected:
        getattr(torch, name)(*arguments)
    with pytest.raises(type(expected.value)) as found:
        getattr(ours, name)(*arguments)
    assert str(found.value) == str(expected.value)


def test_conditions_that_hold_say_nothing() -> None:
    """A message is not even made."""
    ours._assert(ours.ones(1), "unused")
    ours._check(True, lambda: pytest.fail("the message was made"))


def test_tensors_are_no_conditions_of_check() -> None:
    """A comparison of tensors has its own check in torch."""
    with pytest.raises(TypeError, match="cond must be a bool, but got a Tensor"):
        ours._check(ours.ones(1) > 0)


def test_the_argument_of_tensor_split_has_three_names() -> None:
    """torchvision's video transformers write `indices=`."""
    for side in (torch, ours):
        x: Any = side.arange(5)
        assert [each.tolist() for each in x.tensor_split(indices=(1,))] == [[0], [1, 2, 3, 4]]
        assert [each.tolist() for each in side.tensor_split(x, sections=2)] == [[0, 1, 2], [3, 4]]
        with pytest.raises(TypeError):
            side.tensor_split(x)


def test_dirichlet_samples_are_torchs() -> None:
    """AugMix mixes images by them."""
    for side in (torch, ours):
        side.manual_seed(3)
    concentration = [[1.0, 2.0, 3.0], [0.5, 0.5, 0.1]]
    expected = torch._sample_dirichlet(torch.tensor(concentration))
    assert torch.equal(
        torch.tensor(ours._sample_dirichlet(ours.tensor(concentration)).tolist()), expected
    )
    generators = [side.Generator().manual_seed(5) for side in (torch, ours)]
    pair = [
        side._sample_dirichlet(side.ones(2), generator).tolist()
        for side, generator in zip((torch, ours), generators, strict=True)
    ]
    assert pair[0] == pair[1]
