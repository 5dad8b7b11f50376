"""What is read from small corpora: by real MindSpore 2.10, and by us.

    PYTHONPATH=. python tests/support/corpora_files/cases.py > tests/golden/corpora.json
"""

from __future__ import annotations

import importlib
import inspect
import json
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.corpora_files import pictures
from tests.support.corpora_files import texts_and_sounds as texts

__all__ = ["CASES", "arguments_of", "columns_of", "described", "key_of", "write_corpora"]

_WRITERS: dict[str, Callable[[Path], None]] = {
    "three_columns": lambda folder: texts.csv(folder, 3),
    "four_columns": lambda folder: texts.csv(folder, 4),
    "two_columns": lambda folder: texts.csv(folder, 2),
    "wikitext": lambda folder: texts.lines(folder, {
        part: f"wiki.{part}.tokens" for part in ("train", "test", "valid")}),
    "treebank": lambda folder: texts.lines(folder, {
        part: f"ptb.{part}.txt" for part in ("train", "test", "valid")}),
    "enwik9": lambda folder: texts.lines(folder, {"all": "enwik9"}),
    "iwslt2016": lambda folder: texts.iwslt(
        folder, "16", "texts/de/en/de-en", ("tst2013", "tst2014")),
    "iwslt2017": lambda folder: texts.iwslt(
        folder, "17", "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo", ("dev2010", "tst2010")),
    "conll": texts.conll, "udpos": texts.udpos, "imdb": texts.imdb, "multi30k": texts.multi30k,
    "squad": texts.squad, "sst2": texts.sst2, "clue": texts.clue, "arctic": texts.arctic,
    "gtzan": texts.gtzan, "libri": texts.libri, "ljspeech": texts.ljspeech,
    "commands": texts.commands, "tedlium": texts.tedlium, "yesno": texts.yesno,
    "kmnist": pictures.kmnist, "emnist": pictures.emnist, "qmnist": pictures.qmnist,
    "stl10": pictures.stl10, "semeion": pictures.semeion, "usps": pictures.usps,
    "caltech256": pictures.caltech256, "celeba": pictures.celeba,
    "cityscapes": pictures.cityscapes, "coco": pictures.coco, "div2k": pictures.div2k,
    "flickr": pictures.flickr, "food101": pictures.food101, "kitti": pictures.kitti,
    "lfw": pictures.lfw, "lsun": pictures.lsun, "manifest": pictures.manifest,
    "omniglot": pictures.omniglot, "phototour": pictures.phototour, "places": pictures.places,
    "rendered": pictures.rendered, "sbu": pictures.sbu, "sun397": pictures.sun397,
    "svhn": pictures.svhn, "caltech101": pictures.caltech101, "flowers": pictures.flowers,
    "boundaries": pictures.boundaries, "voc": pictures.voc, "widerface": pictures.widerface,
}  # fmt: skip

# (class, folder, path in it, arguments)
CASES: list[tuple[str, str, str, dict[str, Any]]] = []


def _case(name: str, folder: str, path: str = "", /, **arguments: Any) -> None:
    CASES.append((name, folder, path, arguments))


for _name, _folder in (
    ("AGNewsDataset", "three_columns"), ("AmazonReviewDataset", "three_columns"),
    ("DBpediaDataset", "three_columns"), ("SogouNewsDataset", "three_columns"),
    ("YahooAnswersDataset", "four_columns"), ("YelpReviewDataset", "two_columns"),
    ("CoNLL2000Dataset", "conll"), ("IMDBDataset", "imdb"),
    ("KMnistDataset", "kmnist"), ("USPSDataset", "usps"),
):  # fmt: skip
    for _usage in ("train", "test"):
        _case(_name, _folder, usage=_usage)
for _name, _folder in (
    ("WikiTextDataset", "wikitext"), ("PennTreebankDataset", "treebank"),
    ("UDPOSDataset", "udpos"), ("Multi30kDataset", "multi30k"),
):  # fmt: skip
    for _usage in ("train", "test", "valid"):
        _case(_name, _folder, usage=_usage)
_case("Multi30kDataset", "multi30k", usage="train", language_pair=["de", "en"])
_case("EnWik9Dataset", "enwik9")
_case("IMDBDataset", "imdb")
for _usage in ("train", "valid", "test"):
    _case("IWSLT2016Dataset", "iwslt2016", usage=_usage)
    _case("IWSLT2017Dataset", "iwslt2017", usage=_usage)
for _usage in ("train", "dev"):
    _case("SQuADDataset", "squad", usage=_usage)
for _usage in ("train", "dev", "test"):
    _case("SST2Dataset", "sst2", usage=_usage)
for _task in ("AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "WSC", "CSL"):
    _case("CLUEDataset", "clue", f"{_task.lower()}_test.json", task=_task, usage="test")
    _case("CLUEDataset", "clue", f"{_task.lower()}_train.json", task=_task)
_case("CMUArcticDataset", "arctic", name="ahw")
for _usage in ("train", "valid", "test"):
    _case("GTZANDataset", "gtzan", usage=_usage)
_case("LibriTTSDataset", "libri")
_case("LibriTTSDataset", "libri", usage="dev-clean")
_case("LJSpeechDataset", "ljspeech")
for _usage in ("train", "valid", "test", "all"):
    _case("SpeechCommandsDataset", "commands", usage=_usage)
_case("TedliumDataset", "tedlium", "one", release="release1", usage="train")
_case("TedliumDataset", "tedlium", "one", release="release1", usage="dev")
_case("TedliumDataset", "tedlium", "three", release="release3")
_case("YesNoDataset", "yesno")
_case("EMnistDataset", "emnist", name="letters", usage="train")
_case("EMnistDataset", "emnist", name="letters", usage="test")
for _usage in ("train", "test", "nist"):
    _case("QMnistDataset", "qmnist", usage=_usage)
_case("QMnistDataset", "qmnist", usage="train", compat=False)
for _usage in ("train", "test", "unlabeled", "train+unlabeled", "all"):
    _case("STL10Dataset", "stl10", usage=_usage)
_case("SemeionDataset", "semeion")
_case("Caltech256Dataset", "caltech256", decode=True)
for _usage in ("train", "valid", "all"):
    _case("CelebADataset", "celeba", usage=_usage, decode=True)
for _task in ("instance", "semantic", "polygon", "color"):
    _case("CityscapesDataset", "cityscapes", task=_task, decode=True)
_case("CityscapesDataset", "cityscapes", usage="all", task="polygon")
for _task, _file in (("Detection", "common"), ("Stuff", "common"), ("Keypoint", "common"),
                     ("Panoptic", "panoptic"), ("Captioning", "captions")):  # fmt: skip
    _case("CocoDataset", "coco", "images", annotation_file=f"../{_file}.json", task=_task,
          decode=True)  # fmt: skip
_case("DIV2KDataset", "div2k", usage="train", decode=True)
_case("DIV2KDataset", "div2k", usage="all", decode=True)
_case("DIV2KDataset", "div2k", usage="train", downgrade="mild", scale=4, decode=True)
_case("FlickrDataset", "flickr", "images", annotation_file="../results.token", decode=True)
for _usage in ("train", "test", "all"):
    _case("Food101Dataset", "food101", usage=_usage, decode=True)
for _usage in ("train", "test"):
    _case("KITTIDataset", "kitti", usage=_usage, decode=True)
for _usage in ("train", "test", "10fold", "all"):
    _case("LFWDataset", "lfw", task="people", usage=_usage, decode=True)
for _usage in ("train", "test", "10fold", "all"):
    _case("LFWDataset", "lfw", task="pairs", usage=_usage, image_set="original", decode=True)
for _usage in ("train", "valid", "test", "all"):
    _case("LSUNDataset", "lsun", usage=_usage, decode=True)
_case("LSUNDataset", "lsun", usage="train", classes=["classroom"], decode=True)
for _usage in ("train", "eval"):
    _case("ManifestDataset", "manifest", "data.manifest", usage=_usage, decode=True)
_case("OmniglotDataset", "omniglot", decode=True)
_case("OmniglotDataset", "omniglot", background=False, decode=True)
_case("PhotoTourDataset", "phototour", name="liberty", usage="train")
_case("PhotoTourDataset", "phototour", name="liberty", usage="test")
_case("Places365Dataset", "places", usage="train-standard", decode=True)
_case("Places365Dataset", "places", usage="val", decode=True)
for _usage in ("train", "val", "test", "all"):
    _case("RenderedSST2Dataset", "rendered", usage=_usage, decode=True)
_case("SBUDataset", "sbu", decode=True)
_case("SUN397Dataset", "sun397", decode=True)
for _usage in ("train", "val"):
    _case("VOCDataset", "voc", task="Segmentation", usage=_usage, decode=True)
    _case("VOCDataset", "voc", task="Detection", usage=_usage, decode=True)
_case("VOCDataset", "voc", task="Detection", class_indexing={"cat": 3, "train": 8}, decode=True)
for _usage in ("train", "test", "extra", "all"):
    _case("SVHNDataset", "svhn", usage=_usage)
for _target in ("category", "annotation", "all"):
    _case("Caltech101Dataset", "caltech101", target_type=_target, decode=True)
for _usage in ("train", "valid", "test", "all"):
    _case("Flowers102Dataset", "flowers", usage=_usage, task="Segmentation", decode=True)
_case("Flowers102Dataset", "flowers")
for _usage in ("train", "val", "train_noval", "all"):
    _case("SBDataset", "boundaries", usage=_usage, task="Boundaries", decode=True)
_case("SBDataset", "boundaries", task="Segmentation")
for _usage in ("train", "valid", "test", "all"):
    _case("WIDERFaceDataset", "widerface", usage=_usage, decode=True)


def write_corpora(folder: Path) -> None:
    """All corpora, each in a folder of its name."""
    for name, write in _WRITERS.items():
        write(folder / name)


def described(value: Any) -> Any:
    """A column's value as JSON: texts and short arrays whole, others by their checksum."""
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        texts = array.astype("U") if array.dtype.kind == "U" else np.char.decode(array, "utf-8")
        return ["text", texts.tolist()]
    kind = str(array.dtype)
    if array.size <= 24:
        return [kind, list(array.shape), array.tolist() if array.ndim else [array.item()]]
    return [kind, list(array.shape), zlib.crc32(np.ascontiguousarray(array).tobytes())]


def columns_of(ds: Any, folder: Path, case: tuple[str, str, str, dict[str, Any]]) -> Any:
    """The rows of a case in order, as JSON."""
    name, where, path, arguments = case
    given = dict(arguments)
    if "annotation_file" in given:
        given["annotation_file"] = str((folder / where / path / given["annotation_file"]).resolve())
    data = getattr(ds, name)(str(folder / where / path), shuffle=False, **given)
    rows = [
        {key: described(value) for key, value in row.items()}
        for row in data.create_dict_iterator(output_numpy=True, num_epochs=1)
    ]
    if name == "TedliumDataset":  # MindSpore 2.10 gives zeros
        for row in rows:
            row["waveform"] = row["waveform"][:2]
    return rows


def key_of(case: tuple[str, str, str, dict[str, Any]]) -> str:
    """A case as a text."""
    name, _, path, arguments = case
    return f"{name} {path} {json.dumps(arguments)}"


def arguments_of(ds: Any, name: str) -> list[str]:
    """The names of a class's arguments in their order."""
    return list(inspect.signature(getattr(ds, name)).parameters)


def main() -> None:
    """What real MindSpore reads."""
    ds = importlib.import_module("mindspore.dataset")

    ds.config.set_num_parallel_workers(1)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        write_corpora(folder)
        for case in CASES:
            found[key_of(case)] = columns_of(ds, folder, case)
    names = sorted({case[0] for case in CASES} | {"FakeImageDataset", "RandomDataset"})
    arguments = {name: arguments_of(ds, name) for name in names}
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(rows, ensure_ascii=False)}"
                       for key, rows in found.items())  # fmt: skip
    print(f'{{"arguments": {json.dumps(arguments)},\n"rows": {{\n{lines}\n}}}}')


if __name__ == "__main__":
    main()
