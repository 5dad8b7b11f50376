"""The list of all ops by subject that ``engine/ops/__init__.py`` begins with.

Made from the ops' declarations: an op belongs to the file whose text assigns it to a name.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path

from mindtorch.engine import ops
from mindtorch.engine.op import Op

PAGE = Path(ops.__file__ or "")
# the files in the order in which a reader meets their subjects
SUBJECTS = (
    "copies", "elementwise", "comparison", "rounding", "complex", "activations",
    "elementwise_special", "reduction", "scan", "softmax", "sorting", "movement",
    "indexing", "linear_algebra", "factorizations", "fft", "convolution", "pooling", "resizing",
    "sampling", "normalization", "loss", "ctc", "embedding", "attention", "recurrent", "detection",
    "histogram", "sparse_indices", "quantization",
)  # fmt: skip
# ops of tensors over several processes, which engine/sharding declares; the local parts' ops run
OF_PLACEMENTS = ("from_local", "redistribute", "to_local")
_WIDTH = 21  # of the column of files
_LIST = re.compile(r"(?<=\n\n)copies .*?(?=\n\"\"\"\n)", re.DOTALL)


def declared(subject: str) -> list[str]:
    """The ops of a file, in the order of their declarations."""
    module = importlib.import_module(f"{ops.__name__}.{subject}")
    assigned = re.findall(r"^(\w+(?:, \w+)*)(?:: \w+)? = ", inspect.getsource(module), re.MULTILINE)
    found = [getattr(module, name, None) for names in assigned for name in names.split(", ")]
    return list(dict.fromkeys(each.name for each in found if isinstance(each, Op)))


def listing() -> str:
    """The list as the page holds it."""
    rows = (
        textwrap.fill(
            " ".join(declared(subject)), 100, initial_indent=f"{subject:<{_WIDTH}}",
            subsequent_indent=" " * _WIDTH, break_on_hyphens=False,
        )
        for subject in SUBJECTS
    )  # fmt: skip
    return "\n".join(rows)


def with_list(text: str) -> str:
    """The page's text with the list as it is now."""
    return _LIST.sub(lambda _: listing(), text)
