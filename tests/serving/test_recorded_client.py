"""What the real client of mindspore_serving 2.0.2 (Python 3.9) sent, and what it could read of our
replies, recorded once; our server still gives those replies, and our client sends those requests.

The file has for each case the bytes of the request, those of the reply, and what the real client
made of it.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import grpc
import numpy as np
import pytest

from mindtorch.serving.client.client import Client, _parse
from mindtorch.serving.proto.ms_service_pb2 import PredictReply, PredictRequest
from mindtorch.serving.proto.ms_service_pb2_grpc import PREDICT
from tests.support.paths import TESTS

from .conftest import Server

CASES = json.loads((TESTS / "golden" / "serving_client.json").read_text())


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"dtype": str(value.dtype), "values": value.tolist()}
    return {"bytes": value.hex()} if isinstance(value, bytes) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_requests_of_the_real_client(server: Server, case: dict[str, Any]) -> None:
    with grpc.insecure_channel(server.grpc) as channel:
        reply = channel.unary_unary(PREDICT)(base64.b64decode(case["request"]))
    ours = PredictReply.FromString(reply)
    assert ours == PredictReply.FromString(base64.b64decode(case["reply"]))
    read = _parse(ours)
    if isinstance(read, list):
        read = [{name: plain(value) for name, value in row.items()} for row in read]
    assert read == case["read"]


def test_our_client_sends_the_same_bytes() -> None:
    by_name = {case["name"]: base64.b64decode(case["request"]) for case in CASES}
    row = np.arange(3, dtype="float32")
    types = "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split()
    sent: dict[str, tuple[str, Any]] = {
        "one instance": ("add_two", {"a": row, "b": row * 2}),
        "every type": ("echo", [{"x": np.array([[0, 1]], t)} for t in types]),
        "Python's numbers": ("echo", [{"x": 5}, {"x": 2.5}, {"x": True}]),
        "numpy's numbers": ("echo", [{"x": np.float32(2.5)}, {"x": np.int64(-3)}]),
        "texts": ("greet", [{"name": "Grüße"}, {"name": b"\xff"}]),
    }
    for name, (method, instances) in sent.items():
        client = Client("127.0.0.1:1", "things", method)
        assert client._request(instances) == PredictRequest.FromString(by_name[name]), name
        client.close()
