"""torch.compiler.set_stance, torch._dynamo.config and module.compile() do what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch import mindspore as ms
from mindtorch.engine.compile.lazy import script_mode


@pytest.fixture(autouse=True)
def default_stance() -> Iterator[None]:
    yield
    torch.compiler.set_stance("default")


def compiled() -> Any:
    return torch.compile(lambda x: x * 2)


def test_stances_steer_what_is_compiled() -> None:
    """As a call, as a block and as a decorator; results are the same throughout."""
    call, x = compiled(), torch.ones(2)
    with torch.compiler.set_stance("force_eager"):
        assert call(x).tolist() == call(x).tolist() == [2, 2] and call.traces == 0
    call(x)
    assert call.traces == 1
    torch.compiler.set_stance("eager_on_recompile")
    assert call(torch.ones(3)).tolist() == [2, 2, 2] and call.traces == 1
    torch.compiler.set_stance("default")

    @torch.compiler.set_stance("fail_on_recompile")
    def strict(x: Any) -> Any:
        return call(x)

    assert strict(x).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="Detected recompile when"):
        strict(torch.ones(3))
    assert call(torch.ones(3)).tolist() == [2, 2, 2] and call.traces == 2
    later = compiled()
    with torch.compiler.set_stance("eager_then_compile"):
        later(x)
        assert later.traces == 0
        later(x)
        assert later.traces == 1
    with pytest.raises(RuntimeError, match="invalid torch"):
        torch.compiler.set_stance("lazy")
    with pytest.raises(RuntimeError, match="cannot have force_backend"):
        torch.compiler.set_stance("force_eager", force_backend="eager")


def test_settings_of_dynamo_have_their_effect() -> None:
    """Limits, errors on a second capture, and the switch that turns compiling off."""
    config, call = torch._dynamo.config, compiled()
    with config.patch(disable=True):
        call(torch.ones(2))
        assert call.traces == 0
    call(torch.ones(2))
    with config.patch("error_on_recompile", True), pytest.raises(
        torch._dynamo.exc.RecompileError
    ):
        call(torch.ones(3))
    held = [0]
    limited = torch.compile(lambda x: x * held[0], recompile_limit=2)
    for held[0] in range(5):
        assert limited(torch.ones(1)).tolist() == [held[0]]
    assert limited.traces == 2


def test_a_module_compiled_in_place() -> None:
    """module.compile() compiles its calls, also with hooks; copies and files are not compiled."""
    net = torch.nn.Linear(2, 2)
    net.compile()
    x = torch.ones(1, 2)
    assert net(x).tolist() == net.forward(x).tolist()
    assert net._compiled_call_impl.traces == 1 and not net._compiled_call_impl.eager
    net.register_forward_hook(lambda module, given, result: result * 2)
    assert net(x).tolist() == (net.forward(x) * 2).tolist()


def test_graph_mode_of_mindspore_compiles_what_repeats() -> None:
    """Without decorators; PYNATIVE_MODE ends it."""
    x = ms.Tensor([1.0, 2.0])
    try:
        ms.set_context(mode=ms.GRAPH_MODE)
        for _ in range(4):
            found = (x * 3 + 1).asnumpy().tolist()
            assert found == [4.0, 7.0]
        tree = script_mode.trace_tree()
        assert tree is not None and tree.runs > 0
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert script_mode.trace_tree() is None


def test_a_cell_given_to_jit_is_compiled() -> None:
    """ms.jit(cell) compiles the cell in place, with its construct."""
    cell = ms.nn.Dense(2, 2)
    assert ms.jit(cell) is cell
    x = ms.Tensor([[1.0, 2.0]])
    assert cell(x).asnumpy().tolist() == cell.construct(x).asnumpy().tolist()
    assert cell._compiled_call_impl.traces == 1


def test_a_choice_and_a_loop_that_tensors_steer() -> None:
    """torch.cond and while_loop, eagerly and compiled."""
    from mindtorch.torch._higher_order_ops import while_loop

    def chosen(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x - 1, (x,))

    def repeated(x: Any) -> Any:
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), x))

    for wrap in (lambda f: f, torch.compile):
        call, loop = wrap(chosen), wrap(repeated)
        for value in (-1.0, 2.0, -3.0):
            x = torch.tensor([value])
            assert call(x).tolist() == (x.sin() if value > 0 else x - 1).tolist()
            assert [each.tolist() for each in loop(x)] == [3, [8 * value]]
    with pytest.raises(RuntimeError, match="single-element tensor"):
        torch.cond(torch.ones(2), lambda: 1, lambda: 2)
    with pytest.raises(RuntimeError, match="only consists of tensor leaves"):
        torch.cond(torch.tensor(True), lambda x: x, lambda x: x, (3,))
