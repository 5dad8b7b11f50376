"""MindSpore's summaries, in event files that TensorBoard reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch.mindspore import dataset as ds
from mindtorch.mindspore import nn

pytest.importorskip("tensorboard")
pytest.importorskip("google_crc32c")

from mindtorch.insight.reading.folder import RunFolder


def read(folder: Path) -> Any:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return EventAccumulator(str(folder)).Reload()


def test_recorded_values_are_in_the_file(tmp_path: Path) -> None:
    """One of each kind, at its step."""
    with ms.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "loss", ms.Tensor(np.float32(0.25)))
        record.add_value("histogram", "weight", ms.Tensor(np.arange(6, dtype=np.float32)))
        record.add_value("tensor", "dropped", np.ones(3))
        record.add_value("image", "input", np.linspace(-1, 1, 24).reshape(1, 1, 4, 6))
        assert record.record(3, plugin_filter=lambda plugin, name: name != "dropped")
        record.set_mode("eval")
        record.add_value("scalar", "loss", 0.5)
        assert record.record(4)
        assert record.log_dir == str(tmp_path)
    found = read(tmp_path)
    assert [(e.step, e.value) for e in found.Scalars("loss")] == [(3, 0.25)]
    assert [(e.step, e.value) for e in found.Scalars("eval/loss")] == [(4, 0.5)]
    histogram = found.Histograms("weight")[0].histogram_value
    assert (histogram.num, histogram.min, histogram.max) == (6, 0, 5)
    image = found.Images("input")[0]
    assert (image.width, image.height) == (6, 4)
    assert "dropped" not in found.Tags()["histograms"]


def test_a_closed_record_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MindSpore says so and returns False."""
    record = ms.SummaryRecord(str(tmp_path))
    record.close()
    assert record.record(1) is False
    assert "closed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("plugin", "name", "value", "text"),
    [
        ("movie", "x", 1.0, "No such plugin of 'movie'"),
        ("scalar", "", 1.0, "valid str"),
        ("scalar", "x", np.ones(2), "one element"),
        ("image", "x", np.ones((2, 2)), "images are"),
    ],
)
def test_wrong_values_are_refused(
    plugin: str, name: str, value: Any, text: str, tmp_path: Path
) -> None:
    """When they are added, not when they are written."""
    with ms.SummaryRecord(str(tmp_path)) as record, pytest.raises(ValueError, match=text):
        record.add_value(plugin, name, value)


def test_what_mindinsight_alone_shows_is_refused(tmp_path: Path) -> None:
    """No option is ignored in silence."""
    with pytest.raises(NotImplementedError, match="max_file_size"):
        ms.SummaryRecord(str(tmp_path), max_file_size=1000)
    with pytest.raises(NotImplementedError, match="collect_landscape"):
        ms.SummaryCollector(str(tmp_path), collect_specified_data={"collect_landscape": {"a": 1}})
    with pytest.raises(ValueError, match="num_process"):
        ms.SummaryRecord(str(tmp_path), num_process=0)
    with pytest.raises(ValueError, match="collect_freq"):
        ms.SummaryCollector(str(tmp_path), collect_freq=0)
    with pytest.raises(TypeError, match="custom_lineage_data"):
        ms.SummaryCollector(str(tmp_path), custom_lineage_data={"a": [1]})


def test_a_training_is_collected(tmp_path: Path) -> None:
    """Losses every second step and the first, parameters, inputs and the graph."""
    random = np.random.default_rng(0)
    data = {
        "x": random.random((12, 1, 4, 4), dtype=np.float32),
        "y": random.random((12, 2), dtype=np.float32),
    }
    network = nn.SequentialCell([nn.Flatten(), nn.Dense(16, 2)])
    losses: list[float] = []

    class Keep(ms.train.Callback):
        def step_end(self, run_context: Any) -> None:
            losses.append(float(run_context.original_args().net_outputs.asnumpy()))

    model = ms.Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1))
    collector = ms.SummaryCollector(
        str(tmp_path), collect_freq=2, collect_specified_data={"histogram_regular": "weight"},
        custom_lineage_data={"note": "a try"},
    )
    dataset = ds.NumpySlicesDataset(data, shuffle=False).batch(3)
    model.train(1, dataset, callbacks=[Keep(), collector], dataset_sink_mode=False)
    found = read(tmp_path)
    assert [e.step for e in found.Scalars("loss")] == [1, 2, 4]
    assert [e.value for e in found.Scalars("loss")] == [losses[0], losses[1], losses[3]]
    assert found.Tags()["histograms"] == ["1.weight"]
    assert len(found.Images("input_data")) == 3
    assert any(node.op == "linear" for node in found.Graph().node)
    folder = RunFolder(tmp_path)
    folder.look()
    run = folder.runs["."]
    made = run.lineage["parameters"]
    assert made["optimizer"] == "SGD" and made["learning_rate"] == 0.1
    assert (made["loss_function"], made["epoch"], made["note"]) == ("MSELoss", 1, "a try")
    assert run.lineage["data"][0]["steps"] == 4
    assert run.status == "ended"
    assert any(node.kind == "linear" for node in run.graph.nodes.values())
