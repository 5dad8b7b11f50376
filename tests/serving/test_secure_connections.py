"""Certificates: of the server, and of the clients that may come."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from mindtorch.serving.client import Client, SSLConfig
from mindtorch.serving.front.hosting import TLS

from .conftest import Server


@dataclass(frozen=True)
class Files:
    """Of an authority, and of a server and a client that have its certificates."""

    authority: str
    certificate: str
    key: str
    client_certificate: str
    client_key: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder: Path = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name in ("localhost", "client"):
        made = authority.issue_cert(f"{name}.example" if name == "client" else name)
        made.private_key_pem.write_to_path(folder / f"{name}.key")
        made.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    names = ("ca.pem", "localhost.pem", "localhost.key", "client.pem", "client.key")
    return Files(*(str(folder / name) for name in names))


@pytest.fixture(scope="module")
def ports(server: Server, files: Files) -> Iterator[dict[str, int]]:
    """With certificates of the server alone, and with those of clients."""
    one = TLS(files.certificate, files.key)
    both = TLS(files.certificate, files.key, files.authority)
    yield {
        "grpc": server.host.start_grpc("127.0.0.1:0", tls=one),
        "grpc, clients": server.host.start_grpc("127.0.0.1:0", tls=both),
        "rest": server.host.start_rest("127.0.0.1:0", tls=one),
        "rest, clients": server.host.start_rest("127.0.0.1:0", tls=both),
    }


def asked(port: int, config: SSLConfig | None) -> str:
    client = Client(f"localhost:{port}", "things", "echo", ssl_config=config)
    given = client.infer({"x": 1})
    client.close()
    return given["error"] if isinstance(given, dict) else "ok"


def test_grpc(ports: dict[str, int], files: Files) -> None:
    trusting = SSLConfig(custom_ca=files.authority)
    known = SSLConfig(files.client_certificate, files.client_key, files.authority)
    assert asked(ports["grpc"], trusting) == "ok"
    assert asked(ports["grpc"], known) == "ok"
    assert "unavailable" in asked(ports["grpc"], None)
    assert "unavailable" in asked(ports["grpc"], SSLConfig())
    assert asked(ports["grpc, clients"], known) == "ok"
    assert "unavailable" in asked(ports["grpc, clients"], trusting)


def http_status(port: int, files: Files, as_client: bool) -> int:
    context = ssl.create_default_context(cafile=files.authority)
    if as_client:
        context.load_cert_chain(files.client_certificate, files.client_key)
    connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
    try:
        connection.request("POST", "/model/things:echo", '{"instances": {"x": 1}}')
        return connection.getresponse().status
    finally:
        connection.close()


def test_rest(ports: dict[str, int], files: Files) -> None:
    assert http_status(ports["rest"], files, as_client=False) == 200
    assert http_status(ports["rest, clients"], files, as_client=True) == 200
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        http_status(ports["rest, clients"], files, as_client=False)


def test_files_that_are_no_certificates(server: Server, files: Files) -> None:
    with pytest.raises(RuntimeError, match="start failed"):
        server.host.start_rest("127.0.0.1:0", tls=TLS(files.key, files.key))
    with pytest.raises(RuntimeError, match="cannot be used"):
        server.host.start_grpc("127.0.0.1:0", tls=TLS(files.key, files.key))


def test_addresses_that_cannot_be_used(server: Server) -> None:
    with pytest.raises(RuntimeError, match="cannot be used"):
        server.host.start_grpc(server.grpc)
    with pytest.raises(RuntimeError, match="99999 cannot be used"):
        server.host.start_grpc("127.0.0.1:99999")  # of which gRPC takes the lower 16 bits
    with pytest.raises(RuntimeError, match="No such file"):
        server.host.start_grpc("127.0.0.1:0", tls=TLS("none.pem", "none.pem"))
    with pytest.raises(RuntimeError, match="Address already in use"):
        server.host.start_rest(f"127.0.0.1:{server.rest}")
    for address in ("127.0.0.1", "127.0.0.1:99999", "nobody.invalid:80"):
        with pytest.raises(RuntimeError, match="start failed"):
            server.host.start_rest(address)
    path = server.folder / "socket"
    server.host.start_grpc(f"unix:{path}")
    given = Client(f"unix:{path}", "things", "echo").infer({"x": 1})
    assert given[0]["y"].tolist() == [1]
