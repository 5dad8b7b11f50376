"""Writes small corpora of pictures, in the files that they are given out in."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat
from scipy.sparse import csc_matrix

from tests.support.corpora_files.texts_and_sounds import write_file


def _picture(path: Path, seed: int, shape: tuple[int, ...] = (4, 5, 3)) -> None:
    """A picture without loss, whatever the ending says."""
    draw = np.random.default_rng(seed)
    held = io.BytesIO()
    kind = {".bmp": "BMP"}.get(path.suffix, "PNG")
    Image.fromarray(draw.integers(0, 256, shape, dtype=np.uint8)).save(held, kind)
    write_file(path, held.getvalue())


def _idx(path: Path, values: np.ndarray) -> None:
    code = {np.dtype(np.uint8): 8, np.dtype(np.int32): 12}[values.dtype]
    header = bytes([0, 0, code, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    write_file(path, header + values.astype(values.dtype.newbyteorder(">")).tobytes())


def mnist(folder: Path, images: str, labels: str, seed: int, count: int = 2) -> None:
    draw = np.random.default_rng(seed)
    _idx(folder / images, draw.integers(0, 256, (count, 28, 28), dtype=np.uint8))
    _idx(folder / labels, draw.integers(0, 10, count, dtype=np.uint8))


def kmnist(folder: Path) -> None:
    for seed, part in enumerate(("train", "t10k")):
        mnist(folder, f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte", seed)


def emnist(folder: Path) -> None:
    for seed, part in enumerate(("train", "test")):
        start = f"emnist-letters-{part}"
        mnist(folder, f"{start}-images-idx3-ubyte", f"{start}-labels-idx1-ubyte", seed)


def qmnist(folder: Path) -> None:
    for seed, (images, labels) in enumerate((
        ("qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int"),
        ("qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int"),
        ("xnist-images-idx3-ubyte", "xnist-labels-idx2-int"),
    )):  # fmt: skip
        draw = np.random.default_rng(seed)
        _idx(folder / images, draw.integers(0, 256, (3, 28, 28), dtype=np.uint8))
        _idx(folder / labels, draw.integers(0, 10, (3, 8), dtype=np.int32))


def stl10(folder: Path) -> None:
    for seed, part in enumerate(("train", "test", "unlabeled")):
        draw = np.random.default_rng(seed)
        write_file(folder / f"{part}_X.bin",
               draw.integers(0, 256, (2, 3, 96, 96), dtype=np.uint8).tobytes())  # fmt: skip
        if part != "unlabeled":
            write_file(folder / f"{part}_y.bin", np.array([seed + 1, 10], np.uint8).tobytes())


def semeion(folder: Path) -> None:
    draw = np.random.default_rng(0)
    rows = []
    for n in range(3):
        pixels = " ".join(f"{x}.0000" for x in draw.integers(0, 2, 256))
        rows.append(pixels + " " + " ".join(str(int(k == 3 * n)) for k in range(10)) + " \n")
    write_file(folder / "semeion.data", "".join(rows))


def usps(folder: Path) -> None:
    draw = np.random.default_rng(0)
    for part in ("usps", "usps.t"):
        rows = [
            f"{n + 1} "
            + " ".join(f"{k + 1}:{x:.3f}" for k, x in enumerate(draw.uniform(-1, 1, 256)))
            + " \n"
            for n in (0, 9)
        ]
        write_file(folder / part, "".join(rows))


def caltech256(folder: Path) -> None:
    for n, name in ((1, "ak47"), (2, "american-flag"), (12, "binoculars")):
        _picture(folder / f"{n:03}.{name}" / f"{n:03}_0001.jpg", n)


def celeba(folder: Path) -> None:
    names = [f"Attribute_{n}" for n in range(40)]
    rows = []
    for n in (1, 2, 3):
        _picture(folder / f"00000{n}.jpg", n)
        rows.append(f"00000{n}.jpg " + " ".join("1" if (n * k) % 3 else "-1" for k in range(40)))
    write_file(folder / "list_attr_celeba.txt", f"3\n{' '.join(names)}\n" + "\n".join(rows) + "\n")
    write_file(folder / "list_eval_partition.txt", "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n")


def cityscapes(folder: Path) -> None:
    for part in ("train", "val", "test"):
        for n in (0, 1):
            stem = f"aachen_00000{n}_000019"
            _picture(folder / "leftImg8bit" / part / "aachen" / f"{stem}_leftImg8bit.png", n)
            base = folder / "gtFine" / part / "aachen"
            for seed, kind in enumerate(("color", "instanceIds", "labelIds")):
                _picture(base / f"{stem}_gtFine_{kind}.png", 10 + seed + n)
            write_file(base / f"{stem}_gtFine_polygons.json", json.dumps({"imgHeight": n}))


def coco(folder: Path) -> None:
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
        write_file(folder / f"{name}.json", json.dumps(held))


def div2k(folder: Path) -> None:
    for n in (1, 2):
        _picture(folder / "DIV2K_train_HR" / f"000{n}.png", n, (8, 8, 3))
        _picture(folder / "DIV2K_valid_HR" / f"080{n}.png", n + 5, (8, 8, 3))
        _picture(folder / "DIV2K_train_LR_bicubic" / "X2" / f"000{n}x2.png", n + 10)
        _picture(folder / "DIV2K_valid_LR_bicubic" / "X2" / f"080{n}x2.png", n + 15)
        _picture(folder / "DIV2K_train_LR_mild" / f"000{n}x4m.png", n + 20)


def flickr(folder: Path) -> None:
    lines = []
    for n in (1, 2):
        _picture(folder / "images" / f"10{n}.jpg", n)
        lines += [f"10{n}.jpg#{k}\tcaption {n} {k} ." for k in range(5)]
    write_file(folder / "results.token", "\n".join(lines) + "\n")


def food101(folder: Path) -> None:
    for part, names in (("train", (1, 2)), ("test", (3,))):
        write_file(folder / "meta" / f"{part}.txt",
               "".join(f"{kind}/{n}\n" for kind in ("apple_pie", "waffles") for n in names))
    for n in (1, 2, 3):
        for seed, kind in enumerate(("apple_pie", "waffles")):
            _picture(folder / "images" / kind / f"{n}.jpg", 10 * seed + n)


def kitti(folder: Path) -> None:
    for n, kind in enumerate(("Van", "Car")):
        _picture(folder / "data_object_image_2" / "training" / "image_2" / f"00000{n}.png", n)
        _picture(folder / "data_object_image_2" / "testing" / "image_2" / f"00000{n}.png", n + 4)
        write_file(folder / "data_object_label_2" / "training" / "label_2" / f"00000{n}.txt",
               f"{kind} 0.0{n} 0 -1.5 1 2 3 4 1.5 1.6 3.7 -2.5 1.6 14.4 -1.7\n"
               "DontCare -1 -1 -10 5.5 6 7 8 -1 -1 -1 -1000 -1000 -1000 -10\n")  # fmt: skip


def lfw(folder: Path) -> None:
    people = {"Aaron_Eckhart": 2, "Abbas_Kiarostami": 2, "Zoe_Ball": 1}
    seed = 0
    for name, count in people.items():
        for n in range(1, count + 1):
            seed += 1
            for where in ("lfw", "lfw_funneled", "lfw-deepfunneled"):
                _picture(folder / where / name / f"{name}_{n:04}.jpg", seed)
    write_file(folder / "lfw-names.txt", "".join(f"{k}\t{v}\n" for k, v in people.items()))
    listed = "".join(f"{k}\t{v}\n" for k, v in people.items())
    write_file(folder / "peopleDevTrain.txt", "2\nAaron_Eckhart\t2\nZoe_Ball\t1\n")
    write_file(folder / "peopleDevTest.txt", "1\nAbbas_Kiarostami\t2\n")
    write_file(folder / "people.txt", f"1\n3\n{listed}")
    pairs = "Aaron_Eckhart\t1\t2\nAaron_Eckhart\t1\tZoe_Ball\t1\n"
    write_file(folder / "pairsDevTrain.txt", f"1\n{pairs}")
    tested = "Abbas_Kiarostami\t1\t2\nAbbas_Kiarostami\t2\tZoe_Ball\t1\n"
    write_file(folder / "pairsDevTest.txt", f"1\n{tested}")
    write_file(folder / "pairs.txt", f"1\t1\n{pairs}")


def lsun(folder: Path) -> None:
    for seed, name in enumerate(("bedroom_train", "bedroom_val", "classroom_train",
                                 "classroom_val", "test")):  # fmt: skip
        for n in (1, 2):
            _picture(folder / name / f"1_{n}.jpg", 10 * seed + n)


def svhn(folder: Path) -> None:
    folder.mkdir(parents=True)
    for seed, part in enumerate(("train", "test", "extra")):
        draw = np.random.default_rng(seed)
        pixels = draw.integers(0, 256, (32, 32, 3, 3), dtype=np.uint8)
        labels = np.array([[10], [seed + 1], [9]], np.uint8)
        savemat(folder / f"{part}_32x32.mat", {"X": pixels, "y": labels})


def caltech101(folder: Path) -> None:
    for n, (kind, other) in enumerate((("Faces", "Faces_2"), ("accordion", "accordion"))):
        _picture(folder / "101_ObjectCategories" / kind / "image_0001.jpg", n)
        (folder / "Annotations" / other).mkdir(parents=True)
        savemat(folder / "Annotations" / other / "annotation_0001.mat",
                {"obj_contour": np.arange(6.0).reshape(2, 3) + n})  # fmt: skip
    _picture(folder / "101_ObjectCategories" / "BACKGROUND_Google" / "image_0001.jpg", 7)


def flowers(folder: Path) -> None:
    for n in range(1, 6):
        _picture(folder / "jpg" / f"image_{n:05}.jpg", n)
        _picture(folder / "segmim" / f"segmim_{n:05}.jpg", n + 10)
    savemat(folder / "imagelabels.mat", {"labels": np.array([[3, 1, 2, 102, 5]], np.uint8)})
    savemat(folder / "setid.mat", {"trnid": np.array([[4, 1]]), "valid": np.array([[2]]),
                                   "tstid": np.array([[5, 3]])})  # fmt: skip


def boundaries(folder: Path) -> None:
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
    write_file(folder / "train.txt", "2008_1\n")
    write_file(folder / "val.txt", "2008_2\n")
    write_file(folder / "train_noval.txt", "2008_2\n2008_1\n")


def manifest(folder: Path) -> None:
    lines = []
    for n, (kind, part) in enumerate((("dog", "train"), ("cat", "train"), ("cat", "eval"))):
        path = folder / "data" / f"{n}.jpg"
        _picture(path, n)
        lines.append(json.dumps({"source": str(path), "usage": part,
                                 "annotation": [{"type": "class", "name": kind}]}))  # fmt: skip
    write_file(folder / "data.manifest", "\n".join(lines) + "\n")


def omniglot(folder: Path) -> None:
    for seed, part in enumerate(("images_background", "images_evaluation")):
        for alphabet in ("Greek", "Latin"):
            for n in (1, 2):
                _picture(folder / part / alphabet / f"character0{n}" / f"010{n}_01.png",
                         100 * seed + 10 * len(alphabet) + n + ord(alphabet[0]))  # fmt: skip


def phototour(folder: Path) -> None:
    base = folder / "liberty"
    _picture(base / "patches0000.bmp", 0, (1024, 1024))
    write_file(base / "info.txt", "".join(f"{n // 2} 0 \n" for n in range(4)))
    write_file(base / "m50_100000_100000_0.txt", "0 0 0 1 0 0 0 \n1 0 0 2 1 0 0 \n")


def places(folder: Path) -> None:
    write_file(folder / "categories_places365.txt", "/a/airfield 0\n/a/alley 1\n/b/beach/sand 2\n")
    write_file(folder / "places365_train_standard.txt",
           "/a/airfield/00000001.jpg 0\n/b/beach/sand/00000002.jpg 2\n")  # fmt: skip
    write_file(folder / "places365_val.txt", "Places365_val_00000001.jpg 1\n")
    _picture(folder / "data_256_standard" / "a" / "airfield" / "00000001.jpg", 1)
    _picture(folder / "data_256_standard" / "b" / "beach" / "sand" / "00000002.jpg", 2)
    _picture(folder / "val_256" / "Places365_val_00000001.jpg", 3)


def rendered(folder: Path) -> None:
    for seed, part in enumerate(("train", "test", "valid")):
        for k, mood in enumerate(("negative", "positive")):
            for n in (1, 2):
                _picture(folder / part / mood / f"000{n}.png", 10 * seed + 2 * k + n)


def sbu(folder: Path) -> None:
    names = ("3326/3596303505_3ce4c20529.jpg", "2522/4182181099_c3c23ab1cc.jpg")
    urls = [f"http://static.flickr.com/{name}" for name in names]
    for n, name in enumerate(names):
        _picture(folder / "sbu_images" / ("m_" + name.replace("/", "_")), n)
    urls.append("http://static.flickr.com/1/absent.jpg")
    write_file(folder / "SBU_captioned_photo_dataset_urls.txt", "\n".join(urls) + "\n")
    write_file(folder / "SBU_captioned_photo_dataset_captions.txt", "one \ntwo words\nthree\n")


def sun397(folder: Path) -> None:
    write_file(folder / "ClassName.txt", "/a/abbey\n/a/apartment_building/outdoor\n/b/badlands\n")
    for seed, name in enumerate(("a/abbey", "a/apartment_building/outdoor", "b/badlands")):
        for n in (1, 2):
            _picture(folder / name / f"sun_{n}.jpg", 10 * seed + n)


def voc(folder: Path) -> None:
    for n in (1, 2):
        _picture(folder / "JPEGImages" / f"00000{n}.jpg", n)
        _picture(folder / "SegmentationClass" / f"00000{n}.png", n + 5)
        objects = "".join(
            f"<object><name>{kind}</name><pose>x</pose><truncated>{k}</truncated>"
            f"<difficult>{1 - k}</difficult><bndbox><xmin>{n}</xmin><ymin>2</ymin><xmax>{n + 3}"
            f"</xmax><ymax>{k + 4}</ymax></bndbox></object>"
            for k, kind in enumerate(("train", "cat")[:n])
        )
        write_file(folder / "Annotations" / f"00000{n}.xml",
               f"<annotation><filename>00000{n}.jpg</filename><size><width>5</width><height>4"
               f"</height><depth>3</depth></size>{objects}</annotation>")  # fmt: skip
    for where in ("Segmentation", "Main"):
        write_file(folder / "ImageSets" / where / "train.txt", "000001\n000002\n")
        write_file(folder / "ImageSets" / where / "val.txt", "000002\n")


def widerface(folder: Path) -> None:
    for part, code in (("train", "train"), ("val", "val")):
        text = ""
        for n in (1, 2):
            name = f"0--Parade/0_Parade_{n}.jpg"
            _picture(folder / f"WIDER_{part}" / "images" / name, n + len(part))
            faces = "".join(f"{k} {n} 10 12 0 1 0 0 {k} 1 \n" for k in range(n))
            text += f"{name}\n{n}\n{faces}"
        write_file(folder / "wider_face_split" / f"wider_face_{code}_bbx_gt.txt", text)
    name = "0--Parade/0_Parade_9.jpg"
    _picture(folder / "WIDER_test" / "images" / name, 9)
    write_file(folder / "wider_face_split" / "wider_face_test_filelist.txt", f"{name}\n")
