"""torch.package: the names that programs import. Archives of code are not written or read here."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_class, absent_function

_WHY = "code is not packed with models; torch.save keeps a state_dict, a wheel keeps code"

__all__ = [
    "Directory", "EmptyMatchError", "GlobGroup", "Importer", "ObjMismatchError",
    "ObjNotFoundError", "OrderedImporter", "PackageExporter", "PackageImporter", "PackagingError",
    "is_from_package", "sys_importer",
]  # fmt: skip


class PackagingError(Exception):
    """What torch's exporter raises for dependencies that it cannot pack."""


class EmptyMatchError(Exception):
    """What torch's exporter raises for a pattern that matches nothing."""


class ObjNotFoundError(Exception):
    """What torch's importers raise for an object that is not in its module."""


class ObjMismatchError(Exception):
    """What torch's importers raise for another object than the one that was packed."""


PackageExporter = absent_class("torch.package", "PackageExporter", _WHY)
PackageImporter = absent_class("torch.package", "PackageImporter", _WHY)
Directory = absent_class("torch.package", "Directory", _WHY)
GlobGroup = absent_class("torch.package", "GlobGroup", _WHY)
Importer = absent_class("torch.package", "Importer", _WHY)
OrderedImporter = absent_class("torch.package", "OrderedImporter", _WHY)
sys_importer = absent_function("torch.package", "sys_importer", _WHY)


def is_from_package(obj: object) -> bool:
    """False: nothing comes from an archive of code."""
    return False
