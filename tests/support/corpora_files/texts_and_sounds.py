"""Writes small corpora of texts and sounds, in the files that they are given out in."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np


def write_file(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def csv(folder: Path, columns: int) -> None:
    for part, number in (("train", 3), ("test", 2)):
        rows = [
            ",".join([f'"{n % 2 + 1}"'] + [f'"{part} {n}, a ""word"" of {c} \\n"' for c in
                                         range(1, columns)])
            for n in range(number)
        ]  # fmt: skip
        write_file(folder / f"{part}.csv", "\n".join(rows) + "\n")


def lines(folder: Path, names: dict[str, str]) -> None:
    for part, name in names.items():
        write_file(folder / name, f" \n = {part} = \n \n first {part} line \n\n second <unk> \n")


def conll(folder: Path) -> None:
    for part in ("train", "test"):
        write_file(folder / f"{part}.txt",
               f"{part} NN B-NP\nin IN B-PP\n. . O\n\nHe PRP B-NP\nruns VBZ B-VP\n\n")  # fmt: skip


def udpos(folder: Path) -> None:
    for part, name in (("train", "train"), ("test", "test"), ("valid", "dev")):
        write_file(folder / f"en-ud-tag.v2.{name}.txt",
               f"{part}\tPROPN\tNNP\n-\tPUNCT\tHYPH\n\nof\tADP\tIN\nit\tPRON\tPRP\n\n")  # fmt: skip


def imdb(folder: Path) -> None:
    for part in ("train", "test"):
        for mood in ("pos", "neg"):
            for n in (0, 1, 10):
                write_file(folder / part / mood / f"{n}_{n + 3}.txt", f"{part} {mood} {n}<br />two")


def iwslt(folder: Path, year: str, text: str, sets: tuple[str, ...]) -> None:
    for n, lang in enumerate(("de", "en")):
        tags = "<url>http://x</url>\n<keywords>a</keywords>\n" if n == 0 else "<title>t</title>\n"
        write_file(folder / text / f"train.tags.de-en.{lang}", f"{tags} {lang} one \n{lang} two\n")
        for name in sets:
            body = "".join(f'<seg id="{i}"> {lang} {name} {i} </seg>\n' for i in (1, 2))
            write_file(folder / text / f"IWSLT{year}.TED.{name}.de-en.{lang}.xml",
                   f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset setid="s" '
                   f'srclang="de" trglang="en">\n<doc docid="1" genre="lectures">\n<talkid>1'
                   f"</talkid>\n{body}</doc>\n</refset>\n</mteval>\n")  # fmt: skip


def multi30k(folder: Path) -> None:
    for where, name in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "test")):
        for lang in ("de", "en"):
            write_file(folder / where / f"{name}.{lang}", f"{lang} {where} 1\n{lang} {where} 2\n")


def squad(folder: Path) -> None:
    def answers(n: int) -> list[dict[str, Any]]:
        return [{"text": f"answer {k}", "answer_start": 3 * k} for k in range(n)]

    for part in ("train", "dev"):
        questions = [
            {"id": "a", "question": "who?", "answers": answers(1), "is_impossible": False},
            {"id": "b", "question": "how?", "answers": answers(2), "is_impossible": False},
            {"id": "c", "question": "why?", "answers": answers(0), "is_impossible": True},
        ]
        paragraphs = [{"context": f"{part} text é", "qas": questions}]
        content = {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}
        write_file(folder / f"{part}-v2.0.json", json.dumps(content))


def sst2(folder: Path) -> None:
    for part in ("train", "dev"):
        write_file(folder / f"{part}.tsv", f"sentence\tlabel\n{part} is good \t1\nbad {part} \t0\n")
    write_file(folder / "test.tsv", "index\tsentence\n0\tuneasy mishmash .\n1\tso good\n")


def clue(folder: Path) -> None:
    rows = [{"sentence1": "a 花", "sentence2": "b", "label": "0"},
            {"sentence1": "c", "sentence2": "d", "label": "1"}]  # fmt: skip
    tests = [{"id": n, "sentence1": f"t{n}", "sentence2": "u"} for n in range(2)]
    news = [{"label": "102", "label_desc": "news", "sentence": "s", "keywords": "k"}]
    long = [{"label": "11", "label_des": "app", "sentence": "s"}]
    cmnli = [{"sentence1": "a", "sentence2": "b", "label": "neutral"},
             {"sentence1": "c", "sentence2": "d", "label": "-"}]  # fmt: skip
    wsc = [{"target": {"span2_index": 7, "span1_index": 2, "span1_text": "x", "span2_text": "y"},
            "idx": 5, "label": "true", "text": "whole"}]  # fmt: skip
    csl = [{"id": 3, "abst": "abstract", "keyword": ["k1", "k2"], "label": "1"}]
    tested: dict[str, list[Any]] = {"afqmc": tests, "cmnli": tests,
              "tnews": [{"id": 4, "sentence": "s", "keywords": "k"}],
              "iflytek": [{"id": 4, "sentence": "s"}],
              "wsc": [{key: value for key, value in wsc[0].items() if key != "label"}],
              "csl": [{"id": 3, "abst": "abstract", "keyword": ["k1"]}]}  # fmt: skip
    files: dict[str, Any] = {f"{name}_test": rows for name, rows in tested.items()}
    files |= {"afqmc_train": rows, "tnews_train": news, "iflytek_train": long,
             "cmnli_train": cmnli, "wsc_train": wsc, "csl_train": csl}  # fmt: skip
    for name, content in files.items():
        write_file(folder / f"{name}.json",
               "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content))  # fmt: skip


# --- sounds ---------------------------------------------------------------------------------------


def _sound(path: Path, seed: int, channels: int = 1, rate: int = 16000) -> None:
    draw = np.random.default_rng(seed)
    values = draw.integers(-32768, 32767, 12 * channels, dtype=np.int16)
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(values.astype("<i2").tobytes())


def arctic(folder: Path) -> None:
    for speaker in ("aew", "ahw"):
        base = folder / f"cmu_us_{speaker}_arctic"
        for n in (1, 2):
            _sound(base / "wav" / f"arctic_a000{n}.wav", n)
        lines = [f'( arctic_a000{n} "{speaker} said {n}, twice." )\n' for n in (1, 2)]
        write_file(base / "etc" / "txt.done.data", "".join(lines))


def gtzan(folder: Path) -> None:
    # the splits that MindSpore knows have these numbers: train, valid, test
    for kind, numbers in (("blues", (29, 40, 1)), ("disco", (1, 38, 52))):
        for n in numbers:
            _sound(folder / kind / f"{kind}.{n:05}.wav", n, rate=22050)


def libri(folder: Path) -> None:
    for part in ("dev-clean", "test-other"):
        base = folder / part / "116" / "288045"
        name = "116_288045_000003_00000{}"
        for n in (0, 1):
            _sound(base / (name.format(n) + ".wav"), n, rate=24000)
        write_file(base / "116_288045.trans.tsv", "".join(
            f"{name.format(n)}\tOriginal, {part} {n}.\tNormal {n}\n" for n in (0, 1)))  # fmt: skip


def ljspeech(folder: Path) -> None:
    lines = []
    for n in (1, 2):
        _sound(folder / "wavs" / f"LJ001-000{n}.wav", n, rate=22050)
        lines.append(f"LJ001-000{n}|Printed {n}, in 15.|Printed {n}, in fifteen.\n")
    write_file(folder / "metadata.csv", "".join(lines))


def commands(folder: Path) -> None:
    for word in ("cat", "dog"):
        for n in (0, 1):
            _sound(folder / word / f"b433e{n}_nohash_{n}.wav", n)
    _sound(folder / "_background_noise_" / "pink.wav", 9)
    write_file(folder / "validation_list.txt", "cat/b433e1_nohash_1.wav\n")
    write_file(folder / "testing_list.txt", "dog/b433e0_nohash_0.wav\n")


def tedlium(folder: Path) -> None:
    values = np.random.default_rng(3).integers(-32768, 32767, 64, dtype=np.int16)
    fields = ["NIST_1A", "   1024", "sample_count -i 64", "sample_n_bytes -i 2",
              "channel_count -i 1", "sample_byte_format -s2 01", "sample_rate -i 16",
              "sample_coding -s3 pcm", "end_head", ""]  # fmt: skip
    header = "\n".join(fields).encode().ljust(1024)
    for base in (folder / "one" / "train", folder / "one" / "dev", folder / "three" / "data"):
        write_file(base / "sph" / "Talk_2009.sph", header + values.astype("<i2").tobytes())
        write_file(base / "stm" / "Talk_2009.stm",
               "Talk_2009 1 Talk_2009 0.5 1.5 <o,f0,male> hello there (2)\n"
               "Talk_2009 1 Talk_2009 2 3 <o,f0,male> and again\n")  # fmt: skip


def yesno(folder: Path) -> None:
    for n, name in enumerate(("0_0_0_1_0_1_1_0", "1_1_0_0_1_1_0_0")):
        _sound(folder / f"{name}.wav", n, rate=8000)
