"""Vector code that LLVM would not find by itself, and intrinsics on the bits of numbers."""
