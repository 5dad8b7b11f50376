"""Operators before and after a network: features of sound and text, chosen features."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch import torch

from .errors import ONNXError
from .registry import Numbers, operator
from .values import number, numbers, tensor, torch_type

_ML = "ai.onnx.ml"


@operator("MelWeightMatrix")
def _mel_weight_matrix(
    bins: Numbers, length: Numbers, rate: Numbers, low: Numbers, high: Numbers, *,
    output_datatype: int = 1,
) -> Any:  # fmt: skip
    count, size = int(number(bins)), int(number(length))
    begin, end = (2595 * math.log10(1 + number(edge) / 700) for edge in (low, high))
    mels = begin + np.arange(count + 2) * ((end - begin) / (count + 2))
    edges = ((size + 1) * (700 * (10 ** (mels / 2595) - 1)) // number(rate)).astype(np.int64)
    made = np.zeros((size // 2 + 1, count))
    for i, (left, center, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if center == left:
            made[center, i] = 1
        else:
            made[left : center + 1, i] = np.arange(center + 1 - left) / (center - left)
        if right > center:
            made[center:right, i] = np.arange(right - center, 0, -1) / (right - center)
    return torch.from_numpy(made).to(torch_type(output_datatype))


@operator("TfIdfVectorizer", 9)
def _tf_idf_vectorizer(
    x: Any, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
    ngram_counts: Sequence[int], ngram_indexes: Sequence[int], pool_int64s: Any = None,
    weights: Any = None,
) -> Any:  # fmt: skip
    if pool_int64s is None:
        raise ONNXError("TfIdfVectorizer: only pools of numbers are read")
    places: dict[tuple[int, ...], int] = {}
    bounds = [*ngram_counts, len(pool_int64s)]
    for size, (start, end) in enumerate(itertools.pairwise(bounds), 1):
        for at in range(start, end, size):
            places[tuple(pool_int64s[at : at + size])] = ngram_indexes[len(places)]
    rows = np.asarray(x.detach().numpy()).astype(np.int64)
    flat = rows.reshape(-1, rows.shape[-1]) if rows.ndim > 1 else rows[None]
    counts = np.zeros((len(flat), max(ngram_indexes) + 1), np.float32)
    for row, words in enumerate(flat.tolist()):
        for size in range(min_gram_length, max_gram_length + 1):
            for step in range(1, max_skip_count + 2 if size > 1 else 2):
                for at in range(len(words) - (size - 1) * step):
                    place = places.get(tuple(words[at : at + (size - 1) * step + 1 : step]))
                    if place is not None:
                        counts[row, place] += 1
    factors = np.ones(counts.shape[1], np.float32)
    if weights is not None:
        factors[list(ngram_indexes)] = weights
    made = {"TF": counts, "IDF": (counts > 0) * factors, "TFIDF": counts * factors}[mode]
    return torch.from_numpy(made.astype(np.float32).reshape(*rows.shape[:-1], -1))


@operator("Binarizer", domain=_ML)
def _binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return (x > threshold).to(x.dtype)


@operator("ArrayFeatureExtractor", domain=_ML)
def _array_feature_extractor(x: Any, places: Numbers) -> Any:
    chosen = tensor(np.asarray(numbers(places), np.int64).reshape(-1))
    found = torch.index_select(x, -1, chosen)
    return found[None] if found.ndim == 1 else found
