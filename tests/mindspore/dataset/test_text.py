"""Operations on texts, against what real MindSpore 2.10 gave, and vocabularies."""

import json
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.mindspore.dataset as ds
from mindtorch.mindspore.dataset import text as t
from tests.support.paths import GOLDEN_FILES

WORDS = ["my", "fav", "##orite", "book", "是", "##ing", "play", "[UNK]"]


def told(value: Any) -> Any:
    """A result in the words of the file."""
    if isinstance(value, np.ndarray):
        texts = np.char.decode(value) if value.dtype.kind == "S" else value
        return ["array", value.dtype.kind, texts.tolist()]
    if isinstance(value, tuple):
        return ["tuple", *map(told, value)]
    return ["value", value]


def test_values_of_mindspore() -> None:
    """Tokens, offsets and numbers of 41 calls."""
    vocab = t.Vocab.from_list(WORDS, special_tokens=["<pad>"], special_first=True)
    names = {"t": t, "v": vocab, "np": np, "ms": ms}
    golden = json.loads((GOLDEN_FILES / "mindspore_text.json").read_text())
    found = {code: told(eval(code, names)) for code in golden}
    assert found == golden


def test_unused_tokens_stay_once() -> None:
    """MindSpore 2.10 repeats what stands before an unused token; here it does not."""
    tokens = t.BasicTokenizer(True, with_offsets=True)("Héllo [CLS] Wörld中国\tx [unused1]")
    assert tokens[0].tolist() == ["hello", "[CLS]", "world", "中", "国", "x", "[unused1]"]
    assert tokens[1].tolist() == [0, 6, 12, 17, 20, 24, 26]


def test_vocabularies(tmp_path) -> None:
    """Of files and data sets: the most frequent first."""
    path = tmp_path / "words.txt"
    path.write_text("one,1\ntwo,2\nthree,3\n")
    assert t.Vocab.from_file(str(path), ",", 2, ["<x>"]).vocab() == {"<x>": 0, "one": 1, "two": 2}
    lines = ds.NumpySlicesDataset(["b a", "c b", "b c d"], ["text"], shuffle=False)
    words = lines.map(t.WhitespaceTokenizer(), "text")
    vocab = t.Vocab.from_dataset(words, "text", (1, 3), 3, ["<pad>"])
    assert vocab.vocab() == {"<pad>": 0, "b": 1, "c": 2, "a": 3}
    looked: Any = words.take(1).map(t.Lookup(vocab), "text").create_dict_iterator(output_numpy=True)
    assert next(iter(looked))["text"].tolist() == [1, 3]
    with pytest.raises(RuntimeError, match="'d' is not in the vocabulary"):
        t.Lookup(vocab)(np.array(["d"]))
    with pytest.raises(ValueError, match="does not exist in vocab"):
        t.Lookup(vocab, "zz")
    with pytest.raises(ValueError, match="duplicate word: a"):
        t.Vocab.from_list(["a", "a"])
    with pytest.raises(RuntimeError, match="int8 does not hold"):
        t.ToNumber(ms.int8)(np.array(["1200"]))
    with pytest.raises(ValueError, match="no regular expression"):
        t.RegexTokenizer("(")


def test_vectors_of_tokens(tmp_path) -> None:
    """Read from a text file; unknown tokens get zeros, or those of the small letters."""
    path = tmp_path / "vectors.txt"
    path.write_text("2 3\nhello 1 2 3\nyou 4 5 6\n")
    vectors = t.FastText.from_file(str(path))
    made = t.ToVectors(vectors, lower_case_backup=True)(np.array(["you", "Hello", "x"]))
    assert made.dtype == np.float32 and made.tolist() == [[4, 5, 6], [1, 2, 3], [0, 0, 0]]
    path.write_text("a 1 2\nb 1\n")
    with pytest.raises(RuntimeError, match="line 2: 1 numbers, not 2"):
        t.Vectors.from_file(str(path))


def test_pieces_of_sentences(tmp_path) -> None:
    """A model that is trained, kept and read again, also by worker processes."""
    pytest.importorskip("sentencepiece")
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f"the cat number {i} sat on the mat" for i in range(50)))
    vocab = t.SentencePieceVocab.from_file([str(path)], 40, 1.0, t.SentencePieceModel.BPE, {})
    t.SentencePieceVocab.save_model(vocab, str(tmp_path), "m.model")
    pieces = t.SentencePieceTokenizer(str(tmp_path / "m.model"), t.SPieceTokenizerOutType.STRING)
    found = pieces("the cat sat")
    assert "".join(found.tolist()).replace("▁", " ").strip() == "the cat sat"
    numbers = t.SentencePieceTokenizer(vocab, t.SPieceTokenizerOutType.INT)
    assert numbers("the cat sat").dtype == np.int32
    lines = ds.TextFileDataset(str(path), shuffle=False).map(
        pieces, "text", num_parallel_workers=1, python_multiprocessing=True
    )
    assert lines.take(1).get_dataset_size() == 1
    (first, *_) = lines.take(1).create_tuple_iterator(output_numpy=True)
    assert "".join(first[0].tolist()) == "▁the▁cat▁number▁0▁sat▁on▁the▁mat"
