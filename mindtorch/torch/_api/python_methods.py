"""Methods that torch writes in Python: what Python says of calls that do not fit them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["does_not_fit", "is_written_in_python"]

_STFT = "center pad_mode normalized onesided return_complex align_to_window"
# the arguments that may be given by place, those with a default behind a bar, then a star and
# those by name alone
_SIGNATURES = {
    "backward": "self | gradient retain_graph create_graph inputs",
    "dim_order": "self * ambiguity_check",
    "eig": "self | eigenvectors",
    "index": "self positions dims",
    "is_shared": "self",
    "istft": "self n_fft | hop_length win_length window center normalized onesided length "
    "return_complex",
    "lstsq": "self other",
    "lu": "self | pivot get_infos",
    "module_load": "self other | assign",
    "norm": "self | p dim keepdim dtype",
    "register_hook": "self hook",
    "register_post_accumulate_grad_hook": "self hook",
    "reinforce": "self reward",
    "resize_as": "self tensor",
    "share_memory_": "self",
    "solve": "self other",
    "split": "self split_size | dim",
    "stft": f"self n_fft | hop_length win_length window {_STFT}",
    "storage": "self",
    "storage_type": "self",
    "symeig": "self | eigenvectors",
    "to_sparse_coo": "self",
    "unflatten": "self dim sizes",
    "unique": "self | sorted return_inverse return_counts dim",
    "unique_consecutive": "self | return_inverse return_counts dim",
}


def _form(name: str, signature: str) -> Callable[..., None]:
    """A function of these arguments, which does nothing."""
    needed, _, by_name = signature.partition(" * ")
    needed, _, optional = needed.partition(" | ")
    given = [*needed.split(), *(f"{each}=None" for each in optional.split())]
    named = [f"{each}=None" for each in by_name.split()]
    made: dict[str, Any] = {}
    exec(f"def form({', '.join([*given, *(['*'] if named else []), *named])}): pass", made)
    form: Callable[..., None] = made["form"]
    form.__name__, form.__qualname__ = name, f"Tensor.{name}"
    return form


_FORMS: dict[str, Callable[..., None]] = {}


def is_written_in_python(name: str) -> bool:
    """Whether torch writes the method in Python."""
    return name in _SIGNATURES or name == "resize"


def does_not_fit(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    """Python's error for a call of torch's method that does not fit it; None where it does.

    Args:
        args: with the tensor whose method it is.
    """
    if name == "apply_" and (kwargs or len(args) != 2):  # in C, without a parser of arguments
        count = f"exactly one argument ({len(args) - 1} given)"
        return TypeError(f"TensorBase.apply_() takes {'no keyword arguments' if kwargs else count}")
    if name not in _SIGNATURES:
        return None
    if name not in _FORMS:
        _FORMS[name] = _form(name, _SIGNATURES[name])
    try:
        _FORMS[name](*args, **kwargs)
    except TypeError as error:
        return error.with_traceback(None)
    return None
