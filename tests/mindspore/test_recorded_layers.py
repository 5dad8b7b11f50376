"""The MindSpore-shaped facade against numbers that MindSpore 2.10 gave on a CPU."""


import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch.mindspore import Parameter, Tensor, nn
from tests.support.paths import GOLDEN_FILES

GOLDEN = np.load(GOLDEN_FILES / "mindspore_layers.npz")
X = GOLDEN["conv_same_x"]
FEW_ROUNDINGS = 2e-6  # values of order 1 to 5, sums of up to 72 products, float32


def near(found, name):
    np.testing.assert_allclose(found.asnumpy(), GOLDEN[name], rtol=0, atol=FEW_ROUNDINGS)


@pytest.mark.parametrize(("stride", "name"), [(1, "conv_same_y"), (2, "conv_same_s2_y")])
def test_convolution_pads_as_same_does(stride, name):
    """The default pad mode keeps ceil(size / stride) places; an odd element of padding is last."""
    conv = nn.Conv2d(1, 2, 3, stride=stride, weight_init=Tensor(GOLDEN["conv_same_w"]))
    near(conv(Tensor(X)), name)


def test_batch_norm_keeps_ninety_percent_of_the_past():
    """momentum 0.9 is the weight of the moving statistics."""
    norm = nn.BatchNorm2d(2).set_train()
    near(norm(Tensor(GOLDEN["conv_same_y"])), "bn_train_y")
    near(norm.moving_mean, "bn_moving_mean")
    near(norm.moving_variance, "bn_moving_variance")
    assert [p.name for p in norm.trainable_params()] == ["gamma", "beta"]


def test_layer_norm_has_a_small_epsilon():
    """epsilon is 1e-7 by default."""
    near(nn.LayerNorm((6,))(Tensor(X)), "ln_y")


OPTIMIZERS = {
    "opt_SGD_mom_wd": lambda p: nn.SGD(p, 0.1, momentum=0.9, weight_decay=0.01),
    "opt_Momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
    "opt_Adam": lambda p: nn.Adam(p, 0.1),
    "opt_AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.1),
    "opt_RMSProp": lambda p: nn.RMSProp(p, 0.1),
    "opt_Adagrad": lambda p: nn.Adagrad(p, learning_rate=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_three_steps_of_an_optimizer(name):
    """Formulas, defaults, and where each epsilon stands; within two units in the last place."""
    parameter = Parameter(Tensor(GOLDEN["opt_p0"]), "p")
    optimizer = OPTIMIZERS[name]([parameter])
    for row in GOLDEN[name]:
        assert optimizer((Tensor(GOLDEN["opt_g"]),)) is True
        np.testing.assert_allclose(parameter.asnumpy(), row, rtol=2.5e-7, atol=1.2e-7)
    assert optimizer.global_step.asnumpy().tolist() == [3]


def test_half_precision_parameters_follow_the_same_formulas():
    """What the fused kernels do not take, ops do: float16 follows float32 to its precision."""
    for name in ("opt_SGD_mom_wd", "opt_Adam"):
        parameter = Parameter(Tensor(GOLDEN["opt_p0"], ms.float16), "p")
        optimizer = OPTIMIZERS[name]([parameter])
        for row in GOLDEN[name]:
            optimizer((Tensor(GOLDEN["opt_g"], ms.float16),))
            np.testing.assert_allclose(parameter.asnumpy(), row, rtol=4e-3)
