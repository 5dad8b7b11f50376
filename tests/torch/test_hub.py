"""torch.hub, and the marks of torch.jit."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from mindtorch.torch import hub, jit, onnx, package


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and logs nothing."""

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server on this machine: its URL, and the folder it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    with HTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}", folder
        http.shutdown()
        thread.join()


def test_a_download_is_checked_and_appears_whole(server: tuple[str, Path], tmp_path: Path) -> None:
    """A wrong content must not stay in the cache, where it would be believed."""
    url, folder = server
    content = bytes(range(256)) * 2000
    (folder / "weights.bin").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    target = tmp_path / "cache"
    target.mkdir()
    path = target / "weights.bin"
    with pytest.raises(RuntimeError, match=f'expected "123", got "{digest}"'):
        hub.download_url_to_file(f"{url}/weights.bin", str(path), "123", progress=False)
    assert list(target.iterdir()) == []
    hub.download_url_to_file(f"{url}/weights.bin", str(path), digest[:8], progress=False)
    assert path.read_bytes() == content
    assert [each.name for each in target.iterdir()] == ["weights.bin"]


def test_weights_are_downloaded_once(
    server: tuple[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The cache is PyTorch's own, by the same variable."""
    torch = pytest.importorskip("torch")
    url, folder = server
    torch.save({"w": torch.arange(3.0)}, folder / "net-0.pt")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    for _ in range(2):
        weights = hub.load_state_dict_from_url(f"{url}/net-0.pt?x=1", progress=False)
        assert weights["w"].tolist() == [0.0, 1.0, 2.0]
    assert capsys.readouterr().out.count("Downloading") == 1
    assert (tmp_path / "home" / "hub" / "checkpoints" / "net-0.pt").exists()


def test_the_cache_is_where_torch_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what PyTorch downloaded is found."""
    torch = pytest.importorskip("torch")
    for variables in ({}, {"XDG_CACHE_HOME": "/xdg"}, {"TORCH_HOME": "/home/t"}):
        monkeypatch.delenv("TORCH_HOME", raising=False)
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert hub.get_dir() == torch.hub.get_dir()
    monkeypatch.setattr(hub, "_directory", None)
    hub.set_dir("/elsewhere")
    assert hub.get_dir() == "/elsewhere"


def test_a_local_repository_gives_its_models(tmp_path: Path) -> None:
    """hubconf.py is found, its folder importable while it is read."""
    (tmp_path / "hub_neighbour.py").write_text("factor = 3")
    (tmp_path / "hubconf.py").write_text(
        "from hub_neighbour import factor\ndependencies = ['numpy']\n"
        "def net(n, k=1):\n    'A net.'\n    return n * factor + k\ndef _hidden(): pass\n"
    )
    folder = str(tmp_path)
    assert hub.list(folder, source="local") == ["net"]
    assert hub.help(folder, "net", source="local") == "A net."
    assert hub.load(folder, "net", 2, source="local", k=5) == 11
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(folder, "other", source="local")
    with pytest.raises(ValueError, match='Unknown source: "nowhere"'):
        hub.load(folder, "net", source="nowhere")
    with pytest.raises(NotImplementedError, match="use source='local'"):
        hub.load("owner/repository", "net")


def test_the_marks_of_torchscript_leave_code_as_it_is() -> None:
    """Scripts that carry them run as Python."""

    def f(x: int) -> int:
        return x + 1

    for mark in (jit.unused, jit.export, jit.ignore, jit.ignore(drop=True), jit._overload):
        assert mark(f) is f
    assert not jit.is_scripting() and not jit.is_tracing()
    assert jit.annotate(list[int], [1]) == [1]
    assert jit.wait(jit.fork(f, 1)) == 2
    assert jit.BroadcastingList2[int] == list[int] | int
    assert jit.isinstance([1, 2], list[int]) and not jit.isinstance([1, "a"], list[int])
    assert jit.isinstance({"a": 1}, dict[str, int]) and jit.isinstance((1, "a"), tuple[int, str])


def absent_things() -> list[Any]:
    return [
        package.PackageExporter,
        package.PackageImporter,
        onnx.ExportableModule,
    ]


@pytest.mark.parametrize("thing", absent_things(), ids=lambda thing: thing.__name__)
def test_what_is_absent_can_be_imported_but_not_used(thing: Any) -> None:
    """Packages mention and subclass these names at import."""
    if isinstance(thing, type):
        thing = type("Sub", (thing,), {})
    with pytest.raises(NotImplementedError, match="is not available in mindtorch"):
        thing()
