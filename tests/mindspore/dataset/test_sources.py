"""Sources in files of records, what is saved, and operations that make data sets of rows."""

import gzip
import struct
import zlib
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore.dataset import tfrecord

pytest.importorskip("google_crc32c")
pytest.importorskip("google.protobuf")


def write_records(path, rows) -> None:
    with path.open("wb") as file:
        writer = tfrecord.RecordWriter(file)
        for row in rows:
            writer.write(tfrecord.example_of({k: np.asarray(v) for k, v in row.items()}))


ROWS = [{"i": [i, i + 1], "f": [i / 2], "s": [f"text {i}"]} for i in range(7)]


def rows_of(dataset: Any) -> Any:
    return list(dataset.create_dict_iterator(output_numpy=True))


def test_records_are_framed_as_written_down(tmp_path) -> None:
    """Length, checksum, data, checksum; CRC-32C of "123456789" is e3069283."""
    path = tmp_path / "one"
    with path.open("wb") as file:
        tfrecord.RecordWriter(file).write(b"123456789")
    content = path.read_bytes()
    crc = 0xE3069283
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert content[:8] == struct.pack("<Q", 9) and content[12:21] == b"123456789"
    assert struct.unpack("<I", content[21:]) == (masked,)


def test_tfrecord_columns_and_schemas(tmp_path) -> None:
    """Without a schema sorted columns of one axis; with it types and shapes; compressed too."""
    path = tmp_path / "a.tfrecord"
    write_records(path, ROWS)
    plain = ds.TFRecordDataset(str(path), shuffle=False)
    assert plain.get_col_names() == ["f", "i", "s"] and plain.get_dataset_size() == 7
    first = rows_of(plain)[0]
    assert (first["f"].dtype, first["i"].dtype) == (np.float32, np.int64)
    assert first["s"].tolist() == [b"text 0"]
    schema = ds.Schema()
    schema.add_column("i", ms.int32, [2, 1])
    schema.add_column("s", "string")
    shaped = ds.TFRecordDataset(str(path), schema, shuffle=False, num_parallel_workers=2)
    assert [r["i"].tolist() for r in rows_of(shaped)] == [[[i], [i + 1]] for i in range(7)]
    again = ds.Schema()
    again.from_json({"columns": {"i": {"type": "int32", "shape": [2, 1]}}})
    assert again.columns == schema.columns[:1]
    for kind, pack in (("GZIP", gzip.compress), ("ZLIB", zlib.compress)):
        packed = tmp_path / kind
        packed.write_bytes(pack(path.read_bytes()))
        data = ds.TFRecordDataset(str(packed), compression_type=kind, shuffle=False)
        assert [r["i"][0] for r in rows_of(data)] == list(range(7))
    wrong = ds.Schema()
    wrong.add_column("i", ms.int32, [3])
    with pytest.raises(RuntimeError, match="has 2 values, its shape is"):
        rows_of(ds.TFRecordDataset(str(path), wrong))
    with pytest.raises(RuntimeError, match="no 'z', only"):
        rows_of(ds.TFRecordDataset(str(path), columns_list=["z"]))


def test_files_in_random_order_keep_their_rows_together(tmp_path) -> None:
    """Shuffle.FILES; shards of rows."""
    for n in range(4):
        write_records(tmp_path / f"{n}.rec", [{"i": [10 * n + k]} for k in range(3)])
    data = ds.TFRecordDataset(str(tmp_path / "*.rec"), shuffle=ds.Shuffle.FILES)
    data.seed = 2
    numbers = [int(r["i"][0]) for r in rows_of(data)]
    groups = [numbers[i : i + 3] for i in range(0, 12, 3)]
    assert sorted(groups) == [[10 * n + k for k in range(3)] for n in range(4)] != groups
    part = ds.TFRecordDataset(str(tmp_path / "*.rec"), shuffle=False, num_shards=4, shard_id=1)
    assert [int(r["i"][0]) for r in rows_of(part)] == [1, 12, 30]


def test_broken_records_are_told(tmp_path) -> None:
    """A changed byte, a file that ends early, one of another kind, data that is no example."""
    path = tmp_path / "a"
    write_records(path, ROWS)
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    data = ds.NumpySlicesDataset([0])  # the first row is read for its columns
    with pytest.raises(RuntimeError, match="the record at byte 0 does not have its checksum"):
        data = ds.TFRecordDataset(str(path))  # type: ignore[assignment]
    path.write_bytes(content[:-3])
    with pytest.raises(RuntimeError, match="ends within a record"):
        ds.TFRecordDataset(str(path))
    path.write_bytes(b"no records are here, only text")
    with pytest.raises(RuntimeError, match="is not a TFRecord file"):
        ds.TFRecordDataset(str(path))
    with path.open("wb") as file:
        tfrecord.RecordWriter(file).write(b"\xff\xff\xff")
    with pytest.raises(RuntimeError, match="no Example"):
        ds.TFRecordDataset(str(path))
    path.write_bytes(b"")
    assert ds.TFRecordDataset(str(path), columns_list=["i"]).get_dataset_size() == 0
    assert data is not None


@pytest.mark.parametrize("kind", ["mindrecord", "tfrecord"])
def test_rows_are_saved_and_read_again(tmp_path, kind) -> None:
    """In one file or several; what is there stays; a failure leaves nothing."""
    source = ds.NumpySlicesDataset(
        {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "n": np.arange(6)}, shuffle=False
    )
    name = str(tmp_path / "rows")
    source.save(name, 1, kind)
    read: Any = ds.MindDataset(name, shuffle=False) if kind == "mindrecord" else (
        ds.TFRecordDataset(name, shuffle=False))  # fmt: skip
    assert [r["x"].tolist() for r in rows_of(read)] == [[2 * i, 2 * i + 1] for i in range(6)]
    assert [int(np.ravel(r["n"])[0]) for r in rows_of(read)] == list(range(6))
    with pytest.raises(RuntimeError):
        source.save(name, 1, kind)

    def fails(n: Any) -> Any:
        raise OSError("no more rows")

    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="no more rows"):
        source.map(fails, "n").save(str(tmp_path / "other"), 1, kind)
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(ValueError, match="file_type"):
        source.save(name, 1, "csv")


def test_a_data_set_of_each_row() -> None:
    """flat_map: the rows of what a function makes; it says what else it made."""
    source = ds.NumpySlicesDataset(np.array([3, 0, 2]), ["n"], shuffle=False)
    made = source.flat_map(lambda n: ds.NumpySlicesDataset(np.arange(int(n)), shuffle=False))
    assert [int(r["column_0"]) for r in rows_of(made)] == [0, 1, 2, 0, 1]
    assert made.get_dataset_size() == 5
    with pytest.raises(TypeError, match="not Dataset or its subclass"):
        source.flat_map(lambda n: n)
