"""Corpora of pictures in folders and lists: one label, a caption or another picture for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._folders import directory_of
from ._corpus import Choice, Pictures, lines_of, text
from .arrays import mat_file

__all__ = [
    "Caltech101Dataset", "Caltech256Dataset", "CityscapesDataset", "DIV2KDataset", "FlickrDataset",
    "Flowers102Dataset", "Food101Dataset", "LFWDataset", "LSUNDataset", "ManifestDataset",
    "OmniglotDataset", "Places365Dataset", "RenderedSST2Dataset", "SBDataset", "SBUDataset",
    "SUN397Dataset",
]  # fmt: skip

_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp")


def pictures_in(folder: Path, endings: Sequence[str] = _ENDINGS) -> list[Path]:
    """The pictures of a folder, sorted by name."""
    return sorted(p for p in directory_of(folder).iterdir() if p.suffix.lower() in endings)


def _folders_in(folder: Path) -> list[Path]:
    return sorted(path for path in directory_of(folder).iterdir() if path.is_dir())


class _InParts(Pictures):
    """Pictures with ``usage``.

    Args:
        dataset_dir: the corpus's folder.
        usage: a part; all when None.
        decode: decode the pictures; their bytes otherwise.
    """

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode = bool(decode)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)


class _Whole(Pictures):
    """Pictures without parts.

    Args:
        dataset_dir: the corpus's folder.
        decode: decode the pictures; their bytes otherwise.
    """

    def __init__(
        self, dataset_dir: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode = bool(decode)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)


class Caltech256Dataset(_Whole):
    """Things of 257 kinds, a folder for each: "image", "label" int32."""

    names = ("image", "label")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for label, folder in enumerate(_folders_in(self.folder)):
            yield from ((path, np.int32(label)) for path in pictures_in(folder))


class SUN397Dataset(_Whole):
    """Scenes: "image", "label" uint32, the line of the folder in ClassName.txt."""

    names = ("image", "label")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for label, name in enumerate(lines_of(self.use("ClassName.txt"))):
            folder = self.folder / name.lstrip("/")
            yield from ((path, np.uint32(label)) for path in pictures_in(folder))


class SBUDataset(_Whole):
    """Photos with captions: "image", "caption". Photos that are not there are left out.

    Args:
        dataset_dir: holds SBU_captioned_photo_dataset_urls.txt, ..._captions.txt and sbu_images.
    """

    names = ("image", "caption")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        stem = "SBU_captioned_photo_dataset_"
        urls, captions = (lines_of(self.use(f"{stem}{name}.txt")) for name in ("urls", "captions"))
        if len(urls) != len(captions):
            raise RuntimeError(f"{len(urls)} addresses and {len(captions)} captions")
        for url, caption in zip(urls, captions, strict=True):
            name = "_".join(["m", *url.strip().split("/")[-2:]])
            path = self.folder / "sbu_images" / name
            if path.is_file():
                yield path, text(caption.strip())


class Food101Dataset(_InParts):
    """Dishes: "image", "label", the name of the dish.

    Args:
        dataset_dir: holds images/apple_pie/1005649.jpg, meta/train.txt and meta/test.txt.
    """

    names, parts = ("image", "label"), ("train", "test")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for name in filter(None, lines_of(self.use("meta", f"{part}.txt"))):
            path = self.folder / "images" / f"{name}.jpg"
            yield path, text(name.split("/")[0])


class RenderedSST2Dataset(_InParts):
    """Sentences as pictures: "image", "label" uint32, 1 for "positive".

    Args:
        dataset_dir: holds train/negative/0001.png, test and valid.
        usage: "train", "val", "test" or "all".
    """

    names, parts, whole = ("image", "label"), ("train", "val", "test"), ("test", "train", "val")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for label, mood in enumerate(("negative", "positive")):
            folder = self.folder / ("valid" if part == "val" else part) / mood
            yield from ((path, np.uint32(label)) for path in pictures_in(folder))


class OmniglotDataset(Pictures):
    """Letters of many alphabets: "image", "label" int32, the number of the letter.

    Args:
        dataset_dir: holds images_background/Greek/character01/0101_01.png, images_evaluation.
        background: the first set (None, True), or the second.
    """

    names = ("image", "label")

    def __init__(
        self, dataset_dir: Any, background: bool | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode = bool(decode)
        self.set_name = "images_evaluation" if background is False else "images_background"
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        alphabets = _folders_in(self.folder / self.set_name)
        letters = [letter for alphabet in alphabets for letter in _folders_in(alphabet)]
        for label, letter in enumerate(letters):
            yield from ((path, np.int32(label)) for path in pictures_in(letter))


class LSUNDataset(Pictures):
    """Scenes: "image", "label" uint32, the number of the folder.

    Args:
        dataset_dir: holds bedroom_train, bedroom_val, ..., test.
        usage: "train", "test", "valid" or "all".
        classes: some of the kinds.
    """

    names, parts, whole = ("image", "label"), ("train", "test", "valid"), ("",)

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, classes: Any = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode = bool(decode)
        self.classes = [classes] if isinstance(classes, str) else classes
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def _folder_names(self, part: str) -> list[str]:
        if part == "test":
            return ["test"]
        endings = {"train": ("_train",), "valid": ("_val",)}.get(part, ("_train", "_val"))
        found = [folder.name for folder in _folders_in(self.folder)]
        if self.classes is None:
            return [name for name in found if name.endswith(endings)]
        return [kind + ending for kind in self.classes for ending in endings]

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for label, name in enumerate(self._folder_names(part)):
            yield from ((path, np.uint32(label)) for path in pictures_in(self.folder / name))


class Places365Dataset(Pictures):
    """Places: "image", "label" uint32.

    Args:
        dataset_dir: holds categories_places365.txt, places365_train_standard.txt (or
            places365_train-standard.txt), places365_val.txt, data_256_standard, val_256, ...
        usage: "train-standard" unless given, "train-challenge" or "val".
        small: pictures of 256 x 256; the large ones otherwise.
    """

    names = ("image", "label")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, small: bool = True,
        decode: bool = False, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode, self.size = bool(decode), "256" if small else "large"
        allowed = ("train-standard", "train-challenge", "val")
        self.usage = usage or allowed[0]
        if self.usage not in allowed:
            raise ValueError(f"usage should be one of {list(allowed)}, but got {usage!r}")
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        _, _, kind = self.usage.partition("-")
        where = f"data_{self.size}_{kind}" if kind else f"val_{self.size}"
        names = [f"places365_{self.usage.replace('-', '_')}.txt", f"places365_{self.usage}.txt"]
        listed = next((name for name in names if (self.folder / name).is_file()), names[0])
        for line in lines_of(self.use(listed)):
            name, label = line.split()
            yield self.folder / where / name.lstrip("/"), np.uint32(label)


class FlickrDataset(Pictures):
    """Photos with five descriptions each: "image", "annotation", five texts.

    Args:
        dataset_dir: the folder of the photos.
        annotation_file: lines of photo#number, a tab, and a description.
    """

    names = ("image", "annotation")

    def __init__(
        self, dataset_dir: Any, annotation_file: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.decode, self.listed = bool(decode), Path(annotation_file)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        self.used.append(self.listed)
        said: dict[str, list[str]] = {}
        for line in lines_of(self.listed):
            photo, _, words = line.partition("\t")
            said.setdefault(photo.rpartition("#")[0], []).append(words)
        for photo in sorted(said):
            yield self.folder / photo, np.array(said[photo])


class DIV2KDataset(Pictures):
    """Pictures in two sizes: "hr_image", "lr_image".

    Args:
        dataset_dir: holds DIV2K_train_HR, DIV2K_train_LR_bicubic/X2, ..., DIV2K_train_LR_mild.
        usage: "train", "valid" or "all".
        downgrade: "bicubic", "unknown", "mild", "difficult" or "wild".
        scale: 2, 3, 4 or 8.
    """

    names, parts = ("hr_image", "lr_image"), ("train", "valid")
    _scales = {"bicubic": (2, 3, 4, 8), "unknown": (2, 3, 4)}  # noqa: RUF012

    def __init__(
        self, dataset_dir: Any, usage: str = "train", downgrade: str = "bicubic", scale: int = 2,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, decode: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if downgrade not in ("bicubic", "unknown", "mild", "difficult", "wild"):
            raise ValueError(f"downgrade {downgrade!r} is not known")
        if scale not in self._scales.get(downgrade, (4,)):
            raise ValueError(f"scale {scale} is not there for the downgrade {downgrade!r}")
        self.decode, self.downgrade, self.scale = bool(decode), downgrade, scale
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        kind, ending = f"LR_{self.downgrade}", f"x{self.scale}"
        if self.scale == 8:
            small = self.folder / f"DIV2K_{part}_LR_x8"
        elif self.downgrade in self._scales:
            small = self.folder / f"DIV2K_{part}_{kind}" / f"X{self.scale}"
        else:
            small, ending = self.folder / f"DIV2K_{part}_{kind}", ending + self.downgrade[0]
        for path in pictures_in(self.folder / f"DIV2K_{part}_HR"):
            yield path, small / f"{path.stem}{ending}{path.suffix}"


class CityscapesDataset(Pictures):
    """Streets: "image", and "task", a picture, or JSON for polygons.

    Args:
        dataset_dir: holds leftImg8bit/train/aachen/... and gtFine or gtCoarse.
        usage: "train", "test", "val" or "all"; with "coarse" "train_extra" in place of "test".
        quality_mode: "fine" or "coarse".
        task: "instance", "semantic", "polygon" or "color".
    """

    names = ("image", "task")
    _tasks = {"instance": "instanceIds.png", "semantic": "labelIds.png",  # noqa: RUF012
              "polygon": "polygons.json", "color": "color.png"}  # fmt: skip

    def __init__(
        self, dataset_dir: Any, usage: str = "train", quality_mode: str = "fine",
        task: str = "instance", num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if quality_mode not in ("fine", "coarse") or task not in self._tasks:
            raise ValueError(f"quality_mode is fine or coarse, task one of {list(self._tasks)}, "
                             f"but got {quality_mode!r}, {task!r}")  # fmt: skip
        fine = quality_mode == "fine"
        self.parts = ("train", "test", "val") if fine else ("train", "train_extra", "val")
        self.decode, self.task = bool(decode), task
        self.quality = "gtFine" if fine else "gtCoarse"
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for town in _folders_in(self.folder / "leftImg8bit" / part):
            for path in pictures_in(town):
                stem = path.name.removesuffix("_leftImg8bit.png")
                name = f"{stem}_{self.quality}_{self._tasks[self.task]}"
                yield path, self.folder / self.quality / part / town.name / name

    def make(self, item: Any) -> tuple[Any, ...]:
        path, other = item
        if self.task != "polygon":
            return self.picture(path), self.picture(other)
        held = json.loads(other.read_text(encoding="utf-8"))
        shown = json.dumps(held, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return self.picture(path), text(shown)


class ManifestDataset(Pictures):
    """Pictures that a file of JSON lines names: "image", "label" int32.

    Args:
        dataset_file: lines of {"source": path, "usage": ..., "annotation": [{"name": class}]}.
        usage: "train", "eval" or "inference".
        class_indexing: {class: number}; sorted classes are counted unless given.
    """

    names = ("image", "label")

    def __init__(
        self, dataset_file: Any, usage: str = "train", num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        class_indexing: dict[str, int] | None = None, decode: bool = False,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if usage not in ("train", "eval", "inference"):
            raise ValueError(f"usage should be train, eval or inference, but got {usage!r}")
        self.file, self.usage, self.decode = Path(dataset_file), usage, bool(decode)
        self.given = class_indexing
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(self.file.parent, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        lines = [json.loads(line) for line in filter(None, lines_of(self.use(self.file.name)))]
        chosen = [
            (Path(line["source"]), note["name"])
            for line in lines if line["usage"] == self.usage
            for note in line.get("annotation", [])[:1]
        ]  # fmt: skip
        kinds = sorted({kind for _, kind in chosen})
        self.class_indexing = self.given or {kind: n for n, kind in enumerate(kinds)}
        for path, kind in chosen:
            if kind in self.class_indexing:
                yield path, np.int32(self.class_indexing[kind])

    def num_classes(self) -> int | None:
        return len(self.class_indexing)

    def get_class_indexing(self) -> dict[str, int]:
        """{class: number}."""
        return dict(self.class_indexing)


class LFWDataset(Pictures):
    """Faces: "image", "label" uint32, the number of the person; or "image1", "image2", "label", 1
    for the same person.

    Args:
        dataset_dir: holds lfw, lfw_funneled, lfw-deepfunneled and the lists of people and pairs.
        task: "people" unless given, or "pairs".
        usage: "10fold", "train", "test" or "all".
        image_set: "original", "funneled" unless given, or "deepfunneled".
    """

    parts, whole = ("10fold", "train", "test"), ("train", "test")
    _sets = {"original": "lfw", "funneled": "lfw_funneled",  # noqa: RUF012
             "deepfunneled": "lfw-deepfunneled"}  # fmt: skip
    _lists = {"10fold": "", "train": "DevTrain", "test": "DevTest"}  # noqa: RUF012

    def __init__(
        self, dataset_dir: Any, task: str | None = None, usage: str | None = None,
        image_set: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None,
        decode: bool = False, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if task not in (None, "people", "pairs") or (image_set or "funneled") not in self._sets:
            raise ValueError(f"task is people or pairs, image_set one of {list(self._sets)}, but "
                             f"got {task!r}, {image_set!r}")  # fmt: skip
        self.decode, self.pairs = bool(decode), task == "pairs"
        self.set_name = self._sets[image_set or "funneled"]
        self.names = ("image1", "image2", "label") if self.pairs else ("image", "label")
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def _face(self, person: str, number: str) -> Path:
        return self.folder / self.set_name / person / f"{person}_{int(number):04}.jpg"

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        name = ("pairs" if self.pairs else "people") + self._lists[part]
        lines = [line.split("\t") for line in lines_of(self.use(f"{name}.txt"))]
        rows = [row for row in lines if len(row) > 1 and not row[0].isdigit()]
        if self.pairs:
            for row in rows:
                first, *others = row
                second = others if len(others) == 3 else [others[0], first, others[1]]
                yield (self._face(first, second[0]), self._face(second[1], second[2]),
                       np.uint32(len(others) == 2))  # fmt: skip
            return
        known = [line.split()[0] for line in lines_of(self.use("lfw-names.txt"))]
        for person, count in rows:
            for number in range(1, int(count) + 1):
                label = np.uint32(known.index(person))
                yield self._face(person, str(number)), label


class Caltech101Dataset(Pictures):
    """Things of 101 kinds: "image", "category" int64, "annotation", the points of an outline.

    Args:
        dataset_dir: holds 101_ObjectCategories and Annotations.
        target_type: "category" unless given, "annotation" or "all".
    """

    _renamed = {"Faces": "Faces_2", "Faces_easy": "Faces_3",  # noqa: RUF012
                "Motorbikes": "Motorbikes_16", "airplanes": "Airplanes_Side_2"}  # fmt: skip

    def __init__(
        self, dataset_dir: Any, target_type: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = 1, shuffle: bool | None = None, decode: bool = False,
        sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        self.target = target_type or "category"
        if self.target not in ("category", "annotation", "all"):
            raise ValueError(f"target_type should be category, annotation or all, but got "
                             f"{target_type!r}")  # fmt: skip
        others = ("category", "annotation") if self.target == "all" else (self.target,)
        self.decode, self.names = bool(decode), ("image", *others)
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        kinds = [path.name for path in _folders_in(self.folder / "101_ObjectCategories")]
        for label, kind in enumerate(k for k in kinds if k != "BACKGROUND_Google"):
            for path in pictures_in(self.folder / "101_ObjectCategories" / kind):
                number = path.stem.removeprefix("image_")
                outline = Path("Annotations", self._renamed.get(kind, kind),
                               f"annotation_{number}.mat")  # fmt: skip
                yield path, label, outline

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return [item[0] for item in self.items]

    def make(self, item: Any) -> tuple[Any, ...]:
        path, label, outline = item
        row: list[Any] = [self.picture(path)]
        if self.target != "annotation":
            row.append(np.int64(label))
        if self.target != "category":
            row.append(mat_file(self.folder / outline)["obj_contour"])
        return tuple(row)


class Flowers102Dataset(Pictures):
    """Flowers of 102 kinds: "image", with "Segmentation" "segmentation", "label" uint32.

    Args:
        dataset_dir: holds imagelabels.mat, setid.mat, jpg and segmim.
        task: "Classification" or "Segmentation".
        usage: "train", "valid", "test" or "all".
    """

    parts, whole = ("train", "valid", "test"), ("train", "test", "valid")

    def __init__(
        self, dataset_dir: Any, task: str = "Classification", usage: str = "all",
        num_samples: int | None = None, num_parallel_workers: int | None = 1,
        shuffle: bool | None = None, decode: bool = False, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        if task not in ("Classification", "Segmentation"):
            raise ValueError(f"task should be Classification or Segmentation, but got {task!r}")
        self.decode, self.segmented = bool(decode), task == "Segmentation"
        middle = ("segmentation",) if self.segmented else ()
        self.names = ("image", *middle, "label")
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        labels = mat_file(self.use("imagelabels.mat"))["labels"][0].astype(np.int64) - 1
        listed = mat_file(self.use("setid.mat"))
        for number in listed[{"train": "trnid", "test": "tstid"}.get(part, "valid")][0].tolist():
            stems = ("jpg/image", "segmim/segmim") if self.segmented else ("jpg/image",)
            paths = (self.folder / f"{stem}_{number:05}.jpg" for stem in stems)
            yield *paths, np.uint32(labels[number - 1])


class SBDataset(Pictures):
    """Pictures with boundaries: "image", "task": 20 masks (20, height, width), or one picture.

    Args:
        dataset_dir: holds img, cls, train.txt, val.txt and train_noval.txt.
        task: "Boundaries" or "Segmentation".
        usage: "train", "val", "train_noval" or "all" (the first two).
    """

    names = ("image", "task")
    parts, whole = ("train", "val", "train_noval"), ("train", "val")

    def __init__(
        self, dataset_dir: Any, task: str = "Boundaries", usage: str = "all",
        num_samples: int | None = None, num_parallel_workers: int | None = 1,
        shuffle: bool | None = None, decode: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        if task not in ("Boundaries", "Segmentation"):
            raise ValueError(f"task should be Boundaries or Segmentation, but got {task!r}")
        self.decode, self.task = bool(decode), task
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for name in map(str.strip, lines_of(self.use(f"{part}.txt"))):
            yield self.folder / "img" / f"{name}.jpg", self.folder / "cls" / f"{name}.mat"

    def make(self, item: Any) -> tuple[Any, ...]:
        path, marks = item
        held = mat_file(marks)["GTcls"][0][self.task][0]
        if self.task == "Segmentation":
            return self.picture(path), np.asarray(held)
        masks = np.stack([np.asarray(held[kind][0].toarray()) for kind in range(20)])
        return self.picture(path), masks


