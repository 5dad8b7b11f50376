"""Kernels for CUDA by numba; importing any of them imports ``numba.cuda``."""

from numba import config as _config

if not _config.ENABLE_CUDASIM:  # before numba.cuda is imported, which looks for its libraries once
    from . import toolkit as _toolkit

    _toolkit.find()
    _toolkit.import_with_old_numpy_names()
