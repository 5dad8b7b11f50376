"""What holds on two CUDA devices, and a check of errors: for tests/programs/cuda_program.py."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import mindtorch.torch
from mindtorch.torch import nn

torch: Any = mindtorch.torch


def raises(kind: type[BaseException], text: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except kind as error:
        assert text in str(error), f"{error} has no {text!r}"
        return
    raise AssertionError(f"no {kind.__name__}")


def on_two_devices(streams: Any) -> None:
    second = torch.device("cuda:1")
    x = torch.arange(4.0).reshape(2, 2)
    y = x.to(second).requires_grad_()
    assert y.device == second and torch.cuda.current_device() == 0 and y.get_device() == 1
    text = "at least two devices, cuda:1 and cuda:0!"
    raises(RuntimeError, text, lambda: y + x.cuda())
    z = (y @ y).to("cuda:0")
    assert z.device.index == 0 and (z * z).sum().item() == float(((x @ x) ** 2).sum())
    z.sum().backward()
    assert y.grad.device == second and y.grad.cpu().equal(torch.tensor([[3.0, 7.0], [5.0, 9.0]]))
    before = [torch.cuda.memory_allocated(k) for k in range(2)]
    with torch.cuda.device(1):
        made = torch.ones(300, device="cuda")
        assert made.device == second and torch.cuda.current_stream().device == second
        stream = torch.cuda.Stream()
    assert torch.cuda.current_device() == 0 and torch.cuda.memory_allocated(0) == before[0]
    assert torch.cuda.memory_allocated(1) == before[1] + 1536
    with torch.cuda.stream(stream):
        assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == stream
        stream.record_event().synchronize()
    y.grad.record_stream(stream)
    torch.cuda.set_device(1)
    assert torch.zeros(1, device="cuda").device == second and torch.cuda._exchange_device(0) == 1
    net, twin = (nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5)).to(k) for k in (0, second))
    twin.load_state_dict(net.state_dict())
    for kind in (torch.optim.SGD, torch.optim.Adam):
        outs = []
        for model, place in ((net, 0), (twin, second)):
            torch.manual_seed(0)
            optimizer = kind(model.parameters(), lr=0.1)
            compiled = torch.compile(model)
            for run in (model, compiled, compiled):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(run(x.to(place)), torch.tensor([1, 0]).to(place))
                loss.backward()
                optimizer.step()
            outs.append([loss.item(), *[p.tolist() for p in model.parameters()]])
        assert outs[0] == outs[1] and loss.device == second
    bad = made[torch.tensor([400], device=second)]
    raises(torch.AcceleratorError, "index is out of range", bad.tolist)
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert torch.load(file).device == second
    thread = threading.Thread(target=lambda: before.append(torch.cuda.current_device()))
    torch.cuda.set_device(1)
    thread.start()
    thread.join()
    assert before[-1] == 0 and torch.cuda.current_device() == 1  # a thread begins on the first
