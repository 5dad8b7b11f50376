"""What the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """"AVX512", "AVX2" or "DEFAULT": the widest vectors that kernels are compiled for."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    if all(features.get(name) for name in ("avx512f", "avx512vl", "avx512bw", "avx512dq")):
        return "AVX512"
    return "AVX2" if features.get("avx2") and features.get("fma") else "DEFAULT"
