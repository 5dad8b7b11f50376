"""Operations on texts: tokens, vocabularies, n-grams. Texts are arrays of numpy's type U."""

from ..._absent import refusing as _refusing
from . import _bert, _jieba, _sentencepiece, _tokens, _values, _vectors, _vocab
from ._bert import *
from ._jieba import *
from ._sentencepiece import *
from ._tokens import *
from ._values import *
from ._vectors import *
from ._vocab import *

__all__ = [  # noqa: PLE0604
    *_bert.__all__, *_jieba.__all__, *_sentencepiece.__all__, *_tokens.__all__,
    *_values.__all__, *_vectors.__all__, *_vocab.__all__,
]  # fmt: skip

__getattr__ = _refusing("mindspore.dataset.text")
