"""Training that is killed and started again has the losses of training that was not."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mindtorch import torch
from mindtorch.kernels.support.atomic_file import name_beside
from mindtorch.resume import CorruptStateError, ResumableSampler, TrainingState
from tests.programs.resume_program import STEPS, train


def until_done(folder: Path, repository: Path, kills: int, draw: random.Random) -> int:
    """Start the program again and again; kill it ``kills`` times. Returns how often it was."""
    log, killed = folder / "log.txt", 0
    log.touch()
    command = [sys.executable, str(repository / "tests" / "programs" / "resume_program.py"),
               str(folder / "state.pt"), str(log)]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    while "done" not in log.read_text():
        before = len(log.read_text().splitlines())
        process = subprocess.Popen(command, env=environment)
        # so early that what is left suffices for the kills to come, also where this process is slow
        wanted = before + draw.randint(1, max(1, (STEPS - before) // (2 * (kills - killed + 1))))
        limit = time.monotonic() + 120
        while killed < kills and process.poll() is None and time.monotonic() < limit:
            if len(log.read_text().splitlines()) >= wanted:
                time.sleep(draw.random() * 0.01)  # somewhere in a step, or in a save
                process.send_signal(signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.0005)
        assert process.wait(timeout=120) in (0, -signal.SIGKILL)
    return killed


def assert_curve_of_one_run(folder: Path, repository: Path, kills: int, seed: int) -> None:
    whole: list[str] = []
    train(str(folder / "whole.pt"), whole.append)
    assert len(whole) == STEPS
    killed = until_done(folder, repository, kills, random.Random(seed))
    lines = (folder / "log.txt").read_text().splitlines()[:-1]
    assert killed == kills and {int(line.split()[0]) for line in lines} == set(range(1, STEPS + 1))
    for line in lines:  # steps that were made twice, too
        assert line == whole[int(line.split()[0]) - 1]


def test_a_killed_run_goes_on_bit_for_bit(tmp_path: Path, repository: Path) -> None:
    """Losses and scales of all steps; dropout, batch statistics, order of data and rates go on."""
    assert_curve_of_one_run(tmp_path, repository, kills=1, seed=0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_a_run_killed_many_times_goes_on_bit_for_bit(
    tmp_path: Path, repository: Path, seed: int
) -> None:
    """Five kills at random moments."""
    assert_curve_of_one_run(tmp_path, repository, kills=5, seed=seed)


def curves_of_two(folder: Path, repository: Path, kills: int, draw: random.Random) -> list[Any]:
    """What two processes under torchrun told, one of them killed ``kills`` times."""
    logs = [folder / f"log.{rank}" for rank in range(2)]
    for log in logs:
        log.touch()
    command = [sys.executable, "-m", "mindtorch.torch.distributed.run", "--nproc-per-node=2",
               str(repository / "tests" / "programs" / "resume_program.py"),
               str(folder / "state.pt"), str(folder / "log")]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}
    for _ in range(60):
        before = [len(log.read_text().splitlines()) for log in logs]
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        victim = draw.randrange(2)
        wanted = before[victim] + draw.randint(1, STEPS // 6)
        while kills and process.poll() is None:
            if len(logs[victim].read_text().splitlines()) >= wanted:
                time.sleep(draw.random() * 0.01)
                kills -= 1
                os.kill(int((folder / f"log.{victim}.pid").read_text()), signal.SIGKILL)
                break
            time.sleep(0.0005)
        if process.wait(timeout=300) == 0:
            break
    assert not kills
    return [log.read_text().splitlines() for log in logs]


@pytest.mark.exhaustive
def test_two_processes_go_on_bit_for_bit(tmp_path: Path, repository: Path) -> None:
    """One of two is killed four times; they may be a step apart, and go on from the same one."""
    folders = [tmp_path / "whole", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
    whole = curves_of_two(folders[0], repository, 0, random.Random(0))
    killed = curves_of_two(folders[1], repository, 4, random.Random(1))
    for one, other in zip(whole, killed, strict=True):
        steps = {line.split()[0]: line for line in one}
        assert len(steps) == STEPS + 1 and {line.split()[0] for line in other} == set(steps)
        assert all(line == steps[line.split()[0]] for line in other)


def saved(folder: Path) -> tuple[Path, TrainingState, Any]:
    model = torch.nn.Linear(20, 30)
    state = TrainingState(folder / "state.pt", model=model)
    state.save({"step": 3})
    return state.path, state, model


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    """The error names the file; nothing was loaded."""
    path, state, model = saved(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    before = model.weight.tolist()
    with pytest.raises(CorruptStateError, match=r"state\.pt is damaged"):
        state.load()
    assert model.weight.tolist() == before


def test_a_changed_byte_of_the_data_is_refused(tmp_path: Path) -> None:
    """Anywhere in the weights: each record has a checksum."""
    path, state, model = saved(tmp_path)
    content = bytearray(path.read_bytes())
    place = content.find(model.weight.detach().numpy().tobytes())
    assert place > 0
    for offset in (0, 1201, 2399):
        damaged = bytearray(content)
        damaged[place + offset] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptStateError, match="damaged"):
            state.load()


def test_other_files_and_parts_are_refused(tmp_path: Path) -> None:
    """A file of torch.save, parts by other names, things without a state."""
    path, state, model = saved(tmp_path)
    with pytest.raises(ValueError, match=r"holds \['model'\], but the state is of \['network'\]"):
        TrainingState(path, network=model).load()
    torch.save({"x": 1}, path)
    with pytest.raises(CorruptStateError, match="was not written by TrainingState"):
        state.load()
    with pytest.raises(TypeError, match="loss: function has no state_dict"):
        TrainingState(path, loss=lambda: 0)
    assert TrainingState(tmp_path / "none.pt", model=model).load("first") == "first"


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """And what a killed one left is removed by the next load."""
    path, state, _ = saved(tmp_path)
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle"):
        state.save(lambda: 0)
    assert path.read_bytes() == before
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                           capture_output=True, text=True, check=True)  # fmt: skip
    rest = Path(name_beside(str(path)).replace(f"-{os.getpid()}-", f"-{ended.stdout.strip()}-"))
    rest.write_bytes(before[:100])
    assert state.load() == {"step": 3} and not rest.exists()


def test_a_sampler_goes_on_in_the_middle_of_an_epoch() -> None:
    """The rest of the permutation, then another; all indices once in an epoch."""
    sampler = ResumableSampler(range(10), seed=3)
    whole = list(sampler)
    assert sorted(whole) == list(range(10)) and len(sampler) == 10
    sampler.advance(4)
    again = ResumableSampler(range(10))
    again.load_state_dict(sampler.state_dict())
    assert list(again) == whole[4:] and len(again) == 6
    with pytest.raises(ValueError, match="has 6 examples left"):
        again.advance(7)
    again.next_epoch()
    assert sorted(again) == list(range(10)) and list(again) != whole
    with pytest.raises(ValueError, match="of 10 examples, the data have 9"):
        ResumableSampler(range(9)).load_state_dict(sampler.state_dict())
    assert list(ResumableSampler(range(3), shuffle=False)) == [0, 1, 2]
