"""Public corpora: rows, columns and arguments as real MindSpore 2.10 has them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore.dataset.corpora import texts
from tests.support.corpora_files.cases import CASES, arguments_of, columns_of, key_of, write_corpora
from tests.support.paths import GOLDEN_FILES

pytest.importorskip("PIL")
RECORDED = json.loads((GOLDEN_FILES / "corpora.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    found: Path = tmp_path_factory.mktemp("corpora")
    write_corpora(found)
    return found


@pytest.mark.parametrize("case", CASES, ids=key_of)
def test_rows_are_what_mindspore_reads(folder: Path, case: Any) -> None:
    mine = json.loads(json.dumps(columns_of(ds, folder, case)))
    theirs = RECORDED["rows"][key_of(case)]
    assert mine == theirs
    assert [list(row) for row in mine] == [list(row) for row in theirs]  # columns in this order


@pytest.mark.parametrize("name", list(RECORDED["arguments"]))
def test_arguments_have_mindspores_order(name: str) -> None:
    assert arguments_of(ds, name) == RECORDED["arguments"][name]


def numbers(data: Any, column: str = "index") -> list[str]:
    return [str(row[column]) for row in data.create_dict_iterator(output_numpy=True)]


def test_shuffles_shards_and_samples(folder: Path) -> None:
    """All rows in random order, files in random order, shards, and the first rows."""
    where = str(folder / "three_columns")
    whole = numbers(ds.AGNewsDataset(where, shuffle=False), "title")
    assert len(whole) == 5 and whole[0].startswith("train 0") and whole[3].startswith("test 0")
    ds.config.set_seed(3)
    shuffled = numbers(ds.AGNewsDataset(where), "title")
    assert shuffled != whole and sorted(shuffled) == sorted(whole)
    by_files = numbers(ds.AGNewsDataset(where, shuffle=ds.Shuffle.FILES), "title")
    assert by_files in (whole, whole[3:] + whole[:3])
    parts = [ds.AGNewsDataset(where, shuffle=False, num_shards=2, shard_id=n) for n in (0, 1)]
    assert numbers(parts[0], "title") == whole[::2]
    assert [len(part) for part in parts] == [3, 3]
    assert numbers(ds.AGNewsDataset(where, num_samples=2, shuffle=False), "title") == whole[:2]
    with pytest.raises(TypeError, match="shuffle must be of boolean or enum"):
        ds.AGNewsDataset(where, shuffle="all")


def test_workers_give_the_same_rows(folder: Path) -> None:
    one = ds.LFWDataset(str(folder / "lfw"), decode=True, shuffle=False)
    two = ds.LFWDataset(str(folder / "lfw"), decode=True, shuffle=False, num_parallel_workers=2)
    for mine, theirs in zip(one, two, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_tedlium_is_cut_by_its_transcripts(folder: Path) -> None:
    """From 0.5 to 1.5 seconds of 16 samples each."""
    data = ds.TedliumDataset(str(folder / "tedlium" / "one"), "release1", "dev", shuffle=False)
    values = np.random.default_rng(3).integers(-32768, 32767, 64, dtype=np.int16)
    first = next(data.create_dict_iterator(output_numpy=True))
    expected = values[8:24].astype(np.float32) / np.float32(32767)
    assert np.array_equal(first["waveform"], expected[None])


def test_gtzan_whole_has_faulty_files_too(folder: Path) -> None:
    assert ds.GTZANDataset(str(folder / "gtzan")).get_dataset_size() == 6


def test_classes_by_name(folder: Path) -> None:
    assert ds.VOCDataset(str(folder / "voc"), "Detection").get_class_indexing() == {
        "cat": 0, "train": 1}  # fmt: skip
    coco = str(folder / "coco")
    found = ds.CocoDataset(f"{coco}/images", f"{coco}/panoptic.json", "Panoptic")
    assert found.get_class_indexing() == {"person": [1, 1], "train": [7, 1]}
    with pytest.raises(NotImplementedError, match="Only 'Detection'"):
        ds.VOCDataset(str(folder / "voc")).get_class_indexing()


def test_random_sources_repeat_with_their_seed() -> None:
    """Pictures by their seeds; columns by a schema."""
    first, again, other = (
        list(ds.FakeImageDataset(4, (2, 3, 3), base_seed=seed, shuffle=False)) for seed in (1, 1, 2)
    )
    same = [np.array_equal(a[0], b[0]) for a, b in zip(first, again, strict=True)]
    assert all(same) and not np.array_equal(first[0][0], other[0][0])
    schema = ds.Schema()
    schema.add_column("x", "float32", [2, 3])
    schema.add_column("y", "int8", [1])
    rows = list(ds.RandomDataset(5, schema).create_dict_iterator(output_numpy=True))
    assert len(rows) == 5
    assert {(r["x"].shape, r["x"].dtype, r["y"].dtype) for r in rows} == {
        ((2, 3), np.dtype(np.float32), np.dtype(np.int8))}  # fmt: skip


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f: ds.IMDBDataset(str(f / "absent")), ValueError, "does not exist"),
        (lambda f: ds.IMDBDataset(str(f / "imdb"), "valid"), ValueError, "usage should be one of"),
        (lambda f: ds.AGNewsDataset(str(f / "imdb")), RuntimeError, "train.csv does not exist"),
        (lambda f: ds.YahooAnswersDataset(str(f / "three_columns")), RuntimeError,
         "3 values for the columns"),
        (lambda f: ds.CLUEDataset(str(f / "clue" / "csl_train.json")), RuntimeError,
         "failed to find key 'sentence1'"),
        (lambda f: ds.Multi30kDataset(str(f / "multi30k"), language_pair=("en", "fr")), ValueError,
         "language_pair should be one of"),
        (lambda f: ds.DIV2KDataset(str(f / "div2k"), downgrade="mild", scale=2), ValueError,
         "scale 2 is not there"),
        (lambda f: ds.SST2Dataset(str(f / "sst2"), "all"), ValueError, "usage should be one of"),
        (lambda f: ds.YesNoDataset(str(f / "imdb")), RuntimeError, "found no data"),
        (lambda f: ds.CocoDataset(str(f), str(f / "none.json")), ValueError, "none.json does not"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told(folder: Path, make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make(folder)


def test_damaged_sounds_are_told(folder: Path, tmp_path: Path) -> None:
    """A file that is no sound, and one of another rate."""
    (tmp_path / "0_1.wav").write_bytes(b"RIFF....")
    with pytest.raises(RuntimeError, match="cannot be read"):
        list(ds.YesNoDataset(str(tmp_path)))
    wrong = tmp_path / "gtzan" / "blues"
    wrong.mkdir(parents=True)
    sound = next((folder / "yesno").glob("*.wav")).read_bytes()
    (wrong / "blues.00029.wav").write_bytes(sound)
    with pytest.raises(RuntimeError, match="must be 22050, but got 8000"):
        list(ds.GTZANDataset(str(tmp_path / "gtzan"), "train"))


def test_every_corpus_has_a_case() -> None:
    """And every class of the text corpora is public."""
    assert set(texts.__all__) <= {case[0] for case in CASES}
    assert all(hasattr(ds, name) for name in texts.__all__)
