"""Summaries: the messages of TensorBoard's plugins, made from tensors and numbers."""

from __future__ import annotations

import io
import json
import wave
from typing import Any

import numpy as np
from google.protobuf import struct_pb2
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData
from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

from ..._tensor.tensor import Tensor
from ._arrays import as_bytes, convert_to_HWC, draw_boxes, encode_png, make_np, video_frames

__all__ = [
    "audio", "custom_scalars", "histogram", "histogram_raw", "hparams", "image", "image_boxes",
    "mesh", "pr_curve", "pr_curve_raw", "scalar", "tensor_proto", "text", "video",
]  # fmt: skip


def _shape(sizes: Any) -> Any:
    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in sizes])


def _floats(array: Any) -> Any:
    return TensorProto(
        dtype="DT_FLOAT", float_val=array.reshape(-1).tolist(), tensor_shape=_shape(array.shape)
    )


def _one(tag: str, plugin: str = "", content: bytes = b"", **value: Any) -> Any:
    """A summary of one value, with a plugin's metadata where one is named."""
    if plugin:
        data = SummaryMetadata.PluginData(plugin_name=plugin, content=content)
        value["metadata"] = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, **value)])


def scalar(
    name: str, tensor: Any, collections: Any = None, new_style: bool = False,
    double_precision: bool = False,
) -> Any:  # fmt: skip
    """One number; ``new_style`` as a tensor of the plugin for scalars."""
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions).             Was given size: "
            f"{array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _one(name, simple_value=number)
    if double_precision:
        return _one(name, "scalars", tensor=TensorProto(double_val=[number], dtype="DT_DOUBLE"))
    return _one(name, "scalars", tensor=TensorProto(float_val=[number], dtype="DT_FLOAT"))


# (TensorBoard's name of the type, its field, how the elements are put there)
_TENSOR_FIELDS: dict[str, tuple[str, str, Any]] = {
    # the bits of float32, which is what PyTorch's reader of these fields expects
    "float16": ("DT_HALF", "half_val", lambda a: a.astype(np.float32).view(np.int32)),
    "bfloat16": ("DT_BFLOAT16", "half_val", lambda a: a.astype(np.float32).view(np.int32)),
    "float32": ("DT_FLOAT", "float_val", None), "float64": ("DT_DOUBLE", "double_val", None),
    "int8": ("DT_INT8", "int_val", None), "uint8": ("DT_UINT8", "uint32_val", None),
    "int16": ("DT_INT16", "int_val", None), "int32": ("DT_INT32", "int_val", None),
    "int64": ("DT_INT64", "int64_val", None), "bool": ("DT_BOOL", "bool_val", None),
    "complex64": ("DT_COMPLEX64", "scomplex_val", lambda a: a.view(np.float32)),
    "complex128": ("DT_COMPLEX128", "dcomplex_val", lambda a: a.view(np.float64)),
}  # fmt: skip


def tensor_proto(tag: str, tensor: Any) -> Any:
    """A whole tensor; ValueError for 2 GB and more, and for types that there are no fields for."""
    if tensor.numel() * tensor.itemsize >= 1 << 31:
        raise ValueError("tensor is bigger than protocol buffer's hard limit of 2GB in size")
    found = _TENSOR_FIELDS.get(str(tensor.dtype).removeprefix("torch."))
    if found is None:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    name, field, convert = found
    array = np.ascontiguousarray(tensor.detach().array()).reshape(-1)
    elements = (array if convert is None else convert(array)).tolist()
    made = TensorProto(dtype=name, tensor_shape=_shape(tensor.shape), **{field: elements})
    return _one(tag, "tensor", tensor=made)


def histogram_raw(
    name: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any,  # noqa: A002
    bucket_counts: Any,
) -> Any:  # fmt: skip
    """A histogram that is counted already; each limit is the upper one of its bucket."""
    counted = HistogramProto(
        min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=bucket_limits,
        bucket=bucket_counts,
    )  # fmt: skip
    return _one(name, histo=counted)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> Any:
    """The elements counted in ``bins``, neighbours joined where there are over ``max_bins``."""
    flat = make_np(values).astype(float).reshape(-1)
    if flat.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(flat, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, limits = _joined_bins(counts, limits, len(counts) // max_bins)
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = int(filled[0]), int(filled[-1])
    # an empty bucket comes first, so that the lower limit of the next one is told
    counts = counts[first - 1 : last + 1] if first else np.concatenate([[0], counts[: last + 1]])
    return histogram_raw(
        name, flat.min(), flat.max(), len(flat), flat.sum(), flat.dot(flat),
        limits[first : last + 2].tolist(), counts.tolist(),
    )  # fmt: skip


def _joined_bins(counts: Any, limits: Any, step: int) -> tuple[Any, Any]:
    short = len(counts) % step
    if short:
        counts = np.pad(counts, (0, step - short))
    return counts.reshape(-1, step).sum(-1), np.append(limits[:-1:step], limits[-1])


def _picture(pixels: Any, rescale: float, boxes: Any = None, labels: Any = None) -> Any:
    from PIL import Image

    height, width, channels = pixels.shape
    drawn = Image.fromarray(pixels)
    if boxes is not None:
        drawn = draw_boxes(drawn, boxes, labels)
    size = (int(width * rescale), int(height * rescale))
    encoded = encode_png(drawn.resize(size, Image.Resampling.LANCZOS))
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=encoded
    )


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Any:
    """A picture, or a batch of them as a grid: bytes, or numbers from 0 to 1."""
    pixels = as_bytes(convert_to_HWC(make_np(tensor), dataformats))
    return _one(tag, image=_picture(pixels, rescale))


def image_boxes(
    tag: str, tensor_image: Any, tensor_boxes: Any, rescale: float = 1, dataformats: str = "CHW",
    labels: Any = None,
) -> Any:  # fmt: skip
    """A picture with red frames."""
    pixels = as_bytes(convert_to_HWC(make_np(tensor_image), dataformats))
    return _one(tag, image=_picture(pixels, rescale, make_np(tensor_boxes), labels))


def video(tag: str, tensor: Any, fps: float = 4) -> Any:
    """Clips (N, T, C, H, W) beside each other, as an animated GIF."""
    from PIL import Image

    pixels = as_bytes(video_frames(make_np(tensor)))
    if pixels.shape[3] == 1:
        pixels = np.repeat(pixels, 3, 3)
    frames = [Image.fromarray(frame) for frame in pixels]
    output = io.BytesIO()
    frames[0].save(
        output, "GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0
    )
    _, height, width, channels = pixels.shape
    made = Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=output.getvalue()
    )
    return _one(tag, image=made)


def audio(tag: str, tensor: Any, sample_rate: int = 44100) -> Any:
    """Samples from -1 to 1 as a wave file of 16 bits."""
    samples = make_np(tensor).squeeze()
    if abs(samples).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        samples = samples.clip(-1, 1)
    if samples.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (samples * np.iinfo(np.int16).max).astype("<i2")
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(samples.data)
    made = Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=samples.shape[-1],
        encoded_audio_string=output.getvalue(), content_type="audio/wav",
    )  # fmt: skip
    return _one(tag, audio=made)


def text(tag: str, text: str) -> Any:  # noqa: A002
    """A string, shown as markdown."""
    held = TensorProto(
        dtype="DT_STRING", string_val=[text.encode("utf_8")], tensor_shape=_shape([1])
    )
    content = TextPluginData(version=0).SerializeToString()
    return _one(f"{tag}/text_summary", "text", content, tensor=held)


# --- hyperparameters -----------------------------------------------------------------------------


def _check_hparams(hparam_dict: Any, metric_dict: Any, domains: Any) -> None:
    for name, value in (("hparam_dict", hparam_dict), ("metric_dict", metric_dict)):
        if not isinstance(value, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    if not isinstance(domains, dict):
        raise TypeError(
            "parameter: hparam_domain_discrete should be a dictionary, nothing logged."
        )
    for k, many in domains.items():
        if (
            k not in hparam_dict
            or not isinstance(many, list)
            or not all(isinstance(one, type(hparam_dict[k])) for one in many)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{k}] should be a list of same type as "
                f"hparam_dict[{k}]."
            )


def _session_value(value: Any) -> tuple[str, str, Any]:
    """(field, type, value) of a hyperparameter; True and False count as numbers."""
    if isinstance(value, (int, float)):
        return "number_value", "DATA_TYPE_FLOAT64", value
    if isinstance(value, str):
        return "string_value", "DATA_TYPE_STRING", value
    if isinstance(value, Tensor):
        return "number_value", "DATA_TYPE_FLOAT64", make_np(value)[0]
    raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")


def _hparams_value(tag: str, **content: Any) -> Any:
    data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
    return _one(tag, metadata.PLUGIN_NAME, data.SerializeToString())


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None
) -> Any:
    """(the experiment, the start of a session with its values, its end) as three summaries."""
    domains = hparam_domain_discrete or {}
    _check_hparams(hparam_dict, metric_dict, domains)
    start = plugin_data_pb2.SessionStartInfo()
    infos = []
    for name, value in hparam_dict.items():
        if value is None:
            continue
        field, kind, held = _session_value(value)
        setattr(start.hparams[name], field, held)
        domain = None
        if name in domains and not isinstance(value, Tensor):
            many = [struct_pb2.Value(**{field: one}) for one in domains[name]]
            domain = struct_pb2.ListValue(values=many)
        infos.append(
            api_pb2.HParamInfo(
                name=name, type=api_pb2.DataType.Value(kind), domain_discrete=domain
            )
        )
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=k)) for k in metric_dict]
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    return (
        _hparams_value(metadata.EXPERIMENT_TAG, experiment=experiment),
        _hparams_value(metadata.SESSION_START_INFO_TAG, session_start_info=start),
        _hparams_value(metadata.SESSION_END_INFO_TAG, session_end_info=end),
    )


# --- curves, charts and meshes -------------------------------------------------------------------


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any,
    num_thresholds: int = 127, weights: Any = None,
) -> Any:  # fmt: skip
    """A curve of precision over recall from counts at up to 127 thresholds."""
    data = np.stack((tp, fp, tn, fn, precision, recall))
    content = PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, 127))
    return _one(tag, "pr_curves", content.SerializeToString(), tensor=_floats(data))


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> Any:
    """A curve of precision over recall of predictions from 0 to 1."""
    count = min(num_thresholds, 127)
    places = np.int32(np.floor(predictions * (count - 1)))
    truth = labels.astype(np.float64)
    weight = 1.0 if weights is None else weights

    def at_least(share: Any) -> Any:
        """The weight of all predictions from each threshold on."""
        found, _ = np.histogram(places, bins=count, range=(0, count - 1), weights=share * weight)
        return np.cumsum(found[::-1])[::-1]

    tp, fp = at_least(truth), at_least(1.0 - truth)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision, recall = (tp / np.maximum(1e-7, tp + other) for other in (fp, fn))
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, count)


def custom_scalars(layout: Any) -> Any:
    """Charts of several scalars: {category: {title: ["Multiline" or "Margin", tags]}}."""
    categories = []
    for category, titles in layout.items():
        charts = []
        for title, (kind, tags, *_) in titles.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError("len(tags) != 3")
                series = layout_pb2.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                margin = layout_pb2.MarginChartContent(series=[series])
                charts.append(layout_pb2.Chart(title=title, margin=margin))
            else:
                lines = layout_pb2.MultilineChartContent(tag=tags)
                charts.append(layout_pb2.Chart(title=title, multiline=lines))
        categories.append(layout_pb2.Category(title=category, chart=charts))
    held = TensorProto(
        dtype="DT_STRING",
        string_val=[layout_pb2.Layout(category=categories).SerializeToString()],
        tensor_shape=TensorShapeProto(),
    )
    return _one("custom_scalars__config__", "custom_scalars", tensor=held)


def mesh(
    tag: str, vertices: Any, colors: Any, faces: Any, config_dict: Any, display_name: Any = None,
    description: Any = None,
) -> Any:  # fmt: skip
    """Points, triangles and colours in space, each (batch, count, 3)."""
    from tensorboard.plugins.mesh import metadata as meshes
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    config = "{}" if config_dict is None else json.dumps(config_dict, sort_keys=True)
    given = [
        (make_np(part), kind)
        for part, kind in (
            (vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE),
            (colors, MeshPluginData.COLOR),
        )
        if part is not None
    ]  # fmt: skip
    components = meshes.get_components_bitmask([kind for _, kind in given])
    values = []
    for part, kind in given:
        described = meshes.create_summary_metadata(
            tag, display_name, kind, components, part.shape, description, json_config=config
        )
        name = meshes.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=_floats(part), metadata=described))
    return Summary(value=values)
