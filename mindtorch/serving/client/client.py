"""A client of MindSpore's gRPC service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.serving.checks import check_int, check_str

try:
    import grpc

    from mindtorch.serving.proto.ms_service_pb2 import NUMBERS, NUMPY_NAMES, PredictRequest
    from mindtorch.serving.proto.ms_service_pb2_grpc import MSServiceStub
except ImportError as missing:
    raise ImportError(
        f"the client needs {missing.name}: pip install 'mindtorch-engine[serving]'",
        name=missing.name,
    ) from missing

__all__ = ["Client", "SSLConfig"]

LARGEST = 512 << 20


class SSLConfig:
    """Certificates of a client.

    Args:
        certificate: the file of the client's certificates, in PEM.
        private_key: the file of its key, in PEM.
        custom_ca: the file of the authorities that are trusted; None: those of gRPC.

    Raises:
        RuntimeError: an argument is wrong.
    """

    def __init__(
        self,
        certificate: str | None = None,
        private_key: str | None = None,
        custom_ca: str | None = None,
    ) -> None:
        for name, value in (("certificate", certificate), ("private_key", private_key),
                            ("custom_ca", custom_ca)):  # fmt: skip
            if value is not None:
                check_str(name, value)
        self.certificate = certificate
        self.private_key = private_key
        self.custom_ca = custom_ca

    def credentials(self) -> Any:
        """gRPC's credentials of it.

        Raises:
            RuntimeError: there is a certificate without a key, or the other way round.
        """
        if (self.certificate is None) != (self.private_key is None):
            raise RuntimeError("The certificate and private_key should be passed at the same time")
        files = (self.custom_ca, self.private_key, self.certificate)
        return grpc.ssl_channel_credentials(
            *(None if file is None else Path(file).read_bytes() for file in files)
        )


class Client:
    """Asks one method of one servable.

    Args:
        address: "HOST:PORT" or "unix:PATH" of the server.
        servable_name: the servable.
        method_name: its method.
        version_number: its version; 0: the newest.
        ssl_config: certificates; None: no encryption.

    `Client(ip, port, servable_name, method_name, version_number)`, as in version 1.1, is
    understood, too.

    Raises:
        RuntimeError: an argument is wrong.
    """

    def __init__(
        self,
        address: str,
        servable_name: str | int,
        method_name: str,
        version_number: int | str = 0,
        ssl_config: SSLConfig | int | None = None,
    ) -> None:
        if isinstance(servable_name, int):  # version 1.1
            given = (f"{address}:{servable_name}", method_name, version_number, ssl_config or 0)
            address, servable_name, method_name, version_number = given  # type: ignore[assignment]
            ssl_config = None
        for name, text in (("address", address), ("servable_name", servable_name),
                           ("method_name", method_name)):  # fmt: skip
            check_str(name, text)
        check_int("version_number", version_number, 0)
        if ssl_config is not None and not isinstance(ssl_config, SSLConfig):
            raise RuntimeError("The type of ssl_config should be type of SSLConfig")
        self.address = address
        self.servable_name = servable_name
        self.method_name = method_name
        self.version_number = version_number
        options = [("grpc.max_send_message_length", LARGEST),
                   ("grpc.max_receive_message_length", LARGEST)]  # fmt: skip
        if ssl_config is None:
            self.channel = grpc.insecure_channel(address, options)
        else:
            self.channel = grpc.secure_channel(address, ssl_config.credentials(), options)
        self.stub = MSServiceStub(self.channel)

    def infer(self, instances: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
        """The outputs for instances.

        Args:
            instances: a dict of inputs, or several. Values are arrays, numbers, texts and bytes.

        Returns:
            A list with a dict of outputs for each instance, or with the text of its error under the
            name "error"; such a dict alone if the request failed.

        Raises:
            RuntimeError: a value cannot be sent.
        """
        request = self._request(instances)
        try:
            return _parse(self.stub.Predict(request))
        except grpc.RpcError as error:
            return _grpc_error(error)

    def infer_async(self, instances: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Pending:
        """As `infer`, without waiting.

        Args:
            instances: a dict of inputs, or several.

        Returns:
            An object whose `result()` waits and gives what `infer` gives.
        """
        return Pending(self.stub.Predict.future(self._request(instances)))

    def close(self) -> None:
        """Close the connection."""
        self.channel.close()

    def _request(self, instances: Any) -> Any:
        request = PredictRequest()
        spec = request.servable_spec
        spec.name, spec.method_name = self.servable_name, self.method_name
        spec.version_number = self.version_number
        several = isinstance(instances, tuple | list)
        for instance in instances if several else (instances,):
            if not isinstance(instance, Mapping):
                raise RuntimeError("instance should be a map")
            items = request.instances.add().items
            for name, value in instance.items():
                _fill(items[name], value)
        return request


class Pending:
    """An answer that is on its way.

    Args:
        future: gRPC's future of the reply.
    """

    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> Any:
        """What `Client.infer` gives; waits for it."""
        try:
            return _parse(self._future.result())
        except grpc.RpcError as error:
            return _grpc_error(error)


def _fill(tensor: Any, value: Any) -> None:
    if isinstance(value, str | bytes):
        tensor.dtype = NUMBERS[type(value).__name__]
        tensor.shape.dims.append(1)
        tensor.bytes_val.append(value.encode() if isinstance(value, str) else value)
        return
    if isinstance(value, bool | int | float):
        value = np.array([value])
    if hasattr(value, "asnumpy"):
        value = value.asnumpy()
    if not isinstance(value, np.ndarray | np.generic):
        raise RuntimeError("Not support value type " + str(type(value)))
    if value.dtype.name not in NUMBERS:
        raise RuntimeError("Unknown data type " + str(value.dtype))
    tensor.dtype = NUMBERS[value.dtype.name]
    tensor.shape.dims.extend(value.shape)
    tensor.data = value.tobytes()


def _parse(reply: Any) -> Any:
    errors = list(reply.error_msg)
    if len(errors) == 1 and errors[0].error_code != 0:
        return {"error": errors[0].error_msg.decode()}
    if len(errors) not in (0, len(reply.instances)):
        raise RuntimeError(f"error msg result size {len(errors)} not be 0, 1 or length of "
                           f"instances {len(reply.instances)}")  # fmt: skip
    found: list[dict[str, Any]] = []
    for number, instance in enumerate(reply.instances):
        if errors and errors[number].error_code != 0:
            found.append({"error": errors[number].error_msg.decode()})
        else:
            found.append({name: _value(tensor) for name, tensor in instance.items.items()})
    return found


def _value(tensor: Any) -> Any:
    dtype = NUMPY_NAMES[tensor.dtype]
    if dtype in ("str", "bytes"):
        texts = [each.decode() if dtype == "str" else each for each in tensor.bytes_val]
        return texts[0] if len(texts) == 1 else texts
    return np.frombuffer(tensor.data, dtype).reshape(tuple(tensor.shape.dims))


def _grpc_error(error: Any) -> dict[str, str]:
    return {"error": f"Grpc Error, {error.code().value}, {error.details()}"}
