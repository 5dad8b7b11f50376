"""Every module of PyTorch's own table trained compiled: bit for bit what eager steps leave."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.testing._internal.common_modules")

from torch.testing._internal.common_modules import module_db  # noqa: E402

import mindtorch.torch as ours  # noqa: E402
from tests.support.compiled_kinds import KINDS, arrays, first_difference, running, wrapped  # noqa: E402
from tests.support.parity_modules import SEED, ModuleCase, convert, leaves, some, weigh  # noqa: E402

pytestmark = pytest.mark.exhaustive
STEPS = 6
MOST = 8


def trained(case: ModuleCase, kind: str, whole: bool) -> list[Any]:
    """Six steps: results, gradients of inputs, then parameters and buffers.

    ``whole``: the step is one function, with backward and update; else the module alone is wrapped.
    """
    module = case.build_ours()
    wrap = wrapped(kind)
    forward = module if whole else wrap(module)

    def step(args: Any, kwargs: Any) -> Any:
        outputs = forward(*args, **kwargs)
        loss = weigh(ours, outputs)
        if loss is not None:
            loss.backward()
        with ours.no_grad():
            for parameter in module.parameters():
                if parameter.grad is not None:
                    parameter -= 0.01 * parameter.grad
                    parameter.grad = None
        return outputs

    call = wrap(step) if whole else step
    found: list[Any] = []
    ours.manual_seed(SEED)
    with running(kind):
        for _ in range(STEPS):
            args, kwargs = convert(case.call)
            found += arrays(call(args, kwargs))
            found += arrays([x.grad for x in leaves((args, kwargs)) if x.is_leaf])
            found += arrays(list(module.parameters())) + arrays(list(module.buffers()))
    return found


def attempted(case: ModuleCase, kind: str, whole: bool) -> Any:
    """What the steps leave, or the error that they raise."""
    try:
        return trained(case, kind, whole)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def compared(case: ModuleCase) -> list[str]:
    """How each way of running differs from eager steps."""
    found = []
    for whole in (False, True):
        expected = attempted(case, "eager", whole)
        for kind in KINDS:
            if kind == "script" and whole:
                continue
            result = attempted(case, kind, whole)
            if isinstance(expected, str) or isinstance(result, str):
                text = "" if type(expected) is type(result) and expected == result else (
                    f"{result if isinstance(result, str) else 'no error'}; eager "
                    f"{expected if isinstance(expected, str) else 'no error'}"
                )
            else:
                text = first_difference(expected, result)
            if text:
                found.append(f"{kind} {'step' if whole else 'forward'}: {text}")
    return found


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.name.removeprefix("nn."))
def test_a_module_of_torchs_table_trains_compiled_as_eagerly(info: Any) -> None:
    """Captured (the module, the whole step), replayed, and as a script under MINDTORCH_GRAPH."""
    differences = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for training in (True, False) if info.train_and_eval_differ else (True,):
            torch.manual_seed(SEED)
            cases = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
            for i, given in some(cases, MOST):
                case = ModuleCase(info, given, training, torch.float32)
                if case.call is not None:
                    label = f"{i} {given.desc} {'train' if training else 'eval'}"
                    differences += [f"{label}: {text}" for text in compared(case)]
    assert not differences, "\n".join(differences)
