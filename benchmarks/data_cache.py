"""Measure the cache server: rows read from memory and from disk, epochs of images, two trainers.

The server is a process of its own. Images are JPEG files of noise that is smoothed, 320 x 240; a
row is decoded, resized to 256, cropped to 224 and normalised in the first epoch and comes from the
server in the second. Times are the least of ``--rounds`` runs, one and two trainers in turn.

    python benchmarks/data_cache.py [--rounds 5] [--images 200] [--only rows epochs trainers]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PORT = 50952
MEAN, DEVIATION = np.array([124, 116, 104], np.float32), np.array([58, 57, 57], np.float32)


class Images:
    """A data set of JPEG files: float32 pictures and labels."""

    def __init__(self, folder: str, count: int) -> None:
        self.folder, self.count = folder, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        image = Image.open(f"{self.folder}/{index}.jpg").convert("RGB").resize((256, 256), 2)
        pixels = np.asarray(image.crop((16, 16, 240, 240)), np.float32)
        return np.ascontiguousarray(((pixels - MEAN) / DEVIATION).transpose(2, 0, 1)), index % 10


def write_images(folder: str, count: int) -> None:
    draw = np.random.default_rng(0)
    for index in range(count):
        coarse = Image.fromarray(draw.integers(0, 256, (30, 40, 3), np.uint8))
        coarse.resize((320, 240), 3).save(f"{folder}/{index}.jpg", quality=90)


def least(function: Callable[[], Any], rounds: int, repeats: int) -> float:
    """Microseconds of a call."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        found.append((time.perf_counter() - start) / repeats)
    return min(found) * 1e6


def measure_rows(session: Callable[[], int], rounds: int) -> None:
    row = (np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8), np.int32(1))
    for name, size in (("memory", 0), ("disk", 1)):
        opened = DatasetCache(session(), size, spilling=bool(size), port=PORT)
        cache: Any = opened.open("ab" * 16)
        for number in range(1000):
            cache.put(number, row)
        cache.flush()
        place = [500]

        def read(cache: Any = cache, place: list[int] = place) -> Any:
            place[0] = 500 + (place[0] + 7) % 500  # another row each time
            return cache.get(place[0])

        print(f"a row of 12 KB from {name}: {least(read, rounds * 20, 500):.1f} us")
        opened.close()


def epoch(dataset: Any) -> float:
    start = time.perf_counter()
    for index in range(len(dataset)):
        dataset[index]
    return time.perf_counter() - start


def measure_epochs(session: Callable[[], int], folder: str, images: int, rounds: int) -> None:
    plain = Images(folder, images)
    epoch(plain)  # the files are in the system's memory from here on
    first, second, disk = [], [], []
    for _ in range(rounds):
        opened = DatasetCache(session(), port=PORT)
        first.append(epoch(Cached(plain, opened)))
        second.append(epoch(Cached(plain, opened)))
        opened.close()
        spilled = DatasetCache(session(), size=4, spilling=True, port=PORT)
        epoch(Cached(plain, spilled))
        disk.append(epoch(Cached(plain, spilled)))
        spilled.close()
    each = min(first) / images * 1e3
    print(f"first epoch {each:.2f} ms an image, without a cache {epoch(plain) / images * 1e3:.2f}")
    print(f"second epoch: {min(first) / min(second):.0f} times as fast from memory, "
          f"{min(first) / min(disk):.0f} times from disk")  # fmt: skip


def train(session: int, folder: str, images: int, epochs: int) -> None:
    """A trainer: waits for a line, then passes over the images; each row is looked at and used.
    Prints seconds, of the clock and of the processor."""
    cached, weights = Cached(Images(folder, images), DatasetCache(session, port=PORT)), np.ones(224)
    epoch(cached)
    print("ready", flush=True)
    for _ in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        for _ in range(epochs):
            for index in range(images):
                pixels, _ = cached[index]
                float((pixels[0] @ weights).sum())
        print(time.perf_counter() - start, time.process_time() - used, flush=True)


def measure_trainers(session: Callable[[], int], folder: str, images: int, rounds: int) -> None:
    shared = str(session())
    command = [sys.executable, __file__, "--train", shared, folder, str(images), "40"]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        for _ in range(2)
    ]  # fmt: skip

    def run(trainers: list[Any]) -> Any:
        for each in trainers:
            each.stdin.write("go\n")
            each.stdin.flush()
        lines = [each.stdout.readline().split() for each in trainers]
        return np.array(lines, np.float64).max(0)

    for each in started:
        assert each.stdout is not None
        each.stdout.readline()
    alone, together = [], []
    for _ in range(rounds):
        alone += [run(started[:1]), run(started[1:])]
        together += [run(started), run(started)]
    for each in started:
        each.communicate()
    clock, processor = np.min(together, 0) / np.min(alone, 0)
    print(f"two trainers together take {clock:.2f} times one alone, {processor:.2f} times by the "
          "processor's time of each")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=["rows", "epochs", "trainers"])
    parser.add_argument("--train", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        session, folder, images, epochs = options.train
        train(int(session), folder, int(images), int(epochs))
        return
    chosen = options.only or ["rows", "epochs", "trainers"]
    with tempfile.TemporaryDirectory(prefix="mc-") as folder:
        os.environ["MINDTORCH_DATA_CACHE_DIR"] = folder
        Path(folder).chmod(0o700)
        write_images(folder, options.images)
        start(ServerOptions("127.0.0.1", PORT, spill_folder=folder))
        with Remote("127.0.0.1", PORT) as remote:
            try:
                print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
                if "rows" in chosen:
                    measure_rows(remote.generate_session, options.rounds)
                if "epochs" in chosen:
                    measure_epochs(remote.generate_session, folder, options.images, options.rounds)
                if "trainers" in chosen:
                    measure_trainers(
                        remote.generate_session, folder, options.images, options.rounds
                    )
            finally:
                remote.stop()


if __name__ == "__main__":
    from PIL import Image

    from mindtorch.data import Cached, DatasetCache
    from mindtorch.data.admin import Remote, ServerOptions, start

    main()
