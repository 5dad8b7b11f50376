"""Corpora of sounds: speech, commands, music. Waveforms are float32 of (channels, samples)."""

from __future__ import annotations

import re
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ._corpus import Choice, Corpus, lines_of, text

__all__ = [
    "CMUArcticDataset", "GTZANDataset", "LJSpeechDataset", "LibriTTSDataset",
    "SpeechCommandsDataset", "TedliumDataset", "YesNoDataset",
]  # fmt: skip

_PCM: dict[int, Any] = {1: np.dtype(np.uint8), 2: np.dtype("<i2"), 4: np.dtype("<i4")}


def read_wave(path: Path) -> tuple[Any, int]:
    """(samples of (channels, length) in -1 .. 1, sampling rate) of a file of PCM.

    Raises:
        RuntimeError: it is no such file.
    """
    try:
        with wave.open(str(path), "rb") as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            content = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise RuntimeError(f"Invalid file, {path} cannot be read: {error}") from None
    except FileNotFoundError:
        raise RuntimeError(f"Invalid file path, {path} does not exist.") from None
    if width not in _PCM:
        raise RuntimeError(f"Invalid file, {path} has samples of {width} bytes.")
    values = np.frombuffer(content, _PCM[width]).astype(np.float32)
    if width == 1:
        values -= 128.0
    scaled = values / np.float32(2.0 ** (8 * width - 1) - (width > 1))
    return np.ascontiguousarray(scaled.reshape(-1, channels).T), rate


class Sounds(Corpus):
    """Rows with a sound, which stays in its file until it is asked for: items begin with its path.

    Args:
        dataset_dir: the corpus's folder.
        usage: a part; all when None.
    """

    rate_type: Any = np.uint32
    rate: int | None = None

    def make(self, item: Any) -> tuple[Any, ...]:
        path, *others = item
        waveform, rate = read_wave(path)
        if self.rate not in (None, rate):
            raise RuntimeError(f"Invalid file, sampling rate of {path} must be {self.rate}, but "
                               f"got {rate}.")  # fmt: skip
        shown = (text(each) if isinstance(each, str) else each for each in others)
        return waveform, self.rate_type(rate), *shown


class _Whole(Sounds):
    """Without parts."""

    rate_type = np.int32

    def __init__(
        self, dataset_dir: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, None, choice)


_SPEAKERS = "aew ahw aup awb axb bdl clb eey fem gka jmk ksp ljm lnh rms rxr slp slt".split()


class CMUArcticDataset(Sounds):
    """Read sentences: "waveform", "sample_rate" uint32, "transcript", "utterance_id".

    Args:
        dataset_dir: holds cmu_us_aew_arctic/wav and cmu_us_aew_arctic/etc/txt.done.data.
        name: the speaker; "aew" unless given.
    """

    names = ("waveform", "sample_rate", "transcript", "utterance_id")

    def __init__(
        self, dataset_dir: Any, name: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.speaker = name or "aew"
        if self.speaker not in _SPEAKERS:
            raise ValueError(f"name should be one of {_SPEAKERS}, but got {name!r}")
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        folder = f"cmu_us_{self.speaker}_arctic"
        for line in lines_of(self.use(folder, "etc", "txt.done.data")):
            found = re.match(r'\(\s*(\S+)\s+"(.*)"\s*\)', line)
            if found:
                name = found[1].removeprefix("arctic_")
                yield self.use(folder, "wav", f"{found[1]}.wav"), found[2], name


# The part of each number in the splits without faulty files: train, valid, test, or none.
_SPLITS = {
    "blues": "vvvvvvvvvvvvsssssssssssssssssttttttttttttttttttttt"
             "vvvvvvvvvvvsssssssssssstttttttttttttttttttttttttss",
    "classical": "vvvvvvvvvvvsssssssssssssssssssttttssssssss-tttttts"
                 "ttttttttttttttttttvvvvvvvvvssstttttttttttttttttttt",
    "country": "vvvvvvvv-vvvvvvvvvvttttttttvttsssssssssssvvssvsssv"
               "ss-ssssssssssssttttttttttttttttttttttttttttttttttt",
    "disco": "vsvvvtvvvvvvvvvttttttstttttttttttttttt-tttttttvtvt"
             "--vtt-ttst-tsssssvvst-vttvssssssssssssstvssssvss-s",
    "hiphop": "s-ttttttttttttttttttttttttssttstttttttt-sttsss----"
              "-sssstttttttssssssssssssss-ttttvvvvvvvvvvvvvvvvvvs",
    "jazz": "ttvvvvvvvvvttttttttttttttvvvvvvvv--------t-----ttt"
            "tttttttttttttttttttttttsssssssssssssssssssssssssss",
    "metal": "vvtt-tvvvvvvssssvvvvvtsstsssssssss-tvvss------tttt"
             "tttttttt-ttttttttsvtsttsssvvsttvvststssttttttttttt",
    "pop": "ssttttttttvttss-ttttt--ttttttt-tttttt-tttttst-t--t"
           "t--v-v--vvvvvssss--ssssssssssstvsvvvv-sssssssssttt",
    "reggae": "ttt-t-t--t-tt-ttttttttttttttttttt-sssssss-ttttssst"
              "ttsstttttttvvtssssstvsv-v-vvvs--sssv-ssss-vvvvvvvv",
    "rock": "ttttttttttsssssstttttttttttsssssssssssvssssssssssv"
            "vvvvvvvttttttttttttttvvvvvvvvvvvvvvvsssssttttttttt",
}
_LETTERS = {"train": "t", "valid": "v", "test": "s"}


class GTZANDataset(Sounds):
    """Music of ten kinds: "waveform", "sample_rate" uint32, "label", a text.

    Args:
        dataset_dir: holds blues/blues.00000.wav and the like.
        usage: "train", "valid", "test" (splits by number without faulty files) or "all".
    """

    names = ("waveform", "sample_rate", "label")
    parts: tuple[str, ...] = ("train", "valid", "test")
    rate = 22050

    def open(self, dataset_dir: Any, usage: Any, choice: Choice) -> None:
        self.parts = (*_LETTERS, "") if usage in (None, "all") else tuple(_LETTERS)
        self.whole = ("",)
        super().open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for kind, letters in _SPLITS.items():
            for path in sorted((self.folder / kind).glob(f"{kind}.*.wav")):
                number = int(path.name.split(".")[1])
                if not part or letters[number] == _LETTERS[part]:
                    yield self.use(kind, path.name), kind


class LibriTTSDataset(Sounds):
    """Read books: "waveform", "sample_rate" uint32, "original_text", "normalized_text",
    "speaker_id" uint32, "chapter_id" uint32, "utterance_id".

    Args:
        dataset_dir: holds dev-clean/116/288045/116_288045.trans.tsv and the sounds beside it.
        usage: "dev-clean", ..., "train-other-500", or "all", all that are there.
    """

    names = ("waveform", "sample_rate", "original_text", "normalized_text", "speaker_id",
             "chapter_id", "utterance_id")  # fmt: skip
    parts = ("dev-clean", "dev-other", "test-clean", "test-other", "train-clean-100",
             "train-clean-360", "train-other-500")  # fmt: skip
    rate = 24000

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for listed in sorted((self.folder / part).glob("*/*/*.trans.tsv")):
            chapter = listed.parent
            for line in lines_of(self.use(*listed.relative_to(self.folder).parts)):
                name, original, normalized = line.split("\t")[:3]
                numbers = (np.uint32(each) for each in (chapter.parent.name, chapter.name))
                path = chapter / f"{name}.wav"
                yield (self.use(*path.relative_to(self.folder).parts), original, normalized,
                       *numbers, name)  # fmt: skip


class LJSpeechDataset(_Whole):
    """A book read by one speaker: "waveform", "sample_rate" int32, "transcription",
    "normalized_transcription".

    Args:
        dataset_dir: holds metadata.csv and wavs/LJ001-0001.wav and the like.
    """

    names = ("waveform", "sample_rate", "transcription", "normalized_transcription")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for line in lines_of(self.use("metadata.csv")):
            name, said, normalized = line.split("|")
            yield self.use("wavs", f"{name}.wav"), said, normalized


class SpeechCommandsDataset(Sounds):
    """Words of one second: "waveform", "sample_rate" int32, "label", "speaker_id",
    "utterance_number" int32.

    Args:
        dataset_dir: holds cat/b433eff_nohash_0.wav, validation_list.txt and testing_list.txt.
        usage: "train", "test", "valid" or "all".
    """

    names = ("waveform", "sample_rate", "label", "speaker_id", "utterance_number")
    parts, whole = ("train", "test", "valid"), ("",)
    rate_type = np.int32

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        listed = {"test": "testing_list.txt", "valid": "validation_list.txt"}
        if part in listed:
            names = lines_of(self.use(listed[part]))
        else:
            found = (p.relative_to(self.folder) for p in self.folder.glob("*/*.wav"))
            names = sorted(str(p) for p in found if p.parts[0] != "_background_noise_")
        if part == "train":
            others = {n for name in listed.values() for n in lines_of(self.use(name))}
            names = [name for name in names if name not in others]
        for name in names:
            word, file = name.split("/")
            speaker, _, number = file.removesuffix(".wav").partition("_nohash_")
            yield self.use(word, file), word, speaker, np.int32(number)


class TedliumDataset(Corpus):
    """Talks, cut by their transcripts: "waveform", "sample_rate" int32, "transcript", "talk_id",
    "speaker_id", "identifier".

    Args:
        dataset_dir: holds train/sph/NAME.sph and train/stm/NAME.stm, of release 3 data/sph.
        release: "release1", "release2" or "release3".
        usage: "train", "test", "dev" or "all"; of release 3 "all".
        extensions: ".sph".
    """

    names = ("waveform", "sample_rate", "transcript", "talk_id", "speaker_id", "identifier")

    def __init__(
        self, dataset_dir: Any, release: str, usage: str | None = None,
        extensions: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if release not in ("release1", "release2", "release3"):
            raise ValueError(f"release should be release1, release2 or release3, got {release!r}")
        if extensions not in (None, ".sph"):
            raise ValueError(f"extensions should be .sph, but got {extensions!r}")
        third = release == "release3"
        self.parts = ("data",) if third else ("train", "test", "dev")
        if third and usage not in (None, "all"):
            raise ValueError(f"usage of release3 should be all, but got {usage!r}")
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for listed in sorted((self.folder / part / "stm").glob("*.stm")):
            sound = self.use(part, "sph", f"{listed.stem}.sph")
            for line in lines_of(self.use(part, "stm", listed.name)):
                talk, _, speaker, start, end, identifier, said = line.split(" ", 6)
                yield sound, float(start), float(end), said, talk, speaker, identifier

    def make(self, item: Any) -> tuple[Any, ...]:
        path, start, end, *words = item
        waveform, rate = _sphere_part(path, start, end)
        return waveform, np.int32(rate), *(text(each) for each in words)


def _sphere_part(path: Path, start: float, end: float) -> tuple[Any, int]:
    """(samples between two seconds, rate) of a file of NIST's SPHERE format with 16-bit PCM.

    Raises:
        RuntimeError: it is no such file.
    """
    with path.open("rb") as file:
        if file.readline() != b"NIST_1A\n":
            raise RuntimeError(f"Invalid file, {path} is not of the SPHERE format.")
        size = int(file.readline())
        file.seek(0)
        lines = file.read(size).decode("ascii", "replace").split("\n")
        facts = {line.split(" ")[0]: line.split(" ")[-1] for line in lines}
        if facts.get("sample_n_bytes") != "2" or facts.get("sample_coding", "pcm") != "pcm":
            raise RuntimeError(f"Invalid file, {path} does not hold 16-bit PCM.")
        rate, channels = int(facts["sample_rate"]), int(facts.get("channel_count", "1"))
        first, last = (int(second * rate) for second in (start, end))
        file.seek(size + 2 * channels * first)
        content = file.read(2 * channels * (last - first))
    order = ">i2" if facts.get("sample_byte_format") == "10" else "<i2"
    values = np.frombuffer(content, order).astype(np.float32) / np.float32(32767)
    return np.ascontiguousarray(values.reshape(-1, channels).T), rate


class YesNoDataset(_Whole):
    """Eight words each, yes or no: "waveform", "sample_rate" int32, "label" of eight int32.

    Args:
        dataset_dir: holds 0_0_0_1_0_1_1_0.wav and the like.
    """

    names = ("waveform", "sample_rate", "label")

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        for path in sorted(self.folder.glob("*.wav")):
            yield self.use(path.name), np.array(path.stem.split("_"), np.int32)
