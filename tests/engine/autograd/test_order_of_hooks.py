"""What scripts see of the order of gradients, of processes they start, and of changed fx graphs."""

import gc
import io
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from mindtorch import torch as ours
from mindtorch.mindspore.ops import assign


def order_of_hooks(torch: Any) -> list[str]:
    """The hooks of all leaves in the order in which two backward passes call them."""
    nn = torch.nn
    model = nn.ModuleDict({
        "conv": nn.Conv2d(1, 2, 3), "norm": nn.BatchNorm2d(2), "first": nn.Linear(8, 4),
        "scale": nn.LayerNorm(4), "twice": nn.Linear(4, 4), "unused": nn.Linear(1, 1),
        "words": nn.Embedding(5, 4),
    })  # fmt: skip
    seen: list[str] = []
    for name, p in model.named_parameters():
        p.register_hook(lambda g, name=name: seen.append(name))
        p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(f"{name} done"))
    for _ in range(2):
        x = model["norm"](model["conv"](torch.randn(2, 1, 4, 4))).flatten(1)
        x = model["twice"](model["twice"](model["scale"](model["first"](x)))).detach_()
        y = model["twice"](model["scale"](model["first"](torch.randn(2, 8))))
        image = model["norm"](model["conv"](torch.randn(2, 1, 4, 4))).sum()
        (x * y * model["words"](torch.tensor([1, 2]))).sum().add(image).backward()
    return seen


def test_hooks_of_leaves_run_as_soon_as_torchs_do() -> None:
    """Each when its gradient is complete: not at the end, and a bias before linear's weight."""
    torch = pytest.importorskip("torch")
    assert order_of_hooks(ours) == order_of_hooks(torch)


def test_a_transformer_may_call_functions_on_proxies() -> None:
    """The idiom of fx's documentation: sigmoid(x).neg() becomes neg(x).sigmoid()."""

    class Swap(ours.fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target == ours.sigmoid:
                return ours.neg(*args, **kwargs)
            return super().call_function(target, args, kwargs)

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target == "neg":
                return args[0].sigmoid()
            return super().call_method(target, args, kwargs)

    swapped = Swap(ours.fx.symbolic_trace(lambda x: ours.sigmoid(x).neg())).transform()
    x = ours.randn(3)
    assert ours.equal(swapped(x), (-x).sigmoid()) and "torch.neg(x)" in swapped.code


SCRIPT = """
import torch
import torch.multiprocessing as mp

def add(model):
    with torch.no_grad():
        model.weight += 1
    print(torch.nn.Linear.__module__, flush=True)

if __name__ == "__main__":
    model = torch.nn.Linear(2, 2)
    before = model.weight.detach().clone()
    model.share_memory()
    child = mp.get_context("spawn").Process(target=add, args=(model,))
    child.start()
    child.join()
    print(child.exitcode, torch.equal(model.weight, before + 1))
    x = torch.zeros(1, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        try:
            (x.sqrt() * 0).sum().backward()
        except RuntimeError as error:
            print(error)
"""


def test_spawned_processes_of_a_compiled_script_share_its_memory(tmp_path: Path) -> None:
    """They have the same torch, the parameters' present values, and write where all see it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mindtorch", "run", "--graph", str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "torch.nn.modules.linear", "0 True",
        "Function 'SqrtBackward0' returned nan values in its 0th output.",
    ], done.stderr  # fmt: skip


def test_a_tensors_dictionary_holds_what_users_have_set() -> None:
    """Libraries make parameters from others' by `Parameter(x, **old.__dict__)`."""
    for torch in (ours, pytest.importorskip("torch")):
        old = torch.nn.Parameter(torch.ones(3))
        (old * old).sum().backward()
        assert vars(old) == {}
        old.tag = 1
        new = torch.nn.Parameter(old[:2].detach())
        new.__dict__.update(old.__dict__)
        assert (new.tag, vars(new)) == (1, {"tag": 1})
        assert new.__dict__.pop("tag") == 1 and not hasattr(new, "tag")
        new.__dict__ = {"other": 2}
        assert new.other == 2 and new.tolist() == [1, 1] and old.grad.tolist() == [2, 2, 2]


def test_modules_as_functions_in_functorchs_spelling() -> None:
    """make_functional: the module's values, gradients of its parameters, ensembles."""
    from mindtorch.torch._compat import functorch as functorch

    models = [ours.nn.Linear(3, 2) for _ in range(2)]
    x = ours.randn(4, 3)
    function, parameters = functorch.make_functional(models[0])
    assert ours.equal(function(parameters, x), models[0](x))
    gradient = functorch.grad(lambda p: function(p, x).sum())(parameters)
    ours.testing.assert_close(gradient[0], x.sum(0).expand(2, 3))
    one, stacked, buffers = functorch.combine_state_for_ensemble(models)
    together = functorch.vmap(one, in_dims=(0, 0, None))(stacked, buffers, x)
    ours.testing.assert_close(together, ours.stack([m(x).detach() for m in models]))
    with pytest.raises(RuntimeError, match="make_functional_with_buffers"):
        functorch.make_functional(ours.nn.BatchNorm1d(3))


class Cube(ours.autograd.Function):
    """x**3, which saves what it was given."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        ctx.left = Left()
        Left.last = weakref.ref(ctx.left)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class Left:
    """What a function leaves in its context."""

    last: Any = None


@pytest.mark.parametrize("function", [lambda x: x**3, Cube.apply])
def test_packed_tensors_come_back_with_their_place_on_the_tape(function: Any) -> None:
    """Also where a hook kept an array alone: second derivatives reach the leaf; numbers of the
    call are no saved tensors."""
    packed = []

    def pack(tensor: Any) -> Any:
        packed.append(ours.is_grad_enabled())
        return tensor.numpy()

    with ours.autograd.graph.saved_tensors_hooks(pack, ours.from_numpy):
        x = ours.tensor([2.0, 3.0], requires_grad=True)
        y = function(x)
    (first,) = ours.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = ours.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist(), packed) == ([12.0, 27.0], [12.0, 18.0], [False])
    with ours.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 7):
        y = function(x)
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of"):
        y.sum().backward()


def test_what_a_function_leaves_in_its_context_is_gone_with_the_graph() -> None:
    """Without Python's collector of cycles, which would run late for large tensors."""
    x = ours.tensor([2.0], requires_grad=True)
    gc.disable()
    try:
        y = Cube.apply(x)
        assert Left.last() is not None
        del y
        assert Left.last() is None
    finally:
        gc.enable()


def test_step_hooks_are_given_the_steps_arguments_and_files_plain_rates() -> None:
    """The optimizer is the first argument; a rate is a plain number wherever it is saved."""
    weight = ours.nn.Parameter(ours.ones(2))
    optimizer = ours.optim.SGD([weight], lr=0.5)
    seen: list[Any] = []
    optimizer.register_step_pre_hook(lambda *given: seen.append(given))
    optimizer.register_step_post_hook(lambda *given: seen.append(given))
    schedule = ours.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    assert seen == [(optimizer, (optimizer,), {})] * 2
    file = io.BytesIO()
    ours.save({"rates": [optimizer.param_groups[0]["lr"]]}, file)
    file.seek(0)
    found = ours.load(file, weights_only=True)["rates"]
    assert found == [0.5] and type(found[0]) is float
    schedule.step()
    assign(optimizer.param_groups[0]["lr"], 0.75)
    assert optimizer.param_groups[0]["lr"] == 0.75


def test_a_write_to_a_view_leaves_the_views_hooks_behind() -> None:
    """The write derives from the base, so that a hook of before is not called; one of after is."""
    x = ours.ones(3, requires_grad=True)
    view = (x * 2).view(3, 1)
    seen: list[str] = []
    view.register_hook(lambda g: seen.append("before"))
    view.mul_(3)
    view.register_hook(lambda g: seen.append("after"))
    view.sum().backward()
    assert (seen, x.grad.tolist()) == (["after"], [6.0] * 3)
