"""Requests and replies read and written as bytes are those that protobuf reads and writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

from mindtorch.serving.columns import Block, Column
from mindtorch.serving.errors import ServingError
from mindtorch.serving.front import wire
from mindtorch.serving.front.kserve_tensors import columns_of_message, infer_of, response_bytes
from mindtorch.serving.front.mindspore_messages import columns_of_instances, predict_of, reply_of
from mindtorch.serving.front.requests import Answer
from mindtorch.serving.proto.kserve import MESSAGES
from mindtorch.serving.proto.ms_service_pb2 import NUMBERS, PredictReply, PredictRequest

SPEC = PredictRequest().servable_spec


@pytest.fixture(autouse=True)
def from_the_first_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LEAST", 0)


def _request(rows: int, *inputs: tuple[str, str, tuple[int, ...]]) -> Any:
    request = PredictRequest()
    request.servable_spec.name, request.servable_spec.version_number = "net", 300
    request.servable_spec.method_name = "predict"
    chosen = np.random.default_rng(0)
    for _ in range(rows):
        instance = request.instances.add()
        for name, dtype, shape in inputs:
            tensor = instance.items[name]
            tensor.dtype = NUMBERS[dtype]
            tensor.shape.dims.extend(shape)
            tensor.data = chosen.integers(0, 2, shape).astype(dtype).tobytes()
    return request


def _plain(columns: dict[str, Column]) -> dict[str, list[Any]]:
    return {name: [(b.dtype, tuple(b.shape), b.rows, bytes(b.data), b.lengths) for b in column]
            for name, column in columns.items()}  # fmt: skip


@pytest.mark.parametrize("rows", [1, 2, 65])
def test_a_request_of_like_instances_is_read_at_once(rows: int, monkeypatch: Any) -> None:
    request = _request(rows, ("x", "float32", (3, 5)), ("mask", "bool", (7,)), ("", "int64", ()))
    whole = _plain(columns_of_instances(request.instances))
    data = request.SerializeToString()
    monkeypatch.delattr("mindtorch.serving.front.mindspore_messages.columns_of_instances")
    found = predict_of(data)
    assert (found.spec, found.rows) == (request.servable_spec, rows)
    assert _plain(found.columns()) == whole


def _odd() -> dict[str, Any]:
    other = _request(3, ("x", "float32", (4,)))
    texts = _request(2, ("x", "float32", (4,)))
    for instance in texts.instances:
        text = instance.items["text"]
        text.dtype = NUMBERS["str"]
        text.bytes_val.append(b"abc")
    shapes = _request(2, ("x", "float32", (4,)))
    shapes.instances[1].items["x"].shape.dims[:] = [2, 2]
    wrong = _request(2, ("x", "float32", (4,)))
    wrong.instances[1].items["x"].data = b"123"
    missing = _request(2, ("x", "float32", (4,)), ("y", "float32", (4,)))
    del missing.instances[1].items["y"]
    empty = _request(2, ("x", "float32", (0, 4)))
    return {"numbers": other, "texts": texts, "shapes": shapes, "wrong": wrong,
            "missing": missing, "empty": empty, "none": _request(0)}  # fmt: skip


@pytest.mark.parametrize("case", _odd())
def test_other_requests_are_read_by_protobuf(case: str) -> None:
    _same(_odd()[case].SerializeToString())


def _same(data: bytes) -> None:
    """Both ways give the same columns, or the same error."""
    whole: Any
    try:
        request = PredictRequest.FromString(data)
        whole = (request.servable_spec, _plain(columns_of_instances(request.instances)))
    except (DecodeError, ServingError) as error:
        whole = type(error), str(error) if isinstance(error, ServingError) else ""
    try:
        found = predict_of(data)
        mine: Any = found.spec, _plain(found.columns())
    except (DecodeError, ServingError) as error:
        mine = type(error), str(error) if isinstance(error, ServingError) else ""
    assert mine == whole


def _damaged(good: list[bytes], count: int) -> Iterator[bytes]:
    """Messages with bytes that are others, are missing or were put in between."""
    chosen = random.Random(0)
    for _ in range(count):
        data = bytearray(chosen.choice(good))
        for _ in range(chosen.randint(1, 3)):
            place = chosen.randrange(len(data))
            kind = chosen.choice((0, 0, 1, 2))
            if kind == 0:
                others = (0, 1, 2, 8, 10, 18, 26, 34, 0x80, 0xFF, data[place] ^ 1)
                data[place] = chosen.choice(others)
            elif kind == 1:
                del data[place : place + chosen.randint(1, 4)]
            else:
                data[place:place] = bytes(chosen.randrange(256) for _ in range(2))
            if not data:
                break
        yield bytes(data)


def test_damaged_requests_mean_what_protobuf_says() -> None:
    good = [each.SerializeToString() for each in
            (_request(4, ("x", "int8", (3,)), ("y", "bool", (2,))), *_odd().values())]  # fmt: skip
    for data in _damaged(good, 3000):
        _same(data)


def _outcome(columns: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        found, rows = columns(data)
        return _plain(found), rows
    except (DecodeError, ServingError) as error:
        return type(error), str(error) if isinstance(error, ServingError) else ""


def test_damaged_requests_of_kserve_mean_what_protobuf_says() -> None:
    kind = MESSAGES["ModelInferRequest"]
    request = kind(model_name="net", model_version="1")
    for name, dtype, shape in (("x", "FP32", [2, 3]), ("y", "BYTES", [2]), ("z", "BOOL", [2])):
        request.inputs.add(name=name, datatype=dtype, shape=shape)
    request.raw_input_contents.extend([bytes(24), b"\1\0\0\0a\0\0\0\0", b"\0\1"])
    good = request.SerializeToString()

    def whole(data: bytes) -> Any:
        message = kind.FromString(data)
        return columns_of_message(message, message.raw_input_contents)

    for data in _damaged([good], 2000):
        for each in (good, data):
            assert _outcome(lambda x: infer_of(x).columns(), each) == _outcome(whole, each)


def test_raw_contents_of_kserve_are_read_without_a_copy() -> None:
    request = MESSAGES["ModelInferRequest"](model_name="net", id="7")
    x, text = np.arange(12, dtype=np.float32).reshape(3, 4), b"\x01\0\0\0a" * 3
    request.inputs.add(name="x", datatype="FP32", shape=x.shape)
    request.inputs.add(name="text", datatype="BYTES", shape=[3])
    request.raw_input_contents.extend([x.tobytes(), text])
    data = request.SerializeToString()
    found = infer_of(data)
    assert (found.model_name, found.message.id) == ("net", "7")
    assert all(isinstance(each, memoryview) and each.obj is data for each in found.raw)
    whole = columns_of_message(request, request.raw_input_contents)
    columns, rows = found.columns()
    assert (_plain(columns), rows) == (_plain(whole[0]), whole[1])
    with pytest.raises(DecodeError):
        infer_of(data[:-1])


def test_a_request_that_came_before_has_its_own_numbers(monkeypatch: Any) -> None:
    first, second = (_request(3, ("x", "float32", (3, 5)), ("y", "bool", (7,))) for _ in range(2))
    for instance in second.instances:
        instance.items["x"].data = np.full(15, 7, np.float32).tobytes()
    predict_of(first.SerializeToString())
    wanted = _plain(columns_of_instances(second.instances))
    other = _request(3, ("x", "float32", (5, 3)), ("y", "bool", (7,)))  # of as many bytes
    assert len(other.SerializeToString()) == len(second.SerializeToString())
    _same(other.SerializeToString())
    predict_of(first.SerializeToString())
    monkeypatch.delattr("mindtorch.serving.front.mindspore_messages._form_of")
    found = predict_of(second.SerializeToString())
    assert (found.spec, _plain(found.columns())) == (second.servable_spec, wanted)


def test_a_request_of_kserve_that_came_before(monkeypatch: Any) -> None:
    given = []
    for name, shape in (("x", [3, 4]), ("x", [3, 4]), ("x", [4, 3]), ("y", [3, 4])):
        request = MESSAGES["ModelInferRequest"](model_name="net")
        request.inputs.add(name=name, datatype="FP32", shape=shape)
        request.raw_input_contents.append(np.random.default_rng().bytes(48))
        given.append(request)
    for request in (*given, *given[1:]):
        whole = columns_of_message(request, request.raw_input_contents)
        columns, rows = infer_of(request.SerializeToString()).columns()
        assert (_plain(columns), rows) == (_plain(whole[0]), whole[1])
    infer_of(given[0].SerializeToString()).columns()
    monkeypatch.delattr("mindtorch.serving.front.kserve_tensors.columns_of_message")
    again, _ = infer_of(given[1].SerializeToString()).columns()
    assert bytes(again["x"][0].data) == given[1].raw_input_contents[0]
    wrong = MESSAGES["ModelInferRequest"].FromString(given[1].SerializeToString())
    wrong.inputs[0].shape[:] = [3, 5]
    monkeypatch.undo()
    monkeypatch.setattr(wire, "LEAST", 0)
    for _ in range(2):
        with pytest.raises(ServingError, match="48 bytes do not match the shape"):
            infer_of(wrong.SerializeToString()).columns()


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_replies_of_kserve_are_what_protobuf_reads(rows: int) -> None:
    request = MESSAGES["ModelInferRequest"](model_name="net", id="seven")
    scores = np.random.default_rng(0).random((rows, 40)).astype(np.float32)
    columns = {
        "scores": [Block("float32", (40,), rows, memoryview(scores.tobytes()))],
        "nothing": [Block("int8", (0,), rows, b"")],
        "text": [Block("str", (), rows, b"ab" * rows, [2] * rows)],
    }  # fmt: skip
    for wanted in ((), ("text", "scores")):
        for name in wanted:
            request.outputs.add(name=name)
        data = response_bytes(request, Answer(columns, {}, rows, tuple(columns), version=3))
        reply = MESSAGES["ModelInferResponse"].FromString(data)
        names = wanted or tuple(columns)
        assert (reply.model_name, reply.model_version, reply.id) == ("net", "3", "seven")
        assert tuple(output.name for output in reply.outputs) == names
        assert all(output.shape[0] == rows for output in reply.outputs)
        raw = dict(zip(names, reply.raw_output_contents, strict=True))
        assert raw["scores"] == scores.tobytes()
        assert raw["text"] == b"\x02\0\0\0ab" * rows


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_replies_of_like_instances_are_what_protobuf_writes(rows: int) -> None:
    scores = np.arange(rows * 6, dtype=np.float32).reshape(rows, 2, 3)
    labels, nothing = np.arange(rows, dtype=np.int64), np.zeros((rows, 0), np.int8)
    given: dict[str, Any] = {"scores": scores, "label": labels, "nothing": nothing}
    columns = {name: [Block(x.dtype.name, x.shape[1:], rows, memoryview(x.tobytes()))]
               for name, x in given.items()}  # fmt: skip
    data = reply_of(SPEC, Answer(columns, {}, rows, tuple(given), version=3))
    reply = PredictReply.FromString(data)
    assert (reply.servable_spec.version_number, len(reply.instances)) == (3, rows)
    for row, instance in enumerate(reply.instances):
        assert sorted(instance.items) == sorted(given)
        for name, x in given.items():
            tensor = instance.items[name]
            assert (tensor.dtype, tuple(tensor.shape.dims)) == (NUMBERS[x.dtype.name], x.shape[1:])
            assert tensor.data == x[row].tobytes()
