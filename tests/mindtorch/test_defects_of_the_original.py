"""What the original MindTorch does wrong and users wrote around: here it is as in PyTorch."""

from pathlib import Path

import pytest

from mindtorch import torch


def test_a_scaler_works_in_every_iteration() -> None:
    """update() clears what step() noted, and gradients are divided once, beside missing ones too;
    a list of gradients is divided as a tuple is."""
    missing, p = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = torch.optim.SGD([missing, p], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale((3 * p).sum()).backward()
        scaler.unscale_(optimizer)
        assert p.grad.tolist() == [3.0, 3.0]
        scaler.step(optimizer)
        assert p.grad.tolist() == [3.0, 3.0]
        scaler.update()
    assert p.tolist() == [-3.5, -3.5] and missing.tolist() == [1.0, 1.0]
    given = torch.optim.SGD([p], lr=0.5)
    scaler.step(given, [torch.full((2,), 4.0)])
    scaler.update()
    assert p.tolist() == [-4.0, -4.0]


def test_parameters_without_gradients_stay() -> None:
    """Neither weight decay nor momentum moves them, and they get no state."""
    used, unused = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = torch.optim.SGD([used, unused], lr=0.1, momentum=0.9, weight_decay=0.1)
    used.grad = torch.ones(2)
    optimizer.step()
    assert unused.tolist() == [1.0, 1.0] and unused not in optimizer.state


def test_other_shapes_are_refused() -> None:
    """load_state_dict does not spread one row to all."""
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        torch.nn.Linear(3, 2).load_state_dict(
            {"weight": torch.zeros(1, 3), "bias": torch.zeros(2)}
        )


def test_files_hold_views_and_do_not_name_us(tmp_path: Path) -> None:
    """Strides come back, weights_only and map_location are known, and PyTorch can read them."""
    path, x = tmp_path / "x.pth", torch.arange(12.0).reshape(3, 4).t()
    torch.save({"x": x}, path)
    y = torch.load(path, map_location="cpu", weights_only=True)["x"]
    assert y.stride() == x.stride() and torch.equal(x, y)
    assert b"mindtorch" not in path.read_bytes()


def test_views_write_through_and_is_cuda_is_a_value() -> None:
    """As attributes and memory of PyTorch's tensors."""
    base = torch.zeros(4)
    base[1:3].add_(1)
    assert base.tolist() == [0.0, 1.0, 1.0, 0.0] and base.is_cuda is False


def test_checkpointed_functions_run_again() -> None:
    """Once forward, once for backward: that is what saves memory."""
    calls = []
    x = torch.ones(2, requires_grad=True)

    def sine(t: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return t.sin()

    torch.utils.checkpoint.checkpoint(sine, x, use_reentrant=False).sum().backward()
    assert len(calls) == 2
