"""Every optimizer of PyTorch's own table in a compiled step: bit for bit what eager steps leave."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_optimizers")

from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

import mindtorch.torch as ours  # noqa: E402
from tests.support.compiled_kinds import KINDS, arrays, first_difference, running, wrapped  # noqa: E402
from tests.support.parity_optimizers import build, types_of  # noqa: E402

pytestmark = pytest.mark.exhaustive
STEPS = 10


def trained(info: Any, case: Any, dtype: str, kind: str, closure: bool) -> list[Any]:
    """Ten steps: losses and parameters after each, the optimizer's state at the end."""
    net, optimizer = build(ours, info, case, dtype)

    def gradients() -> Any:
        optimizer.zero_grad()
        loss = net.loss()
        loss.backward()
        if info.only_supports_sparse_grads:
            for parameter in net.parameters:
                parameter.grad = parameter.grad.to_sparse()
        return loss

    def step() -> Any:
        if closure:
            return optimizer.step(gradients)
        loss = gradients()
        optimizer.step()
        return loss

    call = wrapped(kind)(step)
    found: list[Any] = []
    with running(kind):
        for _ in range(STEPS):
            found += arrays(call()) + arrays(net.parameters)
        state = optimizer.state_dict()
        return found + arrays(state["state"]) + [str(state["param_groups"])]


@pytest.mark.parametrize("closure", [False, True], ids=["plain", "closure"])
@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.name)
def test_an_optimizer_of_torchs_table_steps_compiled_as_eagerly(info: Any, closure: bool) -> None:
    """Every configuration, captured, replayed, and as a script under MINDTORCH_GRAPH."""
    differences = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, case in enumerate(info.optim_inputs_func("cpu")):
            for dtype in types_of(info):
                if info.name == "LBFGS" and not closure:
                    continue
                expected = trained(info, case, dtype, "eager", closure)
                for kind in KINDS:
                    found = trained(info, case, dtype, kind, closure)
                    text = first_difference(expected, found)
                    if text:
                        differences.append(f"{i} {case.desc} {dtype} {kind}: {text}")
    assert not differences, "\n".join(differences)
