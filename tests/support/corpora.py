"""Small files of the corpora that mindspore.dataset reads, and what real MindSpore read from them.

    python tests/support/corpora.py > tests/golden/corpora.json      # under MindSpore 2.10
"""

from __future__ import annotations

import importlib
import inspect
import io
import json
import tempfile
import wave
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["CASES", "arguments_of", "columns_of", "described", "key_of", "write_corpora"]


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


# --- texts ----------------------------------------------------------------------------------------


def _csv(folder: Path, columns: int) -> None:
    for part, number in (("train", 3), ("test", 2)):
        rows = [
            ",".join([f'"{n % 2 + 1}"'] + [f'"{part} {n}, a ""word"" of {c} \\n"' for c in
                                         range(1, columns)])
            for n in range(number)
        ]  # fmt: skip
        _write(folder / f"{part}.csv", "\n".join(rows) + "\n")


def _lines(folder: Path, names: dict[str, str]) -> None:
    for part, name in names.items():
        _write(folder / name, f" \n = {part} = \n \n first {part} line \n\n second <unk> \n")


def _conll(folder: Path) -> None:
    for part in ("train", "test"):
        _write(folder / f"{part}.txt",
               f"{part} NN B-NP\nin IN B-PP\n. . O\n\nHe PRP B-NP\nruns VBZ B-VP\n\n")  # fmt: skip


def _udpos(folder: Path) -> None:
    for part, name in (("train", "train"), ("test", "test"), ("valid", "dev")):
        _write(folder / f"en-ud-tag.v2.{name}.txt",
               f"{part}\tPROPN\tNNP\n-\tPUNCT\tHYPH\n\nof\tADP\tIN\nit\tPRON\tPRP\n\n")  # fmt: skip


def _imdb(folder: Path) -> None:
    for part in ("train", "test"):
        for mood in ("pos", "neg"):
            for n in (0, 1, 10):
                _write(folder / part / mood / f"{n}_{n + 3}.txt", f"{part} {mood} {n}<br />two")


def _iwslt(folder: Path, year: str, text: str, sets: tuple[str, ...]) -> None:
    for n, lang in enumerate(("de", "en")):
        tags = "<url>http://x</url>\n<keywords>a</keywords>\n" if n == 0 else "<title>t</title>\n"
        _write(folder / text / f"train.tags.de-en.{lang}", f"{tags} {lang} one \n{lang} two\n")
        for name in sets:
            body = "".join(f'<seg id="{i}"> {lang} {name} {i} </seg>\n' for i in (1, 2))
            _write(folder / text / f"IWSLT{year}.TED.{name}.de-en.{lang}.xml",
                   f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset setid="s" '
                   f'srclang="de" trglang="en">\n<doc docid="1" genre="lectures">\n<talkid>1'
                   f"</talkid>\n{body}</doc>\n</refset>\n</mteval>\n")  # fmt: skip


def _multi30k(folder: Path) -> None:
    for where, name in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "test")):
        for lang in ("de", "en"):
            _write(folder / where / f"{name}.{lang}", f"{lang} {where} 1\n{lang} {where} 2\n")


def _squad(folder: Path) -> None:
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
        _write(folder / f"{part}-v2.0.json", json.dumps(content))


def _sst2(folder: Path) -> None:
    for part in ("train", "dev"):
        _write(folder / f"{part}.tsv", f"sentence\tlabel\n{part} is good \t1\nbad {part} \t0\n")
    _write(folder / "test.tsv", "index\tsentence\n0\tuneasy mishmash .\n1\tso good\n")


def _clue(folder: Path) -> None:
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
        _write(folder / f"{name}.json",
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


def _arctic(folder: Path) -> None:
    for speaker in ("aew", "ahw"):
        base = folder / f"cmu_us_{speaker}_arctic"
        for n in (1, 2):
            _sound(base / "wav" / f"arctic_a000{n}.wav", n)
        lines = [f'( arctic_a000{n} "{speaker} said {n}, twice." )\n' for n in (1, 2)]
        _write(base / "etc" / "txt.done.data", "".join(lines))


def _gtzan(folder: Path) -> None:
    # the splits that MindSpore knows have these numbers: train, valid, test
    for kind, numbers in (("blues", (29, 40, 1)), ("disco", (1, 38, 52))):
        for n in numbers:
            _sound(folder / kind / f"{kind}.{n:05}.wav", n, rate=22050)


def _libri(folder: Path) -> None:
    for part in ("dev-clean", "test-other"):
        base = folder / part / "116" / "288045"
        name = "116_288045_000003_00000{}"
        for n in (0, 1):
            _sound(base / (name.format(n) + ".wav"), n, rate=24000)
        _write(base / "116_288045.trans.tsv", "".join(
            f"{name.format(n)}\tOriginal, {part} {n}.\tNormal {n}\n" for n in (0, 1)))  # fmt: skip


def _ljspeech(folder: Path) -> None:
    lines = []
    for n in (1, 2):
        _sound(folder / "wavs" / f"LJ001-000{n}.wav", n, rate=22050)
        lines.append(f"LJ001-000{n}|Printed {n}, in 15.|Printed {n}, in fifteen.\n")
    _write(folder / "metadata.csv", "".join(lines))


def _commands(folder: Path) -> None:
    for word in ("cat", "dog"):
        for n in (0, 1):
            _sound(folder / word / f"b433e{n}_nohash_{n}.wav", n)
    _sound(folder / "_background_noise_" / "pink.wav", 9)
    _write(folder / "validation_list.txt", "cat/b433e1_nohash_1.wav\n")
    _write(folder / "testing_list.txt", "dog/b433e0_nohash_0.wav\n")


def _tedlium(folder: Path) -> None:
    values = np.random.default_rng(3).integers(-32768, 32767, 64, dtype=np.int16)
    fields = ["NIST_1A", "   1024", "sample_count -i 64", "sample_n_bytes -i 2",
              "channel_count -i 1", "sample_byte_format -s2 01", "sample_rate -i 16",
              "sample_coding -s3 pcm", "end_head", ""]  # fmt: skip
    header = "\n".join(fields).encode().ljust(1024)
    for base in (folder / "one" / "train", folder / "one" / "dev", folder / "three" / "data"):
        _write(base / "sph" / "Talk_2009.sph", header + values.astype("<i2").tobytes())
        _write(base / "stm" / "Talk_2009.stm",
               "Talk_2009 1 Talk_2009 0.5 1.5 <o,f0,male> hello there (2)\n"
               "Talk_2009 1 Talk_2009 2 3 <o,f0,male> and again\n")  # fmt: skip


def _yesno(folder: Path) -> None:
    for n, name in enumerate(("0_0_0_1_0_1_1_0", "1_1_0_0_1_1_0_0")):
        _sound(folder / f"{name}.wav", n, rate=8000)


# --- pictures -------------------------------------------------------------------------------------


def _picture(path: Path, seed: int, shape: tuple[int, ...] = (4, 5, 3)) -> None:
    """A picture without loss, whatever the ending says."""
    from PIL import Image

    draw = np.random.default_rng(seed)
    held = io.BytesIO()
    kind = {".bmp": "BMP"}.get(path.suffix, "PNG")
    Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)).save(held, kind)
    _write(path, held.getvalue())


def _idx(path: Path, values: np.ndarray) -> None:
    code = {np.dtype(np.uint8): 8, np.dtype(np.int32): 12}[values.dtype]
    header = bytes([0, 0, code, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    _write(path, header + values.astype(values.dtype.newbyteorder(">")).tobytes())


def _mnist(folder: Path, images: str, labels: str, seed: int, count: int = 2) -> None:
    draw = np.random.default_rng(seed)
    _idx(folder / images, draw.integers(0, 256, (count, 28, 28), dtype=np.uint8))
    _idx(folder / labels, draw.integers(0, 10, count, dtype=np.uint8))


def _kmnist(folder: Path) -> None:
    for seed, part in enumerate(("train", "t10k")):
        _mnist(folder, f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte", seed)


def _emnist(folder: Path) -> None:
    for seed, part in enumerate(("train", "test")):
        start = f"emnist-letters-{part}"
        _mnist(folder, f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte", seed)


def _qmnist(folder: Path) -> None:
    for seed, (images, labels) in enumerate((
        ("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int"),
        ("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int"),
        ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int"),
    )):  # fmt: skip
        draw = np.random.default_rng(seed)
        _idx(folder / images, draw.integers(0, 256, (3, 28, 28), dtype=np.uint8))
        _idx(folder / labels, draw.integers(0, 10, (3, 8), dtype=np.int32))


def _stl10(folder: Path) -> None:
    for seed, part in enumerate(("train", "test", "unlabeled")):
        draw = np.random.default_rng(seed)
        _write(folder / f"{part}_X.bin",
               draw.integers(0, 256, (2, 3, 96, 96), dtype=np.uint8).tobytes())  # fmt: skip
        if part != "unlabeled":
            _write(folder / f"{part}_y.bin", np.array([seed + 1, 10], np.uint8).tobytes())


def _semeion(folder: Path) -> None:
    draw = np.random.default_rng(0)
    rows = []
    for n in range(3):
        pixels = " ".join(f"{x}.0000" for x in draw.integers(0, 2, 256))
        rows.append(pixels + " " + " ".join(str(int(k == 3 * n)) for k in range(10)) + " \n")
    _write(folder / "semeion.data", "".join(rows))


def _usps(folder: Path) -> None:
    draw = np.random.default_rng(0)
    for part in ("usps", "usps.t"):
        rows = [
            f"{n + 1} "
            + " ".join(f"{k + 1}:{x:.3f}" for k, x in enumerate(draw.uniform(-1, 1, 256)))
            + " \n"
            for n in (0, 9)
        ]
        _write(folder / part, "".join(rows))


def _caltech256(folder: Path) -> None:
    for n, name in ((1, "ak47"), (2, "american-flag"), (12, "binoculars")):
        _picture(folder / f"{n:03}.{name}" / f"{n:03}_0001.jpg", n)


def _celeba(folder: Path) -> None:
    names = [f"Attribute_{n}" for n in range(40)]
    rows = []
    for n in (1, 2, 3):
        _picture(folder / f"00000{n}.jpg", n)
        rows.append(f"00000{n}.jpg " + " ".join("1" if (n * k) % 3 else "-1" for k in range(40)))
    _write(folder / "list_attr_celeba.txt", f"3\n{' '.join(names)}\n" + "\n".join(rows) + "\n")
    _write(folder / "list_eval_partition.txt", "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n")


def _cityscapes(folder: Path) -> None:
    for part in ("train", "val", "test"):
        for n in (0, 1):
            stem = f"aachen_00000{n}_000019"
            _picture(folder / "leftImg8bit" / part / "aachen" / f"{stem}_leftImg8bit.png", n)
            base = folder / "gtFine" / part / "aachen"
            for seed, kind in enumerate(("color", "instanceIds", "labelIds")):
                _picture(base / f"{stem}_gtFine_{kind}.png", 10 + seed + n)
            _write(base / f"{stem}_gtFine_polygons.json", json.dumps({"imgHeight": n}))


def _coco(folder: Path) -> None:
    for n in (1, 2, 3):
        _picture(folder / "images" / f"00000{n}.jpg", n)
    images = [{"id": n, "file_name": f"00000{n}.jpg", "width": 5, "height": 4} for n in (1, 2, 3)]
    categories = [{"id": 1, "name": "person", "supercategory": "person"},
                  {"id": 7, "name": "train", "supercategory": "vehicle"}]  # fmt: skip
    boxes = [(1, 1, [1.0, 2.0, 3.0, 4.0], 0), (1, 7, [0.5, 1.5, 2.0, 2.0], 1),
             (2, 7, [2.0, 2.0, 1.0, 1.0], 0)]  # fmt: skip
    common = [
        {"id": k, "image_id": image, "category_id": kind, "bbox": box, "iscrowd": crowd,
         "area": box[2] * box[3], "segmentation": {"counts": [3, 4, k], "size": [4, 5]} if crowd
         else [[1.0, 2.0, 3.0, 4.0 + k, 5.0, 6.0]],
         "num_keypoints": 1 + k, "keypoints": [10, 20, 2, 0, 0, 0]}
        for k, (image, kind, box, crowd) in enumerate(boxes)
    ]  # fmt: skip
    captions = [{"id": k, "image_id": 1 + k // 2, "caption": f"words {k}"} for k in range(3)]
    panoptic = [
        {"image_id": n, "file_name": f"00000{n}.jpg", "segments_info": [
            {"id": 5, "category_id": 1, "bbox": [1, 2, 3, 4], "iscrowd": 0, "area": 12},
            {"id": 6, "category_id": 7, "bbox": [2, 2, 1, n], "iscrowd": 1, "area": n}]}
        for n in (1, 2)
    ]  # fmt: skip
    head = {"info": {}, "licenses": [], "images": images}
    for name, notes in (("common", common), ("captions", captions), ("panoptic", panoptic)):
        kinds = [{**c, "isthing": 1, "color": [1, 2, 3]} for c in categories]
        held = {**head, "annotations": notes, "categories": kinds}
        _write(folder / f"{name}.json", json.dumps(held))


def _div2k(folder: Path) -> None:
    for n in (1, 2):
        _picture(folder / "DIV2K_train_HR" / f"000{n}.png", n, (8, 8, 3))
        _picture(folder / "DIV2K_valid_HR" / f"080{n}.png", n + 5, (8, 8, 3))
        _picture(folder / "DIV2K_train_LR_bicubic" / "X2" / f"000{n}x2.png", n + 10)
        _picture(folder / "DIV2K_valid_LR_bicubic" / "X2" / f"080{n}x2.png", n + 15)
        _picture(folder / "DIV2K_train_LR_mild" / f"000{n}x4m.png", n + 20)


def _flickr(folder: Path) -> None:
    lines = []
    for n in (1, 2):
        _picture(folder / "images" / f"10{n}.jpg", n)
        lines += [f"10{n}.jpg#{k}\tcaption {n} {k} ." for k in range(5)]
    _write(folder / "results.token", "\n".join(lines) + "\n")


def _food101(folder: Path) -> None:
    for part, names in (("train", (1, 2)), ("test", (3,))):
        _write(folder / "meta" / f"{part}.txt",
               "".join(f"{kind}/{n}\n" for kind in ("apple_pie", "waffles") for n in names))
    for n in (1, 2, 3):
        for seed, kind in enumerate(("apple_pie", "waffles")):
            _picture(folder / "images" / kind / f"{n}.jpg", 10 * seed + n)


def _kitti(folder: Path) -> None:
    for n, kind in enumerate(("Van", "Car")):
        _picture(folder / "data_object_image_2" / "training" / "image_2" / f"00000{n}.png", n)
        _picture(folder / "data_object_image_2" / "testing" / "image_2" / f"00000{n}.png", n + 4)
        _write(folder / "data_object_label_2" / "training" / "label_2" / f"00000{n}.txt",
               f"{kind} 0.0{n} 0 -1.5 1 2 3 4 1.5 1.6 3.7 -2.5 1.6 14.4 -1.7\n"
               "DontCare -1 -1 -10 5.5 6 7 8 -1 -1 -1 -1000 -1000 -1000 -10\n")  # fmt: skip


def _lfw(folder: Path) -> None:
    people = {"Aaron_Eckhart": 2, "Abbas_Kiarostami": 2, "Zoe_Ball": 1}
    seed = 0
    for name, count in people.items():
        for n in range(1, count + 1):
            seed += 1
            for where in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
                _picture(folder / where / name / f"{name}_{n:04}.jpg", seed)
    _write(folder / "lfw-names.txt", "".join(f"{k}\t{v}\n" for k, v in people.items()))
    listed = "".join(f"{k}\t{v}\n" for k, v in people.items())
    _write(folder / "peopleDevTrain.txt", "2\nAaron_Eckhart\t2\nZoe_Ball\t1\n")
    _write(folder / "peopleDevTest.txt", "1\nAbbas_Kiarostami\t2\n")
    _write(folder / "people.txt", f"1\n3\n{listed}")
    pairs = "Aaron_Eckhart\t1\t2\nAaron_Eckhart\t1\tZoe_Ball\t1\n"
    _write(folder / "pairsDevTrain.txt", f"1\n{pairs}")
    _write(folder / "pairsDevTest.txt", "1\nAbbas_Kiarostami\t1\t2\nAbbas_Kiarostami\t2\tZoe_Ball"
           "\t1\n")  # fmt: skip
    _write(folder / "pairs.txt", f"1\t1\n{pairs}")


def _lsun(folder: Path) -> None:
    for seed, name in enumerate(("bedroom_train", "bedroom_val", "classroom_train",
                                 "classroom_val", "test")):  # fmt: skip
        for n in (1, 2):
            _picture(folder / name / f"1_{n}.jpg", 10 * seed + n)


def _svhn(folder: Path) -> None:
    from scipy.io import savemat

    folder.mkdir(parents=True)
    for seed, part in enumerate(("train", "test", "extra")):
        draw = np.random.default_rng(seed)
        pixels = draw.integers(0, 256, (32, 32, 3, 3), dtype=np.uint8)
        labels = np.array([[10], [seed + 1], [9]], np.uint8)
        savemat(folder / f"{part}_32x32.mat", {"X": pixels, "y": labels})


def _caltech101(folder: Path) -> None:
    from scipy.io import savemat

    for n, (kind, other) in enumerate((("Faces", "Faces_2"), ("accordion", "accordion"))):
        _picture(folder / "101_ObjectCategories" / kind / "image_0001.jpg", n)
        (folder / "Annotations" / other).mkdir(parents=True)
        savemat(folder / "Annotations" / other / "annotation_0001.mat",
                {"obj_contour": np.arange(6.0).reshape(2, 3) + n})  # fmt: skip
    _picture(folder / "101_ObjectCategories" / "BACKGROUND_Google" / "image_0001.jpg", 7)


def _flowers(folder: Path) -> None:
    from scipy.io import savemat

    for n in range(1, 6):
        _picture(folder / "jpg" / f"image_{n:05}.jpg", n)
        _picture(folder / "segmim" / f"segmim_{n:05}.jpg", n + 10)
    savemat(folder / "imagelabels.mat", {"labels": np.array([[3, 1, 2, 102, 5]], np.uint8)})
    savemat(folder / "setid.mat", {"trnid": np.array([[4, 1]]), "valid": np.array([[2]]),
                                   "tstid": np.array([[5, 3]])})  # fmt: skip


def _boundaries(folder: Path) -> None:
    from scipy.io import savemat
    from scipy.sparse import csc_matrix

    draw = np.random.default_rng(0)
    (folder / "cls").mkdir(parents=True)
    for n in (1, 2):
        _picture(folder / "img" / f"2008_{n}.jpg", n)
        masks = np.empty((20, 1), object)
        for kind in range(20):
            masks[kind, 0] = csc_matrix(draw.integers(0, 2, (4, 5), dtype=np.uint8))
        whole = draw.integers(0, 21, (4, 5), dtype=np.uint8)
        savemat(folder / "cls" / f"2008_{n}.mat",
                {"GTcls": {"Boundaries": masks, "Segmentation": whole}})  # fmt: skip
    _write(folder / "train.txt", "2008_1\n")
    _write(folder / "val.txt", "2008_2\n")
    _write(folder / "train_noval.txt", "2008_2\n2008_1\n")


def _manifest(folder: Path) -> None:
    lines = []
    for n, (kind, part) in enumerate((("dog", "train"), ("cat", "train"), ("cat", "eval"))):
        path = folder / "data" / f"{n}.jpg"
        _picture(path, n)
        lines.append(json.dumps({"source": str(path), "usage": part,
                                 "annotation": [{"type": "class", "name": kind}]}))  # fmt: skip
    _write(folder / "data.manifest", "\n".join(lines) + "\n")


def _omniglot(folder: Path) -> None:
    for seed, part in enumerate(("images_background", "images_evaluation")):
        for alphabet in ("Greek", "Latin"):
            for n in (1, 2):
                _picture(folder / part / alphabet / f"character0{n}" / f"010{n}_01.png",
                         100 * seed + 10 * len(alphabet) + n + ord(alphabet[0]))  # fmt: skip


def _phototour(folder: Path) -> None:
    base = folder / "liberty"
    _picture(base / "patches0000.bmp", 0, (1024, 1024))
    _write(base / "info.txt", "".join(f"{n // 2} 0 \n" for n in range(4)))
    _write(base / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0 \n1 0 0 2 1 0 0 \n")


def _places(folder: Path) -> None:
    _write(folder / "categories_places365.txt", "/a/airfield 0\n/a/alley 1\n/b/beach/sand 2\n")
    _write(folder / "places365_train_standard.txt",
           "/a/airfield/00000001.jpg 0\n/b/beach/sand/00000002.jpg 2\n")  # fmt: skip
    _write(folder / "places365_val.txt", "Places365_val_00000001.jpg 1\n")
    _picture(folder / "data_256_standard" / "a" / "airfield" / "00000001.jpg", 1)
    _picture(folder / "data_256_standard" / "b" / "beach" / "sand" / "00000002.jpg", 2)
    _picture(folder / "val_256" / "Places365_val_00000001.jpg", 3)


def _rendered(folder: Path) -> None:
    for seed, part in enumerate(("train", "test", "valid")):
        for k, mood in enumerate(("negative", "positive")):
            for n in (1, 2):
                _picture(folder / part / mood / f"000{n}.png", 10 * seed + 2 * k + n)


def _sbu(folder: Path) -> None:
    names = ("3326/3596303505_3ce4c20529.jpg", "2522/4182181099_c3c23ab1cc.jpg")
    urls = [f"http://static.flickr.com/{name}" for name in names]
    for n, name in enumerate(names):
        _picture(folder / "sbu_images" / ("m_" + name.replace("/", "_")), n)
    urls.append("http://static.flickr.com/1/absent.jpg")
    _write(folder / "SBU_captioned_photo_dataset_urls.txt", "\n".join(urls) + "\n")
    _write(folder / "SBU_captioned_photo_dataset_captions.txt", "one \ntwo words\nthree\n")


def _sun397(folder: Path) -> None:
    _write(folder / "ClassName.txt", "/a/abbey\n/a/apartment_building/outdoor\n/b/badlands\n")
    for seed, name in enumerate(("a/abbey", "a/apartment_building/outdoor", "b/badlands")):
        for n in (1, 2):
            _picture(folder / name / f"sun_{n}.jpg", 10 * seed + n)


def _voc(folder: Path) -> None:
    for n in (1, 2):
        _picture(folder / "JPEGImages" / f"00000{n}.jpg", n)
        _picture(folder / "SegmentationClass" / f"00000{n}.png", n + 5)
        objects = "".join(
            f"<object><name>{kind}</name><pose>x</pose><truncated>{k}</truncated>"
            f"<difficult>{1 - k}</difficult><bndbox><xmin>{n}</xmin><ymin>2</ymin><xmax>{n + 3}"
            f"</xmax><ymax>{k + 4}</ymax></bndbox></object>"
            for k, kind in enumerate(("train", "cat")[:n])
        )
        _write(folder / "Annotations" / f"00000{n}.xml",
               f"<annotation><filename>00000{n}.jpg</filename><size><width>5</width><height>4"
               f"</height><depth>3</depth></size>{objects}</annotation>")  # fmt: skip
    for where in ("Segmentation", "Main"):
        _write(folder / "ImageSets" / where / "train.txt", "000001\n000002\n")
        _write(folder / "ImageSets" / where / "val.txt", "000002\n")


def _widerface(folder: Path) -> None:
    for part, code in (("train", "train"), ("val", "val")):
        text = ""
        for n in (1, 2):
            name = f"0--Parade/0_Parade_{n}.jpg"
            _picture(folder / f"WIDER_{part}" / "images" / name, n + len(part))
            faces = "".join(f"{k} {n} 10 12 0 1 0 0 {k} 1 \n" for k in range(n))
            text += f"{name}\n{n}\n{faces}"
        _write(folder / "wider_face_split" / f"wider_face_{code}_bbx_gt.txt", text)
    name = "0--Parade/0_Parade_9.jpg"
    _picture(folder / "WIDER_test" / "images" / name, 9)
    _write(folder / "wider_face_split" / "wider_face_test_filelist.txt", f"{name}\n")


_WRITERS: dict[str, Callable[[Path], None]] = {
    "three_columns": lambda folder: _csv(folder, 3),
    "four_columns": lambda folder: _csv(folder, 4),
    "two_columns": lambda folder: _csv(folder, 2),
    "wikitext": lambda folder: _lines(folder, {
        part: f"wiki.{part}.tokens" for part in ("train", "test", "valid")}),
    "treebank": lambda folder: _lines(folder, {
        part: f"ptb.{part}.txt" for part in ("train", "test", "valid")}),
    "enwik9": lambda folder: _lines(folder, {"all": "enwik9"}),
    "conll": _conll, "udpos": _udpos, "imdb": _imdb,
    "iwslt2016": lambda folder: _iwslt(folder, "16", "texts/de/en/de-en", ("tst2013", "tst2014")),
    "iwslt2017": lambda folder: _iwslt(
        folder, "17", "texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo", ("dev2010", "tst2010")),
    "multi30k": _multi30k, "squad": _squad, "sst2": _sst2, "clue": _clue,
    "arctic": _arctic, "gtzan": _gtzan, "libri": _libri, "ljspeech": _ljspeech,
    "commands": _commands, "tedlium": _tedlium, "yesno": _yesno,
    "kmnist": _kmnist, "emnist": _emnist, "qmnist": _qmnist, "stl10": _stl10,
    "semeion": _semeion, "usps": _usps, "caltech256": _caltech256, "celeba": _celeba,
    "cityscapes": _cityscapes, "coco": _coco, "div2k": _div2k, "flickr": _flickr,
    "food101": _food101, "kitti": _kitti, "lfw": _lfw, "lsun": _lsun, "manifest": _manifest,
    "omniglot": _omniglot, "phototour": _phototour, "places": _places, "rendered": _rendered,
    "sbu": _sbu, "sun397": _sun397, "svhn": _svhn, "caltech101": _caltech101, "flowers": _flowers,
    "boundaries": _boundaries, "voc": _voc, "widerface": _widerface,
}  # fmt: skip

# (class, folder, path in it, arguments)
CASES: list[tuple[str, str, str, dict[str, Any]]] = []


def _case(name: str, folder: str, path: str = "", /, **arguments: Any) -> None:
    CASES.append((name, folder, path, arguments))


for _name, _folder in (
    ("AGNewsDataset", "three_columns"), ("AmazonReviewDataset", "three_columns"),
    ("DBpediaDataset", "three_columns"), ("SogouNewsDataset", "three_columns"),
    ("YahooAnswersDataset", "four_columns"), ("YelpReviewDataset", "two_columns"),
    ("CoNLL2000Dataset", "conll"), ("IMDBDataset", "imdb"),
    ("KMnistDataset", "kmnist"), ("USPSDataset", "usps"),
):  # fmt: skip
    for _usage in ("train", "test"):
        _case(_name, _folder, usage=_usage)
for _name, _folder in (
    ("WikiTextDataset", "wikitext"), ("PennTreebankDataset", "treebank"),
    ("UDPOSDataset", "udpos"), ("Multi30kDataset", "multi30k"),
):  # fmt: skip
    for _usage in ("train", "test", "valid"):
        _case(_name, _folder, usage=_usage)
_case("Multi30kDataset", "multi30k", usage="train", language_pair=["de", "en"])
_case("EnWik9Dataset", "enwik9")
_case("IMDBDataset", "imdb")
for _usage in ("train", "valid", "test"):
    _case("IWSLT2016Dataset", "iwslt2016", usage=_usage)
    _case("IWSLT2017Dataset", "iwslt2017", usage=_usage)
for _usage in ("train", "dev"):
    _case("SQuADDataset", "squad", usage=_usage)
for _usage in ("train", "dev", "test"):
    _case("SST2Dataset", "sst2", usage=_usage)
for _task in ("AFQMC", "TNEWS", "IFLYTEK", "CMNLI", "WSC", "CSL"):
    _case("CLUEDataset", "clue", f"{_task.lower()}_test.json", task=_task, usage="test")
    _case("CLUEDataset", "clue", f"{_task.lower()}_train.json", task=_task)
_case("CMUArcticDataset", "arctic", name="ahw")
for _usage in ("train", "valid", "test"):
    _case("GTZANDataset", "gtzan", usage=_usage)
_case("LibriTTSDataset", "libri")
_case("LibriTTSDataset", "libri", usage="dev-clean")
_case("LJSpeechDataset", "ljspeech")
for _usage in ("train", "valid", "test", "all"):
    _case("SpeechCommandsDataset", "commands", usage=_usage)
_case("TedliumDataset", "tedlium", "one", release="release1", usage="train")
_case("TedliumDataset", "tedlium", "one", release="release1", usage="dev")
_case("TedliumDataset", "tedlium", "three", release="release3")
_case("YesNoDataset", "yesno")
_case("EMnistDataset", "emnist", name="letters", usage="train")
_case("EMnistDataset", "emnist", name="letters", usage="test")
for _usage in ("train", "test", "nist"):
    _case("QMnistDataset", "qmnist", usage=_usage)
_case("QMnistDataset", "qmnist", usage="train", compat=False)
for _usage in ("train", "test", "unlabeled", "train+unlabeled", "all"):
    _case("STL10Dataset", "stl10", usage=_usage)
_case("SemeionDataset", "semeion")
_case("Caltech256Dataset", "caltech256", decode=True)
for _usage in ("train", "valid", "all"):
    _case("CelebADataset", "celeba", usage=_usage, decode=True)
for _task in ("instance", "semantic", "polygon", "color"):
    _case("CityscapesDataset", "cityscapes", task=_task, decode=True)
_case("CityscapesDataset", "cityscapes", usage="all", task="polygon")
for _task, _file in (("Detection", "common"), ("Stuff", "common"), ("Keypoint", "common"),
                     ("Panoptic", "panoptic"), ("Captioning", "captions")):  # fmt: skip
    _case("CocoDataset", "coco", "images", annotation_file=f"../{_file}.json", task=_task,
          decode=True)  # fmt: skip
_case("DIV2KDataset", "div2k", usage="train", decode=True)
_case("DIV2KDataset", "div2k", usage="all", decode=True)
_case("DIV2KDataset", "div2k", usage="train", downgrade="mild", scale=4, decode=True)
_case("FlickrDataset", "flickr", "images", annotation_file="../results.token", decode=True)
for _usage in ("train", "test", "all"):
    _case("Food101Dataset", "food101", usage=_usage, decode=True)
for _usage in ("train", "test"):
    _case("KITTIDataset", "kitti", usage=_usage, decode=True)
for _usage in ("train", "test", "10fold", "all"):
    _case("LFWDataset", "lfw", task="people", usage=_usage, decode=True)
for _usage in ("train", "test", "10fold", "all"):
    _case("LFWDataset", "lfw", task="pairs", usage=_usage, image_set="original", decode=True)
for _usage in ("train", "valid", "test", "all"):
    _case("LSUNDataset", "lsun", usage=_usage, decode=True)
_case("LSUNDataset", "lsun", usage="train", classes=["classroom"], decode=True)
for _usage in ("train", "eval"):
    _case("ManifestDataset", "manifest", "data.manifest", usage=_usage, decode=True)
_case("OmniglotDataset", "omniglot", decode=True)
_case("OmniglotDataset", "omniglot", background=False, decode=True)
_case("PhotoTourDataset", "phototour", name="liberty", usage="train")
_case("PhotoTourDataset", "phototour", name="liberty", usage="test")
_case("Places365Dataset", "places", usage="train-standard", decode=True)
_case("Places365Dataset", "places", usage="val", decode=True)
for _usage in ("train", "val", "test", "all"):
    _case("RenderedSST2Dataset", "rendered", usage=_usage, decode=True)
_case("SBUDataset", "sbu", decode=True)
_case("SUN397Dataset", "sun397", decode=True)
for _usage in ("train", "val"):
    _case("VOCDataset", "voc", task="Segmentation", usage=_usage, decode=True)
    _case("VOCDataset", "voc", task="Detection", usage=_usage, decode=True)
_case("VOCDataset", "voc", task="Detection", class_indexing={"cat": 3, "train": 8}, decode=True)
for _usage in ("train", "test", "extra", "all"):
    _case("SVHNDataset", "svhn", usage=_usage)
for _target in ("category", "annotation", "all"):
    _case("Caltech101Dataset", "caltech101", target_type=_target, decode=True)
for _usage in ("train", "valid", "test", "all"):
    _case("Flowers102Dataset", "flowers", usage=_usage, task="Segmentation", decode=True)
_case("Flowers102Dataset", "flowers")
for _usage in ("train", "val", "train_noval", "all"):
    _case("SBDataset", "boundaries", usage=_usage, task="Boundaries", decode=True)
_case("SBDataset", "boundaries", task="Segmentation")
for _usage in ("train", "valid", "test", "all"):
    _case("WIDERFaceDataset", "widerface", usage=_usage, decode=True)


def write_corpora(folder: Path) -> None:
    """All corpora, each in a folder of its name."""
    for name, write in _WRITERS.items():
        write(folder / name)


def described(value: Any) -> Any:
    """A column's value as JSON: texts and short arrays whole, others by their checksum."""
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        texts = array.astype("U") if array.dtype.kind == "U" else np.char.decode(array, "utf-8")
        return ["text", texts.tolist()]
    kind = str(array.dtype)
    if array.size <= 24:
        return [kind, list(array.shape), array.tolist() if array.ndim else [array.item()]]
    return [kind, list(array.shape), zlib.crc32(np.ascontiguousarray(array).tobytes())]


def columns_of(ds: Any, folder: Path, case: tuple[str, str, str, dict[str, Any]]) -> Any:
    """The rows of a case in order, as JSON."""
    name, where, path, arguments = case
    given = dict(arguments)
    if "annotation_file" in given:
        given["annotation_file"] = str((folder / where / path / given["annotation_file"]).resolve())
    data = getattr(ds, name)(str(folder / where / path), shuffle=False, **given)
    rows = [
        {key: described(value) for key, value in row.items()}
        for row in data.create_dict_iterator(output_numpy=True, num_epochs=1)
    ]
    if name == "TedliumDataset":  # MindSpore 2.10 gives zeros
        for row in rows:
            row["waveform"] = row["waveform"][:2]
    return rows


def key_of(case: tuple[str, str, str, dict[str, Any]]) -> str:
    """A case as a text."""
    name, _, path, arguments = case
    return f"{name} {path} {json.dumps(arguments)}"


def arguments_of(ds: Any, name: str) -> list[str]:
    """The names of a class's arguments in their order."""
    return list(inspect.signature(getattr(ds, name)).parameters)


def main() -> None:
    """What real MindSpore reads."""
    ds = importlib.import_module("mindspore.dataset")

    ds.config.set_num_parallel_workers(1)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        write_corpora(folder)
        for case in CASES:
            found[key_of(case)] = columns_of(ds, folder, case)
    names = sorted({case[0] for case in CASES} | {"FakeImageDataset", "RandomDataset"})
    arguments = {name: arguments_of(ds, name) for name in names}
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(rows, ensure_ascii=False)}"
                       for key, rows in found.items())  # fmt: skip
    print(f'{{"arguments": {json.dumps(arguments)},\n"rows": {{\n{lines}\n}}}}')


if __name__ == "__main__":
    main()
