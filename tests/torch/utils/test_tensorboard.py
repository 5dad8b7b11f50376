"""Event files: the same calls in PyTorch and here, read back by TensorBoard's own reader."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

pytest.importorskip("tensorboard", reason="comes with the extra 'test'; see constraints.txt")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

CALLS: dict[str, Any] = {
    "scalar": lambda t, w: [
        w.add_scalar("a", 1.5, 3), w.add_scalar("b", t.tensor([2.0]), 4, walltime=7.0),
        w.add_scalar("c", 0.1, 1, new_style=True),
        w.add_scalar("d", 0.1, 1, new_style=True, double_precision=True),
    ],
    "scalars": lambda t, w: w.add_scalars("run/x", {"p": 1.0, "q": t.tensor(2.0)}, 5),
    "tensor": lambda t, w: [
        w.add_tensor(str(d), t.arange(6).reshape(2, 3).to(getattr(t, d)), 1)
        for d in ("float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32",
                  "int64", "bool", "complex64", "complex128")
    ],
    "histogram": lambda t, w: [
        w.add_histogram("h", t.arange(-50.0, 50.0) / 7, 2), w.add_histogram("z", t.ones(3), 2),
        w.add_histogram("n", np.arange(100), 2, bins="auto"),
        w.add_histogram("m", t.arange(40), 1, bins=20, max_bins=7),
        w.add_histogram_raw("r", 0, 4, 5, 6.0, 7.0, [1.0, 2.0], [2, 3], 1),
    ],
    "image": lambda t, w: [
        w.add_image("i", t.arange(60.0).reshape(3, 4, 5) / 60, 1),
        w.add_image("hwc", (t.arange(60).reshape(4, 5, 3)).to(t.uint8), 1, dataformats="HWC"),
        w.add_image("hw", t.arange(20.0).reshape(4, 5) / 20, 1, dataformats="HW"),
        w.add_images("batch", t.arange(540.0).reshape(9, 3, 4, 5) / 540, 1),
        w.add_images("gray", t.arange(60.0).reshape(3, 1, 4, 5) / 60, 1),
        w.add_image_with_boxes("box", t.ones(3, 60, 70), t.tensor([[5, 6, 50, 40]]), labels="cat"),
    ],
    "audio": lambda t, w: w.add_audio("s", (t.arange(50.0) / 25 - 1).reshape(1, 50), 1, 8000),
    "text": lambda t, w: w.add_text("t", "héllo **you**", 3),
    "pr_curve": lambda t, w: [
        w.add_pr_curve("p", t.arange(20) % 2, t.arange(20) / 20, 1),
        w.add_pr_curve("few", t.arange(20) % 3 == 0, t.arange(20) / 20, 1, 11, np.full(20, 2.0)),
        w.add_pr_curve_raw("raw", *[np.arange(4.0)] * 6, 2, 4),
    ],
    "layout": lambda t, w: [
        w.add_custom_scalars({"c": {"x": ["Multiline", ["a", "b"]], "y": ["Margin", [*"abc"]]}}),
    ],
    "mesh": lambda t, w: w.add_mesh(
        "m", t.arange(12.0).reshape(1, 4, 3), colors=t.ones(1, 4, 3).int(),
        faces=t.tensor([[[0, 1, 2]]]), config_dict={"a": 1}, global_step=2,
    ),
    "hparams": lambda t, w: w.add_hparams(
        {"lr": 0.1, "bs": 4, "name": "x", "flag": True, "none": None, "t": t.tensor([3.0])},
        {"acc": 0.5, "loss": t.tensor(2.0)}, {"bs": [2, 4], "name": ["x", "y"]}, "run", 4,
    ),
    "embedding": lambda t, w: [
        w.add_embedding(t.arange(6.0).reshape(3, 2), [*"abc"], t.ones(3, 3, 4, 4) / 3, 1, "a/b"),
        w.add_embedding(t.arange(4.0).reshape(2, 2), [[1, 2], [3, 4]], metadata_header=["p", "q"]),
    ],
    "purge": lambda t, w: [type(w)(w.log_dir, purge_step=7, filename_suffix=".z").close()],
}  # fmt: skip
REFUSED: dict[str, Any] = {
    "two elements": lambda t, w: w.add_scalar("a", t.ones(2)),
    "a string": lambda t, w: w.add_scalar("a", object()),
    "empty": lambda t, w: w.add_histogram("h", t.ones(0)),
    "axes": lambda t, w: w.add_image("i", t.ones(3, 4, 5), dataformats="HW"),
    "axes twice": lambda t, w: w.add_image("i", t.ones(3, 4, 5), dataformats="HHW"),
    "limits": lambda t, w: w.add_histogram_raw("r", 0, 4, 5, 6.0, 7.0, [1.0], [2, 3]),
    "no dictionary": lambda t, w: w.add_hparams([1], {}),
    "a list": lambda t, w: w.add_hparams({"a": [1]}, {}),
    "domain": lambda t, w: w.add_hparams({"a": 1}, {}, {"a": 3}),
    "labels": lambda t, w: w.add_embedding(t.ones(2, 2), ["a"]),
    "pictures": lambda t, w: w.add_embedding(t.ones(2, 2), label_img=t.ones(1, 3, 2, 2)),
    "points": lambda t, w: w.add_embedding(t.ones(2)),
    "tags": lambda t, w: w.add_custom_scalars_marginchart(["a"]),
}


def _written(library: Any, call: Any, folder: Path) -> Any:
    """Every file's events, without times, and the projector's files as bytes."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    module = _module(library)
    with module.SummaryWriter(folder) as writer:
        call(library, writer)
    found: dict[str, Any] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        place = str(path.relative_to(folder).parent)
        if "tfevents" not in path.name:
            found[f"{place}/{path.name}"] = path.read_bytes()
            continue
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            event.ClearField("source_metadata")
            if event.wall_time != 7.0:
                event.ClearField("wall_time")
            found.setdefault(place, []).append(str(event))
    return found


def _module(library: Any) -> Any:
    if library is torch:
        import torch.utils.tensorboard as module
    else:
        import mindtorch.torch.utils.tensorboard as module  # type: ignore[no-redef]
    return module


@pytest.mark.parametrize("name", CALLS)
def test_event_files_hold_what_pytorch_writes(name: str, tmp_path: Path) -> None:
    """Message for message; TensorBoard itself is the reader."""
    mine = _written(ours, CALLS[name], tmp_path / "ours")
    theirs = _written(torch, CALLS[name], tmp_path / "theirs")
    assert mine == theirs


@pytest.mark.parametrize("name", REFUSED)
def test_arguments_are_refused_as_by_pytorch(name: str, tmp_path: Path) -> None:
    """Same type and text."""
    errors = []
    for library in (ours, torch):
        writer = _module(library).SummaryWriter(tmp_path / library.__name__)
        with pytest.raises(Exception) as caught:
            REFUSED[name](library, writer)
        writer.close()
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_the_accumulator_reads_values(tmp_path: Path) -> None:
    """The reader that TensorBoard's pages use gives back steps and numbers."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with _module(ours).SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            writer.add_scalar("loss", step / 2, step)
    read = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in read.Scalars("loss")] == [(0, 0.0), (1, 0.5), (2, 1.0)]


def test_a_video_is_an_animated_picture(tmp_path: Path) -> None:
    """Written with pillow, where PyTorch asks for moviepy."""
    import io

    from PIL import Image

    from mindtorch.torch.utils.tensorboard.summary import video

    made = video("v", ours.rand(3, 5, 3, 8, 6), 2).value[0].image
    frames: Any = Image.open(io.BytesIO(made.encoded_image_string))
    assert (frames.n_frames, frames.size) == (5, (24, 8))


def test_figures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib the error is its ImportError; with it, the figure's pixels are logged."""
    with _module(ours).SummaryWriter(str(tmp_path)) as writer:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match="matplotlib"):
            writer.add_figure("f", object())


def test_a_models_graph_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its operations, in the scopes of its modules, joined by what they compute; the model is
    traced, so that its statistics stay."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = ours.nn.Sequential(
        ours.nn.Linear(4, 3), ours.nn.BatchNorm1d(3), ours.nn.Dropout(), ours.nn.ReLU()
    )
    with _module(ours).SummaryWriter(str(tmp_path)) as writer:
        writer.add_graph(model, (ours.rand(2, 4),), verbose=True)
    assert not model[1].running_mean.any() and model[1].num_batches_tracked == 0
    graph = EventAccumulator(str(tmp_path)).Reload().Graph()
    nodes = {node.name: node for node in graph.node}
    linear = nodes["Sequential/Linear[0]/linear"]
    assert list(linear.input) == [
        "input/input.0", "Sequential/Linear[0]/weight", "Sequential/Linear[0]/bias",
    ]  # fmt: skip
    shape = linear.attr["_output_shapes"].list.shape[0]
    assert [dim.size for dim in shape.dim] == [2, 3]
    assert list(nodes["output/output.0"].input) == ["Sequential/ReLU[3]/relu"]
    known = {name.partition(":")[0] for name in nodes}
    assert all(i.partition(":")[0] in known for node in graph.node for i in node.input)
    assert "Sequential/ReLU[3]/relu" in capsys.readouterr().out


def test_a_model_that_cannot_be_traced_is_refused(tmp_path: Path) -> None:
    """And no file pretends to hold its graph; nor is ONNX drawn."""

    class Branching(ours.nn.Module):
        def forward(self, x: Any) -> Any:
            return x if x.sum() > 0 else -x

    with _module(ours).SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(RuntimeError, match="has no data yet"):
            writer.add_graph(Branching(), ours.ones(2))
        with pytest.raises(TypeError, match="must be a tensor"):
            writer.add_graph(ours.nn.Linear(2, 2), "x")
        with pytest.raises(NotImplementedError, match="ONNX"):
            writer.add_onnx_graph("x")
    assert ours.nn.Linear(2, 2)(ours.ones(1, 2)).shape == (1, 2)


def test_without_the_package_the_import_fails_as_in_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """tensorboard is no dependency of mindtorch; scripts catch its ImportError."""
    for name in [n for n in sys.modules if n.startswith("mindtorch.torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(ModuleNotFoundError, match="tensorboard"):
        _module(ours)
