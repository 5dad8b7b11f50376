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


JIEBA = GOLDEN_FILES / "jieba"  # a part of jieba's dictionary and model, in cppjieba's form


def jieba(mode: t.JiebaMode, with_offsets: bool = False) -> t.JiebaTokenizer:
    model, words = str(JIEBA / "hmm_model.utf8"), str(JIEBA / "jieba.dict.utf8")
    return t.JiebaTokenizer(model, words, mode, with_offsets)


def test_chinese_words_of_mindspore() -> None:
    """Three modes with offsets, two with words of a user; real MindSpore 2.10 gave the same."""
    tokenizers = {str(int(mode)): jieba(mode, True) for mode in t.JiebaMode}
    for mode in (t.JiebaMode.MP, t.JiebaMode.MIX):
        own = jieba(mode)
        own.add_word("男默女泪")
        own.add_word("来到北京", 10000)
        own.add_dict({"杭研": 20, "月光光": 30})
        tokenizers[f"{int(mode)}u"] = own
    for mode, text, wanted in json.loads((JIEBA / "words.json").read_text(encoding="utf-8")):
        found = tokenizers[mode](text)
        parts = found if isinstance(found, tuple) else (found,)
        assert [part.tolist() for part in parts] == wanted, (mode, text)


def test_chinese_words_refuse_what_is_wrong(tmp_path: Any) -> None:
    """Files that are not there or hold something else, and words without characters."""
    words = tmp_path / "words"
    words.write_text("one\ntwo\n")
    with pytest.raises(ValueError, match="is not exist"):
        t.JiebaTokenizer(str(tmp_path / "none"), str(words))
    with pytest.raises(RuntimeError, match="lines of numbers"):
        t.JiebaTokenizer(str(words), str(JIEBA / "jieba.dict.utf8"))
    with pytest.raises(RuntimeError, match="line 1 of"):
        t.JiebaTokenizer(str(JIEBA / "hmm_model.utf8"), str(words))
    with pytest.raises(TypeError, match="should be JiebaMode"):
        t.JiebaTokenizer(str(words), str(words), "MIX")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="should not be empty"):
        jieba(t.JiebaMode.MP).add_word("")
