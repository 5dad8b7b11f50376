"""Faults from outside: paths that cannot be written, full disks, signals at any moment."""

import errno
import os
import resource
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.kernels.support.atomic_file import replacing, write_whole
from mindtorch.mindspore.mindrecord import FileWriter


def test_names_of_any_length_are_written(tmp_path: Path) -> None:
    for name in ("l" * 252 + ".pt", "ä" * 126 + ".pt", "two\nlines.pt"):
        torch.save(torch.ones(3), tmp_path / name)
        assert torch.equal(torch.load(tmp_path / name), torch.ones(3))
    assert len(os.listdir(tmp_path)) == 3
    with pytest.raises(RuntimeError, match="open file failed with strerror: File name too long"):
        torch.save(1, tmp_path / ("l" * 256))


@pytest.mark.parametrize("name", ["", "folder/", "x.pt/"])
def test_names_without_a_file_are_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"invalid file name: {name}$"):
        torch.save(1, name)


def test_links_in_a_circle_stay(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(RuntimeError, match="Too many levels of symbolic links"):
        torch.save(1, tmp_path / "circle")
    assert (tmp_path / "circle").is_symlink()


@pytest.mark.skipif(sys.platform != "linux", reason="names of open files are Linux's")
def test_open_files_without_a_name_are_written_to(tmp_path: Path) -> None:
    with (tmp_path / "gone").open("w+b") as file:
        (tmp_path / "gone").unlink()
        torch.save(torch.ones(3), f"/proc/self/fd/{file.fileno()}")
        assert torch.equal(torch.load(file), torch.ones(3))
    assert not os.listdir(tmp_path)


def test_a_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run as root, to whom everything is allowed."""
    write_whole(tmp_path / "x", "old")
    (tmp_path / "x").chmod(0o444)
    may = os.access
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p).name != "x" and may(p, mode))
    with pytest.raises(PermissionError), replacing(tmp_path / "x"):
        raise AssertionError("was opened")
    with pytest.raises(RuntimeError, match="open file failed with strerror: Permission denied"):
        torch.save(1, tmp_path / "x")
    assert (tmp_path / "x").read_text() == "old"


def _rows(path: Path, size: int) -> None:
    writer = FileWriter(str(path), overwrite=True)
    writer.add_schema({"x": {"type": "bytes"}}, "rows")
    writer.write_raw_data([{"x": bytes(size)}])
    writer.commit()


def _trace(path: Path, size: int) -> None:
    with torch.profiler.profile() as profile:
        x = torch.ones(3)
        for _ in range(size // 100):
            x = x + 1
    profile.export_chrome_trace(str(path))


def _files(folder: Path) -> dict[str, tuple[int, ...]]:
    found = {each.name: each.stat() for each in folder.iterdir()}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns) for name, s in found.items()}


@pytest.mark.parametrize("write", [_rows, _trace])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, write: Any) -> None:
    write(tmp_path / "x", 100)
    old = _files(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with pytest.raises(OSError) as raised:
            write(tmp_path / "x", 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert raised.value.errno == errno.EFBIG
    assert _files(tmp_path) == old


def test_a_signal_anywhere_in_a_step_leaves_gradients_on() -> None:
    """An exception at each line of ours in turn, where those of signals come from."""
    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        network(torch.ones(3, 2)).sum().backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()

    step()
    step()
    calls = 0

    def interrupt(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls
        if event == "call" and frame.f_code.co_name in ("update", "record_nothing"):
            calls -= 1
            if not calls:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    for at in range(1, 100):
        calls = at
        sys.setprofile(interrupt)
        try:
            step()
        except KeyboardInterrupt:
            pass
        else:
            break
        finally:
            sys.setprofile(None)
        assert torch.is_grad_enabled(), f"after call {at} of update"
    assert at > 4


def test_more_elements_than_64_bits_count_are_refused() -> None:
    many = 2**40
    with pytest.raises(RuntimeError, match="numel: integer multiplication overflow"):
        torch.ones(1).expand(many, many)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty(0, many, many)
    with pytest.raises(RuntimeError, match=rf"overflowed with sizes=\[{many}, {many}\]"):
        torch.empty(many, many)
    assert torch.ones(1).expand(2**62)[2**61 :].shape == (2**61,)
    with pytest.raises(RuntimeError, match="you tried to allocate 1125899906842624 bytes"):
        torch.UntypedStorage(2**50)
