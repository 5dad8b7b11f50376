"""torch.utils.checkpoint: the same numbers as without it, and as in torch."""

import importlib
from typing import Any

import numpy as np
import pytest

LIBRARIES = ["mindtorch.torch", "torch"]


@pytest.fixture(params=LIBRARIES)
def torch(request: pytest.FixtureRequest) -> Any:
    """Both libraries: what is asked of ours must hold of torch too."""
    return pytest.importorskip(request.param)


def make_model(torch: Any) -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 4), nn.ReLU())


def gradients(torch: Any, forward: Any) -> list[np.ndarray]:
    """The result and all gradients of a model run by `forward(model, x)`, from one random state."""
    model = make_model(torch)
    x = torch.linspace(-1, 1, 15).reshape(5, 3).requires_grad_()
    torch.manual_seed(1)
    output = forward(model, x)
    torch.rand(7)  # what happens between must not matter to the second run
    (output * output).sum().backward()
    found = [output, x.grad, *(parameter.grad for parameter in model.parameters())]
    return [each.detach().numpy() for each in found]


@pytest.mark.parametrize("reentrant", [True, False])
def test_numbers_are_those_without_it(torch: Any, reentrant: bool) -> None:
    """The dropout of the second run must be that of the first."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    plain = gradients(torch, lambda model, x: model(x))
    kept = gradients(
        torch, lambda model, x: checkpoint.checkpoint(model, x, use_reentrant=reentrant)
    )
    parts = gradients(
        torch, lambda model, x: checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    )
    for a, b, c in zip(plain, kept, parts, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_the_function_is_run_twice_and_keeps_nothing(torch: Any) -> None:
    """Else it would be only a call, which saves no memory."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    taped: list[bool] = []

    def f(x: Any, *, k: float) -> Any:
        taped.append(torch.is_grad_enabled())
        return x * x * k

    x = torch.ones(2, requires_grad=True)
    y = checkpoint.checkpoint(f, x, use_reentrant=False, k=3.0)
    assert len(taped) == 1
    y.sum().backward()
    assert len(taped) == 2 and taped[1]
    assert x.grad.tolist() == [6.0, 6.0]


def test_parameters_get_gradients_though_no_input_does(torch: Any) -> None:
    """The first layer of a network is given data."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    layer = torch.nn.Linear(2, 1)
    checkpoint.checkpoint(layer, torch.ones(1, 2), use_reentrant=False).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_the_older_way_warns_where_nothing_requires_grad(torch: Any) -> None:
    """As torch does, with its text."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint.checkpoint(torch.nn.Linear(2, 1), torch.ones(1, 2), use_reentrant=True)


def test_keyword_arguments_need_the_newer_way(torch: Any) -> None:
    """The text is torch's."""
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    with pytest.raises(ValueError, match=r"^Unexpected keyword arguments: k$"):
        checkpoint.checkpoint(lambda x, k: x, torch.ones(1), use_reentrant=True, k=1)
