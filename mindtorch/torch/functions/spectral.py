"""Short-time Fourier transforms: those of windowed frames of a signal, and back."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import fft as ops
from mindtorch.engine.ops import movement, reduction
from mindtorch.engine.ops.complex import view_as_real
from mindtorch.engine.tensor import constant, full_flat
from mindtorch.engine.transforms.autocast import FULL
from mindtorch.engine.transforms.vmap import values_of_all

from .. import fft
from .._api.publish import function
from .._api.warn_caller import warn_caller, warn_caller_once

_NO_WINDOW = "A window was not provided. A rectangular window will be applied{0}"
_ONES = (
    "To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
_LEAKS = (
    "which is known to cause spectral leakage. Other windows such as torch.hann_window or "
    "torch.hamming_window are recommended to reduce spectral leakage."
)
_TENSORS = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def _option(value: Any) -> str:
    return "None" if value is None else str(int(value))


def _described(x: Any, left: str = "[", right: str = "]") -> str:
    kind = _TENSORS.get(x.aval.dtype.name, x.aval.dtype.name)
    return f"torch.{kind}Tensor{left}{', '.join(map(str, x.aval.shape))}{right}"


def _described_window(window: Any) -> str:
    return "None" if window is None else _described(window, "{[", "]}")


def _full_window(window: Any, size: int, length: int, like: Any) -> Any:
    """The window in the middle of ``size`` points; ones where there is none."""
    if window is None:
        if length == size:
            return None
        window = full_flat((length,), like.aval.dtype.to_real(), 1)
    left = (size - length) // 2
    if length == size:
        return window
    zero = full_flat((), window.aval.dtype, 0)
    return movement.pad(window, zero, padding=((left, size - length - left),))


def _is_complex(x: Any) -> bool:
    return x is not None and bool(x.aval.dtype.is_complex)


@function(autocast=FULL, home="functional")
def stft(
    input: Any,  # noqa: A002
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """The transforms of frames of ``n_fft`` points, ``hop_length`` apart, times ``window``.

    ``input`` is a signal or a batch of them; the result has the axes (batch), frequency, frame.
    With ``center`` the signal is padded at both ends, so that frame ``t`` is around the point
    ``t * hop_length``. ``onesided`` keeps the frequencies 0 to ``n_fft // 2`` (the default for real
    numbers); ``normalized`` divides by ``sqrt(n_fft)``.

    Args:
        win_length: the window's length, centred in the frame; None for ``n_fft``.
        pad_mode: how the signal is padded, as :func:`torch.nn.functional.pad` has it.
        return_complex: give complex numbers, not pairs along a last axis.
        align_to_window: without ``center``, frames begin so that windows, not frames, fit.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        input = _padded(input, n_fft // 2, pad_mode)  # noqa: A001
    if window is None:
        warn_caller_once(_NO_WINDOW.format("," + _LEAKS) + _ONES)
    call = (
        f"stft({_described(input)}, n_fft={n_fft}, hop_length={hop}, win_length={length}, "
        f"window={_described_window(window)}, normalized={int(normalized)}, "
        f"onesided={_option(onesided)}, return_complex={_option(return_complex)}, "
        f"align_to_window={_option(align_to_window)}) "
    )
    as_complex = _is_complex(input) or _is_complex(window)
    if return_complex is None:
        if not as_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will "
                "further require that return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if not return_complex:
        warn_caller_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an error.\n"
            "Note: you can still call torch.view_as_real on the complex output to recover the old "
            "return format."
        )
    _check_stft(call, input, n_fft, hop, length, window)
    aligned = not center and bool(align_to_window)
    frames = _frames(input, n_fft, hop, length if aligned else n_fft)
    whole = _full_window(window, n_fft, length, input)
    if whole is not None:
        frames = el.multiply(frames, whole)
    as_complex = _is_complex(frames)
    onesided = not as_complex if onesided is None else onesided
    if onesided and as_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    transform = fft.rfft if onesided else fft.fft
    result = transform(frames, norm="ortho" if normalized else None)
    result = movement.transpose(result, -1, -2)
    return result if return_complex else view_as_real(result)


def _padded(x: Any, size: int, mode: str) -> Any:
    from ..nn.functional import pad

    lead = 3 - x.aval.ndim
    wide = movement.reshape(x, (1,) * lead + x.aval.shape) if lead > 0 else x
    wide = pad(wide, [size, size], mode)
    return movement.reshape(wide, wide.aval.shape[max(lead, 0):])


def _check_stft(call: str, x: Any, size: int, hop: int, length: int, window: Any) -> None:
    if x.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{call}: expected a tensor of floating point or complex values")
    if not 1 <= x.aval.ndim <= 2:
        raise RuntimeError(f"{call}: expected a 1D or 2D tensor")
    if not 0 < size <= x.aval.shape[-1]:
        raise RuntimeError(
            f"{call}: expected 0 < n_fft < {x.aval.shape[-1]}, but got n_fft={size}"
        )
    if hop <= 0:
        raise RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= size:
        raise RuntimeError(
            f"{call}: expected 0 < win_length <= n_fft, but got win_length={length}"
        )
    if window is not None and window.aval.shape != (length,):
        raise RuntimeError(
            f"{call}: expected a 1D window tensor of size equal to win_length={length}, but got "
            f"window with size {list(window.aval.shape)}"
        )


def _frames(x: Any, size: int, hop: int, length: int) -> Any:
    """Frames of ``size`` points on a new last axis; where the window's ``length`` is less, its
    start is aligned with the signal's."""
    axis = x.aval.ndim - 1
    if length < size:
        left = (size - length) // 2
        around = (left, size - length - left)
        zero = full_flat((), x.aval.dtype, 0)
        x = movement.pad(x, zero, padding=(*((0, 0),) * axis, around))
    return movement.unfold(x, axis=axis, size=size, step=hop)


@function()
def istft(
    input: Any,  # noqa: A002
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """The signal of ``length`` points whose :func:`stft` is nearest to ``input``: the inverse
    transforms of the frames, times the window, added up, over the sum of squares of the windows.

    Args:
        n_fft, hop_length, win_length, center, normalized, onesided: as they were for :func:`stft`.
        return_complex: the signal is complex.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        warn_caller(
            _NO_WINDOW.format(".Please provide the same window used by stft to make the "
                              "inversion lossless.") + _ONES,
        )
    call = (
        f"istft({_kind(input)}, n_fft={n_fft}, hop_length={hop}, win_length={width}, "
        f"window={_described_window(window)}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={_option(onesided)}, length={'None' if length is None else length}, "
        f"return_complex={int(return_complex)}) "
    )
    _check_istft(call, input, n_fft, hop, width, window, onesided)
    if return_complex:
        if onesided or (onesided is None and input.aval.shape[-2] != n_fft):
            raise RuntimeError("Cannot have onesided output if window or input is complex")
    elif _is_complex(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if onesided is None:
        onesided = input.aval.shape[-2] != n_fft
    frames = _frames_back(input, n_fft, normalized, onesided, return_complex)
    whole = _full_window(window, n_fft, width, input)
    if whole is None:
        whole = full_flat((n_fft,), input.aval.dtype.to_real(), 1)
    signal = _added_up(el.multiply(frames, whole), hop)
    squares = el.multiply(whole, whole)
    count = frames.aval.shape[-2]
    envelope = _added_up(movement.expand(squares, shape=(count, n_fft)), hop)
    return _cut(call, signal, envelope, n_fft if center else 0, length)


def _kind(x: Any) -> str:
    kind = _TENSORS.get(x.aval.dtype.name, x.aval.dtype.name)
    return f"CPU{kind}Type[{', '.join(map(str, x.aval.shape))}]"


def _check_istft(
    call: str, x: Any, size: int, hop: int, width: int, window: Any, onesided: Any
) -> None:
    if not x.aval.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if not x.aval.size:
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if x.aval.ndim not in (2, 3):
        raise RuntimeError(
            f"{call}: expected a tensor with 3 or 4 dimensions, but got {x.aval.ndim + 1}"
        )
    rows = x.aval.shape[-2]
    sided = rows != size if onesided is None else onesided
    if sided and size // 2 + 1 != rows:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft / 2 + 1 when onesided=True, but got {rows}"
        )
    if not sided and size != rows:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to "
            f"match n_fft when onesided=False, but got {rows}"
        )
    if not 0 < hop <= width:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < width <= size:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and window.aval.shape != (width,):
        raise RuntimeError(
            f"{call}: Invalid window shape. window has to be 1D and length of `win_length`"
        )


def _frames_back(x: Any, size: int, normalized: bool, onesided: bool, to_complex: bool) -> Any:
    norm = "root" if normalized else "count"
    turned = movement.transpose(x, -1, -2)
    axes = (turned.aval.ndim - 1,)
    if to_complex:
        return ops.complex_to_complex(turned, axes=axes, norm=norm, forward=False)
    if not onesided:
        half = size // 2 + 1
        turned = movement.slice_(turned, axis=axes[0], start=0, length=half, step=1)
    return ops.complex_to_real(turned, axes=axes, norm=norm, size=size)


def _added_up(frames: Any, hop: int) -> Any:
    """Frames (the last two axes) added at their places, ``hop`` points apart."""
    count, size = frames.aval.shape[-2:]
    batch = frames.aval.shape[:-2]
    length = size + hop * (count - 1)
    outer = (length,) * len(batch)
    return movement.as_strided_gradient(
        frames, input_shape=(*batch, length), input_strides=(*outer, 1),
        shape=(*batch, count, size), strides=(*outer, hop, 1), offset=0,
    )  # fmt: skip


def _cut(call: str, signal: Any, envelope: Any, padded: int, length: int | None) -> Any:
    """The part of the signal that is asked for, over the windows' weight."""
    total = signal.aval.shape[-1]
    start = padded // 2
    end = total - start if length is None else start + length
    stop = min(end, total)

    def part(x: Any) -> Any:
        axis = x.aval.ndim - 1
        return movement.slice_(x, axis=axis, start=start, length=max(stop - start, 0), step=1)

    signal, envelope = part(signal), part(envelope)
    least = reduction.amin(el.absolute(envelope), axis=(0,), keepdims=False)
    if not (values_of_all(least) > 1e-11).all():
        raise RuntimeError(f"{call}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    signal = el.divide(signal, envelope)
    if end <= total:
        return signal
    warn_caller(
        "The length of signal is shorter than the length parameter. Result is being padded with "
        "zeros in the tail. Please check your center and hop_length settings.",
    )
    padding = (*((0, 0),) * (signal.aval.ndim - 1), (0, end - total))
    return movement.pad(signal, constant(0), padding=padding)
