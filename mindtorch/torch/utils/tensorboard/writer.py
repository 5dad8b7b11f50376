"""Writers of event files."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import _projector, summary
from ._arrays import figure_to_image, make_np
from ._graph import graph_of

__all__ = ["FileWriter", "SummaryWriter"]


def _no_graphs(what: str) -> NoReturn:
    raise NotImplementedError(
        f"{what} is not implemented in mindtorch: models are not exported to ONNX; add_graph draws "
        "a model's operations"
    )


class FileWriter:
    """One event file; events are written by a thread, at the latest after ``flush_secs``.

    Args:
        log_dir: the folder, made where it is missing.
        max_queue: how many events may wait.
        filename_suffix: the end of the file's name.
    """

    def __init__(
        self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """A GraphDef, or a pair of one and of what took how long (which we have none of)."""
        graph = graph_profile[0] if isinstance(graph_profile, tuple) else graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), walltime=walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        _no_graphs("FileWriter.add_onnx_graph")

    def flush(self) -> None:
        self.event_writer.flush()

    def close(self) -> None:
        self.event_writer.close()

    def reopen(self) -> None:
        self.event_writer.reopen()


def _bin_limits() -> list[float]:
    """TensorFlow's limits: 0 and, either side, from 1e-12 to 1e20, each 1.1 times the last."""
    limits = []
    limit = 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return [-x for x in reversed(limits)] + [0.0, *limits]


class SummaryWriter:
    """Writes what a script reports where TensorBoard finds it.

    Args:
        log_dir: the folder; runs/<date>_<host><comment> by default.
        purge_step: a step from which on events written before are to be hidden.
        max_queue, flush_secs, filename_suffix: as of :class:`FileWriter`.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None,
        max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins = _bin_limits()

    def _open(self, folder: Any) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        """The file of this run, opened again after ``close``."""
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._open(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                step = self.purge_step
                start = SessionLog(status=SessionLog.START)
                self.file_writer.add_event(Event(step=step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=step, session_log=start))
                self.purge_step = None
        return self.file_writer

    def _add(self, made: Any, step: Any, walltime: float | None = None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def get_logdir(self) -> Any:
        return self.log_dir

    def add_hparams(
        self, hparam_dict: Any, metric_dict: Any, hparam_domain_discrete: Any = None,
        run_name: str | None = None, global_step: Any = None,
    ) -> None:  # fmt: skip
        """Hyperparameters and what came of them, in a run of their own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        run = run_name or str(time.time())
        folder = os.path.join(self._get_file_writer().get_logdir(), run)
        with SummaryWriter(log_dir=folder) as own:
            for one in made:
                own._add(one, global_step)
            for name, value in metric_dict.items():
                own.add_scalar(name, value, global_step)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None,
        new_style: bool = False, double_precision: bool = False,
    ) -> None:  # fmt: skip
        """One number."""
        made = summary.scalar(
            tag, scalar_value, new_style=new_style, double_precision=double_precision
        )
        self._add(made, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Several numbers for one chart; each is a run of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        writers = self.all_writers
        assert writers is not None
        for tag, value in tag_scalar_dict.items():
            own = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if own not in writers:
                writers[own] = self._open(own)
            writers[own].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How the elements are distributed; ``bins`` are numpy's, or "tensorflow"."""
        limits = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, limits, max_bins), global_step, walltime)

    def add_histogram_raw(
        self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any,  # noqa: A002
        bucket_limits: Any, bucket_counts: Any, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A histogram that is counted already."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """A picture: bytes, or numbers from 0 to 1; ``dataformats`` names its axes."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """A batch of pictures as a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None,
        walltime: float | None = None, rescale: float = 1, dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:  # fmt: skip
        """A picture with red frames (left, top, right, bottom); labels one for each frame."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        made = summary.image_boxes(
            tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels
        )
        self._add(made, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A figure of matplotlib, or a list of them as a grid; ImportError without matplotlib."""
        axes = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, figure_to_image(figure, close), global_step, walltime, axes)

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Clips (N, T, C, H, W), moving."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A sound: (1, L) samples from -1 to 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """A text, in markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: Any) -> None:
        _no_graphs("SummaryWriter.add_onnx_graph")

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:  # fmt: skip
        """The operations of ``model(input_to_model)``, in the modules that make them.

        The model is traced by our own graphs, not run; a model that needs a tensor's data (a
        branch on a value) cannot be.

        Args:
            input_to_model: a tensor, or a tuple of tensors.
            verbose: print the graph's nodes.
            use_strict_trace: makes no difference: lists and dicts may always be returned.

        Raises:
            TypeError: ``input_to_model`` is something else.
            TracingError: the model needs a tensor's data.
        """
        graph = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._get_file_writer().add_graph(graph)

    @staticmethod
    def _encode(rawstr: str) -> str:
        for sign in "%/\\":
            rawstr = rawstr.replace(sign, f"%{ord(sign):02x}")
        return rawstr

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None,
        tag: str = "default", metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Points (N, D) for the projector, with labels and pictures (N, C, H, W)."""
        points = make_np(mat)
        step = 0 if global_step is None else global_step
        below = f"{str(step).zfill(5)}/{self._encode(tag)}"
        root = Path(self._get_file_writer().get_logdir())
        folder = root / below
        if folder.is_dir():
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        elif folder.exists():
            raise NotADirectoryError(
                f"Path: `{folder}` exists, but is a file. Cannot proceed."
            )
        folder.mkdir(parents=True, exist_ok=True)
        if metadata is not None:
            if points.shape[0] != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            _projector.write_labels(metadata, folder, metadata_header)
        if label_img is not None:
            if points.shape[0] != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            _projector.write_sprite(label_img, folder)
        if points.ndim != 2:
            raise AssertionError(
                "mat should be 2D, where mat.size(0) is the number of data points"
            )
        _projector.write_points(points, folder)
        config = self.__dict__.setdefault("_projector_config", ProjectorConfig())
        described = _projector.describe(metadata, label_img, below, step, tag)
        config.embeddings.extend([described])
        _projector.write_config(config, root)

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None,
        num_thresholds: int = 127, weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision over recall of predictions from 0 to 1, at many thresholds."""
        made = summary.pr_curve(
            tag, make_np(labels), make_np(predictions), num_thresholds, weights
        )
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any,
        true_negative_counts: Any, false_negative_counts: Any, precision: Any, recall: Any,
        global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision over recall that is computed already."""
        made = summary.pr_curve_raw(
            tag, true_positive_counts, false_positive_counts, true_negative_counts,
            false_negative_counts, precision, recall, num_thresholds, weights,
        )  # fmt: skip
        self._add(made, global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Any, category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Any, category: str = "default", title: str = "untitled"
    ) -> None:
        """A chart of a scalar between two others."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Any) -> None:
        """Charts: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout), None)

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None,
        config_dict: Any = None, global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Points, and triangles between them, in space; each (batch, count, 3)."""
        made = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    def flush(self) -> None:
        """Write everything that waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write everything and close the files; a later call opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
