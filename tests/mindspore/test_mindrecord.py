"""MindRecord files: the bytes that MindSpore 2.10 writes, read back, broken and cut off."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore.mindrecord import FileReader, FileWriter
from mindtorch.mindspore.mindrecord.errors import MRMInvalidSchemaError, MRMOpenError

SCHEMA = {
    "file_name": {"type": "string"}, "label": {"type": "int32"}, "score": {"type": "float64"},
    "data": {"type": "bytes"}, "ids": {"type": "int64", "shape": [-1]},
    "m": {"type": "float32", "shape": [2, 2]},
}  # fmt: skip


def _rows(count, wide=1):
    return [
        {"file_name": f"{i}.jpg", "label": i, "score": i / 2, "data": bytes([i % 256] * 5),
         "ids": np.arange(i % 9 + 1, dtype=np.int64) * -wide,
         "m": np.full((2, 2), i, np.float32)}
        for i in range(count)
    ]  # fmt: skip


@pytest.fixture
def write(tmp_path, monkeypatch):
    """``write(rows, shards, pages)``: the path of the files."""
    monkeypatch.chdir(tmp_path)

    def made(rows, shards=1, page=1 << 15, header=1 << 14):
        writer = FileWriter("t.mindrecord", shards, overwrite=True)
        if page:
            writer.set_page_size(page)
            writer.set_header_size(header)
        writer.add_schema(SCHEMA, "test")
        writer.add_index(["file_name", "label"])
        writer.write_raw_data(rows)
        writer.commit()
        return tmp_path / "t.mindrecord"

    return made


def test_a_file_has_the_bytes_that_mindspore_writes(write):
    """The digest of the file that MindSpore 2.10 wrote of the same rows: it reads ours, too."""
    rows = _rows(5)
    for i, row in enumerate(rows):
        row["ids"] = np.arange(i + 1, dtype=np.int64)
    path = write(rows, page=None)
    content = path.read_bytes()
    header, pages = content[:820], content[1 << 24 :]
    digest = hashlib.sha256(header + pages[:306] + pages[1 << 25 :]).hexdigest()
    assert digest == "c381e477ecc81c4980c8a59f431e4f452bae52a8ded803ca609b2fa77ffb963e"


def test_rows_of_many_pages_and_shards_come_back(write):
    """Pages of 32 KiB and three files, numbers of all widths; a list of files is what it says."""
    rows = _rows(350, wide=3**17)
    write(rows, shards=3)
    data = ds.MindDataset("t.mindrecord0", shuffle=False)
    assert data.get_dataset_size() == 350
    for found, row in zip(data.create_dict_iterator(output_numpy=True), rows, strict=True):
        assert found["label"] == row["label"] and found["file_name"] == row["file_name"]
        assert found["data"].item() == row["data"].rstrip(b"\0") and found["score"].ndim == 0
        np.testing.assert_array_equal(found["ids"], row["ids"])
        np.testing.assert_array_equal(found["m"], row["m"])
    assert ds.MindDataset(["t.mindrecord2"]).get_dataset_size() == 117
    part = ds.MindDataset("t.mindrecord0", ["label"], shuffle=False, num_shards=7, shard_id=2)
    assert [int(row[0]) for row in part.create_tuple_iterator()][:3] == [2, 9, 16]


def test_rows_are_added_and_a_writer_that_is_not_committed_leaves_the_file_alone(write):
    """Nothing of a file is there before the whole of it is."""
    path = write(_rows(3))
    before = path.read_bytes()
    writer = FileWriter.open_for_append("t.mindrecord")
    writer.write_raw_data(_rows(2))
    assert path.read_bytes() == before
    writer.commit()
    reader = FileReader("t.mindrecord", columns=["label"])
    assert [row["label"] for row in reader.get_next()] == [0, 1, 2, 0, 1]
    FileWriter("t.mindrecord", overwrite=True).add_schema(SCHEMA)
    assert reader.len() == 5
    with pytest.raises(RuntimeError, match="already exist"):
        second = FileWriter("t.mindrecord")
        second.add_schema(SCHEMA)
        second.write_raw_data(_rows(1))


def test_every_cut_and_a_changed_length_are_told(write):
    """A file of which a part is missing must not give some of its rows as if they were all."""
    path = write(_rows(40))
    whole = path.read_bytes()
    for size in (0, 7, 100, 1 << 14, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(MRMOpenError, match="Invalid file"):
            ds.MindDataset("t.mindrecord")
    for place in (0, 3, 40, 1 << 14):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with pytest.raises(MRMOpenError, match="Invalid file"):
            ds.MindDataset("t.mindrecord")
    with pytest.raises(ValueError, match="does not exist"):
        ds.MindDataset("none.mindrecord")


def test_rows_that_do_not_fit_are_left_out_with_a_warning(write, tmp_path):
    """As in MindSpore: the others are written; none at all is an error."""
    with pytest.warns(UserWarning, match="row 1 is left out: field 'label'"):
        write([_rows(1)[0], {**_rows(1)[0], "label": "x"}])
    assert ds.MindDataset("t.mindrecord").get_dataset_size() == 1
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="no valid data"):
        write([{"label": 1}])
    for wrong in ({"x": {"type": "int3"}}, {"x": {"type": "string", "shape": [1]}}, {}):
        with pytest.raises(MRMInvalidSchemaError):
            FileWriter("o.mindrecord").add_schema(wrong)
