"""Each protocol gives the model's numbers, and says what is wrong with its own status."""

from __future__ import annotations

import base64
import gc
import http.client
import json
import socket
import time
import warnings
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from mindtorch.serving.client import Client
from mindtorch.serving.front.metrics import RequestLog
from mindtorch.serving.proto.kserve import MESSAGES

from .conftest import Server

X = np.arange(3, dtype="float32")


def client(server: Server, method: str, version: int = 0, name: str = "things") -> Client:
    return Client(server.grpc, name, method, version)


def http_call(
    server: Server, method: str, path: str, body: Any = None, headers: Any = None
) -> tuple[int, Any, Any]:
    """Status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=30)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, data, headers or {})
    response = connection.getresponse()
    given = response.read()
    connection.close()
    is_json = response.headers["content-type"] == "application/json"
    return response.status, response.headers, json.loads(given) if is_json else given


def rest(server: Server, path: str, instances: Any) -> tuple[int, Any]:
    status, _, body = http_call(server, "POST", path, {"instances": instances})
    return status, body


# -- MindSpore's gRPC service


def test_functions_models_and_versions(server: Server) -> None:
    given = client(server, "add_and_subtract").infer({"a": X, "b": X[::-1].copy()})
    assert given[0].keys() == {"sum", "difference"}
    assert given[0]["difference"].tolist() == [-2.0, 0.0, 2.0]
    for version, offset in ((0, 2.0), (1, 1.0), (2, 2.0)):
        (one,) = client(server, "only_model", version).infer({"x": X})
        assert one["y"].dtype == np.float32
        assert one["y"].tolist() == (3 * X + offset).tolist()
    (one,) = client(server, "predict", name="plain").infer({"x": X})
    assert one["output"].tolist() == [1, 4, 7]
    assert client(server, "call", 1).infer({"x": X})[0]["y"].tolist() == [4, 7, 10]


@pytest.mark.parametrize(
    "dtype",
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split(),
)
def test_every_type_comes_back(server: Server, dtype: str) -> None:
    sent = [np.array([[0, 1, 1]], dtype), np.array(1, dtype), np.zeros((2, 0), dtype)]
    given = client(server, "echo").infer([{"x": each} for each in sent])
    for each, (name, back) in zip(sent, (next(iter(g.items())) for g in given), strict=True):
        assert (name, back.dtype, back.shape) == ("y", each.dtype, each.shape)
        assert back.tobytes() == each.tobytes()


def test_texts_and_numbers_of_python(server: Server) -> None:
    greet = client(server, "greet")
    assert greet.infer([{"name": "Grüße"}, {"name": b"\xff"}]) == [
        {"y": "hello Grüße"}, {"y": b"hello \xff"}]  # fmt: skip
    assert client(server, "echo").infer({"x": 5})[0]["y"].tolist() == [5]
    assert client(server, "echo").infer({"x": True})[0]["y"].dtype == np.bool_


def test_a_row_that_fails_has_its_own_error(server: Server) -> None:
    given = client(server, "affine", 1).infer([{"x": X}, {"x": X - 1}, {"x": X + 1}])
    assert given[0]["y"].tolist() == [1, 4, 7]
    assert given[1] == {"error": "not_negative: ValueError: a negative number"}
    assert given[2]["y"].tolist() == [4, 7, 10]
    given = client(server, "only_model").infer([{"x": X}, {"x": X[:2].copy()}])
    assert given[1] == {"error": "affine.pth: x has shape [2], expected [3]"}
    assert client(server, "only_model").infer({"x": X[:2].copy()}) == given[1]
    text = client(server, "only_model").infer({"x": "a"})["error"]
    assert "affine.pth: x is" in text and "not numbers" in text


def test_whole_numbers_become_the_models_type(server: Server) -> None:
    (given,) = client(server, "only_model", 1).infer({"x": np.arange(3)})
    assert given["y"].dtype == np.float32
    assert given["y"].tolist() == [1, 4, 7]


def test_rows_of_unequal_shapes(server: Server) -> None:
    sent = [np.full(n, float(n), "float32") for n in (1, 2, 1, 3, 2, 2, 2, 2)]
    given = client(server, "any_shape", 1).infer([{"x": x} for x in sent])
    assert [g["y"].tolist() for g in given] == [(3 * x + 1).tolist() for x in sent]


def test_errors_of_requests(server: Server) -> None:
    asked = {
        "servable nothing is not available": client(server, "echo", name="nothing"),
        "has no version 9 (it has 1, 2)": client(server, "echo", 9),
        "has no method 'no' (it has": client(server, "no"),
        "method echo takes the inputs ['x'], given ['y']": client(server, "echo"),
    }
    for text, each in asked.items():
        assert text in each.infer({"y": X})["error"]
        assert text in each.infer_async([{"y": X}, {"y": X}]).result()["error"]
    assert "Instances count" in client(server, "echo").infer([])["error"]
    assert "the first one" in client(server, "echo").infer([{"x": X}, {"z": X}])["error"]


def test_a_message_that_is_too_large(server: Server) -> None:
    large = np.zeros(1 << 19, "float32")
    assert "RESOURCE_EXHAUSTED" in str(_status(client(server, "echo"), large))
    status, _, _ = http_call(server, "POST", "/model/things:echo", b" " * (1 << 21))
    assert status == 413
    connection = http.client.HTTPConnection("127.0.0.1", server.rest, timeout=30)
    chunks = (b" " * 100_000 for _ in range(20))
    connection.request("POST", "/model/things:echo", chunks, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def _status(asked: Client, x: Any) -> Any:
    with pytest.raises(grpc.RpcError) as caught:
        asked.stub.Predict(asked._request({"x": x}))
    return caught.value.code()


def test_deadlines(server: Server) -> None:
    asked = client(server, "sleep")
    with pytest.raises(grpc.RpcError) as caught:
        asked.stub.Predict(asked._request({"x": np.float32(0.5)}), timeout=0.1)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert client(server, "echo").infer({"x": 1})[0]["y"].tolist() == [1]


# -- MindSpore's REST service


def test_rest_values(server: Server) -> None:
    for value, dtype in (([1, 2], "int32"), ([2**40], "int64"), ([1.5], "float32"), (3, "int32"),
                         ([True, False], "bool"), ([[1, 2], [3, 4]], "int32")):  # fmt: skip
        status, body = rest(server, "/model/things:echo", {"x": value})
        assert (status, body) == (200, {"instances": [{"y": value}]}), dtype
    assert rest(server, "/model/things:greet", [{"name": "you"}, {"name": "me"}]) == (
        200, {"instances": [{"y": "hello you"}, {"y": "hello me"}]})  # fmt: skip
    coded = {"b64": base64.b64encode(X.tobytes()).decode(), "type": "fp32", "shape": [3]}
    assert rest(server, "/model/things/version/1:only_model", [{"x": coded}, {"x": [0, 1, 2]}]) == (
        200, {"instances": [{"y": [1.0, 4.0, 7.0]}, {"y": [1.0, 4.0, 7.0]}]})  # fmt: skip
    text = {"b64": base64.b64encode(b"\xff").decode()}
    assert rest(server, "/model/things:echo", {"x": text})[1] == {"instances": [{"y": text}]}
    nan = {"b64": base64.b64encode(np.float16("nan").tobytes()).decode(), "type": "fp16"}
    assert rest(server, "/model/things:echo", {"x": nan})[1] == {"instances": [{"y": None}]}


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        ("/model/things:echo", b"{", 400, "no JSON"),
        ("/model/things:echo", b"[" * 100_000, 400, "no JSON"),
        ("/model/things:echo", {"x": 1}, 400, "should have instances"),
        ("/model/things:echo", {"instances": []}, 400, "no value"),
        ("/model/things:echo", {"instances": [1]}, 400, "not object type"),
        ("/model/things:echo", {"instances": [{"x": 1}, {"y": 1}]}, 400, "the first one"),
        ("/model/things:echo", {"instances": {"x": [[1], [1, 2]]}}, 400, "inhomogeneous"),
        ("/model/things:echo", {"instances": {"x": [1, "a"]}}, 400, "lists hold numbers"),
        ("/model/things:echo", {"instances": {"x": None}}, 400, "is expected"),
        ("/model/things:echo", {"instances": {"x": {"b64": "?"}}}, 400, "base64"),
        ("/model/things:echo", {"instances": {"x": {"b64": "AA==", "type": "int"}}}, 400, "bytes"),
        ("/model/things:echo", {"instances": {"y": 1}}, 400, "takes the inputs"),
        ("/model/nothing:echo", {"instances": {"x": 1}}, 404, "not available"),
        ("/model/things/version/9:echo", {"instances": {"x": 1}}, 404, "no version"),
        ("/model/things/version/a:echo", {"instances": {"x": 1}}, 404, "no version"),
        ("/model/things:no", {"instances": {"x": 1}}, 404, "no method"),
        ("/model/things", {"instances": {"x": 1}}, 404, "the address is"),
        ("/model/things:affine", {"instances": {"x": [-1.0, 0, 0]}}, 500, "a negative number"),
        ("/model/things:only_model", {"instances": {"x": [1.0]}}, 400, "has shape"),
    ],
)  # fmt: skip
def test_rest_errors_have_a_status(
    server: Server, path: str, body: Any, status: int, text: str
) -> None:
    code, _, given = http_call(server, "POST", path, body)
    assert code == status
    assert text in json.dumps(given)


def test_a_row_that_fails_is_no_200(server: Server) -> None:
    status, body = rest(server, "/model/things/version/1:affine",
                        [{"x": [0.0, 1, 2]}, {"x": [-1.0, 0, 0]}])  # fmt: skip
    assert status == 500
    assert body["instances"][0] == {"y": [1.0, 4.0, 7.0]}
    assert "negative" in body["instances"][1]["error_msg"]


# -- KServe's protocol


def kserve_stub(server: Server, name: str) -> Any:
    channel = grpc.insecure_channel(server.grpc)
    return channel.unary_unary(
        f"/inference.GRPCInferenceService/{name}",
        request_serializer=MESSAGES[f"{name}Request"].SerializeToString,
        response_deserializer=MESSAGES[f"{name}Response"].FromString,
    )


def test_kserve_over_grpc(server: Server) -> None:
    infer = kserve_stub(server, "ModelInfer")
    request = MESSAGES["ModelInferRequest"](model_name="things", model_version="1", id="7")
    request.parameters["method_name"].string_param = "only_model"
    x = np.arange(15, dtype="float32").reshape(5, 3)
    tensor = request.inputs.add(name="x", datatype="FP32", shape=x.shape)
    tensor.contents.fp32_contents.extend(x.ravel())
    by_list = infer(request)
    assert (by_list.id, by_list.model_version) == ("7", "1")
    (output,) = by_list.outputs
    assert (output.name, output.datatype, list(output.shape)) == ("y", "FP32", [5, 3])
    assert by_list.raw_output_contents[0] == (3 * x + 1).tobytes()
    tensor.ClearField("contents")
    request.raw_input_contents.append(x.tobytes())
    assert infer(request) == by_list
    request.raw_input_contents[0] = x.tobytes()[1:]
    with pytest.raises(grpc.RpcError) as caught:
        infer(request)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    request.model_name = "nothing"
    with pytest.raises(grpc.RpcError) as caught:
        infer(request)
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    assert kserve_stub(server, "ServerReady")(MESSAGES["ServerReadyRequest"]()).ready
    assert kserve_stub(server, "ServerLive")(MESSAGES["ServerLiveRequest"]()).live
    named = MESSAGES["ModelReadyRequest"](name="things", version="2")
    assert kserve_stub(server, "ModelReady")(named).ready
    told = kserve_stub(server, "ModelMetadata")(MESSAGES["ModelMetadataRequest"](name="things"))
    assert list(told.versions) == ["1", "2"]


def test_kserve_over_rest(server: Server) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    path = "/v2/models/things/versions/1/infer"
    body = {"id": "a", "parameters": {"method_name": "only_model"},
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3],
                        "data": x.tolist()}]}  # fmt: skip
    status, _, given = http_call(server, "POST", path, body)
    assert status == 200
    assert given == {
        "model_name": "things", "model_version": "1", "id": "a",
        "outputs": [{"name": "y", "datatype": "FP32", "shape": [2, 3],
                     "data": (3 * x + 1).ravel().tolist()}],
    }  # fmt: skip
    del body["inputs"][0]["data"]  # type: ignore[index]
    body["inputs"][0]["parameters"] = {"binary_data_size": x.nbytes}  # type: ignore[index]
    body["outputs"] = [{"name": "y", "parameters": {"binary_data": True}}]
    head = json.dumps(body).encode()
    headers = {"Inference-Header-Content-Length": str(len(head))}
    status, told, given = http_call(server, "POST", path, head + x.tobytes(), headers)
    length = int(told["inference-header-content-length"])
    assert json.loads(given[:length])["outputs"][0]["parameters"] == {"binary_data_size": 24}
    assert given[length:] == (3 * x + 1).tobytes()


def test_kserve_texts(server: Server) -> None:
    body = {"parameters": {"method_name": "greet"},
            "inputs": [{"name": "name", "datatype": "BYTES", "shape": [2],
                        "data": ["you", "me"]}]}  # fmt: skip
    status, _, given = http_call(server, "POST", "/v2/models/things/infer", body)
    assert status == 200
    assert given["outputs"][0]["data"] == ["hello you", "hello me"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"inputs": 1}, "no list"),
        ({"inputs": []}, "no inputs"),
        ({"inputs": [1]}, "an object with a name"),
        ({"shape": "a"}, "has no shape"),
        ({"shape": []}, "first axis"),
        ({"shape": [-1, 3]}, "first axis"),
        ({"shape": [3, 3]}, "6 values for"),
        ({"datatype": "FP8"}, "unknown datatype"),
        ({"datatype": "INT8", "data": [300] * 6}, "does not fit"),
        ({"datatype": "INT8"}, "not of type"),
        ({"data": None}, "no data"),
        ({"data": [["a"] * 6]}, "lists hold numbers"),
        ({"parameters": {"binary_data_size": 5}}, "does not fit"),
        ({"parameters": 1}, "an object"),
        ({"name": "z"}, "takes the inputs"),
    ],
)
def test_kserve_errors_have_a_status(server: Server, change: dict[str, Any], text: str) -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [2, 3], "data": [0.5] * 6, **change}
    body = {"parameters": {"method_name": "only_model"}, "inputs": [tensor]}
    body.update({name: value for name, value in change.items() if name == "inputs"})
    status, _, given = http_call(server, "POST", "/v2/models/things/infer", body)
    assert status == 400
    assert text in given["error"]


def test_what_is_told_of_models(server: Server) -> None:
    assert http_call(server, "GET", "/v2/health/live")[0] == 200
    assert http_call(server, "GET", "/v2/health/ready")[2] == {"ready": True}
    assert http_call(server, "GET", "/v2/models/things/versions/1/ready")[0] == 200
    assert http_call(server, "GET", "/v2/models/nothing/ready")[0] == 404
    path = "/v2/models/things?method_name=only_model"
    told = http_call(server, "GET", path)[2]
    assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    assert told["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [-1, 3]}]
    assert http_call(server, "GET", "/v2")[2]["name"] == "mindtorch"


def test_health_over_grpc(server: Server) -> None:
    stub = health_pb2_grpc.HealthStub(grpc.insecure_channel(server.grpc))
    request = health_pb2.HealthCheckRequest(service="mindspore.serving.proto.MSService")
    assert stub.Check(request).status == health_pb2.HealthCheckResponse.SERVING


def test_metrics_page_and_log(server: Server) -> None:
    assert rest(server, "/model/things:echo", {"x": 1})[0] == 200
    assert rest(server, "/model/things:no", {"x": 1})[0] == 404
    status, headers, text = http_call(server, "GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    wanted = 'mindtorch_serving_requests_total{method="echo",protocol="mindspore-rest"'
    assert wanted.encode() in text
    assert b'status="not_found"' in text
    assert b"mindtorch_serving_request_seconds_bucket" in text
    assert http_call(server, "GET", "/")[0] == 200
    versions = http_call(server, "GET", "/status")[2]["versions"]
    assert [(v["servable"], v["version"], v["ready"]) for v in versions] == [
        ("plain", 1, True), ("things", 1, True), ("things", 2, True)]  # fmt: skip
    file = server.folder / "requests.log"
    for _ in range(100):  # it is written twice a second
        if file.read_text():
            break
        time.sleep(0.1)
    line = json.loads(file.read_text().splitlines()[0])
    assert {"time", "protocol", "peer", "servable", "status"} <= line.keys()


def test_a_log_that_cannot_be_written(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog(Path("/dev/full"))
    log.write(method="echo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the file, which cannot be closed in order
        log.flush()
        gc.collect()
    assert "/dev/full cannot be written" in caplog.text
    assert not log.is_on
    log.write(method="echo")
    log.close()


def test_head_and_body_are_one_write(server: Server) -> None:
    body = json.dumps({"instances": [{"x": 1}]}).encode()
    head = f"POST /model/things:echo HTTP/1.1\r\nhost: a\r\ncontent-length: {len(body)}\r\n\r\n"
    for more in ("", "connection: close\r\n"):
        with socket.create_connection(("127.0.0.1", server.rest), timeout=30) as connection:
            connection.sendall(head.replace("host: a\r\n", f"host: a\r\n{more}").encode() + body)
            given = connection.recv(1 << 16)
            assert given.startswith(b"HTTP/1.1 200 OK")
            assert given.endswith(b'{"instances":[{"y":1}]}')


def test_a_handler_that_fails_is_500(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: Any) -> Any:
        raise ZeroDivisionError("nobody's")

    monkeypatch.setattr(server.host.service, "infer", fail)
    assert http_call(server, "POST", "/model/things:echo", {"instances": [{"x": 1}]})[0] == 500
    assert "nobody's" in caplog.text
    status, _, _ = http_call(server, "PUT", "/model/things:echo")
    assert status == 405  # FastAPI's
