"""Protobuf messages from short descriptions of their fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

__all__ = ["message_classes"]


def message_classes(
    package: str, messages: Mapping[str, str],
    enumerations: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The classes of messages.

    Args:
        package: their package.
        messages: of each the fields, "type name number" parted by ", ", a star behind the type for
            many of them; a field that is not named is kept and passed over.
        enumerations: of each, "Message.Name", the names of its numbers, from 0 on.
    """
    enumerations = enumerations or {}
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name=f"mindtorch/{package}.proto", package=package, syntax="proto2"
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for full, values in enumerations.items():
            owner, _, own = full.partition(".")
            if owner == name:
                listed = message.enum_type.add(name=own)
                for place, value in enumerate(values):
                    listed.value.add(name=value, number=place)
        for each in fields.split(", "):
            of, field, number = each.split(" ")
            repeated, of = of.endswith("*"), of.removesuffix("*")
            made = message.field.add(name=field, number=int(number))
            made.label = kind.LABEL_REPEATED if repeated else kind.LABEL_OPTIONAL
            if of in messages or of in enumerations:
                made.type = kind.TYPE_MESSAGE if of in messages else kind.TYPE_ENUM
                made.type_name = f".{package}.{of}"
            else:
                made.type = kind.Type.Value(f"TYPE_{of.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in messages
    }
