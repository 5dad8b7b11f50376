"""Requests that are wrong get errors; the server keeps its memory, its files and its workers."""

from __future__ import annotations

import gc
import json
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from mindtorch.serving.client import Client
from mindtorch.serving.proto.kserve import MESSAGES
from mindtorch.serving.proto.ms_service_pb2 import PredictReply, PredictRequest
from mindtorch.serving.proto.ms_service_pb2_grpc import PREDICT

from .conftest import Server

INFER = "/inference.GRPCInferenceService/ModelInfer"
PATHS = ("/model/things:echo", "/model/things:only_model", "/model/things/version/1:greet",
         "/v2/models/things/infer", "/model/" + "x" * 300 + ":y", "/model/:", "/nothing",
         "/v2/models/things/versions/2/infer", "/model/%00%ff:echo")  # fmt: skip
METHODS = ("add_two", "echo", "greet", "only_model", "any_shape", "no", "")


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Some bytes exchanged, cut out or repeated."""
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(found) + 1)
        kind = draw.randrange(4)
        if kind == 0 and at < len(found):
            found[at] = draw.randrange(256)
        elif kind == 1:
            del found[at : at + draw.randint(1, 20)]
        elif kind == 2:
            found[at:at] = found[at : at + draw.randint(1, 20)]
        else:
            found[at:at] = draw.randbytes(draw.randint(1, 8))
    return bytes(found)


def mindspore_message(draw: random.Random) -> bytes:
    """A message that protobuf reads, with wrong types, shapes and lengths."""
    request = PredictRequest()
    spec = request.servable_spec
    spec.name = draw.choice(["things", "things", "things", "nothing", ""])
    spec.method_name = draw.choice(METHODS)
    spec.version_number = draw.choice([0, 0, 1, 2, 3, 2**64 - 1])
    for _ in range(draw.choice([0, 1, 2, 2, 5])):
        items = request.instances.add().items
        for name in draw.sample(["a", "b", "x", "name", "é"], draw.randint(0, 3)):
            tensor = items[name]
            tensor.dtype = draw.choice([0, 1, 3, 6, 10, 11, 12, 13, 14, 15, 99, -1])
            dims = [draw.choice([-1, 0, 1, 2, 3, 2**31, 2**62]) for _ in range(draw.randint(0, 4))]
            tensor.shape.dims.extend(dims)
            if draw.random() < 0.8:
                tensor.data = draw.randbytes(draw.choice([0, 1, 4, 12, 24, 1000]))
            else:
                tensor.shm_data.data_size = 2**63
            for _ in range(draw.choice([0, 0, 1, 2])):
                tensor.bytes_val.append(draw.randbytes(3))
    data: bytes = request.SerializeToString()
    return data


def kserve_message(draw: random.Random) -> bytes:
    request = MESSAGES["ModelInferRequest"](
        model_name=draw.choice(["things", "things", "nothing"]),
        model_version=draw.choice(["", "1", "-1", "9" * 40, "one"]),
    )
    request.parameters["method_name"].string_param = draw.choice(METHODS)
    for name in draw.sample(["a", "b", "x", "name"], draw.randint(0, 2)):
        tensor = request.inputs.add(name=name)
        tensor.datatype = draw.choice(["FP32", "BYTES", "BOOL", "INT8", "FP16", "", "fp32"])
        tensor.shape.extend(draw.choice([[], [2, 3], [1], [-1, 2], [2**62, 2**62], [0], [3, 0]]))
        tensor.contents.fp32_contents.extend([0.5] * draw.choice([0, 1, 6]))
        tensor.contents.bytes_contents.extend([b"\xff"] * draw.choice([0, 1, 2]))
        if draw.random() < 0.5:
            raw = draw.choice([b"", b"\x00", struct.pack("<I", 2**32 - 1), draw.randbytes(24)])
            request.raw_input_contents.append(raw)
    data: bytes = request.SerializeToString()
    return data


def json_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(9 if depth < 4 else 6)
    number = draw.choice([0, -1, 2**31, 2**63, 10**30, 1.5, 1e300])
    simple = [None, True, number, "text", "\x00é", 1]
    if kind < 6:
        return simple[kind]
    if kind == 6:
        return [json_value(draw, depth + 1) for _ in range(draw.randint(0, 4))]
    if kind == 7:
        names = ["b64", "type", "shape", "x", "instances"]
        return {name: json_value(draw, depth + 1) for name in draw.sample(names, 2)}
    return {"b64": "AAAA", "type": draw.choice(["fp32", "bytes", "str", "no", 1]),
            "shape": draw.choice([[], [1], [-1], "a"])}  # fmt: skip


def json_body(draw: random.Random) -> bytes:
    kind = draw.randrange(8)
    if kind == 0:
        return draw.randbytes(draw.randint(0, 40))
    if kind == 1:
        return draw.choice([b"[", b'{"instances":', b'"\\ud800']) * draw.choice([1, 1000])
    inputs = {name: json_value(draw) for name in draw.sample(["a", "b", "x", "name"], 2)}
    tensor = {"name": "x", "datatype": draw.choice(["FP32", "INT64", 7]), "shape": json_value(draw),
              "data": json_value(draw), "parameters": json_value(draw)}  # fmt: skip
    bodies: list[Any] = [{"instances": inputs}, {"instances": [inputs, json_value(draw)]},
                         {"inputs": [tensor]}, {"inputs": json_value(draw)}, json_value(draw),
                         {"instances": {"x": json_value(draw)}}]  # fmt: skip
    body = json.dumps(bodies[kind - 2]).encode()
    return mutated(body, draw) if draw.random() < 0.3 else body


def http_request(draw: random.Random) -> bytes:
    path = draw.choice(PATHS)
    body = json_body(draw)
    length = draw.choice([len(body)] * 6 + [max(0, len(body) - 3)])
    extra = draw.choice(["", "", "inference-header-content-length: 5\r\n",
                         "inference-header-content-length: -5\r\n"])  # fmt: skip
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n"
    request = f"{head}{extra}\r\n".encode() + body
    return mutated(request, draw) if draw.random() < 0.1 else request


class Counted:
    """How requests ended."""

    def __init__(self) -> None:
        self.errors = 0
        self.answers = 0
        self.strange: list[Any] = []


def send_grpc(address: str, draw: random.Random, count: int, seen: Counted) -> None:
    with grpc.insecure_channel(address) as channel:
        predict, infer = channel.unary_unary(PREDICT), channel.unary_unary(INFER)
        for _ in range(count):
            kserve = draw.random() < 0.4
            data = (kserve_message if kserve else mindspore_message)(draw)
            if draw.random() < 0.4:
                data = mutated(data, draw)
            try:
                reply = (infer if kserve else predict)(data, timeout=30)
            except grpc.RpcError as error:
                allowed = ("INVALID_ARGUMENT", "NOT_FOUND", "RESOURCE_EXHAUSTED", "INTERNAL")
                seen.errors += 1
                if error.code().name not in allowed:
                    seen.strange.append((error.code(), error.details(), data))
                continue
            told = [] if kserve else PredictReply.FromString(reply).error_msg
            wrong = any(error.error_code for error in told)
            seen.errors += wrong
            seen.answers += not wrong


def send_http(port: int, draw: random.Random, count: int, seen: Counted) -> None:
    for _ in range(count):
        request = http_request(draw)
        with socket.create_connection(("127.0.0.1", port), 30) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while part := connection.recv(1 << 16):
                    answer += part
            except ConnectionError:
                pass
        status = answer.split(b" ", 2)[1:2]
        if status == [b"200"]:
            seen.answers += 1
        elif status and 400 <= int(status[0]) < 504:
            seen.errors += 1
        elif answer:
            seen.strange.append((request, answer[:200]))
        else:
            seen.errors += 1  # a request that ends too early


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def no_complaints(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged as an error: each fault was expected."""
    yield
    complaints = [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]
    assert [record.getMessage() for record in complaints] == []


def send_all(server: Server, count: int, seed: int) -> Counted:
    """`count` requests of each of two clients of gRPC and two of HTTP."""
    seen = Counted()
    draws = [random.Random(seed + i) for i in range(4)]
    threads = [
        threading.Thread(target=send_grpc, args=(server.grpc, draws[0], count, seen)),
        threading.Thread(target=send_grpc, args=(server.grpc, draws[1], count, seen)),
        threading.Thread(target=send_http, args=(server.rest, draws[2], count, seen)),
        threading.Thread(target=send_http, args=(server.rest, draws[3], count, seen)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


@pytest.mark.parametrize(
    "count", [150, pytest.param(2500, marks=pytest.mark.exhaustive)], ids=["600", "10000"]
)
@pytest.mark.usefixtures("no_complaints")
def test_malformed_requests(server: Server, count: int) -> None:
    versions = server.host.servables.all()
    pids = [worker.pid for version in versions for worker in version.workers]
    send_all(server, count, 0)  # what is made once is there now
    held, opened = memory(), files()
    seen = send_all(server, count, 100)
    assert seen.strange == []
    assert seen.errors > 2 * count
    assert [worker.pid for version in versions for worker in version.workers] == pids
    assert all(version.pending == 0 for version in versions)
    assert files() <= opened + 8
    assert memory() - held < 32 << 20
    given = Client(server.grpc, "things", "only_model", 1).infer({"x": np.zeros(3, "float32")})
    assert given[0]["y"].tolist() == [1, 1, 1]


def test_a_client_that_sends_nothing_holds_up_nobody(server: Server) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.rest)) for _ in range(50)]
    for connection in idle[:25]:
        head = "POST /model/things:echo HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{"
        connection.sendall(head.encode())
    try:
        given = Client(server.grpc, "things", "echo").infer({"x": 1})
        assert given[0]["y"].tolist() == [1]
    finally:
        for connection in idle:
            connection.close()
