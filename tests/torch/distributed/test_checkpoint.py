"""torch.distributed.checkpoint: files that PyTorch reads, loaded by any number of processes."""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.torch.distributed import checkpoint
from mindtorch.torch.distributed.checkpoint import format_utils, staging
from mindtorch.torch.distributed.checkpoint.state_dict_loader import load_from_keys
from mindtorch.torch.distributed.device_mesh import init_device_mesh
from mindtorch.torch.distributed.tensor import Shard, distribute_tensor
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import environment, forked, ranks_of

PROGRAM = PROGRAMS / "distributed/checkpoint_program.py"
KILLS = PROGRAMS / "distributed/checkpoint_kills_program.py"
OF_FOUR = GOLDEN_FILES / "checkpoint_of_four"
Failed = checkpoint.CheckpointException


@pytest.fixture(autouse=True)
def _no_group() -> Iterator[None]:
    """One process: torch's warning that there is no group is expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled")
        yield


@pytest.fixture(scope="module")
def four(tmp_path_factory: Any) -> tuple[Path, list[Any]]:
    """Where four processes saved, and what each of them found."""
    folder = tmp_path_factory.mktemp("checkpoint")
    return folder, ranks_of([*forked(4), str(PROGRAM), "mindtorch.torch", str(folder)], 4, folder)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_four_save_and_others_load(four: Any, count: int) -> None:
    """Each of ``count`` processes gets its rows, the whole tensors and the objects."""
    for each in four[1][:count]:
        loaded, expected = each[str(count)]
        assert loaded == expected


def test_saves_in_the_background(four: Any) -> None:
    """They save what was there when they were called, while the program's collectives go on."""
    for each in four[1]:
        assert each["background"] == [[100.0, 101.0, 102.0, 103.0, 104.0], 3.0]


def test_all_processes_hear_who_failed(four: Any) -> None:
    """A name that is missing in one process's state is an error in all of them."""
    for each in four[1]:
        assert each["error"] == {"1": "Missing key in checkpoint state_dict: more."}


WHOLE: dict[str, Any] = {
    "model": {"weight": [[3.0 * row + i for i in range(3)] for row in range(11)],
              "half": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
              "bias": [0.0, 1.0, 2.0, 3.0, 4.0], "scalar": 2.5},
    "optimizer": {"state": [{"step": 7, "name": "x"}], "lr": 0.1}, "epoch": 3,
}  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def test_pytorchs_checkpoint_of_four_is_read() -> None:
    """Its ``.metadata`` and its entries, without a state to load into."""
    assert plain(load_from_keys(checkpoint_id=OF_FOUR)) == WHOLE
    some = load_from_keys({"model.bias", "optimizer"}, checkpoint_id=OF_FOUR)
    assert plain(some) == {"model": {"bias": WHOLE["model"]["bias"]},
                           "optimizer": WHOLE["optimizer"]}  # fmt: skip


_READER = """
import json, sys, warnings, torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys as load
warnings.simplefilter("ignore")
source, target = sys.argv[1:]
state = load(checkpoint_id=source)
dcp.save(state, checkpoint_id=target)
plain = lambda v: (v.tolist() if hasattr(v, "tolist") else {k: plain(w) for k, w in v.items()}
                   if isinstance(v, dict) else [plain(w) for w in v] if isinstance(v, list) else v)
print(json.dumps(plain(state)))
"""


def test_pytorch_reads_ours(four: Any, tmp_path: Path) -> None:
    """Real PyTorch loads what four of our processes saved, and we what it saves then."""
    pytest.importorskip("torch")
    command = [sys.executable, "-c", _READER, str(four[0] / "four"), str(tmp_path / "theirs")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == WHOLE
    assert plain(load_from_keys(checkpoint_id=tmp_path / "theirs")) == WHOLE


# --- one process ---------------------------------------------------------------------------------


def state() -> dict[str, Any]:
    torch.manual_seed(0)
    return {"a": {"w": torch.randn(7, 5), "b": torch.arange(3)}, "n": [1, 2], "t": [torch.ones(2)]}


def test_modules_and_optimizers_are_asked_for_their_states(tmp_path: Path) -> None:
    """And given them back; training goes on bit by bit as without the pause."""

    def made() -> Any:
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
        return model, torch.optim.AdamW(model.parameters(), lr=0.1)

    def step(model: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        model(torch.arange(12.0).reshape(3, 4).sin()).square().sum().backward()
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer)
    checkpoint.save({"model": model, "optimizer": optimizer}, checkpoint_id=tmp_path)
    step(model, optimizer)
    other, its_optimizer = made()
    step(other, its_optimizer)  # so that the optimizer has a state to load into
    step(other, its_optimizer)
    checkpoint.load({"model": other, "optimizer": its_optimizer}, checkpoint_id=tmp_path)
    step(other, its_optimizer)
    for one, two in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_files_of_torch_save_and_back(tmp_path: Path) -> None:
    """dcp_to_torch_save and torch_save_to_dcp."""
    checkpoint.save(state(), checkpoint_id=tmp_path / "one")
    format_utils.dcp_to_torch_save(tmp_path / "one", tmp_path / "file.pt")
    assert plain(torch.load(tmp_path / "file.pt")) == plain(state())
    format_utils.torch_save_to_dcp(tmp_path / "file.pt", tmp_path / "two")
    assert plain(load_from_keys(checkpoint_id=tmp_path / "two")) == plain(state())


@pytest.mark.parametrize("options", [{"thread_count": 3}, {"single_file_per_rank": False},
                                     {"sync_files": False}])  # fmt: skip
def test_writers_may_divide_the_work(options: Any, tmp_path: Path) -> None:
    """Several threads, a file for each entry, no waiting for the disk."""
    writer = checkpoint.FileSystemWriter(tmp_path, **options)
    described = checkpoint.save(state(), storage_writer=writer)
    files = {info.relative_path for info in described.storage_data.values()}
    assert {name for name in os.listdir(tmp_path) if name != ".metadata"} == files
    assert len(files) == {"thread_count": 3, "single_file_per_rank": 4}.get(next(iter(options)), 1)
    assert plain(load_from_keys(checkpoint_id=tmp_path)) == plain(state())


def test_a_new_checkpoint_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """Under other names, so that the old one is whole until the new one is; then it is gone."""
    checkpoint.save(state(), checkpoint_id=tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".metadata", "__0_0.distcp"]
    (tmp_path / "__5_3.distcp").write_bytes(b"of a killed save")
    with pytest.warns(UserWarning, match="which the new one replaces"):
        checkpoint.save(state() | {"more": 1}, checkpoint_id=tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".metadata", "__0_1.distcp"]
    assert load_from_keys(checkpoint_id=tmp_path)["more"] == 1
    writer = checkpoint.FileSystemWriter(tmp_path, overwrite=False)
    with pytest.raises(Failed, match="Checkpoint already exists"):
        checkpoint.save(state(), storage_writer=writer)


def test_each_process_may_save_by_itself(tmp_path: Path) -> None:
    """use_collectives=False: a description of its own."""
    checkpoint.save(state(), checkpoint_id=tmp_path, use_collectives=False)
    assert sorted(os.listdir(tmp_path)) == ["__0_.metadata".replace("_.", "."), "__0_0.distcp"]
    loaded = state()
    loaded["a"]["w"].zero_()
    checkpoint.load(loaded, checkpoint_id=tmp_path)
    assert plain(loaded) == plain(state())


def test_copies_for_the_background(tmp_path: Path) -> None:
    """A writer that keeps its copy, DefaultStager's answer, and what is not available."""
    writer = checkpoint.FileSystemWriter(tmp_path, cache_staged_state_dict=True)
    for n in range(3):
        saved = {"x": torch.full((3,), float(n))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            future = checkpoint.async_save(saved, storage_writer=writer)
            saved["x"].add_(100)
            future.result(100)
        assert plain(load_from_keys(checkpoint_id=tmp_path)) == {"x": [float(n)] * 3}
    made = checkpoint.async_save(
        {"x": torch.ones(1)}, checkpoint_id=tmp_path / "two", async_stager=staging.DefaultStager()
    )
    assert made.staging_completion.done() and made.upload_completion.result(100).version == "1.0.0"
    kinds = checkpoint.state_dict_saver.AsyncCheckpointerType
    with pytest.raises(NotImplementedError, match="PROCESS"):
        checkpoint.async_save({}, checkpoint_id=tmp_path, async_checkpointer_type=kinds.PROCESS)


ERRORS = [
    ("dcp.load({'q': torch.ones(1)}, checkpoint_id=where)", "Missing key in checkpoint state_dict"),
    ("dcp.load({'n': [1], 'a': {'w': torch.ones(2)}}, checkpoint_id=where)", "Size mismatch"),
    ("dcp.load({'n': [1]}, checkpoint_id=where + 'nowhere')", ""),
    ("dcp.load({})", "`checkpoint_id` must be specified"),
    ("dcp.save({}, checkpoint_id='')", "`checkpoint_id` must be specified"),
    ("dcp.save({'a.b': 1, 'a': {'b': 2}}, checkpoint_id=where)", "duplicated flatten key a.b"),
]


@pytest.mark.parametrize(("code", "text"), ERRORS)
def test_errors_are_torchs(code: str, text: str, tmp_path: Path) -> None:
    """The same kind of error, with the same words."""
    theirs = pytest.importorskip("torch")
    import torch.distributed.checkpoint as their_checkpoint

    where = str(tmp_path / "saved")
    checkpoint.save(state(), checkpoint_id=where)
    found = []
    for library, module in ((torch, checkpoint), (theirs, their_checkpoint)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(BaseException) as caught:
                eval(code, {"torch": library, "dcp": module, "where": where})
        assert text in str(caught.value)
        found.append(type(caught.value).__name__)
    assert found[0] == found[1]


def test_partial_and_impossible_loads(tmp_path: Path) -> None:
    """allow_partial_load leaves what is not there; nothing loads into a tensor without memory."""
    checkpoint.save({"x": torch.ones(2)}, checkpoint_id=tmp_path)
    found = {"x": torch.zeros(2), "y": torch.zeros(1)}
    planner = checkpoint.DefaultLoadPlanner(allow_partial_load=True)
    checkpoint.load(found, checkpoint_id=tmp_path, planner=planner)
    assert plain(found) == {"x": [1.0, 1.0], "y": [0.0]}
    with pytest.raises(Failed, match="meta device"):
        checkpoint.load({"x": torch.zeros(2, device="meta")}, checkpoint_id=tmp_path)


# --- damaged and killed --------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
def test_damaged_files_are_not_loaded_wrongly(name: str, tmp_path: Path) -> None:
    """A missing end, and single changed bits: an error, or the values that were saved."""
    checkpoint.save(state(), checkpoint_id=tmp_path / "good")
    data = (tmp_path / "good" / name).read_bytes()
    random.seed(3)
    places = random.sample(range(len(data)), 40)
    damaged = [data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]
               for place in places]  # fmt: skip
    damaged += [data[:place] for place in [0, *places[:8]]]
    errors = 0
    for content in damaged:
        shutil.copytree(tmp_path / "good", tmp_path / "bad", dirs_exist_ok=True)
        (tmp_path / "bad" / name).write_bytes(content)
        try:
            found = load_from_keys(checkpoint_id=tmp_path / "bad")
        except Failed as error:
            errors += "is damaged" in str(error) or "PytorchStreamReader" in str(error)
            continue
        assert plain(found) == plain(state())
    assert errors >= (len(damaged) if name == ".metadata" else len(damaged) // 4)


def test_a_missing_part_is_an_error(tmp_path: Path) -> None:
    """A description that lacks some rows of a tensor, and one that names no file for them."""
    shutil.copytree(OF_FOUR, tmp_path, dirs_exist_ok=True)
    reader = checkpoint.FileSystemReader(tmp_path)
    described = reader.read_metadata()
    described.state_dict_metadata["model.weight"].chunks.pop(1)  # type: ignore[union-attr]
    from mindtorch.torch.distributed.checkpoint import _metadata_file

    _metadata_file.write(str(tmp_path / ".metadata"), described, False)
    with pytest.raises(Failed, match=r"the checkpoint lacks a part of model\.weight"):
        load_from_keys(checkpoint_id=tmp_path)
    (tmp_path / "__2_0.distcp").unlink()
    with pytest.raises(Failed, match="No such file"):
        load_from_keys({"model.bias", "epoch", "model.half"}, checkpoint_id=tmp_path)


class _Evil:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


def test_descriptions_run_nothing(tmp_path: Path) -> None:
    """What is no description, size, type or path in ``.metadata`` is refused."""
    checkpoint.save({"x": 1}, checkpoint_id=tmp_path)
    (tmp_path / ".metadata").write_bytes(pickle.dumps(_Evil()))
    with pytest.raises(Failed, match="is blocked"):
        load_from_keys(checkpoint_id=tmp_path)
    module = "torch.distributed.checkpoint.filesystem"
    attack = b"\x80\x04" + b"".join(
        b"\x8c" + bytes([len(text)]) + text for text in (module.encode(), b"os.system")
    )
    (tmp_path / ".metadata").write_bytes(attack + b"\x93\x8c\x04true\x85R.")
    with pytest.raises(Failed, match="Unsupported global"):
        load_from_keys(checkpoint_id=tmp_path)


def _kills(folder: Path, count: int, seed: int) -> None:
    command = [sys.executable, str(KILLS), str(folder), str(count), str(seed)]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=60 + 60 * count,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == count
    for line in lines:
        assert line["in_time"], lines
        assert line["seen"] in (
            [None] if line["done"] < 0 and line["seen"] is None
            else [[line["done"]], [line["done"] + 1]]
        ), lines  # fmt: skip


def test_a_killed_save_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    """One of two processes is killed: the other ends, and one version is loaded, all of it: the
    last that was reported or the one after it."""
    _kills(tmp_path, 4, 5)


@pytest.mark.exhaustive
def test_a_hundred_killed_saves(tmp_path: Path) -> None:
    """As above, a hundred times."""
    _kills(tmp_path, 100, 6)


# --- safetensors ---------------------------------------------------------------------------------


def test_safetensors_files(tmp_path: Path) -> None:
    """Several files with an index, parts with whole tensors made of them; read by PyTorch too."""
    tensors = {"w": torch.arange(12.0).reshape(3, 4), "b": torch.arange(3).to(torch.bfloat16)}
    writer = checkpoint.HuggingFaceStorageWriter(str(tmp_path / "plain"), {"w": 1, "b": 2})
    checkpoint.save(dict(tensors), storage_writer=writer)
    index = json.loads((tmp_path / "plain/model.safetensors.index.json").read_text())
    assert index == {
        "metadata": {"total_size": 54},
        "weight_map": {"w": "model-00001-of-00002.safetensors",
                       "b": "model-00002-of-00002.safetensors"},
    }  # fmt: skip
    parts = checkpoint.HuggingFaceStorageWriter(
        str(tmp_path / "parts"), save_distributed=True, enable_consolidation=True
    )
    checkpoint.save(dict(tensors), storage_writer=parts)
    theirs = pytest.importorskip("torch")
    import torch.distributed.checkpoint as their_checkpoint

    for folder in ("plain", "parts", "parts/sharded"):
        for library, module in ((torch, checkpoint), (theirs, their_checkpoint)):
            found = {"w": library.zeros(3, 4), "b": library.zeros(3, dtype=library.bfloat16)}
            reader = module.HuggingFaceStorageReader(str(tmp_path / folder), thread_count=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module.load(found, storage_reader=reader)
            assert plain(found) == plain(tensors)
    with pytest.raises(Failed, match="epoch is none"):
        checkpoint.save({"epoch": 1}, storage_writer=writer)
    (tmp_path / "plain/model-00001-of-00002.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{")
    with pytest.raises(Failed, match="is damaged"):
        checkpoint.load({"w": torch.zeros(3, 4)},
                        storage_reader=checkpoint.HuggingFaceStorageReader(tmp_path / "plain"))  # type: ignore[arg-type] # fmt: skip


def test_an_optimizer_state_lies_as_the_parameters(tmp_path: Path) -> None:
    """load_sharded_optimizer_state_dict: in parts where the parameter is a DTensor."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        cut = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
        moments = {"w": {"exp_avg": cut * 3, "step": torch.tensor(5.0)}}
        saved = {"model": {"w": cut}, "adam": {"state": moments, "param_groups": [{"lr": 0.1}]}}
        checkpoint.save(saved, checkpoint_id=tmp_path / "c")
        load = checkpoint.load_sharded_optimizer_state_dict
        reader = checkpoint.FileSystemReader(tmp_path / "c")
        found = load({"w": cut}, "adam", reader)
        state = found["adam"]["state"]["w"]
        assert state["exp_avg"].placements == cut.placements and float(state["step"]) == 5
        assert torch.equal(state["exp_avg"].full_tensor(), torch.full((4, 2), 3.0))
        assert found["adam"]["param_groups"] == [{"lr": 0.1}] and list(found) == ["adam"]
        whole = load({"w": torch.ones(4, 2)}, "adam", reader)["adam"]["state"]["w"]["exp_avg"]
        assert torch.equal(whole, torch.full((4, 2), 3.0))
        assert load({}, "nothing", reader) == {}
    finally:
        dist.destroy_process_group()
