"""PyTorch's own tables of modules and optimizers: what passes stays passing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_modules")

from torch.testing._internal.common_modules import module_db  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

from tests.support import parity_modules, parity_optimizers  # noqa: E402

MOST = 6


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """torch's small products wait for its threads where the machine has other work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def name_of(info: Any) -> str:
    return str(info.name).removeprefix("nn.")


@pytest.mark.parametrize("info", module_db, ids=name_of)
def test_a_module_is_torchs(info: Any) -> None:
    """repr, state, initial values, results, gradients and errors in some of the cases.

    `python -m tests.support.parity_modules` runs all cases, in double precision too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(parity_modules.check_module(info, torch.float32, MOST))
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize("info", optim_db, ids=name_of)
def test_an_optimizer_is_torchs(info: Any) -> None:
    """Ten steps of every configuration, checkpoints both ways in the middle, errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(parity_optimizers.check(info))
    assert not found, "\n".join(map(str, found))
