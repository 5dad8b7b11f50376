"""Pipelines of pictures: images per second, ours and others', in turns.

Decode, resize to 256, middle of 224, normalise, channels first, batches of 64, with two workers.

    python benchmarks/data_pipelines.py                              # ours and PyTorch's
    python benchmarks/data_pipelines.py --mindspore VENV/bin/python  # and MindSpore

Each system runs in a session of its own, which makes epochs when it is told to and is stopped in
between, so that it does nothing ahead; systems take turns, and the best epoch of each counts. On a
busy machine processor time says more: that of all processes of a system, per picture.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
SIZES = [(375, 500), (500, 375), (333, 500), (400, 400)]


def write_pictures(folder: Path, count: int) -> None:
    """JPEG files of natural detail: smooth pictures with some noise."""
    from PIL import Image

    draw = np.random.default_rng(0)
    for number in range(count):
        height, width = SIZES[number % len(SIZES)]
        small = draw.integers(0, 256, (height // 12, width // 12, 3), dtype=np.uint8)
        large = Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)
        smooth = np.asarray(large)
        noisy = smooth + draw.integers(-12, 12, smooth.shape)
        path = folder / "ab"[number % 2] / f"{number:05d}.jpg"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, quality=90)


def dataset_epochs(ds: Any, vision: Any, folder: str, workers: int, processes: bool) -> Any:
    """MindSpore's interface: MindSpore itself, and ours."""
    data = ds.ImageFolderDataset(folder, shuffle=False, num_parallel_workers=workers)
    operations = [vision.Decode(), vision.Resize(256), vision.CenterCrop(224),
                  vision.Normalize(MEAN, STD), vision.HWC2CHW()]  # fmt: skip
    data = data.map(operations, "image", num_parallel_workers=workers,
                    python_multiprocessing=processes)  # fmt: skip
    data = data.batch(64, num_parallel_workers=workers)
    iterator = data.create_dict_iterator(output_numpy=True)
    return lambda: sum(len(row["label"]) for row in iterator)


class Pictures:
    """What users of torch.utils.data write: Pillow, then tensors."""

    def __init__(self, torch: Any, folder: str) -> None:
        self.torch = torch
        self.paths = sorted(Path(folder).glob("*/*.jpg"))
        self.mean, self.std = (torch.tensor(v)[:, None, None] / 255 for v in (MEAN, STD))

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> Any:
        from PIL import Image

        with self.paths[place].open("rb") as file:
            image = Image.open(file).convert("RGB")
        width, height = image.size
        short = min(width, height)
        image = image.resize((width * 256 // short, height * 256 // short),
                             Image.Resampling.BILINEAR)  # fmt: skip
        left, top = (image.size[0] - 224) // 2, (image.size[1] - 224) // 2
        image = image.crop((left, top, left + 224, top + 224))
        tensor = self.torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
        return (tensor.to(self.torch.float32).div(255) - self.mean) / self.std, place % 2


def loader_epochs(torch: Any, folder: str, workers: int) -> Any:
    loader = torch.utils.data.DataLoader(
        Pictures(torch, folder), 64, num_workers=workers, persistent_workers=True
    )
    return lambda: sum(len(labels) for _, labels in loader)


def epochs_of(system: str, folder: str, workers: int) -> Any:
    """A function that makes an epoch and returns the number of its pictures."""
    if system in ("ours", "ours, processes"):
        import mindtorch.mindspore.dataset as ds
        from mindtorch.mindspore.dataset import vision

        return dataset_epochs(ds, vision, folder, workers, system != "ours")
    if system == "MindSpore":
        import mindspore.dataset as real
        from mindspore.dataset import vision as real_vision

        return dataset_epochs(real, real_vision, folder, workers, False)
    if system == "our DataLoader":
        from mindtorch import torch as ours

        return loader_epochs(ours, folder, workers)
    import torch

    return loader_epochs(torch, folder, workers)


def serve(system: str, folder: str, workers: int) -> None:
    """Make an epoch for each line of the input; print [pictures, seconds]."""
    epoch = epochs_of(system, folder, workers)
    for _ in sys.stdin:
        started = time.perf_counter()
        count = epoch()
        print(json.dumps([count, time.perf_counter() - started]), flush=True)


def processor_seconds(session: int) -> float:
    """Of all processes of a session."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace, folder: str) -> dict[str, list[tuple[float, float]]]:
    """For each system (images per second, milliseconds of processor per image) of each turn."""
    systems = {"ours": sys.executable, "ours, processes": sys.executable, "PyTorch": sys.executable,
               "our DataLoader": sys.executable}  # fmt: skip
    if options.mindspore:
        systems["MindSpore"] = options.mindspore
    running = {
        name: subprocess.Popen(
            [python, __file__, "--serve", name, "--folder", folder, "--workers",
             str(options.workers)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )
        for name, python in systems.items()
    }  # fmt: skip
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    try:
        for turn in range(options.turns + 1):
            for name, process in running.items():
                assert process.stdin is not None and process.stdout is not None
                os.killpg(process.pid, signal.SIGCONT)
                before = processor_seconds(process.pid)
                process.stdin.write("epoch\n")
                process.stdin.flush()
                line = process.stdout.readline()
                while line and not line.startswith("["):
                    line = process.stdout.readline()
                count, seconds = json.loads(line)
                if turn:  # the first one compiles and starts workers
                    spent = processor_seconds(process.pid) - before
                    speeds[name].append((count / seconds, spent / count * 1000))
                os.killpg(process.pid, signal.SIGSTOP)
    finally:
        for process in running.values():
            assert process.stdin is not None
            process.stdin.close()
            os.killpg(process.pid, signal.SIGCONT)
            process.wait()
    return speeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mindspore", help="the Python of an environment with MindSpore")
    parser.add_argument("--pictures", type=int, default=512)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.folder, options.workers)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_pictures(Path(folder), options.pictures)
        speeds = measure(options, folder)
    for name, values in speeds.items():
        speed, spent = zip(*values, strict=True)
        print(f"{name:16} {max(speed):6.0f} images/s at best, {np.median(speed):6.0f} median; "
              f"{min(spent):.2f} ms of processor per image at best")  # fmt: skip


if __name__ == "__main__":
    main()
