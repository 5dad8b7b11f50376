"""Who may ask, what is answered, and that nothing of other people's files runs."""

from __future__ import annotations

import asyncio
import html
import http.client
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("nicegui")

from mindtorch.insight.app import Guard, is_loopback
from mindtorch.insight.pages.registry import PAGES, page
from mindtorch.insight.reading.folder import RunFolder
from tests.support.insight_runs import EVIL

Address = tuple[str, int]


def get(address: Address, path: str, **headers: str) -> tuple[int, Any, bytes]:
    """(status, headers, body) of a request, its path sent as it is."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET", path, headers=named)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("each", PAGES, ids=lambda each: each.name or "start")
def test_every_page_is_made(each: Any, address: Address) -> None:
    """With all trainings at once; texts from files are no markup."""
    chosen = "run0\nrun1\na<b>&'\""
    status, headers, body = get(address, f"/{each.name}?runs={quote(chosen)}")
    text = body.decode()
    assert status == 200
    assert each.title in text and "500" not in re.findall(r"<title>(.*?)</title>", text)
    assert "<img src=x" not in text and "${document" not in text
    assert "default-src 'self'" in headers["content-security-policy"]


ODD = "odd\ufffd"


@pytest.mark.parametrize("each", PAGES, ids=lambda each: each.name or "start")
def test_odd_values_break_no_page(each: Any, address: Address) -> None:
    """Numbers beyond all types, halves of characters, a name that is no text."""
    status, _, body = get(address, f"/{each.name}?runs={quote(ODD)}%0Arun0")
    assert status == 200
    shown = html.unescape(body.decode())
    if each.choice != "none":
        assert ODD in shown or "odd\\ufffd" in shown


def test_pages_need_nothing_from_elsewhere(address: Address) -> None:
    """All scripts, styles and fonts are the server's own, and are there."""
    _, _, body = get(address, "/scalars")
    text = html.unescape(body.decode())
    names = set(re.findall(r"""["'`](/_nicegui/[^"'`?\s]+\.(?:js|css))["'`?]""", text))
    assert len(names) > 5
    for name in names:
        assert get(address, name)[0] == 200, name
    outside = re.findall(r"""(?:src|href|import)\s*[=(]?\s*["'](https?:)?//[^"']+""", text)
    assert not outside


def test_values_are_on_the_pages(address: Address) -> None:
    """What the files say, in what the browser is sent."""
    scalars = html.unescape(get(address, "/scalars?runs=run0")[2].decode())
    assert "accuracy" in scalars and "at step 20" in scalars
    assert "convolution_backward" in get(address, "/performance?runs=run0")[2].decode()
    graph = html.unescape(get(address, "/graph?runs=run0")[2].decode())
    assert "layer2" in graph and "<svg" in graph
    lineage = html.unescape(get(address, "/lineage")[2].decode())
    assert "Adam" in lineage and '"lr"' in lineage
    compare = html.unescape(get(address, "/compare?runs=run0%0Arun1")[2].decode())
    assert "differs" in compare


def test_a_run_that_is_not_there_is_passed_over(address: Address) -> None:
    """Names in the address choose among those that were found."""
    for name in ("../../etc", "/etc/passwd", "nobody", "%00", "run0/../run1"):
        status, _, body = get(address, f"/scalars?runs={quote(name)}")
        assert status == 200 and b"root:" not in body


def test_samples_are_sent_as_what_they_are(address: Address, trainings: Path) -> None:
    """A picture of a step that was read; no other file, whatever is asked for."""
    folder = RunFolder(trainings)
    folder.look()
    item = folder.runs["run0"].series("stored", "inputs")[0]
    query = f"run=run0&tag=inputs&step={item.step}&time={item.time}"
    status, headers, body = get(address, f"/stored?{query}")
    assert (status, headers["content-type"]) == (200, "image/png")
    assert body.startswith(b"\x89PNG")
    assert "sandbox" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    for wrong in ("run=../run0&tag=inputs", "run=run0&tag=..%2F..%2Fetc%2Fpasswd", "run=run0", "",
                  f"run=run0&tag=inputs&step={item.step}&time=0",
                  f"run=run0&tag=inputs&step=x&time={item.time}"):  # fmt: skip
        assert get(address, f"/stored?{wrong}")[0] == 404


def test_paths_do_not_lead_out(address: Address) -> None:
    """Neither the pages' nor the assets'."""
    for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/insight.jsonl",
                 "/run0/insight.jsonl", "/_nicegui/../../../../etc/passwd",
                 "/_nicegui/3.18.0/static/..%2f..%2f..%2f..%2fetc%2fpasswd"):  # fmt: skip
        status, _, body = get(address, path)
        assert status >= 300 and b"root:" not in body


def test_other_sites_are_refused(address: Address) -> None:
    """A name that somebody points to this machine, and what a foreign page asks for."""
    host, port = address
    assert get(address, "/", Host=f"evil.example:{port}")[0] == 403
    assert get(address, "/", Host=f"localhost:{port}")[0] == 200
    assert get(address, "/", Origin="http://evil.example")[0] == 403
    assert get(address, "/", Origin=f"http://{host}:{port}")[0] == 200
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
               "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    socket = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    status, _, _ = get(address, socket, Origin="http://evil.example", **upgrade)
    assert status == 403


class _Inner:
    """An application that keeps what it was asked."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})


def asked(guard: Guard, path: str, kind: str = "http", **headers: str) -> list[Any]:
    """The messages that a guard answers with."""
    path, _, query = path.partition("?")
    named = {"host": "somewhere:80", **headers}
    scope = {
        "type": kind, "path": path, "query_string": query.encode(), "method": "GET",
        "headers": [(k.encode(), v.encode()) for k, v in named.items()],
    }  # fmt: skip
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    return sent


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    """In the address once, then as a cookie that scripts cannot read; or in a header."""
    guard = Guard(_Inner(), RunFolder(tmp_path), "sesame")
    assert asked(guard, "/scalars")[0]["status"] == 401
    assert asked(guard, "/scalars?token=wrong")[0]["status"] == 401
    assert asked(guard, "/", cookie="insight_token=wrong")[0]["status"] == 401
    assert asked(guard, "/", cookie="insight_token=\u00e4")[0]["status"] == 401
    assert asked(guard, "/", kind="websocket") == [{"type": "websocket.close", "code": 1008}]
    first = asked(guard, "/scalars?runs=a&token=sesame")[0]
    told = {name: value.decode() for name, value in first["headers"]}
    assert (first["status"], told[b"location"]) == (303, "/scalars?runs=a")
    cookie = told[b"set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    for headers in ({"cookie": cookie.split(";")[0]}, {"authorization": "Bearer sesame"}):
        assert asked(guard, "/scalars", **headers)[0]["status"] == 200
    refused = asked(guard, "/", origin="http://evil.example", authorization="Bearer sesame")
    assert refused[0]["status"] == 403


def test_a_prefix_is_taken_off(tmp_path: Path) -> None:
    """Behind a proxy; other paths are not there."""
    inner = _Inner()
    guard = Guard(inner, RunFolder(tmp_path), prefix="/insight")
    assert asked(guard, "/insight/graph", host="localhost")[0]["status"] == 200
    scope = inner.scopes[0]
    assert (scope["path"], scope["root_path"]) == ("/insight/graph", "/insight")
    assert asked(guard, "/insight", host="localhost")[0]["status"] == 307
    assert asked(guard, "/graph", host="localhost")[0]["status"] == 404


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.1.2.3", True),
     ("0.0.0.0", False), ("::", False), ("192.168.1.2", False), ("localhost.evil", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host: str, expected: bool) -> None:
    """Others need a token."""
    assert is_loopback(host) is expected


def test_a_page_has_one_name() -> None:
    """A second one would never be shown."""
    with pytest.raises(ValueError, match="there is a page 'graph'"):
        page("graph", "Other", "list")


def test_no_key_of_a_page_begins_with_a_colon(address: Address) -> None:
    """The browser takes such keys for JavaScript; only ours are there, never a text from a file."""
    chosen = quote("a<b>&'\"")
    for each in PAGES:
        both = f"{chosen}%0A{quote(ODD)}"  # it has a parameter ":key"
        text = html.unescape(get(address, f"/{each.name}?runs={both}")[2].decode())
        keys = set(re.findall(r'[{,]"(:[^"]*)":', text))
        assert keys <= {":formatter"}, each.name
    assert EVIL[:8] in html.unescape(get(address, f"/scalars?runs={chosen}")[2].decode())
