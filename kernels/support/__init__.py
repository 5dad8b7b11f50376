"""What kernels need beside loops: atomic files, locks that survive fork, errors."""
