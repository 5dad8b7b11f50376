"""Calls warn as in PyTorch: the same text and category, once in a process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = """
import json, math, sys, warnings
import torch
x = torch.ones(1, requires_grad=True)
c = torch.ones(2, dtype=torch.complex64)
matrix, image, places = torch.eye(2), torch.ones(1, 1, 5, 5), torch.tensor([0, 1])
F = torch.nn.functional
calls = {
    "float": lambda: float(x * 2),
    "float again": lambda: float(x * 3),
    "item": lambda: x.item(),
    "T of a vector": lambda: torch.ones(2).T,
    "T of a batch": lambda: torch.ones(2, 2, 2).T,
    "T of a matrix": lambda: matrix.T,
    "T of a number": lambda: torch.ones(()).T,
    "mT of a number": lambda: torch.ones(()).mT,
    "H of a number": lambda: torch.ones(()).H,
    "adjoint of a number": lambda: torch.ones(()).adjoint(),
    "complex to bool": lambda: c.bool(),
    "complex to complex": lambda: c.to(torch.complex128),
    "complex to real": lambda: c.float(),
    "lu": lambda: torch.lu(matrix),
    "lu_solve": lambda: torch.lu_solve(torch.ones(2, 1), *torch.linalg.lu_factor(matrix)),
    "cholesky": lambda: matrix.cholesky(),
    "qr": lambda: torch.qr(matrix),
    "triangular_solve": lambda: torch.triangular_solve(torch.ones(2, 1), matrix),
    "grad of a result": lambda: (x * 2).grad,
    "create_graph": lambda: (x * x).sum().backward(create_graph=True),
    "clip_grad_norm": lambda: torch.nn.utils.clip_grad_norm([x], 1.0),
    "sparse": lambda: torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 2)),
    "sparse again": lambda: torch.sparse_csr_tensor([0, 1, 1], [0], [1.0], (2, 2)),
    "rms_norm": lambda: F.rms_norm(torch.ones(2, 3), (3,), torch.ones(3).double()),
    "new_tensor": lambda: x.detach().new_tensor(matrix),
    "resize_as": lambda: matrix.resize_as(torch.ones(4)),
    "select_scatter": lambda: matrix.select_scatter(c, 0, 1),
    "scatter": lambda: torch.zeros(3).scatter(0, places, torch.ones(2), reduce="add"),
    "scatter of a number": lambda: torch.zeros(3).scatter(0, places, 2.0, reduce="add"),
    "index_reduce": lambda: torch.zeros(3).index_reduce(0, places, torch.ones(2), "mean"),
    "padding of an even kernel": lambda: F.conv2d(image, image[..., :2, :2], padding="same"),
    "padding of an odd kernel": lambda: F.conv2d(image, image[..., :3, :3], padding="same"),
    "tensor": lambda: torch.tensor(matrix),
    "new_tensor": lambda: matrix.new_tensor(matrix),
    "stft": lambda: torch.stft(torch.ones(16), 8, return_complex=False),
    "stft again": lambda: torch.stft(torch.ones(16), 8, return_complex=False),
    "softmax of complex numbers": lambda: F.softmax(c, 0, dtype=torch.float32),
    "native_layer_norm": lambda: torch.native_layer_norm(torch.ones(2, 0), (0,), None, None, 1e-5),
    "mean of no complex number": lambda: c[:0].mean(),
    "channels": lambda: torch.nn.InstanceNorm1d(3)(torch.ones(2, 4, 7)),
    "min_value": lambda: torch.nn.Hardtanh(min_value=-3),
    "grad_variables": lambda: torch.autograd.backward(
        (x * 2), grad_variables=torch.ones(1)),
}
found = {}
for name, call in calls.items():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    found[name] = [
        (each.category.__name__, str(each.message).split(" (Triggered")[0])
        for each in told
    ]
with torch.no_grad(), warnings.catch_warnings():
    warnings.simplefilter("error")
    float(x), math.floor(x)
print(json.dumps(found))
"""


def test_calls_warn_as_in_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "calls.py"
    script.write_text(CALLS)
    found = []
    for before in ([], ["-m", "mindtorch", "run"]):
        command = [sys.executable, *before, str(script)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert result.returncode == 0, result.stderr
        found.append(json.loads(result.stdout))
    assert found[0] == found[1]
    assert sum(map(len, found[0].values())) > 10
