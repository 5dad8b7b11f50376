"""Data parallel in MindSpore's spelling: two processes train what one does, and its collectives."""

from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch.mindspore import Tensor, nn
from tests.programs.mindspore_distributed_program import alone, rows, trained
from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import forked, ranks_of

PROGRAM = PROGRAMS / "mindspore_distributed_program.py"


def test_two_processes_train_the_parameters_of_one(tmp_path):
    """Halves of the batch, gradients averaged: equal to the whole batch, to rounding."""
    command = [*forked(2), str(PROGRAM), str(tmp_path)]
    first, second = ranks_of(command, 2, tmp_path)
    assert first["size"] == 2 and first["parameters"] == second["parameters"]
    for mine, whole in zip(first["parameters"], trained(*rows(), reduce=False), strict=True):
        np.testing.assert_allclose(mine, whole, rtol=1e-6, atol=1e-6)
    for parameters in first["by_cell"] + second["by_cell"]:  # three modes, eager and compiled
        for mine, whole in zip(parameters, trained(*rows(), reduce=False), strict=True):
            np.testing.assert_allclose(mine, whole, rtol=1e-6, atol=1e-6)
    assert "DistributedGradReducer" in first["refused"]
    assert first["sum"] == second["sum"] == [1.0, 2.0]
    assert first["largest"] == [1.0, 1.0] and second["all"] == [0.0, 1.0, 1.0, 1.0]
    assert (first["part"], second["part"]) == ([1.0], [2.0])
    assert first["root"] == [1.0, 1.0] and first["summed"] == [[1.0, 2.0]]

    assert_states_are_sliced(first, second)
    for each in (first, second):  # ops and cells whose inputs are cut over the processes
        for title, difference in each["sharded"].items():
            assert difference <= 2e-6, (title, each["sharded"])
        assert each["training"][0] == pytest.approx(each["training"][1], rel=1e-5)
        assert each["errors"] == [
            "ValueError: the strategy ((3, 1), (1, 1)) does not divide 2 processes: they are (2,)",
            "ValueError: 2 inputs have 1 strategies",
        ]


def assert_states_are_sliced(first: Any, second: Any) -> None:
    """Parameters are those of one process, and equal in both; of the first layer, of 56 elements,
    each has half of the states, of the second, of 27 that two do not divide, all."""
    for title, found in first["sliced"].items():
        whole = alone(title.split()[0])
        assert found["parameters"] == second["sliced"][title]["parameters"]
        for mine, other in zip(found["parameters"], whole["parameters"], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=2e-6, err_msg=title)
        assert found["bytes"] / whole["bytes"] == (56 / 2 + 27) / (56 + 27)
    expected = [
        "NotImplementedError: enable_parallel_optimizer: Lamb may need whole parameters",
        "NotImplementedError: enable_parallel_optimizer: TrainOneStepWithLossScaleCell looks at",
        "NotImplementedError: enable_parallel_optimizer: TrainOneStepCell looks at whole gradients",
        "NotImplementedError: enable_parallel_optimizer: OwnUpdate may need whole parameters",
        "NotImplementedError: hsdp(optimizer_level='level3'): parameters stay whole",
        "NotImplementedError: pipeline_config=",
        "ValueError: For 'AutoParallel', the 'parallel_mode' must be one of",
    ]
    for text, begun in zip(first["unsliceable"], expected, strict=True):
        assert text.startswith(begun)


def test_layouts_say_how_tensors_lie():
    """Axes of the processes by name, counted from the end in the dict, as MindSpore has it."""
    layout = ms.Layout((2, 4), ("dp", "mp"))
    assert layout("dp", "None", "mp").to_dict() == {
        "device_matrix": (2, 4), "tensor_map": (1, -1, 0), "alias_name": ("dp", "mp"),
        "rank_list": list(range(8)), "interleaved_parallel": False,
    }  # fmt: skip
    assert layout(("dp", "mp"), "None").to_dict()["tensor_map"] == ((1, 0), -1)
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: layout("tp"), ValueError, "are not among"),
        (lambda: layout("dp", "dp"), ValueError, "cuts twice"),
        (lambda: layout(("mp", "dp")), NotImplementedError, "another order"),
        (lambda: ms.Layout((2, 2), ("dp",)), ValueError, "of one length"),
        (lambda: ms.Layout((2,), ("dp",), [0, 1, 2]), ValueError, "3 processes"),
        (lambda: layout.placements, ValueError, "give the layout"),
        (lambda: ms.reshard(Tensor([1.0]), "dp"), TypeError, "must be a Layout"),
        (lambda: ms.shard(lambda x: x, (layout("dp"),))(Tensor([1.0])), RuntimeError, "init"),
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()


def test_one_process_reduces_to_itself():
    """Without init(); the degree divides when mean is asked for; a new tuple is returned."""
    grads = (Tensor([2.0]), Tensor([4.0], ms.float16))
    reduced = nn.DistributedGradReducer(grads, mean=True, degree=4)(grads)
    assert [g.asnumpy().tolist() for g in reduced] == [[0.5], [1.0]]
    assert reduced[1].dtype is ms.float16
    degrees: list[Any] = [0, -1, 2.0, True]
    for degree in degrees:
        with pytest.raises(ValueError, match="degree"):
            nn.DistributedGradReducer(grads, degree=degree)


@pytest.mark.parametrize(
    ("name", "text"),
    [("hccl", "use 'mccl' on the CPU, or 'nccl'"), ("nccl", "needs a GPU"), ("gloo", "should be")],
)
def test_other_backends_are_answered(name, text):
    """With what to use instead."""
    with pytest.raises(RuntimeError, match=text):
        ms.communication.init(name)


def test_modes_are_honoured_or_refused():
    """Nothing is taken in silence."""
    with pytest.raises(NotImplementedError, match="DATA_PARALLEL"):
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.HYBRID_PARALLEL)
    with pytest.raises(NotImplementedError, match="data_parallel"):
        ms.set_auto_parallel_context(dataset_strategy=((2, 1),))
    with pytest.raises(NotImplementedError, match=r"AllReduce\.shard"):
        ms.ops.AllReduce().shard(((2, 1),))
    with pytest.raises(NotImplementedError, match="parameters stay whole"):
        nn.Dense(2, 2).shard(((2, 1),), parameter_plan={"weight": (2, 1)})
    settings: list[Any] = [{"optimizer_weight_shard_size": 2}, {"parallel_optimizer_threshold": -1}]
    for value in settings:
        with pytest.raises((NotImplementedError, ValueError), match="parallel_optimizer_threshold"):
            ms.set_auto_parallel_context(parallel_optimizer_config=value)
    with pytest.raises(RuntimeError, match="before AutoParallel"):
        ms.parallel.auto_parallel.AutoParallel(nn.Dense(2, 2))
    with pytest.raises(ValueError, match="does not know"):
        ms.set_auto_parallel_context(unheard_of=1)
    with pytest.raises(ValueError, match="device_target"):
        ms.set_context(device_target="TPU")
    with pytest.raises(ValueError, match="not supported in this build"):
        ms.set_context(device_target="GPU")
    with pytest.warns(UserWarning, match="memory_optimize_level"):
        ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU", memory_optimize_level="O1")
    assert ms.get_context("mode") == ms.GRAPH_MODE
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.get_auto_parallel_context("gradients_mean") is False
