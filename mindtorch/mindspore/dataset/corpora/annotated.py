"""Corpora of pictures with boxes, outlines, key points and attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .._rows import refuse
from ._corpus import Choice, Pictures, lines_of
from .pictures import pictures_in

__all__ = ["CelebADataset", "CocoDataset", "KITTIDataset", "VOCDataset", "WIDERFaceDataset"]


def _column(values: Sequence[Any], dtype: Any) -> Any:
    """One value for each object, as MindSpore has them: (objects, 1)."""
    return np.array(values, dtype).reshape(-1, 1)


class CelebADataset(Pictures):
    """Faces with 40 attributes: "image", "attr" uint32, 0 or 1.

    Args:
        dataset_dir: holds the pictures, list_attr_celeba.txt and, for parts,
            list_eval_partition.txt.
        usage: "train", "valid", "test" or "all".
        extensions: of the pictures that are used.
    """

    names, parts, whole = ("image", "attr"), ("train", "valid", "test"), ("",)

    def __init__(
        self, dataset_dir: Any, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, usage: str = "all", sampler: Any = None,
        decode: bool = False, extensions: Any = None, num_samples: int | None = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
        decrypt: Any = None,
    ) -> None:  # fmt: skip
        refuse(decrypt=decrypt)
        self.decode, self.extensions = bool(decode), tuple(extensions or ())
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        rows = [line.split() for line in lines_of(self.use("list_attr_celeba.txt"))[2:]]
        code = {"train": "0", "valid": "1", "test": "2"}.get(part)
        wanted = None
        if code is not None:
            listed = (line.split() for line in lines_of(self.use("list_eval_partition.txt")))
            wanted = {row[0] for row in listed if row and row[1] == code}
        for name, *marks in filter(None, rows):
            fits = not self.extensions or name.endswith(self.extensions)
            if fits and (wanted is None or name in wanted):
                yield self.folder / name, (np.array(marks, np.int32) > 0).astype(np.uint32)


class KITTIDataset(Pictures):
    """Streets seen from a car: "image", and of each object "label" uint32, "truncated", "occluded",
    "alpha", "bbox", "dimensions", "location", "rotation_y"; of "test" only "image".

    Args:
        dataset_dir: holds data_object_image_2/training/image_2 and data_object_label_2/...
        usage: "train" unless given, or "test".
    """

    parts = ("train", "test")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if usage == "all":
            raise ValueError("usage should be train or test, but got 'all'")
        self.decode = bool(decode)
        more = "label truncated occluded alpha bbox dimensions location rotation_y".split()
        self.names = ("image",) if usage == "test" else ("image", *more)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage or "train", choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        where = "testing" if part == "test" else "training"
        paths = pictures_in(self.folder / "data_object_image_2" / where / "image_2")
        if part == "test":
            yield from ((path,) for path in paths)
            return
        found = []
        for path in paths:
            listed = self.use("data_object_label_2", where, "label_2", f"{path.stem}.txt")
            found.append([line.split() for line in lines_of(listed) if line.strip()])
        kinds = sorted({row[0] for rows in found for row in rows})
        for path, rows in zip(paths, found, strict=True):
            labels = [kinds.index(row[0]) for row in rows]
            values = np.array([row[1:15] for row in rows], np.float64).reshape(-1, 14)
            floats = values.astype(np.float32)
            yield (
                path, _column(labels, np.uint32), floats[:, :1],
                values[:, 1:2].astype(np.int64).astype(np.uint32), floats[:, 2:3], floats[:, 3:7],
                floats[:, 7:10], floats[:, 10:13], floats[:, 13:14],
            )  # fmt: skip

    def make(self, item: Any) -> tuple[Any, ...]:
        return tuple(self.picture(each) if isinstance(each, Path) else np.ascontiguousarray(each)
                     for each in item)  # fmt: skip


_FACES = ("blur", "expression", "illumination", "occlusion", "pose", "invalid")


class WIDERFaceDataset(Pictures):
    """Faces in photos: "image", "bbox" int32 (faces, 4), and of each face "blur", "expression",
    "illumination", "occlusion", "pose", "invalid", int32: the numbers of the file's lines, in
    their order, by the names that MindSpore gives them. Of "test" only "image".

    Args:
        dataset_dir: holds WIDER_train/images, ... and wider_face_split.
        usage: "train", "valid", "test" or "all", train and valid.
    """

    parts, whole = ("train", "valid", "test"), ("train", "valid")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode = bool(decode)
        self.names = ("image",) if usage == "test" else ("image", "bbox", *_FACES)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        code = {"valid": "val"}.get(part, part)
        ending = "filelist" if part == "test" else "bbx_gt"
        listed = self.use("wider_face_split", f"wider_face_{code}_{ending}.txt")
        lines = iter(lines_of(listed))
        folder = self.folder / f"WIDER_{code}" / "images"
        for name in lines:
            if part == "test":
                yield (folder / name.strip(),)
                continue
            count = int(next(lines))
            # a photo without a face has one line of zeros
            rows = [next(lines).split()[:10] for _ in range(max(count, 1))]
            values = np.array(rows, np.int32).reshape(-1, 10)
            columns = (np.ascontiguousarray(values[:, at]) for at in range(4, 10))
            yield folder / name.strip(), np.ascontiguousarray(values[:, :4]), *columns


class VOCDataset(Pictures):
    """Pictures of things: "image" and "target", a picture ("Segmentation"), or "bbox" float32
    (left, top, width, height), "label", "difficult", "truncate" uint32 ("Detection").

    Args:
        dataset_dir: holds JPEGImages, Annotations, SegmentationClass, ImageSets.
        task: "Segmentation" or "Detection".
        usage: the name of a list in ImageSets.
        class_indexing: {class: number}; sorted classes are counted unless given.
        extra_metadata: raises: rows hold the columns above.
    """

    def __init__(
        self, dataset_dir: Any, task: str = "Segmentation", usage: str = "train",
        class_indexing: dict[str, int] | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None, extra_metadata: bool = False,
        decrypt: Any = None,
    ) -> None:  # fmt: skip
        refuse(extra_metadata=extra_metadata, decrypt=decrypt)
        if task not in ("Segmentation", "Detection"):
            raise ValueError(f"Invalid task : {task}.")
        if class_indexing is not None and task == "Segmentation":
            raise ValueError("class_indexing is not supported in Segmentation task.")
        self.decode, self.task, self.usage = bool(decode), task, usage
        self.given = class_indexing
        more = ("target",) if task == "Segmentation" else ("bbox", "label", "difficult", "truncate")
        self.names = ("image", *more)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        where = "Main" if self.task == "Detection" else self.task
        listed = lines_of(self.use("ImageSets", where, f"{self.usage}.txt"))
        names = [line.split()[0] for line in listed if line.strip()]
        pictures = [self.folder / "JPEGImages" / f"{name}.jpg" for name in names]
        if self.task == "Segmentation":
            targets = (self.folder / "SegmentationClass" / f"{name}.png" for name in names)
            yield from zip(pictures, targets, strict=True)
            return
        found = [_voc_objects(self.use("Annotations", f"{name}.xml")) for name in names]
        kinds = sorted({thing[0] for things in found for thing in things})
        self.class_indexing = self.given or {kind: n for n, kind in enumerate(kinds)}
        for path, things in zip(pictures, found, strict=True):
            used = [thing for thing in things if thing[0] in self.class_indexing]
            if used:
                boxes = np.array([thing[1] for thing in used], np.float32)
                marks = ([self.class_indexing[thing[0]] for thing in used],
                         [thing[2] for thing in used], [thing[3] for thing in used])  # fmt: skip
                yield path, boxes, *(_column(each, np.uint32) for each in marks)

    def get_class_indexing(self) -> dict[str, int]:
        """{class: number}.

        Raises:
            NotImplementedError: the task is not "Detection".
        """
        if self.task != "Detection":
            raise NotImplementedError("Only 'Detection' support get_class_indexing.")
        return dict(self.class_indexing)


def _voc_objects(path: Path) -> list[tuple[str, list[float], int, int]]:
    """(class, (left, top, width, height), difficult, truncated) of each object of a file.

    Raises:
        RuntimeError: it cannot be read.
    """
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise RuntimeError(f"Invalid file, {path} cannot be read: {error}") from None
    found = []
    for thing in root.iter("object"):
        box = [float(thing.findtext(f"bndbox/{name}", "0")) for name in
               ("xmin", "ymin", "xmax", "ymax")]  # fmt: skip
        found.append((
            thing.findtext("name", ""), [box[0], box[1], box[2] - box[0], box[3] - box[1]],
            int(thing.findtext("difficult", "0")), int(thing.findtext("truncated", "0")),
        ))  # fmt: skip
    return found


def _padded(rows: list[list[float]]) -> Any:
    """Rows of several lengths as one array, -1 where there is nothing."""
    found = np.full((len(rows), max(map(len, rows), default=0)), -1, np.float32)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


def _outline(thing: dict[str, Any]) -> list[float]:
    held = thing["segmentation"]
    if isinstance(held, dict):
        return list(held["counts"])
    return [number for part in held for number in part]


_COCO = {
    "Detection": ("bbox", "category_id", "iscrowd"),
    "Stuff": ("segmentation", "iscrowd"),
    "Keypoint": ("keypoints", "num_keypoints"),
    "Panoptic": ("bbox", "category_id", "iscrowd", "area"),
    "Captioning": ("captions",),
}


class CocoDataset(Pictures):
    """Things in context: "image", and by task "bbox", "category_id", "iscrowd" (Detection);
    "segmentation", "iscrowd" (Stuff); "keypoints", "num_keypoints" (Keypoint); with "area"
    (Panoptic); "captions" (Captioning). One row of each array belongs to one thing.

    Args:
        dataset_dir: the folder of the pictures.
        annotation_file: the file of JSON.
        extra_metadata: raises: rows hold the columns above.
    """

    def __init__(
        self, dataset_dir: Any, annotation_file: Any, task: str = "Detection",
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
        extra_metadata: bool = False, decrypt: Any = None,
    ) -> None:  # fmt: skip
        refuse(extra_metadata=extra_metadata, decrypt=decrypt)
        if task not in _COCO:
            raise ValueError(f"Invalid task type: {task}.")
        self.decode, self.task, self.listed = bool(decode), task, Path(annotation_file)
        if not self.listed.is_file():
            raise ValueError(f"The file {annotation_file} does not exist or permission denied!")
        self.names = ("image", *_COCO[task])
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        self.used.append(self.listed)
        held = json.loads(self.listed.read_text(encoding="utf-8"))
        self.kinds = {
            kind["name"]: [kind["id"]] + [int(kind["isthing"])] * (self.task == "Panoptic")
            for kind in held.get("categories", [])
        }
        things: dict[int, list[Any]] = {}
        for note in held["annotations"]:
            parts = note["segments_info"] if self.task == "Panoptic" else [note]
            things.setdefault(note["image_id"], []).extend(parts)
        for image in held["images"]:
            if image["id"] in things:
                yield self.folder / image["file_name"], *self._columns(things[image["id"]])

    def _columns(self, things: list[Any]) -> Iterator[Any]:
        for name in _COCO[self.task]:
            if name == "bbox":
                yield np.array([thing["bbox"] for thing in things], np.float32)
            elif name == "segmentation":
                yield _padded([_outline(thing) for thing in things])
            elif name == "keypoints":
                yield _padded([thing["keypoints"] for thing in things])
            elif name == "captions":
                yield np.array([[thing["caption"]] for thing in things])
            else:
                yield _column([thing[name] for thing in things], np.uint32)

    def get_class_indexing(self) -> dict[str, list[int]]:
        """{class: [its number]}, of "Panoptic" with whether it is a thing.

        Raises:
            NotImplementedError: the task has no classes.
        """
        if self.task not in ("Detection", "Panoptic"):
            raise NotImplementedError("Only 'Detection' and 'Panoptic' support "
                                      "get_class_indexing.")  # fmt: skip
        return dict(self.kinds)
