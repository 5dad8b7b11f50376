"""Corpora of texts: classification, tagging, translation, questions, running text."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._folders import directory_of
from ..text_sources import Shuffle, files_of
from ._corpus import Choice, Corpus, Lines, lines_of, text

__all__ = [
    "AGNewsDataset", "AmazonReviewDataset", "CLUEDataset", "CoNLL2000Dataset", "DBpediaDataset",
    "EnWik9Dataset", "IMDBDataset", "IWSLT2016Dataset", "IWSLT2017Dataset", "Multi30kDataset",
    "PennTreebankDataset", "SQuADDataset", "SST2Dataset", "SogouNewsDataset", "UDPOSDataset",
    "WikiTextDataset", "YahooAnswersDataset", "YelpReviewDataset",
]  # fmt: skip


class _InFiles(Lines):
    """Texts in one file for each part; shuffled unless told otherwise.

    Args:
        dataset_dir: the corpus's folder.
        usage: a part; all when None.
        shuffle: True, False, or a :class:`Shuffle`.
    """

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)


class _WorkersLast(Lines):
    """The same with the arguments in another order."""

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
        shard_id: int | None = None, num_parallel_workers: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)


class _Separated(Corpus):
    """Rows of train.csv and test.csv: quoted texts."""

    parts = ("train", "test")

    def read(self, part: str) -> Iterator[tuple[str, ...]]:
        path = self.use(f"{part}.csv")
        for row in csv.reader(lines_of(path)):
            if row and len(row) != len(self.names):
                raise RuntimeError(
                    f"Invalid csv, csv file: {path} parse failed: {len(row)} values for the "
                    f"columns {list(self.names)}."
                )
            if row:
                yield tuple(row)


class AGNewsDataset(_Separated, _InFiles):
    """News in four classes: "index", "title", "description", texts."""

    names = ("index", "title", "description")


class AmazonReviewDataset(_Separated, _InFiles):
    """Reviews, two or five classes: "label", "title", "content", texts."""

    names = ("label", "title", "content")


class DBpediaDataset(_Separated, _InFiles):
    """Articles in 14 classes: "class", "title", "content", texts."""

    names = ("class", "title", "content")


class YahooAnswersDataset(_Separated, _InFiles):
    """Questions in ten classes: "class", "title", "content", "answer", texts."""

    names = ("class", "title", "content", "answer")


class SogouNewsDataset(_Separated, _WorkersLast):
    """News in five classes: "index", "title", "content", texts."""

    names = ("index", "title", "content")


class YelpReviewDataset(_Separated, _WorkersLast):
    """Reviews, two or five classes: "label", "text", texts."""

    names = ("label", "text")


class WikiTextDataset(_InFiles):
    """Lines of wiki.train.tokens and the like without those that are empty: "text"."""

    names, parts = ("text",), ("train", "test", "valid")
    pattern = "wiki.{}.tokens"

    def read(self, part: str) -> Iterator[tuple[str]]:
        return ((line,) for line in lines_of(self.use(self.pattern.format(part))) if line)


class PennTreebankDataset(WikiTextDataset):
    """Lines of ptb.train.txt and the like without those that are empty: "text"."""

    pattern = "ptb.{}.txt"


class EnWik9Dataset(Lines):
    """The lines of the file enwik9, empty ones too: "text"."""

    names = ("text",)

    def __init__(
        self, dataset_dir: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)

    def read(self, part: str) -> Iterator[tuple[str]]:
        return ((line,) for line in lines_of(self.use("enwik9")))


class _Tagged(_WorkersLast):
    """Sentences as columns of words and tags, one line for a word, an empty one between."""

    separator = " "

    def sentences(self, path: Path) -> Iterator[tuple[Any, ...]]:
        """The sentences of a file, each a tuple of arrays of texts."""
        words: list[list[str]] = []
        for line in [*lines_of(path), ""]:
            if line.strip():
                words.append(line.split(self.separator))
            elif words:
                yield tuple(np.array(column) for column in zip(*words, strict=True))
                words = []


class CoNLL2000Dataset(_Tagged):
    """Sentences of train.txt and test.txt: "word", "pos_tag", "chunk_tag", arrays of texts."""

    names, parts = ("word", "pos_tag", "chunk_tag"), ("train", "test")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        return self.sentences(self.use(f"{part}.txt"))


class UDPOSDataset(_Tagged):
    """Sentences of en-ud-tag.v2.train.txt and the like: "word", "universal", "stanford", arrays of
    texts."""

    names, parts = ("word", "universal", "stanford"), ("train", "test", "valid")
    separator = "\t"

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        return self.sentences(self.use(f"en-ud-tag.v2.{'dev' if part == 'valid' else part}.txt"))


class IMDBDataset(Lines):
    """Reviews in files train/pos/0_9.txt and the like: "text", and "label" int32, 1 for "pos"."""

    names, parts = ("text", "label"), ("train", "test")

    def works(self) -> bool:
        return True

    def read(self, part: str) -> Iterator[tuple[Path, Any]]:
        for mood, label in (("pos", 1), ("neg", 0)):
            folder = directory_of(self.folder / part / mood)
            for path in sorted(folder.glob("*.txt"), key=str):
                yield self.use(part, mood, path.name), np.int32(label)

    def make(self, item: Any) -> tuple[Any, ...]:
        path, label = item
        return text(path.read_text(encoding="utf-8")), label


class SQuADDataset(_InFiles):
    """Questions of train-v1.1.json, train-v2.0.json and the like: "context", "question", "text"
    (all answers), "answer_start" uint32 (2**32 - 1 where there is none)."""

    names, parts = ("context", "question", "text", "answer_start"), ("train", "dev")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        paths = sorted(self.folder.glob(f"{part}-v*.json"))
        if not paths:
            raise RuntimeError(f"Invalid file, {self.folder} has no {part}-v1.1.json or "
                               f"{part}-v2.0.json.")  # fmt: skip
        held = json.loads(self.use(paths[0].name).read_text(encoding="utf-8"))
        for paragraph in (p for article in held["data"] for p in article["paragraphs"]):
            for question in paragraph["qas"]:
                answers = question["answers"] or [{"text": "", "answer_start": 2**32 - 1}]
                starts = [answer["answer_start"] for answer in answers]
                texts = np.array([answer["text"] for answer in answers])
                yield (paragraph["context"], question["question"], texts,
                       np.array(starts, np.uint32))  # fmt: skip


class SST2Dataset(_InFiles):
    """Sentences of train.tsv, dev.tsv ("sentence", "label") and test.tsv ("sentence"), texts.

    Args:
        usage: "train" unless given.
    """

    names: tuple[str, ...] = ("sentence", "label")
    parts = ("train", "test", "dev")

    def open(self, dataset_dir: Any, usage: Any, choice: Choice) -> None:
        if usage == "all":
            raise ValueError(f"usage should be one of {list(self.parts)}, but got 'all'")
        if usage == "test":
            self.names = ("sentence",)
        super().open(dataset_dir, usage or "train", choice)

    def read(self, part: str) -> Iterator[tuple[str, ...]]:
        for line in lines_of(self.use(f"{part}.tsv"))[1:]:
            first, _, last = line.partition("\t")
            yield (last,) if part == "test" else (first, last)


_TRANSLATED = ("text", "translation")


class _Pairs(Lines):
    """Sentences and their translations, line by line in two files."""

    names = _TRANSLATED

    def beside(self, first: Path, second: Path) -> Iterator[tuple[str, str]]:
        """Lines of two files."""
        return zip(lines_of(first), lines_of(second), strict=False)


class Multi30kDataset(_Pairs):
    """Descriptions of pictures: "text", "translation".

    Args:
        dataset_dir: holds training/train.de and .en, validation/val.de, mmt16_task1_test/test.de.
        language_pair: ("en", "de") unless given, or ("de", "en").
    """

    parts = ("train", "test", "valid")
    _files = {  # noqa: RUF012
        "train": ("training", "train"), "valid": ("validation", "val"),
        "test": ("mmt16_task1_test", "test"),
    }  # fmt: skip

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, language_pair: Any = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = None, num_shards: int | None = None, shard_id: int | None = None,
        cache: Any = None,
    ) -> None:  # fmt: skip
        self.pair = _checked_pair(language_pair or ("en", "de"), [("en", "de"), ("de", "en")])
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[str, str]]:
        folder, stem = self._files[part]
        return self.beside(*(self.use(folder, f"{stem}.{code}") for code in self.pair))


def _checked_pair(given: Any, allowed: Sequence[tuple[str, str]]) -> tuple[str, str]:
    pair = tuple(given)
    if pair not in allowed:
        raise ValueError(f"language_pair should be one of {list(allowed)}, but got {given!r}")
    return pair


class _Talks(_Pairs):
    """Talks and their translations: train.tags.de-en.de with lines of tags, and files of XML."""

    parts = ("train", "valid", "test")
    year, base = "", ""
    sets: dict[str, str]
    pair: tuple[str, str]

    def read(self, part: str) -> Iterator[tuple[str, str]]:
        code = "-".join(self.pair)
        base = self.base.format(*self.pair, code)
        if part == "train":
            paths = [self.use(base, f"train.tags.{code}.{each}") for each in self.pair]
            for first, second in self.beside(*paths):
                if not first.lstrip().startswith("<") and not second.lstrip().startswith("<"):
                    yield first.strip(), second.strip()
            return
        name = f"IWSLT{self.year}.TED.{self.sets[part]}.{code}"
        sides = [_segments(self.use(base, f"{name}.{each}.xml")) for each in self.pair]
        yield from zip(*sides, strict=False)


def _segments(path: Path) -> list[str]:
    """The texts of the elements seg."""
    whole = "\n".join(lines_of(path))
    found = re.findall(r"<seg\b[^>]*>(.*?)</seg>", whole, re.DOTALL)
    return [each.strip() for each in found]


_SETS = ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014")


class IWSLT2016Dataset(_Talks):
    """Talks and their translations: "text", "translation".

    Args:
        dataset_dir: holds texts/de/en/de-en and the like.
        usage: "train", "valid", "test" or "all".
        language_pair: ("de", "en") unless given.
        valid_set, test_set: "tst2013" and "tst2014" unless given.
    """

    year, base = "16", "texts/{}/{}/{}"

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, language_pair: Any = None,
        valid_set: str | None = None, test_set: str | None = None, num_samples: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
        shard_id: int | None = None, num_parallel_workers: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        others = ("fr", "de", "cs", "ar")
        allowed = [pair for o in others for pair in (("en", o), (o, "en"))]
        self.pair = _checked_pair(language_pair or ("de", "en"), allowed)
        self.sets = {"valid": valid_set or "tst2013", "test": test_set or "tst2014"}
        for name in self.sets.values():
            if name not in _SETS:
                raise ValueError(f"valid_set and test_set should be one of {list(_SETS)}, but got "
                                 f"{name!r}")  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)


class IWSLT2017Dataset(_Talks):
    """Talks and their translations: "text", "translation".

    Args:
        dataset_dir: holds texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.
        usage: "train", "valid", "test" or "all".
        language_pair: two of "de", "en", "it", "nl", "ro"; ("de", "en") unless given.
    """

    year, base = "17", "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo"
    sets = {"valid": "dev2010", "test": "tst2010"}  # noqa: RUF012

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, language_pair: Any = None,
        num_samples: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None,
        num_parallel_workers: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        codes = ("de", "en", "it", "nl", "ro")
        allowed = [(a, b) for a in codes for b in codes if a != b]
        self.pair = _checked_pair(language_pair or ("de", "en"), allowed)
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)


# Columns of a task in training and evaluation, and in its test files.
_CLUE = {
    "AFQMC": ("label sentence1 sentence2", "id sentence1 sentence2"),
    "CMNLI": ("label sentence1 sentence2", "id sentence1 sentence2"),
    "CSL": ("abst id keyword label", "abst id keyword"),
    "IFLYTEK": ("label label_des sentence", "id sentence"),
    "TNEWS": ("keywords label label_desc sentence", "id keywords sentence"),
    "WSC": ("idx label span1_index span1_text span2_index span2_text text",
            "idx span1_index span1_text span2_index span2_text text"),
}  # fmt: skip


class CLUEDataset(Lines):
    """A task of the Chinese language understanding evaluation, one object of JSON in each line.

    Args:
        dataset_files: a path, a pattern, or a list of them.
        task: "AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "WSC" or "CSL".
        usage: "train", "test" or "eval".
    """

    def __init__(
        self, dataset_files: Any, task: str = "AFQMC", usage: str = "train",
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if task not in _CLUE or usage not in ("train", "test", "eval"):
            raise ValueError(f"task is one of {list(_CLUE)}, usage one of ['train', 'test', "
                             f"'eval'], but got {task!r}, {usage!r}")  # fmt: skip
        self.names = tuple(_CLUE[task][usage == "test"].split())
        self.paths = files_of(dataset_files)
        choice = Choice(num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(self.paths[0].parent, None, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        self.used += self.paths
        for path in self.paths:
            for line in filter(None, map(str.strip, lines_of(path))):
                held = json.loads(line)
                held |= held.get("target", {})
                try:
                    yield tuple(_clue_value(held[name]) for name in self.names)
                except KeyError as error:
                    raise RuntimeError(f"Invalid JSON file, failed to find key {error} in {path}."
                                       ) from None  # fmt: skip


def _clue_value(value: Any) -> Any:
    if isinstance(value, int):
        return np.uint32(value)
    return np.array(value) if isinstance(value, list) else str(value)
