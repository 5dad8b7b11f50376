"""Files of TensorBoard's projector: points, their labels and their pictures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import EmbeddingInfo

from ._arrays import encode_png, make_grid, make_np


def write_labels(metadata: Any, folder: Path, header: Any = None) -> None:
    """One line for each point; with a ``header`` each is a row of that many columns."""
    lines = [str(one) for one in metadata]
    if header:
        if len(header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(str(cell) for cell in row) for row in [header, *metadata]]
    (folder / "metadata.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sprite(pictures: Any, folder: Path) -> None:
    """All pictures in one square, from left to right and down."""
    from PIL import Image

    side = math.ceil(pictures.shape[0] ** 0.5)
    grid = make_grid(make_np(pictures), side).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    drawn = Image.fromarray(np.uint8((square * 255).clip(0, 255)))
    (folder / "sprite.png").write_bytes(encode_png(drawn))


def write_points(points: Any, folder: Path) -> None:
    lines = ["\t".join(str(x) for x in row.tolist()) for row in points]
    (folder / "tensors.tsv").write_text("".join(f"{line}\n" for line in lines))


def describe(
    metadata: Any, pictures: Any, folder: str, step: Any, tag: str
) -> Any:
    """Where the files of one embedding are."""
    info = EmbeddingInfo(
        tensor_name=f"{tag}:{str(step).zfill(5)}", tensor_path=f"{folder}/tensors.tsv"
    )
    if metadata is not None:
        info.metadata_path = f"{folder}/metadata.tsv"
    if pictures is not None:
        info.sprite.image_path = f"{folder}/sprite.png"
        info.sprite.single_image_dim.extend([pictures.shape[3], pictures.shape[2]])
    return info


def write_config(config: Any, folder: Path) -> None:
    (folder / "projector_config.pbtxt").write_text(text_format.MessageToString(config))
