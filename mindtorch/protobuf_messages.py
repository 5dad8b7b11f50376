"""Classes of protobuf messages from a short description of their fields.

Made when they are imported, and not by protoc: such files are bound to the release of protobuf that
they were generated for. A field is written `NUMBER NAME TYPE`; `TYPE*` is repeated, `K->V` a map,
`group.NAME` a field of a oneof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["make_messages"]

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "double": _FIELD.TYPE_DOUBLE, "float": _FIELD.TYPE_FLOAT, "int64": _FIELD.TYPE_INT64,
    "uint64": _FIELD.TYPE_UINT64, "int32": _FIELD.TYPE_INT32, "uint32": _FIELD.TYPE_UINT32,
    "bool": _FIELD.TYPE_BOOL, "string": _FIELD.TYPE_STRING, "bytes": _FIELD.TYPE_BYTES,
}  # fmt: skip


def make_messages(
    file: str, package: str, messages: Mapping[str, str], enums: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The classes of a file of messages.

    Args:
        file: the name that the file would have.
        package: protobuf's package.
        messages: for each message its fields, separated by ";".
        enums: for each enum the names of its values, from 0 on.

    Returns:
        The classes by name, and the numbers of the enums' values by theirs.
    """
    enums = enums or {}
    proto = descriptor_pb2.FileDescriptorProto(name=file, package=package, syntax="proto3")
    for name, values in enums.items():
        enum = proto.enum_type.add(name=name)
        for number, value in enumerate(values.split()):
            enum.value.add(name=value, number=number)
    for name, fields in messages.items():
        message = proto.message_type.add(name=name)
        for field in filter(None, map(str.strip, fields.split(";"))):
            _add_field(message, f".{package}", field, enums)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    found: dict[str, Any] = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }
    for values in enums.values():
        found.update((value, number) for number, value in enumerate(values.split()))
    return found


def _add_field(message: Any, package: str, text: str, enums: Mapping[str, str]) -> None:
    number, name, kind = text.split()
    group, _, name = name.rpartition(".")
    field = message.field.add(name=name, number=int(number), label=_FIELD.LABEL_OPTIONAL)
    if group:
        names = [each.name for each in message.oneof_decl]
        if group not in names:
            message.oneof_decl.add(name=group)
            names.append(group)
        field.oneof_index = names.index(group)
    if kind.endswith("*"):
        field.label = _FIELD.LABEL_REPEATED
        kind = kind[:-1]
    if "->" in kind:
        key, value = kind.split("->")
        entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
        entry.options.map_entry = True
        _add_field(entry, package, f"1 key {key}", enums)
        _add_field(entry, package, f"2 value {value}", enums)
        field.label = _FIELD.LABEL_REPEATED
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f"{package}.{message.name}.{entry.name}"
    elif kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type = _FIELD.TYPE_ENUM if kind in enums else _FIELD.TYPE_MESSAGE
        field.type_name = f"{package}.{kind}"
