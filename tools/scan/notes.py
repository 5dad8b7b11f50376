"""What there is to say of names: differences, refusals, and what to use instead.

A note's text is a row of the table of gaps (`gap:` and the row's name), so that reasons are written
once, or a text of its own where the row would say too much or too little.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

from mindtorch.known_gaps import GAPS

__all__ = ["NOTES", "REFUSED_METHODS", "Note", "find_note", "text_of"]


class Note(NamedTuple):
    """One row.

    Attributes:
        pattern: of dotted names, with `*`.
        status: "different" or "missing"; "" for a text only, where the name is missing anyway.
        text: the difference, or what to use instead; "gap:<name>" quotes the first row of the
            table of gaps whose name begins so.
        keyword: only for calls with this keyword.
        value: only where the keyword is this constant; Ellipsis for any.
        called: only for calls, so that imports and mentions stay as they are.
    """

    pattern: str
    status: str
    text: str
    keyword: str = ""
    value: Any = ...
    called: bool = False


_QUANTIZED = "quantized modules call torch.ops.quantized: use torch.ao.nn.quantized"
_VISION_IO = "torchvision's C++ is not there; read images with PIL.Image.open and to_tensor"
_JIT = "is compiled from Python: no graph of TorchScript, and a file that torch does not read"
_SHORT = "gap:random numbers of complex32; torch._scaled_mm of float8"
_NONE = "not in PyTorch 2.13 either; "

NOTES: tuple[Note, ...] = (
    # arguments
    Note("torch.nn.EmbeddingBag", "different",
         "gap:EmbeddingBag(scale_grad_by_freq=True) as in PyTorch's CPU kernel",
         "scale_grad_by_freq", True),
    Note("torch.nn.functional.embedding_bag", "different",
         "gap:EmbeddingBag(scale_grad_by_freq=True) as in PyTorch's CPU kernel",
         "scale_grad_by_freq", True),
    Note("torch.nn.LSTM", "different", "gap:a kernel for LSTM(proj_size=...)", "proj_size"),
    # names that raise when they are used
    Note("torch.autograd.forward_ad.*", "different", "gap:torch.autograd.forward_ad"),
    Note("torch.quantized_*", "", _QUANTIZED),
    Note("torch.ao.quantization.quantize_fx.*", "different",
         "gap:torch.ao.quantization.quantize_fx"),
    Note("torch.ao.*", "", "gap:torch.ao.quantization: reference modules"),
    Note("torch.complex32", "different", _SHORT),
    Note("torch.chalf", "different", _SHORT),
    Note("torch.float8_*", "different", _SHORT),
    *(Note(f"torch.{kind}[1-7]", "different", "the type has a name; tensors of it raise")
      for kind in ("int", "uint")),
    # differences of supported names
    Note("torch.jit.script", "different", _JIT),
    Note("torch.jit.trace", "different", _JIT),
    Note("torch.jit.trace_module", "different", _JIT),
    Note("torch.set_flush_denormal", "different", "gap:torch.set_flush_denormal(True)"),
    Note("torch.nn.init.orthogonal_", "different", "gap:bit-equal nn.init.orthogonal_"),
    Note("torch.nn.CrossMapLRN2d", "different", "gap:CrossMapLRN2d's gradient as PyTorch's"),
    Note("torch.distributions.Wishart", "different", "gap:bits of Wishart samples"),
    Note("torch.nested.*", "different", "gap:torch.nested in the strided layout"),
    Note("torch.masked.masked_tensor", "different",
         "gap:MaskedTensor: sparse data, products of matrices, writes in place"),
    Note("torch.masked.MaskedTensor", "different",
         "gap:MaskedTensor: sparse data, products of matrices, writes in place"),
    Note("torch.sparse_coo_tensor", "different",
         "gap:sparse tensors: slices"),
    Note("torch.sparse_csr_tensor", "different",
         "gap:sparse tensors: slices"),
    Note("torch.sparse.*", "different",
         "gap:sparse tensors: slices"),
    Note("torch.Tensor.to_sparse", "different",
         "gap:sparse tensors: slices"),
    Note("torch.overrides.*", "different",
         "gap:__torch_function__ of objects that are no tensors"),
    Note("torch.profiler.profile", "different",
         "gap:profiles of devices, of floating-point operations and of modules"),
    # torchvision
    Note("torchvision.io.decode_*", "missing", _VISION_IO, called=True),
    Note("torchvision.io.encode_*", "missing", _VISION_IO, called=True),
    Note("torchvision.io.read_image", "missing", _VISION_IO, called=True),
    Note("torchvision.io.write_*", "missing", _VISION_IO, called=True),
    # what missing names are replaced by
    *(Note(f"torch.{name}", "", "gap:sparse tensors: slices")
      for name in ("sparse.*", "Tensor.sparse_*")),
    Note("torch.nested.*", "", "gap:torch.nested in the strided layout"),
    *(Note(f"torch.func.{name}", "", "gap:torch.func.rearrange, torch.func.debug_unwrap")
      for name in ("rearrange", "debug_unwrap")),
    Note("torch.utils.data.datapipes*", "", "gap:torch.utils.data.datapipes"),
    Note("torch.utils.data.*Pipe", "", "gap:torch.utils.data.datapipes"),
    Note("torch.utils.data.functional_datapipe", "", "gap:torch.utils.data.datapipes"),
    Note("torch.cuda.nvtx*", "", "torch.profiler.record_function names blocks in a profile"),
    Note("torch.utils.cpp_extension*", "", "no C++ extensions; torch.library registers operators"),
    Note("torch.classes*", "", "no C++ classes"),
    Note("torch.jit.*", "", "gap:torch.jit"),
    Note("torch.Tensor.to_mkldnn", "", "layouts of MKL-DNN are not needed: leave the call out"),
    # names that PyTorch has given up
    Note("torch._six*", "", _NONE + "strings are str, integers int, inf is math.inf"),
    Note("torch.symeig", "missing", _NONE + "use torch.linalg.eigh"),
    Note("torch.eig", "missing", _NONE + "use torch.linalg.eig"),
    Note("torch.solve", "missing", _NONE + "use torch.linalg.solve"),
    Note("torch.lstsq", "missing", _NONE + "use torch.linalg.lstsq"),
    *(Note(f"torch.Tensor.{name}", "missing", _NONE + f"use torch.linalg.{new}")
      for name, new in (("symeig", "eigh"), ("eig", "eig"), ("solve", "solve"),
                        ("lstsq", "lstsq"))),
    Note("torch.rfft", "", _NONE + "use torch.fft.rfft"),
    Note("torch.irfft", "", _NONE + "use torch.fft.irfft"),
    Note("torch.ifft", "", _NONE + "use torch.fft.ifft"),
    Note("torch.matrix_rank", "missing", _NONE + "use torch.linalg.matrix_rank"),
    Note("torch.utils.ffi*", "", _NONE + "torch.library registers operators"),
    Note("torchtext*", "", "no longer developed"),
    # MindSpore
    Note("mindspore.jit", "different", "gap:mindspore.jit(jit_level, dynamic, backend, ...)"),
    Note("mindspore.scipy*", "", "use scipy, or torch.linalg"),
    Note("mindspore.[pP]rofiler*", "", "use torch.profiler"),
    Note("mindspore.dataset*", "", "gap:mindspore.dataset: one batch"),
    Note("mindspore.nn.*", "", "gap:mindspore.nn"),
)  # fmt: skip

# Methods of PyTorch's tensors that raise here. `index` is left out: lists have one.
REFUSED_METHODS = frozenset({"to_mkldnn"})


def text_of(note: Note) -> str:
    """A note's text, with the row of the table of gaps that it quotes."""
    if not note.text.startswith("gap:"):
        return note.text
    name = note.text.removeprefix("gap:")
    return next((gap.reason for gap in GAPS if gap.name.startswith(name)), name)


@cache
def _notes_of(name: str) -> tuple[Note, ...]:
    return tuple(note for note in NOTES if fnmatchcase(name, note.pattern))


def _applies(note: Note, kind: str, keywords: dict[str, Any]) -> bool:
    if note.called and kind != "call":
        return False
    if not note.keyword:
        return True
    if note.keyword not in keywords:
        return False
    given = keywords[note.keyword]
    return note.value is ... or given is ... or given == note.value


def find_note(
    name: str, kind: str, keywords: dict[str, Any], missing: bool = False
) -> Note | None:
    """The first row that a use meets; `missing`: the name is not there, and rows that tell how a
    name that is there differs say nothing of it."""
    left_out = "different" if missing else ""
    for note in _notes_of(name):
        if note.status != left_out and _applies(note, kind, keywords):
            return note
    return None
