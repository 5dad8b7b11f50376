"""Gradients as functions of functions: MindSpore's result shapes and errors, values as torch's."""

import pytest
import torch as oracle

import mindtorch
from mindtorch import torch
from mindtorch.functional import get_grad, grad, jvp, value_and_grad, vjp

X, Y, V = [0.5, -1.5, 2.0], [3.0, 0.25, -1.0], [1.0, -2.0, 0.5]


def tensors(dtype=torch.float64):
    return torch.tensor(X, dtype=dtype), torch.tensor(Y, dtype=dtype)


def f(x, y):
    return (x * x * y).sum()


def near(found, expected):
    assert found.tolist() == pytest.approx(expected, rel=1e-12)


GX = [2 * a * b for a, b in zip(X, Y, strict=True)]
GY = [a * a for a in X]


@pytest.mark.parametrize("position", [0, (0,)])
def test_one_position_gives_a_bare_gradient(position):
    """MindSpore unwraps a tuple of one position too."""
    x, y = tensors()
    value, g = value_and_grad(f, position)(x, y)
    assert value.item() == pytest.approx(f(x, y).item()) and not value.requires_grad
    near(g, GX)
    assert x.grad is None and not x.requires_grad and not g.requires_grad


def test_several_positions_and_keywords():
    """Two positions give a tuple; keyword arguments reach the function."""
    x, y = tensors()
    gx, gy = grad(lambda a, b, scale=1: f(a, b) * scale, (0, 1))(x, y, scale=2)
    near(gx, [2 * g for g in GX])
    near(gy, [2 * g for g in GY])


def test_weights_bare_listed_and_with_inputs():
    """A single weight is bare, a list gives a tuple, both kinds give a pair; .grad stays None."""
    x, _ = tensors()
    w = torch.nn.Parameter(torch.tensor(Y, dtype=torch.float64))
    unused = torch.nn.Parameter(torch.ones(2), requires_grad=False)

    def g(a):
        return f(a, w)

    near(value_and_grad(g, None, w)(x)[1], GY)
    gradients = value_and_grad(g, None, [w, unused])(x)[1]
    near(gradients[0], GY)
    assert gradients[1].tolist() == [0.0, 0.0]
    assert value_and_grad(g, None, [])(x)[1] == ()
    gx, (gw,) = grad(g, 0, [w])(x)
    near(gx, GX)
    near(gw, GY)
    gx, gw = grad(g, 0, w)(x)
    near(gw, GY)
    assert w.grad is None


def test_all_outputs_are_differentiated_unless_aux():
    """Without aux the gradients of outputs add up; with it only the first output counts."""
    x, y = tensors()
    value, g = value_and_grad(lambda a: (f(a, y), a * 3))(x)
    assert isinstance(value, tuple)
    near(g, [a + 3 for a in GX])
    (loss, extra, word), g = value_and_grad(lambda a: (f(a, y), a * 3, "w"), has_aux=True)(x)
    near(g, GX)
    assert word == "w" and not extra.requires_grad and loss.ndim == 0
    g, aux = grad(lambda a: (f(a, y), a * 3, "w"), has_aux=True)(x)
    near(g, GX)
    assert len(aux) == 2


def test_unused_number_and_nested_inputs():
    """Unused inputs have zeros, numbers have (), containers have gradients of their structure."""
    x, y = tensors()
    assert grad(lambda a, b: b.sum(), 0)(x, y).tolist() == [0.0] * 3
    assert grad(lambda a, b: (a * b).sum(), 0)(2.0, y) == ()
    g = grad(lambda d: f(d["x"], d["rest"][0]))({"x": x, "rest": [y]})
    near(g["x"], GX)
    near(g["rest"][0], GY)


def test_ids_name_the_gradients():
    """return_ids labels gradients, and get_grad finds one by its label."""
    x, y = tensors()
    gradients = grad(f, (0, 1), return_ids=True)(x, y)
    assert [p for p, _ in gradients] == [0, 1]
    near(get_grad(gradients, 1), GY)
    w = torch.nn.Parameter(torch.tensor(Y, dtype=torch.float64))
    near(get_grad(grad(lambda a: f(a, w), 0, [w], return_ids=True)(x), w), GY)
    with pytest.raises(RuntimeError, match="can not find gradient"):
        get_grad(gradients, 2)


@pytest.mark.parametrize(
    ("position", "error", "text"),
    [
        (None, ValueError, "`grad_position` and `weight` can not be None at the same time."),
        ([0], TypeError, "For 'F.grad', the 'grad_position' must be int or tuple."),
        ("0", TypeError, "For 'F.grad', the 'grad_position' must be int or tuple."),
        (-1, ValueError, "grad_position must be >= 0."),
        ((0, 0), ValueError, "duplicate"),
        (5, RuntimeError, "Position index 5 is exceed input size."),
    ],
)
def test_wrong_positions_are_refused(position, error, text):
    """The texts are MindSpore's, which scripts may match."""
    with pytest.raises(error) as caught:
        value_and_grad(f, position)(*tensors())
    assert text in str(caught.value)


def test_aux_of_a_single_output_is_refused():
    """has_aux without aux is a mistake."""
    with pytest.raises(ValueError, match="origin fn requires more than one outputs"):
        value_and_grad(f, has_aux=True)(*tensors())


def test_second_order_by_nesting():
    """The gradient of a gradient equals torch.func's, also across a closure."""
    x, y = tensors()

    def cube(t):
        return (t.sin() * t * t).sum()

    found = grad(lambda t: grad(cube)(t).sum())(x)
    expected = oracle.func.grad(lambda t: oracle.func.grad(cube)(t).sum())(
        oracle.tensor(X, dtype=oracle.float64)
    )
    near(found, expected.tolist())
    mixed = grad(lambda t: grad(lambda b: f(t, b))(y).sum())(x)
    near(mixed, [2 * a for a in X])


def test_gradients_of_a_tracked_input_are_differentiable():
    """The tape outside sees through a transformation."""
    x, _ = tensors()
    x.requires_grad_()
    grad(lambda t: (t * t * t).sum())(x).sum().backward()
    near(x.grad, [6 * a for a in X])


def test_works_without_recording_outside():
    """no_grad outside does not reach into the transformation."""
    x, y = tensors()
    with torch.no_grad():
        near(grad(f)(x, y), GX)


@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")  # in torch's own jvp
def test_vjp_and_jvp_agree_with_torch():
    """Both products of a nonlinear function, several inputs and outputs."""
    x, y = tensors()
    ox, oy = (oracle.tensor(t, dtype=oracle.float64) for t in (X, Y))
    v = torch.tensor(V, dtype=torch.float64)
    ov = oracle.tensor(V, dtype=oracle.float64)

    def h(a, b):
        return a.sin() * b, (a * b * b).sum()

    value, pull = vjp(h, x, y)
    assert value[1].item() == pytest.approx(h(ox, oy)[1].item(), rel=1e-12)
    one, oone = torch.ones((), dtype=torch.float64), oracle.ones((), dtype=oracle.float64)
    expected = oracle.func.vjp(h, ox, oy)[1]((ov, oone))
    for _ in range(2):
        for g, e in zip(pull(v, one), expected, strict=True):
            near(g, e.tolist())
    _, columns = jvp(h, (x, y), (v, v))
    _, expected = oracle.func.jvp(h, (ox, oy), (ov, ov))  # type: ignore[misc]
    near(columns[0], expected[0].tolist())
    assert columns[1].item() == pytest.approx(expected[1].item(), rel=1e-12)
    second = jvp(lambda t: jvp(lambda s: s.sin(), t, v)[1], x, v)[1]
    near(second, (-ox.sin() * ov * ov).tolist())


def test_names_are_reached_as_in_mindspore():
    """mindtorch, mindspore and mindspore.ops give the same functions."""
    from mindtorch import mindspore

    assert mindtorch.value_and_grad is value_and_grad
    assert mindspore.value_and_grad is mindspore.ops.value_and_grad
    assert not hasattr(mindtorch, "no_such_name")
