"""Where a program stops, what it shows there, and that looking changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch import mindspore
from mindtorch.engine.dispatch import state
from mindtorch.engine.settings import policy
from mindtorch.mindspore import nn as ms_nn
from mindtorch.tools.debugger.attach import attach, debug
from mindtorch.tools.debugger.session import Debugger, TerminatedError
from mindtorch.torch import nn
from tests.support.paths import ROOT

from .nets import Net, Script, train


def go(do: str, **arguments: Any) -> dict[str, Any]:
    return {"do": do, **arguments}


def net() -> Net:
    torch.manual_seed(0)
    return Net()


def run(script: Script, *watchpoints: str, level: str = "modules", steps: int = 3) -> list[float]:
    with attach(script, level, watchpoints):
        return train(net(), steps)


def test_stops_at_start_at_steps_and_at_nodes() -> None:
    script = Script([go("step")], [go("node", pattern="mid*")], [go("step", count=2)])
    run(script, steps=4)
    assert script.reasons == ["start", "step", "node", "step"]
    assert [x["step"] for x in script.stops] == [1, 1, 2, 3]
    assert script.stops[2]["node"] == "middle"
    assert script.stops[2]["source"] == "return self.last(self.middle(self.first(x)))"
    assert script.stops[0]["source"] == "loss = F.mse_loss(model(given), target) * scale"


def test_a_watchpoint_added_while_it_runs() -> None:
    script = Script([go("step")], [go("watch", condition="weight_change_too_small",
                                      parameters={"abs_mean_update_ratio_lt": 10})])  # fmt: skip
    run(script)
    assert script.reasons == ["start", "step", "watchpoint", "watchpoint"]
    assert script.stops[2]["step"] == 2 and len(script.stops[2]["hits"]) == 4


def test_recheck_looks_at_what_is_kept() -> None:
    watch = go("watch", condition="tensor_range", parameters={"max_min_gt": 0.0}, nodes="last")
    script = Script([go("step")], [go("recheck"), watch, go("recheck")])
    run(script)
    before, _, after = script.replies[1]
    assert before["hits"] == []
    assert [x["tensor"] for x in after["hits"]] == ["outputs:last"]


@pytest.mark.parametrize("level", ["steps", "modules", "ops"])
@pytest.mark.parametrize("compiled", [False, True])
def test_looking_changes_no_number(level: str, compiled: bool) -> None:
    def losses(script: Script | None) -> list[float]:
        model: Any = net()
        called = torch.compile(model) if compiled else model
        if script is None:
            return train(called, 4)
        with attach(script, level, ["weight_overflow", "gradient_exploding", "tensor_overflow"]):
            return train(called, 4)

    assert losses(Script([go("step", count=2)], [go("step")])) == losses(None)


def test_everything_is_as_before_afterwards() -> None:
    call, backward = nn.Module.__call__, torch.Tensor.backward
    run(Script(), "tensor_overflow", level="ops")
    assert nn.Module.__call__ is call and torch.Tensor.backward is backward
    assert state.interpreters == () and not policy.disabled


def test_at_level_steps_compiled_functions_stay_compiled() -> None:
    model: Any = net()
    script = Script([go("step")], [go("nodes")])
    with attach(script, "steps", ["weight_overflow"]):
        assert not policy.disabled
        train(torch.compile(model), 3)
    assert [x["node"] for x in script.replies[1][0]["nodes"]] == ["loss"]


def test_levels_change_while_it_runs() -> None:
    script = Script([go("node", pattern="first"), go("level", level="ops"), go("step")],
                    [go("nodes"), go("level", level="modules"), go("step")],
                    [go("nodes")])  # fmt: skip
    run(script)
    names = [{x["node"] for x in each[0]["nodes"]} for each in script.replies[1:]]
    assert {"last/linear", "middle"} <= names[0]
    assert names[1] == {"first", "middle", "last", "Net", "loss"}


def test_tensors_of_every_kind() -> None:
    script = Script([go("output_gradients"), go("step", count=2)], [go("tensors"), *(
        go("tensor", name=name) for name in (
            "inputs:first", "outputs:middle", "output_gradients:last", "gradients:first.bias",
            "weights:last.weight", "losses:nothing",
        )
    )])  # fmt: skip
    run(script)
    listed, *shown, missing = script.replies[1]
    assert listed["count"] == len(listed["tensors"]) > 10
    assert "no tensor 'losses:nothing'" in missing["error"]
    for each in shown:
        assert sum(each["histogram"]["counts"]) == each["statistics"]["size"]
        assert np.array(each["values"]).shape == tuple(each["shape"])
    assert shown[4]["before"]["max"] > 0  # a weight in the step before
    assert shown[0]["before"]["max"] == 0  # the same data
    json.dumps(script.replies, allow_nan=False)


def test_slices_and_large_tensors() -> None:
    parts = ["[0, 1:3]", "-1", "[..., 0]", "::4", "[99]", "[a]"]
    requests = [go("tensor", name="outputs:first", part=part) for part in parts]
    script = Script([go("step")], requests)
    run(script)
    *good, outside, wrong = script.replies[1]
    assert [x["part_shape"] for x in good] == [[2], [8], [16], [4, 8]]
    assert "out of bounds" in outside["error"] and "is no slice" in wrong["error"]
    large = Script([go("step")], [go("tensor", name="weights:0.weight")])
    with attach(large):
        train(nn.Sequential(nn.Linear(4, 600), nn.Linear(600, 2)))
    assert large.replies[1][0]["values_left_out"] == 4 * 600 - 1000


def test_optimizer_states_and_buffers() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters())
    script = Script([go("step")], [go("tensors", pattern="optimizer:0.bias*"),
                                   go("tensors", pattern="buffers:*")])  # fmt: skip
    with attach(script):
        model(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
    states, buffers = ([x["tensor"] for x in each["tensors"]] for each in script.replies[1])
    assert states == ["optimizer:0.bias.step", "optimizer:0.bias.exp_avg",
                      "optimizer:0.bias.exp_avg_sq"]  # fmt: skip
    assert "buffers:1.running_mean" in buffers


def test_written_in_place_is_said() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(inplace=True))
    script = Script([go("step")], [go("tensor", name="outputs:0")])
    with attach(script), torch.no_grad():
        model(torch.randn(8, 4))
    assert "written to after this call" in script.replies[1][0]["note"]


def test_inference_goes_call_by_call() -> None:
    model = net().eval()
    script = Script([go("step")], [go("step", count=2)], [go("where")])
    with attach(script, "modules", ["tensor_overflow"]), torch.no_grad():
        for _ in range(5):
            model(torch.randn(2, 4))
    assert script.reasons == ["start", "step", "step"]
    assert [x["step"] for x in script.stops] == [1, 1, 3]
    assert script.replies[2][0]["lines"][-1]["source"] == "model(torch.randn(2, 4))"


def test_gradients_that_a_step_is_given() -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    script = Script([go("step")], [go("tensors", pattern="gradients:*")])
    with attach(script, "modules", ["gradient_too_large max_gt=100"]):
        for size in (1.0, 999.0):
            model(torch.ones(1, 4))
            optimizer([torch.full_like(p, size) for p in model.parameters()])
    assert script.replies[1][0]["count"] == 4
    assert {x["tensor"] for x in script.hits()} >= {"gradients:first.bias"}


def test_optimizers_of_mindspore() -> None:
    """They are cells, and are called with gradients."""
    net = ms_nn.Dense(4, 2)
    optimizer = ms_nn.SGD(net.trainable_params(), 0.1)
    grad_fn = mindspore.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)
    script = Script([go("step")], [go("tensors", pattern="*weight"), go("step")])
    with attach(script, "modules", ["gradient_too_large max_gt=-9", "weight_not_changed rtol=9"]):
        for _ in range(3):
            _, gradients = grad_fn(mindspore.Tensor(np.ones((3, 4), np.float32)))
            optimizer(gradients)
    kinds = {x["tensor"].partition(":")[0] for x in script.hits()}
    assert kinds == {"gradients", "weights"}
    assert script.reasons[0] == "start" and {x["step"] for x in script.stops} == {1, 2, 3}


def test_terminate_ends_the_program() -> None:
    script = Script([go("terminate")])
    with pytest.raises(TerminatedError) as caught, attach(script):
        train(net())
    assert caught.value.code == 130
    assert nn.Module.__call__.__name__ == "__call__" and state.interpreters == ()


def test_wrong_requests_are_answered() -> None:
    requests = [
        go("nonsense"), go("tensor"), go("step", count=0), go("level", level="all"),
        go("unwatch", number=9), go("watch", condition="tensor_overflow", kinds=["x"]),
        go("watch", condition="weight_overflow", parameters={"max_gt": 1}),
    ]  # fmt: skip
    script = Script(requests)
    run(script)
    assert all("error" in reply for reply in script.replies[0])
    assert script.reasons == ["start"]


def test_node_needs_modules() -> None:
    script = Script([go("node")])
    run(script, level="steps")
    assert "not seen at level steps" in script.replies[0][0]["error"]


def test_a_module_called_twice_has_two_nodes() -> None:
    shared = nn.Linear(4, 4)
    script = Script([go("step")], [go("nodes")])
    with attach(script), torch.no_grad():
        nn.Sequential(shared, shared)(torch.randn(2, 4))
    assert [x["node"] for x in script.replies[1][0]["nodes"]] == ["0", "0#2", "Sequential"]


def test_detached_it_runs_on() -> None:
    class Leaving(Script):
        def stopped(self, session: Debugger, stop: Any) -> None:
            super().stopped(session, stop)
            session.detach()

    script = Leaving()
    run(script, "weight_change_too_small abs_mean_update_ratio_lt=10", level="ops")
    assert script.reasons == ["start"]


def test_debug_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="no condition 'overflow'"), debug("overflow"):
        pass
    with pytest.raises(ValueError, match="level must be one of"), debug(level="all"):
        pass


def test_nothing_is_loaded_while_it_is_off() -> None:
    """A script that is run without the debugger imports none of it."""
    code = (
        "import sys; from mindtorch.tools import cli\n"
        "sys.argv = ['x']\n"
        "import mindtorch.torch\n"
        "print(sorted(x for x in sys.modules if 'debugger.session' in x or 'run_observed' in x))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_torchs_tensors_beside(tmp_path: Path) -> None:
    """What `mindtorch compare --keep` left of PyTorch is compared with."""
    from mindtorch.tools.compare.record_format import ArrayWriter, Record, Step
    from mindtorch.tools.debugger.requests import Requests
    from mindtorch.tools.debugger.tensor_view import Reference

    model = net()
    weight = model.first.weight.detach().numpy().copy()
    arrays = ArrayWriter(tmp_path / "arrays.bin", 2**20)
    step = Step(0, before={"first.weight": arrays.add(weight + 0.5, "float32", True)})
    arrays.close()
    (tmp_path / "steps.jsonl").write_text(json.dumps(step, default=vars) + "\n")
    Record("torch", "2", 1).save(tmp_path)
    found = []
    reference = Reference(tmp_path)

    class Front(Script):
        def stopped(self, session: Debugger, stop: Any) -> None:
            requests = Requests(session, reference)
            found.append(requests.answer(go("tensor", name="weights:first.weight")))
            session.detach()

    with attach(Front()):
        train(model, 1)
    reference.close()
    assert found[0]["torch"]["max"] == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(FileNotFoundError, match="no record of PyTorch"):
        Reference(tmp_path / "nothing")
