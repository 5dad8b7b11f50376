"""While `torch` means mindtorch.torch, public modules and what they define have torch's names."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

LOOK = """
import copy, inspect, json, pickle, sys, warnings
import torch, torch.nn as nn, torch.nn.utils.prune, torch.fx
from torch.optim import lr_scheduler
warnings.simplefilter("ignore")
kinds = [
    nn.Linear, nn.Sequential, nn.MultiheadAttention, nn.Parameter, nn.utils.prune.PruningContainer,
    torch.Tensor, torch.Size, torch.dtype, torch.device, torch.optim.Adam, torch.optim.Optimizer,
    lr_scheduler.StepLR, torch.distributions.Normal, torch.distributions.constraints.Constraint,
    torch.utils.data.DataLoader, torch.utils.data.Dataset, torch.autograd.Function, torch.no_grad,
    torch.cuda.amp.GradScaler, torch.nn.modules.conv._ConvNd, torch.utils.checkpoint.checkpoint,
]
model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
class Plain(torch.fx.Tracer):
    def is_leaf_module(self, m, path):
        return m.__module__.startswith("torch.nn") and not isinstance(m, nn.Sequential)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    nn.functional.mse_loss(torch.ones(2), torch.ones(2, 2))
print(json.dumps({
    "kinds": [repr(kind) for kind in kinds if isinstance(kind, type)],
    "modules": [kind.__module__ for kind in kinds],
    "names": [torch.__name__, nn.__name__, lr_scheduler.__name__, nn.functional.__name__],
    "of the module": lr_scheduler.StepLR.__module__ == lr_scheduler.__name__,
    "source": inspect.getsource(nn.Linear).splitlines()[0],
    "found": inspect.getmodule(nn.Linear) is sys.modules["torch.nn.modules.linear"],
    "again": str(pickle.loads(pickle.dumps(model))), "copy": str(copy.deepcopy(model)),
    "typename": torch.typename(model),
    "nodes": [str(node.target) for node in Plain().trace(model).nodes],
    "code": torch.fx.symbolic_trace(lambda x: torch.relu(x)).code,
    "warned": [each.filename for each in told],
}))
"""


def _looked(script: Path, *before: str) -> dict[str, object]:
    command = [sys.executable, *before, str(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    result: dict[str, object] = json.loads(found.stdout.splitlines()[-1])
    return result


def test_names_are_torchs_under_the_switch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "look.py"
    script.write_text(LOOK)
    assert _looked(script, "-m", "mindtorch", "run") == _looked(script)


def test_own_names_return_with_real_torch(repository: Path) -> None:
    code = """
from mindtorch.module_hooker import torch_disable, torch_enable
import mindtorch.torch as ours, pickle
own = ours.nn.Linear.__module__, ours.nn.__name__, ours.Size.__module__
torch_disable()
import torch.optim.swa_utils
names = torch.nn.Linear.__module__, torch.nn.__name__, torch.Size.__module__
assert names == ("torch.nn.modules.linear", "torch.nn", "torch"), names
torch_enable()
assert (ours.nn.Linear.__module__, ours.nn.__name__, ours.Size.__module__) == own
assert own == ("mindtorch.torch.nn.modules.linear", "mindtorch.torch.nn", "mindtorch.torch"), own
assert ours.optim.swa_utils.SWALR.__module__ == "mindtorch.torch.optim.swa_utils"
assert type(pickle.loads(pickle.dumps(ours.nn.Linear(2, 2)))) is ours.nn.Linear
"""
    subprocess.run([sys.executable, "-c", code], cwd=repository, check=True, timeout=300)
