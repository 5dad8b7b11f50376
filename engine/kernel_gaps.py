"""The gaps among kernels: which are missing on a device, or run on the host. Errors quote them; the
table of all gaps is `mindtorch/known_gaps.py`."""

from __future__ import annotations

from typing import NamedTuple


class Gap(NamedTuple):
    """Something that is not there.

    Attributes:
        kind: "kernel", "host" (the CPU's kernel runs on copies), "feature", "module" or
            "argument".
        name: of the kernel ("module.function" or "module.*") or of what is missing.
        device: where it is missing; "all" for everywhere.
        reason: why, or what to use instead.
    """

    kind: str
    name: str
    device: str
    reason: str


_LIBRARY = (
    "the vendor's (cuFFT, cuSOLVER) through cupy where that is installed and has the function; "
    "LAPACK and pocketfft on copies otherwise"
)

KERNEL_GAPS: tuple[Gap, ...] = (
    Gap("host", "matrix_factorizations.*", "cuda", _LIBRARY),
    Gap("host", "fft.*", "cuda", _LIBRARY),
    Gap("host", "linear_solvers.*", "cuda", _LIBRARY),
    Gap("host", "detection.*", "cuda", "no kernels yet; the CPU's run on copies"),
    Gap("host", "histogram.*", "cuda", "no kernel yet; the CPU's runs on copies"),
    Gap("host", "quantized.*", "cuda", "no kernels yet; the CPU's run on copies"),
    Gap("host", "sparse_indices.*", "cuda", "no kernel yet; the CPU's runs on copies"),
    Gap("host", "complex numbers", "cuda",
        "scans, norms, scatter_reduce and a few functions: the CPU's kernels run on copies; "
        "elementwise ops, sums, products, copies and indexing have kernels"),
)


def reason_for(kernel: str, device: str) -> str | None:
    """Why ``kernel`` ("module.function") is missing on ``device``; None when no row says."""
    family = kernel.partition(".")[0] + ".*"
    for gap in KERNEL_GAPS:
        if gap.kind == "kernel" and gap.device == device and gap.name in (kernel, family):
            return gap.reason
    return None


def on_host(kernel: str, complex_numbers: bool = False) -> str | None:
    """Why ``kernel`` runs on the host for tensors on CUDA; None when no row says that it does."""
    names = (kernel, kernel.partition(".")[0] + ".*", *["complex numbers"] * complex_numbers)
    for gap in KERNEL_GAPS:
        if gap.kind == "host" and gap.name in names:
            return gap.reason
    return None
